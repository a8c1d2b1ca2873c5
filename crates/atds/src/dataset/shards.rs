//! Parts of a data set: what ranks, workers and other readers have of it.

use std::ops::Range;
use std::sync::Arc;

use atds_pipeline::{Options, Slice};

use crate::shares::{ShardBy, World, every, shard};
use crate::state::{Reader, sum};
use crate::{Dataset, DatasetBuilder, Error};

impl DatasetBuilder {
    /// Sets what [shards](Dataset::shard) and [shares](Dataset::share) are made of: records by default, which
    /// are counted first. With [`ShardBy::File`] readers have whole files, and nothing is counted.
    ///
    /// ```
    /// # use atds_generate::{generate, GenerateOptions, Preset};
    /// # let folder = tempfile::tempdir()?;
    /// # let folder = folder.path();
    /// # let mut options = GenerateOptions::new(Preset::Ads, 1_000);
    /// # options.files = 4;
    /// # generate(folder, &options)?;
    /// use atds::ShardBy;
    ///
    /// let builder = atds::Dataset::builder(folder, 64).shard_by(ShardBy::File);
    /// let dataset = builder.build()?;
    /// let mut records = 0;
    /// for rank in 0..3 {
    ///     for batch in &dataset.shard(rank, 3)? {
    ///         records += batch?.rows();
    ///     }
    /// }
    /// assert_eq!(records, 1_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn shard_by(mut self, by: ShardBy) -> Self {
        self.run.shard_by = by;
        self
    }
}

impl Dataset {
    /// The shard of this data set that one of `count` processes reads. Each record of an epoch is
    /// in exactly one shard, and shards differ by at most one record. Each call counts the records
    /// of all files; for several shards, count once and call [`slice`](Dataset::slice).
    ///
    /// With [`ShardBy::File`] it has every `count`th file from file `index` on instead, in the order of
    /// [`files`](Dataset::files), and nothing is counted. Files of other shards are not opened by its iterations. A
    /// shard of a shard has every `count`th of its files.
    ///
    /// A shard draws from its shuffle buffer as rank `index`, see [`with_rank`](Dataset::with_rank);
    /// a shard of a slice draws as a slice does.
    ///
    /// ```
    /// # use atds_generate::{generate, GenerateOptions, Preset};
    /// # let folder = tempfile::tempdir()?;
    /// # let folder = folder.path();
    /// # generate(folder, &GenerateOptions::new(Preset::Ads, 1_000))?;
    /// let dataset = atds::Dataset::builder(folder, 64).build()?;
    /// let shard = dataset.shard(2, 3)?;
    /// assert_eq!(shard.num_records()?, 334);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// An index that is not below `count`; otherwise as for
    /// [`file_records`](Dataset::file_records).
    pub fn shard(&self, index: u64, count: u64) -> Result<Dataset, Error> {
        Error::check(index < count, "index", "below the count of shards")?;
        let pipeline = &self.settings.run.pipeline;
        if self.settings.run.shard_by == ShardBy::File {
            return match pipeline.files {
                None => self.share(World::of_shards(count), index, 0, []),
                Some(_) => Ok(self.with_files(index, count)?.with_rank(index, 0)),
            };
        }
        let file_records = self.file_records()?;
        match &pipeline.slice {
            None => self.share(World::of_shards(count), index, 0, file_records),
            Some(_) => self.slice(shard(self.num_records()?, index, count), file_records),
        }
    }

