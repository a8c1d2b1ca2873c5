//! Schema resolution, and records re-encoded by it.

use std::sync::Arc;

use avro_decode::{Resolution, Schema};

use super::input::{Input, damage};
use super::plan::common;

#[path = "../../../crates/avro-decode/tests/resolve/agreement.rs"]
mod agreement;
#[allow(dead_code, reason = "some is for tests")]
#[path = "../../../crates/avro-decode/tests/resolve/evolved/mod.rs"]
mod evolved;

use agreement::agree;
use evolved::{Case, case};

/// See [`RESOLVER`](super::RESOLVER).
pub(super) fn check(data: &[u8]) {
    let mut input = Input::new(data);
    match input.byte() % 4 {
        0 => {
            let case = made(&mut input);
            check_identity(&case.writer, &case.data);
            check_pair(case.writer, case.reader, &case.data);
        }
        1 => {
            let mut damages = Input::new(input.take(40));
            let Case {
                writer,
                reader,
                mut data,
                ..
            } = made(&mut input);
            damage(&mut data, &mut damages);
            check_pair(writer, reader, &data);
        }
        2 => {
            // Any bytes with any schemas.
            let len = input.below(1 << 10);
            let data = input.take(len);
            let case = made(&mut input);
            check_pair(case.writer, case.reader, data);
        }
        _ => {
            // Any texts: the writer's schema, the reader's schema and data, separated by zeros.
            let mut parts = input.rest().splitn(3, |&byte| byte == 0);
            let mut next = || parts.next().unwrap_or_default();
            let parse = |text| Schema::parse(&String::from_utf8_lossy(text)).map(Arc::new);
            if let (Ok(writer), Ok(reader)) = (parse(next()), parse(next())) {
                let data = next();
                check_identity(&writer, data);
                check_identity(&reader, data);
                check_pair(writer, reader, data);
            }
        }
    }
}

fn made(input: &mut Input<'_>) -> Case {
    let mut part = || {
        let len = input.below(400);
        input.take(len).to_vec()
    };
    let (schema, changes) = (part(), part());
    case(schema, changes, input.rest().to_vec())
}

fn check_pair(writer: Arc<Schema>, reader: Arc<Schema>, data: &[u8]) {
    match Resolution::new(writer, reader) {
        Ok(resolution) => drop(agree(&resolution, data)),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Data read with its own schema stays as it is.
fn check_identity(schema: &Arc<Schema>, data: &[u8]) {
    let identity = agree(&Resolution::identity(Arc::clone(schema)), data);
    match Resolution::new(Arc::clone(schema), Arc::clone(schema)) {
        Ok(resolution) => assert_eq!(
            format!("{:?}", agree(&resolution, data)),
            format!("{identity:?}")
        ),
        Err(error) => panic!("{error}"),
    }
}
