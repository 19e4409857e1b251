//! The figures of several replays side by side, for a terminal: for one trace as they are, for
//! several seeds as mean and standard deviation.

use sim::service::Outcome;

/// The outcomes of one policy, one for each seed.
pub struct Row<'a> {
    pub policy: String,
    pub outcomes: Vec<&'a Outcome>,
}

/// A figure of an outcome.
struct Column {
    title: &'static str,
    decimals: usize,
    value: fn(&Outcome) -> f64,
}

const COLUMNS: &[Column] = &[
    Column { title: "misses %", decimals: 2, value: |outcome| outcome.miss_fraction * 100.0 },
    Column { title: "wait mean s", decimals: 2, value: |outcome| outcome.wait_mean_seconds },
    Column { title: "P99 s", decimals: 1, value: |outcome| outcome.wait_p99_seconds },
    Column { title: "GPU-hours", decimals: 1, value: |outcome| outcome.gpu_hours },
    Column { title: "busy %", decimals: 1, value: |outcome| outcome.busy_fraction * 100.0 },
    Column { title: "changes", decimals: 0, value: |outcome| outcome.changes as f64 },
    Column { title: "starts", decimals: 0, value: |outcome| outcome.starts as f64 },
    Column { title: "most", decimals: 0, value: |outcome| f64::from(outcome.replicas_max.0) },
];

/// The table, with aligned columns.
pub fn table(rows: &[Row<'_>]) -> String {
    let mut lines = vec![
        std::iter::once("policy".to_owned())
            .chain(COLUMNS.iter().map(|column| column.title.to_owned()))
            .collect::<Vec<String>>(),
    ];
    for row in rows {
        let cells = COLUMNS.iter().map(|column| cell(column, &row.outcomes));
        lines.push(std::iter::once(row.policy.clone()).chain(cells).collect());
    }
    let width = |at: usize| lines.iter().map(|line| line[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..=COLUMNS.len()).map(width).collect();
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

fn cell(column: &Column, outcomes: &[&Outcome]) -> String {
    let values: Vec<f64> = outcomes.iter().map(|outcome| (column.value)(outcome)).collect();
    let decimals = column.decimals;
    match values.as_slice() {
        [] => "-".to_owned(),
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
    use common::autoscale::Replicas;

    fn outcome(gpu_hours: f64) -> Outcome {
        Outcome {
            policy: "kpa".into(),
            requests: 100,
            misses: 1,
            miss_fraction: 0.01,
            wait_mean_seconds: 0.5,
            wait_p99_seconds: 4.0,
            wait_max_seconds: 7.0,
            gpu_hours,
            busy_fraction: 0.75,
            changes: 3,
            starts: 4,
            replicas_max: Replicas(5),
            steps: Vec::new(),
        }
    }

    #[test]
    fn one_trace_shows_figures_and_several_show_their_spread() {
        let (low, high) = (outcome(8.0), outcome(12.0));
        let rows = [Row { policy: "kpa".into(), outcomes: vec![&low] }];
        assert_eq!(
            table(&rows),
            "policy  misses %  wait mean s  P99 s  GPU-hours  busy %  changes  starts  most\n\
             kpa         1.00         0.50    4.0        8.0    75.0        3       4     5\n"
        );
        let rows = [Row { policy: "kpa".into(), outcomes: vec![&low, &high] }];
        assert!(table(&rows).contains("10.0 ± 2.8"), "{}", table(&rows));
    }
}