    /// The records of worker `worker` of rank `rank` of a world, in each epoch: those of its
    /// [share](crate::shares). It has all batches of these records: the caller leaves out or adds those that
    /// `uneven` says. `file_records` are the data set's [`file_records`](Dataset::file_records). With a
    /// [merged](crate::state::State::merge) state it goes on with its share of what is left.
    ///
    /// With [`ShardBy::File`] a rank has every `ranks`th file, as a [shard](Self::shard) has, and a worker every
    /// `workers`th of these. `file_records` are then not looked at, and may be empty.
    ///
    /// # Errors
    /// A rank or worker that the world lacks, or a data set that is a slice; otherwise as for
    /// [`slice`](Dataset::slice).
    pub fn share(
        &self,
        world: World,
        rank: u64,
        worker: u64,
        file_records: impl Into<Arc<[u64]>>,
    ) -> Result<Dataset, Error> {
        Error::check(rank < world.ranks, "rank", "below the number of ranks")?;
        Error::check(
            worker < world.workers,
            "worker",
            "below the number of workers",
        )?;
        let pipeline = &self.settings.run.pipeline;
        let is_all = pipeline.slice.is_none() && pipeline.files.is_none();
        Error::check(is_all, "world", "left out for a slice")?;
        let mine = match self.settings.run.shard_by {
            ShardBy::File => {
                let of_rank = self.with_files(rank, world.ranks)?;
                of_rank.with_files(worker, world.workers)?
            }
            ShardBy::Record => {
                let file_records = file_records.into();
                let share = world.share(
                    sum(&file_records),
                    pipeline.batch_size as u64,
                    pipeline.drop_remainder,
                    rank,
                );
                self.slice(share.worker(worker).records, file_records)?
            }
        };
        let mut shared = mine.with_rank(rank, worker);
        shared.change(|settings| {
            settings.reader = Some(Reader {
                world,
                rank,
                worker,
            });
        });
        Ok(shared)
    }

    /// Every `count`th of the files from number `index` on.
    fn with_files(&self, index: u64, count: u64) -> Result<Dataset, Error> {
        let pipeline = &self.settings.run.pipeline;
        Error::check(
            pipeline.slice.is_none(),
            "shard_by",
            "\"record\" for a slice",
        )?;
        let files = match &pipeline.files {
            Some(own) => every(own.iter().copied(), index, count),
            None => every(0..self.files().len(), index, count),
        };
        let mut mine = self.with(|pipeline| pipeline.files = Some(files));
        // They are of fewer files.
        mine.change(|settings| settings.file_prints = Arc::default());
        Ok(mine)
    }

    /// The same records, drawn from the shuffle buffer by worker `worker` of rank `rank`. Seed,
    /// epoch, rank and worker fix the draws. The draws of different ranks and workers are
    /// independent. The orders of files and of blocks are the same for all ranks and workers.
    ///
    /// A data set that is no slice draws as worker 0 of rank 0. Give the slices of several processes
    /// the numbers of these, so that their order depends on nothing else.
    pub fn with_rank(&self, rank: u64, worker: u64) -> Dataset {
        let stream = |pipeline: &mut Options| {
            (pipeline.stream.rank, pipeline.stream.worker) = (rank, worker);
        };
        let mut dataset = self.with(stream);
        dataset.change(|settings| settings.reader = None);
        dataset
    }

    /// The slice of this data set that reads the range `records` of an epoch. Positions count in
    /// the epoch's order of files and blocks, before the shuffle buffer. If files or blocks are
    /// shuffled, a slice has other records in every epoch. Slices that do not overlap never read
    /// the same record. A slice draws from its shuffle buffer as if the number of its first record
    /// were its [rank](Dataset::with_rank), so that other slices draw independently.
    ///
    /// Only files and blocks with records in the slice are read. `file_records`
    /// are the data set's [`file_records`](Dataset::file_records), counted here or
    /// by another process with the same files. A slice of a slice counts from the start of the
    /// outer slice.
    ///
    /// # Errors
    /// The range is beyond the records or ends before it starts, or there are counts for another
    /// number of files. Iterating fails if a file has another number of records than was counted.
    pub fn slice(
        &self,
        records: Range<u64>,
        file_records: impl Into<Arc<[u64]>>,
    ) -> Result<Dataset, Error> {
        let file_records = file_records.into();
        let is_all = self.settings.run.pipeline.files.is_none();
        Error::check(is_all, "records", "all where files are shared")?;
        let inputs = &self.settings.inputs;
        inputs
            .refuse("shards and slices of it cannot be read, but by file (`shard_by=\"file\"`)")?;
        let is_right = file_records.len() == self.files().len();
        Error::check(is_right, "file_records", "a count for each file")?;
        let all = match &self.settings.run.pipeline.slice {
            Some(slice) => slice.records.clone(),
            None => 0..sum(&file_records),
        };
        let is_right = records.start <= records.end && records.end <= all.end - all.start;
        Error::check(is_right, "records", "a range of those there are")?;
        let records = all.start + records.start..all.start + records.end;
        let first = records.start;
        let slice = Slice {
            records,
            file_records,
        };
        let sliced = self.with(|pipeline| pipeline.slice = Some(slice));
        Ok(sliced.with_rank(first, 0))
    }
}
