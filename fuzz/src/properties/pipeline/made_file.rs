//! Valid files that are then damaged.

use avro_block::{Codec, SyncMarker, Writer, WriterOptions};
use avro_decode::reference;

use crate::properties::input::{Input, damage};
use crate::properties::plan::made::{Case, case};

/// A file with the records of a case, and the case. Some blocks and bytes of the file are damaged.
pub(super) fn damaged(input: &mut Input<'_>) -> (Vec<u8>, Case) {
    let [codec, per_block, copies, damaged_block] = input.array();
    let mut damages = Input::new(input.take(32));
    let case = case(input.rest().to_vec(), None);

    let copies = usize::from(copies % 8);
    let records: Vec<&[u8]> = std::iter::repeat_n(encoded(&case), copies)
        .flatten()
        .collect();
    let mut options = WriterOptions::with_codec(Codec::ALL[usize::from(codec) % Codec::ALL.len()]);
    options.sync = Some(SyncMarker([7; 16]));
    let mut writer = Writer::new(Vec::new(), &case.schema.to_string(), options)
        .expect("the options are good ones");
    for (i, block) in records.chunks(1 + usize::from(per_block % 32)).enumerate() {
        let (mut count, mut payload) = (block.len() as u64, block.concat());
        // This damages the decompressed data, since checksums would find other damage.
        if i == usize::from(damaged_block) {
            count += u64::from(damages.byte() % 3);
            damage(&mut payload, &mut damages);
        }
        let written = writer.write_block(count, &payload);
        written.expect("a block can be written to memory");
    }
    let mut file = writer.finish().expect("a file can be written to memory");
    damage(&mut file, &mut damages);
    (file, case)
}

/// The bytes of each record.
fn encoded(case: &Case) -> Vec<&[u8]> {
    let mut end = 0;
    let bytes = case.records.iter().map(|_| {
        let start = end;
        reference::decode(&case.schema, case.schema.root(), &case.data, &mut end)
            .expect("the records were made to be good");
        &case.data[start..end]
    });
    bytes.collect()
}
