//! A round for queues that share fairly: the plan of [`super::plan`], carried out as far as it
//! holds in every detail. Never changes the plan: what does not hold is left out, and the plan is
//! made anew without it.
//!
//! Not in it: backfill behind a promise, moves (a job that moves starts from its last checkpoint,
//! and no budget for that is configured), and for components of one job others do not yield.

use super::bounds::Excess;
use super::plan::{Act, Plan, Step, plan};
use super::prospect::Protections;
use super::refusal::view_of;
use super::view::View;
use super::world::JobAt;
use super::yielding::Why;
use crate::desk::{Desk, Refused};
use crate::floor::NodeIndex;
use crate::round::Round;
use crate::snapshot::{RunningJob, Snapshot};
use common::id::JobKey;
use common::job::PreemptReason;
use common::time::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A plan is made so often in one round before what does not hold of it is left to the next.
const PLANS_MAX: usize = 8;

const STEPS: [Step; 3] = [Step::Allocate, Step::Reclaim, Step::Preempt];

/// Decides a round.
pub(crate) fn round(snapshot: &Snapshot, now: Time) -> Round {
    let mut barred = BTreeSet::new();
    let mut plans = 0;
    loop {
        let mut desk = Desk::new(snapshot, now);
        let view = View::of(&mut desk, &barred);
        let plan = plan(&view.world, &STEPS);
        let failed = carry_out(&mut desk, &view, &plan);
        plans += 1;
        let is_last = failed.is_empty() || plans >= PLANS_MAX;
        // In the last plan as well: they are still tried elsewhere, and hear what is against them.
        barred.extend(failed);
        if is_last {
            return finish(desk, view, &plan, &barred);
        }
    }
}

/// Does what the plan says, in its order. Says for whom it does not hold: who was to start and
/// cannot, and the first that others cannot make room for (those behind it may count on them).
fn carry_out<'a>(desk: &mut Desk<'a>, view: &View<'a>, plan: &Plan) -> Vec<JobKey> {
    let victims = victims(desk, view, plan);
    let (mut failed, mut is_without_room) = (Vec::new(), false);
    let mut seen = BTreeSet::new();
    for at in plan.turns.iter().filter(|at| seen.insert(**at)) {
        let Some((job, shape)) = view.waiting.get(at) else { continue };
        let acts: Vec<&Act> =
            view.world.jobs[at.0].tasks.iter().filter_map(|task| plan.acts.get(task)).collect();
        let nodes: BTreeSet<NodeIndex> = acts
            .iter()
            .filter_map(|act| match act {
                Act::Start(at, _) | Act::Reserve(at, _) => Some(View::node(*at)),
                Act::Evict(..) | Act::Move(..) => None,
            })
            .collect();
        let nodes: Vec<NodeIndex> = nodes.into_iter().collect();
        if nodes.is_empty() {
            continue;
        }
        // What starts before it counts: an array or a user may have as many as it may.
        if let Err(Refused::Job(reason) | Refused::Class(reason)) =
            desk.may_start_at_all(job, *shape)
        {
            desk.is_refused(job.key, reason);
            desk.look_again(Some(desk.now));
            continue;
        }
        let all_start = acts.iter().all(|act| matches!(act, Act::Start(..)));
        if all_start {
            if desk.start_there(job, *shape, &nodes).is_err() {
                failed.push(job.key);
            }
            continue;
        }
        let victims = victims.get(at).map_or(&[][..], Vec::as_slice);
        if !desk.take_for(job, *shape, victims, &nodes) && !is_without_room {
            is_without_room = true;
            failed.push(job.key);
        }
    }
    failed
}

/// Who yields to whom: a whole job, for kant's jobs run with all their tasks or not at all. In the
/// plan's order: a queue that is above its share for the first of them may not be for the last.
fn victims<'a>(
    desk: &Desk<'a>,
    view: &View<'a>,
    plan: &Plan,
) -> BTreeMap<JobAt, Vec<(&'a Arc<RunningJob>, PreemptReason)>> {
    let mut victims: BTreeMap<JobAt, Vec<(&'a Arc<RunningJob>, PreemptReason)>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for task in &plan.gone {
        let Some(Act::Evict(Some(by), why)) = plan.acts.get(task) else { continue };
        let at = view.world.job_of[task.0];
        let Some(key) = view.running.get(&at).filter(|_| seen.insert(at)) else { continue };
        let reason = match why {
            Why::Preempt => PreemptReason::Priority,
            Why::Reclaim | Why::Consolidate | Why::Stale => PreemptReason::Reclaim,
        };
        if let Some(job) = desk.snapshot.running(*key) {
            victims.entry(*by).or_default().push((job, reason));
        }
    }
    victims
}

/// Tells the others why they wait.
fn finish<'a>(mut desk: Desk<'a>, view: View<'a>, plan: &Plan, barred: &BTreeSet<JobKey>) -> Round {
    for (key, reason) in view.refused {
        desk.is_refused(key, reason);
    }
    for (at, (job, shape)) in &view.waiting {
        // What a plan cannot count (cores, links, zones, parts of unequal size, limits by kind) is
        // tried as it is, one job a round: with what that holds, the next plan is another.
        let is_for_desk = matches!(plan.refused.get(at), Some(None | Some(Excess::Limit(..))));
        let has_no_place = is_for_desk || barred.contains(&job.key);
        // Who others yield to waits for them.
        let awaits = !desk.room_kept_for(job.key).is_empty();
        let may_try = has_no_place && !awaits && !desk.waits.is_told(job.key);
        if !may_try || desk.may_start_at_all(job, *shape).is_err() {
            continue;
        }
        match desk.start_anywhere(job, *shape) {
            Ok(()) => {
                desk.look_again(Some(desk.now));
                break;
            }
            Err(Some(reason)) => desk.is_refused(job.key, reason),
            Err(None) => {}
        }
    }
    for (at, (job, shape)) in &view.waiting {
        if desk.waits.is_told(job.key) {
            continue;
        }
        let excess = plan.refused.get(at).copied().flatten();
        match excess.and_then(|excess| view_of(&view.world, plan, *at, excess)) {
            Some(reason) => desk.is_refused(job.key, reason),
            None => desk.has_no_room(job, *shape),
        }
    }
    let firsts: BTreeSet<JobKey> =
        desk.snapshot.all_waiting().filter_map(|job| job.together).collect();
    firsts.into_iter().for_each(|first| desk.start_components(first));
    desk.look_again(next_unsafe(&desk));
    desk.finish()
}

/// When the next running job is no longer safe from others.
fn next_unsafe(desk: &Desk<'_>) -> Option<Time> {
    let running = desk.snapshot.all_running().filter(|job| job.preemptible && !job.ending);
    let protections = Protections::of(desk.snapshot);
    let safe_until = running.flat_map(|job| {
        let queue = desk.queues.get(&job.queue);
        let own = queue.map(|queue| job.started_at + queue.preemption.runtime_min);
        protections.ends(job).chain(own).collect::<Vec<_>>()
    });
    safe_until.filter(|until| *until > desk.now).min()
}

#[cfg(test)]
mod tests;
