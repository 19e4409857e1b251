//! Samples of one run by measurement, in the order of the first sample of each.

use serde_json::{Value, json};
use std::time::Duration;

#[derive(Default)]
pub struct Figures(Vec<(String, &'static str, Vec<f64>)>);

impl Figures {
    /// Adds a sample. It is printed at once, so that an interrupted run still shows its results.
    pub fn add(&mut self, what: &str, unit: &'static str, sample: f64) {
        eprintln!("{what}: {sample:.1} {unit}");
        match self.0.iter_mut().find(|(known, ..)| known == what) {
            Some((_, _, samples)) => samples.push(sample),
            None => self.0.push((what.to_owned(), unit, vec![sample])),
        }
    }

    /// Adds a figure without samples, of a program that is not installed.
    pub fn not_installed(&mut self, what: &str, unit: &'static str) {
        if self.0.iter().all(|(known, ..)| known != what) {
            eprintln!("{what}: not installed");
            self.0.push((what.to_owned(), unit, Vec::new()));
        }
    }

    /// Adds a duration, in milliseconds.
    pub fn time(&mut self, what: &str, span: Duration) {
        self.add(what, "ms", span.as_secs_f64() * 1000.0);
    }

    /// Adds several durations.
    pub fn times(&mut self, what: &str, spans: &[Duration]) {
        spans.iter().for_each(|span| self.time(what, *span));
    }

    /// The samples as JSON, which `cargo xtask bench` shows.
    pub fn to_json(&self) -> Value {
        let figures = self.0.iter();
        figures
            .map(|(what, unit, samples)| json!({ "what": what, "unit": unit, "samples": samples }))
            .collect()
    }
}
