//! Finds the values of the keys that are asked for in an `Example` or a `SequenceExample`.

use super::error::{DecodeErrorKind, Fault};
use super::list::{FIELD_1, Kind, List};
use crate::wire::{Cursor, WireType};

/// Tags of fields with a length: field 2, and the fields of `Feature` beside field 1.
const FIELD_2: u8 = 2 << 3 | 2;
const FIELD_3: u8 = 3 << 3 | 2;

/// The keys of one map that are asked for. A table of hashes: looking up a key of the data takes the
/// same time whatever the data is, since only the keys that are asked for are in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keys {
    keys: Vec<Box<[u8]>>,
    /// For each hash, the number of a key + 1; 0 if there is none. A key whose place is taken has the
    /// next one.
    table: Vec<u32>,
}

impl Keys {
    /// The number of `key`, which is added if it is new.
    pub(crate) fn add(&mut self, key: &[u8]) -> usize {
        if let Some(known) = self.number(key) {
            return known;
        }
        self.keys.push(key.into());
        let size = (self.keys.len() * 4).next_power_of_two();
        self.table = vec![0; size];
        for (number, key) in (1..).zip(&self.keys) {
            let mut place = hash(key) as usize & (size - 1);
            while self.table[place] != 0 {
                place = (place + 1) & (size - 1);
            }
            self.table[place] = number;
        }
        self.keys.len() - 1
    }

    /// Whether `key` was added.
    pub(crate) fn has(&self, key: &[u8]) -> bool {
        self.number(key).is_some()
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The key with this number.
    pub(crate) fn key(&self, number: usize) -> &[u8] {
        &self.keys[number]
    }

    #[inline]
    fn number(&self, key: &[u8]) -> Option<usize> {
        let mask = self.table.len().checked_sub(1)?;
        let mut place = hash(key) as usize & mask;
        loop {
            let number = (self.table[place] as usize).checked_sub(1)?;
            if *self.keys[number] == *key {
                return Some(number);
            }
            place = (place + 1) & mask;
        }
    }
}

/// A hash of the length, the first and the last bytes.
#[inline]
fn hash(key: &[u8]) -> u64 {
    let (first, last) = match (key.first_chunk::<8>(), key.last_chunk::<8>()) {
        (Some(first), Some(last)) => (u64::from_le_bytes(*first), u64::from_le_bytes(*last)),
        _ => match (key.first_chunk::<4>(), key.last_chunk::<4>()) {
            (Some(first), Some(last)) => (
                u32::from_le_bytes(*first).into(),
                u32::from_le_bytes(*last).into(),
            ),
            _ => {
                let byte = |i: usize| u64::from(key.get(i).copied().unwrap_or(0));
                (byte(0) | byte(1) << 8, byte(2))
            }
        },
    };
    let mixed = first
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .rotate_left(29)
        .wrapping_add(last)
        .wrapping_add(key.len() as u64)
        .wrapping_mul(0xff51_afd7_ed55_8ccd);
    mixed >> 32
}

/// A range of the record's data, or of joined pieces of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Span {
    start: usize,
    end: usize,
    is_joined: bool,
}

/// What was found of a record. The memory is used again for the next one.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// The messages of the keys that were found.
    messages: Vec<Option<Span>>,
    /// The values of the keys of features.
    lists: Vec<Option<(Kind, Span)>>,
    /// For each key of feature lists, where its steps are; `None` if the key is missing.
    step_ranges: Vec<Option<(usize, usize)>>,
    steps: Vec<Option<(Kind, Span)>>,
    /// Messages that lie in pieces in the data, end to end.
    joined: Vec<u8>,
}

/// What was found of a record, with its data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Values<'a> {
    found: &'a Found,
    data: &'a [u8],
}

