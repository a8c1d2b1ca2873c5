//! Decompresses bit by bit, in the words of RFC 1951: slow and simple.

use atds_inflate::Error;

/// Decompresses a stream to at most `limit` bytes.
pub(crate) fn inflate(payload: &[u8], limit: usize) -> Result<Vec<u8>, Error> {
    let mut twin = Twin {
        payload,
        bit: 0,
        out: Vec::new(),
        limit,
    };
    while !twin.block()? {}
    Ok(twin.out)
}

struct Twin<'a> {
    payload: &'a [u8],
    bit: usize,
    out: Vec<u8>,
    limit: usize,
}

/// A canonical code (RFC 1951, 3.2.2).
struct Code {
    /// Number of words by length.
    counts: [usize; 16],
    /// The symbols in the order of their words.
    symbols: Vec<usize>,
}

impl Code {
    /// The code with these `lengths`, if there is one: it is complete, or has no word, or a single
    /// word of one bit.
    fn new(lengths: &[u8]) -> Result<Self, Error> {
        let mut counts = [0; 16];
        let used = (0..lengths.len()).filter(|&symbol| lengths[symbol] > 0);
        let mut symbols: Vec<usize> = used.collect();
        symbols.sort_by_key(|&symbol| lengths[symbol]);
        symbols
            .iter()
            .for_each(|&symbol| counts[usize::from(lengths[symbol])] += 1);
        let space: usize = (1..16).map(|length| counts[length] << (15 - length)).sum();
        let is_one_bit = symbols.len() == 1 && counts[1] == 1;
        if space == 1 << 15 || symbols.is_empty() || is_one_bit {
            Ok(Code { counts, symbols })
        } else {
            Err(Error::Code)
        }
    }
}

impl Twin<'_> {
    /// Decompresses a block and returns whether it is the last.
    fn block(&mut self) -> Result<bool, Error> {
        let is_last = self.bits(1)? == 1;
        match self.bits(2)? {
            0 => self.stored()?,
            1 => {
                let litlens = [vec![8; 144], vec![9; 112], vec![7; 24], vec![8; 8]].concat();
                self.coded(&Code::new(&litlens)?, &Code::new(&[5; 32])?)?;
            }
            2 => {
                let (litlens, distances) = self.codes()?;
                self.coded(&litlens, &distances)?;
            }
            _ => return Err(Error::BlockType),
        }
        Ok(is_last)
    }

    fn bits(&mut self, count: usize) -> Result<usize, Error> {
        let mut value = 0;
        for nth in 0..count {
            let byte = self.payload.get(self.bit / 8).ok_or(Error::Truncated)?;
            value |= usize::from(byte >> (self.bit % 8) & 1) << nth;
            self.bit += 1;
        }
        Ok(value)
    }

    fn stored(&mut self) -> Result<(), Error> {
        self.bit = self.bit.next_multiple_of(8);
        let (length, complement) = (self.bits(16)? as u16, self.bits(16)? as u16);
        if length != !complement {
            return Err(Error::StoredLength { length, complement });
        }
        let start = self.bit / 8;
        let bytes = self.payload.get(start..start + usize::from(length));
        let bytes = bytes.ok_or(Error::Truncated)?;
        self.fits(bytes.len())?;
        self.out.extend_from_slice(bytes);
        self.bit += bytes.len() * 8;
        Ok(())
    }

    fn codes(&mut self) -> Result<(Code, Code), Error> {
        let litlens = self.bits(5)? + 257;
        let distances = self.bits(5)? + 1;
        let mut of_lengths = vec![0; 19];
        let order = [
            16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
        ];
        let count = self.bits(4)? + 4;
        for symbol in order.into_iter().take(count) {
            of_lengths[symbol] = self.bits(3)? as u8;
        }
        let of_lengths = Code::new(&of_lengths)?;
        let mut lengths = Vec::new();
        while lengths.len() < litlens + distances {
            let (length, count) = match self.symbol(&of_lengths)? {
                16 => {
                    let count = 3 + self.bits(2)?;
                    (*lengths.last().ok_or(Error::Repetition)?, count)
                }
                17 => (0, 3 + self.bits(3)?),
                18 => (0, 11 + self.bits(7)?),
                length => (length as u8, 1),
            };
            lengths.extend(vec![length; count]);
        }
        if lengths.len() > litlens + distances {
            return Err(Error::Repetition);
        }
        let (litlens, distances) = lengths.split_at(litlens);
        Ok((Code::new(litlens)?, Code::new(distances)?))
    }

    fn coded(&mut self, litlens: &Code, distances: &Code) -> Result<(), Error> {
        loop {
            match self.symbol(litlens)? {
                literal @ 0..256 => {
                    self.fits(1)?;
                    self.out.push(literal as u8);
                }
                256 => return Ok(()),
                symbol => {
                    let slot = symbol - 257;
                    let length = match slot {
                        0..8 => 3 + slot,
                        8..28 => 3 + self.base_and_extra(slot, 2)?,
                        _ => 258,
                    };
                    let distance = match self.symbol(distances)?.min(29) {
                        slot @ 0..4 => 1 + slot,
                        slot => 1 + self.base_and_extra(slot, 1)?,
                    };
                    self.repeat(length, distance)?;
                }
            }
        }
    }

    /// Reads a length or a distance. Each group of `1 << steps` slots has one extra bit more than
    /// the group before.
    fn base_and_extra(&mut self, slot: usize, steps: usize) -> Result<usize, Error> {
        let extra = (slot >> steps) - 1;
        let base = ((1 << steps) + slot % (1 << steps)) << extra;
        Ok(base + self.bits(extra)?)
    }

    fn repeat(&mut self, length: usize, distance: usize) -> Result<(), Error> {
        self.fits(length)?;
        let written = self.out.len();
        if distance > written {
            let distance = distance as u16;
            return Err(Error::Distance { distance, written });
        }
        for _ in 0..length {
            self.out.push(self.out[self.out.len() - distance]);
        }
        Ok(())
    }

    fn fits(&self, more: usize) -> Result<(), Error> {
        let limit = self.limit;
        if self.out.len() + more <= limit {
            Ok(())
        } else {
            Err(Error::TooLarge { limit })
        }
    }

    /// Reads the next symbol. Compares its word bit by bit with the first word of each length.
    fn symbol(&mut self, code: &Code) -> Result<usize, Error> {
        if code.symbols.len() < 2 {
            // A code of one word or none. Either value of the bit stands for that word.
            self.bits(1)?;
            return Ok(code.symbols.first().copied().unwrap_or(0));
        }
        let (mut word, mut first, mut before) = (0, 0, 0);
        for count in &code.counts[1..] {
            word = word * 2 + self.bits(1)?;
            first *= 2;
            if word < first + count {
                return Ok(code.symbols[before + word - first]);
            }
            first += count;
            before += count;
        }
        unreachable!("a complete code has a word for any bits");
    }
}
