//! Reads a file from its start to its end, and goes on after damage.

use std::cell::RefCell;
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Mutex;

use avro_block::{Block, Codec, ErrorKind as ContainerError, Found, Header, MAGIC, SyncMarker};

use super::block::BlockChecker;
use super::evidence::{self, LineEnds, MOST_BYTES, Part};
use super::taken::Taking;
use crate::avro::file_blocks::{FileBlocks, in_file};
use crate::avro::plans::{not_by_the_specification, parse_text};
use crate::formats::avro::container;
use crate::source::Reading;
use crate::verify::{Cause, Damage, Verified, VerifyOptions};
use crate::{Error, ErrorKind, FileFormat, avro};

/// Bytes at the start of a file whose header is damaged, which tell the cause.
const HEAD_BYTES: u64 = 64 << 10;

/// Number of damaged parts of a file after which little of each is looked at, and how much: a file of
/// nothing but damage takes no more time than reading it.
const MANY: u64 = 1_000;
const FEW_BYTES: usize = 4 << 10;

/// Takes the blocks without damage, each with the header.
pub(crate) type Sink<'a> = dyn FnMut(&Header, &Block) -> Result<(), Error> + 'a;

/// A file to be read.
pub(crate) struct Scan<'a> {
    path: &'a Path,
    options: &'a VerifyOptions,
    /// Gets the number of bytes read since its last call.
    on_read: &'a dyn Fn(u64),
    large: Option<&'a Mutex<()>>,
    /// The file, if it was opened already.
    opened: RefCell<Option<io::Result<Reading>>>,
}

/// What a file has.
pub(crate) struct Scanned {
    pub(crate) found: Verified,
    /// The header, if it can be read, with the marker of the blocks.
    pub(crate) header: Option<Header>,
    /// Why the file cannot be repaired.
    pub(crate) fault: Option<Error>,
}

impl<'a> Scan<'a> {
    pub(crate) fn new(
        path: &'a Path,
        options: &'a VerifyOptions,
        on_read: &'a dyn Fn(u64),
    ) -> Self {
        Scan {
            path,
            options,
            on_read,
            large: None,
            opened: RefCell::default(),
        }
    }

    /// Reads the file from what was opened: a pipe cannot be opened again.
    pub(crate) fn opened(self, reading: io::Result<Reading>) -> Self {
        self.opened.replace(Some(reading));
        self
    }

    /// Shares the lock of large blocks with other files.
    pub(crate) fn sharing(mut self, large: &'a Mutex<()>) -> Self {
        self.large = Some(large);
        self
    }

    /// Reads the file. `sink` takes the blocks without damage.
    ///
    /// # Errors
    /// The caller has cancelled; the errors of `sink`.
    pub(crate) fn run(&self, sink: &mut Sink<'_>) -> Result<Scanned, Error> {
        let own = Mutex::new(());
        let large = self.large.unwrap_or(&own);
        let first = self.pass(None, large, self.on_read, sink)?;
        let Some(marker) = first.other_marker.filter(|_| first.framed == 0) else {
            return Ok(first.into_scanned());
        };
        // Nothing was given out so far. Is the marker in the header the only one that is different?
        let quiet = |_| ();
        let again = self.pass(Some(marker), large, &quiet, &mut |_, _| Ok(()))?;
        if again.framed < 2 && again.unframed > 0 {
            return Ok(first.into_scanned());
        }
        let last = self.pass(Some(marker), large, &quiet, sink)?;
        Ok(last.into_scanned())
    }

