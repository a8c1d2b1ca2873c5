//! The table of limits in `SECURITY.md` matches the constants.

use atds::limits as facade;
use avro_block::Limits;
use avro_decode::limits as decode;

const PAGE: &str = include_str!("../../../../SECURITY.md");

/// The source of the private limits of the codecs' memory.
const CODEC_LIMITS: &str = include_str!("../../../codec/src/limits.rs");

/// The value of a private constant, from the source.
fn private(name: &str) -> u64 {
    let after = |text: &'static str, pattern: &str| text.split_once(pattern).unwrap().1;
    let rest = after(after(CODEC_LIMITS, &format!("const {name}: ")), "= ");
    let value = rest.split(';').next().unwrap();
    match value.split_once(" << ") {
        Some((value, shift)) => value.parse::<u64>().unwrap() << shift.parse::<u32>().unwrap(),
        None => value.parse().unwrap(),
    }
}

fn binary(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB")];
    let (shift, unit) = units
        .into_iter()
        .find(|(shift, _)| bytes >> shift > 0)
        .unwrap();
    assert_eq!(bytes, bytes >> shift << shift);
    format!("{} {unit}", bytes >> shift)
}

fn grouped(n: u64) -> String {
    match n {
        0..1_000 => n.to_string(),
        n => format!("{},{:03}", n / 1_000, n % 1_000),
    }
}

fn power(n: u64) -> String {
    assert!(n.is_power_of_two());
    format!("2^{}", n.ilog2())
}

#[test]
fn the_table_of_limits_is_right() {
    let rows = PAGE
        .lines()
        .skip_while(|line| !line.starts_with("| limit | value |"));
    let rows = rows.skip(2).take_while(|line| line.starts_with('|'));
    let rows = rows.map(|line| {
        let mut cells = line.split('|').map(str::trim).skip(1);
        (cells.next().unwrap(), cells.next().unwrap().to_owned())
    });
    let of = Limits::default();
    let block_bytes = of.max_block_bytes;
    assert_eq!(block_bytes, facade::MAX_BLOCK_BYTES as u64);
    let expected = [
        (
            "memory of blocks and batches",
            binary(facade::DEFAULT_MEMORY_LIMIT),
        ),
        (
            "payload of a block, compressed or decompressed",
            binary(block_bytes),
        ),
        (
            "values nested in one another",
            grouped(decode::MAX_DECODE_DEPTH as u64),
        ),
        ("header of a file", binary(of.max_header_bytes)),
        (
            "entries in the header's metadata",
            grouped(of.max_metadata_entries),
        ),
        ("records that a block declares", power(of.max_block_records)),
        ("text of a schema", binary(decode::MAX_SCHEMA_BYTES as u64)),
        (
            "types nested in one another in a schema",
            grouped(decode::MAX_SCHEMA_DEPTH as u64),
        ),
        (
            "full name in a schema",
            format!("{} bytes", grouped(decode::MAX_NAME_BYTES as u64)),
        ),
        (
            "items of no bytes in a block of an array, such as nulls",
            power(decode::MAX_ZERO_SIZE_ITEMS as u64),
        ),
        (
            "values and bytes that come from defaults in one record",
            power(decode::MAX_FILLED_PARTS as u64),
        ),
        (
            "decimal that becomes a float",
            format!("{} bytes", grouped(decode::MAX_DECIMAL_BYTES as u64)),
        ),
        (
            "path expression",
            format!(
                "{} bytes, {} steps",
                grouped(decode::MAX_PATH_BYTES as u64),
                decode::MAX_PATH_STEPS
            ),
        ),
        (
            "fields that features are inferred for",
            grouped(decode::MAX_INFERRED_FIELDS as u64),
        ),
        ("memory of the xz decoder", binary(private("XZ_MEMORY"))),
        (
            "window of zstandard",
            binary(1 << private("ZSTD_WINDOW_LOG")),
        ),
    ];
    assert_eq!(rows.collect::<Vec<_>>(), expected);
}
