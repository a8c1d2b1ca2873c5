//! Runs the plan and the reference on the same bytes.

use std::sync::Arc;

use avro_decode::reference::{RecordError, ReferenceTensors};
use avro_decode::{
    DecodeError, DecodeErrorKind, Feature, Features, Plan, PlanOptions, Schema, Value, reference,
};
use tensor_batch::{Batch, BatchBuilder};

use super::made::Case;

/// The result of running a plan.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) batch: Batch,
    pub(crate) position: usize,
    pub(crate) dropped: u64,
    pub(crate) truncated: u64,
}

/// Runs the plan over the records in `data`, in several runs and calls. The number of the record in
/// an error counts from the first record.
pub(crate) fn run(
    plan: &Plan,
    data: &[u8],
    run_rows: &[usize],
    call_records: usize,
) -> Result<Ran, DecodeError> {
    let mut builder = BatchBuilder::new(plan.spec().clone());
    let (mut position, mut dropped, mut truncated, mut records) = (0, 0, 0, 0);
    for mut slots in builder.slots(run_rows) {
        while slots.remaining() > 0 {
            let now = call_records.min(slots.remaining());
            let executed = plan.execute(data, position, now, &mut slots);
            let executed = executed.map_err(|mut error| {
                error.record = error.record.map(|record| record + records);
                error
            })?;
            position = executed.position;
            dropped += executed.dropped;
            truncated += executed.truncated;
            records += now as u64;
        }
    }
    builder.gather().into_iter().for_each(|task| task.run());
    Ok(Ran {
        batch: builder.finish(),
        position,
        dropped,
        truncated,
    })
}

impl Case {
    pub(crate) fn plan(&self) -> Plan {
        match Plan::compile(&self.schema, &self.features, &self.options) {
            Ok(plan) => plan,
            Err(error) => {
                let expressions: Vec<_> = self.features.iter().collect();
                let schema = &self.schema;
                panic!("the features were made to fit, but {error}: {expressions:?} of {schema}")
            }
        }
    }

    pub(crate) fn run(&self) -> Result<Ran, DecodeError> {
        run(&self.plan(), &self.data, &self.run_rows, self.call_records)
    }

    /// The tensors that the reference makes from records of the [reader's schema](Case::resolved).
    pub(crate) fn tensors(&self, records: &[Value]) -> Result<ReferenceTensors, RecordError> {
        reference::tensors(&self.reader(), records, &self.features, &self.options)
    }

    /// All errors of the first record that does not fit. The records are of the reader's schema.
    pub(crate) fn faults(&self, records: &[Value]) -> Vec<RecordError> {
        reference::faults(&self.reader(), records, &self.features, &self.options)
    }

    /// The result of decoding `data` with the reference: the records, the offset after them, and
    /// the error that stopped it, if any.
    pub(crate) fn decode(&self, data: &[u8]) -> (Vec<Value>, usize, Option<DecodeError>) {
        let (mut records, mut position) = (Vec::new(), 0);
        for _ in &self.records {
            match reference::decode(&self.schema, self.schema.root(), data, &mut position) {
                Ok(record) => records.push(record),
                Err(error) => return (records, position, Some(error)),
            }
        }
        (records, position, None)
    }
}

/// Panics unless the plan gave the tensors of the reference.
pub(crate) fn assert_agrees(expected: &ReferenceTensors, ran: &Ran) {
    if let Err(difference) = expected.compare(&ran.batch) {
        panic!("{difference}");
    }
    assert_eq!(ran.dropped, expected.dropped);
    assert_eq!(ran.truncated, expected.truncated);
}

/// Whether two kinds are the same. A wrong length may be the whole length, or one more than the
/// maximum.
pub(crate) fn same_kind(left: &DecodeErrorKind, right: &DecodeErrorKind) -> bool {
    match left {
        DecodeErrorKind::ArrayLength { .. } | DecodeErrorKind::SparseLengths { .. } => {
            std::mem::discriminant(left) == std::mem::discriminant(right)
        }
        _ => left == right,
    }
}

/// A record schema with the fields given as JSON.
pub(crate) fn record_of(fields: &str) -> Arc<Schema> {
    let text = format!(r#"{{"type": "record", "name": "Row", "fields": [{fields}]}}"#);
    Arc::new(Schema::parse(&text).expect("a valid schema"))
}

/// A schema with a field `x` of the type given as JSON.
pub(crate) fn field_of(ty: &str) -> Arc<Schema> {
    record_of(&format!(r#"{{"name": "x", "type": {ty}}}"#))
}

/// The plan of one feature.
pub(crate) fn plan_of(
    schema: &Arc<Schema>,
    feature: impl Into<Feature>,
    options: &PlanOptions,
) -> Plan {
    let features = Features::new([feature]).expect("a good feature");
    Plan::compile(schema, &features, options).expect("the feature fits the schema")
}
