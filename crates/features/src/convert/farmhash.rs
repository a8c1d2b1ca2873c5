//! FarmHash's Fingerprint64, whose results never change (Google's FarmHash,
//! <https://github.com/google/farmhash>: `farmhashna::Hash64`).
//!
//! All arithmetic is modulo 2^64.

const K0: u64 = 0xc3a5_c85c_97cb_3127;
const K1: u64 = 0xb492_b66f_be98_f273;
const K2: u64 = 0x9ae1_6a3b_2f90_404f;

/// The fingerprint of `bytes`.
#[inline]
pub fn fingerprint64(bytes: &[u8]) -> u64 {
    match bytes.len() {
        0..=16 => up_to_16(bytes),
        17..=32 => up_to_32(bytes),
        33..=64 => up_to_64(bytes),
        _ => more_than_64(bytes),
    }
}

#[inline]
fn up_to_16(bytes: &[u8]) -> u64 {
    let len = bytes.len();
    let length = len as u64;
    let factor = factor_for(length);
    if len >= 8 {
        let first = word(bytes, 0).wrapping_add(K2);
        let last = word(bytes, len - 8);
        let low = rotated(last, 37).wrapping_mul(factor).wrapping_add(first);
        let high = rotated(first, 25).wrapping_add(last);
        return mix_two(low, high.wrapping_mul(factor), factor);
    }
    if len >= 4 {
        let first = u64::from(half_word(bytes, 0));
        let last = u64::from(half_word(bytes, len - 4));
        return mix_two(length.wrapping_add(first << 3), last, factor);
    }
    let (Some(&first), Some(&last)) = (bytes.first(), bytes.last()) else {
        return K2;
    };
    let low = u64::from(first) + (u64::from(bytes[len / 2]) << 8);
    let high = length + (u64::from(last) << 2);
    fold(low.wrapping_mul(K2) ^ high.wrapping_mul(K0)).wrapping_mul(K2)
}

#[inline]
fn up_to_32(bytes: &[u8]) -> u64 {
    let len = bytes.len();
    let factor = factor_for(len as u64);
    let (a, b) = (word(bytes, 0).wrapping_mul(K1), word(bytes, 8));
    let c = word(bytes, len - 8).wrapping_mul(factor);
    let d = word(bytes, len - 16).wrapping_mul(K2);
    let (low, high) = mix_four(a, b, c, d);
    mix_two(low, high, factor)
}

#[inline]
fn up_to_64(bytes: &[u8]) -> u64 {
    let len = bytes.len();
    let factor = factor_for(len as u64);
    let (a, b) = (word(bytes, 0).wrapping_mul(K2), word(bytes, 8));
    let c = word(bytes, len - 8).wrapping_mul(factor);
    let d = word(bytes, len - 16).wrapping_mul(K2);
    let (low, high) = mix_four(a, b, c, d);
    let outer = mix_two(low, high, factor);

    let (e, f) = (word(bytes, 16).wrapping_mul(factor), word(bytes, 24));
    let g = low.wrapping_add(word(bytes, len - 32)).wrapping_mul(factor);
    let h = outer
        .wrapping_add(word(bytes, len - 24))
        .wrapping_mul(factor);
    let low = sum3(rotated(e.wrapping_add(f), 43), rotated(g, 30), h);
    let high = sum3(e, rotated(f.wrapping_add(a), 18), g);
    mix_two(low, high, factor)
}