impl<'a> Values<'a> {
    /// The values of key `number`; `None` if they are missing.
    #[inline]
    pub(crate) fn list(&self, number: usize) -> Option<List<'a>> {
        self.found.lists[number].map(|found| self.resolve(found))
    }

    /// The steps of the feature list of key `number`; `None` if it is missing. A step is `None` if its
    /// feature has no kind.
    #[inline]
    pub(crate) fn steps(
        &self,
        number: usize,
    ) -> Option<impl ExactSizeIterator<Item = Option<List<'a>>> + Clone + use<'a>> {
        let (start, end) = self.found.step_ranges[number]?;
        let values = *self;
        let steps = self.found.steps[start..end].iter();
        Some(steps.map(move |step| step.map(|found| values.resolve(found))))
    }

    /// The data of the record.
    #[inline]
    pub(crate) fn record(&self) -> &'a [u8] {
        self.data
    }

    #[inline]
    fn resolve(&self, (kind, span): (Kind, Span)) -> List<'a> {
        let bytes = if span.is_joined {
            &self.found.joined
        } else {
            self.data
        };
        let message = &bytes[span.start..span.end];
        List { kind, message }
    }
}

/// The key whose value is wrong, and what is wrong.
pub(crate) type KeyFault = (Option<usize>, Fault);

fn no_key(fault: Fault) -> KeyFault {
    (None, fault)
}

