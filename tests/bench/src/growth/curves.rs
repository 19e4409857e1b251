//! Points of curves, in the order they were measured. Never draws them.

use serde_json::{Value, json};

struct Point {
    of: &'static str,
    x: usize,
    what: &'static str,
    unit: &'static str,
    y: f64,
}

/// All points of one run.
#[derive(Default)]
pub struct Curves(Vec<Point>);

impl Curves {
    /// One more point; said at once, so that a run that is cut off was not in vain.
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

    /// For `cargo xtask bench growth`, which shows and draws them.
    pub fn to_json(&self) -> Value {
        let point = |point: &Point| {
            let Point { of, x, what, unit, y } = point;
            json!({ "of": of, "x": x, "what": what, "unit": unit, "y": y })
        };
        self.0.iter().map(point).collect()
    }
}
