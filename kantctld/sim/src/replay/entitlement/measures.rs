//! How long a condition held, and how equal parts are.

use common::time::Time;

/// The longest uninterrupted time in which a condition held.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stretch {
    since: Option<Time>,
    pub(super) longest: u64,
}

impl Stretch {
    pub(super) fn update(&mut self, now: Time, is_so: bool) {
        if let Some(since) = self.since {
            self.longest = self.longest.max(now.since(since).0);
        }
        self.since = is_so.then(|| self.since.unwrap_or(now));
    }
}

/// Jain's index of the fractions of their fair shares that queues hold: 1 if all fractions are
/// equal, 1 / n if one of n queues holds everything. `None`: fewer than two queues have a share.
pub(super) fn jain(pairs: &[(f64, f64)]) -> Option<f64> {
    if pairs.len() < 2 {
        return None;
    }
    let parts = pairs.iter().map(|(held, share)| held / share);
    let (sum, squares) =
        parts.fold((0.0, 0.0), |(sum, squares), part| (sum + part, part.mul_add(part, squares)));
    // If no queue holds anything, that is even.
    Some(if squares > 0.0 { sum * sum / (pairs.len() as f64 * squares) } else { 1.0 })
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a few millions at most
pub(super) fn ppm(part: f64) -> u32 {
    (part * 1e6).round() as u32
}
