//! Requests: features, keys and operands that need a value.

use std::rc::Rc;

use atds_features::feature::{CheckedFeature, FeatureKind, SparseKeys};
use atds_features::path::{Path, Reference, Step};

use crate::convert::Within;
use crate::plan::PlanErrorKind;

/// A request for a value: its target, and the steps that remain to it.
#[derive(Clone, Debug)]
pub(super) struct Request<'f> {
    pub(super) target: Target,
    /// The remaining steps.
    pub(super) steps: &'f [Step],
    /// The feature, for errors.
    pub(super) checked: &'f CheckedFeature,
    /// The whole expression.
    pub(super) path: &'f Path,
    /// The dimensions of a dense or varlen feature's lists, one for each list on the path; `None`
    /// if a dimension varies.
    pub(super) shape: Rc<[Option<usize>]>,
    /// The registers with the indices of the lists on the path.
    pub(super) registers: Vec<usize>,
    /// Whether all steps are done and the type there agrees with the shape.
    pub(super) is_resolved: bool,
    /// Whether the value is in a union of several types that are read as one.
    pub(super) within: Within,
    /// Whether the feature's first list or value has been reached.
    pub(super) present: bool,
}

/// The target of a request. Features are given by their index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The values of a dense or varlen feature.
    Values(usize),
    /// ATDS's sparse record.
    Record(usize),
    /// The entries of a sparse feature with keys.
    Entries(usize),
    /// The indices of such entries, by the index of the key.
    Index(usize, usize),
    /// The values of such entries.
    Value(usize),
    /// An operand of a filter, by its slot.
    Operand(usize),
}

impl<'f> Request<'f> {
    /// The requests of a feature for the record. `dims` are the dimensions of its lists.
    pub(super) fn of_feature(
        number: usize,
        checked: &'f CheckedFeature,
        dims: Rc<[Option<usize>]>,
    ) -> Vec<Request<'f>> {
        let target = match &checked.feature.kind {
            FeatureKind::Sparse {
                keys: SparseKeys::Record,
                ..
            } => Target::Record(number),
            FeatureKind::Sparse { .. } => Target::Entries(number),
            _ => Target::Values(number),
        };
        let mut requests = Vec::new();
        if !checked.is_rooted {
            let mut request = Request::new(target, checked, &checked.path);
            if let Target::Values(_) = target {
                request.shape = dims;
            }
            requests.push(request);
        }
        requests.extend(Request::keys(number, checked, true));
        requests
    }

    /// The requests of a sparse feature's keys that start from the root, or from an entry.
    pub(super) fn keys(
        number: usize,
        checked: &'f CheckedFeature,
        from_root: bool,
    ) -> impl Iterator<Item = Request<'f>> {
        let index = checked
            .keys
            .iter()
            .flat_map(|keys| keys.index.iter().enumerate());
        let index = index.map(move |(key, way)| (Target::Index(number, key), way));
        let value = checked.keys.iter().map(|keys| &keys.value);
        let value = value.map(move |way| (Target::Value(number), way));
        let wanted = move |(_, way): &(Target, &Reference)| way.from_root == from_root;
        let keys = index.chain(value).filter(wanted);
        keys.map(move |(target, way)| Request::new(target, checked, &way.path))
    }

    /// The request of an operand in one of a feature's filters.
    pub(super) fn operand(slot: usize, checked: &'f CheckedFeature, path: &'f Path) -> Self {
        Request::new(Target::Operand(slot), checked, path)
    }

    fn new(target: Target, checked: &'f CheckedFeature, path: &'f Path) -> Self {
        Request {
            target,
            steps: &path.steps,
            checked,
            path,
            shape: Rc::from([]),
            registers: Vec::new(),
            is_resolved: false,
            within: Within::Itself,
            present: false,
        }
    }

    /// The name of the feature.
    pub(super) fn name(&self) -> &'f str {
        &self.checked.feature.name
    }

    /// The error for values in `schema_rank` nested lists, which differs from the rank of the
    /// shape.
    #[cold]
    pub(super) fn rank_mismatch(&self, schema_rank: usize) -> PlanErrorKind {
        let has_batch = self.checked.has_batch();
        PlanErrorKind::RankMismatch {
            rank: self.shape.len() + usize::from(has_batch),
            has_batch,
            schema_rank,
        }
    }

    /// The expression of the feature, for errors in the data.
    pub(super) fn text(&self) -> &'f str {
        self.checked.text()
    }

    /// The same request after its next step.
    pub(super) fn advance(mut self) -> Self {
        self.steps = &self.steps[1..];
        self
    }

    /// Whether the lists on the path are dimensions of a column.
    pub(super) fn has_dimensions(&self) -> bool {
        matches!(self.target, Target::Values(_) | Target::Entries(_))
    }

    /// The feature's index, unless this is an operand.
    pub(super) fn feature(&self) -> Option<usize> {
        match self.target {
            Target::Values(number)
            | Target::Record(number)
            | Target::Entries(number)
            | Target::Index(number, _)
            | Target::Value(number) => Some(number),
            Target::Operand(_) => None,
        }
    }
}
