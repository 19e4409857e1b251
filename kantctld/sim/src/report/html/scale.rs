//! Axes: from values to positions in a drawing, and where their marks are.

use crate::report::table::format_seconds;
use common::time::Time;

/// A drawing with space for its axes, in the units of its view box.
#[derive(Debug, Clone, Copy)]
pub struct Frame {
    /// The full width.
    pub width: f64,
    /// The full height.
    pub height: f64,
    /// Where the plot begins.
    pub left: f64,
    pub right: f64,
    /// Its upper edge.
    pub top: f64,
    pub bottom: f64,
}

impl Frame {
    /// A drawing of this size with the usual space for axes.
    pub fn new(width: f64, height: f64) -> Self {
        let (right, bottom) = (width - 6.0, height - 22.0);
        Self { width, height, left: 44.0, right, top: 8.0, bottom }
    }

    /// The position at a fraction along the lower edge.
    pub fn x(&self, fraction: f64) -> f64 {
        self.left + (self.right - self.left) * fraction.clamp(0.0, 1.0)
    }

    /// The position at a fraction of the height.
    pub fn y(&self, fraction: f64) -> f64 {
        self.bottom - (self.bottom - self.top) * fraction.clamp(0.0, 1.0)
    }
}

/// Where `at` is between two times, from 0 to 1.
pub fn fraction(at: Time, from: Time, to: Time) -> f64 {
    let whole = to.since(from).0.max(1);
    #[allow(clippy::cast_precision_loss)]
    let fraction = at.since(from).0.min(whole) as f64 / whole as f64;
    fraction
}

const MINUTE: u64 = 60;
const HOUR: u64 = 3600;
const DAY: u64 = 86_400;

/// Usual steps between marks of time, in seconds.
const STEPS: [u64; 19] = [
    1,
    5,
    15,
    30,
    MINUTE,
    5 * MINUTE,
    15 * MINUTE,
    HOUR,
    2 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
    2 * DAY,
    5 * DAY,
    10 * DAY,
    30 * DAY,
    60 * DAY,
    120 * DAY,
    365 * DAY,
];

/// Marks of time since `from`, at most ten, and their names.
pub fn time_marks(from: Time, to: Time) -> Vec<(f64, String)> {
    let seconds = to.since(from).seconds().max(1);
    let step = STEPS.into_iter().find(|step| seconds / step <= 9).unwrap_or(seconds / 9);
    let unit = match step {
        step if step >= DAY => (DAY, "d"),
        step if step >= HOUR => (HOUR, "h"),
        step if step >= MINUTE => (MINUTE, "min"),
        _ => (1, "s"),
    };
    let mark = |at: u64| {
        let at_time = Time(from.0 + at * 1000);
        (fraction(at_time, from, to), format!("{} {}", at / unit.0, unit.1))
    };
    (0..=seconds / step).map(|n| mark(n * step)).collect()
}

/// Round numbers from 0 to at least `most`, about four of them.
pub fn count_marks(most: u32) -> Vec<u32> {
    let most = most.max(1);
    let mut step = 1u32;
    while most.div_ceil(step) > 4 {
        let leading = step.to_string().starts_with('2');
        step = if leading { step / 2 * 5 } else { step.saturating_mul(2) };
        if step > most {
            break;
        }
    }
    (0..=most.div_ceil(step)).map(|n| n.saturating_mul(step)).collect()
}

/// Waits that are named on a logarithmic axis, in seconds.
const WAIT_MARKS: [f64; 10] =
    [1.0, 10.0, 60.0, 600.0, 3600.0, 21_600.0, 86_400.0, 604_800.0, 2_592_000.0, 31_536_000.0];

#[derive(Debug, Clone, Copy)]
pub struct WaitAxis {
    least: f64,
    most: f64,
}

impl WaitAxis {
    /// An axis for waits between these seconds. It begins at a minute, or at a second if necessary.
    pub fn between(least: f64, most: f64) -> Self {
        let least = if least > 60.0 { 60.0 } else { 1.0 };
        Self { least, most: most.max(least * 10.0) }
    }

    /// The position of a wait. Waits below the beginning are at the beginning.
    pub fn fraction(&self, seconds: f64) -> f64 {
        if seconds <= self.least {
            return 0.0;
        }
        (seconds / self.least).ln() / (self.most / self.least).ln()
    }

    pub fn marks(&self) -> Vec<(f64, String)> {
        let shown = |mark: &f64| (self.least..=self.most).contains(mark);
        let name = |mark: f64| {
            let name = mark_name(mark);
            if mark <= self.least { format!("≤ {name}") } else { name }
        };
        let named = WAIT_MARKS.into_iter().filter(shown);
        named.map(|mark| (self.fraction(mark), name(mark))).collect()
    }
}

/// Short names without decimals.
fn mark_name(seconds: f64) -> String {
    match seconds {
        86_400.0 => "1d".to_owned(),
        31_536_000.0 => "1y".to_owned(),
        s => format_seconds(Some(s)).replace(".0", ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_marked_where_people_count() {
        let names = |seconds: u64| -> Vec<String> {
            let marks = time_marks(Time(0), Time(seconds * 1000));
            marks.into_iter().map(|(_, name)| name).collect()
        };
        assert_eq!(names(3 * HOUR), ["0 h", "1 h", "2 h", "3 h"]);
        assert_eq!(names(40 * MINUTE)[1], "5 min");
        assert_eq!(names(8 * HOUR).last().map(String::as_str), Some("8 h"));
        assert_eq!(names(60 * DAY).len(), 7);
        assert!(names(1_000_000 * DAY).len() <= 11);
        assert_eq!(names(0).first().map(String::as_str), Some("0 s"));
    }

    #[test]
    fn counts_are_marked_in_round_numbers() {
        assert_eq!(count_marks(0), [0, 1]);
        assert_eq!(count_marks(7), [0, 2, 4, 6, 8]);
        assert_eq!(count_marks(2307), [0, 1000, 2000, 3000]);
        assert!(count_marks(u32::MAX).len() <= 6);
    }

    #[test]
    fn waits_are_placed_by_their_logarithm() {
        let axis = WaitAxis::between(0.0, 3600.0);
        assert_eq!((axis.fraction(0.0), axis.fraction(3600.0)), (0.0, 1.0));
        assert!((axis.fraction(60.0) - 0.5).abs() < 1e-9);
        let names: Vec<String> = axis.marks().into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["≤ 1s", "10s", "1m", "10m", "1h"]);
        let high = WaitAxis::between(90.0, 3600.0);
        assert_eq!((high.fraction(30.0), high.marks()[0].1.as_str()), (0.0, "≤ 1m"));
    }
}
