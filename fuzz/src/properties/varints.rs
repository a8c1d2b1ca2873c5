//! Runs of varints, as in avro-decode's own tests.

use super::input::Input;

#[path = "../../../crates/avro-decode/tests/varints/agreement.rs"]
mod agreement;

/// See [`VARINTS`](super::VARINTS).
pub(super) fn check(data: &[u8]) {
    let mut input = Input::new(data);
    let n = input.byte();
    agreement::agree(input.rest(), n.into());
}
