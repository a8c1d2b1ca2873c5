//! Shapes of records for given features, with a field for each feature.

use std::collections::HashSet;

use atds_features::feature::{FeatureKind, SparseKeys};
use atds_features::path::{Path, Step};
use atds_features::{Convert, Feature, Features, Missing};
use avro_decode::Schema;
use tensor_batch::{ColumnKind, DType, UNKNOWN};

use crate::error::{GenerateError, GenerateErrorKind, UnsupportedFeature};
use crate::field::{Field, Length, Type, Values};
use crate::limits::{MAX_MEAN_LENGTH, MAX_SAMPLE_VALUES};
use crate::shape::RecordShape;

impl RecordShape {
    /// The shape of records with a field for each of `features`, so that the features can read
    /// them.
    ///
    /// Dense features have their shape in every record; lists of varying length, and the entries
    /// of sparse features, are `mean_length` on average. A feature with a default or a mask is null
    /// in 5 % of the records. Values are as in the presets; indices of a dimension that is
    /// [`UNKNOWN`] are below 1,000.
    ///
    /// # Errors
    ///
    /// If a feature has an expression that is not the name of a field, sparse entries by keys, a
    /// vocabulary, a unit, or a dtype that no Avro type is read as; if two features are of one
    /// field; if records would be too large; if `mean_length` is not above 0 and at most
    /// [`MAX_MEAN_LENGTH`].
    pub fn of_features(features: &Features, mean_length: f64) -> Result<Self, GenerateError> {
        if !(mean_length > 0.0 && mean_length <= MAX_MEAN_LENGTH) {
            return Err(GenerateErrorKind::MeanLength { mean_length }.into());
        }
        let mut draft = Draft {
            mean_length,
            names: HashSet::new(),
            values: 0.0,
        };
        let columns = features.spec().columns();
        let kind_of = |feature: &Feature| {
            let column = columns.iter().find(|column| column.name == feature.name);
            &column.expect("a column for each feature").kind
        };
        let fields = features.iter().map(|feature| {
            let field = draft.field(feature, kind_of(feature));
            field.map_err(|reason| GenerateError::feature(&feature.name, reason))
        });
        let fields = fields.collect::<Result<_, _>>()?;
        let shape = RecordShape {
            preset: None,
            name: "sample".to_owned(),
            fields,
            features: features.iter().cloned().collect(),
        };
        Schema::parse(&shape.schema()).map_err(GenerateErrorKind::Schema)?;
        Ok(shape)
    }
}

/// The dimension for an unknown dimension of a sparse feature.
const UNKNOWN_DIM: u64 = 1_000;

/// A shape that is being built.
struct Draft {
    mean_length: f64,
    names: HashSet<String>,
    /// Mean number of values in a record.
    values: f64,
}

impl Draft {
    fn field(&mut self, feature: &Feature, kind: &ColumnKind) -> Result<Field, UnsupportedFeature> {
        let name = self.name(feature)?;
        let values = values(feature)?;
        let ty = match kind {
            ColumnKind::Dense { shape } => {
                let lengths: Vec<Length> = shape.iter().map(|&dim| Length::Fixed(dim)).collect();
                self.array(values, &lengths)?
            }
            ColumnKind::Varlen { shape, .. } | ColumnKind::Padded { shape, .. } => {
                let length = |&dim: &i64| match usize::try_from(dim) {
                    Ok(dim) => Length::Fixed(dim),
                    Err(_) => Length::Poisson(self.mean_length),
                };
                let lengths: Vec<Length> = shape.iter().map(length).collect();
                self.array(values, &lengths)?
            }
            ColumnKind::Sparse { shape, .. } => self.sparse(feature, values, shape)?,
            _ => return Err(UnsupportedFeature::Kind),
        };
        Ok(Field {
            name,
            ty: if feature.missing == Missing::default() {
                ty
            } else {
                Type::Nullable(Box::new(ty))
            },
        })
    }

    /// The field that the feature is read from.
    fn name(&mut self, feature: &Feature) -> Result<String, UnsupportedFeature> {
        let expression = feature.expression();
        let path = Path::parse(expression).ok();
        let Some([Step::Field(name)]) = path.as_ref().map(|path| &*path.steps) else {
            let expression = expression.to_owned();
            return Err(UnsupportedFeature::Expression { expression });
        };
        if !self.names.insert(name.clone()) {
            let field = name.clone();
            return Err(UnsupportedFeature::DuplicateField { field });
        }
        Ok(name.clone())
    }

    fn array(&mut self, values: Values, lengths: &[Length]) -> Result<Type, UnsupportedFeature> {
        self.count(lengths.iter().map(|length| length.mean()).product())?;
        Ok(Type::arrays(values, lengths))
    }

    fn sparse(
        &mut self,
        feature: &Feature,
        values: Values,
        shape: &[i64],
    ) -> Result<Type, UnsupportedFeature> {
        if let FeatureKind::Sparse { keys, .. } = &feature.kind
            && *keys != SparseKeys::Record
        {
            return Err(UnsupportedFeature::Kind);
        }
        let dim = |&dim: &i64| match dim {
            UNKNOWN => UNKNOWN_DIM,
            dim => dim.unsigned_abs(),
        };
        let dims: Vec<u64> = shape.iter().map(dim).collect();
        let cells = dims.iter().try_fold(1u64, |all, dim| all.checked_mul(*dim));
        cells.ok_or(UnsupportedFeature::TooManyCells)?;
        let mean = self.mean_length;
        self.count(mean * dims.len() as f64)?;
        Ok(Type::Sparse { values, dims, mean })
    }

    /// Adds `values` to the number of values in a record; an error if there are too many.
    fn count(&mut self, values: f64) -> Result<(), UnsupportedFeature> {
        self.values += values;
        if self.values <= MAX_SAMPLE_VALUES {
            Ok(())
        } else {
            Err(UnsupportedFeature::TooManyValues)
        }
    }
}

/// The type and distribution of a feature's values.
fn values(feature: &Feature) -> Result<Values, UnsupportedFeature> {
    let dtype = feature.dtype;
    match (&feature.convert, dtype) {
        (Convert::HashBuckets(_), _) => Ok(Values::Text),
        (Convert::Exact | Convert::Cast, DType::Int32) => Ok(Values::Int),
        (Convert::Exact | Convert::Cast, DType::Int64) => Ok(Values::Long),
        (Convert::Exact | Convert::Cast, DType::Float32) => Ok(Values::Float),
        (Convert::Exact | Convert::Cast, DType::Float64) => Ok(Values::Double),
        (Convert::Exact | Convert::Cast, DType::Bool) => Ok(Values::Boolean),
        (Convert::Exact | Convert::Cast, DType::String) => Ok(Values::Text),
        // Below 100: every integer dtype has them.
        (Convert::Cast, dtype) if dtype.is_integer() => Ok(Values::Small),
        (Convert::Cast, DType::Float16 | DType::BFloat16) => Ok(Values::Float),
        (Convert::Exact, _) => Err(UnsupportedFeature::DType { dtype }),
        _ => Err(UnsupportedFeature::Conversion),
    }
}
