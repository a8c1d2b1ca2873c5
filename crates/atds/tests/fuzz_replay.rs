//! Checks the properties of the fuzz targets on their seeds and on inputs that fuzzing found. It
//! needs no libFuzzer, so it runs with all other tests.
#![allow(clippy::unwrap_used)]

#[allow(
    dead_code,
    unreachable_pub,
    reason = "the fuzz targets, another package, use all of it"
)]
#[path = "../../../fuzz/src/properties/mod.rs"]
mod properties;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use properties::{ALL, Property};

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// The files of a folder; none if the folder is missing.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn names(folder: &str) -> BTreeSet<String> {
    let files = files(&fuzz().join(folder)).into_iter();
    let names = files.map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned());
    names.collect()
}

/// Checks a property on all files kept for it.
fn replay(property: Property) {
    // Leaves out inputs that fuzzing added on this machine, whose names are SHA-1 hashes.
    let mut seeds = files(&fuzz().join("corpus").join(property.name));
    seeds.retain(|file| file.file_name().unwrap().len() != 40);
    assert!(!seeds.is_empty(), "a target starts from seeds");
    let found = files(&fuzz().join("artifacts").join(property.name));
    for file in seeds.into_iter().chain(found) {
        // The test shows this if the property does not hold.
        println!("{}", file.display());
        (property.check)(&fs::read(&file).unwrap());
    }
}

macro_rules! replay {
    ($($test:ident: $property:ident,)*) => {
        $(
            #[test]
            fn $test() {
                replay(properties::$property);
            }
        )*

        #[test]
        fn every_property_is_replayed_and_has_a_target() {
            let replayed = [$(properties::$property.name),*];
            assert_eq!(replayed, ALL.map(|property| property.name));
            let replayed: BTreeSet<String> = replayed.map(str::to_owned).into();
            assert_eq!(names("fuzz_targets"), replayed);
            assert_eq!(names("corpus"), replayed);
            assert!(names("artifacts").is_subset(&replayed));
        }
    };
}

replay! {
    header: HEADER,
    framer_chunked: FRAMER_CHUNKED,
    index_vs_framer: INDEX_VS_FRAMER,
    decompress_deflate: DECOMPRESS_DEFLATE,
    decompress_snappy: DECOMPRESS_SNAPPY,
    decompress_zstandard: DECOMPRESS_ZSTANDARD,
    decompress_bzip2: DECOMPRESS_BZIP2,
    decompress_xz: DECOMPRESS_XZ,
    inflate_twin: INFLATE_TWIN,
    schema: SCHEMA,
    expression: EXPRESSION,
    filter: FILTER,
    resolver: RESOLVER,
    plan_vs_reference: PLAN_VS_REFERENCE,
    varints: VARINTS,
    pipeline: PIPELINE,
    pipeline_damaged: PIPELINE_DAMAGED,
    btable_read: BTABLE_READ,
    btable_write: BTABLE_WRITE,
    tfrecord_framing: TFRECORD_FRAMING,
    example_twin: EXAMPLE_TWIN,
}
