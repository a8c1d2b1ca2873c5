//! Going on with other ranks, workers and batch sizes: states of all ranks, merged.

use std::sync::Arc;

use atds::error::ErrorKind;
use atds::limits::MAX_LAYERS;
use atds::shares::{Uneven, World};
use atds::state::{State, StateMismatch, Unmergeable};
use atds::{Batches, Codec, Dataset, DatasetBuilder, OnError, Shuffle, Threads, Tolerate};
use proptest::prelude::*;

use crate::common::Folder;

const RECORDS: u64 = 123;

fn folder() -> Folder {
    Folder::of_rows(3, 40, 7, Codec::Deflate)
}

/// Readers of an epoch side by side.
#[derive(Clone, Copy, Debug)]
struct Layer {
    world: World,
    batch_size: usize,
    /// Number of steps, if the epoch has so many.
    steps: u64,
}

/// What a layer has read: the records, the states of all readers after the last step, and what is left.
struct Read {
    ids: Vec<i64>,
    states: Vec<State>,
    steps: Vec<u64>,
    /// Number of records of readers that are in none of their batches.
    left_out: u64,
    left: u64,
}

fn id_list(batch: &atds::Batch) -> Vec<i64> {
    batch.dense::<i64>("id").unwrap().to_vec()
}

/// Reads a layer as a loader does, which takes one batch of each worker by turns.
fn read(
    build: impl Fn(usize, usize) -> DatasetBuilder,
    layer: Layer,
    from: Option<&State>,
    threads: usize,
) -> Read {
    let dataset = build(layer.batch_size, threads).build().unwrap();
    let counts: Arc<[u64]> = dataset.file_records().unwrap();
    let World { ranks, workers, .. } = layer.world;
    let mut found = Read {
        ids: Vec::new(),
        states: Vec::new(),
        steps: Vec::new(),
        left_out: 0,
        left: 0,
    };
    for rank in 0..ranks {
        let mut readers = Vec::new();
        for worker in 0..workers {
            let part = dataset.share(layer.world, rank, worker, counts.clone());
            let mut part = part.unwrap();
            if let Some(from) = from {
                part = part.rest(from).unwrap();
            }
            found.left = part.records_left().unwrap_or(RECORDS);
            let is_dropped = dataset_drops(&build);
            let share = layer
                .world
                .share(found.left, layer.batch_size as u64, is_dropped, rank)
                .worker(worker);
            let batches: Batches = match from {
                Some(from) => part.resume(from).unwrap(),
                None => part.epoch(0),
            };
            let records = share.records.end - share.records.start;
            found.left_out += records.saturating_sub(share.taken * layer.batch_size as u64);
            readers.push((batches, share, 0_u64));
        }
        let (mut step, mut turn) = (0, 0);
        while step < layer.steps {
            let is_over = |(_, share, given): &(Batches, atds::shares::WorkerShare, u64)| {
                *given == share.taken + share.padding
            };
            if readers.iter().all(is_over) {
                break;
            }
            let reader = &mut readers[turn];
            if !is_over(reader) {
                let (batches, share, given) = reader;
                if *given < share.taken {
                    found.ids.extend(id_list(&batches.next().unwrap().unwrap()));
                }
                *given += 1;
                step += 1;
            }
            turn = (turn + 1) % readers.len();
        }
        found.steps.push(step);
        for (batches, _, given) in &readers {
            // Padding counts as given out, and the caller adds it.
            let mut state = batches.state().unwrap();
            if state.epoch == 0 {
                state.batches = *given;
            }
            let text = serde_json::to_string(&state).unwrap();
            assert!(text.len() < 1000, "{} bytes: {text}", text.len());
            found.states.push(serde_json::from_str(&text).unwrap());
        }
    }
    found
}

fn dataset_drops(build: &impl Fn(usize, usize) -> DatasetBuilder) -> bool {
    let state = build(1, 1).build().unwrap().iter().state().unwrap();
    let state = serde_json::to_value(&state).unwrap();
    state["fingerprint"]["options"]["drop_remainder"] == true
}

