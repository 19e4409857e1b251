//! Judges what truly runs: at most one living attempt of a job, each attempt launched once, no
//! two steps on the same CPUs or GPUs, nothing stopped that nobody asked to stop, nothing run
//! again that had succeeded. Never believes the state; it sees the machines.
//!
//! The one exception is the documented one: a node that was given up after it was out of contact
//! for longer than `node_lost_after` may still run what has been started elsewhere.

use super::Complaint;
use common::id::{AttemptId, JobKey, NodeName};
use common::resource::Share;
use common::wire::node::Want;
use state::{Event, State};
use std::collections::{BTreeMap, BTreeSet};

/// A node counts as in contact up to so long after it truly was, in milliseconds: a leader that was
/// cut off, or stood still, does not know yet that it leads no more.
const CONTACT_SLACK_MS: u64 = 4_000;

/// What is known of all machines.
#[derive(Debug, Default)]
pub struct NodeJudge {
    /// What is wrong so far.
    pub complaints: Vec<Complaint>,
    living: BTreeMap<(JobKey, NodeName, AttemptId), Living>,
    launched: BTreeSet<(AttemptId, NodeName, String)>,
    /// When a node was last given up, or replaced by another machine.
    given_up_ms: BTreeMap<NodeName, u64>,
    /// When a node was last truly in contact with the leader.
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
    /// A machine begins a step.
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

    /// No two attempts of one job live at once.
    fn judge_others(&mut self, node: &NodeName, id: AttemptId) {
        let first = (id.key, self.first_name(), AttemptId { attempt: Default::default(), ..id });
        let mut found = Vec::new();
        for ((key, on, other), living) in self.living.range(first..) {
            if *key != id.key {
                break;
            }
            let given_up = self.given_up_ms.get(on).is_some_and(|at| *at >= living.since_ms);
            if other.attempt != id.attempt && !given_up {
                found.push(format!("{id} was launched on {node} while {other} lives on {on}"));
            }
        }
        found.into_iter().for_each(|text| self.complain("one-life", text));
    }

    /// Sorts before all names of nodes.
    fn first_name(&self) -> NodeName {
        NodeName::new("0").expect("a valid name")
    }

    /// A step is over on a machine, by itself or not.
    pub fn ended(&mut self, node: &NodeName, id: AttemptId) {
        self.living.remove(&(id.key, node.clone(), id));
    }

    /// The process that decides has succeeded by itself.
    pub fn succeeded(&mut self, id: AttemptId) {
        self.succeeded.insert(id.key, id);
    }

    /// Somebody asked for another attempt, or a machine forgot how the last one ended.
    pub fn may_run_again(&mut self, key: JobKey) {
        self.may_run_again.insert(key);
    }

    /// A machine lost all that it had run.
    pub fn machine_lost(&mut self, node: &NodeName) {
        let gone: Vec<_> = self.living.keys().filter(|(_, on, _)| on == node).cloned().collect();
        for place in gone {
            self.may_run_again.insert(place.0);
            self.living.remove(&place);
        }
        self.forgive(node);
    }

    /// A node carries out a stop: the log must have said so.
    pub fn stopped(&mut self, node: &NodeName, id: AttemptId, frontier: &State) {
        let desired = state::desired::desired_for(frontier, node);
        let is_wanted = desired.iter().any(|step| step.id == id && step.want != Want::Stop);
        if is_wanted {
            let text = format!("{node} was made to stop {id}, which the log wants to run");
            self.complain("asked-to-stop", text);
        }
    }

    /// A node is truly in contact with a leader.
    pub fn heard(&mut self, now_ms: u64, node: &NodeName) {
        self.heard_ms.insert(node.clone(), now_ms);
    }

    /// Reads an event that the log came to for the first time.
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
            Event::JobDone { key, .. } | Event::JobRequeued { key, .. } => self.judge_over(*key),
            _ => {}
        }
    }

    fn forgive(&mut self, node: &NodeName) {
        let there = self.launched.iter().filter(|(_, on, _)| on == node);
        let keys: Vec<JobKey> = there.map(|(id, _, _)| id.key).collect();
        self.may_run_again.extend(keys);
    }

    /// What is over, or waits again, lives nowhere.
    fn judge_over(&mut self, key: JobKey) {
        let mut found = Vec::new();
        for ((living_key, on, id), living) in &self.living {
            let given_up = self.given_up_ms.get(on).is_some_and(|at| *at >= living.since_ms);
            if *living_key == key && !given_up {
                found.push(format!("the log says that job {key} is over; {id} lives on {on}"));
            }
        }
        found.into_iter().for_each(|text| self.complain("truth", text));
    }

    /// What lives now, on which node, with which share.
    pub fn living(&self) -> impl Iterator<Item = (&NodeName, AttemptId, &Share)> {
        self.living.iter().map(|((_, node, id), living)| (node, *id, &living.share))
    }

    fn complain(&mut self, judge: &'static str, text: String) {
        self.complaints.push(Complaint::new(judge, text));
    }
}
