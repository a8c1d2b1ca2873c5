//! Models that loom runs in all orders of their threads: the queue and the blocks as they are, with
//! little data. See [`sync`](crate::sync) for what loom does not see.
//!
//! `make test` runs them.
#![allow(clippy::unwrap_used)]

mod blocks;
mod ends;
mod memory;
mod queue;

use std::sync::Arc;
use std::task::Poll;

use atds_format::{
    BlockDesc, Decoded, Decoder, Error, ErrorKind, Location, Payload, Payloads, Pos, PrepareJob,
    Prepared, Scratch, Tally, Upcoming,
};
use bytes::Bytes;
use tensor_batch::{
    Batch, BatchSpec, ColumnKind, ColumnSpec, DType, Layout, RowSlots, UNKNOWN, Values,
};

use crate::Options;
use crate::block::{self, Block, BlockPayload, FileContext};
use crate::flow::Flow;
use crate::ops::Op;
use crate::pieces::{Piece, PieceBatch};
use crate::planner::{BatchPlan, Planner};
use crate::replay::Wanted;
use crate::split::Members;

/// Runs `model` in all orders of its threads in which at most `preemptions` times a thread stops that
/// could go on.
fn check(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000;
    builder.check(model);
}

/// A record is a byte, which becomes the value of the column `byte`, and a list of one in the column
/// `list`, if there is one. 255 is a bad record.
#[derive(Debug)]
struct ByteDecoder {
    prepares: bool,
}

/// A bad record.
const BAD: u8 = 255;

impl Decoder for ByteDecoder {
    fn prepares(&self) -> bool {
        self.prepares
    }

    fn most_records(&self, payload_bytes: u64) -> u64 {
        payload_bytes
    }

    fn prepare(&self, jobs: &mut [PrepareJob<'_>], _: &mut Scratch) {
        for job in jobs {
            let bytes: Vec<u8> = job.parts.concat();
            let len = bytes.len();
            job.result = Ok((Prepared::of_value(bytes, len, len), Tally::default()));
        }
    }

    fn seek(&self, _: &Prepared, _: Pos, record: u64) -> Result<Pos, Error> {
        Ok(at(record))
    }

    fn decode(
        &self,
        block: &Prepared,
        from: Pos,
        records: u64,
        rows: &mut RowSlots<'_>,
        _: &mut Scratch,
        _: Option<Upcoming<'_>>,
    ) -> Result<Decoded, Error> {
        assert_eq!(from, at(from.record));
        let bytes = match block.as_bytes() {
            Some(bytes) => &bytes[..],
            None => block.value::<Vec<u8>>().unwrap(),
        };
        for record in from.record..from.record + records {
            let byte = bytes[record as usize];
            if byte == BAD {
                let mut error = Error::new(ErrorKind::Limit { needed: None });
                error.kind = ErrorKind::Format(Arc::new(std::io::Error::other("bad")));
                error.place.record = Some(record);
                return Err(error);
            }
            let (row, value) = (rows.row(), i64::from(byte));
            let (dense, lists) = rows.columns().split_first_mut().unwrap();
            dense.dense::<i64>().unwrap()[row] = value;
            for list in lists {
                let list = list.segment().unwrap();
                let Values::Int64(values) = &mut list.values else {
                    unreachable!("of int64")
                };
                values.extend_from_slice(&[value]);
                list.splits[0].push(values.len() as i64);
            }
            rows.advance();
        }
        Ok(Decoded {
            pos: at(from.record + records),
            tally: Tally::default(),
        })
    }

    fn finish(&self, _: &Prepared, _: Pos) -> Result<Tally, Error> {
        Ok(Tally::default())
    }
}

impl Payloads for ByteDecoder {}

/// The position of a record of [`ByteDecoder`].
fn at(record: u64) -> Pos {
    Pos {
        record,
        at: record + 1,
    }
}

/// A block of these records.
fn block(bytes: &[u8], prepares: bool) -> Arc<Block> {
    let file = Arc::new(FileContext {
        number: 0,
        location: Location::Url("memory:///a".into()),
        decoder: Arc::new(ByteDecoder { prepares }),
        payloads: Arc::new(ByteDecoder { prepares }),
        reads: None,
    });
    let bytes = Bytes::copy_from_slice(bytes);
    let desc = BlockDesc {
        index: 0,
        offset: 0,
        file_bytes: bytes.len() as u64,
        records: bytes.len() as u64,
        start: 1,
        payload_offset: None,
        payload: Payload::Here(bytes.clone()),
        max_prepared: None,
    };
    let payload = block::Payload::new(smallvec::smallvec![bytes], false, None);
    let members = (Members::all(desc.records), None);
    let block = Block::new(&desc, file, 0, members, BlockPayload::Own(payload));
    if !prepares {
        block.payload.take_as_it_is();
    }
    Arc::new(block)
}

/// The planned batches of `batch_size` rows of blocks.
fn plans(batch_size: u64, blocks: &[Arc<Block>]) -> Vec<BatchPlan> {
    let mut planner = Planner::new(&Options::new(batch_size as usize));
    for block in blocks {
        planner.push(
            block.clone(),
            Wanted {
                records: (0..block.records).into(),
                slot: None,
            },
        );
    }
    let mut plans = Vec::new();
    while planner.has_batch() {
        plans.push(planner.draw());
    }
    plans
}

/// An op for each plan.
fn ops(plans: Vec<BatchPlan>) -> Vec<Op> {
    let op = |(first, plan)| make(first as u64, vec![plan]);
    plans.into_iter().enumerate().map(op).collect()
}

/// An op that makes batches, of which `first` is the number of the first.
fn make(first: u64, plans: Vec<BatchPlan>) -> Op {
    let batches = (first..).zip(plans);
    let pieces = batches.map(|(number, plan)| PieceBatch::new(number, vec![plan]).again());
    Op::Make(pieces.collect())
}

/// An iteration without a planning thread.
struct Iteration {
    flow: Arc<Flow>,
    /// Batches that the consumer has taken. They are dropped when no thread runs: they give memory back
    /// under a lock that loom does not see.
    taken: Vec<Batch>,
}

impl Iteration {
    fn new(options: &Options) -> Self {
        let byte = ColumnKind::Dense { shape: vec![] };
        let list = ColumnKind::Varlen {
            shape: vec![UNKNOWN],
            layout: Layout::Ragged,
        };
        let mut columns = vec![ColumnSpec::new("byte", DType::Int64, byte)];
        if options.piece_rows.is_some() {
            // Pieces have something to join.
            columns.push(ColumnSpec::new("list", DType::Int64, list));
        }
        let spec = BatchSpec::new(columns).unwrap();
        Iteration {
            flow: Flow::new(options.clone(), spec),
            taken: Vec::new(),
        }
    }

