//! Compiles a schema and features into a program.
//!
//! The compiler visits the schema along the features' expressions. Each feature, key of a sparse
//! feature and operand of a filter makes a [`Request`] for a value. At each type, the requests go
//! where their next step leads. At the end of its steps, a request becomes the operations that read
//! its value. Values without a request become skips.

mod absent;
mod branches;
mod fields;
mod filters;
mod lists;
mod meanings;
mod operations;
mod outputs;
mod request;
mod reshape;
pub(super) mod unions;
mod values;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use fields::FieldIndices;
use filters::OperandType;
use request::Request;
pub(super) use values::{array_rank, sparse_roles};

use atds_features::feature::{CheckedFeature, Features};
use atds_features::path::Path;

use super::fast_skip::FastSkip;
use super::output::{Output, OutputLayout};
use super::program::{Action, Operation};
use super::skip::SkipTable;
use super::{Absent, MeaningOf, Meanings, Plan, PlanError, PlanErrorKind, PlanOptions};
use crate::DecodeErrorKind;
use crate::limits::MAX_PLAN_PARTS;
use crate::resolve::{Resolution, Resolved, ResolvedId};
use crate::root_fields::of_schema;
use crate::schema::{Node, NodeId, Schema};
use operations::program;
use values::resolve;

pub(super) fn compile(
    writer: &Arc<Schema>,
    features: &Features,
    options: &PlanOptions,
) -> Result<Plan, PlanError> {
    let resolution = match &options.reader_schema {
        Some(reader) => Resolution::new(writer.clone(), reader.clone())
            .map_err(|error| PlanError::new("", PlanErrorKind::Resolve(Box::new(error))))?,
        None => Resolution::identity(writer.clone()),
    };
    let root = TypePair {
        resolution: &resolution,
        id: resolution.root,
    };
    let checked = of_schema(features, &resolution.reader);
    if let Some(of_keys) = features.iter().find(|of| !of.partitions.is_empty()) {
        return Err(PlanError::new(&of_keys.name, PlanErrorKind::Partitions));
    }
    let mut compiler = Compiler {
        features: &checked,
        options,
        outputs: outputs::outputs(&checked, options),
        skips: SkipTable::with_max_depth(options.decode.max_depth),
        roots: Vec::new(),
        operand_types: HashMap::new(),
        symbols: HashMap::new(),
        operand_meanings: HashMap::new(),
        meanings: options.meanings.clone(),
        indices: FieldIndices::default(),
        registers: 0,
        operands: 0,
        parts: 0,
        absent: Vec::new(),
    };
    let mut operations = compiler.root(root)?;
    let mut states = 0..;
    for (number, output) in compiler.outputs.iter_mut().enumerate() {
        if let OutputLayout::Entries(entries) = &mut output.layout {
            entries.state = states.next().unwrap_or(0);
            let text = checked[number].text();
            operations.push(Operation::new(text, Action::EndRow(number)));
        }
    }
    let mut program = program(&compiler.outputs, operations);
    let (mut predicted, mut skip_count, mut slow_skips) = (0, 0, 0);
    for operation in &mut program {
        if let Action::Skip { all, fast, .. } = &mut operation.action {
            *fast = FastSkip::all(all, &compiler.skips, &mut predicted);
            skip_count += fast.len();
            slow_skips += fast.iter().filter(|skip| skip.is_slow()).count();
        }
    }
    static PLANS: AtomicU64 = AtomicU64::new(0);
    Ok(Plan {
        id: PLANS.fetch_add(1, Relaxed),
        predicted,
        asks_ahead: skip_count > program.len(),
        slow_skips,
        spec: features.spec().clone(),
        program,
        outputs: compiler.outputs.into(),
        registers: compiler.registers,
        operands: compiler.operands,
        skips: compiler.skips,
        replaces_utf8: options.decode.replace_invalid_utf8,
        leaves_trailing_bytes: options.decode.leave_trailing_bytes,
        min_record_len: writer.min_encoded_len(writer.root()),
        absent: compiler.absent.into(),
        meanings: compiler.meanings,
    })
}

