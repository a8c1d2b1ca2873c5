//! Compiles features into a plan: which keys are looked up, and what becomes of their values.

use atds_features::feature::{CheckedFeature, FeatureKind, Partition, SparseKeys};
use atds_features::path::{Path, Step, field_step};
use atds_features::{Convert, Feature, Features, Ids};
use tensor_batch::{DType, Layout, UNKNOWN};

use super::find::Keys;
use super::output::{Output, Shape};
use super::values::Reader;
use super::{Message, Plan, PlanOptions};

/// A feature that TFRecord files do not have.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("feature '{feature}': {kind}")]
#[non_exhaustive]
pub struct PlanError {
    /// The feature's name.
    pub feature: String,
    /// What is wrong with it.
    pub kind: PlanErrorKind,
}

/// What is wrong with a feature.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanErrorKind {
    /// Its expression leads to no key.
    #[error(
        "an Example has no '{0}': write the key, in quotes where it has other characters than \
         letters, digits and '_'; of a SequenceExample `context.KEY` or `feature_lists.KEY`"
    )]
    Path(String),
    /// Some features are of an `Example`, others of a `SequenceExample`.
    #[error(
        "is of {}, but other features are of {}: the records of a data set are all of one kind",
        .0.name(), .0.other().name()
    )]
    TwoMessages(Message),
    /// Values are of int64, float and bytes alone.
    #[error("values are int64, float32 or string; {0} needs `cast` or, for integers, a vocabulary")]
    NeedsCast(DType),
    /// Records have no times.
    #[error("records have no times, so they have no unit")]
    Unit,
    /// Ids need an integer dtype that has them all.
    #[error("ids by a hash are int64, from 1 bucket to 2^63 - 1")]
    HashBuckets,
    /// Ids of a vocabulary need an integer dtype that has them all.
    #[error("the vocabulary has the id {id}, which {dtype} does not hold")]
    IdRange {
        /// The id.
        id: i64,
        /// The dtype.
        dtype: DType,
    },
    /// The shape is none that the values of a key can have.
    #[error("{0}")]
    Shape(&'static str),
}

impl Plan {
    /// The plan that reads `features`.
    ///
    /// # Errors
    /// A feature asks for what an `Example` or a `SequenceExample` does not have.
    pub fn compile(features: &Features, options: PlanOptions) -> Result<Plan, PlanError> {
        let mut compiler = Compiler::default();
        let mut outputs = Vec::new();
        for feature in features.checked() {
            let output = compiler.output(feature).map_err(|kind| PlanError {
                feature: feature.feature.name.clone(),
                kind,
            })?;
            outputs.push(output);
        }
        Ok(Plan {
            message: compiler.message.unwrap_or(Message::Example),
            keys: compiler.keys,
            lists: compiler.lists,
            outputs,
            options,
        })
    }
}

#[derive(Default)]
struct Compiler {
    message: Option<Message>,
    keys: Keys,
    lists: Keys,
}

/// Where the values of a feature are.
enum Place {
    /// The whole record.
    Record,
    /// A key of an `Example`, or of the context.
    Key(usize),
    /// A key of feature lists.
    List(usize),
}

impl Compiler {
    fn output(&mut self, checked: &CheckedFeature) -> Result<Output, PlanErrorKind> {
        let feature = &checked.feature;
        let shape = match &feature.kind {
            FeatureKind::Sparse {
                keys,
                shape,
                sort,
                layout,
            } => {
                let named = checked.keys.as_ref();
                let (SparseKeys::Named { index, value }, Some(named)) = (keys, named) else {
                    return Err(PlanErrorKind::Shape(
                        "a sparse feature needs an index key and a value key",
                    ));
                };
                let mut indices = Vec::new();
                for (text, reference) in index.iter().zip(&named.index) {
                    indices.push(self.key(text, &reference.path)?);
                }
                Shape::Sparse {
                    indices: indices.into(),
                    values: self.key(value, &named.value.path)?,
                    shape: shape.as_slice().into(),
                    sort: *sort,
                    layout: *layout,
                    truncate: feature.truncate,
                }
            }
            FeatureKind::Dense { reshape, .. } => {
                let place = self.place(checked)?;
                self.dense(place, checked, *reshape)?
            }
            FeatureKind::Varlen { layout, .. } => {
                let place = self.place(checked)?;
                self.varlen(place, checked, *layout)?
            }
        };
        Ok(Output {
            // Of a key in quotes, the key.
            name: match &checked.path.steps[..] {
                [Step::Field(key)] => key.clone(),
                _ => checked.text().to_owned(),
            },
            column: checked.column,
            mask: checked.mask,
            row_mask: checked.row_mask,
            reader: reader(checked)?,
            fill: checked.fill.clone(),
            shape,
        })
    }

