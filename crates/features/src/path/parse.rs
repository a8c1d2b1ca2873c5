//! Parses text into paths, in one pass.

use std::fmt::Display;

use super::{
    Constant, Filter, Operand, Path, PathError, PathErrorKind, Reference, Side, Slice, Step,
};
use crate::limits::{MAX_PATH_BYTES, MAX_PATH_STEPS};

/// See [`Path::parse`].
pub(super) fn path(text: &str) -> Result<Path, PathError> {
    whole(text, |parser| match text {
        "@" => {
            parser.at = 1;
            Ok(Path { steps: Vec::new() })
        }
        _ => parser.path_from_any_step(Within::Expression),
    })
}

/// See [`Reference::parse`].
pub(super) fn reference(text: &str) -> Result<Reference, PathError> {
    whole(text, |parser| {
        let from_root = parser.eat(b'@');
        let path = match text {
            "@" => Path { steps: Vec::new() },
            _ => parser.path_from_any_step(Within::Expression)?,
        };
        Ok(Reference { from_root, path })
    })
}

/// Number of bytes of the name at the start of a text; 0 if there is none.
pub(super) fn name_length(text: &[u8]) -> usize {
    match text.first() {
        Some(b'a'..=b'z' | b'A'..=b'Z' | b'_') => {
            count(text, |byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        }
        _ => 0,
    }
}

/// The step to the keys of a map. It cannot be a field, since a name without quotes has no
/// parentheses.
const KEYS: &[u8] = b".keys()";

/// Parses all of a text with `parse`.
fn whole<'a, T: Display>(
    text: &'a str,
    parse: impl FnOnce(&mut Parser<'a>) -> Result<T, PathError>,
) -> Result<T, PathError> {
    let mut parser = Parser { text, at: 0 };
    if text.is_empty() {
        return Err(parser.error(PathErrorKind::Empty));
    }
    parser.check_length(text.len())?;
    let parsed = parse(&mut parser)?;
    if parser.at < text.len() {
        return Err(parser.error(PathErrorKind::Expected("'.', '[' or ':'")));
    }
    // The printed form can be longer, since its quotes differ. It must stay within the limit too,
    // so that it parses.
    Parser { text, at: 0 }.check_length(parsed.to_string().len())?;
    Ok(parsed)
}

/// The context of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Expression,
    /// In a filter, where the path leads to a single value.
    Operand,
}

/// The first value between brackets.
enum Inside<'a> {
    Quoted(String),
    Number(Number<'a>),
    Other(Operand),
}

/// A number's text, and its offset in the expression.
#[derive(Clone, Copy)]
struct Number<'a> {
    text: &'a str,
    start: usize,
}

