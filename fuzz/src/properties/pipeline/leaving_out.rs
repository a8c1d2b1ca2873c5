//! A file of which damage is left out.

use std::collections::HashSet;

use atds::ErrorKind;
use avro_block::{BlockReader, DecompressBuffer, DecompressError, Decompressor};
use avro_decode::reference;
use avro_decode::{Features, PlanOptions, Schema, Value};

use super::oracle::{MAX_BLOCK_BYTES, MAX_RECORDS, is_noticed};
use super::reading::{Options, Outcome, PLACES};

/// A record that the framing counts.
enum Record {
    /// It comes.
    Good(Value),
    /// It is left out.
    Bad,
    /// The reference does not know where it begins, or whether the plan reads its damage.
    Unknown,
}

struct Block {
    offset: u64,
    /// Number of its records, by its head.
    count: u64,
    /// Its first records. All others are unknown.
    known: Vec<Record>,
}

impl Block {
    fn record(&self, number: u64) -> &Record {
        let number = usize::try_from(number).ok();
        let known = number.and_then(|number| self.known.get(number));
        known.unwrap_or(&Record::Unknown)
    }

    fn is_healthy(&self) -> bool {
        let is_good = |record: &Record| matches!(record, Record::Good(_));
        self.known.len() as u64 == self.count && self.known.iter().all(is_good)
    }
}

/// What the reference knows of a file.
struct Reference<'a> {
    schema: &'a Schema,
    features: &'a Features,
    options: &'a PlanOptions,
}

/// Checks that all records come which the reference reads, and none that it cannot read.
pub(super) fn check(
    file: &[u8],
    schema: &Schema,
    features: &Features,
    plan_options: &PlanOptions,
    outcome: &Outcome,
    options: &Options,
) {
    if outcome.is_out_of_memory() {
        return;
    }
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    let reference = Reference {
        schema,
        features,
        options: plan_options,
    };
    let blocks = without_false_counts(reference.blocks(file), outcome);
    let (planned, stats) = outcome.figures.as_ref().expect("damage is left out");
    let counts: u64 = blocks.iter().map(|block| block.count).sum();
    assert_eq!(*planned, counts, "records of all framed blocks");
    assert_eq!(stats.records + stats.skipped_records, counts);
    let batches = counts.div_ceil(options.batch_size as u64);
    assert_eq!(outcome.batches.len() as u64, batches, "of {counts} records");
    let is_lost = stats.skipped_records > 0 || stats.skipped_bytes > 0;
    assert_eq!(
        is_lost,
        !outcome.skipped.is_empty(),
        "{:?}",
        outcome.skipped
    );

    let mut found = HashSet::new();
    let mut last = None;
    for batch in &outcome.batches {
        let places = batch
            .dense::<i64>(PLACES)
            .expect("the column was asked for");
        let mut values = Vec::new();
        for place in places.chunks(2) {
            let number = place[1] as u64;
            assert!(found.insert(number), "record {number} comes twice");
            let is_next = last.replace(number).is_none_or(|last| last < number);
            assert!(is_next || !options.is_in_order(), "record {number}");
            match record(&blocks, number) {
                Record::Good(value) => values.push(value.clone()),
                Record::Bad => panic!("record {number} comes, which is damaged"),
                Record::Unknown => {}
            }
        }
        if values.len() == batch.rows() {
            let tensors = reference::tensors(schema, &values, features, plan_options);
            let tensors = tensors.expect("each record fits alone");
            if let Err(difference) = tensors.compare(batch) {
                panic!("{difference}");
            }
        }
    }
    let mut first = 0;
    for block in &blocks {
        for (number, record) in (first..).zip(&block.known) {
            let is_good = matches!(record, Record::Good(_));
            assert!(
                !is_good || found.contains(&number),
                "record {number} is lost"
            );
        }
        first += block.count;
    }
}

/// The blocks without those that claim more records than can be in them: the pipeline leaves them out as a
/// whole, in the framing or later, where the reference may read some of their records.
fn without_false_counts(mut blocks: Vec<Block>, outcome: &Outcome) -> Vec<Block> {
    for skipped in &outcome.skipped {
        if matches!(skipped.error.kind, ErrorKind::TooManyRecords { .. }) {
            let at = |block: &Block| Some(block.offset) == skipped.error.place.offset;
            let at = blocks.iter().position(at).expect("the block is there");
            assert!(!blocks[at].is_healthy(), "{skipped}");
            match skipped.records {
                None => drop(blocks.remove(at)),
                Some(_) => blocks[at].known.clear(),
            }
        }
    }
    blocks
}

/// The record with this number in the file.
fn record(blocks: &[Block], mut number: u64) -> &Record {
    for block in blocks {
        if number < block.count {
            return block.record(number);
        }
        number -= block.count;
    }
    panic!("there is no such record");
}

impl Reference<'_> {
    /// The blocks of a file with a valid header, without what is between damage and the next marker.
    fn blocks(&self, file: &[u8]) -> Vec<Block> {
        let mut reader = BlockReader::new(file).expect("the header is good");
        let codec = reader.header().codec();
        let (mut inflater, mut inflated) = (Decompressor::new(), DecompressBuffer::new());
        let (mut blocks, mut left) = (Vec::new(), MAX_RECORDS);
        while let Some(block) = reader.next() {
            let Ok(block) = block else {
                if !reader.resync() {
                    break;
                }
                continue;
            };
            let done = inflater.decompress(codec, &block.payload, &mut inflated, MAX_BLOCK_BYTES);
            let known = match done {
                Ok(()) => self.records(&inflated, block.count, left),
                Err(DecompressError::TooLarge { .. }) => Vec::new(),
                Err(_) => (0..block.count.min(left as u64))
                    .map(|_| Record::Bad)
                    .collect(),
            };
            left -= known.len();
            blocks.push(Block {
                offset: block.offset,
                count: block.count,
                known,
            });
        }
        blocks
    }

    /// The first records of a block, at most `most`.
    fn records(&self, inflated: &[u8], count: u64, most: usize) -> Vec<Record> {
        let (mut known, mut position) = (Vec::new(), 0);
        for _ in 0..count {
            if known.len() == most {
                return known;
            }
            match reference::decode(self.schema, self.schema.root(), inflated, &mut position) {
                Ok(record) if self.fits(&record) => known.push(Record::Good(record)),
                Ok(_) => known.push(Record::Bad),
                Err(error) => {
                    if is_noticed(self.features, &error) {
                        known.push(Record::Bad);
                    }
                    return known;
                }
            }
        }
        if position < inflated.len()
            && let Some(last) = known.last_mut()
        {
            // It has another end than it should.
            *last = Record::Bad;
        }
        known
    }

    fn fits(&self, record: &Value) -> bool {
        let record = std::slice::from_ref(record);
        reference::tensors(self.schema, record, self.features, self.options).is_ok()
    }
}
