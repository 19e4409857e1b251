//! The replay of recorded requests under one policy.

use super::fleet::{Begun, Fleet, ReplicaNumber, RequestIndex};
use super::outcome::{Outcome, Step, Tally};
use super::setup::Setup;
use autoscale::{Moment, Sample, State, Window, decide};
use common::autoscale::{Latency, Policy, Replicas, RequestRate, Tokens};
use common::time::{Span, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use trace::Request;

/// When a trace begins: a Monday, 00:00 UTC, for the schedule of a policy.
const BEGIN: Time = Time(4 * 24 * 3_600_000);

/// What is replayed.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    /// By arrival.
    pub requests: &'a [Request],
    pub setup: &'a Setup,
    /// The policy's name in the outcome.
    pub name: &'a str,
    /// It must be valid.
    pub policy: &'a Policy,
    /// The metrics are of the requests that arrive from this time on.
    pub measured_from: Span,
}

/// What happens at one time, in the order in which it happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Complete(RequestIndex, ReplicaNumber),
    Ready(ReplicaNumber),
    Arrive(RequestIndex),
    Sample,
    Decide,
}

/// Replays the requests until the last one has ended. The policy decides as often as its source
/// says ([`Policy::interval`]), on samples every [`Setup::SAMPLE_INTERVAL`].
#[must_use]
pub fn replay(plan: &Plan<'_>) -> Outcome {
    let mut run = Run::new(plan);
    while let Some(Reverse((now, event))) = run.events.pop() {
        if run.open == 0 {
            break;
        }
        run.now = now;
        run.handle(event);
    }
    let from = BEGIN + plan.measured_from;
    let lifetimes: Vec<_> = run.fleet.lifetimes(run.now).collect();
    run.tally.outcome(plan.name, plan.setup, lifetimes.into_iter(), from)
}

struct Run<'a> {
    plan: &'a Plan<'a>,
    fleet: Fleet<'a>,
    events: BinaryHeap<Reverse<(Time, Event)>>,
    now: Time,
    /// Requests that have not ended.
    open: usize,
    window: Window,
    state: State,
    wanted: Replicas,
    recent: Recent,
    tally: Tally,
}

/// What happened since the last sample.
#[derive(Debug, Default)]
struct Recent {
    arrived: u64,
    tokens_in: Mean,
    tokens_out: Mean,
    /// Microseconds.
    wait: Mean,
    /// Microseconds from token to token.
    pace: Mean,
}

#[derive(Debug, Default)]
struct Mean {
    sum: u64,
    count: u64,
}

impl Mean {
    fn add(&mut self, value: u64) {
        self.sum += value;
        self.count += 1;
    }

    const fn value(&self) -> Option<u64> {
        self.sum.checked_div(self.count)
    }
}

impl<'a> Run<'a> {
    fn new(plan: &'a Plan<'a>) -> Self {
        let mut events = BinaryHeap::new();
        // The other arrivals follow one by one, so that the heap stays small.
        if let Some(first) = plan.requests.first() {
            events.push(Reverse((BEGIN + first.arrival, Event::Arrive(RequestIndex(0)))));
        }
        events.push(Reverse((BEGIN, Event::Sample)));
        events.push(Reverse((BEGIN, Event::Decide)));
        Self {
            plan,
            fleet: Fleet::new(plan.setup, plan.requests, BEGIN),
            events,
            now: BEGIN,
            open: plan.requests.len(),
            window: Window::default(),
            state: State::default(),
            wanted: plan.setup.initial,
            recent: Recent::default(),
            tally: Tally::default(),
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Complete(request, replica) => {
                self.open -= 1;
                let next = self.fleet.complete(Begun { request, replica }, self.now);
                next.into_iter().for_each(|begun| self.begin(begun));
            }
            Event::Ready(replica) => {
                let begun = self.fleet.become_ready(replica, self.now);
                begun.into_iter().for_each(|begun| self.begin(begun));
            }
            Event::Arrive(request) => self.arrive(request),
            Event::Sample => {
                self.sample();
                self.schedule(Setup::SAMPLE_INTERVAL, Event::Sample);
            }
            Event::Decide => {
                self.decide();
                self.schedule(self.plan.policy.interval(), Event::Decide);
            }
        }
    }

    fn schedule(&mut self, delay: Span, event: Event) {
        self.events.push(Reverse((self.now + delay, event)));
    }

    fn arrive(&mut self, index: RequestIndex) {
        let next = RequestIndex(index.0 + 1);
        if let Some(request) = self.plan.requests.get(next.0) {
            self.events.push(Reverse((BEGIN + request.arrival, Event::Arrive(next))));
        }
        let Some(request) = self.plan.requests.get(index.0) else { return };
        self.recent.arrived += 1;
        let thousandths = |tokens: u32| u64::from(tokens) * 1000;
        request.tokens_in.into_iter().for_each(|n| self.recent.tokens_in.add(thousandths(n)));
        request.tokens_out.into_iter().for_each(|n| self.recent.tokens_out.add(thousandths(n)));
        if let Some(begun) = self.fleet.arrive(index, self.now) {
            self.begin(begun);
        }
    }

