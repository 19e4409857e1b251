//! Services in a simulated cluster: the loop of `kantctld`'s `leader::services` in virtual time,
//! with the same functions. Nodes report their replicas, and one router the load that a scenario
//! sets.

use super::{Cluster, Happening, SimError};
use crate::behaviour::Behaviour;
use common::autoscale::{LocalTime, Policy, Rule};
use common::id::{JobKey, NodeName, Revision, ServiceName};
use common::job::{Replica, ReplicaHealth, ReplicaStatus};
use common::service::ServiceEvent;
use common::service::load::{RouterLoad, ServiceLoad};
use common::time::{Span, Time};
use lead::services::{self, Autoscaler, DECIDE_EVERY, Readiness};
use state::service::Service;
use state::{Command, Deployment, Event, State};
use std::collections::BTreeMap;

/// The shortest time between two decisions of autoscaling policies, as in the controller.
const DECIDE_PAUSE_MIN: Span = Span(400);

/// Bounds change with the minutes of the local time.
const MINUTE: Span = Span::from_minutes(1);

/// What the leader keeps of services, and what simulated programs and users do with them.
#[derive(Debug, Default)]
pub(super) struct Services {
    readiness: Readiness,
    autoscaler: Autoscaler,
    /// What the replicas of each revision do.
    behaviours: BTreeMap<(ServiceName, Revision), Behaviour>,
    /// Requests in flight, as the router sees them.
    loads: BTreeMap<ServiceName, u64>,
    /// Something changed since the last look at the services.
    is_due: bool,
    /// When something is due even if nothing changes.
    look_at: Option<Time>,
    decided_at: Option<Time>,
    /// The last event of each service that was recorded.
    recorded: BTreeMap<ServiceName, ServiceEvent>,
}

impl Services {
    pub(super) fn behaviour(&self, replica: &Replica) -> Option<&Behaviour> {
        self.behaviours.get(&(replica.service.clone(), replica.revision))
    }
}

impl Cluster {
    /// Deploys a service. The replicas of this revision will behave in this way.
    ///
    /// # Errors
    /// A judge found a fault.
    pub fn deploy(
        &mut self,
        deployment: Deployment,
        behaviour: Behaviour,
    ) -> Result<Vec<Event>, SimError> {
        let events = self.apply(Command::DeployService(Box::new(deployment)))?;
        for event in &events {
            if let Event::ServiceChanged { name, revision } = event {
                self.services.behaviours.insert((name.clone(), *revision), behaviour.clone());
            }
        }
        self.react()?;
        Ok(events)
    }

    /// From now on this number of requests to a service is in flight.
    pub fn set_load(&mut self, service: ServiceName, in_flight: u64) {
        self.services.loads.insert(service, in_flight);
    }

    /// What nodes report of their replicas.
    #[must_use]
    pub const fn readiness(&self) -> &Readiness {
        &self.services.readiness
    }

    /// The decisions of autoscaling policies.
    #[must_use]
    pub const fn autoscaler(&self) -> &Autoscaler {
        &self.services.autoscaler
    }

    /// Takes a node's report on its replicas.
    pub(super) fn note_replicas(&mut self, node: &NodeName, statuses: Vec<ReplicaStatus>) {
        let is_ready = |status: &&ReplicaStatus| status.health == ReplicaHealth::Ready;
        let is_new =
            |status: &&ReplicaStatus| self.services.readiness.ready_since(status.id).is_none();
        let ready = statuses.iter().filter(is_ready).filter(is_new);
        let ready: Vec<JobKey> = ready.map(|status| status.id.key).collect();
        self.services.is_due |= self.services.readiness.note_report(node, statuses, self.now);
        ready.into_iter().for_each(|key| self.note_health(key, ReplicaHealth::Ready));
    }

    /// Records events, those that they add to services, and which replicas leave the discovery.
    pub(super) fn note(&mut self, events: &[Event]) {
        for event in events {
            self.happenings.push((self.now, Happening::Changed(event.clone())));
            if let Event::JobEnded { id, nodes, .. } = event
                && !nodes.is_empty()
                && self.services.readiness.ready_since(*id).is_some()
            {
                self.note_health(id.key, ReplicaHealth::Draining);
            }
        }
        for service in self.state.services() {
            let recorded = self.services.recorded.get(&service.name);
            if service.events.last() == recorded {
                continue;
            }
            let at = service.events.iter().rposition(|event| Some(event) == recorded);
            let more = &service.events[at.map_or(0, |at| at + 1)..];
            let happening = |event: &ServiceEvent| {
                let (name, event) = (service.name.clone(), event.kind.clone());
                (self.now, Happening::Service { name, event })
            };
            self.happenings.extend(more.iter().map(happening));
            let last = more.last().map(|last| (service.name.clone(), last.clone()));
            self.services.recorded.extend(last);
        }
        self.services.is_due |= self.state.services().next().is_some();
    }

