//! Prints figures.

use serde_json::json;

use crate::case::Case;
use crate::measure::Figure;

pub(crate) const HEAD: &str = "\
| case | rows measured | seconds | sleeps late by | of n plain loops | bound | |
|---|---:|---:|---:|---:|---:|---|";

pub(crate) fn line(case: &Case, figure: &Figure) -> String {
    let Figure {
        rows,
        worth,
        took,
        lateness,
    } = figure;
    let verdict = if *worth < case.bound() { "below" } else { "" };
    format!(
        "| {} | {rows} | {:.1} | {:.0} % | {worth:.2} | {} | {verdict} |",
        case.name(),
        took.as_secs_f64(),
        100.0 * lateness,
        case.bound()
    )
}

pub(crate) fn json(figures: &[(Case, Figure)]) -> serde_json::Result<String> {
    let cases = figures.iter().map(|(case, figure)| {
        json!({
            "case": case.name(),
            "rows": figure.rows,
            "seconds": figure.took.as_secs_f64(),
            "lateness": figure.lateness,
            "worth": figure.worth,
            "bound": case.bound(),
        })
    });
    serde_json::to_string_pretty(&json!({ "cases": cases.collect::<Vec<_>>() }))
}
