//! Headers.

use avro_block::{Frame, Framer, Header, Limits};
use bytes::Bytes;

use super::framing::model;
use super::input::piece_lens;

/// See [`HEADER`](super::HEADER).
pub(super) fn check(file: &[u8]) {
    let mut tight = Limits::default();
    tight.max_header_bytes = 200;
    tight.max_metadata_entries = 3;
    let [default, tight] = [Limits::default(), tight].map(|limits| check_with(file, &limits));
    match (tight, default) {
        (Ok(tight), default) => assert_eq!(Ok(tight), default, "limits change nothing else"),
        // Another error may come before or after the limit.
        (Err(_), Err(_) | Ok(_)) => {}
    }
}

fn check_with(file: &[u8], limits: &Limits) -> Result<Header, String> {
    let whole = header(limits, [Bytes::copy_from_slice(file)]);
    for lens in [vec![1], piece_lens(file)] {
        assert_eq!(header(limits, model::pieces(file, &lens)), whole);
    }
    if let Ok(header) = &whole {
        assert!(header.len() <= file.len() as u64);
        assert!(header.len() <= limits.max_header_bytes, "{}", header.len());
        assert!(header.metadata().len() as u64 <= limits.max_metadata_entries);
        assert!(file[..header.len() as usize].ends_with(&header.sync().0));
        check_written_again(header);
    }
    whole
}

/// The header at the start of the pieces, or the text of the error with all its fields.
fn header(limits: &Limits, pieces: impl IntoIterator<Item = Bytes>) -> Result<Header, String> {
    let text = |error: avro_block::Error| format!("{error} {error:?}");
    let mut framer = Framer::with_limits(limits.clone());
    for piece in pieces {
        framer.push(piece);
        match framer.next().map_err(text)? {
            Frame::Header(header) => return Ok(header),
            Frame::NeedMore(n) => assert!(n > 0),
            other => panic!("{other:?} before the header"),
        }
    }
    let error = framer.finish().expect_err("the header is not whole");
    assert!(!framer.resync(), "there is no marker to search for");
    Err(text(error))
}

/// Checks that the metadata, written as one block with or without a size, gives the same header.
fn check_written_again(header: &Header) {
    let entries: Vec<(&str, &[u8])> = header
        .metadata()
        .iter()
        .map(|(key, value)| (&**key, &**value))
        .collect();
    for with_size in [false, true] {
        let file = model::header(&[model::map_block(&entries, with_size)]);
        let told = model::tell_whole(&file, false);
        let again = told.header.expect("it was made to be good");
        assert_eq!(told.errors, [""; 0]);
        assert_eq!(again.schema(), header.schema());
        assert_eq!(again.codec(), header.codec());
        assert_eq!(again.metadata(), header.metadata());
        assert_eq!(again.sync(), model::SYNC);
        assert_eq!(again.len(), file.len() as u64);
    }
}
