//! Compares the plan with the reference, on cases made as in avro-decode's tests.

#[path = "../../../crates/avro-decode/tests/common/mod.rs"]
pub(super) mod common;
#[allow(dead_code, reason = "some is for tests by hand")]
#[path = "../../../crates/avro-decode/tests/plan/harness.rs"]
mod harness;
#[path = "../../../crates/avro-decode/tests/plan/made/mod.rs"]
pub(super) mod made;
#[path = "../../../crates/avro-decode/tests/plan/properties.rs"]
mod properties;

use super::input::{Input, damage};
use made::case;
use properties::{agree, agree_on};

/// See [`PLAN_VS_REFERENCE`](super::PLAN_VS_REFERENCE).
pub(super) fn check(data: &[u8]) {
    let mut input = Input::new(data);
    match input.byte() % 4 {
        0 => assert_eq!(agree(&case(input.rest().to_vec(), None)), None),
        1 => {
            let fault = input.byte();
            agree(&case(input.rest().to_vec(), Some(fault.into())));
        }
        2 => {
            // Any bytes, of any schema.
            let len = input.below(1 << 16);
            let records = input.take(len);
            agree_on(&case(input.rest().to_vec(), None), records);
        }
        _ => {
            let mut damages = Input::new(input.take(40));
            let case = case(input.rest().to_vec(), None);
            let mut records = case.data.clone();
            damage(&mut records, &mut damages);
            agree_on(&case, &records);
        }
    }
}
