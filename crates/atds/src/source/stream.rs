//! Inputs that are read from their start to their end: pipes, and files that are unpacked.

use std::fmt;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use atds_format::{Access, ByteSource, Completion, Location, ReadBuffer};
use bytes::{Bytes, BytesMut};

use super::once::Stop;
use super::{PackedFiles, Reading};
use crate::lock::lock;

/// An input that is read once, from its start to its end. It is opened when it is first read.
///
/// Bytes that are read while a data set is built, by [`reading`](Self::reading), are kept for the
/// iteration that reads the input.
#[derive(Debug)]
pub(crate) struct Stream {
    path: PathBuf,
    location: Location,
    packed: PackedFiles,
    stop: Stop,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    is_begun: bool,
    /// `None` before the input is opened, and if that failed.
    reader: Option<Box<dyn Read + Send>>,
    /// Bytes that were read and not given out.
    kept: BytesMut,
    /// The offset of the next byte that is given out.
    at: u64,
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").finish_non_exhaustive()
    }
}

impl Stream {
    pub(super) fn new(path: &Path, packed: &PackedFiles, stop: &Stop) -> Self {
        Stream {
            path: path.to_owned(),
            location: path.into(),
            packed: packed.clone(),
            stop: stop.another(),
            state: Mutex::default(),
        }
    }

    /// A stream of the bytes of `file`, which is opened already.
    #[cfg(test)]
    pub(crate) fn of_file(file: std::fs::File, path: &Path, inputs: &super::OnceInputs) -> Self {
        let stream = Stream::new(path, &inputs.packed, &inputs.stop);
        let reader = super::OnceReader::new(file, path, &stream.stop);
        *lock(&stream.state) = State {
            is_begun: true,
            reader: Some(Box::new(reader)),
            ..State::default()
        };
        stream
    }

    /// Whether some bytes of the input were read, or waited for.
    pub(crate) fn is_begun(&self) -> bool {
        lock(&self.state).is_begun
    }

    /// The bytes from the start of the input on. What is read of them is kept. Waits for the first
    /// bytes, which tell whether the input is packed.
    pub(crate) fn reading(self: Arc<Self>) -> io::Result<Reading> {
        self.begun(&mut lock(&self.state))?;
        Ok(Reading {
            packing: self.packed.packing(&self.path),
            reader: Box::new(Replay {
                stream: self,
                at: 0,
            }),
        })
    }

    /// The reader of the input, opened.
    fn begun<'s>(&self, state: &'s mut State) -> io::Result<&'s mut (dyn Read + Send)> {
        if !std::mem::replace(&mut state.is_begun, true) {
            let Reading { reader, packing } = Reading::open(&self.path, &self.stop)?;
            self.packed.note(&self.path, packing);
            state.reader = Some(reader);
        }
        let failed = || io::Error::other("the input could not be read before");
        Ok(&mut **state.reader.as_mut().ok_or_else(failed)?)
    }

    fn read_some(&self, state: &mut State, buffer: &mut [u8]) -> io::Result<usize> {
        let reader = self.begun(state)?;
        loop {
            match reader.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }

    fn next(&self, range: &Range<u64>, mut buffer: ReadBuffer) -> io::Result<Bytes> {
        let state = &mut *lock(&self.state);
        if range.start != state.at {
            return Err(io::Error::other("the input can be read only once"));
        }
        let len = (range.end - range.start) as usize;
        let bytes = if !state.kept.is_empty() {
            let len = len.min(state.kept.len());
            state.kept.split_to(len).freeze()
        } else {
            let space = buffer.space(len);
            let read = self.read_some(state, space)?;
            if read < len / 2 {
                // A small part of a buffer would keep all of it.
                Bytes::copy_from_slice(&space[..read])
            } else {
                buffer.freeze(read)
            }
        };
        state.at += bytes.len() as u64;
        Ok(bytes)
    }
}

impl ByteSource for Stream {
    fn location(&self) -> &Location {
        &self.location
    }

    fn size(&self) -> io::Result<Option<u64>> {
        Ok(None)
    }

    fn access(&self) -> Access {
        Access::Blocking
    }

    fn read(&self, range: Range<u64>, buffer: ReadBuffer, done: Completion) {
        self.stop.follow(done.cancelled());
        done.complete(self.next(&range, buffer));
    }
}

/// Reads a [`Stream`] before it is read by an iteration.
struct Replay {
    stream: Arc<Stream>,
    at: usize,
}

impl Read for Replay {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let state = &mut *lock(&self.stream.state);
        if state.at > 0 {
            return Err(io::Error::other("the input is being read"));
        }
        let known = state.kept.get(self.at..).unwrap_or_default();
        let read = if known.is_empty() {
            let read = self.stream.read_some(state, buffer)?;
            state.kept.extend_from_slice(&buffer[..read]);
            read
        } else {
            let len = known.len().min(buffer.len());
            buffer[..len].copy_from_slice(&known[..len]);
            len
        };
        self.at += read;
        Ok(read)
    }
}
