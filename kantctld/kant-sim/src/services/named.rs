//! Policies by name, for comparison with a policy from a file.

use clap::ValueEnum;
use common::autoscale::{
    Bounds, Fraction, Level, Metric, PerReplica, Policy, Queue, Replicas, Requests, Rule,
    Utilisation,
};
use common::time::Span;
use sim::service::Setup;
use trace::Request;

/// A policy with the defaults of its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum NamedPolicy {
    /// Knative: requests in flight, 70 % of the places of each replica
    Kpa,
    /// Kubernetes: GPU time in use, 80 %
    Hpa,
    /// Kubernetes: requests in flight, 80 % of the places of each replica
    HpaInFlight,
    /// Llumnix and Dynamo: queues and memory of the engines
    Queue,
    /// SkyServe: requests per second at 70 % of what a replica does in the mean
    Skyserve,
}

impl NamedPolicy {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kpa => "kpa",
            Self::Hpa => "hpa",
            Self::HpaInFlight => "hpa-in-flight",
            Self::Queue => "queue",
            Self::Skyserve => "skyserve",
        }
    }

    /// The policy for replicas like these.
    pub fn policy(self, setup: &Setup, requests: &[Request], bounds: Bounds) -> Policy {
        let places = setup.concurrency;
        Policy::new(
            bounds,
            match self {
                Self::Kpa => Rule::Concurrency(PerReplica::new(Requests::whole(places))),
                // The target of `kubectl autoscale` without one.
                Self::Hpa => Rule::Utilisation(Utilisation::new(Metric::GpuUsage, Level(800))),
                Self::HpaInFlight => {
                    let target = Level(u64::from(places) * 800);
                    Rule::Utilisation(Utilisation::new(Metric::InFlight, target))
                }
                Self::Queue => Rule::Queue(Queue::default()),
                Self::Skyserve => Rule::Utilisation(skyserve(setup, requests)),
            },
        )
    }
}

/// SkyServe has no default target; this one uses the trace's mean service time.
/// Source: SkyPilot, `sky/serve/constants.py`: a window of 60 s, up after 300 s, down after 1200 s.
fn skyserve(setup: &Setup, requests: &[Request]) -> Utilisation {
    let sum: u64 = requests.iter().map(|request| request.service.0).sum();
    let count = requests.len() as u64;
    // Places by the mean service time in milliseconds, at 70 %, in thousandths of a request.
    let target = (u64::from(setup.concurrency) * count * 700_000).checked_div(sum).unwrap_or(1);
    Utilisation {
        tolerance: Fraction(0),
        window_seconds: Span::from_seconds(60),
        up_stabilisation_seconds: Span::from_seconds(300),
        up_part: Fraction::whole(1000),
        down_stabilisation_seconds: Span::from_seconds(1200),
        ..Utilisation::new(Metric::Rps, Level(target.max(1)))
    }
}

/// The bounds of policies by name.
pub const fn bounds(max: u32) -> Bounds {
    Bounds { min: Replicas::ONE, max: Replicas(max) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_valid_and_have_the_stated_targets() {
        let service = Span::from_seconds(8);
        let request = Request { arrival: Span(0), service, tokens_in: None, tokens_out: None };
        for name in NamedPolicy::value_variants() {
            let policy = name.policy(&Setup::default(), &[request], bounds(32));
            assert_eq!(policy.validate(), Ok(()), "{}", name.name());
        }
        // Eight places and 8 s: one request per second.
        assert_eq!(skyserve(&Setup::default(), &[request]).target, Level(700));
    }
}
