//! Measured figures with their unit and spread, and the machine they were measured on.

use super::targets;
use serde_json::{Value, json};
use std::fmt::Write as _;

struct Figure {
    what: String,
    unit: String,
    samples: Vec<f64>,
}

impl Figure {
    fn spread(&self) -> (f64, f64, f64) {
        let mut sorted = self.samples.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |i: usize| sorted.get(i).copied().unwrap_or(f64::NAN);
        (at(0), at(sorted.len() / 2), at(sorted.len().saturating_sub(1)))
    }
}

/// All figures of one run.
#[derive(Default)]
pub struct Figures(Vec<Figure>);

impl Figures {
    /// Adds samples to a figure, which is created if it does not exist.
    pub fn add(&mut self, what: &str, unit: &str, samples: impl IntoIterator<Item = f64>) {
        if let Some(known) = self.0.iter_mut().find(|f| f.what == what) {
            return known.samples.extend(samples);
        }
        let samples = samples.into_iter().collect();
        self.0.push(Figure { what: what.to_owned(), unit: unit.to_owned(), samples });
    }

    pub fn to_json(&self) -> Value {
        let figures: Vec<Value> = self
            .0
            .iter()
            .map(|figure| {
                let (min, median, max) = figure.spread();
                json!({
                    "what": figure.what, "unit": figure.unit, "samples": figure.samples.len(),
                    "median": median, "min": min, "max": max,
                })
            })
            .collect();
        json!({ "machine": machine(), "figures": figures })
    }

    /// A table of the medians of two systems, whose figures begin with these prefixes, and how many
    /// times better the first is.
    pub fn to_ratios(&self, one: &str, other: &str) -> String {
        let mut text = format!("{}\n\n", machine());
        let (a, b) = (one.trim_end_matches(": "), other.trim_end_matches(": "));
        text.push_str(&format!(
            "| what | {a} | {b} | unit | times better | target |\n|---|--:|--:|---|--:|---|\n"
        ));
        for figure in &self.0 {
            let Some(what) = figure.what.strip_prefix(one) else { continue };
            let same = |f: &&Figure| f.what.strip_prefix(other) == Some(what);
            let Some(counterpart) = self.0.iter().find(same) else { continue };
            let (mine, theirs) = (figure.spread().1, counterpart.spread().1);
            let better = times_better(&figure.unit, mine, theirs);
            // Writing into a string cannot fail.
            let _ = writeln!(
                text,
                "| {what} | {mine:.1} | {theirs:.1} | {} | {better:.1} | {} |",
                figure.unit,
                targets::verdict(what, &figure.unit, mine)
            );
        }
        text
    }

    /// A Markdown table.
    pub fn to_table(&self) -> String {
        let mut text = format!("{}\n\n", machine());
        text.push_str(
            "| what | median | min | max | unit | samples | target |\n\
             |---|---|---|---|---|---|---|\n",
        );
        for figure in &self.0 {
            if figure.samples.is_empty() {
                let _ = writeln!(
                    text,
                    "| {} | not installed | | | {} | 0 | |",
                    figure.what, figure.unit
                );
                continue;
            }
            let (min, median, max) = figure.spread();
            // Writing into a string cannot fail.
            let _ = writeln!(
                text,
                "| {} | {median:.1} | {min:.1} | {max:.1} | {} | {} | {} |",
                figure.what,
                figure.unit,
                figure.samples.len(),
                targets::verdict(&figure.what, &figure.unit, median)
            );
        }
        text
    }
}

/// How many times better one is than the other: for rates higher is better, for times lower.
fn times_better(unit: &str, one: f64, other: f64) -> f64 {
    if targets::is_rate(unit) { one / other } else { other / one }
}

/// The machine's cores, load and kernel.
pub fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let load = read("/proc/loadavg");
    let load = load.split_whitespace().next().unwrap_or("?").to_owned();
    let kernel = read("/proc/sys/kernel/osrelease");
    format!("{cores} cores, load {load}, Linux {}", kernel.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_installed_has_no_figures() {
        let mut figures = Figures::default();
        figures.add("requests, nginx", "1/s", []);
        let table = figures.to_table();
        assert!(table.contains("| requests, nginx | not installed | | | 1/s | 0 | |"), "{table}");
    }

    #[test]
    fn a_ratio_is_how_many_times_better_the_first_is_for_every_unit() {
        let mut figures = Figures::default();
        for (what, unit, sample) in [
            ("kant: jobs", "1/s", 300.0),
            ("kant: wait", "ms", 10.0),
            ("kant: alone", "ms", 1.0),
            ("Slurm: wait", "ms", 2000.0),
            ("Slurm: jobs", "1/s", 20.0),
        ] {
            figures.add(what, unit, [sample]);
        }
        let table = figures.to_ratios("kant: ", "Slurm: ");
        assert!(table.contains("| jobs | 300.0 | 20.0 | 1/s | 15.0 |  |"), "{table}");
        assert!(table.contains("| wait | 10.0 | 2000.0 | ms | 200.0 |  |"), "{table}");
        assert!(!table.contains("alone"), "{table}");
    }
}
