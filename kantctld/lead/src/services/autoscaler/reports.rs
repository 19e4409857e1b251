//! What routers and nodes report of the load of services, and the sample of a role from it.

use autoscale::{KvLoad, Sample};
use common::autoscale::{Latency, Metric, Policy, Replicas, RequestRate, Requests, Rule, Tokens};
use common::id::{AttemptId, NodeName, ServiceName};
use common::service::engine::{EngineLoad, ReplicaLoad, Summary};
use common::service::load::{RouterLoad, ServiceLoad};
use common::time::{Span, Time};
use std::collections::BTreeMap;

/// A report that is older says nothing about the load now.
const REPORT_LASTS: Span = Span::from_seconds(10);

/// The last reports.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Reports {
    routers: BTreeMap<NodeName, RouterReport>,
    replicas: BTreeMap<AttemptId, ReplicaReport>,
}

/// The last report of one router.
#[derive(Debug, Clone, PartialEq)]
struct RouterReport {
    at: Time,
    load: RouterLoad,
    /// Requests of each service per second since the report before, in thousandths.
    rates: BTreeMap<String, u64>,
}

/// The last measurement of one replica, and what happened since the one before.
#[derive(Debug, Clone, PartialEq)]
struct ReplicaReport {
    at: Time,
    load: ReplicaLoad,
    since: Since,
}

/// What happened in a replica between two measurements.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Since {
    /// Requests per second, in thousandths.
    rate: Option<u64>,
    ttft: Option<Summary>,
    itl: Option<Summary>,
    tokens_in: Option<Summary>,
    tokens_out: Option<Summary>,
}

/// The role of which a sample is taken.
pub(super) struct Role<'a> {
    pub service: &'a ServiceName,
    /// It gets the requests of the routers.
    pub is_entry: bool,
    pub policy: &'a Policy,
    /// The replicas that are ready.
    pub ready: &'a [AttemptId],
}

/// The requests of a service at all routers.
#[derive(Clone, Copy)]
struct AtRouters {
    /// Without those that are held.
    in_flight: u64,
    held: u64,
    rate: u64,
}

impl Reports {
    /// Takes the report of the router on a node. Returns whether it holds requests.
    pub fn note_router(&mut self, node: &NodeName, load: RouterLoad, now: Time) -> bool {
        let before = self.routers.remove(node);
        let rate = |service: &ServiceLoad| {
            let before = before.as_ref()?;
            let span = time_between(before.load.uptime, load.uptime)?;
            let last = before.load.services.iter().find(|one| one.service == service.service)?;
            let more = service.requests.saturating_sub(last.requests);
            Some((service.service.clone(), per_second(more, span)))
        };
        let rates = load.services.iter().filter_map(rate).collect();
        let is_holding = load.services.iter().any(|service| service.held > 0);
        self.routers.insert(node.clone(), RouterReport { at: now, load, rates });
        is_holding
    }

    /// Takes the measurements of a node. One that is sent again, after a new connection, is known.
    pub fn note_replicas(&mut self, loads: Vec<ReplicaLoad>, now: Time) {
        for load in loads {
            let before = self.replicas.get(&load.id);
            if before.is_some_and(|before| before.load == load) {
                continue;
            }
            let since = before.map_or_else(Since::default, |before| Since::of(&before.load, &load));
            self.replicas.insert(load.id, ReplicaReport { at: now, load, since });
        }
    }

    /// Forgets the reports that say nothing about the load now.
    pub fn forget_old(&mut self, now: Time) {
        self.routers.retain(|_, report| now.since(report.at) < REPORT_LASTS);
        self.replicas.retain(|_, report| now.since(report.at) < REPORT_LASTS);
    }

    /// The load of a role now. `None`: nothing is known of it.
    ///
    /// Routers know the requests of the role that they send them to, all else comes from the
    /// engines. A role without replicas has no engines: it is woken by any request of its service.
    pub fn sample(&self, role: &Role<'_>, now: Time) -> Option<Sample> {
        let at_routers = self.load_at_routers(role.service);
        if let Some(sum) = at_routers.filter(|_| role.is_entry && follows_requests(role.policy)) {
            let ready = to_replicas(role.ready.len());
            return Some(Sample {
                at: now,
                ready,
                reporting: ready,
                held: to_requests(sum.held),
                in_flight: Some(to_requests(sum.in_flight)),
                rate: Some(RequestRate(sum.rate)),
                ..Sample::default()
            });
        }
        let held = match at_routers {
            Some(sum) if role.is_entry => sum.held,
            Some(sum) if role.ready.is_empty() => sum.held.saturating_add(sum.in_flight),
            Some(_) => 0,
            None if role.ready.is_empty() => return None,
            None => 0,
        };
        Some(self.sample_of_engines(role.ready, to_requests(held), now))
    }

