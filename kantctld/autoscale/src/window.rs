//! The samples of the last minutes.

use crate::amount::narrow;
use crate::sample::Sample;
use common::autoscale::THOUSANDTHS_MAX;
use common::time::{Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The samples of one role, oldest first.
///
/// At most [`Window::SAMPLES_MAX`] are kept, which is at most 128 KiB: a quarter of an hour with a
/// sample every 2 s. The caller forgets those that its policy does not need
/// ([`Window::forget_before`]); with the default policies 30 remain.
///
/// A mean is over the samples that were taken within a span: each counts the same, a sample that is
/// missing is not replaced, and one that lacks the metric is left out. Without any there is no
/// mean, and a rule then keeps the number of replicas. Samples should therefore be taken at regular
/// intervals. Means are rounded up, so that a mean of zero means that all samples were zero.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Window(VecDeque<Sample>);

impl Window {
    pub const SAMPLES_MAX: usize = 450;

    /// Adds a sample. One of the same time is replaced. One that is older than the newest is
    /// dropped, because it would be counted late.
    pub fn push(&mut self, sample: Sample) {
        match self.0.back().map(|last| last.at.cmp(&sample.at)) {
            Some(std::cmp::Ordering::Greater) => return,
            Some(std::cmp::Ordering::Equal) => drop(self.0.pop_back()),
            _ => {}
        }
        self.0.push_back(sample);
        if self.0.len() > Self::SAMPLES_MAX {
            self.0.pop_front();
        }
    }

    /// Forgets samples that were taken before.
    pub fn forget_before(&mut self, time: Time) {
        while self.0.front().is_some_and(|sample| sample.at < time) {
            self.0.pop_front();
        }
    }

    /// The samples, oldest first.
    pub fn samples(&self) -> impl DoubleEndedIterator<Item = &Sample> {
        self.0.iter()
    }

    /// The newest sample that was taken within the span before now.
    pub(crate) fn latest(&self, span: Span, now: Time) -> Option<&Sample> {
        self.within(span, now).next_back()
    }

    /// The mean within the span before now, rounded up. It is at most [`THOUSANDTHS_MAX`], however
    /// large the values are, since it becomes part of a reason.
    pub(crate) fn mean(
        &self,
        span: Span,
        now: Time,
        value: impl Fn(&Sample) -> Option<u64>,
    ) -> Option<u64> {
        let values: Vec<u64> = self.within(span, now).filter_map(value).collect();
        let count = u128::try_from(values.len()).ok().filter(|count| *count > 0)?;
        let sum: u128 = values.into_iter().map(u128::from).sum();
        Some(narrow(sum.div_ceil(count)))
    }

    /// The same for values that may be negative, rounded towards zero.
    pub(crate) fn signed_mean(
        &self,
        span: Span,
        now: Time,
        value: impl Fn(&Sample) -> Option<i64>,
    ) -> Option<i64> {
        let values: Vec<i64> = self.within(span, now).filter_map(value).collect();
        let count = i128::try_from(values.len()).ok().filter(|count| *count > 0)?;
        let sum: i128 = values.into_iter().map(i128::from).sum();
        let most = i128::from(THOUSANDTHS_MAX);
        i64::try_from((sum / count).clamp(-most, most)).ok()
    }

    /// The samples after `now - span`, up to now.
    fn within(&self, span: Span, now: Time) -> impl DoubleEndedIterator<Item = &Sample> {
        let is_in = move |sample: &&Sample| sample.at <= now && now.since(sample.at) < span;
        self.0.iter().filter(is_in)
    }
}

impl FromIterator<Sample> for Window {
    fn from_iter<I: IntoIterator<Item = Sample>>(samples: I) -> Self {
        let mut window = Self::default();
        samples.into_iter().for_each(|sample| window.push(sample));
        window
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::autoscale::Requests;

    fn sample(seconds: u64, in_flight: Option<u32>) -> Sample {
        let at = Time(0) + Span::from_seconds(seconds);
        Sample { at, in_flight: in_flight.map(Requests::whole), ..Sample::default() }
    }

    fn mean(window: &Window, span: u64, now: u64) -> Option<u64> {
        let (span, now) = (Span::from_seconds(span), Time(0) + Span::from_seconds(now));
        window.mean(span, now, |sample| sample.in_flight.map(|sum| sum.0))
    }

    #[test]
    fn the_mean_is_over_the_samples_that_there_are() {
        let samples = [sample(10, Some(8)), sample(20, None), sample(30, Some(2))];
        let window: Window = samples.into_iter().collect();
        assert_eq!(mean(&window, 60, 30), Some(5000));
        assert_eq!(mean(&window, 20, 30), Some(2000), "the first is as old as the span");
        assert_eq!(mean(&window, 60, 20), Some(8000), "the last is not taken yet");
        assert_eq!(mean(&window, 5, 40), None);
    }

    #[test]
    fn a_small_load_is_not_rounded_away() {
        let window: Window = (0..60).map(|at| sample(at, Some(u32::from(at == 30)))).collect();
        assert_eq!(mean(&window, 60, 59), Some(17));
    }

    #[test]
    fn samples_are_in_order_and_bounded() {
        let mut window = Window::default();
        (0..1000).for_each(|at| window.push(sample(at, Some(1))));
        window.push(sample(500, Some(9)));
        window.push(sample(999, Some(3)));
        assert_eq!(window.samples().count(), Window::SAMPLES_MAX);
        assert!(window.samples().is_sorted_by(|a, b| a.at < b.at));
        assert_eq!(mean(&window, 1, 999), Some(3000));
        window.forget_before(Time(998_000));
        assert_eq!(window.samples().count(), 2);
        assert!(Window::SAMPLES_MAX * size_of::<Sample>() <= 128 << 10);
    }
}
