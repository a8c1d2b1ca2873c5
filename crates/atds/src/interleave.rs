//! Files that take turns.

use atds_pipeline::{Interleave, Options};

use crate::{DatasetBuilder, Error};

impl DatasetBuilder {
    /// Has files take turns: `cycle_length` files are open at once, and each gives `block_length` records in its
    /// turn. By default, one file is read after another. The order is that of `tf.data`'s
    /// `interleave(cycle_length, block_length)`, which is the same for any number of threads: a file that has
    /// ended leaves its turn to the next file of the epoch's order. The shuffle buffer draws from records in this
    /// order. Shards and states know it, too.
    ///
    /// ```
    /// # use atds_generate::{generate, GenerateOptions, Preset};
    /// # let folder = tempfile::tempdir()?;
    /// # let folder = folder.path();
    /// # generate(folder, &GenerateOptions::new(Preset::Ads, 1_000))?;
    /// let dataset = atds::Dataset::builder(folder, 64).interleave(4, 16).build()?;
    /// assert_eq!(dataset.iter().count(), 16);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn interleave(mut self, cycle_length: usize, block_length: u64) -> Self {
        self.run.pipeline.interleave = Some(Interleave {
            cycle_length,
            block_length,
        });
        self
    }
}

/// An error if files cannot take turns so.
pub(crate) fn check_turns(options: &Options) -> Result<(), Error> {
    let Some(interleave) = &options.interleave else {
        return Ok(());
    };
    let is_right = interleave.cycle_length > 0 && interleave.block_length > 0;
    Error::check(is_right, "interleave", "of numbers above 0")?;
    let is_apart = options.shuffle_blocks || options.shuffle_runs;
    let must =
        "left out beside `shuffle_blocks` and `shuffle=\"blocks\"`, whose orders it would replace";
    Error::check(!is_apart, "interleave", must)
}
