//! The report as one HTML page: a table, curves and pictures, without anything from elsewhere.

use std::fmt::Write;

use super::measure::Measured;
use super::{Order, Report, Row};
use crate::units::{count, counted};

/// The page.
pub(super) fn page(report: &Report) -> String {
    let mut page = String::from(HEAD);
    let layout = &report.layout;
    let _ = write!(
        page,
        "<h1>How well records are mixed</h1>\n<p>{} in {} and {}, in batches of {}; epoch {} of seed {}. \
         The first file is <code>{}</code>.</p>\n",
        counted(layout.records(), "record"),
        counted(layout.files() as u64, "file"),
        counted(layout.blocks(), "block"),
        count(report.batch_size as u64),
        report.epoch,
        report.seed,
        report
            .files
            .first()
            .map_or_else(String::new, |file| escaped(&file.display().to_string())),
    );
    page += EXPLANATION;
    table(report, &mut page);
    let perfect = report.rows.iter().find(|row| row.order == Order::Perfect);
    let mut buffers: Vec<_> = report.rows.iter().filter_map(|row| row.buffer).collect();
    buffers.dedup();
    for buffer in buffers {
        let of_buffer = |row: &&Row| row.buffer == Some(buffer);
        let rows: Vec<&Row> = report
            .rows
            .iter()
            .filter(of_buffer)
            .chain(perfect)
            .collect();
        let _ = writeln!(
            page,
            "<h2>With a shuffle buffer of {}</h2>",
            counted(buffer as u64, "record")
        );
        curves(&rows, &mut page);
        page += "<div class=\"cards\">\n";
        for row in rows {
            card(row, &mut page);
        }
        page += "</div>\n";
    }
    page += "</main>\n</body>\n</html>\n";
    page
}

const HEAD: &str = r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>atds shuffle-report</title>
<style>
:root { color-scheme: light dark; --text: #1b1f24; --page: #ffffff; --line: #c4cad2; --soft: #eef1f5; --bar: #b9cdea; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e4e8ee; --page: #14171b; --line: #4a515c; --soft: #21262d; --bar: #34527c; }
}
body { margin: 0; background: var(--page); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 70rem; margin: 0 auto; padding: 1rem 1.5rem 3rem; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: .3rem .6rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
td.bar { background: linear-gradient(to right, var(--bar) var(--part), transparent var(--part)); }
tr.reference td { background-color: var(--soft); }
.scroll { overflow-x: auto; }
.cards { display: flex; flex-wrap: wrap; gap: 1.2rem; margin-top: 1rem; }
figure { margin: 0; width: 15rem; }
figcaption { font-size: .85rem; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--text); font: 11px system-ui, sans-serif; }
svg .frame { fill: var(--soft); stroke: var(--line); }
svg .grid { stroke: var(--line); stroke-width: .5; }
svg .curve { fill: none; stroke-width: 2; }
svg .points { fill: none; stroke-width: 2; stroke-linecap: round; }
.chart { max-width: 44rem; }
code { overflow-wrap: anywhere; }
</style>
</head>
<body>
<main>
"#;

const EXPLANATION: &str = r#"<p><b>Travel</b> is how far a record is in the epoch from its place in the files, as a part of the data
set: half of the records travel no farther than the median. <b>Files</b> and <b>blocks</b> are those that a batch has records of, on
average over whole batches. A perfect shuffle takes every order with the same chance; its numbers are computed. The rule of
LinkedIn's ATDS, the original, is simulated. The others were read. A bar is full where a number is that of a perfect shuffle.</p>
<p>Records travel far where whole files are shuffled, and batches are still of one file: look at both. Models learn badly from
batches of one kind, so the number of blocks matters where neighbours in a file are alike, and the number of files where files
are.</p>
"#;

