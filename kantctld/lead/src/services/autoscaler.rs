//! Autoscaling of roles: the loads that routers report become samples, and each policy decides from
//! the samples of the last minutes. A new leader begins without samples, which delays the removal
//! of replicas and nothing else.

use super::readiness::Readiness;
use super::replicas;
use autoscale::{Decision, Moment, Sample, Window};
use common::autoscale::{LocalTime, Policy, Reason, Replicas, RequestRate, Requests};
use common::id::{NodeName, RoleName, ServiceName};
use common::service::load::{RouterLoad, ServiceLoad};
use common::time::{Span, Time};
use state::service::Service;
use state::{Command, State};
use std::collections::BTreeMap;

/// The time between two decisions.
pub const DECIDE_EVERY: Span = Span::from_seconds(2);

/// A report that is older says nothing about the load now.
const REPORT_LASTS: Span = Span::from_seconds(10);

/// The last report of one router.
#[derive(Debug, Clone, PartialEq)]
struct Report {
    at: Time,
    load: RouterLoad,
    /// Requests of each service per second since the report before, in thousandths.
    rates: BTreeMap<String, u64>,
}

/// What is kept of one role.
#[derive(Debug, Clone, PartialEq, Default)]
struct Kept {
    window: Window,
    state: autoscale::State,
    reason: Option<Reason>,
}

/// The autoscaler of one leader.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Autoscaler {
    reports: BTreeMap<NodeName, Report>,
    roles: BTreeMap<(ServiceName, RoleName), Kept>,
}

impl Autoscaler {
    /// Takes the report of the router on a node. Returns whether it holds requests, which a service
    /// without replicas should hear of at once.
    pub fn report(&mut self, node: &NodeName, load: RouterLoad, now: Time) -> bool {
        let before = self.reports.remove(node);
        let rate = |service: &ServiceLoad| {
            let before = before.as_ref()?;
            let last = before.load.services.iter().find(|one| one.service == service.service)?;
            let more = service.requests.saturating_sub(last.requests);
            let span = now.since(before.at).0.max(1);
            Some((service.service.clone(), more.saturating_mul(1_000_000) / span))
        };
        let rates = load.services.iter().filter_map(rate).collect();
        let is_holding = load.services.iter().any(|service| service.held > 0);
        self.reports.insert(node.clone(), Report { at: now, load, rates });
        is_holding
    }

    /// The decisions that change something, for all roles with a policy.
    pub fn decide(
        &mut self,
        state: &State,
        readiness: &Readiness,
        now: Time,
        local: LocalTime,
    ) -> Vec<Command> {
        self.reports.retain(|_, report| now.since(report.at) < REPORT_LASTS);
        let exists = |name: &ServiceName| state.service(name).is_some();
        self.roles.retain(|(service, _), _| exists(service));
        let mut commands = Vec::new();
        for service in state.services().filter(|service| !service.is_stopping) {
            let spec = service.spec();
            for role in spec.iter().flat_map(|spec| &spec.roles) {
                let Some(policy) = &role.autoscale else { continue };
                let is_entry = spec
                    .and_then(|spec| spec.entry_role())
                    .is_some_and(|entry| entry.name == role.name);
                let ready = ready(state, service, &role.name, readiness);
                let sample = self.sample(&service.name, is_entry, ready, now);
                let moment = Moment { at: now, local };
                commands.extend(self.decide_role(service, &role.name, policy, sample, moment));
            }
        }
        commands
    }

    /// The reason of the last decision for a role.
    #[must_use]
    pub fn reason(&self, service: &ServiceName, role: &RoleName) -> Option<&Reason> {
        self.roles.get(&(service.clone(), role.clone()))?.reason.as_ref()
    }

    /// Forgets everything, at the beginning of a term.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// The load of a role now, as all routers together see it. `None`: nothing is known of it,
    /// because no router has reported it, or because routers send it no requests.
    fn sample(
        &self,
        service: &ServiceName,
        is_entry: bool,
        ready: u32,
        now: Time,
    ) -> Option<Sample> {
        let loads = || {
            self.reports.values().flat_map(|report| {
                let of = report.load.services.iter().filter(|one| one.service == service.as_str());
                of.map(move |one| (one, report.rates.get(&one.service).copied().unwrap_or(0)))
            })
        };
        loads().next().filter(|_| is_entry)?;
        let sum = |of: fn(&ServiceLoad) -> u64| {
            loads().map(|(load, _)| of(load)).fold(0, u64::saturating_add)
        };
        let in_flight = sum(|load| load.in_flight.saturating_sub(load.held));
        let rate = loads().map(|(_, rate)| rate).fold(0, u64::saturating_add);
        Some(Sample {
            at: now,
            ready: Replicas(ready),
            reporting: Replicas(ready),
            held: whole(sum(|load| load.held)),
            in_flight: Some(whole(in_flight)),
            rate: Some(RequestRate(rate)),
            ..Sample::default()
        })
    }

    fn decide_role(
        &mut self,
        service: &Service,
        role: &RoleName,
        policy: &Policy,
        sample: Option<Sample>,
        moment: Moment,
    ) -> Option<Command> {
        let kept = self.roles.entry((service.name.clone(), role.clone())).or_default();
        sample.into_iter().for_each(|sample| kept.window.push(sample));
        kept.window.forget_before(Time(moment.at.0.saturating_sub(policy.window().0)));
        let wanted = service.wanted(role);
        let current = Replicas(wanted);
        let decided = autoscale::decide(policy, &kept.window, current, &kept.state, moment);
        let Decision { wanted: to, reason, state } = decided;
        kept.state = state;
        kept.reason = Some(reason.clone());
        (to.0 != wanted).then(|| Command::AutoscaleService {
            service: service.name.clone(),
            role: role.clone(),
            replicas: to.0,
            reason: Box::new(reason),
        })
    }
}

fn whole(requests: u64) -> Requests {
    Requests::whole(u32::try_from(requests).unwrap_or(u32::MAX))
}

/// The replicas of a role that get requests.
fn ready(state: &State, service: &Service, role: &RoleName, readiness: &Readiness) -> u32 {
    let all = replicas(state, service, readiness);
    let ready = all.iter().filter(|one| one.role == *role && one.ready_since.is_some());
    u32::try_from(ready.count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
