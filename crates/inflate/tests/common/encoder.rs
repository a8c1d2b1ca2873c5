//! Encodes streams that no compressor writes: any codes, any symbols.

use std::collections::BTreeMap;

/// Writes bits, the first bit lowest.
#[derive(Default)]
pub(crate) struct BitWriter {
    pub(crate) bytes: Vec<u8>,
    bits: usize,
}

impl BitWriter {
    pub(crate) fn bits(&mut self, value: usize, count: usize) {
        for nth in 0..count {
            if self.bits.is_multiple_of(8) {
                self.bytes.push(0);
            }
            let last = self.bytes.last_mut().expect("a byte");
            *last |= ((value >> nth & 1) as u8) << (self.bits % 8);
            self.bits += 1;
        }
    }
}

/// A code: the words and their lengths, by symbol.
#[derive(Clone, Debug)]
pub(crate) struct Code {
    lengths: Vec<u8>,
    words: BTreeMap<usize, (usize, usize)>,
}

impl Code {
    /// The canonical code of `lengths` (RFC 1951, 3.2.2).
    pub(crate) fn new(lengths: &[u8]) -> Self {
        let mut words = BTreeMap::new();
        let mut word = 0;
        for length in 1..=15 {
            word *= 2;
            for (symbol, _) in lengths
                .iter()
                .enumerate()
                .filter(|(_, len)| **len == length)
            {
                words.insert(symbol, (word, length.into()));
                word += 1;
            }
        }
        Code {
            lengths: lengths.to_vec(),
            words,
        }
    }

    /// The symbols that have a word.
    pub(crate) fn symbols(&self) -> Vec<usize> {
        self.words.keys().copied().collect()
    }

    fn write(&self, symbol: usize, to: &mut BitWriter) {
        let (word, length) = self.words[&symbol];
        for nth in (0..length).rev() {
            to.bits(word >> nth & 1, 1);
        }
    }
}

/// A symbol of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Item {
    Literal(u8),
    /// Symbols of a length and a distance, with values whose lowest bits become the extra bits.
    Match {
        length: usize,
        length_extra: usize,
        distance: usize,
        distance_extra: usize,
    },
}

/// A dynamic block, the last of its stream. Each code length takes five bits.
pub(crate) fn dynamic_block(litlens: &Code, distances: &Code, items: &[Item], to: &mut BitWriter) {
    to.bits(0b101, 3);
    to.bits(litlens.lengths.len() - 257, 5);
    to.bits(distances.lengths.len() - 1, 5);
    to.bits(19 - 4, 4);
    // Twelve words of four bits, and eight of five. Two of the lengths 16 to 18 are unused.
    let of_lengths: Vec<u8> = (0..19)
        .map(|symbol| if symbol < 13 { 4 } else { 5 })
        .collect();
    for symbol in [
        16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
    ] {
        to.bits(of_lengths[symbol].into(), 3);
    }
    let of_lengths = Code::new(&of_lengths);
    for &length in litlens.lengths.iter().chain(&distances.lengths) {
        of_lengths.write(length.into(), to);
    }
    for item in items {
        match *item {
            Item::Literal(byte) => litlens.write(byte.into(), to),
            Item::Match {
                length,
                length_extra,
                distance,
                distance_extra,
            } => {
                litlens.write(length, to);
                to.bits(length_extra, length_extra_bits(length));
                distances.write(distance, to);
                to.bits(distance_extra, distance_extra_bits(distance));
            }
        }
    }
    litlens.write(256, to);
}

fn length_extra_bits(symbol: usize) -> usize {
    match symbol {
        265..285 => (symbol - 261) / 4,
        _ => 0,
    }
}

fn distance_extra_bits(symbol: usize) -> usize {
    match symbol {
        4..30 => symbol / 2 - 1,
        30.. => 13,
        _ => 0,
    }
}

/// The lengths of a complete code of `symbols`, at least two, out of `count`. `choices` pick the word
/// to split next, and so make the code even or uneven. No word is longer than 15 bits.
pub(crate) fn complete_lengths(count: usize, symbols: &[usize], choices: &[u8]) -> Vec<u8> {
    let mut words = vec![1, 1];
    let mut choices = choices.iter().cycle();
    while words.len() < symbols.len() {
        let choice = choices.next().copied().unwrap_or(0);
        // Prefer new words, so that some become long.
        let newest = words.len() - 1 - usize::from(choice) % words.len();
        let splittable = (0..words.len()).map(|nth| (newest + nth) % words.len());
        let split = splittable.into_iter().find(|&nth| words[nth] < 15);
        let split = split.expect("fewer symbols than words of 15 bits");
        words[split] += 1;
        words.push(words[split]);
    }
    let mut lengths = vec![0; count];
    for (&symbol, word) in symbols.iter().zip(words) {
        lengths[symbol] = word;
    }
    lengths
}
