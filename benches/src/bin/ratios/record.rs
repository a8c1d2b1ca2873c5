//! Writes dated records: JSON with every figure, Markdown to read.

use std::fs;
use std::path::{Path, PathBuf};

use atds_benches::machine::{self, Machine};
use serde_json::{Value, json};

use crate::Result;
use crate::measure::Effort;
use crate::row::{Bound, Figure, Row};
use crate::table;

/// Writes `DATE-NAME.md` and `.json`. Replaces files of the same date and name.
pub(crate) fn write(
    machine: &Machine,
    effort: Effort,
    name: &str,
    rows: &[Row],
) -> Result<[PathBuf; 2]> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("record");
    fs::create_dir_all(&folder)?;
    let date = machine::today()?;
    let (commit, rustc) = machine::versions()?;
    let command = command();
    let (epochs, seconds, most_times) = (effort.rounds, effort.time.as_secs(), effort.most_times);

    let record = json!({
        "name": name,
        "date": date,
        "machine": machine.json(),
        "versions": {"commit": commit, "rustc": rustc},
        "command": command,
        "epochs": epochs,
        "seconds": seconds,
        "most_times": most_times,
        "results": rows.iter().map(json).collect::<Vec<_>>(),
    });
    let markdown = format!(
        "# {name}, {date}\n\n\
         - machine: {}\n\
         - versions: commit {commit}, rustc {rustc}\n\
         - `{command}`\n\
         - at least {epochs} rounds and {seconds} seconds, in random order each round, after one that does not count; up \
         to {most_times} times as long while a ratio is within two standard errors of its bound; files in the page \
         cache\n\n\
         Figures are medians. A ratio is the median of the ratios of the rounds, with their quartiles.\n\n{}",
        machine.line(),
        table::markdown(rows),
    );

    let paths = ["json", "md"].map(|suffix| folder.join(format!("{date}-{name}.{suffix}")));
    fs::write(&paths[0], format!("{record:#}\n"))?;
    fs::write(&paths[1], markdown)?;
    Ok(paths)
}

/// The command of this record, without the folder of the files.
fn command() -> String {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    if let Some(data) = args.iter().position(|arg| arg == "--data")
        && let Some(folder) = args.get_mut(data + 1)
    {
        *folder = "DIR".to_owned();
    }
    format!("make ratios ARGS=\"{}\"", args.join(" "))
}

fn json(row: &Row) -> Value {
    let figure = |figure: &Figure| {
        json!({
            "label": figure.label,
            "unit": figure.unit,
            "median": figure.median,
            "min": figure.least,
            "max": figure.most,
        })
    };
    let bound = match row.bound {
        None => Value::Null,
        Some(Bound::AtLeast(least)) => json!({"at_least": least}),
        Some(Bound::AtMost(most)) => json!({"at_most": most}),
    };
    json!({
        "comparison": row.comparison,
        "what": row.what,
        "a": figure(&row.a),
        "b": figure(&row.b),
        "of": row.of.name(),
        "ratio": row.ratio,
        "rounds": row.spread.map(|spread| spread.rounds),
        "quartiles": row.spread.map(|spread| spread.quartiles),
        "bound": bound,
        "holds": row.holds(),
    })
}
