//! Arrays and maps: one pass for each way in which requests choose elements.

use std::sync::{Arc, LazyLock};

use atds_features::feature::FeatureKind;
use atds_features::path::{Filter, Path, Slice, Step};

use super::fields::wrong_step;
use super::operations::{in_turn, program};
use super::request::{Request, Target};
use super::values::{not_an_element, unwrap_nullable};
use super::{Compiler, TypePair};
use crate::DecodeErrorKind;
use crate::convert::Source;
use crate::plan::item_slice::ItemSlice;
use crate::plan::output::Length;
use crate::plan::program::{Action, Coding, Each, Items, List, Operation, Pick, Read, Which};
use crate::plan::skip::Skip;
use crate::plan::{self, PlanError, PlanErrorKind};
use crate::resolve::{Resolution, Resolved};
use crate::schema::{Node, Schema};

/// How elements are chosen.
#[derive(Clone, Copy, PartialEq)]
enum Choice<'f> {
    All,
    Slice(Slice),
    Filter(&'f Filter),
    Index(u64),
    Key(&'f str),
    Keys,
}

/// Requests that choose the same elements, and the maximum number of elements they read.
type Group<'f> = ((Choice<'f>, Option<usize>), Vec<Request<'f>>);

impl<'f> Compiler<'f> {
    /// Compiles an array or a map. `item` is the type of its elements.
    pub(super) fn items(
        &mut self,
        pair: TypePair<'_>,
        item: TypePair<'_>,
        requests: Vec<Request<'f>>,
        at: &str,
    ) -> Result<Vec<Operation>, PlanError> {
        let mut groups: Vec<Group<'f>> = Vec::new();
        for request in requests {
            let choice = (choice(pair, item, &request, at)?, most(&request));
            match groups.iter_mut().find(|(other, _)| *other == choice) {
                Some((_, group)) => group.push(request),
                None => groups.push((choice, vec![request])),
            }
        }
        let mut passes = Vec::with_capacity(groups.len());
        for ((choice, _), group) in groups {
            passes.push(match choice {
                Choice::Index(index) => {
                    let absent = DecodeErrorKind::NoItem { index };
                    self.pick(pair, item, Which::Index(index), absent, group, at)?
                }
                Choice::Key(key) => {
                    let absent = DecodeErrorKind::NoKey {
                        key: key.to_owned(),
                    };
                    self.pick(pair, item, Which::Key(key.into()), absent, group, at)?
                }
                Choice::Keys => self.keys(pair, item, group, at)?,
                Choice::All | Choice::Slice(_) | Choice::Filter(_) => {
                    self.each(pair, item, group, at)?
                }
            });
        }
        Ok(in_turn(&self.outputs, passes, at))
    }

    /// Compiles a request for one element.
    fn pick(
        &mut self,
        pair: TypePair<'_>,
        item: TypePair<'_>,
        which: Which,
        why: DecodeErrorKind,
        requests: Vec<Request<'f>>,
        at: &str,
    ) -> Result<Vec<Operation>, PlanError> {
        let absent = requests
            .iter()
            .filter_map(|one| self.missing(one, why.clone()));
        let absent = program(&self.outputs, absent.collect());
        let step = Path {
            steps: vec![requests[0].steps[0].clone()],
        };
        let min_item = min_item(pair, item, &requests[0])?;
        let inside: Vec<_> = requests.into_iter().map(Request::advance).collect();
        let operations = self.value(item, inside, &format!("{at}{step}"))?;
        let item_program = program(&self.outputs, operations);
        let pick = Pick {
            which,
            min_item,
            other: self.skips.skip_of(item.writer_schema(), item.writer()),
            item: item_program,
            absent,
        };
        Ok(vec![Operation::new(at, Action::Pick(Box::new(pick)))])
    }

