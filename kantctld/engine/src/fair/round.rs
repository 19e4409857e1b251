//! A round under fair sharing: makes a plan ([`super::plan`]) and carries it out as far as the desk
//! accepts it. What the desk refuses is barred, and the plan is made again without it.
//!
//! A victim is not offered another place in the same round, except within the budget of moves.

use super::amount::Amount;
use super::bars::Bars;
use super::board::Board;
use super::bounds::{Excess, within_quotas};
use super::counted::amount;
use super::line::sum;
use super::movers::movers;
use super::plan::{Act, Plan, Step, plan};
use super::refusal::view_of;
use super::sight::Sight;
use super::tree::Tree;
use super::view::View;
use super::world::{JobAt, Least, TaskAt, World};
use super::yielding::Why;
use crate::admit::Refused;
use crate::cluster::NodeIndex;
use crate::job::RunningJob;
use crate::planner::{RoundState, Victim};
use crate::round_result::Round;
use crate::shape_cache::ShapeIndex;
use crate::snapshot::Snapshot;
use common::job::PreemptReason;
use common::time::{Span, Time};
use common::unit::{Nodes, Tasks};
use std::collections::{BTreeMap, BTreeSet};

/// At most this many plans per round; what the desk still refuses is left to the next round.
const PLANS_MAX: usize = 8;

type Victims<'a> = BTreeMap<JobAt, Vec<Victim<'a>>>;

/// Where past use counts, shares change slowly, so a new round at this interval is enough.
const FADES_EVERY: Span = Span::from_minutes(10);

const STEPS: [Step; 3] = [Step::Allocate, Step::Reclaim, Step::Preempt];
/// The steps where jobs may be moved.
const WITH_MOVES: [Step; 4] = [Step::Allocate, Step::Consolidate, Step::Reclaim, Step::Preempt];

pub(crate) fn round(snapshot: &Snapshot, now: Time) -> Round {
    seeing(snapshot, now, Sight::first())
}

/// Decides a round that begins with this sight. The sight changes only how long the round takes.
fn seeing(snapshot: &Snapshot, now: Time, mut sight: Sight) -> Round {
    if snapshot.all_waiting().next().is_none() {
        // No job waits, so running jobs need not be read.
        let mut desk = RoundState::new(snapshot, now);
        desk.grow();
        return desk.finish();
    }
    let mut bars = None;
    let mut plans = 0;
    loop {
        let mut desk = RoundState::new(snapshot, now);
        desk.honour_planned_starts();
        let bars = bars.get_or_insert_with(|| Bars::with_suspects(desk.booked_nodes()));
        let view = View::of(&mut desk, bars, sight);
        let steps = if view.world.settings.moves_max > 0 { &WITH_MOVES[..] } else { &STEPS };
        let plan = plan(&view.world, steps);
        if plan.is_short {
            sight = sight.wider(snapshot.all_running().len(), view.world.tasks.len());
            continue;
        }
        // Also done for the last plan: its jobs are still tried elsewhere and get their refusals.
        let failed = carry_out(&mut desk, &view, &plan, bars);
        plans += 1;
        if failed.is_empty() || plans >= PLANS_MAX {
            return finish(desk, view, (&plan, &failed), bars);
        }
    }
}

