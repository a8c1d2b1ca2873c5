//! Checks that the random cases are diverse.

use std::collections::BTreeMap;

use avro_decode::feature::{Extents, FeatureKind, SparseKeys};
use avro_decode::path::{Constant, Filter, Operand, Path, Reference, Step};
use avro_decode::reference::ReferenceColumn;
use avro_decode::{Convert, Feature, Fill, Plan, PlanOptions};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use tensor_batch::Layout;

use crate::agreement::any_bytes;
use crate::made::{Case, case};
use crate::properties::agree;

#[test]
fn the_cases_are_of_every_sort() {
    let mut seen = Seen::default();
    let mut runner = TestRunner::deterministic();
    for fault in 0..5000 {
        let bytes = any_bytes().new_tree(&mut runner).expect("bytes");
        let case = case(bytes.current(), Some(fault % 20));
        if let Some(error) = agree(&case) {
            seen.count(&error);
        }
        seen.case(&case);
    }
    let missed = |sort: &&&str| seen.0.get(**sort).is_none_or(|&n| n < 3);
    let missed: Vec<_> = SORTS.iter().filter(missed).collect();
    assert!(missed.is_empty(), "{missed:?} of {:#?}", seen.0);
}

const SORTS: [&str; 82] = [
    "meanings of another schema",
    "field",
    "namespace",
    "[2]",
    "[*]",
    "[0:4]",
    "[-2:]",
    "['key']",
    ":type",
    "lists within lists",
    "several filters",
    "element=string",
    "element=integer",
    "element=float",
    "boolean=element",
    "element=element",
    "element=root",
    "root=string",
    "integer=root",
    "root=root",
    "array at the end",
    "dense",
    "scalar",
    "padded",
    "reshaped",
    "batch dimension",
    "varlen by values",
    "varlen by lengths",
    "varlen of one value",
    "varlen of known length",
    "ragged varlen",
    "sparse record",
    "ragged sparse record",
    "sparse with keys",
    "ragged sparse with keys",
    "keys after lists",
    "several index keys",
    "root key beside others",
    "root keys",
    "list in a key",
    "already sorted",
    "nothing for missing values",
    "default",
    "default of places",
    "mask",
    "row mask",
    "exact",
    "cast",
    "hash",
    "vocabulary",
    "unit",
    "int8",
    "int16",
    "uint8",
    "uint16",
    "bytes as uint8",
    "float16",
    "bfloat16",
    "reader schema",
    "reader default",
    "reader alias",
    "no rows",
    "several runs",
    "dense of nothing",
    "coordinates of nothing",
    "coordinates",
    "ragged",
    "ragged sparse",
    "dropped",
    "truncated",
    "dense truncated",
    "varlen truncated",
    "sparse truncated",
    "filter truncated",
    "Null",
    "NoItem",
    "NoKey",
    "OtherBranch",
    "ArrayLength",
    "SparseLengths",
    "IndexOutOfBounds",
    "CastOverflow",
];

/// Number of cases of each sort.
#[derive(Default)]
struct Seen(BTreeMap<String, usize>);

impl Seen {
    fn count(&mut self, sort: &str) {
        *self.0.entry(sort.to_owned()).or_default() += 1;
    }

    fn count_if(&mut self, is_it: bool, sort: &str) {
        if is_it {
            self.count(sort);
        }
    }

    fn case(&mut self, case: &Case) {
        let own = Plan::compile(&case.reader(), &case.features, &PlanOptions::default());
        let own = own.expect("the features fit");
        if *own.meanings() != *case.plan().meanings() {
            self.count("meanings of another schema");
        }
        self.count_if(case.records.is_empty(), "no rows");
        self.count_if(case.run_rows.len() > 1, "several runs");
        self.count_if(case.options.reader_schema.is_some(), "reader schema");
        if let Some(reader) = &case.options.reader_schema {
            let text = reader.to_string();
            self.count_if(text.contains("added"), "reader default");
            self.count_if(text.contains("aliases"), "reader alias");
        }
        for feature in case.features.iter() {
            self.feature(feature);
        }
        let Some(records) = case.resolved(&case.records) else {
            return;
        };
        if let Ok(tensors) = case.tensors(&records) {
            self.count_if(tensors.dropped > 0, "dropped");
            self.count_if(tensors.truncated > 0, "truncated");
            for column in &tensors.columns {
                self.column(column);
            }
        }
    }

    fn column(&mut self, column: &ReferenceColumn) {
        match column {
            ReferenceColumn::Dense { values, .. } => {
                self.count_if(values.is_empty(), "dense of nothing");
            }
            ReferenceColumn::Sparse {
                dense_shape,
                values,
                ..
            } => {
                let is_empty = values.is_empty() && dense_shape[0] > 0;
                self.count_if(is_empty, "coordinates of nothing");
                self.count_if(!values.is_empty(), "coordinates");
            }
            ReferenceColumn::Ragged { values, .. } => {
                self.count_if(!values.is_empty(), "ragged");
            }
            ReferenceColumn::RaggedSparse { values, .. } => {
                self.count_if(!values.is_empty(), "ragged sparse");
            }
            _ => {}
        }
    }