impl Found {
    /// Finds the values of `keys` in the `Example` that is `data`.
    pub(crate) fn example<'a>(
        &'a mut self,
        data: &'a [u8],
        keys: &Keys,
    ) -> Result<Values<'a>, KeyFault> {
        self.start(keys.len());
        let mut cursor = Cursor::new(data);
        while !cursor.is_empty() {
            if cursor.eat(FIELD_1) {
                let features = cursor.delimited().map_err(no_key)?;
                self.entries(data, features, keys).map_err(no_key)?;
                continue;
            }
            match cursor.tag().map_err(no_key)? {
                (1, WireType::Delimited) => {
                    let features = cursor.delimited().map_err(no_key)?;
                    self.entries(data, features, keys).map_err(no_key)?;
                }
                (field, wire_type) => cursor.skip(field, wire_type).map_err(no_key)?,
            }
        }
        self.find_lists(data)?;
        let found = self;
        Ok(Values { found, data })
    }

    /// Finds the values of `context` and of `lists` in the `SequenceExample` that is `data`, unless
    /// the steps of the lists take much more than `room` bytes.
    pub(crate) fn sequence_example<'a>(
        &'a mut self,
        data: &'a [u8],
        (context, lists): (&Keys, &Keys),
        room: usize,
    ) -> Result<Values<'a>, KeyFault> {
        // The keys of feature lists come after those of the context.
        for (wanted, keys) in [(2, lists), (1, context)] {
            self.start(keys.len());
            let mut cursor = Cursor::new(data);
            while !cursor.is_empty() {
                match cursor.tag().map_err(no_key)? {
                    (field, WireType::Delimited) if field == wanted => {
                        let map = cursor.delimited().map_err(no_key)?;
                        self.entries(data, map, keys).map_err(no_key)?;
                    }
                    (field, wire_type) => cursor.skip(field, wire_type).map_err(no_key)?,
                }
            }
            if wanted == 2 {
                self.find_steps(data, room)
                    .map_err(|(key, fault)| (key.map(|key| context.len() + key), fault))?;
            } else {
                self.find_lists(data)?;
            }
        }
        let found = self;
        Ok(Values { found, data })
    }

    /// No values of a record of any bytes.
    pub(crate) fn nothing<'a>(&'a mut self, data: &'a [u8]) -> Values<'a> {
        self.start(0);
        Values { found: self, data }
    }

    /// Forgets the messages that were found, but not the steps.
    #[inline]
    fn start(&mut self, keys: usize) {
        self.messages.clear();
        self.messages.resize(keys, None);
    }

    /// Finds the messages of `keys` in a map: `Features` or `FeatureLists`.
    #[inline]
    fn entries(&mut self, data: &[u8], map: &[u8], keys: &Keys) -> Result<(), Fault> {
        let mut cursor = Cursor::new(map);
        while !cursor.is_empty() {
            if !cursor.eat(FIELD_1) {
                match cursor.tag()? {
                    (1, WireType::Delimited) => {}
                    (field, wire_type) => {
                        cursor.skip(field, wire_type)?;
                        continue;
                    }
                }
            }
            let entry = cursor.delimited()?;
            let (key, value) = match plain_entry(entry) {
                Some((key, value)) => (key, span_of(data, value)),
                None => self.odd_entry(data, entry)?,
            };
            if let Some(number) = keys.number(key) {
                self.messages[number] = Some(value);
            }
        }
        Ok(())
    }

    /// An entry of any form: its fields in any order, twice, missing, or beside unknown ones.
    #[cold]
    fn odd_entry<'e>(&mut self, data: &[u8], entry: &'e [u8]) -> Result<(&'e [u8], Span), Fault> {
        let mut cursor = Cursor::new(entry);
        let mut key: &[u8] = &[];
        let mut value = None;
        while !cursor.is_empty() {
            match cursor.tag()? {
                (1, WireType::Delimited) => key = cursor.delimited()?,
                (2, WireType::Delimited) => {
                    let piece = cursor.delimited()?;
                    value = Some(self.join(data, value, piece));
                }
                (field, wire_type) => cursor.skip(field, wire_type)?,
            }
        }
        Ok((key, value.unwrap_or_default()))
    }

    /// A message of which `before` are the first pieces, and `piece` is the next: a message is merged
    /// with another by putting both end to end.
    fn join(&mut self, data: &[u8], before: Option<Span>, piece: &[u8]) -> Span {
        let Some(before) = before else {
            return self.span_of_any(data, piece);
        };
        let start = match before.is_joined && before.end == self.joined.len() {
            true => before.start,
            false => {
                let start = self.joined.len();
                match before.is_joined {
                    true => self.joined.extend_from_within(before.start..before.end),
                    false => self
                        .joined
                        .extend_from_slice(&data[before.start..before.end]),
                }
                start
            }
        };
        self.joined.extend_from_slice(piece);
        Span {
            start,
            end: self.joined.len(),
            is_joined: true,
        }
    }

    /// The span of bytes of the data, or else of a copy among the joined ones.
    fn span_of_any(&mut self, data: &[u8], bytes: &[u8]) -> Span {
        if data.as_ptr_range().contains(&bytes.as_ptr()) || bytes.is_empty() {
            return span_of(data, bytes);
        }
        let start = self.joined.len();
        self.joined.extend_from_slice(bytes);
        Span {
            start,
            end: self.joined.len(),
            is_joined: true,
        }
    }

    /// Finds the lists in the features that were found.
    #[inline]
    fn find_lists(&mut self, data: &[u8]) -> Result<(), KeyFault> {
        self.lists.clear();
        for number in 0..self.messages.len() {
            let list = match self.messages[number] {
                None => None,
                Some(span) => {
                    let found = self.find_list(data, span);
                    found.map_err(|fault| (Some(number), fault))?
                }
            };
            self.lists.push(list);
        }
        Ok(())
    }

    /// The kind and the list of a feature; `None` if it has no kind.
    #[inline]
    fn find_list(&mut self, data: &[u8], feature: Span) -> Result<Option<(Kind, Span)>, Fault> {
        if feature.is_joined {
            // Out of the way, since lists in pieces are joined in the same memory.
            let message = self.joined[feature.start..feature.end].to_vec();
            return self.odd_list(data, &message);
        }
        let message = &data[feature.start..feature.end];
        let kind = match message.first() {
            None => return Ok(None),
            Some(&FIELD_1) => Kind::Bytes,
            Some(&FIELD_2) => Kind::Float,
            Some(&FIELD_3) => Kind::Int64,
            Some(_) => return self.odd_list(data, message),
        };
        let mut cursor = Cursor::new(&message[1..]);
        let list = cursor.delimited()?;
        if !cursor.is_empty() {
            return self.odd_list(data, message);
        }
        Ok(Some((kind, span_of(data, list))))
    }

    /// The list of a feature of any form: in pieces, of two kinds, or beside unknown fields.
    #[cold]
    fn odd_list(&mut self, data: &[u8], message: &[u8]) -> Result<Option<(Kind, Span)>, Fault> {
        let mut cursor = Cursor::new(message);
        let mut list: Option<(Kind, Span)> = None;
        while !cursor.is_empty() {
            let kind = match cursor.tag()? {
                (1, WireType::Delimited) => Kind::Bytes,
                (2, WireType::Delimited) => Kind::Float,
                (3, WireType::Delimited) => Kind::Int64,
                (field, wire_type) => {
                    cursor.skip(field, wire_type)?;
                    continue;
                }
            };
            let piece = cursor.delimited()?;
            // Pieces of one kind are merged; of two kinds, the last one counts.
            let before = list.filter(|(of, _)| *of == kind).map(|(_, span)| span);
            list = Some((kind, self.join(data, before, piece)));
        }
        Ok(list)
    }

    /// Finds the steps of the feature lists that were found.
    fn find_steps(&mut self, data: &[u8], room: usize) -> Result<(), KeyFault> {
        self.steps.clear();
        self.step_ranges.clear();
        for number in 0..self.messages.len() {
            let at = |fault| (Some(number), fault);
            let Some(span) = self.messages[number] else {
                self.step_ranges.push(None);
                continue;
            };
            let start = self.steps.len();
            let joined;
            let list = match span.is_joined {
                true => {
                    joined = self.joined[span.start..span.end].to_vec();
                    &joined[..]
                }
                false => &data[span.start..span.end],
            };
            let mut cursor = Cursor::new(list);
            while !cursor.is_empty() {
                match cursor.tag().map_err(at)? {
                    (1, WireType::Delimited) => {
                        let feature = cursor.delimited().map_err(at)?;
                        let span = self.span_of_any(data, feature);
                        let step = self.find_list(data, span).map_err(at)?;
                        self.steps.push(step);
                    }
                    (field, wire_type) => cursor.skip(field, wire_type).map_err(at)?,
                }
                // A step takes two bytes of the data, and the end of a list in a column.
                let needed = self.steps.len().saturating_mul(size_of::<i64>());
                if needed > room {
                    return Err(at(DecodeErrorKind::NoRoom { needed }.into()));
                }
            }
            self.step_ranges.push(Some((start, self.steps.len())));
        }
        Ok(())
    }

    /// Forgets the joined pieces of the record before.
    #[inline]
    pub(crate) fn forget(&mut self) {
        self.joined.clear();
    }
}