fn more_than_64(bytes: &[u8]) -> u64 {
    const SEED: u64 = 81;
    const BLOCK: usize = 64;
    let y = SEED.wrapping_mul(K1).wrapping_add(113);
    let mut state = State {
        x: SEED.wrapping_mul(K2).wrapping_add(word(bytes, 0)),
        y,
        z: fold(y.wrapping_mul(K2).wrapping_add(113)).wrapping_mul(K2),
        v: (0, 0),
        w: (0, 0),
    };
    // The last block, whole or not, is replaced by the last 64 bytes.
    let rest = (bytes.len() - 1) % BLOCK;
    let blocks = bytes[..bytes.len() - rest - 1].chunks_exact(BLOCK);
    for block in blocks {
        state.block(block, K1, 1);
    }
    let factor = K1.wrapping_add((state.z & 0xff) << 1);
    state.w.0 = state.w.0.wrapping_add(rest as u64);
    state.v.0 = state.v.0.wrapping_add(state.w.0);
    state.w.0 = state.w.0.wrapping_add(state.v.0);
    state.block(&bytes[bytes.len() - BLOCK..], factor, 9);

    let State { x, y, z, v, w } = state;
    let low = sum3(mix_two(v.0, w.0, factor), fold(y).wrapping_mul(K0), z);
    let high = mix_two(v.1, w.1, factor).wrapping_add(x);
    mix_two(low, high, factor)
}

struct State {
    x: u64,
    y: u64,
    z: u64,
    v: (u64, u64),
    w: (u64, u64),
}

impl State {
    /// Mixes 64 bytes into the state. The state counts `weight` times as much as the bytes.
    #[inline]
    fn block(&mut self, block: &[u8], factor: u64, weight: u64) {
        let State { x, y, z, v, w } = self;
        let sum = sum3(*x, *y, v.0).wrapping_add(word(block, 8));
        *x = rotated(sum, 37).wrapping_mul(factor) ^ w.1.wrapping_mul(weight);
        let sum = sum3(*y, v.1, word(block, 48));
        *y = sum3(
            rotated(sum, 42).wrapping_mul(factor),
            v.0.wrapping_mul(weight),
            word(block, 40),
        );
        *z = rotated(z.wrapping_add(w.0), 33).wrapping_mul(factor);
        *v = mix_half(&block[..32], v.1.wrapping_mul(factor), x.wrapping_add(w.0));
        let seeds = (z.wrapping_add(w.1), y.wrapping_add(word(block, 16)));
        *w = mix_half(&block[32..], seeds.0, seeds.1);
        std::mem::swap(x, z);
    }
}

/// Mixes 32 bytes with two seeds.
#[inline]
fn mix_half(bytes: &[u8], a: u64, b: u64) -> (u64, u64) {
    let first = a.wrapping_add(word(bytes, 0));
    let last = word(bytes, 24);
    let second = rotated(sum3(b, first, last), 21);
    let sum = sum3(first, word(bytes, 8), word(bytes, 16));
    (
        sum.wrapping_add(last),
        sum3(second, rotated(sum, 44), first),
    )
}

/// The common steps for lengths from 17 to 64.
#[inline]
fn mix_four(a: u64, b: u64, c: u64, d: u64) -> (u64, u64) {
    (
        sum3(rotated(a.wrapping_add(b), 43), rotated(c, 30), d),
        sum3(a, rotated(b.wrapping_add(K2), 18), c),
    )
}

#[inline]
fn mix_two(low: u64, high: u64, factor: u64) -> u64 {
    let a = fold((low ^ high).wrapping_mul(factor));
    let b = fold((high ^ a).wrapping_mul(factor));
    b.wrapping_mul(factor)
}

#[inline]
fn fold(value: u64) -> u64 {
    value ^ (value >> 47)
}

#[inline]
fn factor_for(length: u64) -> u64 {
    K2.wrapping_add(length.wrapping_mul(2))
}

#[inline]
fn sum3(a: u64, b: u64, c: u64) -> u64 {
    a.wrapping_add(b).wrapping_add(c)
}

/// Rotates to the right, as the published algorithm does.
#[inline]
fn rotated(value: u64, bits: u32) -> u64 {
    value.rotate_right(bits)
}

/// The 8 bytes from `at` on.
#[inline]
fn word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

/// The 4 bytes from `at` on.
#[inline]
fn half_word(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}
