//! Interleaving: the files of an epoch take turns, as in `tf.data`'s `interleave`.

/// How files take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interleave {
    /// Number of files that take turns; at least 1.
    pub cycle_length: usize,
    /// Number of records that a file gives in its turn; at least 1.
    pub block_length: u64,
}

/// A file's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileTurn {
    /// The place of the file in the epoch's order.
    pub(crate) file: usize,
    /// Number of records that are still of its turn.
    pub(crate) records: u64,
}

/// Whose turn it is, record by record.
///
/// A file that ends leaves its seat empty until the turn comes back to the seat: then the next file takes it,
/// and gives records at once. That a file has ended is found when it is asked for a record that it does not
/// have.
#[derive(Debug)]
pub(crate) struct Turns {
    /// The files at the seats.
    seats: Vec<Option<usize>>,
    /// The seat whose turn it is, and the number of records that it has given.
    seat: usize,
    given: u64,
    taken: usize,
    /// The next file that takes a seat, and the number of all files.
    next: usize,
    files: usize,
    block_length: u64,
}

impl Turns {
    /// The turns of `files` files.
    pub(crate) fn new(interleave: Interleave, files: usize) -> Self {
        // More seats than files would stay empty.
        let seats = interleave.cycle_length.min(files).max(1);
        Turns {
            seats: vec![None; seats],
            seat: 0,
            given: 0,
            taken: 0,
            next: 0,
            files,
            block_length: interleave.block_length.max(1),
        }
    }

    /// Whose turn it is; `None` once all files have ended.
    pub(crate) fn next(&mut self) -> Option<FileTurn> {
        loop {
            if let Some(file) = self.seats[self.seat] {
                let records = self.block_length - self.given;
                return Some(FileTurn { file, records });
            }
            if self.next < self.files {
                self.seats[self.seat] = Some(self.next);
                self.next += 1;
                self.taken += 1;
            } else if self.taken == 0 {
                return None;
            } else {
                self.pass_on();
            }
        }
    }

    /// The file has given `records` records in its turn.
    pub(crate) fn give(&mut self, records: u64) {
        self.given += records;
        if self.given >= self.block_length {
            self.pass_on();
        }
    }

    /// The file has no more records.
    pub(crate) fn end_file(&mut self) {
        self.seats[self.seat] = None;
        self.taken -= 1;
        self.pass_on();
    }

    fn pass_on(&mut self) {
        self.given = 0;
        self.seat = (self.seat + 1) % self.seats.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order of the records of files with so many records each, as `file.record`.
    fn order(cycle_length: usize, block_length: u64, files: &[u64]) -> String {
        let interleave = Interleave {
            cycle_length,
            block_length,
        };
        let mut turns = Turns::new(interleave, files.len());
        let mut given = vec![0; files.len()];
        let mut order = Vec::new();
        while let Some(turn) = turns.next() {
            let left = files[turn.file] - given[turn.file];
            // Some at a time, as blocks have them.
            match left.min(turn.records).min(2) {
                0 => turns.end_file(),
                records => {
                    for record in given[turn.file]..given[turn.file] + records {
                        order.push(format!("{}.{record}", turn.file));
                    }
                    given[turn.file] += records;
                    turns.give(records);
                }
            }
        }
        order.join(" ")
    }

    /// What TensorFlow 2.21 gives: `Dataset.from_tensor_slices(files).interleave(...)` of these files.
    #[test]
    fn the_order_is_that_of_tf_data() {
        assert_eq!(order(1, 1, &[2, 0, 1]), "0.0 0.1 2.0");
        assert_eq!(order(2, 1, &[2, 2, 2]), "0.0 1.0 0.1 1.1 2.0 2.1");
        assert_eq!(order(2, 3, &[4, 1, 2]), "0.0 0.1 0.2 1.0 0.3 2.0 2.1");
        assert_eq!(order(9, 2, &[3, 0, 3]), "0.0 0.1 2.0 2.1 0.2 2.2");
        assert_eq!(order(2, 2, &[2, 1, 3, 1]), "0.0 0.1 1.0 2.0 2.1 3.0 2.2");
        assert_eq!(order(3, u64::MAX, &[3, 1]), "0.0 0.1 0.2 1.0");
        assert_eq!(order(4, 1, &[]), "");
    }
}