    fn load_at_routers(&self, service: &ServiceName) -> Option<AtRouters> {
        let loads = self.routers.values().flat_map(|report| {
            let of = report.load.services.iter().filter(|one| one.service == service.as_str());
            of.map(move |one| AtRouters {
                in_flight: one.in_flight.saturating_sub(one.held),
                held: one.held,
                rate: report.rates.get(&one.service).copied().unwrap_or(0),
            })
        });
        loads.reduce(|one, other| AtRouters {
            in_flight: one.in_flight.saturating_add(other.in_flight),
            held: one.held.saturating_add(other.held),
            rate: one.rate.saturating_add(other.rate),
        })
    }

    fn sample_of_engines(&self, ready: &[AttemptId], held: Requests, now: Time) -> Sample {
        let reports: Vec<Option<&ReplicaReport>> =
            ready.iter().map(|id| self.replicas.get(id)).collect();
        let loads: Vec<_> = reports.iter().map(|one| one.and_then(ReplicaReport::load)).collect();
        let mean = |of: fn(&Since) -> Option<Summary>| {
            let parts = reports.iter().flatten().filter_map(|report| of(&report.since));
            parts.reduce(Summary::plus)
        };
        let micros = |summary: Summary| Latency(summary.mean_milli() / 1000);
        let tokens = |summary: Summary| Tokens(summary.mean_milli());
        Sample {
            ttft: mean(|since| since.ttft).map(micros),
            itl: mean(|since| since.itl).map(micros),
            tokens_in: mean(|since| since.tokens_in).map(tokens),
            tokens_out: mean(|since| since.tokens_out).map(tokens),
            ..Sample::from_reports(now, held, &loads)
        }
    }
}

impl ReplicaReport {
    /// `None`: neither the engine nor the driver answered.
    fn load(&self) -> Option<autoscale::ReplicaLoad> {
        let ReplicaLoad { engine, gpu_usage, .. } = &self.load;
        if engine.is_none() && gpu_usage.is_none() {
            return None;
        }
        let engine = engine.unwrap_or_default();
        let in_flight = match (engine.running, engine.waiting) {
            (Some(running), waiting) => Some(running.saturating_add(waiting.unwrap_or(0))),
            (None, waiting) => waiting,
        };
        Some(autoscale::ReplicaLoad {
            in_flight: in_flight.map(to_requests),
            rate: self.since.rate.map(RequestRate),
            waiting: engine.waiting.map(to_requests),
            kv_usage: engine.kv_usage,
            gpu_usage: *gpu_usage,
            kv: kv_load(&engine),
        })
    }
}

/// The memory of an engine that reports its size. It does not say how many tokens the first waiting
/// request has, so it counts as a mean one.
fn kv_load(engine: &EngineLoad) -> Option<KvLoad> {
    let (tokens, usage) = (engine.kv_tokens?, engine.kv_usage?);
    let mean = engine.tokens_in.map_or(0, Summary::mean_milli);
    Some(KvLoad {
        capacity: Tokens(tokens.saturating_mul(1000)),
        used: Tokens(tokens.saturating_mul(usage.0)),
        running: u32::try_from(engine.running?).unwrap_or(u32::MAX),
        head: engine.waiting.filter(|waiting| *waiting > 0).map(|_| Tokens(mean)),
        ..KvLoad::default()
    })
}

impl Since {
    fn of(before: &ReplicaLoad, load: &ReplicaLoad) -> Self {
        let span = time_between(before.measured_at, load.measured_at);
        let (Some(span), Some(last), Some(engine)) = (span, before.engine, load.engine) else {
            return Self::default();
        };
        let since = |now: Option<Summary>, before: Option<Summary>| now?.since(before?);
        let answers = engine.ttft.zip(last.ttft);
        let answers = answers.and_then(|(now, before)| now.count.checked_sub(before.count));
        Self {
            rate: answers.map(|count| per_second(count, span)),
            ttft: since(engine.ttft, last.ttft),
            itl: since(engine.itl, last.itl),
            tokens_in: since(engine.tokens_in, last.tokens_in),
            tokens_out: since(engine.tokens_out, last.tokens_out),
        }
    }
}

/// The time between two measurements of one process. `None`: it was started again.
fn time_between(before: Span, now: Span) -> Option<Span> {
    now.0.checked_sub(before.0).filter(|span| *span > 0).map(Span)
}

/// Whether a policy decides by the requests that routers see.
const fn follows_requests(policy: &Policy) -> bool {
    match &policy.rule {
        Rule::Fixed | Rule::Concurrency(_) | Rule::Rps(_) => true,
        Rule::Utilisation(rule) => matches!(rule.metric, Metric::InFlight | Metric::Rps),
        Rule::Queue(_) | Rule::Latency(_) => false,
    }
}

/// In thousandths.
fn per_second(count: u64, span: Span) -> u64 {
    count.saturating_mul(1_000_000) / span.0.max(1)
}

fn to_requests(requests: u64) -> Requests {
    Requests::whole(u32::try_from(requests).unwrap_or(u32::MAX))
}

fn to_replicas(replicas: usize) -> Replicas {
    Replicas(u32::try_from(replicas).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests;
