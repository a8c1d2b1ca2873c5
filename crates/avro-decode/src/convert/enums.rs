//! Reads enums as symbols, indices or ids, through a table of the writer's symbols.

use super::Out;
use super::chunks::converted;
use super::numbers::fit;
use super::out::integers;
use crate::DecodeErrorKind;
use crate::plan::cursor::{Cursor, Fault};
use crate::plan::items::Int;
use crate::schema::Enum;

/// Reads an enum as its symbol.
#[derive(Clone, Debug)]
pub(super) struct EnumSymbols(pub(super) SymbolTable<Box<str>>);

/// Reads an enum as a number for its symbol: the index, or an id.
#[derive(Clone, Debug)]
pub(super) struct EnumIds(pub(super) SymbolTable<i64>);

/// The result of each of the writer's symbols.
#[derive(Clone, Debug)]
pub(super) struct SymbolTable<T> {
    /// The result for each symbol, or as an error the symbol itself if the reader does not have it.
    entries: Box<[Result<T, Box<str>>]>,
    /// The reader's enum in words, for errors.
    reader: Box<str>,
}

/// The writer's and the reader's enums.
#[derive(Clone, Copy)]
pub(super) struct EnumPair<'a> {
    pub(super) writer: &'a Enum,
    pub(super) reader: &'a Enum,
    /// The reader's symbol for each of the writer's symbols, if the enums differ.
    pub(super) symbols: Option<&'a [Option<u32>]>,
}

impl EnumPair<'_> {
    /// Builds the table. `becomes` gets the index and the text of each reader's symbol that a
    /// writer's symbol resolves to.
    pub(super) fn table<T>(self, reader: &str, becomes: impl Fn(u32, &str) -> T) -> SymbolTable<T> {
        let entry = |(i, symbol): (usize, &String)| {
            let index = match self.symbols {
                Some(symbols) => symbols.get(i).copied().flatten(),
                None => u32::try_from(i).ok(),
            };
            let known = |index| Some(becomes(index, self.reader.symbols.get(index as usize)?));
            index.and_then(known).ok_or_else(|| symbol.as_str().into())
        };
        SymbolTable {
            entries: self.writer.symbols.iter().enumerate().map(entry).collect(),
            reader: reader.into(),
        }
    }
}

impl<T> SymbolTable<T> {
    /// The result of the symbol with the writer's index `index`.
    #[inline]
    fn get(&self, index: i32) -> Result<&T, Fault> {
        let position = usize::try_from(index).ok();
        match position.and_then(|position| self.entries.get(position)) {
            Some(Ok(value)) => Ok(value),
            Some(Err(symbol)) => Err(self.unknown(symbol)),
            None => Err(self.bad_index(index)),
        }
    }

    #[cold]
    fn unknown(&self, symbol: &str) -> Fault {
        let (symbol, reader) = (symbol.into(), self.reader.clone().into());
        Box::new(DecodeErrorKind::UnknownSymbol { symbol, reader })
    }

    #[cold]
    fn bad_index(&self, index: i32) -> Fault {
        let (index, symbols) = (index.into(), self.entries.len());
        Box::new(DecodeErrorKind::BadEnumIndex { index, symbols })
    }
}

impl EnumSymbols {
    pub(super) fn read(
        &self,
        cursor: &mut Cursor<'_>,
        n: usize,
        mut push: impl FnMut(&[u8]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        for _ in 0..n {
            let start = *cursor;
            let symbol = cursor.int().and_then(|index| self.0.get(index));
            match symbol {
                Ok(symbol) => push(symbol.as_bytes())?,
                Err(fault) => {
                    *cursor = start;
                    return Err(fault);
                }
            }
        }
        Ok(())
    }
}

impl EnumIds {
    pub(super) fn read(&self, cursor: &mut Cursor<'_>, out: Out<'_>) -> Result<(), Fault> {
        integers!(out, out: Integer => converted::<Int, _>(cursor, out, |index| {
            fit::<Integer>(*self.0.get(index)?)
        }))
    }
}
