//! A round for queues that share fairly: the plan of [`super::plan`], carried out as far as it
//! holds in every detail. Never changes the plan: what does not hold is left out, and the plan is
//! made anew without it.
//!
//! Not in it: another place for who yields, but within the budget of moves.

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
use crate::desk::{Desk, Refused, Victim};
use crate::floor::NodeIndex;
use crate::round::Round;
use crate::shape::ShapeIndex;
use crate::snapshot::{RunningJob, Snapshot};
use common::job::PreemptReason;
use common::time::{Span, Time};
use common::unit::{Nodes, Tasks};
use std::collections::{BTreeMap, BTreeSet};

/// A plan is made so often in one round before what does not hold of it is left to the next.
const PLANS_MAX: usize = 8;

/// Where past use counts, shares change so slowly that a look so often is enough.
const FADES_EVERY: Span = Span::from_minutes(10);

const STEPS: [Step; 3] = [Step::Allocate, Step::Reclaim, Step::Preempt];
/// The same while somebody may be moved.
const WITH_MOVES: [Step; 4] = [Step::Allocate, Step::Consolidate, Step::Reclaim, Step::Preempt];

pub(crate) fn round(snapshot: &Snapshot, now: Time) -> Round {
    seeing(snapshot, now, Sight::first())
}

/// Decides a round that begins with so few in sight: that changes nothing but how long it takes.
fn seeing(snapshot: &Snapshot, now: Time, mut sight: Sight) -> Round {
    if snapshot.all_waiting().next().is_none() {
        // Nobody asks for anything: what runs need not be looked at.
        let mut desk = Desk::new(snapshot, now);
        desk.grow();
        return desk.finish();
    }
    let mut bars = None;
    let mut plans = 0;
    loop {
        let mut desk = Desk::new(snapshot, now);
        desk.stand_by_promises();
        let bars = bars.get_or_insert_with(|| Bars::with_suspects(desk.booked_nodes()));
        let view = View::of(&mut desk, bars, sight);
        let steps = if view.world.settings.moves_max > 0 { &WITH_MOVES[..] } else { &STEPS };
        let plan = plan(&view.world, steps);
        if plan.is_short {
            sight = sight.wider(snapshot.all_running().len(), view.world.tasks.len());
            continue;
        }
        // In the last plan as well: they are still tried elsewhere, and hear what is against them.
        let failed = carry_out(&mut desk, &view, &plan, bars);
        plans += 1;
        if failed.is_empty() || plans >= PLANS_MAX {
            return finish(desk, view, (&plan, &failed), bars);
        }
    }
}

/// Does what the plan says, in its order. Notes where it does not hold: who was to start and
/// cannot, and the first that others cannot make room for (those behind it may count on them).
/// Says for whom.
fn carry_out<'a>(desk: &mut Desk<'a>, view: &View<'a>, plan: &Plan, bars: &mut Bars) -> Vec<JobAt> {
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
            // What the plan did not give an elastic job is another's, or more than a quota allows.
            let most = u32::try_from(acts.len()).map(Tasks).ok();
            let most = most.filter(|_| view.is_by_task(*at));
            if desk.start_there(job, *shape, (&nodes, most)).is_err() {
                failed.push(*at);
                let board = board.get_or_insert_with(|| Board::new(&view.world));
                bars.no_start((desk, view), board, *at, &nodes);
            }
            continue;
        }
        // What counts as more than it may need could start beside all.
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

/// Who yields to whom: a whole job, or its last nodes where it runs on without them. In the plan's
/// order: a queue that is above its share for the first of them may not be for the last. What the
/// plan takes of one job for several goes with the first of them.
fn victims<'a>(desk: &Desk<'a>, view: &View<'a>, plan: &Plan) -> BTreeMap<JobAt, Vec<Victim<'a>>> {
    let mut victims: BTreeMap<JobAt, Vec<Victim<'a>>> = BTreeMap::new();
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

/// With how many of its first nodes a victim runs on; `None`: not at all.
fn keeps(view: &View<'_>, plan: &Plan, (at, job): (JobAt, &RunningJob)) -> Option<Nodes> {
    let least = job.nodes_min?;
    let tasks = &view.world.jobs[at.0].tasks;
    let goes = |task: &TaskAt| plan.acts.contains_key(task);
    let keeps = tasks.iter().position(goes)?;
    // The last go first, so what stays is what stood in front.
    let is_tail = tasks[keeps..].iter().all(goes);
    let keeps = Nodes(u32::try_from(keeps).ok()?);
    let is_known = tasks.len() == job.allocation.shares().len();
    (is_tail && is_known && keeps >= least).then_some(keeps)
}

/// Tells the others why they wait. `failed`: for whom the plan does not hold.
fn finish<'a>(
    mut desk: Desk<'a>,
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
        if desk.waits.is_told(job.key) {
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
        // What was used fades, and with it shares, though nothing happens.
        desk.look_again(Some(desk.now + FADES_EVERY));
    }
    // The next round goes on behind those who had their turn, until all had.
    let mut tried = BTreeSet::new();
    if plan.is_unfinished {
        desk.look_again(Some(desk.now));
        tried.extend(plan.in_vain.iter().filter_map(|at| view.asker(*at)));
        tried.extend(&desk.snapshot.halfway.tried);
    }
    desk.grow();
    let mut round = desk.finish();
    round.halfway.tried = tried;
    round
}

/// What a plan cannot count (cores, links, zones, parts of unequal size, limits by kind) is tried
/// as it is, one job a round: with what that holds, the next plan is another.
fn start_one<'a>(desk: &mut Desk<'a>, view: &View<'a>, (plan, books): (&Plan, &Tree), bars: &Bars) {
    // Shapes without room, for jobs that end then or later.
    let mut no_room: BTreeMap<ShapeIndex, Time> = BTreeMap::new();
    for (at, (job, shape)) in &view.waiting {
        let is_for_desk = matches!(plan.refused.get(at), Some(None | Some(Excess::Limit(..))));
        let has_no_place = is_for_desk || bars.has(job.key);
        // Who others yield to waits for them.
        let awaits = !desk.room_kept_for(job.key).is_empty();
        let ends = desk.ends_by(job.time_limit);
        let is_known = no_room.get(shape).is_some_and(|from| ends >= *from);
        let may_try = has_no_place && !awaits && !is_known && !desk.waits.is_told(job.key);
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

/// With how many tasks a job, if it yields to nobody, is within the quotas of its queue and of all
/// above it.
///
/// # Errors
/// What it would exceed with the fewest.
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