    fn dense(
        &self,
        place: Place,
        checked: &CheckedFeature,
        reshape: bool,
    ) -> Result<Shape, PlanErrorKind> {
        let truncate = checked.feature.truncate;
        let dims = &checked.shape;
        let known: Option<Vec<usize>> = dims.iter().copied().collect();
        let inner =
            |dims: &[Option<usize>]| -> Option<Box<[usize]>> { dims.iter().copied().collect() };
        match (place, known, &dims[..]) {
            (Place::Record, _, []) if checked.feature.dtype == DType::String => Ok(Shape::Record),
            (Place::Record, ..) => Err(PlanErrorKind::Shape(
                "the whole record, '@', is one string: a dense feature of shape [] and dtype string",
            )),
            (Place::Key(_), Some(dims), _) if truncate && dims.len() > 1 => Err(
                PlanErrorKind::Shape("only a list of one dimension is truncated"),
            ),
            (Place::Key(key), Some(dims), _) => Ok(Shape::Dense {
                key,
                len: dims.iter().product(),
                is_exact: reshape,
                truncate,
            }),
            (_, _, [None, ..]) if truncate => {
                Err(PlanErrorKind::Shape("a padded list is not truncated"))
            }
            (Place::Key(key), None, [None, rest @ ..]) if inner(rest).is_some() => {
                Ok(Shape::Padded {
                    key,
                    dims: inner(rest).unwrap_or_default(),
                })
            }
            (Place::Key(_), ..) => Err(PlanErrorKind::Shape(
                "only the first dimension of a key's values can vary: their number alone is known",
            )),
            (Place::List(key), None, [None, rest @ ..]) if inner(rest).is_some() => {
                Ok(Shape::PaddedSteps {
                    key,
                    dims: inner(rest).unwrap_or_default(),
                    is_ragged: false,
                })
            }
            (Place::List(key), None, [None, None]) => Ok(Shape::PaddedSteps {
                key,
                dims: [].into(),
                is_ragged: true,
            }),
            (Place::List(_), ..) => Err(PlanErrorKind::Shape(
                "the first dimension of a feature list is its number of steps, which varies: the \
                 shape is [None, ..] or [None, None]",
            )),
        }
    }

    /// The values of a key, divided by partitions of the same map.
    fn partitioned(
        &mut self,
        place: Place,
        partitions: &[Partition],
    ) -> Result<Shape, PlanErrorKind> {
        let Place::Key(key) = place else {
            return Err(PlanErrorKind::Shape(
                "partitions divide the values of a key of an Example or of the context; the steps \
                 of a feature list are lists already",
            ));
        };
        let with_key = |partition: &Partition| {
            let number = partition.key().map(|key| self.keys.add(key.as_bytes()));
            (partition.clone(), number)
        };
        let partitions = partitions.iter().map(with_key).collect();
        Ok(Shape::Partitioned { key, partitions })
    }

    fn varlen(
        &mut self,
        place: Place,
        checked: &CheckedFeature,
        layout: Layout,
    ) -> Result<Shape, PlanErrorKind> {
        let truncate = checked.feature.truncate;
        let partitions = &checked.feature.partitions;
        if !partitions.is_empty() {
            return self.partitioned(place, partitions);
        }
        match (place, &checked.shape[..]) {
            (Place::Record, _) => Err(PlanErrorKind::Shape(
                "the whole record, '@', is one string: a dense feature of shape [] and dtype string",
            )),
            (Place::Key(key), []) => Ok(Shape::Varlen {
                key,
                limit: Some(1),
                truncate: false,
                is_scalar: true,
                layout,
            }),
            (Place::Key(key), &[limit]) => Ok(Shape::Varlen {
                key,
                limit,
                truncate,
                is_scalar: false,
                layout,
            }),
            (Place::List(key), &[steps, values]) if !truncate => Ok(Shape::VarlenSteps {
                key,
                limits: [steps, values],
                layout,
            }),
            (Place::Key(_), _) => Err(PlanErrorKind::Shape(
                "a key has one list of values, so a varlen feature of it has one dimension",
            )),
            (Place::List(_), _) => Err(PlanErrorKind::Shape(
                "a feature list has steps and their values, so a varlen feature of it has two \
                 dimensions, which are not truncated",
            )),
        }
    }

    fn place(&mut self, checked: &CheckedFeature) -> Result<Place, PlanErrorKind> {
        let feature = &checked.feature;
        let is_name = feature.expression.is_none();
        if is_name && checked.not_a_path.is_some() {
            return self.example_key(&feature.name).map(Place::Key);
        }
        match self.place_of(&checked.path)? {
            Some(place) => Ok(place),
            None if is_name && checked.path.lists() == 0 => {
                self.example_key(&feature.name).map(Place::Key)
            }
            None => Err(PlanErrorKind::Path(feature.expression().to_owned())),
        }
    }

    /// The key of an `Example`, or of the context, to which a key of a sparse feature leads.
    fn key(&mut self, text: &str, path: &Path) -> Result<usize, PlanErrorKind> {
        match self.place_of(path)? {
            Some(Place::Key(key)) => Ok(key),
            _ => Err(PlanErrorKind::Path(text.to_owned())),
        }
    }

