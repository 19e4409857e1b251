//! Judge of what really runs. At most one attempt of a job is alive, each attempt is launched once,
//! no two steps use the same CPUs or GPUs, no step is stopped without a request, and no job runs
//! again after it succeeded. The judge observes the machines, and does not rely on the state for
//! what runs.
//!
//! A node that was given up after it was out of contact for longer than `node_lost_after` has ended
//! its jobs by then. Only one that is over for good may still run there, if it may not be requeued.

use super::Complaint;
use common::id::{AttemptId, JobKey, NodeName};
use common::resource::Share;
use common::wire::node::Want;
use state::{Event, State};
use std::collections::{BTreeMap, BTreeSet};

/// A node counts as in contact for this long after it really was, in milliseconds: a leader that
/// was cut off or paused does not know yet that it leads no longer.
const CONTACT_SLACK_MS: u64 = 4_000;

#[derive(Debug, Default)]
pub struct NodeJudge {
    pub complaints: Vec<Complaint>,
    living: BTreeMap<(JobKey, NodeName, AttemptId), Living>,
    launched: BTreeSet<(AttemptId, NodeName, String)>,
    /// When each node was last given up, in milliseconds.
    given_up_ms: BTreeMap<NodeName, u64>,
    /// When each node was last really in contact with the leader, in milliseconds.
    heard_ms: BTreeMap<NodeName, u64>,
    succeeded: BTreeMap<JobKey, AttemptId>,
    may_run_again: BTreeSet<JobKey>,
}

#[derive(Debug)]
struct Living {
    since_ms: u64,
    share: Share,
}

impl NodeJudge {
    /// Checks and records that a machine launches a step.
    pub fn launched(
        &mut self,
        now_ms: u64,
        (node, identity): (&NodeName, &str),
        id: AttemptId,
        share: &Share,
    ) {
        if !self.launched.insert((id, node.clone(), identity.to_owned())) {
            self.complain("one-life", format!("{id} was launched on {node} a second time"));
        }
        self.judge_others(node, id);
        for ((_, on, other), living) in &self.living {
            let gpus = living.share.gpus.iter().any(|gpu| share.gpus.contains(gpu));
            if on == node && (gpus || living.share.cpus.intersects(&share.cpus)) {
                let text = format!("{id} was launched on {node} on what {other} still uses");
                self.complaints.push(Complaint::new("claims", text));
            }
        }
        if let Some(before) = self.succeeded.get(&id.key)
            && before.attempt < id.attempt
            && !self.may_run_again.contains(&id.key)
        {
            let text = format!("{id} was launched on {node} although {before} had succeeded");
            self.complain("once", text);
        }
        let living = Living { since_ms: now_ms, share: share.clone() };
        self.living.insert((id.key, node.clone(), id), living);
    }

    /// Checks that no other attempt of the job is alive.
    fn judge_others(&mut self, node: &NodeName, id: AttemptId) {
        let first = (id.key, self.first_name(), AttemptId { attempt: Default::default(), ..id });
        let mut found = Vec::new();
        for (key, on, other) in self.living.range(first..).map(|(place, _)| place) {
            if *key != id.key {
                break;
            }
            if other.attempt != id.attempt {
                found.push(format!("{id} was launched on {node} while {other} lives on {on}"));
            }
        }
        found.into_iter().for_each(|text| self.complain("one-life", text));
    }

    /// A name that sorts before the names of all nodes.
    fn first_name(&self) -> NodeName {
        NodeName::new("0").expect("a valid name")
    }

    /// Records that a step ended on a machine, by itself or not.
    pub fn ended(&mut self, node: &NodeName, id: AttemptId) {
        self.living.remove(&(id.key, node.clone(), id));
    }

    /// Records that the process that decides a job's outcome succeeded by itself.
    pub fn succeeded(&mut self, id: AttemptId) {
        self.succeeded.insert(id.key, id);
    }

    /// Allows another attempt: one was requested, or a machine lost the end of the last one.
    pub fn may_run_again(&mut self, key: JobKey) {
        self.may_run_again.insert(key);
    }

    /// Records that a machine lost all its steps.
    pub fn machine_lost(&mut self, node: &NodeName) {
        let gone: Vec<_> = self.living.keys().filter(|(_, on, _)| on == node).cloned().collect();
        for place in gone {
            self.may_run_again.insert(place.0);
            self.living.remove(&place);
        }
        self.forgive(node);
    }

    /// Checks that the log no longer wants a step that a node stops.
    pub fn stopped(&mut self, node: &NodeName, id: AttemptId, frontier: &State) {
        let desired = state::desired::desired_for(frontier, node);
        let is_wanted = desired.iter().any(|step| step.id == id && step.want != Want::Stop);
        if is_wanted {
            let text = format!("{node} was made to stop {id}, which the log wants to run");
            self.complain("asked-to-stop", text);
        }
    }

    /// Records that a node is really in contact with a leader.
    pub fn heard(&mut self, now_ms: u64, node: &NodeName) {
        self.heard_ms.insert(node.clone(), now_ms);
    }

    /// Handles an event of the log, at its first application.
    pub fn read(&mut self, now_ms: u64, event: &Event, node_lost_after_ms: u64) {
        match event {
            Event::NodeLost { name } => {
                let heard = self.heard_ms.get(name).copied().unwrap_or(0);
                if now_ms.saturating_sub(heard) + CONTACT_SLACK_MS < node_lost_after_ms {
                    let silent = now_ms - heard;
                    let text = format!("{name} was given up after {silent} ms out of contact");
                    self.complain("given-up", text);
                }
                self.given_up_ms.insert(name.clone(), now_ms);
                self.forgive(name);
            }
            Event::JobDone { key, .. } => self.judge_over(*key, true),
            Event::JobRequeued { key, .. } => self.judge_over(*key, false),
            _ => {}
        }
    }

    fn forgive(&mut self, node: &NodeName) {
        let there = self.launched.iter().filter(|(_, on, _)| on == node);
        let keys: Vec<JobKey> = there.map(|(id, _, _)| id.key).collect();
        self.may_run_again.extend(keys);
    }

    /// Checks that a job that ended or was requeued is alive nowhere. One that is `for_good` over
    /// may be on a node that was given up.
    fn judge_over(&mut self, key: JobKey, for_good: bool) {
        let mut found = Vec::new();
        for ((living_key, on, id), living) in &self.living {
            let given_up = self.given_up_ms.get(on).is_some_and(|at| *at >= living.since_ms);
            if *living_key == key && !(for_good && given_up) {
                found.push(format!("the log says that job {key} is over; {id} lives on {on}"));
            }
        }
        found.into_iter().for_each(|text| self.complain("truth", text));
    }

    /// All steps that are alive, each with its node and share.
    pub fn living(&self) -> impl Iterator<Item = (&NodeName, AttemptId, &Share)> {
        self.living.iter().map(|((_, node, id), living)| (node, *id, &living.share))
    }

    fn complain(&mut self, judge: &'static str, text: String) {
        self.complaints.push(Complaint::new(judge, text));
    }
}
