//! Judge of services. The controller never leaves fewer replicas ready than a service may lack by
//! stopping some, never starts more than an update may add, and takes a replica out of the
//! discovery before it is stopped. An endpoint that is listed as ready runs, and was ready in its
//! current attempt. The judge knows what replicas really do, and what nodes reported; it does not
//! use the leader's record of that.

mod decisions;
mod listed;
mod places;
mod settled;

use super::Complaint;
use common::id::AttemptId;
use common::job::{ReplicaHealth, ReplicaStatus};
use common::time::Span;
use state::{Event, State};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Default)]
pub struct ServiceJudge {
    pub complaints: Vec<Complaint>,
    /// Replicas that would answer a request now.
    answering: BTreeSet<AttemptId>,
    /// Replicas that answered at some time.
    answered: BTreeSet<AttemptId>,
    /// Replicas whose last report to any leader was that they are ready.
    shown_ready: BTreeSet<AttemptId>,
    /// When the log ended each attempt, in milliseconds.
    left_ms: BTreeMap<AttemptId, u64>,
    /// The endpoints in the last table, if they are ready.
    listed: BTreeSet<AttemptId>,
    /// Since when no fault has been in effect, in milliseconds.
    calm_ms: Option<u64>,
    /// When the newest leader was elected, in milliseconds.
    leader_since_ms: u64,
    /// Number of replicas that the log started.
    pub started: usize,
}

/// The time after the last fault in which a leader has taken notice of everything.
const CALM_AFTER_MS: u64 = 5_000;

impl ServiceJudge {
    /// Records that no fault is in effect from now on.
    pub fn note_calm(&mut self, now_ms: u64) {
        self.calm_ms = self.calm_ms.or(Some(now_ms));
    }

    /// Records that a controller leads, elected at a time.
    pub fn leads(&mut self, since_ms: u64) {
        self.leader_since_ms = self.leader_since_ms.max(since_ms);
    }

    /// Records that a replica answers requests, or no longer does.
    pub fn answers(&mut self, id: AttemptId, answers: bool) {
        if answers {
            self.answering.insert(id);
            self.answered.insert(id);
        } else {
            self.answering.remove(&id);
        }
    }

    /// Records that a step has ended, be it a replica or not.
    pub fn gone(&mut self, id: AttemptId) {
        self.answering.remove(&id);
    }

    /// Records what a node reported to a leader.
    pub fn shown(&mut self, statuses: &[ReplicaStatus]) {
        for status in statuses {
            match status.health {
                ReplicaHealth::Ready => self.shown_ready.insert(status.id),
                _ => self.shown_ready.remove(&status.id),
            };
        }
    }

    /// Checks that a replica whose processes are asked to end left the discovery early enough.
    pub fn terminated(&mut self, now_ms: u64, id: AttemptId, drain_delay: Span) {
        self.answering.remove(&id);
        let Some(left_ms) = self.left_ms.get(&id).copied() else { return };
        if now_ms < left_ms + drain_delay.0 {
            let text = format!(
                "{id} was terminated {} ms after it left the discovery, and its drain delay is {} \
                 ms",
                now_ms - left_ms,
                drain_delay.0
            );
            self.complain("drain", text);
        }
        // With faults, a leader may be unable to say so in time.
        let is_calm = self.calm_ms.is_some_and(|calm_ms| now_ms >= calm_ms + CALM_AFTER_MS);
        if is_calm && !drain_delay.is_zero() && self.listed.contains(&id) {
            self.complain("drain", format!("{id} was terminated while it was listed as ready"));
        }
    }

    /// Handles an event of the log, at its first application.
    pub fn read(&mut self, now_ms: u64, event: &Event) {
        if let Event::JobEnded { id, .. } = event {
            self.left_ms.entry(*id).or_insert(now_ms);
        }
    }

    /// Checks the services in the state after a command, at its first application.
    pub fn look(&mut self, state: &State, events: &[Event]) {
        let is_about_services = events.iter().any(|event| {
            matches!(event, Event::JobSubmitted { .. } | Event::ServiceChanged { .. })
        });
        if events.iter().any(|event| matches!(event, Event::JobStarted { .. })) {
            self.judge_nodes(state);
            self.judge_bases(state);
        }
        if !is_about_services || state.services().next().is_none() {
            return;
        }
        let is_replica = |event: &&Event| match event {
            Event::JobSubmitted { job, .. } => {
                state.job(*job).is_some_and(|record| record.spec.ask.replica.is_some())
            }
            _ => false,
        };
        self.started += events.iter().filter(is_replica).count();
        for service in state.services() {
            self.judge_places(state, &service.name);
            let roles = service.spec().into_iter().flat_map(|spec| &spec.roles);
            for role in roles {
                let (wanted, bounds) = (service.wanted(&role.name), role.replicas);
                if wanted < bounds.min || wanted > bounds.max {
                    let text = format!(
                        "{}/{} wants {wanted} replicas, of {} to {}",
                        service.name, role.name, bounds.min, bounds.max
                    );
                    self.complain("enough-ready", text);
                }
            }
        }
    }

    fn complain(&mut self, judge: &'static str, text: String) {
        self.complaints.push(Complaint::new(judge, text));
    }
}
