//! One role under a policy, second by second.

use autoscale::{Decision, Moment, Sample, State, Window, decide};
use common::autoscale::{Bounds, Policy, Replicas, Requests, Rule};
use common::time::{Span, Time};

/// A Thursday.
pub const BEGIN: Time = Time(0);

pub fn seconds(seconds: u64) -> Time {
    BEGIN + Span::from_seconds(seconds)
}

pub fn policy(text: &str) -> Policy {
    let policy: Policy = toml::from_str(text).expect("a policy");
    assert_eq!(policy.validate(), Ok(()));
    policy
}

pub fn unbounded(rule: Rule) -> Policy {
    Policy::new(Bounds { min: Replicas(0), max: Policy::REPLICAS_MAX }, rule)
}

/// A sample with requests in flight, in which all replicas report.
pub fn in_flight(ready: u32, requests: f64) -> Sample {
    let ready = Replicas(ready);
    let in_flight = Requests::from_f64(requests);
    Sample { ready, reporting: ready, in_flight, ..Sample::default() }
}

pub struct RoleUnderPolicy {
    pub policy: Policy,
    pub window: Window,
    pub current: Replicas,
    pub state: State,
    /// Seconds since the beginning.
    pub now: u64,
}

impl RoleUnderPolicy {
    pub fn new(policy: Policy, current: u32) -> Self {
        let current = Replicas(current);
        Self { policy, window: Window::default(), current, state: State::default(), now: 0 }
    }

    /// Takes the sample and decides, and applies the decision.
    pub fn step(&mut self, sample: Sample) -> Decision {
        let at = seconds(self.now);
        self.window.push(Sample { at, ..sample });
        let decision =
            decide(&self.policy, &self.window, self.current, &self.state, Moment::utc(at));
        self.current = decision.wanted;
        self.state = decision.state.clone();
        decision
    }

    /// Decides every 2 s for a time, with the same sample, in which all wanted replicas are ready
    /// at once. Returns the numbers of replicas, without repetitions.
    pub fn run(&mut self, duration: u64, sample: Sample) -> Vec<u32> {
        let end = self.now + duration;
        let mut numbers = Vec::new();
        while self.now < end {
            let (ready, reporting) = (self.current, self.current);
            numbers.push(self.step(Sample { ready, reporting, ..sample }).wanted.0);
            self.now += 2;
        }
        numbers.dedup();
        numbers
    }
}
