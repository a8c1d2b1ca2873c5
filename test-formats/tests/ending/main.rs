//! Iterations that end in the middle of what they do: dropped, or by a panic. No thread hangs, and the
//! system lists none of theirs afterwards.
//!
//! These tests are a binary of their own, since they count the threads of the process by name.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod hooked;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use atds_format::ByteSource;
use atds_pipeline::{Batches, Options, Pipeline};
use atds_test_formats::{InMemory, Late, LateOptions, Row, TestFormat, ToyFiles};

use hooked::{Call, Hook, HookedFiles};

/// The time in which an iteration must end, also on a machine with other work.
const PROMPTLY: Duration = Duration::from_secs(5);

/// A wait after which a run hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// The time in which a thread is looked for that does something.
const LOOKED_FOR: Duration = Duration::from_secs(1);

const TOY: ToyFiles = ToyFiles { is_packed: true };

/// Each test holds this lock, so that it does not count threads of other tests.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Number of threads of iterations that the system lists, without those that are exiting (proc(5)):
/// `join` can return shortly before the system removes a thread.
fn pipeline_threads() -> usize {
    const PF_EXITING: u64 = 4;
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let is_ours = |stat: &str| {
        let (name, rest) = stat.rsplit_once(')').unwrap();
        let flags: u64 = rest.split_whitespace().nth(6).unwrap().parse().unwrap();
        name.contains("(atds-") && flags & PF_EXITING == 0
    };
    let stats = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("stat")).ok());
    stats.filter(|stat| is_ours(stat)).count()
}

/// Numbers that look random: SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (z ^ (z >> 31)) % n
    }

    fn one_of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize].clone()
    }
}

/// Two files of blocks of rows with lists.
fn sources(is_late: bool, seed: u64) -> Vec<Arc<dyn ByteSource>> {
    let row = |label| Row {
        label,
        numbers: vec![label; 40],
    };
    let block = |block: i64| (block * 20..block * 20 + 20).map(row).collect();
    let blocks: Vec<Vec<Row>> = (0..8).map(block).collect();
    let source = |name: &str| -> Arc<dyn ByteSource> {
        let bytes = TOY.write(&blocks);
        let late = LateOptions {
            seed,
            delay: Duration::from_micros(500),
            ..LateOptions::default()
        };
        match is_late {
            true => Arc::new(Late::new(name, bytes, late)),
            false => Arc::new(InMemory::new(name, bytes).as_blocking()),
        }
    };
    vec![source("one"), source("other")]
}

fn start(options: &Options, is_late: bool, hook: impl Fn(Call) + Send + Sync + 'static) -> Batches {
    let files = HookedFiles {
        sources: sources(is_late, options.seed),
        format: TOY.format(),
        hook: Hook(Arc::new(hook)),
    };
    // Epochs without end.
    Pipeline::new(TOY.spec(), Arc::new(files), options.clone()).iter(0..)
}

/// Any options, of which some make several batches an op, and others pieces of batches, or want memory.
fn any_options(random: &mut Random) -> Options {
    let mut options = Options::new(random.one_of(&[1, 7, 50, 300]));
    options.threads = random.one_of(&[16, 16, 16, 1, 2, 3]);
    options.shuffle_buffer_size = random.one_of(&[0, 0, 100, 500]);
    options.shuffle_blocks = random.below(4) == 0;
    options.prefetch = random.one_of(&[1, 2, 100]);
    options.read_size = random.one_of(&[64, 1_000, 1 << 20]);
    options.op_rows = random.one_of(&[None, Some(1), Some(100)]);
    options.piece_rows = random.one_of(&[None, Some(3), Some(40)]);
    options.memory_limit = random.one_of(&[4 << 30, 4 << 30, 1 << 20]);
    options.seed = random.below(1000);
    options.delays = Some(random.below(u64::MAX));
    options
}

/// Drops an iteration. Checks that it ends in time, and that no thread is left. Returns how long it took.
fn dropped(batches: Batches, of: &str) -> Duration {
    let start = Instant::now();
    drop(batches);
    let took = start.elapsed();
    assert!(took < PROMPTLY, "dropping took {took:?}: {of}");
    assert_eq!(pipeline_threads(), 0, "threads are left: {of}");
    took
}

#[test]
fn iterations_are_dropped_at_random_moments() {
    let _alone = alone();
    let mut longest = Duration::ZERO;
    for seed in 0..150 {
        let mut random = Random(seed);
        let options = any_options(&mut random);
        let mut batches = start(&options, random.below(4) == 0, |_| {});
        for _ in 0..random.below(6) {
            let taken = batches.next_within(PATIENCE);
            assert!(
                matches!(taken, Poll::Ready(Some(Ok(_)))),
                "{taken:?}, {options:?}"
            );
        }
        thread::sleep(Duration::from_micros(random.below(3_000)));
        longest = longest.max(dropped(batches, &format!("{options:?}")));
    }
    println!("dropping took {longest:?} at most");
}

