//! The native part of the Python package `atds`: the facade's data sets,
//! iterations and messages as Python objects, and their columns as NumPy arrays
//! over the memory that the pipeline wrote.
//!
//! Names, dtypes and options are checked and documented in Python, in `python/atds/`. This crate
//! has only the parts that need the memory or the threads.

mod arrow;
mod batch;
mod batches;
mod btable;
mod command;
mod dataset;
mod dlpack;
mod errors;
mod files;
mod fork;
mod logging;
mod memory;
mod messages;
mod options;
mod packing;
mod records;
mod rows;
mod schemas;
mod shares;
mod states;
mod stats;
mod waiting;

use pyo3::prelude::*;

/// For the module's memory only.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: atds_cli::Allocator = atds_cli::Allocator;

#[pymodule(name = "_native")]
mod native {
    #[pymodule_export]
    use crate::arrow::{export_array, export_stream};
    #[pymodule_export]
    use crate::batches::Batches;
    #[pymodule_export]
    use crate::btable::{TableReader, TableWriter};
    #[pymodule_export]
    use crate::command::run_command;
    #[pymodule_export]
    use crate::dataset::{Dataset, spec_of_features};
    #[pymodule_export]
    use crate::dlpack::bfloat16_dlpack;
    #[pymodule_export]
    use crate::files::{
        Files, check_features, check_features_file, infer_features, inspect, read_schema,
        without_damaged,
    };
    #[pymodule_export]
    use crate::fork::forked;
    #[pymodule_export]
    use crate::logging::forward_logs;
    #[pymodule_export]
    use crate::messages::{MessageDecoder, Reencoder};
    #[pymodule_export]
    use crate::packing::copy_into;
    #[pymodule_export]
    use crate::records::RecordReader;
    #[pymodule_export]
    use crate::rows::{RowWriter, codec_levels, format_of_name};
    #[pymodule_export]
    use crate::schemas::FileSchemas;
    #[pymodule_export]
    use crate::shares::{rank_share, shares_of_files, worker_share};
    #[pymodule_export]
    use crate::states::merge_states;
    #[pymodule_export]
    use crate::stats::{StatsHandle, no_stats};

    #[pymodule_init]
    fn init(_module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        crate::logging::install();
        Ok(())
    }

    /// The version of the package.
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "it is Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