/// Carries out the plan in its order. Notes as failed each job that cannot start, and the first job
/// for which the victims do not make room (those after it may depend on its victims).
fn carry_out<'a>(
    desk: &mut RoundState<'a>,
    view: &View<'a>,
    plan: &Plan,
    bars: &mut Bars,
) -> Vec<JobAt> {
    let victims = victims(desk, view, plan);
    let movers = movers(desk, view, plan);
    let (mut failed, mut is_without_room) = (Vec::new(), false);
    let (mut board, mut seen) = (None, BTreeSet::new());
    for at in plan.turns.iter().filter(|at| seen.insert(**at)) {
        let victims = victims.get(at).map_or(&[][..], Vec::as_slice);
        if let Some(set) = view.sets.get(at) {
            let is_done = set.carry_out((desk, view), (plan, *at), victims, bars);
            failed.extend((!is_done).then_some(*at));
            continue;
        }
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
        // Jobs started before this one count, as an array or a user may have a limit on running
        // jobs.
        if let Err(Refused::Job(reason) | Refused::Class(reason)) =
            desk.may_start_at_all(job, *shape)
        {
            desk.is_refused(job.key, reason);
            desk.look_again(Some(desk.now));
            continue;
        }
        let all_start = acts.iter().all(|act| matches!(act, Act::Start(..)));
        if all_start {
            // What the plan did not give to an elastic job belongs to another, or exceeds a quota.
            let most = u32::try_from(acts.len()).map(Tasks).ok();
            let most = most.filter(|_| view.is_by_task(*at));
            if desk.start_there(job, *shape, (&nodes, most)).is_err() {
                failed.push(*at);
                let board = board.get_or_insert_with(|| Board::new(&view.world));
                bars.no_start((desk, view), board, *at, &nodes);
            }
            continue;
        }
        // The plan may count more than the job needs, so it may start without any victims.
        if view.may_need_less(*at) && desk.start_anywhere(job, *shape, None).is_ok() {
            continue;
        }
        let is_done = match movers.get(at) {
            Some(movers) => desk.move_for((*job, *shape), &nodes, movers),
            None => desk.take_for(job, *shape, victims, &nodes),
        };
        if !is_done && !is_without_room {
            is_without_room = true;
            failed.push(*at);
            bars.no_room(job.key, &nodes);
        }
    }
    failed
}

/// The victims for each job: a whole job, or its last nodes where it runs on without them. The
/// plan's order matters: a queue may be above its share for the first claim and not for the last.
/// If the plan takes nodes of one job for several claims, all of them go with the first.
fn victims<'a>(desk: &RoundState<'a>, view: &View<'a>, plan: &Plan) -> Victims<'a> {
    let mut victims = Victims::new();
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
            let keeps = keeps(view, plan, (at, job));
            victims.entry(*by).or_default().push(Victim { job, reason, keeps });
        }
    }
    victims
}

/// The number of its first nodes with which a victim runs on. `None`: it is stopped as a whole.
fn keeps(view: &View<'_>, plan: &Plan, (at, job): (JobAt, &RunningJob)) -> Option<Nodes> {
    let least = job.nodes_min?;
    let tasks = &view.world.jobs[at.0].tasks;
    let goes = |task: &TaskAt| plan.acts.contains_key(task);
    let keeps = tasks.iter().position(goes)?;
    // The last tasks leave first, so those that stay must be the first.
    let is_tail = tasks[keeps..].iter().all(goes);
    let keeps = Nodes(u32::try_from(keeps).ok()?);
    let is_known = tasks.len() == job.allocation.shares().len();
    (is_tail && is_known && keeps >= least).then_some(keeps)
}

