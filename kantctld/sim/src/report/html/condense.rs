//! Makes a long series short enough to draw: for each of a few hundred equal parts of time, its
//! mean and range. Peaks are kept, since the range has the lowest and highest values.

use crate::report::{Sample, Series};
use common::time::Time;

/// The most parts of time. Four points are drawn for each, so about 2,000 in all.
pub const PARTS_MAX: u64 = 480;

/// A series over one part of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part {
    pub from: Time,
    pub to: Time,
    /// The mean over time.
    pub mean: f64,
    pub low: f64,
    pub high: f64,
}

/// The series from `from` to `to` in equal parts. Parts without a value are left out.
pub fn condense(
    series: &Series,
    from: Time,
    to: Time,
    read: impl Fn(&Sample) -> Option<f64>,
) -> Vec<Part> {
    let length = to.since(from).0;
    let parts = PARTS_MAX.min(length.max(1));
    let edge = |n: u64| Time(from.0 + scale_position(length, n, parts));
    let samples = series.samples();
    let mut first = 0;
    let mut condensed = Vec::new();
    for n in 0..parts {
        let (begin, end) = (edge(n), edge(n + 1));
        // The sample that holds at the beginning, and all until the end.
        while samples.get(first + 1).is_some_and(|next| next.at <= begin) {
            first += 1;
        }
        condensed.extend(part(&samples[first.min(samples.len())..], begin, end, &read));
    }
    condensed
}

fn scale_position(length: u64, n: u64, parts: u64) -> u64 {
    let place = u128::from(length) * u128::from(n) / u128::from(parts);
    u64::try_from(place).unwrap_or(length)
}

fn part(
    samples: &[Sample],
    from: Time,
    to: Time,
    read: &impl Fn(&Sample) -> Option<f64>,
) -> Option<Part> {
    let (mut sum, mut weight) = (0.0, 0.0);
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for (at, sample) in samples.iter().enumerate().take_while(|(_, sample)| sample.at < to) {
        let end = samples.get(at + 1).map_or(to, |next| next.at.min(to));
        let length = end.since(sample.at.max(from)).0;
        let Some(value) = read(sample).filter(|_| length > 0) else { continue };
        #[allow(clippy::cast_precision_loss)]
        let length = length as f64;
        sum += value * length;
        weight += length;
        (low, high) = (low.min(value), high.max(value));
    }
    (weight > 0.0).then(|| Part { from, to, mean: sum / weight, low, high })
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::unit::GpuMilli;
    use proptest::prelude::*;

    fn series(points: &[(u64, u32)]) -> Series {
        let mut series = Series::default();
        for (at, queue_length) in points {
            let total = GpuMilli(1000);
            let sample =
                Sample { at: Time(*at), queue_length: *queue_length, total, ..Sample::default() };
            series.push(sample).unwrap();
        }
        series
    }

    fn queue(sample: &Sample) -> Option<f64> {
        Some(f64::from(sample.queue_length))
    }

    #[test]
    fn a_short_peak_in_a_long_series_is_kept() {
        let series = series(&[(0, 1), (500_000, 900), (500_001, 1), (1_000_000, 0)]);
        let parts = condense(&series, Time(0), Time(1_000_000), queue);
        assert_eq!(parts.len(), 480);
        let peak = parts.iter().find(|part| part.high > 1.0).unwrap();
        assert_eq!((peak.low, peak.high), (1.0, 900.0));
        assert!(peak.mean < 2.0);
    }

    #[test]
    fn before_the_first_sample_there_is_nothing() {
        let series = series(&[(750, 3)]);
        let parts = condense(&series, Time(0), Time(1000), queue);
        assert!(parts.iter().all(|part| part.to > Time(750) && part.mean == 3.0));
        assert_eq!(condense(&Series::default(), Time(0), Time(1000), queue), []);
    }

    proptest! {
        #[test]
        fn the_mean_of_the_parts_is_the_mean_of_the_series(
            mut points in proptest::collection::vec((1u64..100_000, 0u32..50), 1..200),
        ) {
            points.push((0, 7));
            points.sort_unstable();
            let series = series(&points);
            let parts = condense(&series, Time(0), Time(120_000), queue);
            #[allow(clippy::cast_precision_loss)]
            let length = |part: &Part| part.to.since(part.from).0 as f64;
            let sum: f64 = parts.iter().map(|part| part.mean * length(part)).sum();
            let mean = series.mean(Time(0), Time(120_000), queue).unwrap();
            prop_assert!((sum / 120_000.0 - mean).abs() < 1e-6);
        }
    }
}
