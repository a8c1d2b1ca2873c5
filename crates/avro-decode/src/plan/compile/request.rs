//! What wants something of a value.

use std::rc::Rc;

use crate::convert::Within;
use crate::feature::{Checked, FeatureKind, SparseKeys};
use crate::path::{Path, Reference, Step};
use crate::plan::PlanErrorKind;

/// What wants a value, and the way that is still before it.
#[derive(Clone, Debug)]
pub(super) struct Request<'f> {
    pub(super) target: Target,
    /// The steps that are left.
    pub(super) steps: &'f [Step],
    /// The feature, for errors.
    pub(super) checked: &'f Checked,
    /// The whole expression.
    pub(super) path: &'f Path,
    /// The dimensions of a dense or varlen feature's lists, `None` where they
    /// vary; one for each list on the way.
    pub(super) shape: Rc<[Option<usize>]>,
    /// Where the indices of the lists on the way stand.
    pub(super) registers: Vec<usize>,
    /// Whether the steps' end has been reached, and what is there agrees with
    /// the shape.
    pub(super) is_resolved: bool,
    /// Whether the value is one of a union of several types that are read as
    /// one.
    pub(super) within: Within,
    /// Whether the first list of the feature has been reached, or its value.
    pub(super) present: bool,
}

/// What a value is wanted for; features by their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The values of a dense or varlen feature.
    Values(usize),
    /// ATDS's sparse record.
    Record(usize),
    /// The entries of a sparse feature with keys.
    Entries(usize),
    /// The indices of such entries, by the number of the key.
    Index(usize, usize),
    /// The values of such entries.
    Value(usize),
    /// An operand of a filter, by the place it stands at.
    Operand(usize),
}

impl<'f> Request<'f> {
    /// What a feature wants of the record; `dims` are those of its lists.
    pub(super) fn of_feature(
        number: usize,
        checked: &'f Checked,
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

    /// The keys of a sparse feature that start from the root, or from an entry.
    pub(super) fn keys(
        number: usize,
        checked: &'f Checked,
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

    /// An operand of one of a feature's filters.
    pub(super) fn operand(slot: usize, checked: &'f Checked, path: &'f Path) -> Self {
        Request::new(Target::Operand(slot), checked, path)
    }

    fn new(target: Target, checked: &'f Checked, path: &'f Path) -> Self {
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

    /// The error of values in so many lists, which are not the dimensions of the shape.
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

    /// The same, a step advance.
    pub(super) fn advance(mut self) -> Self {
        self.steps = &self.steps[1..];
        self
    }

    /// Whether the lists on the way are dimensions of a column.
    pub(super) fn has_dimensions(&self) -> bool {
        matches!(self.target, Target::Values(_) | Target::Entries(_))
    }

    /// The feature's number, unless this is an operand.
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