/// Calls `each` with the keys of the maps in field `field` of a message.
pub(crate) fn map_keys(
    message: &[u8],
    field: u32,
    mut each: impl FnMut(&[u8]) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut cursor = Cursor::new(message);
    while let Some(map) = next_of(&mut cursor, field)? {
        let mut entries = Cursor::new(map);
        while let Some(entry) = next_of(&mut entries, 1)? {
            let (mut fields, mut key) = (Cursor::new(entry), &[][..]);
            while let Some(last) = next_of(&mut fields, 1)? {
                key = last;
            }
            each(key)?;
        }
    }
    Ok(())
}

/// The next value with a length of field `field`; the fields before it are skipped.
fn next_of<'a>(cursor: &mut Cursor<'a>, field: u32) -> Result<Option<&'a [u8]>, Fault> {
    while !cursor.is_empty() {
        match cursor.tag()? {
            (found, WireType::Delimited) if found == field => return cursor.delimited().map(Some),
            (found, wire_type) => cursor.skip(found, wire_type)?,
        }
    }
    Ok(None)
}

/// The key and the value of an entry as writers write it: field 1, then field 2, and no more.
#[inline]
fn plain_entry(entry: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut cursor = Cursor::new(entry);
    if !cursor.eat(FIELD_1) {
        return None;
    }
    let key = cursor.delimited().ok()?;
    if !cursor.eat(FIELD_2) {
        return None;
    }
    let value = cursor.delimited().ok()?;
    cursor.rest().is_empty().then_some((key, value))
}

/// The span of `bytes`, which are a part of `data`.
#[inline]
fn span_of(data: &[u8], bytes: &[u8]) -> Span {
    let start = bytes.as_ptr().addr().wrapping_sub(data.as_ptr().addr());
    let is_inside = start <= data.len();
    let start = if is_inside { start } else { 0 };
    Span {
        start,
        end: start + bytes.len(),
        is_joined: false,
    }
}
