//! Two threads beside one, and the gain of two threads that the machine allows.

use std::hint::black_box;
use std::thread;

use atds::{Codec, Dataset, Threads};
use atds_benches::handwritten::HandwrittenLoop;
use atds_generate::Preset;
use libdeflater::Decompressor;

use super::inflate::MAX_BLOCK_BYTES;
use super::{Comparison, of_each};
use crate::data::Files;
use crate::measure::Epoch;
use crate::pipeline::{BATCH_SIZE, epochs, pipeline};
use crate::row::Row;
use crate::{Lab, Result};

pub(super) const COMPARISON: Comparison = Comparison {
    name: "threads",
    about: "two threads, two pipelines of one, and two plain loops, beside one",
    measure,
};

fn measure(lab: &Lab) -> Result<Vec<Row>> {
    // Null is bound by memory.
    let codecs = [(Codec::Deflate, 1.85), (Codec::Null, 1.6)];
    of_each(codecs, |(codec, least)| of_codec(lab, codec, least))
}

fn of_codec(lab: &Lab, codec: Codec, least: f64) -> Result<Vec<Row>> {
    let files = lab.data.of(Preset::Ads, codec)?;
    let (halves, all) = (files.halves(), [files.clone()]);
    let with = |threads| epochs(pipeline(&files, Preset::Ads).threads(Threads::Fixed(threads)));
    let sides = [
        with(2)?,
        with(1)?,
        apart(&halves)?,
        bare(&halves, codec)?,
        bare(&all, codec)?,
    ];
    let what = format!("ads, {codec}");
    let bare = match codec {
        Codec::Null => "loop by hand",
        _ => "libdeflate alone",
    };
    lab.rows(sides, |[two, one, apart, bare_two, bare_one]| {
        let (two_bare, one) = (format!("two of {bare}"), ("one", one));
        vec![
            Row::speed(&what, ("two", two), one).at_least(least),
            Row::speed(&what, ("two pipelines of one", apart), one),
            Row::speed(&what, (&two_bare, bare_two), (bare, bare_one)),
        ]
    })
}

/// Independent pipelines of one thread each, at the same time.
fn apart(shares: &[Files]) -> Result<Epoch<'static>> {
    let datasets = shares.iter().map(|share| {
        let builder = Dataset::builder(&share.paths[..], BATCH_SIZE).mmap(true);
        let builder = builder.features(Preset::Ads.features());
        Ok(builder.threads(Threads::Fixed(1)).build()?)
    });
    let datasets: Vec<_> = datasets.collect::<Result<_>>()?;
    Ok(at_once(datasets, |dataset| {
        let mut batches = dataset.iter();
        batches.try_fold(0, |records, batch| Ok(records + batch?.rows() as u64))
    }))
}

/// A plain loop for each share, at the same time, without reader or consumer: libdeflate, or the loop by
/// hand for uncompressed files.
fn bare(shares: &[Files], codec: Codec) -> Result<Epoch<'static>> {
    if codec == Codec::Null {
        let by_hand = |share: &Files| (HandwrittenLoop::new(BATCH_SIZE), share.paths.clone());
        let loops = shares.iter().map(by_hand).collect();
        return Ok(at_once(loops, |(by_hand, paths)| {
            Ok(by_hand.epoch(paths, |batch| {
                black_box(batch);
            })?)
        }));
    }
    let inflaters = shares.iter().map(|share| {
        let out = vec![0; MAX_BLOCK_BYTES];
        Ok((Decompressor::new(), share.blocks()?, out))
    });
    let inflaters: Vec<_> = inflaters.collect::<Result<_>>()?;
    Ok(at_once(inflaters, |(library, blocks, out)| {
        blocks.iter().try_fold(0, |records, block| {
            library.deflate_decompress(&block.payload, out)?;
            Ok(records + block.count)
        })
    }))
}

/// Runs `epoch` for all shares at the same time, each on its own thread except the last.
fn at_once<T: Send + 'static>(
    mut shares: Vec<T>,
    epoch: fn(&mut T) -> Result<u64>,
) -> Epoch<'static> {
    Box::new(move || {
        let [others @ .., last] = &mut shares[..] else {
            return Ok(0);
        };
        thread::scope(|scope| {
            let start = |share| scope.spawn(move || epoch(share));
            let others: Vec<_> = others.iter_mut().map(start).collect();
            let mut records = epoch(last)?;
            for other in others {
                records += other.join().map_err(|_| "a thread panicked")??;
            }
            Ok(records)
        })
    })
}
