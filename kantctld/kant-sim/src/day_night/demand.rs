//! Generated demand: training jobs and the requests to the service, determined by the seed.

use crate::random::{exponential, log_normal};
use crate::services::generate::Shape;
use common::time::{Span, Time};
use common::unit::Gpus;
use fastrand::Rng;
use serde::Serialize;
use sim::day_night::{LOAD_STEP, Setup, Training};
use std::f64::consts::TAU;
use trace::Request;

const DAY_SECONDS: f64 = 86_400.0;

/// The parameters of generated training. They are ours.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TrainingShape {
    /// GPUs that all jobs together would keep busy in the mean.
    pub busy_gpus: f64,
    /// Sizes of jobs in GPUs, with the part of the jobs that have each.
    pub sizes: [(u32, f64); 4],
    /// The mean run; runs are log-normal.
    pub run_minutes: f64,
    /// The standard deviation of the logarithm of a run.
    pub run_sigma: f64,
    /// The shortest and the longest run.
    pub run_minutes_min: f64,
    pub run_minutes_max: f64,
    /// Jobs arrive at `1 + swing * cos(...)` times the mean rate.
    pub swing: f64,
    /// When most jobs arrive.
    pub peak_hour: f64,
}

impl TrainingShape {
    pub const WEEK: Self = Self {
        busy_gpus: 30.0,
        sizes: [(1, 0.4), (2, 0.2), (4, 0.2), (8, 0.2)],
        run_minutes: 100.0,
        run_sigma: 1.0,
        run_minutes_min: 5.0,
        run_minutes_max: 1440.0,
        swing: 0.6,
        peak_hour: 14.0,
    };

    /// The same without jobs of more GPUs, the others in proportion.
    pub fn up_to(mut self, most: Gpus) -> Self {
        let is_left = |(gpus, _): &&mut (u32, f64)| *gpus <= most.0;
        let left: f64 = self.sizes.iter_mut().filter(is_left).map(|(_, part)| *part).sum();
        for (gpus, part) in &mut self.sizes {
            *part = if *gpus <= most.0 { *part / left } else { 0.0 };
        }
        self
    }

    /// Jobs per second in the mean.
    fn jobs_per_second(&self) -> f64 {
        let size: f64 = self.sizes.iter().map(|(gpus, part)| f64::from(*gpus) * part).sum();
        self.busy_gpus / (size * self.run_minutes * 60.0)
    }

    fn draw_size(&self, rng: &mut Rng) -> Gpus {
        let mut rest = rng.f64();
        for (gpus, part) in self.sizes {
            if rest < part {
                return Gpus(gpus);
            }
            rest -= part;
        }
        Gpus(1)
    }
}

/// What happens in one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Demands {
    pub training: Vec<Training>,
    pub in_flight: Vec<u32>,
}

/// The demand of one seed.
pub fn draw(setup: &Setup, shape: &TrainingShape, rate: f64, seed: u64) -> Demands {
    let requests = Shape { days: setup.days, rate_per_second: rate, ..Shape::DAY };
    let steps = u64::from(setup.days) * 86_400_000 / LOAD_STEP.0;
    let in_flight = in_flight(&requests.requests(seed), steps as usize);
    Demands { training: draw_training_jobs(setup, shape, &mut Rng::with_seed(!seed)), in_flight }
}

/// Arrivals are a Poisson process whose rate changes (by thinning: Lewis and Shedler, 1979).
fn draw_training_jobs(setup: &Setup, shape: &TrainingShape, rng: &mut Rng) -> Vec<Training> {
    let end = f64::from(setup.days) * DAY_SECONDS;
    let highest = shape.jobs_per_second() * (1.0 + shape.swing);
    let mut jobs = Vec::new();
    let mut at = 0.0;
    loop {
        at += exponential(1.0 / highest, rng);
        if at >= end {
            return jobs;
        }
        let from_peak = (at - shape.peak_hour * 3600.0) / DAY_SECONDS;
        let rate = shape.jobs_per_second() * (1.0 + shape.swing * (from_peak * TAU).cos());
        if rng.f64() * highest >= rate {
            continue;
        }
        let run = log_normal(shape.run_minutes, shape.run_sigma, rng);
        let run = run.clamp(shape.run_minutes_min, shape.run_minutes_max);
        jobs.push(Training {
            at: Time((at * 1000.0) as u64),
            team: rng.usize(0..setup.teams.len()),
            gpus: shape.draw_size(rng),
            run: Span((run * 60_000.0) as u64),
        });
    }
}

/// The requests in flight at the beginning of each step, if each begins at once.
fn in_flight(requests: &[Request], steps: usize) -> Vec<u32> {
    // The first step at whose beginning something has happened.
    let step = |at: Span| (at.0.div_ceil(LOAD_STEP.0) as usize).min(steps);
    let mut changes = vec![0_i64; steps + 1];
    for request in requests {
        changes[step(request.arrival)] += 1;
        changes[step(Span(request.arrival.0 + request.service.0))] -= 1;
    }
    let sums = changes.iter().take(steps).scan(0, |sum: &mut i64, change| {
        *sum += change;
        Some(u32::try_from(*sum).unwrap_or(0))
    });
    sums.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup() -> Setup {
        let quota = Gpus(16);
        let teams = vec![("a".parse().unwrap(), quota), ("b".parse().unwrap(), quota)];
        Setup {
            days: 7,
            nodes: 8,
            gpus_per_node: 8,
            gpus_per_replica: Gpus(4),
            replicas_by_day: 8,
            replicas_by_night: 2,
            day: (8, 20),
            concurrency: 8,
            down_delay: Span::from_minutes(10),
            start_delay: Span::from_seconds(90),
            teams,
            protection: Span::from_minutes(30),
            checkpoint: Span::from_minutes(30),
            moves: common::policy::Moves::default(),
        }
    }

    #[test]
    fn training_depends_on_the_seed_only_and_has_the_stated_mean() {
        let shape = TrainingShape::WEEK;
        let setup = Setup { days: 400, ..setup() };
        let jobs = draw_training_jobs(&setup, &shape, &mut Rng::with_seed(1));
        assert_eq!(jobs, draw_training_jobs(&setup, &shape, &mut Rng::with_seed(1)));
        assert_ne!(jobs, draw_training_jobs(&setup, &shape, &mut Rng::with_seed(2)));
        assert!(jobs.is_sorted_by_key(|job| job.at));
        let work: f64 = jobs.iter().map(|job| f64::from(job.gpus.0) * job.run.0 as f64).sum();
        let busy = work / (400.0 * DAY_SECONDS * 1000.0);
        // The longest runs are cut, which takes about two percent.
        assert!((28.5..30.5).contains(&busy), "{busy}");
        let of_first = jobs.iter().filter(|job| job.team == 0).count() as f64;
        assert!((of_first / jobs.len() as f64 - 0.5).abs() < 0.02);
    }

    #[test]
    fn requests_are_in_flight_from_their_arrival_to_their_end() {
        let request = |arrival, service| Request {
            arrival: Span::from_seconds(arrival),
            service: Span::from_seconds(service),
            tokens_in: None,
            tokens_out: None,
        };
        // The first is over before the second step begins, the second just as the fourth does.
        let requests = [request(1, 8), request(5, 25), request(20, 100)];
        assert_eq!(in_flight(&requests, 5), [0, 1, 2, 1, 1]);
    }
}
