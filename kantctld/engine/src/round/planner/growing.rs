//! Growth of running jobs onto spare nodes, at the end of a round. A job never grows onto a node
//! that a waiting job could use.
//!
//! Source: our own, for jobs with `--grow`; KAI Scheduler serves pods above a pod group's minimum
//! in the same order, the least served first.
//! Reads: which jobs still wait, and for what; promises; limits, quotas and bookings, as for a
//! start that ends when the job does.
//! Knobs: none; [`LEFT_MIN`].
//!
//! A job that waits for room blocks every node that it could use, or only the nodes kept for it if
//! there are any. While a job waits for a limit or a quota, jobs that count against the same limit
//! or quota do not grow either. With fair sharing, no job grows while any job waits for room or a
//! share, and only preemptible jobs grow.
//!
//! Nodes under the leaf of the job's nodes come first. If the job requires near nodes, it gets no
//! others.
//!
//! Example, two nodes of 8 GPUs. Job 1 asked for 1 to 2 nodes and runs on a; b is free: job 1 gets
//! b. If job 2 were waiting for two nodes, b would be left to it.

mod finding;
mod kept;

use super::RoundState;
use crate::model::cluster::NodeIndex;
use crate::model::cluster::node::{HoldingJob, NEVER};
use crate::model::decision::Decision;
use crate::model::job::RunningJob;
use crate::model::snapshot::Growing;
use common::id::JobKey;
use common::policy::queue::Queue;
use common::resource::{Request, Share};
use common::time::{Span, Time};
use common::unit::{Nodes, Tasks};
use std::sync::Arc;

/// A job that ends sooner does not grow: its programs would hardly have started on a new node.
pub(crate) const LEFT_MIN: Span = Span::from_minutes(5);

/// A job that may grow.
struct Grower<'a> {
    job: &'a Arc<RunningJob>,
    growing: &'a Growing,
    queue: &'a Queue,
    /// The most that one more node of it holds.
    request: Request,
    ends: Time,
    has: Tasks,
    got: Vec<Share>,
    /// Nodes that it may not get.
    off: Vec<bool>,
    /// The nodes that it has, with those it was given.
    on: Vec<NodeIndex>,
}

impl<'a> RoundState<'a> {
    /// Gives spare nodes to running jobs, first to the job with the smallest part of its maximum.
    pub(crate) fn grow(&mut self) {
        let later = self.snapshot.growing.values().filter_map(|growing| growing.not_before);
        let soonest = later.filter(|time| *time > self.now).min();
        self.schedule_next_round(soonest);
        let mut growers = self.growers();
        let mut kept = None;
        while let Some(at) = next(&growers) {
            let grower = &growers[at];
            let found = self.find_more(grower, &grower.off);
            if found.is_none() {
                growers.swap_remove(at);
                continue;
            }
            // Look at the waiting jobs only once some job could grow.
            let first = kept.is_none();
            let kept = kept.get_or_insert_with(|| self.kept_by_waiting());
            if first {
                growers.retain_mut(|grower| self.mark_nodes_kept_by_others(grower, kept));
                continue;
            }
            let grower = &mut growers[at];
            if let Some((node, share)) = found.filter(|found| self.try_take_share(grower, found)) {
                grower.has += share.tasks;
                grower.off[node.at()] = true;
                grower.on.push(node);
                self.decide_growth(grower, share);
            } else {
                growers.swap_remove(at);
            }
        }
    }

