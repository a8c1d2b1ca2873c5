//! How far runs on many threads are from their ideal: the schedule of the real
//! scheduler, on simulated threads.
//!
//! ```sh
//! cargo run --release -p atds-sched --example simulate [INFLATE_NS DECODE_NS]
//! ```
//!
//! The two numbers are what a record costs, as `atds bench` prints them.

use atds_sched::{BlockWork, Machine, Observed, RunReport, Scheduler, Threads, simulate};

const THREADS: [usize; 4] = [4, 16, 64, 128];
const BATCHES: [u64; 3] = [1_024, 8_192, 65_536];
/// Records of a block of 16,000 bytes.
const BLOCK: u64 = 8;

fn main() {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse());
    let mut cost = |default| numbers.next().and_then(Result::ok).unwrap_or(default);
    let (inflate_ns, decode_ns) = (cost(4_200), cost(720));
    // Calling a thread that sleeps, on the virtual machine of the records.
    let waking = Machine {
        call_ns: 2_000,
        start_ns: 10_000,
        task_ns: 1_700,
    };
    for (codec, inflate_ns) in [("null", 0), ("deflate", inflate_ns)] {
        for (threads_are, machine) in [("awake", Machine::default()), ("asleep", waking)] {
            println!("\n{codec}, threads {threads_are}: makespan / ideal\n");
            println!("| blocks | batch | 4 | 16 | 64 | 128 |\n|---|---|---|---|---|---|");
            for shape in SHAPES {
                for batch in BATCHES {
                    let blocks = (shape.blocks)(batch);
                    let ratios = THREADS.map(|threads| {
                        let costs = [inflate_ns, decode_ns];
                        format!("{:.3}", ratio(&blocks, costs, threads, machine))
                    });
                    println!("| {} | {batch} | {} |", shape.name, ratios.join(" | "));
                }
            }
        }
    }
}

/// Records of each block of a batch.
struct Shape {
    name: &'static str,
    blocks: fn(u64) -> Vec<u64>,
}

const SHAPES: [Shape; 4] = [
    Shape {
        name: "even",
        blocks: |batch| vec![BLOCK; (batch / BLOCK) as usize],
    },
    Shape {
        name: "one in 20 is 100 times the others",
        blocks: |batch| {
            let blocks = (0..).map(|i| if i % 20 == 7 { 100 * BLOCK } else { BLOCK });
            let mut left = batch;
            blocks.map_while(|block| take(&mut left, block)).collect()
        },
    },
    Shape {
        name: "one is half of all",
        blocks: |batch| {
            let mut blocks = vec![BLOCK; (batch / 2 / BLOCK) as usize];
            blocks.insert(blocks.len() / 3, batch / 2);
            blocks
        },
    },
    Shape {
        name: "Zipf",
        blocks: |batch| {
            let count = batch / BLOCK;
            let harmonic: f64 = (1..=count).map(|rank| 1.0 / rank as f64).sum();
            // Ranks in an order without a pattern.
            let rank = |i: u64| i * 7_919 % count + 1;
            let size = |rank: u64| (batch as f64 / harmonic / rank as f64).ceil() as u64;
            (0..count).map(|i| size(rank(i))).collect()
        },
    },
];

fn take(left: &mut u64, records: u64) -> Option<u64> {
    let taken = records.min(*left);
    *left -= taken;
    (taken > 0).then_some(taken)
}

/// The makespan over the ideal: an equal share for each thread, or the dearest
/// block where that is more.
fn ratio(blocks: &[u64], costs: [u64; 2], threads: usize, machine: Machine) -> f64 {
    let [inflate_ns, decode_ns] = costs;
    let records: u64 = blocks.iter().sum();
    let mut scheduler = Scheduler::new(Threads::Fixed(threads));
    let work: Vec<_> = blocks
        .iter()
        .map(|&records| BlockWork {
            records_to_inflate: if inflate_ns > 0 { records } else { 0 },
            records_to_decode: records,
        })
        .collect();
    scheduler.plan(&work);
    let observed = Observed {
        records_inflated: work.iter().map(|work| work.records_to_inflate).sum(),
        inflate_ns: inflate_ns * records,
        records_decoded: records,
        decode_ns: decode_ns * records,
    };
    scheduler.record(&RunReport::default(), &observed);
    let schedule = scheduler.plan(&work);
    let each = inflate_ns + decode_ns;
    let chunks: Vec<u64> = schedule
        .chunks
        .iter()
        .map(|chunk| each * blocks[chunk.clone()].iter().sum::<u64>())
        .collect();
    let makespan = simulate(schedule.threads, &schedule.owners, &chunks, machine);
    let share = (each * records) as f64 / threads as f64;
    let dearest = blocks.iter().max().map_or(0, |records| each * records);
    makespan as f64 / share.max(dearest as f64)
}
