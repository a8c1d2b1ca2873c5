//! A progress bar on standard error, if that is a terminal.

use std::io::{IsTerminal, stderr};
use std::ops::ControlFlow;

use atds::{Dataset, DatasetBuilder, Error};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar for `total` records.
pub(crate) fn records(total: u64, doing: &'static str) -> ProgressBar {
    let form = "{msg} [{bar:40}] {human_pos} of {human_len} records, {eta} left";
    bar(Some(total), doing, form)
}

/// A bar for `total` bytes; a counter if the total is unknown.
pub(crate) fn bytes(total: Option<u64>, doing: &'static str) -> ProgressBar {
    let Some(total) = total else {
        return bar(
            None,
            doing,
            "{msg} {spinner} {decimal_bytes}, {decimal_bytes_per_sec}",
        );
    };
    let form = "{msg} [{bar:40}] {decimal_bytes} of {decimal_total_bytes}, {decimal_bytes_per_sec}, {eta} left";
    bar(Some(total), doing, form)
}

/// A bar for `total` files.
pub(crate) fn files(total: u64, doing: &'static str) -> ProgressBar {
    let form = "{msg} [{bar:40}] {human_pos} of {human_len} files, {eta} left";
    bar(Some(total), doing, form)
}

/// Builds a data set, with a bar for the check of the files.
pub(crate) fn build(builder: DatasetBuilder) -> Result<Dataset, Error> {
    let bar = files(0, "checking");
    let shown = bar.clone();
    let built = builder.on_check(move |checked, total| {
        if total > 1 {
            shown.set_length(total as u64);
            shown.set_position(checked as u64);
        }
        ControlFlow::Continue(())
    });
    let dataset = built.build();
    bar.finish_and_clear();
    dataset
}

fn bar(total: Option<u64>, doing: &'static str, form: &str) -> ProgressBar {
    let target = if stderr().is_terminal() {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let style = ProgressStyle::with_template(form).expect("the forms above are templates");
    ProgressBar::with_draw_target(total, target)
        .with_style(style.progress_chars("=> "))
        .with_message(doing)
}
