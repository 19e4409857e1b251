//! A replica of a service on its node: what it does, and what its node finds out by probes.

use super::{Node, Surroundings};
use crate::message::{NodeOutput, StepChange};
use crate::services::{Fate, ReplicaPlan, replica_plan};
use common::id::AttemptId;
use common::job::{EndCause, PortGrant, Replica, ReplicaHealth, ReplicaStatus};
use common::time::Span;
use common::wire::node::LaunchOrder;

/// How long an end waits for the next start of kantd, which makes the probes, in milliseconds.
const NO_KANTD_MS: u64 = 500;
/// The first port that a node gives to replicas.
const PORTS_FROM: u32 = 20_000;

#[derive(Debug, Clone)]
pub struct ReplicaStep {
    order: Box<Replica>,
    plan: ReplicaPlan,
    /// Whether it would answer a request.
    answers: bool,
    has_answered: bool,
}

impl ReplicaStep {
    /// The replica of an order, if the order is for one.
    pub fn begin(order: &LaunchOrder, seed: u64) -> Option<Self> {
        let replica = order.replica.clone()?;
        let plan = replica_plan(seed, &order.script, order.id);
        Some(Self { order: replica, plan, answers: false, has_answered: false })
    }

    pub fn drain_delay(&self) -> Span {
        self.order.drain_delay
    }

    /// Whether its prolog hangs until a stop. That is a fault, so none hangs after the faults.
    pub const fn is_stuck(&self, is_calm: bool) -> bool {
        self.plan.is_stuck && !is_calm
    }

    /// Its exit code, if it exits by itself.
    pub const fn code(&self) -> u8 {
        match self.plan.fate {
            Fate::Exits(code) => code,
            _ => 0,
        }
    }

    /// Its processes start.
    pub fn go(&self, id: AttemptId, around: &mut Surroundings<'_>) {
        let mut push = |in_ms, change| around.outputs.push(NodeOutput::StepIn(in_ms, id, change));
        push(0, StepChange::Probed);
        let probes = &self.order.probes;
        let must_answer = probes.readiness.is_some() || probes.startup.is_some();
        match self.plan.ready_ms.filter(|_| must_answer) {
            Some(in_ms) => push(in_ms, StepChange::Answers),
            // Without a probe for it, a replica is ready as soon as it runs.
            None if !must_answer => push(0, StepChange::Answers),
            None => {}
        }
        if probes.startup.is_some() {
            push(probes.startup_max.0, StepChange::StartsTooLong);
        }
        if self.plan.fate != Fate::Stays {
            push(self.plan.fate_ms, StepChange::FateComes);
        }
    }

    /// What its node knows after a probe.
    fn health(&self) -> ReplicaHealth {
        match (self.answers, self.has_answered) {
            (true, _) => ReplicaHealth::Ready,
            (false, true) => ReplicaHealth::NotReady,
            (false, false) => ReplicaHealth::Starting,
        }
    }

    fn status(&self, id: AttemptId, health: ReplicaHealth) -> ReplicaStatus {
        let number = u16::try_from(PORTS_FROM + id.key.job.0 % PORTS_FROM).unwrap_or(0);
        let grant = |name: &_| PortGrant { name: Clone::clone(name), number };
        let ports = self.order.ports.iter().map(grant).collect();
        ReplicaStatus { id, health, ports, why: None }
    }

    /// Changes by itself. Returns whether its node will notice.
    fn change(&mut self, id: AttemptId, change: StepChange, around: &mut Surroundings<'_>) -> bool {
        let mut push = |in_ms, change| around.outputs.push(NodeOutput::StepIn(in_ms, id, change));
        match (change, self.plan.fate) {
            (StepChange::Answers | StepChange::Recovers, _) => {
                (self.answers, self.has_answered) = (true, true);
            }
            (StepChange::FateComes, _) if around.is_calm && !self.plan.is_certain => return false,
            (StepChange::FateComes, Fate::Flaps { for_ms }) => {
                // Only a readiness probe takes notice.
                if !self.answers || self.order.probes.readiness.is_none() {
                    return false;
                }
                self.answers = false;
                push(for_ms, StepChange::Recovers);
            }
            (StepChange::FateComes, Fate::NotLive) => {
                if self.has_answered && self.order.probes.liveness.is_some() {
                    push(1, StepChange::ReplicaEnds(EndCause::NotLive));
                }
                return false;
            }
            (StepChange::FateComes, Fate::Exits(_)) => {
                push(1, StepChange::ReplicaEnds(EndCause::Exited));
                return false;
            }
            (StepChange::StartsTooLong, _) if !self.has_answered => {
                push(1, StepChange::ReplicaEnds(EndCause::NotLive));
                return false;
            }
            _ => return false,
        }
        push(self.plan.probe_ms, StepChange::Probed);
        around.services.answers(id, self.answers);
        true
    }
}

impl Node {
    /// Handles a change of a replica that leaves the phase of its step as it is. Returns false if
    /// it is another change.
    pub(super) fn replica_changes(
        &mut self,
        id: AttemptId,
        change: StepChange,
        around: &mut Surroundings<'_>,
    ) -> bool {
        match change {
            StepChange::Answers
            | StepChange::FateComes
            | StepChange::Recovers
            | StepChange::StartsTooLong => {
                let step = self.steps.get_mut(&id).filter(|step| step.serves());
                if let Some(replica) = step.and_then(|step| step.replica.as_mut()) {
                    replica.change(id, change, around);
                }
            }
            StepChange::Probed => self.probed(id, around),
            StepChange::ReplicaEnds(EndCause::NotLive) if self.kantd.is_none() => {
                around.outputs.push(NodeOutput::StepIn(NO_KANTD_MS, id, change));
            }
            _ => return false,
        }
        true
    }

    /// kantd, if it runs, learns the state of a replica.
    fn probed(&mut self, id: AttemptId, around: &mut Surroundings<'_>) {
        let step = self.steps.get(&id).filter(|step| step.serves());
        let Some(replica) = step.and_then(|step| step.replica.as_ref()) else { return };
        let status = replica.status(id, replica.health());
        if let Some(kantd) = &mut self.kantd {
            kantd.note_replica(status, around);
        }
    }

    /// A kantd that has just started probes all replicas, and says nothing of them before.
    pub fn probe_replicas(&mut self, around: &mut Surroundings<'_>) {
        if self.kantd.is_none() {
            return;
        }
        for (id, step) in self.steps.iter().filter(|(_, step)| step.serves()) {
            let Some(replica) = &step.replica else { continue };
            let in_ms = replica.plan.probe_ms;
            around.outputs.push(NodeOutput::StepIn(in_ms, *id, StepChange::Probed));
        }
    }
}