fn any_layer() -> impl Strategy<Value = Layer> {
    let uneven = prop::sample::select(vec![Uneven::Drop, Uneven::Pad, Uneven::Keep]);
    (1..5_u64, 1..4_u64, uneven, 1..12_usize, 0..5_u64).prop_map(
        |(ranks, workers, uneven, batch_size, steps)| Layer {
            world: World {
                ranks,
                workers,
                uneven,
            },
            batch_size,
            steps,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Whoever goes on, each record is read once, or is one that the last readers leave out.
    #[test]
    fn each_record_is_read_once(
        mut layers in prop::collection::vec(any_layer(), 1..6),
        buffer in prop::sample::select(vec![0, 1, 15, 60]),
        (files, blocks, runs, drop_remainder) in any::<(bool, bool, bool, bool)>(),
        threads in 1..4_usize,
    ) {
        let folder = folder();
        let build = |batch_size: usize, threads: usize| {
            folder
                .rows(batch_size)
                .shuffle_buffer_size(buffer)
                .shuffle_files(files && !runs)
                .shuffle_blocks(blocks && !runs)
                .shuffle(if runs { Shuffle::Blocks } else { Shuffle::None })
                .drop_remainder(drop_remainder)
                .seed(7)
                .epochs(2)
                .threads(Threads::Fixed(threads))
        };
        layers.last_mut().unwrap().steps = u64::MAX;
        let (mut state, mut all): (Option<State>, Vec<i64>) = (None, Vec::new());
        let (mut left_out, mut is_over) = (0, false);
        for layer in &layers {
            let found = read(build, *layer, state.as_ref(), threads);
            let again = read(build, *layer, state.as_ref(), 4 - threads);
            prop_assert_eq!(&found.ids, &again.ids, "other threads, other records: {:?}", layer);
            let unread = if is_over { 0 } else { RECORDS - all.len() as u64 };
            prop_assert_eq!(found.left, unread);
            if layer.world.uneven != Uneven::Keep {
                let first = found.steps[0];
                prop_assert!(found.steps.iter().all(|&steps| steps == first));
            }
            all.extend(found.ids);
            let merged = State::merge(found.states.iter().rev()).unwrap();
            if !is_over {
                left_out = found.left_out;
            }
            // Nothing is left after the last step of an epoch.
            let world = layer.world;
            let most = found.steps.iter().max().unwrap();
            let steps = (0..world.ranks).map(|rank| {
                world.share(found.left, layer.batch_size as u64, drop_remainder, rank).batches
            });
            is_over |= *most > 0 && *most == steps.max().unwrap();
            state = Some(merged);
        }
        let read = all.len() as u64;
        all.sort_unstable();
        all.dedup();
        prop_assert_eq!(all.len() as u64, read, "a record was read twice");
        prop_assert_eq!(read + left_out, RECORDS);

        // The next epoch is whole, whoever reads it.
        let dataset = build(10, threads).drop_remainder(false).build().unwrap();
        let next: usize = dataset.epoch(1).map(|batch| batch.unwrap().rows()).sum();
        prop_assert_eq!(next as u64, RECORDS);
    }
}

fn shuffled(folder: &Folder, batch_size: usize) -> Dataset {
    let builder = folder.rows(batch_size).shuffle_buffer_size(30).seed(5);
    builder
        .shuffle_files(true)
        .shuffle_blocks(true)
        .epochs(3)
        .build()
        .unwrap()
}

/// Takes `steps` batches of each of `ranks` shards, from a state or the start of an epoch.
fn steps(
    dataset: &Dataset,
    ranks: u64,
    from: Option<&State>,
    steps: usize,
) -> (Vec<i64>, Vec<State>) {
    let (mut ids, mut states) = (Vec::new(), Vec::new());
    for rank in 0..ranks {
        let shard = dataset.shard(rank, ranks).unwrap();
        let mut batches = match from {
            Some(state) => shard.resume(state).unwrap(),
            None => shard.iter(),
        };
        for batch in batches.by_ref().take(steps) {
            ids.extend(id_list(&batch.unwrap()));
        }
        states.push(batches.state().unwrap());
    }
    (ids, states)
}

#[test]
fn later_epochs_are_as_without_layers() {
    let folder = folder();
    let dataset = shuffled(&folder, 8);
    let (first, states) = steps(&dataset, 4, None, 2);
    let merged = State::merge(&states).unwrap();
    let dataset = shuffled(&folder, 5);
    let mut rest = Vec::new();
    for rank in 0..3 {
        let shard = dataset.shard(rank, 3).unwrap();
        let found: Vec<Vec<i64>> = shard
            .resume(&merged)
            .unwrap()
            .map(|batch| id_list(&batch.unwrap()))
            .collect();
        let later: Vec<Vec<i64>> = shard
            .epochs(1..3)
            .map(|batch| id_list(&batch.unwrap()))
            .collect();
        let (own, after) = found.split_at(found.len() - later.len());
        assert_eq!(after, later, "rank {rank}");
        rest.extend(own.concat());
    }
    let mut all = [first, rest].concat();
    all.sort_unstable();
    assert_eq!(all, (0..RECORDS as i64).collect::<Vec<_>>());
}

/// A state of a reader that has gone on goes on there: it replays all layers.
#[test]
fn readers_of_what_is_left_go_on_where_they_were() {
    let folder = folder();
    let (_, states) = steps(&shuffled(&folder, 8), 2, None, 3);
    let merged = State::merge(&states).unwrap();
    let dataset = shuffled(&folder, 6);
    for rank in 0..3 {
        let shard = dataset.shard(rank, 3).unwrap();
        let mut batches = shard.resume(&merged).unwrap();
        let (mut found, mut states) = (Vec::new(), vec![batches.state().unwrap()]);
        while let Some(batch) = batches.next() {
            found.push(id_list(&batch.unwrap()));
            states.push(batches.state().unwrap());
        }
        for (given, state) in states.iter().enumerate() {
            let text = serde_json::to_string(state).unwrap();
            let state: State = serde_json::from_str(&text).unwrap();
            let shard = shuffled(&folder, 6).shard(rank, 3).unwrap();
            let rest: Vec<_> = shard
                .resume(&state)
                .unwrap()
                .map(|batch| id_list(&batch.unwrap()))
                .collect();
            assert_eq!(
                rest,
                found[given.min(found.len())..],
                "rank {rank} after {given} batches"
            );
        }
    }
}

fn unmergeable(states: &[State]) -> (Unmergeable, String) {
    let error = State::merge(states).unwrap_err();
    let text = error.to_string();
    match error.kind {
        ErrorKind::Merge(reason) => (reason, text),
        other => panic!("{other}"),
    }
}

#[test]
fn states_that_do_not_fit_together_are_refused() {
    let folder = folder();
    let dataset = shuffled(&folder, 8);
    let (_, after_two) = steps(&dataset, 3, None, 2);
    let (_, after_three) = steps(&dataset, 3, None, 3);
    assert_eq!(unmergeable(&[]).0, Unmergeable::Nothing);

    let mixed = [
        after_two[0].clone(),
        after_three[1].clone(),
        after_two[2].clone(),
    ];
    let (reason, text) = unmergeable(&mixed);
    assert_eq!(
        reason,
        Unmergeable::Steps {
            one: (1, 3),
            other: (0, 2)
        }
    );
    assert!(text.contains("rank 1 has given out 3 batches"), "{text}");

    let (reason, text) = unmergeable(&after_two[..2]);
    assert!(
        matches!(reason, Unmergeable::Missing { rank: 2, .. }),
        "{text}"
    );
    let twice = [&after_two[..], &after_two[1..2]].concat();
    assert_eq!(
        unmergeable(&twice).0,
        Unmergeable::Twice { rank: 1, worker: 0 }
    );

    let (_, of_two) = steps(&dataset, 2, None, 2);
    assert_eq!(
        unmergeable(&[&after_two[..], &of_two].concat()).0,
        Unmergeable::Worlds
    );
    let merged = State::merge(&after_two).unwrap();
    assert_eq!(
        unmergeable(&[after_two[0].clone(), merged.clone()]).0,
        Unmergeable::Merged
    );
    assert_eq!(State::merge([&merged, &merged]).unwrap(), merged);

    let mut later = after_two.clone();
    later[1].epoch = 2;
    let (reason, text) = unmergeable(&later);
    assert!(matches!(reason, Unmergeable::Epochs { .. }), "{text}");

    let other = folder.rows(8).shuffle_buffer_size(30).seed(6);
    let other = other
        .shuffle_files(true)
        .shuffle_blocks(true)
        .build()
        .unwrap();
    let (_, other) = steps(&other, 3, None, 2);
    let (reason, text) =
        unmergeable(&[after_two[0].clone(), other[1].clone(), after_two[2].clone()]);
    assert!(
        matches!(reason, Unmergeable::Option { name: "seed", .. }),
        "{text}"
    );

    let slice = dataset
        .slice(0..50, dataset.file_records().unwrap())
        .unwrap();
    let (reason, text) = unmergeable(&[slice.iter().state().unwrap()]);
    assert_eq!(reason, Unmergeable::Slice, "{text}");
    let error = slice.resume(&merged).unwrap_err();
    assert!(
        matches!(error.kind, ErrorKind::State(StateMismatch::Slice)),
        "{error}"
    );

    // One world is not another before its states are merged.
    let error = dataset
        .shard(0, 2)
        .unwrap()
        .resume(&after_two[0])
        .unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("the number of ranks was 3") && text.contains("merge the states"),
        "{text}"
    );
    let error = shuffled(&folder, 9)
        .shard(0, 3)
        .unwrap()
        .resume(&after_two[0])
        .unwrap_err();
    assert!(error.to_string().contains("`batch_size` was 8"), "{error}");
    assert!(error.to_string().contains("merge the states"), "{error}");
}

#[test]
fn an_epoch_has_so_many_layers() {
    let folder = folder();
    let (mut state, mut all): (Option<State>, Vec<i64>) = (None, Vec::new());
    for layer in 0..MAX_LAYERS {
        let dataset = shuffled(&folder, 1 + layer % 3);
        let (ids, states) = steps(&dataset, 1 + layer as u64 % 3, state.as_ref(), 1);
        all.extend(ids);
        let merged = State::merge(&states).unwrap();
        let text = serde_json::to_string(&merged).unwrap();
        assert!(text.len() < 1000, "{} bytes: {text}", text.len());
        state = Some(serde_json::from_str(&text).unwrap());
    }
    let (ids, states) = steps(&shuffled(&folder, 4), 2, state.as_ref(), 1);
    all.extend(ids);
    let (reason, text) = unmergeable(&states);
    assert_eq!(reason, Unmergeable::Layers, "{text}");
    // They go on to the end as they are.
    for (rank, state) in (0..).zip(&states) {
        let shard = shuffled(&folder, 4).shard(rank, 2).unwrap();
        let rest = shard.rest(state).unwrap();
        let rest = rest.epochs_after(state.batches, 0..1);
        all.extend(rest.flat_map(|batch| id_list(&batch.unwrap())));
    }
    all.sort_unstable();
    assert_eq!(all, (0..RECORDS as i64).collect::<Vec<_>>());

    let mut value = serde_json::to_value(state.unwrap()).unwrap();
    let layers = value["layers"].as_str().unwrap().to_owned();
    for (layers, said) in [
        (format!("{layers}BBBBA"), "more than 16 layers"),
        ("BBBA".to_owned(), "no layers"),
        ("ABBBA".to_owned(), "no layers"),
        ("BBABA".to_owned(), "no layers"),
        ("BBBBD".to_owned(), "no layers"),
        // 65,537 ranks.
        ("dsyRBBBA".to_owned(), "no layers"),
        ("BBBBAa".to_owned(), "no layers"),
        ("BBB1A".to_owned(), "no layers"),
        ("zzzzzzzzzzzzzzzBBBA".to_owned(), "no layers"),
        ("70000,1,1,1,drop".to_owned(), "no layers"),
        ("a,1,1,1,drop".to_owned(), "no layers"),
        ("1,1,1,1,d".to_owned(), "no layers"),
        ("1,1,1,1,drop,".to_owned(), "no layers"),
    ] {
        value["layers"] = layers.into();
        let error = serde_json::from_value::<State>(value.clone()).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
    }
    value["layers"] = "BBBeUA".into();
    let state: State = serde_json::from_value(value).unwrap();
    let error = shuffled(&folder, 4).resume(&state).unwrap_err();
    assert!(
        error.to_string().contains("fewer than the 124 batches"),
        "{error}"
    );
}

/// Also where everything in it is as long as it gets: each of 16 layers has another number of ranks and of
/// workers, another batch size and another `uneven`, and reads its part of ten million million records.
#[test]
fn the_longest_state_is_small() {
    let folder = folder();
    let builder = Dataset::builder(folder.path(), 8).shuffle_buffer_size(10_000_000);
    let builder = builder.shuffle(Shuffle::Blocks).seed(u64::MAX);
    let builder = builder.drop_remainder(true).on_error(OnError::SkipBlock);
    let builder = builder.tolerate(Tolerate::everything());
    let state = builder.build().unwrap().iter().state().unwrap();
    let mut value = serde_json::to_value(state).unwrap();
    let layers = (0..16_u64).map(|layer| {
        let [ranks, workers] = [4096 - layer, 16 - layer % 2];
        let batch_size = 1_048_576 - layer;
        let step = 10_000_000_000_000 / ranks / batch_size - layer;
        let uneven = ["drop", "pad", "keep"][layer as usize % 3];
        format!("{ranks},{workers},{batch_size},{step},{uneven}")
    });
    value["layers"] = layers.collect::<Vec<_>>().join(";").into();
    let options = &mut value["fingerprint"]["options"];
    options["batch_size"] = 1_048_576.into();
    value["fingerprint"]["files"]["count"] = 1_000_000.into();
    (value["epoch"], value["until"]) = (99_999.into(), 100_000.into());
    value["batches"] = 9_999_999_999_u64.into();
    value["skipped"] =
        serde_json::json!({"records": 9_999_999_999_u64, "bytes": 9_999_999_999_999_u64});
    value["world"] = serde_json::json!({
        "rank": 4095, "worker": 15, "ranks": 4096, "workers": 16, "uneven": "drop",
        "records": [9_999_999_999_999_u64, 10_000_000_000_000_u64],
    });
    let state: State = serde_json::from_value(value).unwrap();
    let text = serde_json::to_string(&state).unwrap();
    assert!(text.len() < 1_024, "{} bytes: {text}", text.len());
    assert_eq!(serde_json::from_str::<State>(&text).unwrap(), state);
}

#[test]
fn layers_as_text() {
    let state = shuffled(&folder(), 8).iter().state().unwrap();
    let mut value = serde_json::to_value(state).unwrap();
    // Layers that are alike are kept apart.
    value["layers"] = "CBIbJACBIbJADBIbJADBIbKA".into();
    let state: State = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(serde_json::to_value(&state).unwrap(), value);
    // As version 2 has them, whether or not what is the same is left out.
    value["version"] = 2.into();
    for layers in [
        "2,1,8,35,drop;2,1,8,35,drop;3,1,8,35,drop;3,1,8,36,drop",
        "2,1,8,35,drop;,;3;,,,36",
    ] {
        value["layers"] = layers.into();
        assert_eq!(
            serde_json::from_value::<State>(value.clone()).unwrap(),
            state
        );
    }
}
