//! Samples by what they are of, in the order they were first measured. Never rounds.

use serde_json::{Value, json};
use std::time::Duration;

/// All samples of one run.
#[derive(Default)]
pub struct Figures(Vec<(String, &'static str, Vec<f64>)>);

impl Figures {
    /// One more sample of something; said at once, so that a run that is cut off was not in vain.
    pub fn add(&mut self, what: &str, unit: &'static str, sample: f64) {
        eprintln!("{what}: {sample:.1} {unit}");
        match self.0.iter_mut().find(|(known, ..)| known == what) {
            Some((_, _, samples)) => samples.push(sample),
            None => self.0.push((what.to_owned(), unit, vec![sample])),
        }
    }

    /// How long something took, in milliseconds.
    pub fn time(&mut self, what: &str, span: Duration) {
        self.add(what, "ms", span.as_secs_f64() * 1000.0);
    }

    /// The same, several times.
    pub fn times(&mut self, what: &str, spans: &[Duration]) {
        spans.iter().for_each(|span| self.time(what, *span));
    }

    /// For `cargo xtask bench`, which shows them.
    pub fn to_json(&self) -> Value {
        let figures = self.0.iter();
        figures
            .map(|(what, unit, samples)| json!({ "what": what, "unit": unit, "samples": samples }))
            .collect()
    }
}