    /// The jobs that may grow. With fair sharing only preemptible ones, so that other queues can
    /// get their share back.
    fn growers(&self) -> Vec<Grower<'a>> {
        let snapshot = self.snapshot;
        let grower = |(key, growing): (&JobKey, &'a Arc<Growing>)| {
            let job = snapshot.running_job(*key)?;
            let ends = job.ends_by.unwrap_or(NEVER);
            let is_worth_it = ends.since(self.now) >= LEFT_MIN;
            let may_go_on = job.may_be_preempted() && job.yields_to.is_none();
            let is_asked = self.is_on_the_way_out(*key) || self.is_already_preempted(*key);
            let may_lose = job.preemptible || !snapshot.policy.fair_sharing;
            let has = job.allocation.tasks();
            let is_time = growing.not_before.is_none_or(|time| time <= self.now);
            let may = is_time
                && is_worth_it
                && may_go_on
                && !is_asked
                && may_lose
                && growing.has_room(has);
            let queue = self.queues.get(&job.queue).filter(|_| may)?;
            let asked = &growing.asked.request;
            let request = Request {
                nodes: Some(Nodes(1)),
                tasks_min: None,
                near: None,
                ..Request::clone(asked)
            };
            let cluster = self.trial.cluster;
            let mut off = vec![false; cluster.len()];
            let shares = job.allocation.shares().iter().map(|share| &share.node);
            let on: Vec<NodeIndex> = shares.clone().filter_map(|name| cluster.find(name)).collect();
            let never = growing.had.iter().filter_map(|name| cluster.find(name));
            on.iter().copied().chain(never).for_each(|at| off[at.at()] = true);
            if let Some(near) = asked.near.filter(|near| near.required) {
                // If a node's place in the network is not known, it is not near.
                let under = |at| cluster.switches().switch_of_node(near.level, at);
                let own = on
                    .first()
                    .and_then(|at| under(*at))
                    .filter(|_| on.len() == job.allocation.shares().len());
                let is_far = |at| own.is_none() || under(at) != own;
                cluster
                    .nodes()
                    .filter(|(at, _)| is_far(*at))
                    .for_each(|(at, _)| off[at.at()] = true);
            }
            let got = Vec::new();
            Some(Grower { job, growing, queue, request, ends, has, got, off, on })
        };
        snapshot.growing.iter().filter_map(grower).collect()
    }

    /// Takes the share if limits, quotas and promises allow it. Returns whether it did.
    fn try_take_share(&mut self, grower: &Grower<'_>, (at, share): &(NodeIndex, Share)) -> bool {
        let (job, at) = (grower.job, *at);
        let checkpoint = self.trial.checkpoint();
        for holder in HoldingJob::new(job, Arc::from([share.clone()])).holders() {
            self.trial.take(at, holder);
        }
        let is_free = self.harmed_shadows(&[at], grower.ends).is_empty();
        let shares = std::slice::from_ref(share);
        let claim =
            crate::model::claims::of_part(job, 0, shares, self.trial.cluster, &self.accounting);
        let left = job.ends_by.map(|ends| ends.since(self.now));
        let is_allowed = is_free
            && self.accounting.check_limits(&claim, left, self.now).is_ok()
            && self.admit_beside(&claim).is_ok()
            && self.broken_future_claim(job.key, &claim, self.now, job.ends_by).is_none();
        if is_allowed {
            self.trial.commit(checkpoint);
            self.accounting.add(&claim, job.ends_by);
            // Promises count on it from now on, also within this round.
            self.note_start(claim, job.ends_by);
        } else {
            self.trial.roll_back(checkpoint);
            self.update_shadows(&[at], grower.ends);
        }
        is_allowed
    }

    /// Decides that the job gets this share, with what it got before.
    fn decide_growth(&mut self, grower: &mut Grower<'_>, share: Share) {
        grower.got.push(share);
        let (own, attempt, more) = (grower.job.key, grower.job.attempt, grower.got.clone());
        let known = self.decisions.iter_mut().find_map(|decision| match decision {
            Decision::Grow { key, shares, .. } if *key == own => Some(shares),
            _ => None,
        });
        let key = own;
        match known {
            Some(shares) => *shares = more,
            None => self.decisions.push(Decision::Grow { key, attempt, shares: more }),
        }
    }
}

/// The job with the smallest part of its maximum; among equals, the one of the highest queue, then
/// the one submitted first.
fn next(growers: &[Grower<'_>]) -> Option<usize> {
    let before = |a: &Grower<'_>, b: &Grower<'_>| {
        let part = |has: Tasks, of: &Grower<'_>| u64::from(has.0) * u64::from(of.request.tasks.0);
        let order = |one: &Grower<'_>| {
            (std::cmp::Reverse(one.queue.priority), one.job.submitted_at, one.job.key)
        };
        part(a.has, b).cmp(&part(b.has, a)).then_with(|| order(a).cmp(&order(b)))
    };
    let open = growers.iter().enumerate().filter(|(_, one)| one.growing.has_room(one.has));
    open.min_by(|(_, a), (_, b)| before(a, b)).map(|(at, _)| at)
}

#[cfg(test)]
mod tests;