/// A text, and the number of bytes parsed. That number is always the start of a character: the
/// parser skips only ASCII, and quoted text.
struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn path(&mut self, within: Within) -> Result<Path, PathError> {
        let first = self.name(within)?;
        self.steps(first, within)
    }

    /// Parses a path from a value that need not be a record, so that any step can come first.
    fn path_from_any_step(&mut self, within: Within) -> Result<Path, PathError> {
        match self.peek() {
            Some(b'[' | b':') => self.more_steps(Vec::new(), within),
            _ if self.rest().starts_with(KEYS) => self.more_steps(Vec::new(), within),
            _ => self.path(within),
        }
    }

    /// Parses the steps after the name `first`.
    fn steps(&mut self, first: String, within: Within) -> Result<Path, PathError> {
        self.more_steps(vec![Step::Field(first)], within)
    }

    /// Parses all following steps.
    fn more_steps(&mut self, mut steps: Vec<Step>, within: Within) -> Result<Path, PathError> {
        loop {
            let start = self.at;
            let step = match self.peek() {
                Some(b'.') if self.rest().starts_with(KEYS) => {
                    if within == Within::Operand {
                        return Err(self.error(PathErrorKind::NotSingle));
                    }
                    self.at += KEYS.len();
                    Step::Keys
                }
                Some(b'.') => {
                    self.at += 1;
                    Step::Field(self.name(within)?)
                }
                Some(b'[') => self.brackets(within)?,
                Some(b':') => self.branch(within)?,
                _ => return Ok(Path { steps }),
            };
            if steps.len() == MAX_PATH_STEPS {
                return Err(self.error_at(PathErrorKind::TooManySteps, start));
            }
            steps.push(step);
        }
    }

    /// Parses the name of a field, plain or in quotes.
    fn name(&mut self, within: Within) -> Result<String, PathError> {
        self.plain_or_quoted(within, "a field's name")
    }

    /// Parses `:name` or `:'full.name'`.
    fn branch(&mut self, within: Within) -> Result<Step, PathError> {
        self.at += 1;
        let name = self.plain_or_quoted(within, "a type's name")?;
        Ok(Step::Branch(name))
    }

    fn plain_or_quoted(
        &mut self,
        within: Within,
        expected: &'static str,
    ) -> Result<String, PathError> {
        if self.at_quote() {
            return self.quoted();
        }
        let start = self.at;
        let length = name_length(self.rest());
        if let Some(name) = self.name_that_needs_quotes(length, within) {
            return Err(self.error_at(PathErrorKind::NeedsQuotes { name }, start + length));
        }
        if length == 0 {
            return Err(self.error(PathErrorKind::Expected(expected)));
        }
        Ok(self.take(length).to_owned())
    }

    /// The whole name, if the text continues after `length` bytes of a plain name with characters
    /// that only a quoted name can have.
    fn name_that_needs_quotes(&self, length: usize, within: Within) -> Option<String> {
        let rest = &self.text[self.at..];
        let is_step = |c: char| matches!(c, '.' | '[' | ':');
        let is_of_filter = |c: char| matches!(c, '=' | ']') && within == Within::Operand;
        // White space, brackets, quotes and comparison operators of other languages are more likely
        // a mistake than part of a name.
        let is_mistake = |c: char| {
            let sign = matches!(c, ']' | '=' | '\'' | '"' | '*' | '!' | '<' | '>' | '?');
            sign || (c.is_ascii_whitespace() && within == Within::Operand)
        };
        let next = rest[length..].chars().next()?;
        if is_step(next) || is_of_filter(next) || is_mistake(next) {
            return None;
        }
        let bytes = rest.as_bytes();
        // `1.5` is one name here, not a field `5` of a field `1`.
        let is_decimal = |at: usize| {
            bytes[0].is_ascii_digit()
                && bytes[at] == b'.'
                && bytes.get(at + 1).is_some_and(u8::is_ascii_digit)
        };
        let mut ends = rest.char_indices();
        let end = ends.find(|&(at, c)| is_of_filter(c) || is_step(c) && !is_decimal(at));
        let end = end.map_or(rest.len(), |(at, _)| at);
        let name = rest[..end].trim_end_matches(' ');
        (name.len() > length).then(|| name.to_owned())
    }

    /// Parses `[...]`. Only the text after the first value tells the cases apart: `['a']` is a key,
    /// `['a'=b]` a filter.
    fn brackets(&mut self, within: Within) -> Result<Step, PathError> {
        self.at += 1;
        self.skip_whitespace();
        let start = self.at;
        if within == Within::Expression && self.eat(b'*') {
            self.close()?;
            return Ok(Step::All);
        }
        let inside = match self.peek() {
            Some(b'\'' | b'"') => Inside::Quoted(self.quoted()?),
            Some(b'0'..=b'9') => Inside::Number(self.number()?),
            Some(b'-') if within == Within::Expression => Inside::Number(self.number()?),
            Some(b':') if within == Within::Expression => return self.slice(None),
            // A filter cannot contain a filter, which ends the recursion.
            _ if within == Within::Operand => {
                return Err(self.error(PathErrorKind::NotSingle));
            }
            Some(b'=') => return Err(self.error(PathErrorKind::MissingSide(Side::Left))),
            _ => {
                Inside::Other(self.operand("an index, a slice, '*', a key in quotes or a filter")?)
            }
        };
        let inside = match inside {
            // A key is complete here.
            Inside::Quoted(name) if within == Within::Expression && self.at_step() => {
                let path = self.steps(name, Within::Operand)?;
                Inside::Other(Operand::Element(path))
            }
            inside => inside,
        };
        self.skip_whitespace();
        match (self.peek(), inside) {
            (Some(b']'), Inside::Quoted(key)) => {
                self.at += 1;
                Ok(Step::Key(key))
            }
            (Some(b','), Inside::Quoted(key)) if within == Within::Expression => {
                self.some_keys(key)
            }
            (Some(b']'), Inside::Number(number)) if number.is_integer() => {
                if number.text.starts_with('-') {
                    let index = self.bound(number)?;
                    return Err(self.error_at(PathErrorKind::NegativeIndex(index), start));
                }
                self.at += 1;
                let index = number.text.parse();
                index.map(Step::Index).map_err(|_| self.too_large(number))
            }
            (Some(b':'), Inside::Number(number)) if within == Within::Expression => {
                let start = self.bound(number)?;
                self.slice(Some(start))
            }
            (Some(b':' | b','), _) if within == Within::Operand => {
                Err(self.error_at(PathErrorKind::NotSingle, start))
            }
            (Some(b',' | b'-'), Inside::Number(_)) if within == Within::Expression => {
                Err(self.error(PathErrorKind::NotASlice))
            }
            (_, Inside::Number(_))
                if within == Within::Expression && self.rest().starts_with(b"..") =>
            {
                Err(self.error(PathErrorKind::NotASlice))
            }
            (Some(b']'), _) => Err(self.error_at(PathErrorKind::NotAStep, start)),
            (Some(b'='), _) if within == Within::Operand => {
                Err(self.error_at(PathErrorKind::NotSingle, start))
            }
            (Some(b'='), inside) => {
                let left = self.side(inside)?;
                self.filter(left, start).map(Step::Filter)
            }
            (_, Inside::Other(_)) => Err(self.error(PathErrorKind::Expected("'='"))),
            _ => Err(self.error(PathErrorKind::UnclosedBracket)),
        }
    }

    /// Parses `, 'key', 'key']`, after the first key.
    fn some_keys(&mut self, first: String) -> Result<Step, PathError> {
        let mut keys = vec![first];
        while self.eat(b',') {
            self.skip_whitespace();
            if !self.at_quote() {
                return Err(self.error(PathErrorKind::Expected("a key in quotes after the ','")));
            }
            keys.push(self.quoted()?);
            self.skip_whitespace();
        }
        self.close()?;
        Ok(Step::SomeKeys(keys))
    }

    /// Parses `:end]`, after the start of a slice.
    fn slice(&mut self, start: Option<i64>) -> Result<Step, PathError> {
        self.at += 1;
        self.skip_whitespace();
        let end = match self.peek() {
            Some(b'0'..=b'9' | b'-') => {
                let number = self.number()?;
                Some(self.bound(number)?)
            }
            Some(b']' | b':') => None,
            _ => return Err(self.error(PathErrorKind::Expected("the end of a slice, or ']'"))),
        };
        self.skip_whitespace();
        if self.peek() == Some(b':') {
            return Err(self.error(PathErrorKind::SliceStep));
        }
        self.close()?;
        Ok(Step::Slice(Slice { start, end }))
    }

    /// Converts a number to a bound of a slice, or to a (wrong) negative index.
    fn bound(&self, number: Number<'a>) -> Result<i64, PathError> {
        if !number.is_integer() {
            let kind = PathErrorKind::Expected("an integer");
            return Err(self.error_at(kind, number.start));
        }
        number.text.parse().map_err(|_| self.too_large(number))
    }

    /// Parses `=right]`. The side `left`, already parsed, began at `start`.
    fn filter(&mut self, left: Operand, start: usize) -> Result<Filter, PathError> {
        self.at += 1;
        self.skip_whitespace();
        let right = match self.peek() {
            Some(b'=') => return Err(self.error(PathErrorKind::SecondEquals)),
            Some(b']') | None => return Err(self.error(PathErrorKind::MissingSide(Side::Right))),
            _ => self.operand("a path or a constant")?,
        };
        self.skip_whitespace();
        if self.peek() == Some(b'=') {
            return Err(self.error(PathErrorKind::SecondEquals));
        }
        self.close()?;
        if let (Operand::Constant(_), Operand::Constant(_)) = (&left, &right) {
            return Err(self.error_at(PathErrorKind::BothConstant, start));
        }
        Ok(Filter { left, right })
    }

    fn operand(&mut self, expected: &'static str) -> Result<Operand, PathError> {
        match self.peek() {
            Some(b'@') => {
                self.at += 1;
                self.path_from_any_step(Within::Operand).map(Operand::Root)
            }
            Some(b'.') => {
                self.at += 1;
                self.path(Within::Operand).map(Operand::Element)
            }
            Some(b'\'' | b'"') => {
                let text = self.quoted()?;
                if self.at_step() {
                    return self.steps(text, Within::Operand).map(Operand::Element);
                }
                self.side(Inside::Quoted(text))
            }
            Some(b'0'..=b'9' | b'+' | b'-') => {
                let number = self.number()?;
                self.side(Inside::Number(number))
            }
            _ if !self.at_name(Within::Operand) => {
                Err(self.error(PathErrorKind::Expected(expected)))
            }
            _ => self.path(Within::Operand).map(path_or_boolean),
        }
    }

    fn side(&self, inside: Inside<'_>) -> Result<Operand, PathError> {
        Ok(Operand::Constant(match inside {
            Inside::Other(operand) => return Ok(operand),
            Inside::Quoted(text) => Constant::String(text),
            Inside::Number(number) => number.constant().ok_or_else(|| self.too_large(number))?,
        }))
    }

    /// Parses a text between two quotes of the same kind.
    fn quoted(&mut self) -> Result<String, PathError> {
        let start = self.at;
        let mut chars = self.text[start..].char_indices();
        let quote = chars.next().map(|(_, quote)| quote);
        let mut text = String::new();
        while let Some((at, c)) = chars.next() {
            if Some(c) == quote {
                self.at = start + at + 1;
                return Ok(text);
            }
            match (c, chars.clone().next()) {
                ('\\', Some((_, escaped @ ('\\' | '\'' | '"')))) => {
                    text.push(escaped);
                    chars.next();
                }
                ('\\', Some((_, other))) => {
                    return Err(self.error_at(PathErrorKind::BadEscape(other), start + at));
                }
                _ => text.push(c),
            }
        }
        Err(self.error_at(PathErrorKind::UnclosedQuote, start))
    }

    /// Parses the longest number. A point or an exponent without digits does not belong to it.
    fn number(&mut self) -> Result<Number<'a>, PathError> {
        let start = self.at;
        let rest = self.rest();
        let sign = sign_length(rest);
        let mut length = sign + digits_length(&rest[sign..]);
        if length == sign {
            self.at += sign;
            return Err(self.error(PathErrorKind::Expected("a digit")));
        }
        if rest.get(length) == Some(&b'.') {
            let digits = digits_length(&rest[length + 1..]);
            length += if digits > 0 { 1 + digits } else { 0 };
        }
        if let Some(b'e' | b'E') = rest.get(length) {
            let sign = sign_length(&rest[length + 1..]);
            let digits = digits_length(&rest[length + 1 + sign..]);
            length += if digits > 0 { 1 + sign + digits } else { 0 };
        }
        let text = self.take(length);
        Ok(Number { text, start })
    }

    fn close(&mut self) -> Result<(), PathError> {
        self.skip_whitespace();
        if self.eat(b']') {
            Ok(())
        } else {
            Err(self.error(PathErrorKind::UnclosedBracket))
        }
    }

    fn rest(&self) -> &'a [u8] {
        &self.text.as_bytes()[self.at..]
    }

    fn peek(&self) -> Option<u8> {
        self.rest().first().copied()
    }

    fn at_quote(&self) -> bool {
        matches!(self.peek(), Some(b'\'' | b'"'))
    }

    /// Whether a step follows.
    fn at_step(&self) -> bool {
        matches!(self.peek(), Some(b'.' | b'[' | b':'))
    }

    /// Whether a name follows: plain, in quotes, or, by mistake, without the quotes it needs.
    fn at_name(&self, within: Within) -> bool {
        name_length(self.rest()) > 0 || self.name_that_needs_quotes(0, within).is_some()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    /// Takes the next `length` bytes, which are ASCII.
    fn take(&mut self, length: usize) -> &'a str {
        let taken = &self.text[self.at..self.at + length];
        self.at += length;
        taken
    }

    fn skip_whitespace(&mut self) {
        self.at += count(self.rest(), u8::is_ascii_whitespace);
    }

    fn check_length(&self, bytes: usize) -> Result<(), PathError> {
        if bytes > MAX_PATH_BYTES {
            return Err(self.error(PathErrorKind::TooLong { bytes }));
        }
        Ok(())
    }

    #[cold]
    fn too_large(&self, number: Number<'_>) -> PathError {
        self.error_at(PathErrorKind::NumberTooLarge, number.start)
    }

    #[cold]
    fn error(&self, kind: PathErrorKind) -> PathError {
        self.error_at(kind, self.at)
    }

    #[cold]
    fn error_at(&self, kind: PathErrorKind, offset: usize) -> PathError {
        PathError::new(kind, offset, self.text)
    }
}