    /// Starts the first worker. The others start when there is work for them.
    fn start(options: &Options) -> Self {
        let iteration = Iteration::new(options);
        iteration.flow.start().unwrap();
        iteration
    }

    /// Queues ops that begin a batch each.
    fn push(&self, ops: Vec<Op>) {
        for op in ops {
            self.flow.push(op).unwrap();
        }
    }

    /// The rows of the next batch, and the error after it; `None` at the end.
    fn next(&mut self) -> Option<(Vec<i64>, Option<crate::Error>)> {
        let Poll::Ready(Some(finished)) = self.flow.next_batch(None) else {
            return None;
        };
        let rows = finished.batch.as_ref().map_or_else(Vec::new, rows);
        self.taken.extend(finished.batch);
        Some((rows, finished.error))
    }

    /// All rows that are left, of batches without an error.
    fn rest(&mut self) -> Vec<i64> {
        let mut all = Vec::new();
        while let Some((rows, error)) = self.next() {
            assert!(error.is_none(), "{error:?}");
            all.extend(rows);
        }
        all
    }

    /// Waits for all workers, and for what was given out.
    fn end(self) {
        assert!(self.flow.join(None).unwrap());
        drop(self.taken);
    }
}

fn rows(batch: &Batch) -> Vec<i64> {
    let rows = batch.dense::<i64>("byte").unwrap();
    if let Ok(lists) = batch.ragged::<i64>("list") {
        let lists = (0..lists.rows()).map(|row| lists.row(row));
        assert!(lists.eq(rows.iter().map(std::slice::from_ref)));
    }
    rows.to_vec()
}

/// Options of `threads` workers.
fn threads(threads: usize) -> Options {
    let mut options = Options::new(1);
    (options.threads, options.read_size) = (threads, 0);
    options
}
