//! TFRecord files and the messages in them.

/// What a framer and a list say of a file: shared with the tests of atds-tfrecord.
#[path = "../../../crates/tfrecord/tests/common/framing.rs"]
mod model;
/// Messages of any form: shared likewise.
#[path = "../../../crates/tfrecord/tests/common/odd.rs"]
mod odd;
/// The slow decoder: shared likewise.
#[path = "../../../crates/tfrecord/tests/common/twin.rs"]
mod twin;

use atds_features::Feature;
use atds_tfrecord::{FramerOptions, Inference, Writer};

use super::input::{Input, piece_lens};
use odd::Entropy;

/// See [`TFRECORD_FRAMING`](super::TFRECORD_FRAMING).
pub(super) fn framing(data: &[u8]) {
    let mut options = FramerOptions::default();
    options.block_bytes = 100;
    options.limits.max_record_bytes = 1 << 20;
    for file in [data.to_vec(), odd_file(data)] {
        for resync in [false, true] {
            let pieces = |lens: &[usize]| model::pieces(&file, lens);
            let whole = model::tell(&options, pieces(&[file.len().max(1)]), resync);
            for lens in [vec![1], piece_lens(&file)] {
                assert_eq!(model::tell(&options, pieces(&lens), resync), whole);
            }
            for more in [0, 40] {
                assert_eq!(model::list(&options, &file, more, resync), whole);
            }
            if resync {
                let framed: u64 = whole.blocks.iter().map(|block| block[2]).sum();
                let told = framed + whole.skipped;
                assert_eq!(told, file.len() as u64, "every byte is told of once");
            }
        }
    }
}

/// Records, and bytes that may look like parts of records.
fn odd_file(data: &[u8]) -> Vec<u8> {
    let mut input = Input::new(data);
    let mut file = Vec::new();
    while !input.is_empty() {
        let len = usize::from(input.byte() % 64);
        match input.byte() % 4 {
            0 => file.extend_from_slice(input.take(len)),
            _ => {
                let mut writer = Writer::new(&mut file);
                writer.write(input.take(len)).expect("memory takes bytes");
            }
        }
    }
    file
}

/// See [`EXAMPLE_TWIN`](super::EXAMPLE_TWIN).
pub(super) fn examples(data: &[u8]) {
    let entropy = &mut Entropy(data);
    let records = [odd::example(entropy), odd::example(entropy)];
    let sequences = [odd::sequence_example(entropy)];
    for (features, made) in [
        (twin::example_features(), &records[..]),
        (twin::sequence_features(), &sequences[..]),
    ] {
        for records in [made, &[data.to_vec()]] {
            agree(&features, records);
            // One by one, so that an error of one feature does not hide the others.
            for feature in features.iter().skip(1) {
                agree(&[features[0].clone(), feature.clone()], records);
            }
            infer(records);
        }
    }
}

/// What `prost` decodes, the plan decodes alike.
fn agree(features: &[Feature], records: &[Vec<u8>]) {
    let decoded = twin::decode(features, records);
    match (decoded, twin::twin(features, records)) {
        (_, None) => {}
        (Ok(found), Some(Ok(expected))) => assert_eq!(found, expected),
        (Err(error), Some(Err(record))) => assert_eq!(error.record, record as u64, "{error}"),
        (Ok(_), Some(Err(record))) => panic!("record {record} is wrong"),
        (Err(error), Some(Ok(_))) => panic!("{error}"),
    }
}

/// Features that are inferred from records read them.
fn infer(records: &[Vec<u8>]) {
    let mut inference = Inference::default();
    if records.iter().all(|record| inference.add(record).is_ok()) {
        let features = inference.features().features;
        if !features.is_empty() {
            match twin::decode(&features, records) {
                Ok(rows) => assert_eq!(rows.len(), features.len()),
                Err(error) => panic!("{error}, for {features:?}"),
            }
        }
    }
}
