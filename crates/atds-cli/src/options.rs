//! Parsers of option values that are not plain numbers or paths.

use atds::{Codec, FileFormat, Layout, Shuffle, Threads, Tolerate};
use atds_generate::Preset;
use clap::builder::{PossibleValuesParser, TypedValueParser};

/// The maximum number of threads: above the cores of any machine, and small enough to start.
const MAX_THREADS: usize = 1_024;

/// `auto`, or a number above 0.
pub(crate) fn threads(text: &str) -> Result<Threads, String> {
    if text == "auto" {
        return Ok(Threads::Auto);
    }
    match text.parse() {
        Ok(n @ 1..=MAX_THREADS) => Ok(Threads::Fixed(n)),
        _ => Err(format!("must be auto or 1 to {MAX_THREADS}")),
    }
}

/// A number above 0.
pub(crate) fn above_zero(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 1..) => Ok(n),
        Ok(0) => Err("must be above 0".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Two numbers above 0, of files and of records.
pub(crate) fn interleave(text: &str) -> Result<(usize, u64), String> {
    let must = || "must be two numbers above 0, of files and of records, such as 4,16".to_owned();
    let (files, records) = text.split_once(',').ok_or_else(must)?;
    match (files.parse(), records.parse()) {
        (Ok(files @ 1..), Ok(records @ 1..)) => Ok((files, records)),
        _ => Err(must()),
    }
}

/// The faults to tolerate, by name.
pub(crate) fn tolerate(names: &str) -> Result<Tolerate, String> {
    let known = || format!("the names are {}", Tolerate::NAMES.join(", "));
    names.parse().map_err(|_| known())
}

/// The name of a preset.
pub(crate) fn preset() -> impl TypedValueParser<Value = Preset> {
    PossibleValuesParser::new(Preset::ALL.map(Preset::name))
        .try_map(|name| Preset::from_name(&name).ok_or("unknown preset"))
}

/// The name of a codec that is compiled in.
pub(crate) fn codec() -> impl TypedValueParser<Value = Codec> {
    let enabled = Codec::ALL.into_iter().filter(|codec| codec.is_enabled());
    PossibleValuesParser::new(enabled.map(Codec::name))
        .try_map(|name| Codec::from_name(&name).ok_or("unknown codec"))
}

/// The name of a format.
pub(crate) fn format() -> impl TypedValueParser<Value = FileFormat> {
    let formats = FileFormat::ALL.iter().copied();
    PossibleValuesParser::new(formats.map(FileFormat::name))
        .try_map(|name| name.parse::<FileFormat>())
}

/// What is shuffled of all files together.
pub(crate) fn shuffle() -> impl TypedValueParser<Value = Shuffle> {
    PossibleValuesParser::new(["none", "blocks"]).map(|name| match name.as_str() {
        "blocks" => Shuffle::Blocks,
        _ => Shuffle::None,
    })
}

/// The name of a layout.
pub(crate) fn layout() -> impl TypedValueParser<Value = Layout> {
    PossibleValuesParser::new(["coo", "ragged"]).map(|name| match name.as_str() {
        "ragged" => Layout::Ragged,
        _ => Layout::Coo,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_auto_or_a_number() {
        assert_eq!(threads("auto"), Ok(Threads::Auto));
        assert_eq!(threads("7"), Ok(Threads::Fixed(7)));
        for bad in ["0", "1025", "-1", "many", ""] {
            assert_eq!(threads(bad), Err("must be auto or 1 to 1024".to_owned()));
        }
    }
}