    /// Reads the file once, with the marker of its header or another one.
    fn pass(
        &self,
        marker: Option<SyncMarker>,
        large: &Mutex<()>,
        on_read: &dyn Fn(u64),
        sink: &mut Sink<'_>,
    ) -> Result<Pass, Error> {
        // A pipe is opened once.
        let metadata = fs::metadata(self.path).ok();
        let is_once = metadata
            .as_ref()
            .is_some_and(|of| !of.is_file() && !of.is_dir());
        let size = metadata.filter(fs::Metadata::is_file);
        let mut pass = Pass::new(self, size.map_or(0, |of| of.len()));
        let opened = self.opened.take();
        let reading = opened.unwrap_or_else(|| Reading::open(self.path, &self.options.stop()));
        let blocks = FileBlocks::new(self.path, reading, &self.options.records());
        let mut blocks = match blocks {
            Ok(blocks) => blocks,
            Err(error) => {
                self.options.check_cancelled()?;
                let first = if is_once {
                    Vec::new()
                } else {
                    self.first_bytes()
                };
                pass.add_header(error, &first);
                on_read(pass.found.file_bytes);
                return Ok(pass);
            }
        };
        if let Some(marker) = marker {
            pass.change_marker(&mut blocks, marker);
        }
        let header = blocks.reader.header().clone();
        pass.position = header.len();
        pass.found.packing = blocks.packing;
        pass.found.codec = Some(header.codec());
        let schema = parse_text(header.schema());
        pass.add_schema(&schema, header.len());
        let schema = schema.ok();
        let mut checker = BlockChecker::new(header.codec(), schema.as_ref(), self.options, large);

        // Of a packed file, or a pipe, no more is known than its whole size.
        let tells = blocks.packing.is_none() && !is_once;
        let mut told = 0;
        loop {
            self.options.check_cancelled()?;
            if tells && pass.position > told {
                on_read(pass.position - told);
                told = pass.position;
            }
            let next = blocks.reader.next();
            let kept = pass.settle(blocks.reader.skipped_bytes(), next.is_none());
            let mut taking = Taking {
                found: &mut pass.found,
                header: &header,
                blocks: &mut blocks,
                checker: &mut checker,
                sink,
            };
            if let Some(block) = kept {
                pass.framed += 1;
                taking.take(block)?;
            }
            match next {
                None => break,
                Some(Ok(block)) => {
                    pass.position = block.offset + block.len;
                    if !pass.is_over {
                        pass.framed += 1;
                        taking.take(block)?;
                    }
                }
                Some(Err(error)) if matches!(error.kind, ContainerError::Io(_)) => {
                    self.options.check_cancelled()?;
                    pass.add_unreadable(in_file(container(error), self.path, blocks.packing));
                    break;
                }
                Some(Err(error)) => {
                    pass.begin_damage(error, &blocks, &mut checker);
                    blocks.reader.resync();
                }
            }
        }
        pass.end(is_once, checker.bad_checksums());
        on_read(pass.found.file_bytes.saturating_sub(told));
        pass.other_marker = pass.other_marker.filter(|_| !is_once && marker.is_none());
        pass.header = Some(blocks.reader.header().clone());
        Ok(pass)
    }

    /// The first bytes of a regular file, unpacked; none if they cannot be read.
    fn first_bytes(&self) -> Vec<u8> {
        let mut first = Vec::new();
        if let Ok(reading) = Reading::open(self.path, &self.options.stop()) {
            // What was read before an error is evidence too.
            let _ = reading.reader.take(HEAD_BYTES).read_to_end(&mut first);
        }
        first
    }
}

/// A file that is being read.
struct Pass {
    found: Verified,
    header: Option<Header>,
    /// The error if the header, the schema or the rest of the file cannot be read.
    fault: Option<Error>,
    tolerates_trailing: bool,
    strict: bool,
    /// Offset in the file of the next block.
    position: u64,
    /// Number of bytes that the reader has skipped so far.
    skipped: u64,
    /// A damaged part whose end is not known yet, and the block without damage at its end, if it has one.
    open: Option<Damage>,
    last_block: Option<Block>,
    /// Whether the rest of the file is another file.
    is_over: bool,
    /// Number of blocks framed, and of parts that frame no block.
    framed: u64,
    unframed: u64,
    /// What is where the first block's marker should be.
    other_marker: Option<SyncMarker>,
    /// The line ends in damaged parts, and the indices of damages that have some.
    line_ends: LineEnds,
    with_line_ends: Vec<usize>,
}

impl Pass {
    fn new(scan: &Scan<'_>, file_bytes: u64) -> Self {
        let mut found = Verified::new(scan.path.to_owned(), FileFormat::Avro);
        found.file_bytes = file_bytes;
        Pass {
            found,
            header: None,
            fault: None,
            tolerates_trailing: scan.options.tolerate.trailing_file_bytes,
            strict: scan.options.strict,
            position: 0,
            skipped: 0,
            open: None,
            last_block: None,
            is_over: false,
            framed: 0,
            unframed: 0,
            other_marker: None,
            line_ends: LineEnds::default(),
            with_line_ends: Vec::new(),
        }
    }

