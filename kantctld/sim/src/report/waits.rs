//! Waiting times of the report: the engine's distribution.

pub use engine::measure::JobWaits as Waits;

/// Milliseconds as seconds.
#[allow(clippy::cast_precision_loss)]
pub fn seconds(milliseconds: u64) -> f64 {
    milliseconds as f64 / 1000.0
}