/// Sets options.
type With = fn(&mut Options);

/// What threads do or wait for, as `describe_waits` says, and options with which they do.
const MOMENTS: [(&str, With); 8] = [
    ("reads offset", |options| options.read_size = 64),
    ("waits for bytes from", |options| options.read_size = 64),
    ("prepares ", |options| options.shuffle_buffer_size = 500),
    ("waits until another has prepared", |options| {
        (options.batch_size, options.op_rows) = (1, Some(1));
    }),
    ("makes batch", |options| options.piece_rows = None),
    ("batches 20,", |options| {
        (options.batch_size, options.op_rows) = (5, Some(100));
    }),
    ("makes piece", |options| {
        (options.batch_size, options.piece_rows) = (300, Some(10));
    }),
    ("lays columns end", |options| {
        (options.batch_size, options.piece_rows) = (300, Some(10));
    }),
];

#[test]
fn iterations_are_dropped_while_a_thread_does_each_thing() {
    let _alone = alone();
    for (moment, with) in MOMENTS {
        let (mut longest, mut met) = (Duration::ZERO, 0);
        for seed in 0..4 {
            let mut options = any_options(&mut Random(seed));
            (options.threads, options.memory_limit) = (16, 4 << 30);
            with(&mut options);
            let is_late = moment == "waits for bytes from";
            // What is short by itself takes longer.
            let mut batches = start(&options, is_late, |call| {
                if matches!(call, Call::Read | Call::Prepare | Call::Decode) {
                    thread::sleep(Duration::from_micros(200));
                }
            });
            let started = Instant::now();
            let mut is_met = false;
            // Without luck, it is dropped in the middle of something else.
            while !is_met && started.elapsed() < LOOKED_FOR {
                let taken = batches.next_within(Duration::ZERO);
                assert!(
                    !matches!(taken, Poll::Ready(Some(Err(_)) | None)),
                    "{taken:?}"
                );
                is_met = batches.describe_waits().contains(moment);
            }
            met += u32::from(is_met);
            longest = longest.max(dropped(batches, &format!("{moment}, {options:?}")));
        }
        assert!(met > 0, "'{moment}' was never met");
        println!("'{moment}': met {met} times, dropping took {longest:?} at most");
    }
}

/// A panic of a format or a source, in the middle of any op, reaches the consumer, and ends the others.
#[test]
fn a_panic_ends_all_threads() {
    let _alone = alone();
    let calls = [
        (Call::Open, 3),
        (Call::Frame, 40),
        (Call::Read, 20),
        (Call::Prepare, 10),
        (Call::Seek, 10),
        (Call::Decode, 30),
        (Call::Decoded, 30),
    ];
    for (call, most) in calls {
        for seed in 0..12 {
            let mut random = Random(seed);
            let mut options = any_options(&mut random);
            options.memory_limit = 4 << 30;
            options.read_size = options.read_size.min(1_000);
            if call == Call::Seek {
                // One worker alone knows where it goes on.
                (options.threads, options.shuffle_buffer_size) = (16, 100);
            }
            let (left, of) = (
                AtomicU64::new(random.below(most)),
                format!("{call:?}, {options:?}"),
            );
            let mut batches = start(&options, false, move |made| {
                if made == call && left.fetch_sub(1, Relaxed) == 0 {
                    resume_unwind(Box::new("the panic of a format"));
                }
            });
            let next = AssertUnwindSafe(|| {
                loop {
                    let taken = batches.next_within(PATIENCE);
                    assert!(matches!(taken, Poll::Ready(Some(Ok(_)))), "{taken:?}, {of}");
                }
            });
            let panic = catch_unwind(next).unwrap_err();
            assert_eq!(panic.downcast_ref(), Some(&"the panic of a format"), "{of}");
            assert!(batches.next().is_none(), "{of}");
            dropped(batches, &of);
        }
    }
}

/// Iterations side by side, some of which end early: no thread is left of 100 of them.
#[test]
fn hundreds_of_iterations_leave_no_thread() {
    let _alone = alone();
    for seed in 0..25 {
        let mut random = Random(seed);
        let mut started: Vec<_> = (0..4)
            .map(|_| start(&any_options(&mut random), false, |_| {}))
            .collect();
        for batches in &mut started {
            let taken = batches.next_within(PATIENCE);
            assert!(matches!(taken, Poll::Ready(Some(Ok(_)))), "{taken:?}");
        }
        let ending = started
            .into_iter()
            .map(|batches| thread::spawn(|| drop(batches)));
        let ending: Vec<_> = ending.collect();
        ending.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(pipeline_threads(), 0);
    }
}
