//! Runs the steps: reads the writer's bytes with a cursor, and appends the reader's bytes.

use super::{Leaf, Transcoder, TypeStep};
use crate::encode::{write_bytes, write_long};
use crate::limits::MAX_ZERO_SIZE_VALUES;
use crate::plan::blocks::next_block;
use crate::plan::cursor::{Cursor, Fault};
use crate::resolve::ResolvedId;
use crate::schema::describe::describe;
use crate::schema::{Node, NodeId};
use crate::{DecodeError, DecodeErrorKind};

/// The error is boxed to keep the frames of the recursion small.
pub(super) type Transcoded<T = ()> = Result<T, Box<DecodeError>>;

pub(super) fn run(transcoder: &Transcoder, input: &[u8], out: &mut Vec<u8>) -> Transcoded<usize> {
    let mut run = Run {
        transcoder,
        input,
        cursor: Cursor::new(input, 0),
        out,
        starts: Vec::new(),
        empty_values: 0,
        filled_parts: 0,
    };
    run.value(transcoder.root, Depth::default())?;
    Ok(run.cursor.position())
}

pub(super) struct Run<'t, 'a> {
    pub(super) transcoder: &'t Transcoder,
    pub(super) input: &'a [u8],
    pub(super) cursor: Cursor<'a>,
    pub(super) out: &'t mut Vec<u8>,
    /// The offsets of the fields of enclosing records that are read in another order.
    pub(super) starts: Vec<usize>,
    /// Number of items and fields without bytes so far; their resolved values may have bytes.
    empty_values: usize,
    /// Number of values, and bytes of strings, from defaults so far.
    pub(super) filled_parts: usize,
}

/// Number of records, arrays, maps and unions around a value.
#[derive(Clone, Copy, Default)]
pub(super) struct Depth {
    writer: usize,
    reader: usize,
}

impl Run<'_, '_> {
    pub(super) fn value(&mut self, id: ResolvedId, depth: Depth) -> Transcoded {
        let transcoder = self.transcoder;
        match &transcoder.steps[id.index()] {
            &TypeStep::Leaf(leaf) => {
                let result = self.leaf(leaf);
                result.map_err(|kind| self.error(*kind))
            }
            TypeStep::Enum {
                writer,
                reader,
                symbols,
            } => self.symbol(*writer, *reader, symbols),
            &TypeStep::Array { item, min_item } => {
                let depth = self.deeper(depth, 1, 1)?;
                self.blocks(min_item, |run| run.value(item, depth))
            }
            &TypeStep::Map { value, min_entry } => {
                let depth = self.deeper(depth, 1, 1)?;
                self.blocks(min_entry, |run| {
                    run.leaf(Leaf::Text).map_err(|kind| run.error(*kind))?;
                    run.value(value, depth)
                })
            }
            TypeStep::Record(record) => {
                let depth = self.deeper(depth, 1, 1)?;
                self.record(record, depth)
            }
            TypeStep::Union(branches) => {
                let depth = self.deeper(depth, 1, 0)?;
                let start = self.cursor.position();
                let branch = self.cursor.long().map_err(|kind| self.error(*kind))?;
                let found = usize::try_from(branch).ok();
                match found.and_then(|branch| branches.get(branch)) {
                    Some(&id) => self.value(id, depth),
                    None => {
                        let branches = branches.len();
                        let kind = DecodeErrorKind::BadUnionBranch { branch, branches };
                        Err(Box::new(error_at(kind, start)))
                    }
                }
            }
            &TypeStep::Branch { branch, value } => {
                let depth = self.deeper(depth, 0, 1)?;
                write_long(self.out, branch as i64);
                self.value(value, depth)
            }
            &TypeStep::Never { writer, reader } => Err(self.unresolvable(writer, reader)),
        }
    }

    fn leaf(&mut self, leaf: Leaf) -> Result<(), Fault> {
        let (cursor, out) = (&mut self.cursor, &mut *self.out);
        match leaf {
            Leaf::Nothing => {}
            Leaf::Boolean => {
                let start = *cursor;
                match cursor.bytes(1)? {
                    value @ [0 | 1] => out.extend_from_slice(value),
                    other => {
                        *cursor = start;
                        return Err(bad_boolean(other[0]));
                    }
                }
            }
            Leaf::Int => write_long(out, cursor.int()?.into()),
            Leaf::IntToFloat => out.extend((cursor.int()? as f32).to_le_bytes()),
            Leaf::IntToDouble => out.extend(f64::from(cursor.int()?).to_le_bytes()),
            Leaf::Long => write_long(out, cursor.long()?),
            Leaf::Times { long, rescale } => {
                let start = *cursor;
                let time = if long {
                    cursor.long()?
                } else {
                    cursor.int()?.into()
                };
                let time = rescale.apply(time).inspect_err(|_| *cursor = start)?;
                write_long(out, time);
            }
            Leaf::LongToFloat => out.extend((cursor.long()? as f32).to_le_bytes()),
            Leaf::LongToDouble => out.extend((cursor.long()? as f64).to_le_bytes()),
            Leaf::FloatToDouble => {
                let mut value = [0; 4];
                value.copy_from_slice(cursor.bytes(4)?);
                out.extend(f64::from(f32::from_le_bytes(value)).to_le_bytes());
            }
            Leaf::Fixed(size) => out.extend_from_slice(cursor.bytes(size)?),
            Leaf::Bytes => {
                let length = cursor.length()?;
                write_bytes(out, cursor.bytes(length)?);
            }
            Leaf::Text => {
                let start = *cursor;
                let length = cursor.length()?;
                let text = cursor.bytes(length)?;
                if simdutf8::basic::from_utf8(text).is_ok() {
                    write_bytes(out, text);
                } else if self.transcoder.options.replace_invalid_utf8 {
                    write_bytes(out, crate::utf8::replace(text).as_bytes());
                } else {
                    *cursor = start;
                    return Err(invalid_utf8());
                }
            }
        }
        Ok(())
    }