/// A pair of types in a resolution.
#[derive(Clone, Copy)]
struct TypePair<'r> {
    resolution: &'r Resolution,
    id: ResolvedId,
}

impl<'r> TypePair<'r> {
    fn node(self) -> &'r Resolved {
        self.resolution.node(self.id)
    }

    fn at(self, id: ResolvedId) -> TypePair<'r> {
        let resolution = self.resolution;
        TypePair { resolution, id }
    }

    fn writer_schema(self) -> &'r Schema {
        &self.resolution.writer
    }

    fn reader_schema(self) -> &'r Schema {
        &self.resolution.reader
    }

    /// The writer's type.
    fn writer(self) -> NodeId {
        match *self.node() {
            Resolved::Leaf { writer, .. }
            | Resolved::Enum { writer, .. }
            | Resolved::Array { writer, .. }
            | Resolved::Map { writer, .. }
            | Resolved::Record { writer, .. }
            | Resolved::Union { writer, .. }
            | Resolved::Never { writer, .. } => writer,
            Resolved::Branch { value, .. } => self.at(value).writer(),
        }
    }

    /// The reader's type; `None` for a union that only the writer has.
    fn reader(self) -> Option<NodeId> {
        match *self.node() {
            Resolved::Leaf { reader, .. }
            | Resolved::Enum { reader, .. }
            | Resolved::Array { reader, .. }
            | Resolved::Map { reader, .. }
            | Resolved::Record { reader, .. }
            | Resolved::Branch { reader, .. }
            | Resolved::Never { reader, .. } => Some(reader),
            Resolved::Union { ref branches, .. } => branches
                .first()
                .and_then(|&branch| self.at(branch).reader()),
        }
    }

    /// The reader's type, in words.
    fn describe(self) -> String {
        match self.reader() {
            Some(reader) => self.reader_schema().describe(reader),
            None => self.writer_schema().describe(self.writer()),
        }
    }

    /// Whether it is read as null, or as the null of a union.
    fn is_null(self) -> bool {
        match *self.node() {
            Resolved::Branch { value, .. } => self.at(value).is_null(),
            Resolved::Leaf { reader, .. } => *self.reader_schema().node(reader) == Node::Null,
            _ => false,
        }
    }

    /// The minimum number of bytes of a value.
    fn min_len(self) -> u64 {
        self.writer_schema().min_encoded_len(self.writer())
    }
}

struct Compiler<'f> {
    features: &'f [CheckedFeature],
    options: &'f PlanOptions,
    /// One output per feature.
    outputs: Vec<Output>,
    skips: SkipTable,
    /// The root values that filters need, with their slots.
    roots: Vec<(usize, &'f Path)>,
    /// The types of the values that filters need, by slot.
    operand_types: HashMap<usize, OperandType>,
    /// The symbols of enum values that filters need, by slot.
    symbols: HashMap<usize, Box<[String]>>,
    /// The columns and operands whose meaning the filters' values share, by slot.
    operand_meanings: HashMap<usize, Vec<MeaningOf>>,
    /// The meanings of the columns, as far as they are fixed.
    meanings: Meanings,
    /// The indices of the fields of the reader's records.
    indices: FieldIndices,
    registers: usize,
    operands: usize,
    /// Number of types, requests and names visited so far.
    parts: usize,
    /// Expressions that lead to no value in the schema.
    absent: Vec<Absent>,
}

impl<'f> Compiler<'f> {
    /// The operations of a root value, usually a record, without the ends of its rows.
    fn root(&mut self, root: TypePair<'_>) -> Result<Vec<Operation>, PlanError> {
        let mut requests = Vec::new();
        for (number, checked) in self.features.iter().enumerate() {
            let dims = reshape::list_dims(&self.indices, root.reader_schema(), checked);
            requests.extend(Request::of_feature(number, checked, dims));
        }
        let (mut operations, inline) = self.root_operands(root)?;
        requests.extend(inline);
        for (number, checked) in self.features.iter().enumerate() {
            // If all keys start from the root, no row is missing.
            if checked.row_mask.is_some() && checked.is_rooted {
                let present = Action::Present(number);
                operations.push(Operation::new(&checked.feature.name, present));
            }
        }
        operations.extend(self.value(root, requests, "")?);
        Ok(operations)
    }

