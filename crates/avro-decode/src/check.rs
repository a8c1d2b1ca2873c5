//! Checks encoded records, without making values of them.

use atds_features::path::field_step;

use crate::limits::DEEPEST;
use crate::plan::blocks::next_block;
use crate::plan::cursor::{Cursor, Fault};
use crate::schema::{Node, NodeId, Schema};
use crate::{DecodeError, DecodeErrorKind, DecodeOptions};

/// Checks whether bytes are records of a schema: the fast twin of
/// [`reference::decode`](crate::reference::decode()), which takes memory for the values. Both accept
/// the same bytes, but this one does not limit how many values take no bytes.
///
/// ```
/// use avro_decode::{Checker, DecodeOptions, Schema};
///
/// let schema = Schema::parse(r#"{"type": "array", "items": "int"}"#)?;
/// let checker = Checker::new(&schema, &DecodeOptions::default());
/// let mut position = 0;
/// checker.check(&[4, 2, 4, 0, 9], &mut position)?;
/// assert_eq!(position, 4);
/// assert!(checker.check(&[4, 2, 4, 0, 9], &mut position).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Checker<'s> {
    schema: &'s Schema,
    options: DecodeOptions,
    /// For each record type: its fields that take bytes. A record may have many that take none.
    fields: Vec<Box<[(&'s str, NodeId)]>>,
}

/// The error is boxed to keep the frames of the recursion small.
type Checked = Result<(), Box<DecodeError>>;

impl<'s> Checker<'s> {
    /// Creates a checker of values of the root of `schema`.
    pub fn new(schema: &'s Schema, options: &DecodeOptions) -> Self {
        let mut options = *options;
        options.max_depth = options.max_depth.min(DEEPEST);
        let is_empty = |id| schema.is_always_empty(id);
        let fields = schema.ids().map(|id| match schema.node(id) {
            Node::Record(record) => {
                let fields = record.fields.iter().filter(|field| !is_empty(field.ty));
                fields.map(|field| (&*field.name, field.ty)).collect()
            }
            _ => Box::default(),
        });
        Checker {
            schema,
            options,
            fields: fields.collect(),
        }
    }

    /// Checks the value that starts at `position` in `input`, and moves `position` past it.
    ///
    /// # Errors
    /// If the bytes there are no such value; `position` is then unchanged. The error has the offset
    /// in `input`, and the field.
    pub fn check(&self, input: &[u8], position: &mut usize) -> Result<(), DecodeError> {
        let mut run = Run {
            checker: self,
            cursor: Cursor::new(input, (*position).min(input.len())),
        };
        run.value(self.schema.root(), 0).map_err(|error| *error)?;
        *position = run.cursor.position();
        Ok(())
    }
}

struct Run<'c, 's, 'a> {
    checker: &'c Checker<'s>,
    cursor: Cursor<'a>,
}

impl Run<'_, '_, '_> {
    /// Checks a value within `depth` records, arrays, maps and unions.
    fn value(&mut self, id: NodeId, depth: usize) -> Checked {
        let checker = self.checker;
        match checker.schema.node(id) {
            Node::Array(items) => self.items(*items, false, depth),
            Node::Map(values) => self.items(*values, true, depth),
            Node::Union(branches) => {
                let depth = self.deeper(depth)?;
                let start = self.cursor.position();
                let branch = self.cursor.long();
                let branch = branch.map_err(|fault| self.error(*fault))?;
                let known = usize::try_from(branch).ok();
                match known.and_then(|branch| branches.get(branch)) {
                    Some(&id) => self.value(id, depth),
                    None => {
                        let branches = branches.len();
                        let kind = DecodeErrorKind::BadUnionBranch { branch, branches };
                        Err(Box::new(DecodeError::new(kind, start)))
                    }
                }
            }
            Node::Record(_) => {
                let depth = self.deeper(depth)?;
                for &(name, ty) in &checker.fields[id.index()] {
                    self.value(ty, depth)
                        .map_err(|error| Box::new(error.in_field(&field_step(name))))?;
                }
                Ok(())
            }
            leaf => self.leaf(leaf).map_err(|fault| self.error(*fault)),
        }
    }

    fn leaf(&mut self, node: &Node) -> Result<(), Fault> {
        let cursor = &mut self.cursor;
        let start = *cursor;
        let wrong = match node {
            Node::Boolean => match cursor.bytes(1)? {
                [0 | 1] => return Ok(()),
                other => DecodeErrorKind::BadBoolean(other[0]),
            },
            Node::Int => return cursor.int().map(drop),
            Node::Long => return cursor.long().map(drop),
            Node::Float => return cursor.bytes(4).map(drop),
            Node::Double => return cursor.bytes(8).map(drop),
            Node::Fixed(fixed) => return cursor.bytes(fixed.size).map(drop),
            Node::Enum(symbols) => {
                let (index, symbols) = (i64::from(cursor.int()?), symbols.symbols.len());
                if usize::try_from(index).is_ok_and(|index| index < symbols) {
                    return Ok(());
                }
                DecodeErrorKind::BadEnumIndex { index, symbols }
            }
            Node::Bytes | Node::String => {
                let length = cursor.length()?;
                let bytes = cursor.bytes(length)?;
                let is_text = *node == Node::String && !self.checker.options.replace_invalid_utf8;
                if !is_text || simdutf8::basic::from_utf8(bytes).is_ok() {
                    return Ok(());
                }
                DecodeErrorKind::InvalidUtf8
            }
            // Null; the types that have parts are no leaves.
            _ => return Ok(()),
        };
        *cursor = start;
        Err(Box::new(wrong))
    }

    /// Checks the items of an array, or the entries of a map.
    fn items(&mut self, item: NodeId, has_keys: bool, depth: usize) -> Checked {
        let depth = self.deeper(depth)?;
        let min_item = self.checker.schema.min_encoded_len(item);
        // A key takes at least one byte, for its length.
        let min_item = min_item.saturating_add(has_keys.into());
        let min_item = usize::try_from(min_item).unwrap_or(usize::MAX);
        loop {
            let block = next_block(&mut self.cursor, min_item);
            let Some(block) = block.map_err(|fault| self.error(*fault))? else {
                return Ok(());
            };
            let start = self.cursor.position();
            // Items without bytes may be many, and cannot be wrong.
            let count = if min_item == 0 { 0 } else { block.count };
            for _ in 0..count {
                if has_keys {
                    self.leaf(&Node::String)
                        .map_err(|fault| self.error(*fault))?;
                }
                self.value(item, depth)?;
            }
            let size = block.check_size(start, &self.cursor);
            size.map_err(|fault| self.error(*fault))?;
        }
    }

    fn deeper(&self, depth: usize) -> Result<usize, Box<DecodeError>> {
        let limit = self.checker.options.max_depth;
        if depth < limit {
            Ok(depth + 1)
        } else {
            Err(self.error(DecodeErrorKind::TooDeep { limit }))
        }
    }

    #[cold]
    fn error(&self, kind: DecodeErrorKind) -> Box<DecodeError> {
        Box::new(DecodeError::new(kind, self.cursor.position()))
    }
}
