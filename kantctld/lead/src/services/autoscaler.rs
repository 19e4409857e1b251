//! Autoscaling of roles: the loads that routers and nodes report become samples, and each policy
//! decides from the samples of the last minutes. A new leader begins without samples, which delays
//! the removal of replicas and nothing else.

mod reports;

use super::readiness::Readiness;
use super::replicas;
use autoscale::{Decision, Moment, Pair, Sample, Window};
use common::autoscale::{Fraction, Limit, LocalTime, Policy, Reason, Replicas};
use common::id::{AttemptId, NodeName, RoleName, ServiceName};
use common::service::engine::ReplicaLoad;
use common::service::load::RouterLoad;
use common::service::{RatioSpec, ServiceSpec};
use common::time::{Span, Time};
use reports::{Reports, Role};
use state::service::Service;
use state::{Command, State};
use std::collections::BTreeMap;

/// The time between two decisions.
pub const DECIDE_EVERY: Span = Span::from_seconds(2);

/// An older sample says nothing about the load now.
const FRESH: Span = Span::from_seconds(10);

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
    reports: Reports,
    roles: BTreeMap<(ServiceName, RoleName), Kept>,
}

/// A decision for one role.
struct Decided<'a> {
    role: &'a RoleName,
    policy: &'a Policy,
    wanted: Replicas,
    reason: Reason,
}

impl Autoscaler {
    /// Takes the report of the router on a node. Returns whether it holds requests, which should
    /// be answered at once for a service without replicas.
    pub fn note_router_load(&mut self, node: &NodeName, load: RouterLoad, now: Time) -> bool {
        self.reports.note_router(node, load, now)
    }

    /// Takes what a node measured of its replicas.
    pub fn note_replica_loads(&mut self, loads: Vec<ReplicaLoad>, now: Time) {
        self.reports.note_replicas(loads, now);
    }

    /// The decisions that change something, for all roles with a policy.
    pub fn decide(
        &mut self,
        state: &State,
        readiness: &Readiness,
        now: Time,
        local: LocalTime,
    ) -> Vec<Command> {
        self.reports.forget_old(now);
        let exists = |name: &ServiceName| state.service(name).is_some();
        self.roles.retain(|(service, _), _| exists(service));
        let mut commands = Vec::new();
        for service in state.services().filter(|service| !service.is_stopping) {
            let Some(spec) = service.spec() else { continue };
            let ready = ready_replicas(state, service, readiness);
            let moment = Moment { at: now, local };
            let mut decided = self.decide_roles(service, spec, &ready, moment);
            if let Some(ratio) = &spec.ratio {
                self.keep_ratio(service, ratio, &mut decided, moment);
            }
            for Decided { role, wanted, reason, .. } in decided {
                commands.extend(self.keep_decision(service, role, wanted, reason));
            }
        }
        commands
    }

    /// The reason of the last decision for a role.
    #[must_use]
    pub fn reason(&self, service: &ServiceName, role: &RoleName) -> Option<&Reason> {
        self.roles.get(&(service.clone(), role.clone()))?.reason.as_ref()
    }

    /// The last sample of a role. `None`: nothing is known of its load.
    #[must_use]
    pub fn last_sample(&self, service: &ServiceName, role: &RoleName) -> Option<&Sample> {
        self.roles.get(&(service.clone(), role.clone()))?.window.samples().next_back()
    }

    /// Forgets everything, at the beginning of a term.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    fn decide_roles<'a>(
        &mut self,
        service: &Service,
        spec: &'a ServiceSpec,
        ready: &BTreeMap<RoleName, Vec<AttemptId>>,
        moment: Moment,
    ) -> Vec<Decided<'a>> {
        let entry = spec.entry_role().map(|entry| &entry.name);
        let mut decided = Vec::new();
        for role in &spec.roles {
            let (Some(policy), name) = (&role.autoscale, &role.name) else { continue };
            let ready = ready.get(name).map(Vec::as_slice).unwrap_or_default();
            let is_entry = entry == Some(name);
            let role = Role { service: &service.name, is_entry, policy, ready };
            let sample = self.reports.sample(&role, moment.at);
            let kept = self.roles.entry((service.name.clone(), name.clone())).or_default();
            sample.into_iter().for_each(|sample| kept.window.push(sample));
            kept.window.forget_before(Time(moment.at.0.saturating_sub(policy.window().0)));
            let current = Replicas(service.wanted(name));
            let decision = autoscale::decide(policy, &kept.window, current, &kept.state, moment);
            let Decision { wanted, reason, state } = decision;
            kept.state = state;
            decided.push(Decided { role: name, policy, wanted, reason });
        }
        decided
    }

    /// Brings the decisions for two roles that need each other into their band.
    fn keep_ratio(
        &self,
        service: &Service,
        ratio: &RatioSpec,
        decided: &mut [Decided<'_>],
        moment: Moment,
    ) {
        let Moment { at: now, local } = moment;
        let of = |name: &RoleName| {
            let one = decided.iter().find(|one| one.role == name)?;
            let last = self.last_sample(&service.name, name).filter(|last| is_fresh(last, now));
            let load =
                if last.is_some_and(is_idle) { Fraction(0) } else { one.reason.measure.load() };
            Some(autoscale::Role { wanted: one.wanted, load, bounds: one.policy.bounds(local) })
        };
        let (Some(prefill), Some(decode)) = (of(&ratio.prefill), of(&ratio.decode)) else {
            return;
        };
        let balance = autoscale::balance_roles(&ratio.band, Pair { prefill, decode });
        for one in decided {
            let wanted = match one.role {
                name if *name == ratio.prefill => balance.wanted.prefill,
                name if *name == ratio.decode => balance.wanted.decode,
                _ => continue,
            };
            if wanted != one.wanted {
                one.wanted = wanted;
                one.reason.limits.push(Limit::Ratio { replicas: wanted });
            }
        }
    }

    /// Keeps the reason of a decision, and enacts it if it changes something.
    fn keep_decision(
        &mut self,
        service: &Service,
        role: &RoleName,
        wanted: Replicas,
        reason: Reason,
    ) -> Option<Command> {
        let kept = self.roles.entry((service.name.clone(), role.clone())).or_default();
        kept.reason = Some(reason.clone());
        (wanted.0 != service.wanted(role)).then(|| Command::AutoscaleService {
            service: service.name.clone(),
            role: role.clone(),
            replicas: wanted.0,
            reason: Box::new(reason),
        })
    }
}

fn is_fresh(sample: &Sample, now: Time) -> bool {
    now.since(sample.at) < FRESH
}

/// Whether a role is known to have no requests.
fn is_idle(sample: &Sample) -> bool {
    sample.held.is_zero() && sample.in_flight.is_some_and(|sum| sum.is_zero())
}

/// The replicas that get requests, by role.
fn ready_replicas(
    state: &State,
    service: &Service,
    readiness: &Readiness,
) -> BTreeMap<RoleName, Vec<AttemptId>> {
    let mut ready: BTreeMap<RoleName, Vec<AttemptId>> = BTreeMap::new();
    for replica in replicas(state, service, readiness) {
        if let Some((_, element)) = state.element(replica.key).filter(|_| replica.is_ready()) {
            ready.entry(replica.role).or_default().push(element.attempt_id(replica.key));
        }
    }
    ready
}

#[cfg(test)]
mod tests;