impl Number<'_> {
    fn is_integer(self) -> bool {
        !self.text.contains(['.', 'e', 'E'])
    }

    /// The number as a constant; `None` if it is too large.
    fn constant(self) -> Option<Constant> {
        if self.is_integer() {
            return self.text.parse().ok().map(Constant::Integer);
        }
        let number = self.text.parse().ok();
        number.filter(|n: &f64| n.is_finite()).map(Constant::Float)
    }
}

/// A path of an element, or a constant if the path is `true` or `false`.
fn path_or_boolean(path: Path) -> Operand {
    match path.steps.as_slice() {
        [Step::Field(word)] if is_boolean(word) => {
            Operand::Constant(Constant::Boolean(word == "true"))
        }
        _ => Operand::Element(path),
    }
}

/// Whether a word is `true` or `false`.
pub(super) fn is_boolean(word: &str) -> bool {
    matches!(word, "true" | "false")
}

fn sign_length(text: &[u8]) -> usize {
    usize::from(matches!(text.first(), Some(b'+' | b'-')))
}

fn digits_length(text: &[u8]) -> usize {
    count(text, u8::is_ascii_digit)
}

/// Number of bytes at the start for which `is` is true.
fn count(text: &[u8], is: impl Fn(&u8) -> bool) -> usize {
    text.iter().take_while(|byte| is(byte)).count()
}