    fn into_scanned(self) -> Scanned {
        Scanned {
            found: self.found,
            header: self.header,
            fault: self.fault,
        }
    }

    fn error(&self, kind: avro::ErrorKind) -> Error {
        Error::new(kind).in_file(&self.found.path)
    }

    #[cold]
    fn add_header(&mut self, error: Error, first: &[u8]) {
        let bytes = self.found.file_bytes;
        let cause = of_header(&error, first, bytes);
        self.fault = Some(error.clone());
        self.found.add(Damage {
            error,
            cause,
            offset: 0,
            bytes,
            records: None,
        });
    }

    /// Reads on with the marker of the blocks, which is not that of the header.
    #[cold]
    fn change_marker(&mut self, blocks: &mut FileBlocks, marker: SyncMarker) {
        let header = blocks.reader.header();
        let offset = header.len() - SyncMarker::LEN as u64;
        let kind = ContainerError::SyncMismatch {
            expected: marker,
            found: header.sync(),
        };
        let error = container(avro_block::Error::new(kind, offset, None));
        self.found.add(Damage {
            error: in_file(error, &self.found.path, blocks.packing),
            cause: Cause::Overwritten,
            offset,
            bytes: SyncMarker::LEN as u64,
            records: Some(0),
        });
        blocks.reader.set_sync(marker);
    }

    /// Adds what is wrong with the schema in a header of `len` bytes.
    fn add_schema(&mut self, schema: &Result<avro_decode::Schema, Error>, len: u64) {
        match schema {
            Err(error) => {
                let error = error.clone().in_file(&self.found.path);
                self.fault = Some(error.clone());
                self.found.add(Damage {
                    error,
                    cause: Cause::Schema,
                    offset: 0,
                    bytes: len,
                    records: None,
                });
            }
            Ok(schema) if self.strict => {
                for fault in not_by_the_specification(schema) {
                    let error = self.error(avro::ErrorKind::Schema(fault));
                    self.found.add(Damage {
                        error,
                        cause: Cause::Specification,
                        offset: 0,
                        bytes: 0,
                        records: Some(0),
                    });
                }
            }
            Ok(_) => {}
        }
    }

    /// Begins a part that frames no block.
    #[cold]
    fn begin_damage(
        &mut self,
        error: avro_block::Error,
        blocks: &FileBlocks,
        checker: &mut BlockChecker<'_>,
    ) {
        if self.is_over {
            return;
        }
        self.unframed += 1;
        let most = match self.unframed {
            0..=MANY => MOST_BYTES,
            _ => FEW_BYTES,
        };
        let mut bytes = Vec::new();
        for piece in blocks.reader.held() {
            let left = most - bytes.len();
            bytes.extend_from_slice(&piece[..piece.len().min(left)]);
        }
        let header = blocks.reader.header();
        let part = Part {
            error: &error,
            start: self.position,
            bytes: &bytes,
            sync: header.sync(),
            codec: header.codec(),
        };
        if let (0, 1, Some(found)) = (self.framed, self.unframed, part.marker_found()) {
            self.other_marker = Some(found);
        }
        let (cause, records) = part.cause(checker);
        self.last_block = part.last_block(&cause, checker);
        let line_ends = part.line_ends();
        self.line_ends.add(line_ends);
        if line_ends.is_any() {
            self.with_line_ends.push(self.found.damages.len());
        }
        self.is_over = cause == Cause::SecondFile;
        self.open = Some(Damage {
            error: in_file(container(error), &self.found.path, blocks.packing),
            cause,
            offset: self.position,
            bytes: 0,
            records,
        });
    }

    /// Ends the part before what was read last. `skipped` is what the reader has skipped in all. Returns
    /// the block without damage that was skipped too, if there is one.
    fn settle(&mut self, skipped: u64, is_end: bool) -> Option<Block> {
        self.position += skipped - self.skipped;
        self.skipped = skipped;
        if self.is_over && !is_end {
            return None;
        }
        let mut damage = self.open.take()?;
        let last = self.last_block.take();
        let last = last.filter(|block| block.offset + block.len == self.position && !self.is_over);
        let end = last.as_ref().map_or(self.position, |block| block.offset);
        damage.bytes = end - damage.offset;
        let is_trailing = matches!(
            damage.error.kind.avro(),
            Some(avro::ErrorKind::Container(ContainerError::NotABlock { .. }))
        );
        if is_end && is_trailing && self.tolerates_trailing {
            self.found.tolerated.trailing_file_bytes += damage.bytes;
        } else {
            self.found.add(damage);
        }
        last
    }

