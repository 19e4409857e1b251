//! Judge of what a leader decides about replicas, in the state that it knows.

use super::ServiceJudge;
use common::health::DrainCause;
use common::id::{AttemptId, JobKey, Ordinal, Revision, RoleName};
use common::job::Phase;
use common::service::StopReason;
use state::service::Service;
use state::{Command, State};
use std::collections::{BTreeMap, BTreeSet};

/// An unfinished replica that is not about to end.
#[derive(Debug)]
struct Alive {
    id: AttemptId,
    role: RoleName,
    ordinal: Ordinal,
    runs: bool,
    /// It runs on a node that an operator drained, which it has to leave.
    must_leave: bool,
    /// One without probes is ready as soon as it runs: its node makes no report on that.
    has_probes: bool,
}

impl ServiceJudge {
    /// Checks the commands that a leader, elected at `since_ms`, decided on together. A leader that
    /// does not know yet that another one was elected decides without effect: a majority has voted
    /// in the later term, so it takes no more of this leader's commands.
    pub fn decided(&mut self, since_ms: u64, state: &State, commands: &[Command]) {
        if since_ms < self.leader_since_ms {
            return;
        }
        let mut stopped: BTreeMap<JobKey, StopReason> = BTreeMap::new();
        let mut started: Vec<(&Service, &RoleName, Revision)> = Vec::new();
        for command in commands {
            match command {
                Command::StopReplica { key, why } => _ = stopped.insert(*key, *why),
                Command::StartReplicas { service, revision, places } => {
                    let service = state.service(service).into_iter();
                    let each = |one| places.iter().map(move |at| (one, &at.role, *revision));
                    started.extend(service.flat_map(each));
                }
                _ => {}
            }
        }
        if stopped.is_empty() && started.is_empty() {
            return;
        }
        for service in state.services().filter(|service| !service.is_stopping) {
            let all = alive(state, service);
            let roles: BTreeSet<&RoleName> = all.iter().map(|one| &one.role).collect();
            let own = started.iter().filter(|(of, ..)| of.name == service.name);
            let starts: Vec<&RoleName> = own.map(|(_, role, _)| *role).collect();
            for role in roles.into_iter().chain(starts.iter().copied()) {
                let count = starts.iter().filter(|one| **one == role).count();
                let all: Vec<&Alive> = all.iter().filter(|one| one.role == *role).collect();
                self.judge_stops(service, role, &all, &stopped);
                self.judge_starts(service, role, &all, &stopped, count);
            }
        }
    }

    fn judge_stops(
        &mut self,
        service: &Service,
        role: &RoleName,
        all: &[&Alive],
        stopped: &BTreeMap<JobKey, StopReason>,
    ) {
        let wanted = service.wanted(role);
        let Some(update) = service.spec().map(|spec| &spec.update) else { return };
        let why = |one: &Alive| stopped.get(&one.id.key).copied();
        for one in all.iter().filter(|one| why(one) == Some(StopReason::ScaledDown)) {
            if one.ordinal.0 < wanted {
                let text =
                    format!("{role}.{} of {} is stopped as surplus", one.ordinal, service.name);
                self.complain("enough-ready", format!("{text}, and {wanted} are wanted"));
            }
        }
        let is_lost = |one: &&&Alive| {
            let was_ready = self.answering.contains(&one.id) && self.is_shown_ready(one);
            why(one).is_some() && one.runs && was_ready
        };
        let lost: Vec<&Alive> = all.iter().filter(is_lost).copied().collect();
        if lost.is_empty() {
            return;
        }
        let may_serve = |one: &Alive| self.answering.contains(&one.id) || self.is_shown_ready(one);
        let left = all.iter().filter(|one| why(one).is_none() && one.runs && may_serve(one));
        let left = left.count();
        let is_replaced = |one: &&Alive| why(one) == Some(StopReason::Replaced) && !one.must_leave;
        let is_update = lost.iter().all(is_replaced);
        let missing = if is_update { update.missing_max() } else { update.max_parallel };
        if left < wanted.saturating_sub(missing) as usize {
            let text = format!(
                "{left} replicas of {}/{role} are left ready after {} more are stopped; {wanted} \
                 are wanted, and {missing} may be missing",
                service.name,
                lost.len()
            );
            self.complain("enough-ready", text);
        }
    }

    /// Whether a leader has to take a replica that runs for ready.
    fn is_shown_ready(&self, one: &Alive) -> bool {
        !one.has_probes || self.shown_ready.contains(&one.id)
    }

    fn judge_starts(
        &mut self,
        service: &Service,
        role: &RoleName,
        all: &[&Alive],
        stopped: &BTreeMap<JobKey, StopReason>,
        started: usize,
    ) {
        let Some(spec) = service.spec().filter(|_| started > 0) else { return };
        let (wanted, update) = (service.wanted(role), &spec.update);
        let awaits_promotion = service.update.is_some_and(|update| !update.is_promoted);
        let extra = if awaits_promotion { update.canary } else { update.max_surge };
        let staying = all.iter().filter(|one| !stopped.contains_key(&one.id.key)).count();
        if staying + started > (wanted + extra) as usize {
            let text = format!(
                "{started} replicas of {}/{role} are started beside {staying}; {wanted} are \
                 wanted, and {extra} more are allowed",
                service.name
            );
            self.complain("surge", text);
        }
    }
}

/// The replicas of a service that run, are about to run, or will run again.
fn alive(state: &State, service: &Service) -> Vec<Alive> {
    let replicas = state.replicas_of(&service.name).filter_map(|record| {
        let replica = record.spec.ask.replica.as_deref()?;
        let (index, element) = record.elements.first_key_value()?;
        let end = element.run.as_ref().and_then(|run| run.end.as_ref());
        let is_over = match element.phase {
            Phase::Done => true,
            Phase::Completing => !end.is_some_and(|end| end.requeue),
            _ => false,
        };
        let runs = element.phase == Phase::Running;
        let (role, ordinal) = (replica.role.clone(), replica.ordinal);
        let id = element.attempt_id(record.key(*index));
        let probes = service.role_of(replica).map(|role| &role.probes);
        let has_probes = probes.is_none_or(|probes| probes.all().next().is_some());
        let is_drained = |node| {
            let drain = state.node(node).and_then(|node| node.drain.as_ref());
            drain.is_some_and(|drain| drain.cause == DrainCause::Operator)
        };
        let shares = element.run.iter().flat_map(|run| run.allocation.shares());
        let must_leave = runs && shares.map(|share| &share.node).any(is_drained);
        (!is_over).then_some(Alive { id, role, ordinal, runs, must_leave, has_probes })
    });
    replicas.collect()
}