    fn symbol(&mut self, writer: NodeId, reader: NodeId, symbols: &[Option<u32>]) -> Transcoded {
        let start = self.cursor.position();
        let index = self.cursor.int().map_err(|kind| self.error(*kind))?;
        let found = usize::try_from(index).ok();
        match found.and_then(|index| Some((index, symbols.get(index)?))) {
            Some((_, &Some(symbol))) => {
                write_long(self.out, symbol.into());
                Ok(())
            }
            Some((index, None)) => Err(self.unknown_symbol(writer, index, reader, start)),
            None => {
                let kind = DecodeErrorKind::BadEnumIndex {
                    index: index.into(),
                    symbols: symbols.len(),
                };
                Err(Box::new(error_at(kind, start)))
            }
        }
    }

    /// Reads the blocks of an array or a map, and writes them with counts and without sizes.
    fn blocks(
        &mut self,
        min_item: usize,
        mut item: impl FnMut(&mut Self) -> Transcoded,
    ) -> Transcoded {
        while let Some(block) =
            next_block(&mut self.cursor, min_item).map_err(|kind| self.error(*kind))?
        {
            if min_item == 0 {
                self.count_empty(block.count)?;
            }
            // A count comes from a long.
            write_long(self.out, block.count as i64);
            let start = self.cursor.position();
            for _ in 0..block.count {
                item(self)?;
            }
            let actual = self.cursor.position() - start;
            if let Some(declared) = block.bytes.filter(|&declared| declared != actual) {
                return Err(self.error(DecodeErrorKind::BadBlockSize { declared, actual }));
            }
        }
        self.out.push(0);
        Ok(())
    }

    /// Counts values without bytes, whose number the input does not bound.
    pub(super) fn count_empty(&mut self, count: usize) -> Transcoded {
        self.empty_values += count;
        if self.empty_values > MAX_ZERO_SIZE_VALUES {
            return Err(self.error(DecodeErrorKind::TooManyZeroSizeValues));
        }
        Ok(())
    }

    /// The depth inside `writer` more of the writer's values and `reader` more of the reader's. It
    /// is bounded, since transcoding recurses, and so do readers of the result.
    pub(super) fn deeper(&self, depth: Depth, writer: usize, reader: usize) -> Transcoded<Depth> {
        let depth = Depth {
            writer: depth.writer + writer,
            reader: depth.reader + reader,
        };
        let limit = self.transcoder.options.max_depth;
        if depth.writer.max(depth.reader) > limit {
            return Err(self.error(DecodeErrorKind::TooDeep { limit }));
        }
        Ok(depth)
    }

    #[cold]
    fn unresolvable(&self, writer: NodeId, reader: NodeId) -> Box<DecodeError> {
        self.error(DecodeErrorKind::Unresolvable {
            writer: describe(&self.transcoder.writer, writer),
            reader: describe(&self.transcoder.reader, reader),
        })
    }

    #[cold]
    fn unknown_symbol(
        &self,
        writer: NodeId,
        index: usize,
        reader: NodeId,
        start: usize,
    ) -> Box<DecodeError> {
        let symbol = match self.transcoder.writer.node(writer) {
            Node::Enum(symbols) => symbols.symbols[index].clone(),
            _ => String::new(),
        };
        let reader = describe(&self.transcoder.reader, reader);
        let kind = DecodeErrorKind::UnknownSymbol { symbol, reader };
        Box::new(error_at(kind, start))
    }

    #[cold]
    pub(super) fn error(&self, kind: DecodeErrorKind) -> Box<DecodeError> {
        Box::new(error_at(kind, self.cursor.position()))
    }
}

#[cold]
pub(super) fn error_at(kind: DecodeErrorKind, offset: usize) -> DecodeError {
    DecodeError::new(kind, offset)
}

#[cold]
fn bad_boolean(value: u8) -> Fault {
    Box::new(DecodeErrorKind::BadBoolean(value))
}

#[cold]
fn invalid_utf8() -> Fault {
    Box::new(DecodeErrorKind::InvalidUtf8)
}
