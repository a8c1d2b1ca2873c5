//! Compares the transcoder with the reference on the same bytes.

use avro_decode::encode::{EncodeOptions, encode};
use avro_decode::resolve::Resolved;
use avro_decode::{Resolution, Transcoder, Value, reference};

use super::common::assert_same;

/// The value of the reader's schema that the bytes hold, if any. Checks that both ways agree.
pub(crate) fn agree(resolution: &Resolution, data: &[u8]) -> Option<Value> {
    let (writer, reader) = (&*resolution.writer, &*resolution.reader);
    let mut position = 0;
    let expected = reference::decode(writer, writer.root(), data, &mut position)
        .ok()
        .and_then(|value| reference::resolve(resolution, &value).ok());

    let mut out = vec![0xee];
    let read = Transcoder::new(resolution).transcode(data, &mut out);
    assert_eq!(out[0], 0xee, "what was there stays");
    match (&expected, read) {
        (Some(value), Ok(read)) => {
            assert_eq!(read, position);
            // The transcoder may divide arrays into other blocks.
            let mut end = 1;
            let transcoded = reference::decode(reader, reader.root(), &out, &mut end)
                .expect("what was transcoded can be read");
            assert_same(&transcoded, value);
            assert_eq!(end, out.len());
            let mut encoded = vec![0xee];
            encode(
                reader,
                reader.root(),
                value,
                &mut encoded,
                &EncodeOptions::default(),
            )
            .expect("the value is one of the reader's");
            assert!(encoded.len() <= out.len());
        }
        (None, Err(_)) => assert_eq!(out.len(), 1, "nothing is left of what cannot be read"),
        (None, Ok(_)) => assert!(skips(resolution), "what is read is checked"),
        (Some(_), Err(error)) => panic!("{error}"),
    }
    expected
}

/// Whether only the writer has some field.
fn skips(resolution: &Resolution) -> bool {
    resolution.nodes.iter().any(|node| match node {
        Resolved::Record { fields, .. } => fields.contains(&None),
        _ => false,
    })
}