    /// The place to which a path leads: a key, or a part of a `SequenceExample` and a key. `[*]` at the
    /// end means the values of the key.
    fn place_of(&mut self, path: &Path) -> Result<Option<Place>, PlanErrorKind> {
        let mut steps = &path.steps[..];
        while let [before @ .., Step::All] = steps {
            steps = before;
        }
        match steps {
            [] if path.steps.is_empty() => Ok(Some(Place::Record)),
            [Step::Field(key)] => self.example_key(key).map(|key| Some(Place::Key(key))),
            [Step::Field(part), Step::Field(key) | Step::Key(key)] if part == "context" => {
                self.is_of(Message::SequenceExample)?;
                Ok(Some(Place::Key(self.keys.add(key.as_bytes()))))
            }
            [Step::Field(part), Step::Field(key) | Step::Key(key)] if part == "feature_lists" => {
                self.is_of(Message::SequenceExample)?;
                Ok(Some(Place::List(self.lists.add(key.as_bytes()))))
            }
            _ => Ok(None),
        }
    }

    fn example_key(&mut self, key: &str) -> Result<usize, PlanErrorKind> {
        self.is_of(Message::Example)?;
        Ok(self.keys.add(key.as_bytes()))
    }

    fn is_of(&mut self, message: Message) -> Result<(), PlanErrorKind> {
        if *self.message.get_or_insert(message) == message {
            return Ok(());
        }
        Err(PlanErrorKind::TwoMessages(message))
    }
}

/// The feature with the dimensions that the values of a key have, if its expression has no `[*]` for
/// them. A key has one dimension, a key of feature lists two. So
/// [`var_len`](Feature::var_len) reads lists, and a first `None` in the shape of
/// [`fixed_len_sequence`](Feature::fixed_len_sequence) is the length of a list and not the batch, as in
/// TensorFlow's `parse_example`.
///
/// ```
/// use atds_features::{Feature, Features};
/// use atds_tfrecord::with_dimensions;
/// use tensor_batch::DType;
///
/// let feature = with_dimensions(Feature::var_len("image/shape", DType::Int64));
/// let features = Features::new([feature])?;
/// assert_eq!(features.spec().columns()[0].rank(), 1);
/// # Ok::<(), atds_features::FeatureError>(())
/// ```
pub fn with_dimensions(mut feature: Feature) -> Feature {
    let path = Path::parse(feature.expression());
    let steps = path.as_ref().map_or(&[][..], |path| &path.steps);
    if path.as_ref().is_ok_and(|path| path.lists() > 0) {
        return feature;
    }
    let is_key_of = |part| matches!(steps, [Step::Field(of), Step::Field(_)] if of == part);
    match &mut feature.kind {
        FeatureKind::Varlen { shape, .. } if shape.is_none() && feature.partitions.is_empty() => {
            let rank = if is_key_of("feature_lists") { 2 } else { 1 };
            *shape = Some(vec![UNKNOWN; rank]);
        }
        FeatureKind::Dense {
            shape,
            reshape: true,
        } if shape.first() == Some(&None) => {
            let lists = "[*]".repeat(shape.len());
            let is_path = is_key_of("context") || is_key_of("feature_lists");
            let path = match &feature.expression {
                Some(expression) => format!("{expression}{lists}"),
                None if is_path => format!("{}{lists}", feature.name),
                None => format!("{}{lists}", field_step(&feature.name)),
            };
            feature.expression = Some(path);
        }
        _ => {}
    }
    feature
}

/// How the values of a feature are read.
fn reader(checked: &CheckedFeature) -> Result<Reader, PlanErrorKind> {
    let feature = &checked.feature;
    let dtype = feature.dtype;
    match &feature.convert {
        Convert::Exact | Convert::Cast if dtype == DType::String => Ok(Reader::Strings),
        Convert::Exact if dtype == DType::UInt8 => Ok(Reader::Octets),
        Convert::Exact if dtype == DType::Int64 => Ok(Reader::Ints),
        Convert::Exact if dtype == DType::Float32 => Ok(Reader::Floats),
        Convert::Exact => Err(PlanErrorKind::NeedsCast(dtype)),
        Convert::Cast => Ok(Reader::Cast { dtype }),
        &Convert::HashBuckets(buckets) => match i64::try_from(buckets) {
            Ok(1..) if dtype == DType::Int64 => Ok(Reader::Ids {
                dtype,
                ids: Ids::Hash(buckets),
            }),
            _ => Err(PlanErrorKind::HashBuckets),
        },
        Convert::Vocabulary(vocabulary) => {
            let Some(range) = dtype.integer_range() else {
                return Err(PlanErrorKind::NeedsCast(dtype));
            };
            if let Some(id) = vocabulary.id_outside(&range) {
                return Err(PlanErrorKind::IdRange { id, dtype });
            }
            let ids = Ids::Vocabulary(vocabulary.clone());
            Ok(Reader::Ids { dtype, ids })
        }
        Convert::Unit(_) => Err(PlanErrorKind::Unit),
    }
}

/// The smallest index beyond a dimension of `size`.
pub(super) fn end_of(size: i64) -> u64 {
    match size {
        // The extent, an index + 1, is an i64 too.
        UNKNOWN => i64::MAX as u64,
        size => size as u64,
    }
}