    fn note_health(&mut self, key: JobKey, health: ReplicaHealth) {
        let record = self.state.job(key.job);
        let replica = record.and_then(|record| record.spec.ask.replica.clone());
        let happening = |replica| Happening::Replica { replica, key, health };
        self.happenings.extend(replica.map(|replica| (self.now, happening(replica))));
    }

    /// One look of the leader at the services, if it is due. Returns whether anything was done.
    pub(super) fn converge(&mut self) -> Result<bool, SimError> {
        let now = self.now;
        let is_over = |at: Option<Time>| at.is_some_and(|at| at <= now);
        let is_due = self.services.is_due || is_over(self.services.look_at);
        if !is_due && !is_over(self.next_decision()) {
            return Ok(false);
        }
        self.services.is_due = false;
        let scaled = self.autoscale_if_due();
        self.services.readiness.prune(&self.state, self.now);
        let plan = services::plan_services(&self.state, &self.services.readiness, now);
        self.services.look_at = plan.look_at;
        let commands: Vec<Command> = plan.commands.into_iter().chain(scaled).collect();
        let is_any = !commands.is_empty();
        for command in commands {
            self.apply(command)?;
        }
        Ok(is_any)
    }

    /// The decisions of autoscaling policies, if they are due.
    fn autoscale_if_due(&mut self) -> Vec<Command> {
        let now = self.now;
        let is_due = self.services.decided_at.is_none_or(|at| at + DECIDE_PAUSE_MIN <= now);
        if !is_due || policies(&self.state).next().is_none() {
            return Vec::new();
        }
        self.services.decided_at = Some(now);
        let Services { readiness, autoscaler, loads, .. } = &mut self.services;
        if !loads.is_empty() {
            autoscaler.note_router_load(&router(), router_load(loads, now), now);
        }
        autoscaler.decide(&self.state, readiness, now, LocalTime::utc(now))
    }

    /// When services are due for a look, whatever else happens.
    pub(super) fn next_converge_at(&self) -> Option<Time> {
        self.services.look_at.filter(|_| self.state.services().next().is_some())
    }

    /// When policies decide next, if nothing else happens. Those that follow only the hours would
    /// decide the same until the minute changes.
    pub(super) fn next_decision(&self) -> Option<Time> {
        let mut policies = policies(&self.state).peekable();
        policies.peek()?;
        let decided_at = self.services.decided_at?;
        Some(decision_after(decided_at, policies.all(|policy| policy.rule == Rule::Fixed)))
    }
}

/// When policies decide after this decision.
fn decision_after(decided_at: Time, follows_hours: bool) -> Time {
    let minute = Time((decided_at.0 / MINUTE.0 + 1) * MINUTE.0);
    let next = if follows_hours { minute } else { decided_at + DECIDE_EVERY };
    next.max(decided_at + DECIDE_PAUSE_MIN)
}

/// The policies of all roles.
fn policies(state: &State) -> impl Iterator<Item = &Policy> {
    let specs = state.services().filter_map(Service::spec);
    specs.flat_map(|spec| &spec.roles).filter_map(|role| role.autoscale.as_ref())
}

/// The node of the only router.
fn router() -> NodeName {
    NodeName::new("router").expect("a name of a node")
}

fn router_load(loads: &BTreeMap<ServiceName, u64>, now: Time) -> RouterLoad {
    let load = |(service, in_flight): (&ServiceName, &u64)| ServiceLoad {
        service: service.to_string(),
        in_flight: *in_flight,
        ..ServiceLoad::default()
    };
    let services = loads.iter().map(load).collect();
    RouterLoad { table_version: 1, uptime: now.since(Time(0)), services }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_decision_is_at_the_next_minute_but_not_too_soon() {
        assert_eq!(decision_after(Time(60_000), true), Time(120_000));
        assert_eq!(decision_after(Time(119_000), true), Time(120_000));
        assert_eq!(decision_after(Time(119_900), true), Time(120_300));
        assert_eq!(decision_after(Time(119_900), false), Time(121_900));
    }
}