/// The heading of a column, and its number.
type Column = (&'static str, fn(&Measured) -> f64);

fn table(report: &Report, page: &mut String) {
    let perfect = report.rows.iter().find(|row| row.order == Order::Perfect);
    let best = |value: fn(&Measured) -> f64| perfect.map_or(1.0, |row| value(&row.measured));
    let columns: [Column; 5] = [
        ("travel, 10 %", |measured| measured.quantile(0.1)),
        ("travel, median", |measured| measured.quantile(0.5)),
        ("travel, 90 %", |measured| measured.quantile(0.9)),
        ("files per batch", |measured| measured.files),
        ("blocks per batch", |measured| measured.blocks),
    ];
    *page += "<div class=\"scroll\"><table>\n<tr><th>order</th><th>shuffle buffer</th>";
    for (name, _) in columns {
        let _ = write!(page, "<th>{name}</th>");
    }
    *page += "</tr>\n";
    for Row {
        order,
        buffer,
        measured,
    } in &report.rows
    {
        let class = match order {
            Order::Original | Order::Perfect => " class=\"reference\"",
            _ => "",
        };
        let buffer = buffer.map_or_else(|| "–".to_owned(), |buffer| count(buffer as u64));
        let name = escaped(order.name());
        let _ = write!(page, "<tr{class}><td>{name}</td><td>{buffer}</td>");
        for (column, value) in columns {
            let (found, best) = (value(measured), best(value));
            let part = (100.0 * found / best.max(f64::MIN_POSITIVE)).min(100.0);
            let text = match column.starts_with("travel") {
                true => format!("{:.2} %", 100.0 * found),
                false => format!("{found:.1}"),
            };
            let _ = write!(
                page,
                "<td class=\"bar\" style=\"--part: {part:.1}%\">{text}</td>"
            );
        }
        *page += "</tr>\n";
    }
    *page += "</table></div>\n";
}

/// The colour of an order, which is seen on white and on black.
fn colour(order: Order) -> &'static str {
    match order {
        Order::Files => "#4477aa",
        Order::ShuffledFiles => "#228833",
        Order::FilesAndBlocks => "#b8860b",
        Order::AllBlocks => "#ee4466",
        Order::Original => "#aa3377",
        Order::Perfect => "#888888",
    }
}

/// Number of steps of a curve.
const STEPS: usize = 100;

/// The shares of records that travel no farther than a part of the data set.
fn curves(rows: &[&Row], page: &mut String) {
    let (left, top, width, height) = (48.0, 10.0, 420.0, 240.0);
    *page += "<div class=\"chart\"><svg viewBox=\"0 0 700 300\" role=\"img\" aria-label=\"Share of records by how \
              far they travel\">\n";
    let _ = writeln!(
        page,
        "<rect class=\"frame\" x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\"/>"
    );
    for part in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let (x, y) = (left + width * part, top + height * (1.0 - part));
        let (right, bottom, percent) = (left + width, top + height, 100.0 * part);
        let _ = writeln!(
            page,
            "<path class=\"grid\" d=\"M{x} {top}V{bottom}M{left} {y}H{right}\"/>\
             <text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{percent} %</text>\
             <text x=\"{}\" y=\"{}\" text-anchor=\"end\">{percent} %</text>",
            bottom + 16.0,
            left - 5.0,
            y + 4.0,
        );
    }
    let _ = writeln!(
        page,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">travel, as a part of the data set</text>",
        left + width / 2.0,
        top + height + 34.0
    );
    for (number, row) in rows.iter().enumerate() {
        let shares = row.measured.shares(STEPS);
        let points = shares.iter().enumerate().map(|(step, share)| {
            let x = left + width * step as f64 / STEPS as f64;
            format!("{x:.1},{:.1}", top + height * (1.0 - share))
        });
        let points: Vec<_> = points.collect();
        let dashes = match row.order {
            Order::Original => " stroke-dasharray=\"6 3\"",
            Order::Perfect => " stroke-dasharray=\"2 3\"",
            _ => "",
        };
        let (colour, name) = (colour(row.order), escaped(row.order.name()));
        let (x, y) = (left + width + 18.0, top + 16.0 + 20.0 * number as f64);
        let _ = writeln!(
            page,
            "<polyline class=\"curve\" stroke=\"{colour}\"{dashes} points=\"{}\"><title>{name}</title></polyline>\
             <path class=\"curve\" stroke=\"{colour}\"{dashes} d=\"M{x} {}h24\"/>\
             <text x=\"{}\" y=\"{y}\">{name}</text>",
            points.join(" "),
            y - 4.0,
            x + 30.0,
        );
    }
    *page += "</svg></div>\n";
}

/// A picture of some records: to the right their places in the files, downwards those in the epoch.
fn card(row: &Row, page: &mut String) {
    let Row {
        order, measured, ..
    } = row;
    let name = escaped(order.name());
    let (size, mut points) = (200.0, String::new());
    for (before, after) in &measured.points {
        let _ = write!(points, "M{:.1} {:.1}h0", before * size, after * size);
    }
    let _ = writeln!(
        page,
        "<figure><svg viewBox=\"-18 -14 220 216\" role=\"img\" aria-label=\"Places of records: {name}\">\
         <text x=\"0\" y=\"-4\">files →</text><text transform=\"translate(-12 2) rotate(90)\">epoch →</text>\
         <rect class=\"frame\" width=\"{size}\" height=\"{size}\"/>\
         <path class=\"points\" stroke=\"{}\" d=\"{points}\"/></svg>\
         <figcaption><b>{name}</b><br>{:.1} files and {:.1} blocks per batch</figcaption></figure>",
        colour(*order),
        measured.files,
        measured.blocks,
    );
}

/// Text in HTML.
fn escaped(text: &str) -> String {
    let text = atds::interface::printable(text);
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
