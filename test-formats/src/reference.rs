//! Reads a file by hand, as slowly and plainly as can be: what the pipeline is held against.

use std::path::Path;
use std::sync::Arc;

use atds_format::{
    BlockDesc, Blocks, Decoder, Error, FileInfo, Format, Location, Next, Payload, Pos, PrepareJob,
    Prepared, Scratch,
};
use bytes::Bytes;
use tensor_batch::BatchBuilder;

use crate::sources::slice;
use crate::{Row, TestFormat};

/// How a file is read by hand.
#[derive(Clone, Copy, Debug)]
pub struct ReadByHand {
    /// Number of bytes that are pushed at a time.
    pub piece: usize,
    /// Number of bytes that are pushed after the range that the framing needs.
    pub beyond: usize,
    /// Whether the framing is asked for payloads. If not, it lists their ranges.
    pub payloads: bool,
    /// Whether the framing is told the size of the file.
    pub size: bool,
    /// Whether reading goes on after damage of the framing.
    pub resync: bool,
}

impl Default for ReadByHand {
    fn default() -> Self {
        ReadByHand {
            piece: usize::MAX,
            beyond: 0,
            payloads: true,
            size: true,
            resync: false,
        }
    }
}

/// The rows of `file`, and the error after them. With `resync`, errors of the framing are returned
/// all; the rows between them are kept.
pub fn read_by_hand(
    format: &dyn TestFormat,
    file: &[u8],
    options: ReadByHand,
) -> (Vec<Row>, Vec<Error>) {
    read_with(&*format.format(), format, file, options)
}

/// As [`read_by_hand`], with a format that was made before.
pub(crate) fn read_with(
    reader: &dyn Format,
    format: &dyn TestFormat,
    file: &[u8],
    options: ReadByHand,
) -> (Vec<Row>, Vec<Error>) {
    let file = Bytes::copy_from_slice(file);
    let location = Location::from(Path::new("by-hand"));
    let info = FileInfo {
        location: &location,
        size: options.size.then_some(file.len() as u64),
        payloads: options.payloads,
        layout: None,
    };
    let (mut rows, mut errors) = (Vec::new(), Vec::new());
    let mut blocks = match reader.open(&info) {
        Ok(blocks) => blocks,
        Err(error) => return (rows, vec![error]),
    };
    let mut decoder: Option<Arc<dyn Decoder>> = None;
    // A framing that asks again and again for what it has would not end.
    let mut asked = 0;
    loop {
        match blocks.next() {
            Ok(Next::Decoder(new)) => decoder = Some(new),
            Ok(Next::Block(block)) => {
                let decoder = decoder.as_deref().expect("a decoder comes before blocks");
                assert!(
                    block.index > 0
                        || options.resync
                        || !matches!(block.payload, Payload::Here(_))
                        || block.offset == blocks.header_bytes(),
                    "the first block begins at byte {}, and the header has {} bytes",
                    block.offset,
                    blocks.header_bytes()
                );
                let parts = parts(&*blocks, &block, &file);
                let read =
                    parts.and_then(|parts| read_block(format, decoder, &block, &parts, &mut rows));
                match read {
                    Ok(()) => {}
                    Err(error) => {
                        errors.push(error);
                        return (rows, errors);
                    }
                }
            }
            Ok(Next::Need { range, .. }) => {
                assert!(range.start < range.end, "needs the empty range {range:?}");
                let bytes = slice(&file, &range);
                let piece = bytes.slice(..bytes.len().min(options.piece));
                let end = range.start + piece.len() as u64;
                blocks.push(range.start, piece);
                if end == range.end && options.beyond > 0 {
                    blocks.push(end, slice(&file, &(end..end + options.beyond as u64)));
                }
                asked += 1;
                assert!(asked <= 3 * file.len() + 100, "asks for {range:?} again");
            }
            Ok(Next::End) => return (rows, errors),
            Err(error) => {
                errors.push(error);
                if !options.resync || !blocks.resync() {
                    return (rows, errors);
                }
            }
        }
    }
}