/// Records why the other jobs wait, and finishes the round. `failed`: jobs for which the plan did
/// not hold.
fn finish<'a>(
    mut desk: RoundState<'a>,
    view: View<'a>,
    (plan, failed): (&Plan, &[JobAt]),
    bars: &Bars,
) -> Round {
    for (key, reason) in &view.refused {
        desk.is_refused(*key, reason.clone());
    }
    let mut books = view.world.queues.clone();
    books.accounts.clone_from(&plan.accounts);
    for at in failed {
        let job = &view.world.jobs[at.0];
        let planned = job.tasks.iter().filter(|task| plan.acts.contains_key(task));
        let planned = sum(planned.map(|task| amount(&view.world.tasks[task.0], 0)));
        books.charge(job.queue, &planned, !job.is_preemptible, false);
    }
    start_one(&mut desk, &view, (plan, &books), bars);
    super::later::keep(&mut desk, &view, (plan, &books), bars);
    for (at, (job, shape)) in &view.waiting {
        if desk.waits.is_decided(job.key) {
            continue;
        }
        let excess = plan.refused.get(at).copied().flatten();
        match excess.and_then(|excess| view_of(&view.world, &plan.accounts, *at, excess)) {
            Some(reason) => desk.is_refused(job.key, reason),
            None => desk.has_no_room(job, *shape),
        }
    }
    super::sets::try_the_rest(&mut desk, &view, (plan, &books));
    desk.look_again(super::exposed::next(&desk, &view.world));
    if view.somebody_waits() {
        desk.look_again(desk.snapshot.more_moves_at(desk.now));
    }
    if desk.snapshot.policy.factors.past_use_percent > 0 && view.somebody_waits() {
        // Past use decays and changes shares even if nothing happens.
        desk.look_again(Some(desk.now + FADES_EVERY));
    }
    // The next round continues after the jobs that had their turn, until all had one.
    let mut tried = BTreeSet::new();
    if plan.is_unfinished {
        desk.look_again(Some(desk.now));
        tried.extend(plan.in_vain.iter().filter_map(|at| view.asker(*at)));
        tried.extend(&desk.snapshot.resume_cursor.tried);
    }
    desk.grow();
    let mut round = desk.finish();
    round.resume_cursor.tried = tried;
    round
}

/// Starts one job per round that the plan found no room for. A plan does not count cores, links,
/// zones, uneven task sizes and limits by kind, so the desk tries; the next plan then includes it.
fn start_one<'a>(
    desk: &mut RoundState<'a>,
    view: &View<'a>,
    (plan, books): (&Plan, &Tree),
    bars: &Bars,
) {
    // Shapes for which there was no room, for jobs that end at this time or later.
    let mut no_room: BTreeMap<ShapeIndex, Time> = BTreeMap::new();
    for (at, (job, shape)) in &view.waiting {
        let is_for_desk = matches!(plan.refused.get(at), Some(None | Some(Excess::Limit(..))));
        let has_no_place = is_for_desk || bars.has(job.key);
        // A job that has victims waits for them.
        let awaits = !desk.room_kept_for(job.key).is_empty();
        let ends = desk.ends_by(job.time_limit);
        let is_known = no_room.get(shape).is_some_and(|from| ends >= *from);
        let may_try = has_no_place && !awaits && !is_known && !desk.waits.is_decided(job.key);
        if !may_try || desk.may_start_at_all(job, *shape).is_err() {
            continue;
        }
        let most = match within_firm(books, &view.world, *at) {
            Ok(most) => Some(most).filter(|_| view.is_by_task(*at)),
            Err(excess) => {
                let reason = view_of(&view.world, &books.accounts, *at, excess);
                reason.into_iter().for_each(|reason| desk.is_refused(job.key, reason));
                continue;
            }
        };
        match desk.start_anywhere(job, *shape, most) {
            Ok(()) => {
                desk.look_again(Some(desk.now));
                break;
            }
            Err(Some(reason)) => desk.is_refused(job.key, reason),
            Err(None) => _ = no_room.insert(*shape, ends),
        }
    }
}

/// The most tasks with which a job that is not preemptible stays within the quotas of its queue and
/// of that queue's ancestors. For a preemptible job, all its tasks.
///
/// # Errors
/// The quota that it would exceed with its minimum.
pub(super) fn within_firm(books: &Tree, world: &World, at: JobAt) -> Result<Tasks, Excess> {
    let job = &world.jobs[at.0];
    let least = job.groups.first().map_or(0, |group| match group.least {
        Least::Tasks(least) | Least::Groups(least) => least,
    });
    let mut asks = Amount::default();
    let mut most = Tasks::ZERO;
    for (count, task) in (1..).zip(&job.tasks) {
        asks = asks.plus(&amount(&world.tasks[task.0], 0));
        if !job.is_preemptible
            && let Err(excess) = within_quotas(books, job.queue, &asks)
        {
            return if most.0 as usize >= least { Ok(most) } else { Err(excess) };
        }
        most = Tasks(count);
    }
    Ok(most)
}

#[cfg(test)]
mod tests;
