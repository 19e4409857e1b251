//! Nodes reserved for a future time: the first job of a queue that finds no room gets certain nodes
//! from a certain time on, so that smaller jobs of its own queue do not delay it for ever. It gets
//! none while another queue waits for its fair share.
//!
//! Source: ours, by the time limits of running jobs; KAI Scheduler has no such rule, and a large
//! gang waits until enough happens to be free. Reads: time limits, shares. Knobs: none.
//!
//! Example, two nodes of 8 GPUs, one queue. Job 1 runs on the first with 8, for an hour more. Job 2
//! asks for both nodes: they are reserved for it in an hour. Job 3 asks for 4 GPUs for two hours,
//! and waits; job 4 asks for 4 for half an hour, and starts on the second.

use super::amount::Amount;
use super::bars::Bars;
use super::counted::amount;
use super::line::sum;
use super::plan::Plan;
use super::taking::{Claimant, may_try};
use super::tree::{QueueAt, Tree};
use super::view::View;
use super::world::{Job, JobAt, Least, World};
use crate::decision::Decision;
use crate::planner::RoundState;
use common::id::JobKey;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Reserves nodes for the first job of each queue that lacks room, and drops reservations that may
/// not be kept any longer. `books`: what queues hold after this round's decisions.
pub(super) fn keep<'a>(
    desk: &mut RoundState<'a>,
    view: &View<'a>,
    (plan, books): (&Plan, &Tree),
    bars: &Bars,
) {
    let started = desk.decisions.iter().filter_map(|decision| match decision {
        Decision::Start { key, .. } => Some(*key),
        Decision::Preempt { .. } | Decision::Shrink { .. } | Decision::Grow { .. } => None,
    });
    let started: BTreeSet<JobKey> = started.collect();
    let mut due: BTreeSet<QueueAt> = BTreeSet::new();
    let mut firsts: BTreeMap<QueueAt, JobAt> = BTreeMap::new();
    for (at, (waiting, _)) in &view.waiting {
        let lacks_room = plan.refused.get(at) == Some(&None) || bars.has(waiting.key);
        let is_served = started.contains(&waiting.key)
            || desk.waits.is_decided(waiting.key)
            || !desk.room_kept_for(waiting.key).is_empty();
        if is_served || !lacks_room {
            continue;
        }
        let job = &view.world.jobs[at.0];
        let asks = least_of(&view.world, job);
        let claimant = Claimant { queue: job.queue, asks, is_preemptible: job.is_preemptible };
        if !due.contains(&job.queue) && may_try(books, &claimant) {
            due.insert(job.queue);
        }
        let first = firsts.entry(job.queue).or_insert(*at);
        if turn(job) < turn(&view.world.jobs[first.0]) {
            *first = *at;
        }
    }
    let others_are_due = |queue: QueueAt| due.iter().any(|other| *other != queue);
    let mut has_one = BTreeSet::new();
    for (at, (waiting, _)) in &view.waiting {
        let queue = view.world.jobs[at.0].queue;
        if started.contains(&waiting.key) || !desk.has_planned_start(waiting.key) {
            continue;
        }
        if others_are_due(queue) {
            desk.give_up(waiting.key);
            desk.look_again(Some(desk.now));
        } else {
            has_one.insert(queue);
        }
    }
    for (queue, at) in firsts {
        let asks = least_of(&view.world, &view.world.jobs[at.0]);
        // The queue is entitled to this capacity once its own jobs end.
        let is_within = asks.is_within(&books.accounts[queue.0].fair);
        let (waiting, shape) = view.waiting[&at];
        let may = is_within && !has_one.contains(&queue) && !others_are_due(queue);
        if may && desk.may_start_at_all(waiting, shape).is_ok() {
            desk.keep_for_later(waiting, shape);
        }
    }
}

/// Order of jobs, as in [`super::line`]: the smaller goes first.
fn turn(job: &Job) -> (Reverse<i64>, i64, &str) {
    let priority = job.turn.map_or(job.priority, i64::saturating_neg);
    (Reverse(priority), job.submitted, &job.name)
}

fn least_of(world: &World, job: &Job) -> Amount {
    let least = job.groups.first().map_or(0, |group| match group.least {
        Least::Tasks(least) | Least::Groups(least) => least,
    });
    sum(job.tasks.iter().take(least).map(|task| amount(&world.tasks[task.0], 0)))
}