    fn begin(&mut self, begun: Begun) {
        let Some(request) = self.plan.requests.get(begun.request.0) else { return };
        self.schedule(request.service, Event::Complete(begun.request, begun.replica));
        let wait = self.now.since(BEGIN + request.arrival);
        self.recent.wait.add(wait.0 * 1000);
        if let Some(tokens) = request.tokens_out.filter(|tokens| *tokens > 0) {
            self.recent.pace.add(request.service.0 * 1000 / u64::from(tokens));
        }
        if request.arrival >= self.plan.measured_from {
            self.tally.waits.push(wait);
            self.tally.service = self.tally.service + request.service;
        }
    }

    fn sample(&mut self) {
        let load = self.fleet.load(self.now);
        let recent = std::mem::take(&mut self.recent);
        let milliseconds = Setup::SAMPLE_INTERVAL.0;
        let freeness = load.kv.iter().map(|kv| autoscale::freeness(kv).0);
        let count = i64::try_from(load.kv.len()).unwrap_or(i64::MAX);
        self.window.push(Sample {
            at: self.now,
            ready: load.ready,
            reporting: load.ready,
            held: load.held,
            in_flight: Some(load.in_flight),
            rate: Some(RequestRate(recent.arrived * 1_000_000 / milliseconds)),
            waiting: Some(load.waiting),
            kv_usage: Some(load.kv_usage),
            gpu_usage: Some(load.gpu_usage),
            freeness: freeness.sum::<i64>().checked_div(count).map(common::autoscale::Freeness),
            ttft: recent.wait.value().map(Latency),
            itl: recent.pace.value().map(Latency),
            tokens_in: recent.tokens_in.value().map(Tokens),
            tokens_out: recent.tokens_out.value().map(Tokens),
        });
        self.window.forget_before(self.now - self.plan.policy.window().max(Span::from_minutes(1)));
    }

    fn decide(&mut self) {
        let (policy, now) = (self.plan.policy, Moment::utc(self.now));
        let decision = decide(policy, &self.window, self.wanted, &self.state, now);
        self.state = decision.state;
        let (from, to) = (self.wanted, decision.wanted);
        let at = self.now.since(BEGIN);
        if at >= self.plan.measured_from {
            self.tally.replicas_max = self.tally.replicas_max.max(to);
        }
        if from == to {
            return;
        }
        self.wanted = to;
        for started in self.fleet.scale(to, self.now) {
            let delay = started.ready_at.since(self.now);
            self.schedule(delay, Event::Ready(started.replica));
        }
        if at >= self.plan.measured_from {
            let reason = decision.reason.to_string();
            self.tally.steps.push(Step { at, from, to, reason });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(every: Span, count: u64, service: Span) -> Vec<Request> {
        let request = |at| Request {
            arrival: Span(every.0 * at),
            service,
            tokens_in: None,
            tokens_out: None,
        };
        (0..count).map(request).collect()
    }

    fn policy(text: &str) -> Policy {
        serde_json::from_str(text).unwrap()
    }

    fn replayed(requests: &[Request], setup: &Setup, text: &str) -> Outcome {
        let (policy, measured_from) = (policy(text), Span(0));
        replay(&Plan { requests, setup, name: "p", policy: &policy, measured_from })
    }

    #[test]
    fn a_fixed_number_is_a_queue_that_can_be_worked_out() {
        // One place, a request of 3 s every 2 s: each waits for one second more than the last.
        let requests = requests(Span::from_seconds(2), 10, Span::from_seconds(3));
        let setup = Setup { concurrency: 1, ..Setup::default() };
        let outcome = replayed(&requests, &setup, r#"{"min":1,"max":1}"#);
        assert_eq!(outcome.wait_mean_seconds, 4.5);
        assert_eq!((outcome.wait_max_seconds, outcome.misses), (9.0, 4));
        assert_eq!(outcome.gpu_hours, 30.0 / 3600.0);
        assert_eq!((outcome.busy_fraction, outcome.changes), (1.0, 0));
    }

    #[test]
    fn a_service_at_zero_starts_a_replica_for_a_request_and_stops_it_again() {
        let mut requests = requests(Span::from_minutes(20), 3, Span::from_seconds(4));
        requests.retain(|request| request.arrival != Span(0));
        let setup = Setup { initial: Replicas(0), ..Setup::default() };
        let text = r#"{"max":3,"concurrency":{"target":1}}"#;
        let outcome = replayed(&requests, &setup, text);
        assert_eq!((outcome.requests, outcome.starts), (2, 2 * 2));
        assert_eq!(outcome.misses, 2, "each waits for the start");
        assert!((90.0..93.0).contains(&outcome.wait_max_seconds), "{outcome:?}");
        let zero = outcome.steps.iter().find(|step| step.to.is_zero()).unwrap();
        assert!(zero.reason.starts_with("0 requests in flight over 60 s"), "{}", zero.reason);
    }

    #[test]
    fn a_replay_depends_on_its_input_only_and_the_first_half_may_be_left_out() {
        let requests = requests(Span(700), 4000, Span(9100));
        let (setup, text) = (Setup::default(), r#"{"min":1,"max":9,"concurrency":{"target":8}}"#);
        let all = replayed(&requests, &setup, text);
        assert_eq!(all, replayed(&requests, &setup, text));
        let policy = policy(text);
        let measured_from = Span(700 * 2000);
        let half = replay(&Plan {
            requests: &requests,
            setup: &setup,
            name: "p",
            policy: &policy,
            measured_from,
        });
        assert_eq!(half.requests, 2000);
        assert!(half.misses < all.misses, "the first replicas start in the first half");
        assert!(half.gpu_hours < all.gpu_hours);
    }
}
