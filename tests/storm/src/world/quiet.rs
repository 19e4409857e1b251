//! The end of a history: all faults end, all jobs and requests finish, and the judges check the
//! result. A history ends only when nothing is left to happen.

use super::World;
use super::event::Event;
use crate::judge::{Complaint, finish};
use crate::work::Action;
use common::id::ControllerId;
use common::job::Phase;
use state::State;

/// Time between two samples, in milliseconds.
const SAMPLE_MS: u64 = 500;
/// Promises are judged from this time after the last fault, in milliseconds.
const CALM_MS: u64 = 5_000;
/// Everything must finish within this time after the last fault, in milliseconds.
const QUIET_MAX_MS: u64 = 1_500_000;
/// The cluster must be up within this time, in milliseconds.
const READY_MAX_MS: u64 = 120_000;

impl World {
    pub(super) fn sample(&mut self) {
        self.agenda.add(self.now_ms + SAMPLE_MS, Event::Sample);
        self.sweep();
        self.note_contact();
        let Some(ready_ms) = self.ready_ms else {
            if self.now_ms > READY_MAX_MS {
                self.complaints.push(Complaint::new("ends", "the cluster never came to stand"));
            }
            return;
        };
        let calm_ms = ready_ms + self.plan.trouble_ms;
        if self.now_ms < calm_ms {
            return;
        }
        if !self.is_healed {
            self.heal();
        }
        self.look_at_claims();
        self.look_at_services(calm_ms);
        if self.now_ms > calm_ms + CALM_MS {
            self.look_at_promises();
        }
        if self.is_quiet() {
            self.finish();
        } else if self.now_ms > calm_ms + QUIET_MAX_MS {
            let open = self.open();
            let text = format!("not over {QUIET_MAX_MS} ms after the trouble: {open}");
            self.complaints.push(Complaint::new("ends", text));
        }
    }

    /// Ends all faults.
    fn heal(&mut self) {
        self.is_healed = true;
        self.story.add(self.now_ms, || "the trouble is over".to_owned());
        self.net.heal();
        self.set_walls_right();
        let ids: Vec<ControllerId> = self.hosts.keys().copied().collect();
        for id in ids {
            let Some(host) = self.hosts.get_mut(&id) else { continue };
            host.disk.memory.set_capacity_bytes(None);
            host.paused_until_ms = host.paused_until_ms.min(self.now_ms);
            host.slow_until_ms = 0;
            if host.is_tearing {
                self.cut_power(id);
            }
            self.start_soon(id, 100);
        }
        let mut log = self.log.borrow_mut();
        log.time.note_calm(self.now_ms);
        log.services.borrow_mut().note_calm(self.now_ms);
        drop(log);
        for node in 0..self.nodes.len() {
            self.with_node(node, |node, around, _| node.find(None, around));
            self.agenda.add(self.now_ms + 1_000, Event::Kantd(node));
        }
    }

    fn look_at_claims(&mut self) {
        let Some((leader, _)) = self.leader() else { return };
        let process = self.hosts.get(&leader).and_then(|host| host.process.as_ref());
        let Some(process) = process else { return };
        let state = &process.replica().machine().state;
        let found = self.claim_judge.look(self.now_ms, state, self.node_judge.living());
        self.complaints.extend(found);
    }

    fn look_at_promises(&mut self) {
        let Some((leader, _)) = self.leader() else { return };
        let process = self.hosts.get(&leader).and_then(|host| host.process.as_ref());
        let Some(process) = process else { return };
        let by = (leader, process.replica().status().term);
        let Some(last) = process.last_round() else { return };
        self.promise_judge.look(by, last, &self.log.borrow().frontier);
    }

    /// The states of all members; `None` unless all of them run and have applied the same entries.
    fn replicas(&self) -> Option<Vec<(ControllerId, &State)>> {
        let (leader, members) = self.leader()?;
        let applied = self.hosts.get(&leader)?.process.as_ref()?.replica().applied();
        let voters = members.voters.iter().chain(&members.learners);
        let mut replicas = Vec::new();
        for id in voters.map(|id| ControllerId(*id)) {
            let replica = self.hosts.get(&id)?.process.as_ref()?.replica();
            if replica.applied() != applied {
                return None;
            }
            replicas.push((id, &replica.machine().state));
        }
        Some(replicas)
    }

    fn is_quiet(&self) -> bool {
        let Some(replicas) = self.replicas() else { return false };
        self.progress.iter().all(|progress| progress.is_over)
            && self.services_end.is_stopping
            && self.tasks.is_empty()
            && !self.nodes.iter().any(|node| node.is_busy())
            && replicas.first().is_some_and(|(_, state)| {
                let all_enrolled = state.enrolments().all(|(_, one)| one.revoked.is_none());
                state.live().next().is_none()
                    && state.services().next().is_none()
                    && state.key_status().is_settled()
                    && all_enrolled
            })
    }

    fn finish(&mut self) {
        let found = self.replicas().map(|states| finish::judge(&self.user_judge, &states));
        self.complaints.extend(found.into_iter().flatten());
        let submitted = |of: usize| match &self.plan.works.get(of)?.action {
            Action::Submit(ask) => ask.time_limit,
            _ => None,
        };
        self.complaints.extend(self.register_judge.judge(submitted));
        self.story.add(self.now_ms, || "all is over".to_owned());
        self.is_over = true;
    }

    /// Describes what has not finished.
    fn open(&self) -> String {
        let mut open = Vec::new();
        let progress = self.progress.iter().enumerate().filter(|(_, progress)| !progress.is_over);
        open.extend(progress.map(|(work, _)| format!("w{work} is not answered")));
        open.extend(self.tasks.iter().map(|task| format!("{task:?}")));
        let busy = self.nodes.iter().filter(|node| node.is_busy());
        open.extend(busy.map(|node| format!("{} is busy", node.name)));
        match self.leader() {
            None => open.push("no controller leads".to_owned()),
            Some((leader, _)) => {
                let process = self.hosts.get(&leader).and_then(|host| host.process.as_ref());
                let state = process.map(|process| &process.replica().machine().state);
                for key in state.into_iter().flat_map(State::live) {
                    let phase = state.and_then(|s| s.element(key)).map(|(_, e)| e.phase);
                    open.push(format!("job {key} is {}", phase.unwrap_or(Phase::Pending)));
                }
                for (name, enrolment) in state.into_iter().flat_map(State::enrolments) {
                    if enrolment.revoked.is_some() {
                        open.push(format!("{name} has not joined again"));
                    }
                }
                if state.is_some_and(|state| !state.key_status().is_settled()) {
                    open.push("a new cluster key is in progress".to_owned());
                }
            }
        }
        if self.replicas().is_none() {
            open.push("replicas are not equally far".to_owned());
        }
        open.truncate(12);
        open.join("; ")
    }
}