    /// The operations that read one value of a type for its requests. `at` is the path to the
    /// value.
    fn value(
        &mut self,
        pair: TypePair<'_>,
        requests: Vec<Request<'f>>,
        at: &str,
    ) -> Result<Vec<Operation>, PlanError> {
        if requests.is_empty() {
            return self.skip(pair.writer_schema(), pair.writer(), at);
        }
        self.count(1 + requests.len() + at.len() / NAME)?;
        if matches!(pair.node(), Resolved::Leaf { .. }) && pair.is_null() {
            return self.always_null(&requests, at);
        }
        let mut requests = requests;
        for request in &mut requests {
            resolve(pair, request).map_err(|kind| PlanError::new(request.name(), kind))?;
        }
        let mut operations = Vec::new();
        if !matches!(
            pair.node(),
            Resolved::Union { .. } | Resolved::Branch { .. }
        ) {
            requests = self.pass_named_type(pair, requests, &mut operations)?;
            if requests.is_empty() {
                operations.extend(self.skip(pair.writer_schema(), pair.writer(), at)?);
                return Ok(operations);
            }
            // Expressions that end by naming the type end here.
            for request in &mut requests {
                resolve(pair, request).map_err(|kind| PlanError::new(request.name(), kind))?;
            }
        }
        operations.extend(self.inside(pair, requests, at)?);
        Ok(operations)
    }

    /// The operations that read one value for its requests, by its type.
    fn inside(
        &mut self,
        pair: TypePair<'_>,
        requests: Vec<Request<'f>>,
        at: &str,
    ) -> Result<Vec<Operation>, PlanError> {
        match pair.node() {
            Resolved::Union { branches, .. } => self.union(pair, branches, requests, at),
            &Resolved::Branch {
                reader,
                branch,
                value,
            } => self.branch(pair, (reader, branch), pair.at(value), requests, at),
            Resolved::Record {
                reader,
                fields,
                defaults,
                ..
            } => self.record(pair, *reader, fields, defaults, requests, at),
            &Resolved::Array { item, .. } => self.items(pair, pair.at(item), requests, at),
            &Resolved::Map { value, .. } => self.items(pair, pair.at(value), requests, at),
            Resolved::Leaf { .. } | Resolved::Enum { .. } => self.leaf(pair, requests, at),
            &Resolved::Never { writer, reader } => {
                let kind = DecodeErrorKind::Unresolvable {
                    writer: pair.writer_schema().describe(writer),
                    reader: pair.reader_schema().describe(reader),
                };
                Ok(vec![Operation::new(at, Action::Fail(kind))])
            }
        }
    }

    /// The operations that skip a value.
    fn skip(
        &mut self,
        schema: &Schema,
        node: NodeId,
        at: &str,
    ) -> Result<Vec<Operation>, PlanError> {
        self.count(1 + at.len() / NAME)?;
        let skip = self.skips.skip_of(schema, node);
        if skip.is_nothing() {
            return Ok(Vec::new());
        }
        let (all, each) = (skip.clone(), vec![(at.into(), skip)]);
        let fast = Box::default();
        Ok(vec![Operation::new(at, Action::Skip { all, fast, each })])
    }

    /// Adds to the cost of compiling the plan, and checks its limit.
    fn count(&mut self, parts: usize) -> Result<(), PlanError> {
        self.parts += parts;
        if self.parts > MAX_PLAN_PARTS {
            return Err(PlanError::new("", PlanErrorKind::TooLarge));
        }
        Ok(())
    }
}

/// Number of bytes of a path that count as one visited value.
const NAME: usize = 64;
