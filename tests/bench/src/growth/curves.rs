//! Points of curves, in the order of measurement.

use serde_json::{Value, json};

struct Point {
    of: &'static str,
    x: usize,
    what: &'static str,
    unit: &'static str,
    y: f64,
}

#[derive(Default)]
pub struct Curves(Vec<Point>);

impl Curves {
    /// Adds a point. It is printed at once, so that an interrupted run still shows its results.
    pub fn add(
        &mut self,
        of: &'static str,
        x: usize,
        what: &'static str,
        unit: &'static str,
        y: f64,
    ) {
        eprintln!("{x} {of}: {what}: {y:.1} {unit}");
        self.0.push(Point { of, x, what, unit, y });
    }

    /// The points as JSON, which `cargo xtask bench growth` shows and draws.
    pub fn to_json(&self) -> Value {
        let point = |point: &Point| {
            let Point { of, x, what, unit, y } = point;
            json!({ "of": of, "x": x, "what": what, "unit": unit, "y": y })
        };
        self.0.iter().map(point).collect()
    }
}
