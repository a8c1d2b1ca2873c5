//! Messages in every form that protocol buffers allow, and some that they do not, made from arbitrary
//! bytes: shared with the fuzz targets.

// Each test binary uses a part of this module.
#![allow(dead_code, unreachable_pub, missing_docs)]

/// Bytes that make all choices. When they run out, every choice is 0.
pub struct Entropy<'a>(pub &'a [u8]);

impl Entropy<'_> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u8) -> u8 {
        match self.0.split_first() {
            Some((&byte, rest)) => {
                self.0 = rest;
                byte % n
            }
            None => 0,
        }
    }

    /// Whether something odd is done, one time in sixteen.
    fn is_odd(&mut self) -> bool {
        self.below(16) == 15
    }
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// As `varint`, with bytes of zeros that mean nothing.
fn long_varint(mut value: u64, extra: u8, out: &mut Vec<u8>) {
    for _ in 0..extra {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    varint(value, out);
}

fn delimited(field: u64, bytes: &[u8], entropy: &mut Entropy<'_>, out: &mut Vec<u8>) {
    varint(field << 3 | 2, out);
    match entropy.is_odd() {
        true => long_varint(bytes.len() as u64, entropy.below(4), out),
        false => varint(bytes.len() as u64, out),
    }
    out.extend_from_slice(bytes);
}

/// A field that no message knows.
fn unknown(entropy: &mut Entropy<'_>, out: &mut Vec<u8>) {
    let field = 4 + u64::from(entropy.below(20)) * 1000;
    match entropy.below(5) {
        0 => {
            varint(field << 3, out);
            varint(u64::MAX >> entropy.below(64), out);
        }
        1 => {
            varint(field << 3 | 1, out);
            out.extend([7; 8]);
        }
        2 => delimited(field, &[1, 2, 3], entropy, out),
        3 => {
            varint(field << 3 | 3, out);
            unknown_in_group(entropy, out);
            varint(field << 3 | 4, out);
        }
        _ => {
            varint(field << 3 | 5, out);
            out.extend([9; 4]);
        }
    }
}

fn unknown_in_group(entropy: &mut Entropy<'_>, out: &mut Vec<u8>) {
    for _ in 0..entropy.below(3) {
        if !entropy.is_empty() {
            unknown(entropy, out);
        }
    }
}

/// The numbers of a list: small and large, negative too.
fn number(entropy: &mut Entropy<'_>) -> i64 {
    match entropy.below(8) {
        7 => i64::MIN >> entropy.below(64),
        6 => i64::MAX >> entropy.below(64),
        5 => -i64::from(entropy.below(100)),
        _ => i64::from(entropy.below(50)),
    }
}

fn float(entropy: &mut Entropy<'_>) -> f32 {
    match entropy.below(8) {
        7 => f32::from_bits(u32::from_le_bytes([0; 4].map(|_| entropy.below(255)))),
        _ => f32::from(entropy.below(100)) / 4.0,
    }
}

/// A list of `kind` (1 bytes, 2 floats, 3 integers), in parts.
fn list(kind: u8, entropy: &mut Entropy<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    for _ in 0..=entropy.below(4) / 3 {
        if entropy.is_odd() {
            unknown(entropy, &mut out);
        }
        let n = entropy.below(4);
        let is_packed = entropy.below(4) > 0;
        let mut packed = Vec::new();
        for _ in 0..n {
            match (kind, is_packed) {
                (1, _) => {
                    let len = usize::from(entropy.below(5));
                    let text = &b"abcde"[..len];
                    delimited(1, text, entropy, &mut out);
                }
                (2, true) => packed.extend(float(entropy).to_le_bytes()),
                (2, false) => {
                    varint(1 << 3 | 5, &mut out);
                    out.extend(float(entropy).to_le_bytes());
                }
                (_, true) => varint(number(entropy) as u64, &mut packed),
                (_, false) => {
                    varint(1 << 3, &mut out);
                    varint(number(entropy) as u64, &mut out);
                }
            }
        }
        if kind > 1 && is_packed && (n > 0 || entropy.is_odd()) {
            delimited(1, &packed, entropy, &mut out);
        }
    }
    out
}

/// A `Feature` of mostly `kind`.
fn feature(kind: u8, entropy: &mut Entropy<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    for _ in 0..1 + entropy.below(8) / 7 {
        if entropy.is_odd() {
            unknown(entropy, &mut out);
        }
        let kind = if entropy.is_odd() {
            1 + entropy.below(3)
        } else {
            kind
        };
        if !entropy.is_odd() {
            let list = list(kind, entropy);
            delimited(kind.into(), &list, entropy, &mut out);
        }
    }
    out
}

/// A map's entry, whose value is `value`, in one piece or several.
fn entry(key: &str, values: &[Vec<u8>], entropy: &mut Entropy<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    let is_swapped = entropy.is_odd();
    if !is_swapped {
        delimited(1, key.as_bytes(), entropy, &mut out);
    }
    for value in values {
        if entropy.is_odd() {
            unknown(entropy, &mut out);
        }
        delimited(2, value, entropy, &mut out);
    }
    if is_swapped {
        delimited(1, key.as_bytes(), entropy, &mut out);
    }
    out
}

/// Keys, and the kinds that their values mostly have.
const KEYS: [(&str, u8); 7] = [
    ("i", 3),
    ("j", 3),
    ("f", 2),
    ("s", 1),
    ("another key", 1),
    ("x", 3),
    ("", 2),
];

/// `Features`, or with `is_list` `FeatureLists`.
fn map(is_list: bool, entropy: &mut Entropy<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    let count = entropy.below(8);
    for i in 0..count {
        if entropy.is_odd() {
            unknown(entropy, &mut out);
        }
        let (key, kind) = match entropy.below(3) {
            0 => KEYS[usize::from(entropy.below(7))],
            _ => KEYS[usize::from(i % 7)],
        };
        let pieces = if entropy.is_odd() {
            entropy.below(4)
        } else {
            1
        };
        let piece = |entropy: &mut Entropy<'_>| {
            if !is_list {
                return feature(kind, entropy);
            }
            let mut list = Vec::new();
            for _ in 0..entropy.below(4) {
                if entropy.is_odd() {
                    unknown(entropy, &mut list);
                }
                let step = feature(kind, entropy);
                delimited(1, &step, entropy, &mut list);
            }
            list
        };
        let pieces: Vec<Vec<u8>> = (0..pieces).map(|_| piece(entropy)).collect();
        let entry = entry(key, &pieces, entropy);
        delimited(1, &entry, entropy, &mut out);
    }
    out
}

/// Sometimes damages a message.
fn damage(mut message: Vec<u8>, entropy: &mut Entropy<'_>) -> Vec<u8> {
    if entropy.below(40) == 39 && !message.is_empty() {
        let at = usize::from(entropy.below(255)) % message.len();
        message[at] ^= 1 << entropy.below(8);
    }
    if entropy.below(60) == 59 {
        let cut = usize::from(entropy.below(9)).min(message.len());
        message.truncate(message.len() - cut);
    }
    message
}

/// An `Example`.
pub fn example(entropy: &mut Entropy<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    for _ in 0..1 + entropy.below(8) / 7 {
        if entropy.is_odd() {
            unknown(entropy, &mut out);
        }
        let features = map(false, entropy);
        delimited(1, &features, entropy, &mut out);
    }
    damage(out, entropy)
}

/// A `SequenceExample`.
pub fn sequence_example(entropy: &mut Entropy<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    for _ in 0..1 + entropy.below(8) / 7 {
        for field in [1, 2] {
            if entropy.is_odd() {
                unknown(entropy, &mut out);
            }
            if !entropy.is_odd() {
                let map = map(field == 2, entropy);
                delimited(field, &map, entropy, &mut out);
            }
        }
    }
    damage(out, entropy)
}
