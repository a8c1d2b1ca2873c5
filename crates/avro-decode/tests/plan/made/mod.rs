//! Arbitrary schemas with features, and records of them, made from arbitrary
//! bytes: when the bytes run out, everything is as small as it can be, so that
//! cases shrink.

mod shape;
mod values;

use std::num::NonZeroUsize;

use avro_decode::encode::{EncodeOptions, encode};
use avro_decode::{OutOfBounds, PlanOptions, Schema, Value};
use tensor_batch::BatchSpec;

use super::common;
use shape::{Shape, Wrap};
use values::Faults;

/// A schema, some of its features, and the bytes of some records.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) schema: Schema,
    pub(crate) spec: BatchSpec,
    pub(crate) options: PlanOptions,
    pub(crate) records: Vec<Value>,
    pub(crate) data: Vec<u8>,
    /// Rows of each run of the batch.
    pub(crate) run_rows: Vec<usize>,
    /// The most records read by one call.
    pub(crate) call_records: usize,
}

/// Makes a case. The values fit the features, except that the one that comes
/// as number `fault` of all that could be wrong in one way or another is.
pub(crate) fn case(bytes: Vec<u8>, fault: Option<usize>) -> Case {
    let mut source = Source(bytes.into_iter());
    let mut names = 0;
    let fields = shape::fields(&mut source, 0, &mut names);
    let root = Shape::record(Wrap::None, fields, &mut names);
    let schema = Schema::parse(&root.json.to_string()).expect("the schema was made to be valid");

    let mut columns = Vec::new();
    root.features("", &mut source, &mut columns);
    let mut options = PlanOptions::default();
    if source.flag() {
        options.out_of_bounds = OutOfBounds::Drop;
    }
    let mut encoding = EncodeOptions::default();
    encoding.block_items = NonZeroUsize::new(source.below(4));
    encoding.byte_sizes = source.flag();
    let call_records = 1 + source.below(3);
    let mut run_rows = Vec::new();
    for _ in 0..source.below(4) {
        run_rows.push(source.below(4));
    }

    let mut faults = Faults { before: fault };
    let (mut records, mut data) = (Vec::new(), Vec::new());
    for _ in 0..run_rows.iter().sum() {
        let record = root.value(&schema, schema.root(), &mut source, &mut faults);
        encode(&schema, schema.root(), &record, &mut data, &encoding)
            .expect("the value was made to fit");
        records.push(record);
    }
    Case {
        schema,
        spec: BatchSpec::new(columns).expect("the columns were made to be good"),
        options,
        records,
        data,
        run_rows,
        call_records,
    }
}

/// Bytes that decide what is made.
pub(crate) struct Source(std::vec::IntoIter<u8>);

impl Source {
    fn byte(&mut self) -> u8 {
        self.0.next().unwrap_or(0)
    }

    fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n
    }

    fn flag(&mut self) -> bool {
        self.below(2) == 1
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.byte())
    }

    fn entropy(&mut self, n: usize) -> common::Entropy {
        common::Entropy::new(self.0.by_ref().take(n).collect())
    }
}
