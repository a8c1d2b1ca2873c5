//! Makes choices from the fuzzer's bytes. When they run out, every choice is the first.

/// Bytes not yet used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Input(bytes)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn byte(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    /// A number below `n`, which is at most 65,536.
    pub(super) fn below(&mut self, n: usize) -> usize {
        usize::from(u16::from_le_bytes(self.array())) % n
    }

    /// The next bytes, filled up with zeros.
    pub(super) fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut array = [0; N];
        let bytes = self.take(N);
        array[..bytes.len()].copy_from_slice(bytes);
        array
    }

    /// The next `n` bytes, or all that are left.
    pub(super) fn take(&mut self, n: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(n.min(self.0.len()));
        self.0 = rest;
        taken
    }

    pub(super) fn rest(self) -> &'a [u8] {
        self.0
    }
}

/// Lengths of pieces of `bytes`, chosen by its last bytes.
pub(super) fn piece_lens(bytes: &[u8]) -> Vec<usize> {
    let last = bytes.iter().rev().take(7);
    let lens: Vec<_> = last.map(|&byte| 1 + usize::from(byte % 40)).collect();
    if lens.is_empty() { vec![1] } else { lens }
}

/// Damages `bytes` up to seven times, as `input` chooses.
pub(super) fn damage(bytes: &mut Vec<u8>, input: &mut Input<'_>) {
    for _ in 0..input.below(8) {
        if bytes.is_empty() {
            return;
        }
        let at = input.below(1 << 16) % bytes.len();
        match input.byte() % 6 {
            0 => bytes[at] = input.byte(),
            1 => bytes[at] ^= 1 << (input.byte() % 8),
            2 => drop(bytes.remove(at)),
            3 => bytes.truncate(at),
            4 => {
                let n = input.below(16);
                bytes.splice(at..at, input.take(n).iter().copied());
            }
            _ => {
                // Repeats the following bytes.
                let again = at..bytes.len().min(at + input.below(64));
                let again = bytes[again].to_vec();
                bytes.splice(at..at, again);
            }
        }
    }
}