    fn feature(&mut self, feature: &Feature) {
        self.missing(feature);
        self.convert(feature);
        let path = Path::parse(feature.expression()).expect("a good expression");
        let lists = lists(&path);
        if feature.truncate {
            let ends_in_filter = matches!(path.steps.last(), Some(Step::Filter(_)));
            self.count_if(ends_in_filter, "filter truncated");
            self.count(match &feature.kind {
                FeatureKind::Dense { .. } => "dense truncated",
                FeatureKind::Varlen { .. } => "varlen truncated",
                _ => "sparse truncated",
            });
        }
        match &feature.kind {
            FeatureKind::Dense { shape, reshape } => {
                self.path(&path);
                self.count("dense");
                self.count_if(shape.is_empty(), "scalar");
                self.count_if(lists < shape.len(), "array at the end");
                let first_is_batch = *reshape && shape.len() == lists + 1 && shape[0].is_none();
                self.count_if(first_is_batch, "batch dimension");
                let dims = &shape[usize::from(first_is_batch)..];
                self.count_if(dims.contains(&None), "padded");
                self.count_if(*reshape && dims.len() > 1 && lists < 2, "reshaped");
            }
            FeatureKind::Varlen {
                shape,
                extents,
                layout,
            } => {
                self.path(&path);
                let rank = shape.as_ref().map_or(lists, Vec::len);
                let known = shape.iter().flatten().any(|&dim| dim > 0);
                self.count_if(known, "varlen of known length");
                self.count_if(rank == 0, "varlen of one value");
                self.count(match (layout, extents) {
                    (Layout::Ragged, _) => "ragged varlen",
                    (_, Extents::Values) => "varlen by values",
                    _ => "varlen by lengths",
                });
            }
            FeatureKind::Sparse {
                keys: SparseKeys::Record,
                layout,
                ..
            } => {
                self.path(&path);
                self.count(match layout {
                    Layout::Coo => "sparse record",
                    _ => "ragged sparse record",
                });
            }
            FeatureKind::Sparse {
                keys: SparseKeys::Named { index, value },
                sort,
                layout,
                ..
            } => {
                let keys = index.iter().chain([value]);
                let keys = keys.map(|key| Reference::parse(key).expect("a good key"));
                let keys: Vec<Reference> = keys.collect();
                for key in &keys {
                    self.path(&key.path);
                }
                let rooted = keys.iter().filter(|key| key.from_root).count();
                if rooted < keys.len() {
                    self.path(&path);
                    self.count_if(rooted > 0, "root key beside others");
                    self.count_if(lists > 0, "keys after lists");
                } else {
                    self.count("root keys");
                }
                let in_keys = keys.iter().any(|key| self::lists(&key.path) > 0);
                self.count_if(in_keys, "list in a key");
                self.count_if(index.len() > 1, "several index keys");
                self.count_if(!sort, "already sorted");
                self.count(match layout {
                    Layout::Coo => "sparse with keys",
                    _ => "ragged sparse with keys",
                });
            }
        }
    }

    fn missing(&mut self, feature: &Feature) {
        let missing = &feature.missing;
        match &missing.default {
            Some(Fill::Scalar(_)) => self.count("default"),
            Some(_) => self.count("default of places"),
            None => {}
        }
        self.count_if(missing.mask.is_some(), "mask");
        self.count_if(missing.row_mask.is_some(), "row mask");
        let is_nothing = *missing == avro_decode::Missing::default();
        self.count_if(is_nothing, "nothing for missing values");
    }

    fn convert(&mut self, feature: &Feature) {
        self.count(feature.dtype.name());
        let is_octets = feature.dtype == tensor_batch::DType::UInt8;
        self.count_if(
            is_octets && feature.convert == Convert::Exact,
            "bytes as uint8",
        );
        self.count(match feature.convert {
            Convert::Exact => "exact",
            Convert::Cast => "cast",
            Convert::HashBuckets(_) => "hash",
            Convert::Vocabulary(_) => "vocabulary",
            _ => "unit",
        });
    }

    fn path(&mut self, path: &Path) {
        let mut filters = 0;
        for step in &path.steps {
            match step {
                Step::Field(_) => self.count("field"),
                Step::Index(_) => self.count("[2]"),
                Step::All => self.count("[*]"),
                Step::Slice(slice) => self.count(if slice.is_from_start() {
                    "[0:4]"
                } else {
                    "[-2:]"
                }),
                Step::Key(_) => self.count("['key']"),
                Step::Branch(_) => self.count(":type"),
                Step::Filter(filter) => {
                    filters += 1;
                    self.filter(filter);
                }
                // Inferred features read the keys of maps.
                _ => {}
            }
        }
        self.count_if(lists(path) > 1, "lists within lists");
        self.count_if(filters > 1, "several filters");
        let is_namespace =
            matches!(&path.steps[..], [Step::Field(first), Step::Field(_), ..] if first == "ns");
        self.count_if(is_namespace, "namespace");
    }

    fn filter(&mut self, filter: &Filter) {
        let mut sides = [&filter.left, &filter.right].map(|operand| match operand {
            Operand::Element(_) => "element",
            Operand::Root(_) => "root",
            Operand::Constant(Constant::String(_)) => "string",
            Operand::Constant(Constant::Integer(_)) => "integer",
            Operand::Constant(Constant::Float(_)) => "float",
            Operand::Constant(Constant::Boolean(_)) => "boolean",
        });
        sides.sort();
        self.count(&sides.join("="));
    }
}

/// Number of `[*]`, slices and filters in a path.
fn lists(path: &Path) -> usize {
    path.steps.iter().filter(|step| step.is_list()).count()
}
