//! The limits of generated files, and the reason for each.

/// The maximum number of files: their names have five digits and sort by number.
pub const MAX_FILES: usize = 100_000;

/// The maximum mean length of generated lists. The probabilities of a Poisson distribution begin
/// with e to minus this power, which must not be 0 as a float.
pub const MAX_MEAN_LENGTH: f64 = 500.0;

/// The maximum mean number of values in a generated record: some 100 MB, more than real records
/// have, and far below the largest block that readers accept.
pub const MAX_SAMPLE_VALUES: f64 = 16e6;
