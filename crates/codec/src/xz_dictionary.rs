//! The dictionaries of an xz payload, found without decompressing it ("The .xz File Format" 1.2.1).

/// Bytes of a stream's header, and of its footer.
const EDGE: usize = 12;
const FOOTER_MAGIC: &[u8] = b"YZ";
/// The identifier of the filter LZMA2.
const LZMA2: u64 = 0x21;

/// The largest dictionary in bytes of the blocks of all streams. If an index is damaged, that of the
/// first block: decompressing ends at the damage.
pub(crate) fn largest(payload: &[u8]) -> u64 {
    let first = payload.get(EDGE..).and_then(of_block).unwrap_or(0);
    let (mut largest, mut end) = (first, payload.len());
    while let Some(stream) = payload.get(..end).and_then(last_stream) {
        let Stream { start, blocks } = stream;
        let found = blocks.iter().filter_map(|&at| of_block(payload.get(at..)?));
        largest = largest.max(found.max().unwrap_or(0));
        end = start;
    }
    largest
}

/// Where a stream begins, and where its blocks do.
struct Stream {
    start: usize,
    blocks: Vec<usize>,
}

/// The last stream of `payload`, from its index (sections 2.1.2 and 4).
fn last_stream(mut payload: &[u8]) -> Option<Stream> {
    // Padding after a stream.
    while let Some(before) = payload.strip_suffix(&[0; 4]) {
        payload = before;
    }
    let (before, footer) = payload.split_last_chunk::<EDGE>()?;
    let [_, _, _, _, size @ .., _, _, _, _] = footer;
    let index_len = (u32::from_le_bytes(*size) as usize)
        .checked_add(1)?
        .checked_mul(4)?;
    let index_at = before.len().checked_sub(index_len)?;
    let mut index = before.get(index_at..)?.strip_prefix(&[0])?;
    if !footer.ends_with(FOOTER_MAGIC) {
        return None;
    }
    let (mut at, mut blocks) = (0usize, Vec::new());
    for _ in 0..number(&mut index)? {
        blocks.push(at);
        let block = usize::try_from(number(&mut index)?).ok()?;
        let _decompressed = number(&mut index)?;
        at = at.checked_add(block.checked_next_multiple_of(4)?)?;
    }
    let first = index_at.checked_sub(at)?;
    let start = first.checked_sub(EDGE)?;
    blocks.iter_mut().for_each(|block| *block += first);
    Some(Stream { start, blocks })
}

/// The dictionary of the block that `block` begins with (section 3.1).
fn of_block(block: &[u8]) -> Option<u64> {
    let (&size, _) = block.split_first()?;
    let (&flags, mut header) = block.get(1..(usize::from(size) + 1) * 4)?.split_first()?;
    for has_size in [flags & 0x40, flags & 0x80] {
        if has_size > 0 {
            number(&mut header)?;
        }
    }
    for _ in 0..=(flags & 3) {
        let (filter, len) = (number(&mut header)?, number(&mut header)?);
        let (properties, rest) = header.split_at_checked(usize::try_from(len).ok()?)?;
        if let (LZMA2, &[bits]) = (filter, properties) {
            // Section 5.3.1; liblzma refuses what is larger.
            return Some((2 | u64::from(bits & 1)) << (bits.min(40) / 2 + 11));
        }
        header = rest;
    }
    None
}

/// A number of seven bits a byte, the lowest first (section 1.2).
fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for place in 0..9 {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}
