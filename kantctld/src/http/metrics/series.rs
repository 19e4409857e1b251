//! Series that are collected for one text.

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::Registry;
use std::sync::atomic::AtomicU64;

type Labels = Vec<(&'static str, String)>;

#[derive(Default)]
pub struct Series(Registry);

impl Series {
    /// A value that goes up and down.
    pub fn gauge(&mut self, name: &str, help: &str, value: impl Into<f64>) {
        let value = ConstGauge::new(value.into());
        self.0.register(name, help.trim_end_matches('.'), value);
    }

    /// Values with labels.
    pub fn gauges(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (Labels, f64)>,
    ) {
        let family = Family::<Labels, Gauge<f64, AtomicU64>>::default();
        for (labels, value) in values {
            family.get_or_create(&labels).set(value);
        }
        self.0.register(name, help.trim_end_matches('.'), family);
    }

    /// A count since the start of this controller; the text has `_total` after its name.
    pub fn counter(&mut self, name: &str, help: &str, value: f64) {
        self.0.register(name, help.trim_end_matches('.'), ConstCounter::new(value));
    }

    pub fn text(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.0)?;
        Ok(text)
    }
}

/// One label. The crate writes values as they are.
pub fn label(name: &'static str, value: impl ToString) -> Labels {
    vec![(name, escaped(&value.to_string()))]
}

/// Source: OpenMetrics 1.0, escaped strings.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_types_escaped_labels_and_an_end() {
        let mut series = Series::default();
        series.gauge("kant_x", "An x.", 3_u32);
        series.gauges("kant_y", "A y.", [(label("queue", "a\"b\\"), 0.5)]);
        series.counter("kant_z", "A z.", 2.0);
        let text = series.text().unwrap();
        for line in [
            "# TYPE kant_x gauge",
            "# HELP kant_x An x.",
            "kant_x 3.0",
            r#"kant_y{queue="a\"b\\"} 0.5"#,
            "# TYPE kant_z counter",
            "kant_z_total 2.0",
        ] {
            assert!(text.lines().any(|one| one == line), "no {line} in {text}");
        }
        assert!(text.ends_with("# EOF\n"), "{text}");
    }
}
