//! Figures of several runs side by side, for a terminal: of one run as they are, of several as mean
//! and standard deviation.

/// A figure of an outcome.
pub struct Column<T> {
    pub title: &'static str,
    pub decimals: usize,
    /// Not a number if the outcome lacks it.
    pub value: fn(&T) -> f64,
}

/// The outcomes of one policy, one for each seed.
pub struct Row<'a, T> {
    pub policy: String,
    pub outcomes: Vec<&'a T>,
}

/// The table, with aligned columns.
pub fn table<T>(columns: &[Column<T>], rows: &[Row<'_, T>]) -> String {
    let mut lines = vec![
        std::iter::once("policy".to_owned())
            .chain(columns.iter().map(|column| column.title.to_owned()))
            .collect::<Vec<String>>(),
    ];
    for row in rows {
        let cells = columns.iter().map(|column| cell(column, &row.outcomes));
        lines.push(std::iter::once(row.policy.clone()).chain(cells).collect());
    }
    let width = |at: usize| lines.iter().map(|line| line[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..=columns.len()).map(width).collect();
    let mut text = String::new();
    for line in &lines {
        for (at, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let cell =
                if at == 0 { format!("{cell:<width$}") } else { format!("  {cell:>width$}") };
            text.push_str(&cell);
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

fn cell<T>(column: &Column<T>, outcomes: &[&T]) -> String {
    let values: Vec<f64> = outcomes.iter().map(|outcome| (column.value)(outcome)).collect();
    let decimals = column.decimals;
    match values.as_slice() {
        values if values.is_empty() || values.iter().any(|value| value.is_nan()) => "-".to_owned(),
        [one] => format!("{one:.decimals$}"),
        several => {
            let Spread { mean, deviation } = Spread::of(several);
            format!("{mean:.decimals$} ± {deviation:.decimals$}")
        }
    }
}

struct Spread {
    mean: f64,
    /// The standard deviation of a sample.
    deviation: f64,
}

impl Spread {
    fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Self { mean, deviation: (squares / (count - 1.0).max(1.0)).sqrt() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column<f64>] = &[
        Column { title: "hours", decimals: 1, value: |value| *value },
        Column { title: "wait", decimals: 0, value: |_| f64::NAN },
    ];

    #[test]
    fn one_run_shows_figures_and_several_show_their_spread() {
        let row = |outcomes| Row { policy: "kpa".to_owned(), outcomes };
        assert_eq!(
            table(COLUMNS, &[row(vec![&8.0])]),
            "policy  hours  wait\nkpa       8.0     -\n"
        );
        assert_eq!(
            table(COLUMNS, &[row(vec![&8.0, &12.0])]),
            "policy       hours  wait\nkpa     10.0 ± 2.8     -\n"
        );
    }
}
