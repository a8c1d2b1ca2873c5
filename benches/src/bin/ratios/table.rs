//! Prints rows as a table.

use crate::row::{Bound, Figure, Row};

/// A Markdown table that is readable in a terminal too.
pub(crate) fn markdown(rows: &[Row]) -> String {
    let head = [
        "comparison",
        "what",
        "A",
        "B",
        "A/B",
        "ratio",
        "quartiles",
        "bound",
        "holds",
    ];
    let mut lines = vec![head.map(str::to_owned)];
    lines.extend(rows.iter().map(cells));
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max();
    let widths: [usize; 9] = std::array::from_fn(|column| width(column).unwrap_or(0));

    let line = |cells: &[String; 9]| {
        let padded = cells.iter().zip(widths).enumerate();
        let padded = padded.map(|(column, (cell, width))| match column {
            RATIO => format!(" {cell:>width$} |"),
            _ => format!(" {cell:<width$} |"),
        });
        format!("|{}\n", padded.collect::<String>())
    };
    let rule = widths.iter().enumerate().map(|(column, width)| {
        let dashes = "-".repeat(width + 1);
        if column == RATIO {
            format!("{dashes}:|")
        } else {
            format!("{dashes}-|")
        }
    });
    let rule = format!("|{}\n", rule.collect::<String>());
    let body: String = lines[1..].iter().map(line).collect();
    format!("{}{rule}{body}", line(&lines[0]))
}

/// The column of the ratio, which is aligned to the right.
const RATIO: usize = 5;

fn cells(row: &Row) -> [String; 9] {
    let (bound, holds) = match row.bound {
        None => (String::new(), ""),
        Some(bound) => (text(bound), if row.holds() { "yes" } else { "NO" }),
    };
    [
        row.comparison.to_owned(),
        row.what.clone(),
        figure(&row.a),
        figure(&row.b),
        row.of.name().to_owned(),
        format!("{:.3}", row.ratio),
        row.spread.map_or_else(String::new, |spread| {
            let [first, third] = spread.quartiles;
            format!("{first:.3} to {third:.3}")
        }),
        bound,
        holds.to_owned(),
    ]
}

fn text(bound: Bound) -> String {
    match bound {
        Bound::AtLeast(least) => format!("≥ {least}"),
        Bound::AtMost(most) => format!("≤ {most}"),
    }
}

fn figure(figure: &Figure) -> String {
    format!(
        "{}: {}",
        figure.label,
        with_unit(figure.median, figure.unit)
    )
}

/// A rounded number with its unit.
fn with_unit(value: f64, unit: &str) -> String {
    if value < 1_000.0 {
        return format!("{value:.1} {unit}");
    }
    let digits = format!("{value:.0}");
    let mut grouped = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{grouped} {unit}")
}

#[cfg(test)]
mod tests {
    use super::with_unit;

    #[test]
    fn thousands_are_grouped() {
        assert_eq!(with_unit(1_234_567.8, "records/s"), "1,234,568 records/s");
        assert_eq!(with_unit(123_456.0, "B"), "123,456 B");
        assert_eq!(with_unit(12.34, "MB"), "12.3 MB");
    }
}