    /// Compiles requests for all elements, the elements of a slice, or the elements that a filter
    /// keeps.
    fn each(
        &mut self,
        pair: TypePair<'_>,
        item: TypePair<'_>,
        requests: Vec<Request<'f>>,
        at: &str,
    ) -> Result<Vec<Operation>, PlanError> {
        let is_map = matches!(pair.node(), Resolved::Map { .. });
        let filters = requests.iter().filter_map(|one| match one.steps.first() {
            Some(Step::Filter(filter)) => Some((one.checked, filter)),
            _ => None,
        });
        let filters: Vec<_> = filters.collect();
        let read = |compiler: &mut Self, inside: Vec<Request<'f>>| {
            let filter = if filters.is_empty() {
                None
            } else {
                Some(compiler.filter(item, &filters, at)?)
            };
            Ok((filter, compiler.value(item, inside, &format!("{at}[*]"))?))
        };
        let key = is_map.then_some(Skip::Length);
        self.elements(pair, item, key, requests, at, read)
    }

    /// Compiles requests for all keys of a map. They read each entry as a key followed by a value
    /// to skip.
    fn keys(
        &mut self,
        pair: TypePair<'_>,
        item: TypePair<'_>,
        requests: Vec<Request<'f>>,
        at: &str,
    ) -> Result<Vec<Operation>, PlanError> {
        static KEY: LazyLock<Resolution> = LazyLock::new(|| {
            let schema = Schema::parse("\"string\"").expect("a schema");
            Resolution::identity(Arc::new(schema))
        });
        let key = TypePair {
            resolution: &KEY,
            id: KEY.root,
        };
        let key_way = format!("{at}.keys()");
        let read = |compiler: &mut Self, inside: Vec<Request<'f>>| {
            let mut operations = compiler.value(key, inside, &key_way)?;
            operations.extend(compiler.skip(item.writer_schema(), item.writer(), at)?);
            Ok((None, operations))
        };
        self.elements(pair, item, None, requests, at, read)
    }

    /// Compiles elements that requests have a dimension for, or the elements of entries. `read`
    /// gives the operations that read an element, and the filter that keeps it. `key` skips the key
    /// before an element, unless `read` reads the key.
    fn elements(
        &mut self,
        pair: TypePair<'_>,
        item: TypePair<'_>,
        key: Option<Skip>,
        requests: Vec<Request<'f>>,
        at: &str,
        read: impl FnOnce(
            &mut Self,
            Vec<Request<'f>>,
        ) -> Result<(Option<plan::filter::Filter>, Vec<Operation>), PlanError>,
    ) -> Result<Vec<Operation>, PlanError> {
        let text = match &*requests {
            [only] => only.text(),
            _ => at,
        };
        let min_item = min_item(pair, item, &requests[0])?;
        let slice = self.slice(pair, item, &requests[0]);
        let mut operations = Vec::new();
        let mut lists = Vec::new();
        let mut inside = Vec::with_capacity(requests.len());
        let register = self.register();
        for mut request in requests {
            operations.extend(self.present(&mut request));
            let is_step = !request.steps.is_empty();
            // The items of an array of entries add no dimension.
            let is_dimension = request.has_dimensions()
                && (is_step || matches!(request.target, Target::Values(_)));
            if is_dimension {
                lists.extend(self.list(&request));
                request.registers.push(register);
            }
            inside.push(if is_step { request.advance() } else { request });
        }
        let (filter, mut item_operations) = read(self, inside)?;
        if let [
            Operation {
                action: Action::Value(read),
                optional: None,
                ..
            },
        ] = &mut *item_operations
            && key.is_none()
            && filter.is_none()
            && read.source.width() == 1
            && lists.len() <= 1
            && read
                .registers
                .last()
                .is_none_or(|&last| lists.is_empty() || last == register)
        {
            // A list of plain values is read by one operation.
            let mut read = read.clone();
            let length = match &*lists {
                [list] => {
                    read.registers = read.registers[..read.registers.len() - 1].into();
                    list.length
                }
                _ => Length::Any,
            };
            operations.push(Operation::new(
                text,
                Action::Array(
                    Items {
                        min_item,
                        length,
                        slice,
                        coding: Coding::Blocks,
                    },
                    read,
                ),
            ));
            return Ok(operations);
        }
        let each = Each {
            is_map: key.is_some(),
            min_item,
            filter,
            slice,
            register,
            item: program(&self.outputs, item_operations),
            lists: lists.into(),
        };
        operations.push(Operation::new(text, Action::Each(Box::new(each))));
        Ok(operations)
    }

    /// The elements of a list that a slice or a truncated dimension keeps.
    fn slice(
        &mut self,
        pair: TypePair<'_>,
        item: TypePair<'_>,
        request: &Request<'f>,
    ) -> Option<Box<ItemSlice>> {
        let bounds = match request.steps.first() {
            Some(Step::Slice(slice)) => *slice,
            _ => Slice::default(),
        };
        let most = most(request);
        if bounds == Slice::default() && most.is_none() {
            return None;
        }
        let is_map = matches!(pair.node(), Resolved::Map { .. });
        let value = self.skips.skip_of(item.writer_schema(), item.writer());
        Some(Box::new(ItemSlice {
            bounds,
            most: most.unwrap_or(usize::MAX),
            item: Skip::all(is_map.then_some(Skip::Length).into_iter().chain([value])),
        }))
    }

    /// Compiles the bytes of `bytes` or `fixed` as the innermost list of a feature, read by
    /// `source`.
    pub(super) fn octets(
        &mut self,
        pair: TypePair<'_>,
        request: &Request<'f>,
        output: usize,
        source: Source,
    ) -> Action {
        let coding = match pair.writer_schema().node(pair.writer()) {
            Node::Fixed(fixed) => Coding::Fixed(fixed.size),
            _ => Coding::Delimited,
        };
        let slice = most(request).map(|most| {
            Box::new(ItemSlice {
                bounds: Slice::default(),
                most,
                item: Skip::Bytes(1),
            })
        });
        let items = Items {
            min_item: 1,
            length: self.list(request).map_or(Length::Any, |list| list.length),
            slice,
            coding,
        };
        let read = Read {
            output,
            nullable: None,
            source,
            registers: request.registers.as_slice().into(),
        };
        Action::Array(items, read)
    }

    /// The dimension of a request's feature for its next list.
    fn list(&self, request: &Request<'f>) -> Option<List> {
        let output = request.feature()?;
        let depth = request.registers.len();
        let length = request.shape.get(depth).copied().flatten();
        let length = match (length, &request.checked.feature.kind) {
            (None, _) => Length::Any,
            // A padded dimension is filled too.
            (Some(length), FeatureKind::Dense { .. }) if request.checked.fill.is_some() => {
                Length::AtMost(length)
            }
            // A truncated list may be shorter than its dimension.
            (Some(length), FeatureKind::Varlen { .. }) if request.checked.feature.truncate => {
                Length::AtMost(length)
            }
            (Some(length), _) => Length::Exactly(length),
        };
        let inner = request.shape.get(depth + 1..).unwrap_or_default();
        let stride = inner.iter().map(|dim| dim.unwrap_or(1)).product();
        Some(List {
            output,
            depth,
            length,
            stride,
        })
    }
}

