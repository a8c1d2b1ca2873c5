//! Inputs that are read from their start to their end: pipes, and files that are unpacked.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use atds_format::{Access, ByteSource, Completion, Location, ReadBuffer};
use bytes::Bytes;

use super::Reading;
use super::once::{OnceInputs, OnceReader, Stop};
use super::unpack::{Packing, unpack};

/// An input that is read once, from its start to its end.
///
/// Bytes that are read while a data set is built, by [`replay`](Self::replay), are kept for the
/// iteration that reads the input.
#[derive(Debug)]
pub(crate) struct Stream {
    location: Location,
    stop: Stop,
    state: Mutex<State>,
}

struct State {
    input: Input,
    /// Bytes that were read and not given out.
    kept: Vec<u8>,
    /// The same, once an iteration reads the input.
    begun: Option<Bytes>,
    /// The offset of the next byte that is given out.
    at: u64,
}

enum Input {
    /// Nothing was read, so that it is not known whether the input is packed.
    Unread {
        file: File,
        path: PathBuf,
        inputs: Arc<OnceInputs>,
    },
    Reading(Box<dyn Read + Send>),
    Failed,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

impl Stream {
    /// An input that can be read only once.
    pub(crate) fn once(file: File, path: &Path, inputs: &Arc<OnceInputs>) -> Self {
        let input = Input::Unread {
            file,
            path: path.to_owned(),
            inputs: inputs.clone(),
        };
        Stream::new(path, inputs.stop().another(), input)
    }

    /// A file that is packed as a whole.
    pub(crate) fn packed(
        packing: Packing,
        file: File,
        path: &Path,
        inputs: &OnceInputs,
    ) -> io::Result<Self> {
        let input = Input::Reading(unpack(packing, file)?);
        Ok(Stream::new(path, inputs.stop().another(), input))
    }

    fn new(path: &Path, stop: Stop, input: Input) -> Self {
        Stream {
            location: path.into(),
            stop,
            state: Mutex::new(State {
                input,
                kept: Vec::new(),
                begun: None,
                at: 0,
            }),
        }
    }

    /// Waits for the first bytes, which tell whether the input is packed.
    pub(crate) fn wait(&self) -> io::Result<()> {
        self.lock().begin(&self.stop)
    }

    /// A reader from the start of the input on. What it reads is kept.
    pub(crate) fn replay(self: &Arc<Self>) -> Replay {
        Replay {
            stream: self.clone(),
            at: 0,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn read(&mut self, buffer: &mut [u8], stop: &Stop) -> io::Result<usize> {
        self.begin(stop)?;
        let Input::Reading(reader) = &mut self.input else {
            return Err(io::Error::other("the input could not be read before"));
        };
        loop {
            match reader.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }

    /// Waits for the first bytes, which tell whether the input is packed.
    fn begin(&mut self, stop: &Stop) -> io::Result<()> {
        let input = std::mem::replace(&mut self.input, Input::Failed);
        let Input::Unread { file, path, inputs } = input else {
            self.input = input;
            return Ok(());
        };
        let reading = Reading::of_head(OnceReader::new(file, &path, stop))?;
        if let Some(packing) = reading.packing {
            inputs.note_packed(&path, packing);
        }
        self.input = Input::Reading(reading.reader);
        Ok(())
    }

    fn next(
        &mut self,
        range: &Range<u64>,
        mut buffer: ReadBuffer,
        stop: &Stop,
    ) -> io::Result<Bytes> {
        if range.start != self.at {
            return Err(io::Error::other("the input can be read only once"));
        }
        let kept = &mut self.kept;
        let begun = self
            .begun
            .get_or_insert_with(|| std::mem::take(kept).into());
        let len = (range.end - range.start) as usize;
        let bytes = if begun.is_empty() {
            let space = buffer.space(len);
            let read = self.read(space, stop)?;
            if read < len / 2 {
                // A small part of a buffer would keep all of it.
                Bytes::copy_from_slice(&buffer.space(len)[..read])
            } else {
                buffer.freeze(read)
            }
        } else {
            begun.split_to(len.min(begun.len()))
        };
        self.at += bytes.len() as u64;
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
        let answer = self.lock().next(&range, buffer, &self.stop);
        done.complete(answer);
    }
}

/// Reads a [`Stream`] before it is read by an iteration.
pub(crate) struct Replay {
    stream: Arc<Stream>,
    at: usize,
}

impl Read for Replay {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut state = self.stream.lock();
        if state.begun.is_some() {
            return Err(io::Error::other("the input is being read"));
        }
        let known = state.kept.get(self.at..).unwrap_or_default();
        let read = if known.is_empty() {
            let read = state.read(buffer, &self.stream.stop)?;
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
