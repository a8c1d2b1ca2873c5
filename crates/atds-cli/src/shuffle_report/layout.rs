//! Where records are: the files and blocks of a data set, by the numbers of records in file order.

use std::sync::Arc;

/// The files and blocks of a data set.
pub(super) struct Layout {
    /// The number of the first record of each file.
    files: Vec<u64>,
    /// The number of the first record of each block, and the number of all records.
    blocks: Vec<u64>,
}

impl Layout {
    /// Of files with these numbers of records in each block. Blocks without records are left out.
    pub(super) fn new(files: &[Arc<[u64]>]) -> Self {
        let mut next = 0_u64;
        let mut layout = Layout {
            files: Vec::new(),
            blocks: vec![0],
        };
        for blocks in files {
            layout.files.push(next);
            for &records in blocks.iter().filter(|&&records| records > 0) {
                next = next.saturating_add(records);
                layout.blocks.push(next);
            }
        }
        layout
    }

    /// Number of all records.
    pub(super) fn records(&self) -> u64 {
        self.blocks[self.blocks.len() - 1]
    }

    /// Number of blocks with records.
    pub(super) fn blocks(&self) -> u64 {
        self.blocks.len() as u64 - 1
    }

    /// Number of files.
    pub(super) fn files(&self) -> usize {
        self.files.len()
    }

    /// Number of records of each file.
    pub(super) fn file_lens(&self) -> impl Iterator<Item = u64> {
        let ends = self.files[1..].iter().copied().chain([self.records()]);
        ends.zip(&self.files).map(|(end, start)| end - start)
    }

    /// The first record of each block, and the one after its last.
    pub(super) fn block_ranges(&self) -> impl Iterator<Item = (u64, u64)> {
        self.blocks.windows(2).map(|ends| (ends[0], ends[1]))
    }

    /// The number of a record, from those of its file and of the record in the file.
    pub(super) fn number(&self, file: i64, record: i64) -> u64 {
        let start = usize::try_from(file)
            .ok()
            .and_then(|file| self.files.get(file));
        let number = start.copied().unwrap_or(0) + record.unsigned_abs();
        number.min(self.records().saturating_sub(1))
    }

    /// The number of the file that has a record.
    pub(super) fn file_of(&self, record: u64) -> usize {
        self.files.partition_point(|&start| start <= record) - 1
    }

    /// The number of the block that has a record.
    pub(super) fn block_of(&self, record: u64) -> usize {
        self.blocks.partition_point(|&start| start <= record) - 1
    }
}
