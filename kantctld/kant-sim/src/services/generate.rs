//! Generated requests: a daily cycle with bursts, determined by the seed.

use crate::random::{exponential, log_normal};
use common::time::Span;
use fastrand::Rng;
use std::f64::consts::TAU;
use trace::Request;

const DAY_SECONDS: f64 = 86_400.0;

/// The parameters of generated requests. They are ours: no public trace of an inference service
/// with service times is in reach of the tests.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Shape {
    pub days: u32,
    /// Mean over a day, without bursts.
    pub rate_per_second: f64,
    /// The rate is `1 + swing * cos(...)` times the mean, from 0 to 1.
    pub swing: f64,
    /// When the rate is highest.
    pub peak_hour: f64,
    /// Bursts begin at random, this far apart in the mean.
    pub burst_gap_hours: f64,
    /// The mean length of a burst.
    pub burst_minutes: f64,
    /// In a burst the rate is multiplied by a number from 2 to this.
    pub burst_factor_max: f64,
    /// The mean time that a request takes on a replica.
    pub service_seconds: f64,
    /// The standard deviation of its logarithm.
    pub service_sigma: f64,
    /// The mean tokens of a request; their logarithm has the same deviation.
    pub tokens_in: f64,
    /// The time for each token of the answer.
    pub token_milliseconds: f64,
}

impl Shape {
    pub const DAY: Self = Self {
        days: 2,
        rate_per_second: 3.0,
        swing: 0.6,
        peak_hour: 14.0,
        burst_gap_hours: 3.0,
        burst_minutes: 5.0,
        burst_factor_max: 4.0,
        service_seconds: 8.0,
        service_sigma: 0.8,
        tokens_in: 1000.0,
        token_milliseconds: 30.0,
    };

    /// The requests of these days, by arrival. Arrivals are a Poisson process whose rate changes
    /// (by thinning: Lewis and Shedler, 1979).
    pub fn requests(&self, seed: u64) -> Vec<Request> {
        let mut rng = Rng::with_seed(seed);
        let end = f64::from(self.days) * DAY_SECONDS;
        let bursts = self.bursts(end, &mut rng);
        let highest = self.rate_per_second * (1.0 + self.swing) * self.burst_factor_max;
        let mut requests = Vec::new();
        let mut at = 0.0;
        loop {
            at += exponential(1.0 / highest, &mut rng);
            if at >= end {
                return requests;
            }
            let factor = bursts.iter().filter(|burst| burst.contains(at)).map(|burst| burst.factor);
            let rate = self.base_rate(at) * factor.fold(1.0, f64::max);
            if rng.f64() * highest < rate {
                requests.push(self.request(at, &mut rng));
            }
        }
    }

    fn base_rate(&self, at: f64) -> f64 {
        let from_peak = (at - self.peak_hour * 3600.0) / DAY_SECONDS;
        self.rate_per_second * (1.0 + self.swing * (from_peak * TAU).cos())
    }

    fn bursts(&self, end: f64, rng: &mut Rng) -> Vec<Burst> {
        let mut bursts = Vec::new();
        let mut begin = 0.0;
        loop {
            begin += exponential(self.burst_gap_hours * 3600.0, rng);
            if begin >= end {
                return bursts;
            }
            let end = begin + exponential(self.burst_minutes * 60.0, rng);
            let factor = 2.0 + rng.f64() * (self.burst_factor_max - 2.0);
            bursts.push(Burst { begin, end, factor });
        }
    }

    fn request(&self, at: f64, rng: &mut Rng) -> Request {
        let service = log_normal(self.service_seconds, self.service_sigma, rng);
        let tokens_in = log_normal(self.tokens_in, self.service_sigma, rng);
        let tokens_out = service * 1000.0 / self.token_milliseconds;
        Request {
            arrival: span(at),
            service: span(service),
            tokens_in: Some(tokens_in.round().max(1.0) as u32),
            tokens_out: Some(tokens_out.round().max(1.0) as u32),
        }
    }
}

struct Burst {
    begin: f64,
    end: f64,
    factor: f64,
}

impl Burst {
    const fn contains(&self, at: f64) -> bool {
        self.begin <= at && at < self.end
    }
}

fn span(seconds: f64) -> Span {
    Span((seconds * 1000.0).round().max(0.0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: Shape = Shape { days: 1, burst_gap_hours: 1e9, ..Shape::DAY };

    #[test]
    fn requests_depend_on_the_seed_only_and_have_the_stated_means() {
        let requests = QUIET.requests(1);
        assert_eq!(requests, QUIET.requests(1));
        assert_ne!(requests, QUIET.requests(2));
        assert!(requests.is_sorted_by_key(|request| request.arrival));
        let expected = 3.0 * DAY_SECONDS;
        assert!((requests.len() as f64 / expected - 1.0).abs() < 0.01, "{}", requests.len());
        let sum: u64 = requests.iter().map(|request| request.service.0).sum();
        let mean = sum as f64 / requests.len() as f64 / 1000.0;
        assert!((mean / 8.0 - 1.0).abs() < 0.02, "{mean}");
    }

    #[test]
    fn the_rate_follows_the_hours_of_the_day() {
        let requests = QUIET.requests(1);
        let in_hour = |hour: u64| {
            let hours = requests.iter().map(|request| request.arrival.seconds() / 3600);
            hours.filter(|begun| *begun == hour).count() as f64
        };
        let (night, noon) = (in_hour(2), in_hour(14));
        assert!((noon / night - 4.0).abs() < 0.3, "1.6 by 0.4: {noon} {night}");
    }

    #[test]
    fn bursts_add_requests() {
        let shape = Shape { burst_gap_hours: 0.5, ..QUIET };
        assert!(shape.requests(1).len() as f64 > QUIET.requests(1).len() as f64 * 1.1);
    }
}