/// Maximum number of elements that a truncated feature reads of its next list.
fn most(request: &Request<'_>) -> Option<usize> {
    if !request.checked.feature.truncate || !matches!(request.target, Target::Values(_)) {
        return None;
    }
    let depth = request.registers.len();
    request.shape.get(depth).copied().flatten()
}

/// The minimum number of bytes per element. Elements without bytes are an error, since nothing
/// bounds their number.
fn min_item(
    pair: TypePair<'_>,
    item: TypePair<'_>,
    request: &Request<'_>,
) -> Result<usize, PlanError> {
    // A key takes at least one byte, for its length.
    let key = u64::from(matches!(pair.node(), Resolved::Map { .. }));
    let min = item.min_len().saturating_add(key);
    if min == 0 {
        let schema_type = pair.describe();
        let kind = PlanErrorKind::ZeroSizeItems { schema_type };
        return Err(PlanError::new(request.name(), kind));
    }
    Ok(usize::try_from(min).unwrap_or(usize::MAX))
}

/// How a request chooses the elements of an array or a map.
fn choice<'f>(
    pair: TypePair<'_>,
    item: TypePair<'_>,
    request: &Request<'f>,
    at: &str,
) -> Result<Choice<'f>, PlanError> {
    let is_map = matches!(pair.node(), Resolved::Map { .. });
    let kind = match (request.steps.first(), request.target) {
        // A row has one index or value.
        (
            Some(Step::All | Step::Slice(_) | Step::Keys | Step::Filter(_)) | None,
            Target::Record(_),
        ) => PlanErrorKind::NotSparse {
            schema_type: pair.describe(),
        },
        (Some(Step::All), _) => return Ok(Choice::All),
        (Some(Step::Keys), _) if is_map => return Ok(Choice::Keys),
        (Some(Step::Slice(slice)), _) if !is_map => return Ok(Choice::Slice(*slice)),
        (Some(Step::Filter(filter)), _) => return Ok(Choice::Filter(filter)),
        (Some(Step::Index(index)), _) if !is_map => return Ok(Choice::Index(*index)),
        (Some(Step::Key(key)), _) if is_map => return Ok(Choice::Key(key)),
        (None, Target::Values(_) | Target::Entries(_)) if !is_map => return Ok(Choice::All),
        (Some(Step::Field(field)), _) if is_record(item) => PlanErrorKind::FieldOfList {
            through: at.to_owned(),
            field: field.clone(),
            schema_type: pair.describe(),
        },
        (Some(step), _) => wrong_step(step, at, &pair.describe()),
        (None, target) => not_an_element(target, pair),
    };
    Err(PlanError::new(request.name(), kind))
}

/// Whether a type is read as a record, which may be null.
fn is_record(pair: TypePair<'_>) -> bool {
    let schema = pair.reader_schema();
    let reader = pair
        .reader()
        .and_then(|reader| unwrap_nullable(schema, reader).ok());
    reader.is_some_and(|reader| matches!(schema.node(reader), Node::Record(_)))
}