    /// Adds the rest of a file that cannot be read.
    #[cold]
    fn add_unreadable(&mut self, error: Error) {
        let (cause, bytes) = match &error.kind {
            ErrorKind::Unpack { message, .. } => {
                // How many bytes are packed in the rest is not known.
                let end = error.place.offset.unwrap_or(self.position);
                (of_unpacking(message), end.saturating_sub(self.position))
            }
            _ => {
                let left = self.found.file_bytes.saturating_sub(self.position);
                self.fault = Some(error.clone());
                (Cause::Unreadable, left)
            }
        };
        self.found.add(Damage {
            error,
            cause,
            offset: self.position,
            bytes,
            records: None,
        });
    }

    /// Completes the figures at the end of the file.
    fn end(&mut self, is_once: bool, bad_checksums: u64) {
        self.found.tolerated.bad_checksums = bad_checksums;
        if is_once {
            self.found.file_bytes = self.position;
        }
        let size = self.found.file_bytes;
        let is_whole = self.found.lost.parts > 0 || self.found.packing.is_some();
        if !is_whole && self.position < size {
            let error = Error::new(ErrorKind::FileShrank {
                before: size,
                now: self.position,
            });
            self.add_unreadable(error.in_file(&self.found.path.clone()));
        }
        let is_newlines = |damage: &Damage| damage.cause == Cause::Newlines;
        if self.line_ends.were_converted() || self.found.damages.iter().any(is_newlines) {
            for &damage in &self.with_line_ends {
                let damage = self.found.damages.get_mut(damage);
                if let Some(damage) = damage.filter(|damage| {
                    matches!(
                        damage.cause,
                        Cause::Overwritten | Cause::Missing { .. } | Cause::Added { .. }
                    )
                }) {
                    damage.cause = Cause::Newlines;
                }
            }
        }
    }
}

/// What has probably damaged the packing of a file, by the message about it.
#[cold]
pub(crate) fn of_unpacking(message: &str) -> Cause {
    let says = |words: &[&str]| words.iter().any(|words| message.contains(words));
    if says(&["incomplete", "unexpected end", "eof", "whole buffer"]) {
        Cause::Cut { missing: 1 }
    } else if says(&["cut it off"]) {
        let found = Found::Unknown;
        Cause::AfterTheEnd { found }
    } else {
        Cause::Overwritten
    }
}

/// What has probably damaged the header of a file of `size` bytes that begins with `first`.
#[cold]
fn of_header(error: &Error, first: &[u8], size: u64) -> Cause {
    let Some(avro::ErrorKind::Container(kind)) = error.kind.avro() else {
        return match &error.kind {
            ErrorKind::Unpack { message, .. } => of_unpacking(message),
            _ => Cause::Unreadable,
        };
    };
    if let Some(cause @ (Cause::Newlines | Cause::Text)) =
        evidence::of_bytes(first, Codec::Null, None)
    {
        return cause;
    }
    match kind {
        ContainerError::NotAvro { found } => {
            let equal = first.iter().zip(MAGIC).filter(|(a, b)| **a == *b).count();
            match found {
                Some(Found::Zeros) => Cause::ZeroFilled {
                    offset: 0,
                    bytes: size,
                },
                _ if equal + 1 >= MAGIC.len() => Cause::Overwritten,
                _ => Cause::NotOfFormat {
                    format: FileFormat::Avro,
                },
            }
        }
        ContainerError::Empty => Cause::NeverWritten,
        &ContainerError::Truncated { missing, .. } if missing <= size.max(HEAD_BYTES) => {
            Cause::Cut { missing }
        }
        ContainerError::UnknownCodec(name) => {
            let is_near = |codec: Codec| {
                let pairs = codec.name().bytes().zip(name.bytes());
                let same = pairs.filter(|(a, b)| a == b).count();
                codec.name().len() == name.len() && same + 1 >= name.len()
            };
            match Codec::ALL.into_iter().any(is_near) {
                true => Cause::Overwritten,
                false => Cause::NotChecked,
            }
        }
        ContainerError::Io(_) => Cause::Unreadable,
        _ => Cause::Overwritten,
    }
}
