//! The limits of this crate, and the reason for each.

/// Maximum size of a path expression in bytes. Expressions written by people stay far below it. An
/// error holds a copy of the whole expression.
pub const MAX_PATH_BYTES: usize = 4096;

/// Maximum number of steps in a path; the paths of a filter count separately. Decoders nest one
/// level per step, and with a recursive type no schema bounds the number of steps.
pub const MAX_PATH_STEPS: usize = 64;