/// A block of a file: its first position, its number of records, and its prepared payload.
pub(crate) type PreparedBlock = (Pos, u64, Prepared);

/// The decoder and the blocks of a whole file.
pub(crate) fn prepared(
    reader: &dyn Format,
    file: &[u8],
) -> Result<(Arc<dyn Decoder>, Vec<PreparedBlock>), Error> {
    let file = Bytes::copy_from_slice(file);
    let location = Location::from(Path::new("by-hand"));
    let mut blocks = reader.open(&FileInfo {
        location: &location,
        size: Some(file.len() as u64),
        payloads: false,
        layout: None,
    })?;
    let (mut decoder, mut found) = (None::<Arc<dyn Decoder>>, Vec::new());
    loop {
        match blocks.next()? {
            Next::Decoder(new) => decoder = Some(new),
            Next::Need { range, .. } => blocks.push(range.start, slice(&file, &range)),
            Next::End => return Ok((decoder.expect("a decoder comes first"), found)),
            Next::Block(block) => {
                let parts = parts(&*blocks, &block, &file)?;
                let mut jobs = [PrepareJob::new(&parts, 1 << 30)];
                let decoder = decoder.as_deref().expect("a decoder comes before blocks");
                decoder.prepare(&mut jobs, &mut Scratch::default());
                let [job] = jobs;
                let (prepared, _) = job.result?;
                let first = Pos {
                    record: 0,
                    at: block.start,
                };
                found.push((first, block.records, prepared));
            }
        }
    }
}

/// The parts of a block's payload.
fn parts(blocks: &dyn Blocks, block: &BlockDesc, file: &Bytes) -> Result<Vec<Bytes>, Error> {
    match &block.payload {
        Payload::Here(bytes) => Ok(vec![bytes.clone()]),
        _ => {
            let ranges = block.ranges();
            let parts = ranges.iter().map(|range| slice(file, range));
            blocks.payloads().find(&block.into(), parts.collect())
        }
    }
}

/// Appends the rows of a block, up to the damaged one.
fn read_block(
    format: &dyn TestFormat,
    decoder: &dyn Decoder,
    block: &BlockDesc,
    parts: &[Bytes],
    rows: &mut Vec<Row>,
) -> Result<(), Error> {
    let bytes = parts.iter().map(|part| part.len() as u64).sum();
    let most = decoder.most_records(bytes);
    if block.records > most {
        return Err(Error::format(TooMany(block.records, most)).at(block.offset));
    }
    let mut scratch = Scratch::default();
    let mut jobs = [PrepareJob::new(parts, 1 << 30)];
    decoder.prepare(&mut jobs, &mut scratch);
    let [job] = jobs;
    let (prepared, _) = job.result?;
    if let Some(max) = block.max_prepared {
        assert!(
            prepared.memory_bytes() as u64 <= max,
            "more than max_prepared"
        );
    }
    let mut at = Pos {
        record: 0,
        at: block.start,
    };
    let mut builder = BatchBuilder::new(format.spec());
    for _ in 0..block.records {
        let mut slots = builder.slots(&[1]);
        let decoded = decoder.decode(&prepared, at, 1, &mut slots[0], &mut scratch, None)?;
        assert_eq!(slots[0].remaining(), 0, "a record without its row");
        at = decoded.pos;
        drop(slots);
        builder.gather().into_iter().for_each(|task| task.run());
        rows.extend(format.rows(&builder.finish()));
    }
    if let Err(error) = decoder.finish(&prepared, at) {
        // The last record may end elsewhere: the error is its own, as in the pipeline.
        if block.records > 0 {
            rows.pop();
        }
        return Err(error);
    }
    Ok(())
}

#[derive(Debug, thiserror::Error)]
#[error("{0} records, more than {1}")]
struct TooMany(u64, u64);
