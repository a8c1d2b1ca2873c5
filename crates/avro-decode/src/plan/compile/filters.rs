//! Filters: their operands, and the operations that read them.

use atds_features::feature::CheckedFeature;
use atds_features::path::{self, Constant, Path, Step};

use super::operations::program;
use super::request::{Request, Target};
use super::{Compiler, TypePair};
use crate::plan::filter::{Filter, Operand, OperandKind, Promotion, Side};
use crate::plan::program::{Action, Operation};
use crate::plan::{MeaningOf, PlanError, PlanErrorKind};
use crate::resolve::Resolved;
use crate::schema::{LogicalType, Node};

/// The type of an operand's values, for comparing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OperandType {
    Text,
    Number { is_f32: bool },
    Boolean,
}

impl<'f> Compiler<'f> {
    /// Compiles the filter of an element, which all features of the request group share.
    pub(super) fn filter(
        &mut self,
        item: TypePair<'_>,
        filters: &[(&'f CheckedFeature, &'f path::Filter)],
        at: &str,
    ) -> Result<Filter, PlanError> {
        let (checked, filter) = filters[0];
        let feature = &checked.feature.name;
        let first = self.operands;
        let mut captures = Vec::new();
        let mut side = |of: fn(&'f path::Filter) -> &'f path::Operand| match of(filter) {
            path::Operand::Element(path) => {
                let slot = self.operand();
                captures.push(Request::operand(slot, checked, path));
                let operands = filters
                    .iter()
                    .filter_map(|(checked, filter)| match of(filter) {
                        path::Operand::Element(path) => Some(MeaningOf::operand(checked, path)),
                        _ => None,
                    });
                self.operand_meanings.insert(slot, operands.collect());
                Side::Operand(slot)
            }
            path::Operand::Root(path) => Side::Operand(self.root_slot(path)),
            path::Operand::Constant(constant) => Side::Constant(constant.clone()),
        };
        let mut left = side(|filter| &filter.left);
        let mut right = side(|filter| &filter.right);
        let slots = first..self.operands;
        let nulls = if captures.is_empty() {
            nulls(item)
        } else {
            [].into()
        };
        let mut head = self.value(item, captures, &format!("{at}[*]"))?;
        // The fields after the last operand are only read for elements that are kept.
        let is_needed = |operation: &Operation| !matches!(operation.action, Action::Skip { .. });
        let needed = head.iter().rposition(is_needed).map_or(0, |last| last + 1);
        let rest = head.split_off(needed);
        let (left_type, right_type) = (self.operand_type(&left), self.operand_type(&right));
        if let (Some(left_type), Some(right_type)) = (left_type, right_type) {
            if !is_comparable(left_type, right_type) {
                let filter = filter.to_string();
                let kind = PlanErrorKind::NotComparable { filter };
                return Err(PlanError::new(feature, kind));
            }
            round(&mut left, right_type);
            round(&mut right, left_type);
        }
        for (constant, other) in [(&left, &right), (&right, &left)] {
            self.check_symbol(constant, other)
                .map_err(|kind| PlanError::new(feature, kind))?;
        }
        let (head, rest) = (program(&self.outputs, head), program(&self.outputs, rest));
        Ok(Filter {
            head,
            rest,
            slots,
            nulls,
            left,
            right,
        })
    }

    /// The operations that read a value for a filter.
    pub(super) fn capture(
        &mut self,
        pair: TypePair<'_>,
        request: &Request<'f>,
        slot: usize,
    ) -> Result<Operation, PlanError> {
        let bad = || {
            let schema_type = pair.describe();
            PlanError::new(request.name(), PlanErrorKind::BadOperand { schema_type })
        };
        let Some(reader) = pair.reader() else {
            return Err(bad());
        };
        let writer = pair.writer_schema().node(pair.writer());
        let reader = pair.reader_schema().node(reader);
        let checks_utf8 = !self.options.decode.replace_invalid_utf8;
        let kind = operand_kind(pair, writer, reader, checks_utf8).ok_or_else(bad)?;
        let of = self.operand_meanings.get(&slot).cloned();
        let of = of.unwrap_or_default();
        let rescale = self
            .operand_unit(pair, &of)
            .map_err(|kind| PlanError::new(request.name(), kind))?;
        let promotion = match (writer, reader) {
            (Node::Int | Node::Long, Node::Float) => Promotion::Float,
            (Node::Int | Node::Long, Node::Double) => Promotion::Double,
            _ => Promotion::None,
        };
        let operand_type = match reader {
            Node::Boolean => OperandType::Boolean,
            Node::Int | Node::Long | Node::Double => OperandType::Number { is_f32: false },
            Node::Float => OperandType::Number { is_f32: true },
            _ => OperandType::Text,
        };
        self.operand_types.insert(slot, operand_type);
        if let Node::Enum(known) = reader {
            let symbols = || known.symbols.as_slice().into();
            self.symbols.entry(slot).or_insert_with(symbols);
        }
        let operand = Operand {
            slot,
            kind,
            promotion,
            rescale,
        };
        Ok(Operation::new(request.text(), Action::Capture(operand)))
    }

    /// The type of a side's values; `None` if the schema has only null there.
    fn operand_type(&self, side: &Side) -> Option<OperandType> {
        match side {
            Side::Operand(slot) => self.operand_types.get(slot).copied(),
            Side::Constant(Constant::String(_)) => Some(OperandType::Text),
            Side::Constant(Constant::Boolean(_)) => Some(OperandType::Boolean),
            Side::Constant(_) => Some(OperandType::Number { is_f32: false }),
        }
    }

    /// Checks that a constant that is compared with an enum is one of its symbols.
    fn check_symbol(&self, constant: &Side, other: &Side) -> Result<(), PlanErrorKind> {
        if let Side::Constant(Constant::String(symbol)) = constant
            && let Side::Operand(slot) = other
            && let Some(symbols) = self.symbols.get(slot)
            && !symbols.contains(symbol)
        {
            return Err(PlanErrorKind::no_such_symbol(symbol, symbols));
        }
        Ok(())
    }

    /// The slot of the value of a path from the root.
    fn root_slot(&self, path: &Path) -> usize {
        let mut roots = self.roots.iter();
        roots
            .find(|(_, root)| *root == path)
            .map_or(0, |(slot, _)| *slot)
    }

    /// The operations that read the root values that filters need, before the filters run. The root
    /// values that precede the lists with the filters are returned as requests of the record
    /// instead.
    pub(super) fn root_operands(
        &mut self,
        root: TypePair<'_>,
    ) -> Result<(Vec<Operation>, Vec<Request<'f>>), PlanError> {
        let mut inline: Vec<Request<'f>> = Vec::new();
        let mut ahead = Vec::new();
        for (checked, user, path) in uses(self.features) {
            let is_same = |(_, other): &&(usize, &'f Path)| *other == path;
            let slot = match self.roots.iter().find(is_same) {
                Some((slot, _)) => *slot,
                None => {
                    let slot = self.operand();
                    self.roots.push((slot, path));
                    let of = vec![MeaningOf::root_operand(path)];
                    self.operand_meanings.insert(slot, of);
                    inline.push(Request::operand(slot, checked, path));
                    slot
                }
            };
            let is_before = self.writer_field(root, &path.steps) < self.writer_field(root, user);
            let is_it = |one: &Request<'f>| one.target == Target::Operand(slot);
            if !is_before && let Some(index) = inline.iter().position(is_it) {
                ahead.push(inline.remove(index));
            }
        }
        // Filters are compiled before some of their operands, but must know the operands' types.
        self.value(root, inline.clone(), "")?;
        self.share_absent_operands()?;
        // The early operands are read first, up to the last of them; then the record is read from
        // its start again.
        let mut operations = self.value(root, ahead, "")?;
        let is_skip = |operation: &Operation| matches!(operation.action, Action::Skip { .. });
        while operations.last().is_some_and(is_skip) {
            operations.pop();
        }
        if operations.is_empty() {
            return Ok((Vec::new(), inline));
        }
        let name = operations[0].field.clone();
        let peek = Operation::new(&name, Action::Peek(program(&self.outputs, operations)));
        Ok((vec![peek], inline))
    }
}

/// The branches of an element's union that are null.
fn nulls(item: TypePair<'_>) -> Box<[i64]> {
    let Resolved::Union { branches, .. } = item.node() else {
        return [].into();
    };
    let numbered = (0..).zip(&**branches);
    let nulls = numbered.filter(|&(_, &branch)| item.at(branch).is_null());
    nulls.map(|(number, _)| number).collect()
}

/// The type of a value that a filter needs.
fn operand_kind(
    pair: TypePair<'_>,
    writer: &Node,
    reader: &Node,
    checks_utf8: bool,
) -> Option<OperandKind> {
    Some(match (writer, reader) {
        (Node::Int, _) => OperandKind::Int,
        (Node::Long, _) => OperandKind::Long,
        (Node::Float, _) => OperandKind::Float,
        (Node::Double, _) => OperandKind::Double,
        (Node::Boolean, _) => OperandKind::Boolean,
        (Node::String | Node::Bytes, reader) => OperandKind::Bytes {
            utf8: checks_utf8 && (*reader == Node::String || *writer == Node::String),
        },
        (Node::Fixed(_), _) if is_uuid(pair) => OperandKind::Uuid,
        (Node::Fixed(fixed), _) => OperandKind::Fixed(fixed.size),
        (Node::Enum(_), Node::Enum(known)) => {
            let Resolved::Enum { symbols, .. } = pair.node() else {
                return None;
            };
            let symbol = |index: &Option<u32>| {
                let symbol = known.symbols.get(index.as_ref().copied()? as usize)?;
                Some(symbol.as_str().into())
            };
            OperandKind::Enum(symbols.iter().map(symbol).collect())
        }
        _ => return None,
    })
}

fn is_uuid(pair: TypePair<'_>) -> bool {
    let reader = pair.reader();
    let logical = reader.and_then(|reader| pair.reader_schema().logical(reader));
    logical == Some(&LogicalType::Uuid)
}

fn is_comparable(left: OperandType, right: OperandType) -> bool {
    let is_number = |ty| matches!(ty, OperandType::Number { .. });
    left == right || (is_number(left) && is_number(right))
}

/// Converts a constant that is compared with floats to a float.
fn round(side: &mut Side, other: OperandType) {
    if let (Side::Constant(Constant::Float(number)), OperandType::Number { is_f32: true }) =
        (side, other)
    {
        *number = (*number as f32).into();
    }
}

/// Every use of a root value in a filter: the feature, the steps of the path with the filter, and
/// the operand.
pub(super) fn uses(features: &[CheckedFeature]) -> Vec<(&CheckedFeature, &[Step], &Path)> {
    let mut uses = Vec::new();
    for checked in features {
        let keys = checked.keys.iter();
        let keys = keys.flat_map(|keys| keys.index.iter().chain([&keys.value]));
        // A key of an entry is read at the entry.
        let keys = keys.map(|key| {
            if key.from_root {
                (&key.path, &key.path)
            } else {
                (&key.path, &checked.path)
            }
        });
        for (path, user) in keys.chain([(&checked.path, &checked.path)]) {
            for step in &path.steps {
                let Step::Filter(filter) = step else { continue };
                for operand in [&filter.left, &filter.right] {
                    if let path::Operand::Root(path) = operand {
                        uses.push((checked, user.steps.as_slice(), path));
                    }
                }
            }
        }
    }
    uses
}
