//! Flags for what becomes of damage.

use std::path::PathBuf;

use atds::damage::MaxSkipped;
use atds::interface::Interface;
use atds::{DatasetBuilder, OnError};

/// Flags for what becomes of damage.
#[derive(Debug, clap::Args)]
pub(crate) struct OnErrorArgs {
    /// What becomes of damage: raise; skip_block leaves out what cannot be read; skip_file leaves out
    /// files with any damage, for which all are read once more
    #[arg(long, value_name = "CHOICE", default_value_t = OnError::Raise, value_parser = choice)]
    on_error: OnError,
    /// How much of an epoch skip_block may leave out: a number of records, or a part such as 1%
    #[arg(long, value_name = "N|P%", value_parser = max_skipped)]
    max_skipped: Option<MaxSkipped>,
    /// Add each place of damage that skip_block leaves out to this file, as a line of JSON
    #[arg(long, value_name = "FILE")]
    skip_log: Option<PathBuf>,
}

impl OnErrorArgs {
    /// A data set with these options.
    pub(crate) fn apply(&self, mut builder: DatasetBuilder) -> DatasetBuilder {
        builder = builder
            .on_error(self.on_error)
            .interface(Interface::Command);
        if let Some(max) = self.max_skipped {
            builder = builder.max_skipped(max);
        }
        if let Some(path) = &self.skip_log {
            builder = builder.skip_log(path.clone());
        }
        builder
    }
}

fn choice(name: &str) -> Result<OnError, String> {
    let known = |_| "the choices are raise, skip_block and skip_file".to_owned();
    name.parse().map_err(known)
}

fn max_skipped(text: &str) -> Result<MaxSkipped, String> {
    let must = || "must be a number of records, or a part from 0% to 100%".to_owned();
    match text.strip_suffix('%') {
        None => text.parse().map(MaxSkipped::Records).map_err(|_| must()),
        Some(percent) => match percent.parse::<f64>() {
            Ok(percent) if (0.0..=100.0).contains(&percent) => {
                Ok(MaxSkipped::Fraction(percent / 100.0))
            }
            _ => Err(must()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_or_a_part() {
        assert_eq!(max_skipped("20"), Ok(MaxSkipped::Records(20)));
        assert_eq!(max_skipped("12.5%"), Ok(MaxSkipped::Fraction(0.125)));
        for bad in ["", "-1", "101%", "x%", "0.5", "NaN%"] {
            assert!(max_skipped(bad).is_err(), "{bad}");
        }
    }
}
