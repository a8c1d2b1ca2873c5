//! Arbitrary schemas with features and records, made from arbitrary bytes. When the bytes run out,
//! everything is as small as possible, so that cases shrink.

mod choices;
mod constants;
mod earlier;
mod features;
mod readers;
mod schemas;
mod values;
mod ways;

use std::num::NonZeroUsize;
use std::sync::Arc;

use avro_decode::encode::{EncodeOptions, encode};
use avro_decode::resolve::Resolution;
use avro_decode::{Features, OutOfBounds, PlanOptions, Schema, Value, reference};

use super::common;
use values::{Faults, TypeTraits};

/// A schema, some features, and the bytes of some records.
#[derive(Debug)]
pub(crate) struct Case {
    /// The writer's schema.
    pub(crate) schema: Arc<Schema>,
    pub(crate) features: Features,
    /// The options, sometimes with a reader's schema.
    pub(crate) options: PlanOptions,
    /// The records as values of the writer's schema.
    pub(crate) records: Vec<Value>,
    pub(crate) data: Vec<u8>,
    /// Number of rows in each run of the batch.
    pub(crate) run_rows: Vec<usize>,
    /// Maximum number of records that one call reads.
    pub(crate) call_records: usize,
}

/// Makes a case. Without a `fault`, the values fit the features. Otherwise `fault` is the number of
/// the value, among all values that could be wrong, that is made wrong.
pub(crate) fn case(bytes: Vec<u8>, fault: Option<usize>) -> Case {
    let mut source = Source(bytes.into_iter());
    let mut options = PlanOptions::default();
    if source.flag() {
        options.out_of_bounds = OutOfBounds::Drop;
    }
    let mut encoding = EncodeOptions::default();
    encoding.block_items = NonZeroUsize::new(source.below(4));
    encoding.byte_sizes = source.flag();
    let call_records = 1 + source.below(3);
    let runs = 0..[1, 2, 3, 0, 1, 2][source.below(6)];
    let run_rows: Vec<usize> = runs.map(|_| source.below(5)).collect();

    let schema = Arc::new(schemas::schema(&mut source.split(200)));
    let traits = TypeTraits::any(&mut source);
    let of_values = source.split(250);
    let records = |fault: Option<usize>| {
        let mut source = of_values.clone();
        let mut faults = Faults::new(fault);
        let records = 0..run_rows.iter().sum();
        let record = |_| values::record(&schema, &traits, &mut source, &mut faults);
        records.map(record).collect::<Vec<_>>()
    };
    let good = records(None);
    if source.below(3) == 1 {
        options.reader_schema = readers::reader(&schema, &good, &mut source);
    }
    let read = resolved(&schema, &options, &good).expect("the reader was made to fit");
    let reader = reader_of(&schema, &options);
    let features = features::features(&reader, &read, &options, fault.is_some(), &mut source);

    let records = records(fault);
    let mut data = Vec::new();
    for record in &records {
        encode(&schema, schema.root(), record, &mut data, &encoding)
            .expect("the value was made to fit");
    }
    let features = Features::new(features).expect("the features were made to be good");
    if source.below(3) == 1 {
        let meanings = earlier::meanings(&reader, &features, &options, &read, &mut source);
        options.meanings = meanings;
    }
    Case {
        schema,
        features,
        options,
        records,
        data,
        run_rows,
        call_records,
    }
}

impl Case {
    /// The schema in which the features are found.
    pub(crate) fn reader(&self) -> Arc<Schema> {
        reader_of(&self.schema, &self.options)
    }

    /// The records as values of the [reader's schema](Self::reader). `None` if a record cannot be
    /// resolved.
    pub(crate) fn resolved(&self, records: &[Value]) -> Option<Vec<Value>> {
        resolved(&self.schema, &self.options, records)
    }
}

fn reader_of(schema: &Arc<Schema>, options: &PlanOptions) -> Arc<Schema> {
    let reader = options.reader_schema.as_ref();
    Arc::clone(reader.unwrap_or(schema))
}

fn resolved(schema: &Arc<Schema>, options: &PlanOptions, records: &[Value]) -> Option<Vec<Value>> {
    let Some(reader) = &options.reader_schema else {
        return Some(records.to_vec());
    };
    let resolution = Resolution::new(Arc::clone(schema), Arc::clone(reader)).ok()?;
    let resolved = records
        .iter()
        .map(|record| reference::resolve(&resolution, record));
    resolved.collect::<Result<_, _>>().ok()
}

/// Bytes that make all random choices.
#[derive(Clone)]
pub(crate) struct Source(std::vec::IntoIter<u8>);

impl Source {
    fn byte(&mut self) -> u8 {
        self.0.next().unwrap_or(0)
    }

    /// A number below `n`, which is at most 256.
    fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n
    }

    fn flag(&mut self) -> bool {
        self.below(2) == 1
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.byte())
    }

    fn one_of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }

    /// Splits off the next bytes.
    fn split(&mut self, n: usize) -> Source {
        Source(self.0.by_ref().take(n).collect::<Vec<_>>().into_iter())
    }

    fn entropy(&mut self, n: usize) -> common::Entropy {
        common::Entropy::new(self.split(n).0.collect())
    }
}
