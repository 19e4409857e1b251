//! The plan of one fair-sharing round, step by step. After the module's head, start reading here.
//!
//! Example, two nodes of 8 GPUs; queues a and b have a fair share of 8 each. Jobs 1 and 2 of b run
//! with 8 each. Job 3 of a asks for 8. Allocate finds no room; consolidate moves no job, as there
//! is no other place; reclaim stops job 2, the younger, and reserves its node for job 3.

mod result;

pub use super::acts::{Act, Step};
use super::amount::Amount;
use super::board::{Board, Place, State};
use super::bounds::Excess;
use super::gang::Gang;
use super::gather::{Failed, bounded, place};
use super::line::{Line, startable, sum};
use super::rooms::{Asked, room_for};
use super::taking::{Claimant, may_try};
use super::tree::{Account, QueueAt};
use super::victims::Lists;
use super::world::{Grace, JobAt, NodeAt, TaskAt, TaskState, World};
use super::yielding::{Quest, Why};
use common::time::Span;
pub use result::Plan;
use std::collections::{BTreeMap, BTreeSet};

/// Plans a round with these steps.
#[must_use]
pub fn plan(world: &World, steps: &[Step]) -> Plan {
    let mut round = Round {
        board: Board::new(world),
        reasons: BTreeMap::new(),
        refused: BTreeMap::new(),
        turns: Vec::new(),
        gone: Vec::new(),
        trials_left: 0,
        moves_left: world.settings.moves_max,
        in_vain: BTreeSet::new(),
        is_unfinished: false,
        ran_out: false,
        is_short: false,
        compared: 0,
    };
    for step in steps {
        if round.is_short {
            break;
        }
        match step {
            Step::Allocate => round.allocate(),
            Step::Consolidate => round.others_yield(Why::Consolidate),
            Step::Reclaim => round.others_yield(Why::Reclaim),
            Step::Preempt => round.others_yield(Why::Preempt),
            Step::Stale => round.end_stale(),
        }
    }
    round.finish()
}

/// Jobs for which this is equal succeed or fail together: queue, class of request, priority, and
/// whether they are preemptible.
type Alike = (QueueAt, u64, i64, bool);

struct Round<'a> {
    board: Board<'a>,
    /// For which job, and in which step, each task had to leave.
    reasons: BTreeMap<TaskAt, (Option<JobAt>, Why)>,
    refused: BTreeMap<JobAt, Option<Excess>>,
    turns: Vec<JobAt>,
    gone: Vec<TaskAt>,
    trials_left: u32,
    moves_left: u32,
    in_vain: BTreeSet<JobAt>,
    is_unfinished: bool,
    ran_out: bool,
    is_short: bool,
    compared: u64,
}

impl Round<'_> {
    fn allocate(&mut self) {
        let jobs = startable(&self.board);
        let mut asked = Asked::default();
        jobs.iter().for_each(|job| asked.waits(&self.board, *job));
        let mut line = Line::new(&self.board, jobs);
        // This step only uses up room: once no job can find any, turns no longer matter.
        while asked.is_any_open() {
            let Some(job) = line.pop(&self.board) else { break };
            let tasks = Gang::of(&self.board, job).next();
            let room = room_for(&self.board, job, &tasks);
            asked.has_turn(room.as_ref());
            if tasks.is_empty() {
                continue;
            }
            if asked.has_none(room.as_ref()) {
                self.has_no_room(job, &tasks);
                continue;
            }
            match place(&mut self.board, job, &tasks, true) {
                Ok(()) => {
                    self.turns.push(job);
                    line.push(&self.board, job);
                    asked.waits(&self.board, job);
                }
                Err(Failed::Bound(excess)) => _ = self.refused.insert(job, Some(excess)),
                Err(Failed::Room) => {
                    asked.found_none(room);
                    self.refused.insert(job, None);
                }
            }
        }
        for job in line.left() {
            let tasks = Gang::of(&self.board, job).next();
            if !tasks.is_empty() {
                self.has_no_room(job, &tasks);
            }
        }
        self.compared += line.compared();
    }

    /// Notes why a job was not placed. Bounds are checked before room, as in [`place`].
    fn has_no_room(&mut self, job: JobAt, tasks: &[TaskAt]) {
        let asks = sum(tasks.iter().map(|task| self.board.at_least(*task)));
        self.refused.insert(job, bounded(&self.board, job, &asks).err());
    }

    /// The class of a job whose members all succeed or fail in this step. `None`: the job is in no
    /// class, or some of its tasks have a place.
    fn alike(&self, job: JobAt) -> Option<Alike> {
        let known = &self.board.world.jobs[job.0];
        let is_new = || Gang::of(&self.board, job).active().is_empty();
        let alike = known.alike.filter(|_| is_new())?;
        Some((known.queue, alike, known.priority, known.is_preemptible))
    }

    /// Lets waiting jobs preempt or move others; jobs that no earlier round has tried go first.
    fn others_yield(&mut self, why: Why) {
        let mut lists = Lists::new(&self.board);
        self.trials_left = self.board.world.settings.trials_max;
        let was_tried = |job: &JobAt| self.board.world.jobs[job.0].was_tried;
        let (again, new): (Vec<JobAt>, Vec<JobAt>) =
            startable(&self.board).into_iter().partition(was_tried);
        self.is_unfinished |= !self.all_ask(why, &mut lists, new);
        self.all_ask(why, &mut lists, again);
        self.is_short |= lists.is_short();
    }

    /// Tries each of these jobs. Returns whether all had their turn.
    fn all_ask(&mut self, why: Why, lists: &mut Lists, jobs: Vec<JobAt>) -> bool {
        if !jobs.iter().any(|job| self.may_ask(*job, why)) {
            return true;
        }
        let mut line = Line::new(&self.board, jobs);
        // Classes of jobs for which no victims make room on the present board.
        let mut in_vain = BTreeSet::new();
        while let Some(job) = line.pop(&self.board) {
            let alike = self.alike(job);
            if alike.is_some_and(|alike| in_vain.contains(&alike)) {
                self.in_vain.insert(job);
                continue;
            }
            if !self.may_ask(job, why) {
                continue;
            }
            if self.trials_left == 0 {
                self.ran_out = true;
                return false;
            }
            if lists.is_short() {
                return false;
            }
            let mark = self.board.mark();
            let (trials_left, moves_left) = (&mut self.trials_left, &mut self.moves_left);
            let quest = Quest { board: &mut self.board, job, why, lists, trials_left, moves_left };
            if let Some(gone) = quest.go() {
                for task in self.board.left_since(mark) {
                    self.reasons.insert(task, (Some(job), why));
                }
                self.gone.extend(gone);
                self.turns.push(job);
                line.push(&self.board, job);
                lists.shorten(&self.board);
                in_vain.clear();
            } else {
                self.in_vain.insert(job);
                in_vain.extend(alike);
            }
        }
        true
    }

    /// Whether the job may ask others to yield at all in this step.
    fn may_ask(&self, job: JobAt, why: Why) -> bool {
        let known = &self.board.world.jobs[job.0];
        let gang = Gang::of(&self.board, job);
        let (tasks, is_whole) = (gang.next(), gang.is_whole());
        let is_more = is_whole && !self.board.world.settings.may_grow;
        if tasks.is_empty() || is_more || known.waited < known.patience {
            return false;
        }
        let least = sum(tasks.iter().map(|task| self.board.at_least(*task)));
        if matches!(bounded(&self.board, job, &least), Err(Excess::Quota(..))) {
            return false;
        }
        match why {
            Why::Consolidate => known.is_preemptible && known.may_move_others,
            Why::Stale => true,
            Why::Preempt => known.may_preempt,
            Why::Reclaim if !known.may_reclaim => false,
            Why::Reclaim => {
                let asks: Amount = sum(tasks.iter().map(|task| self.board.at_most(*task)));
                let is_preemptible = known.is_preemptible;
                let claimant = Claimant { queue: known.queue, asks, is_preemptible };
                may_try(&self.board.tree, &claimant)
            }
        }
    }

    fn end_stale(&mut self) {
        let world = self.board.world;
        for (at, job) in world.jobs.iter().enumerate() {
            let grace = job.stale_grace.unwrap_or(world.settings.stale_grace);
            let Grace::For(grace) = grace else { continue };
            let gang = Gang::of(&self.board, JobAt(at));
            let active = gang.active();
            let succeeded =
                job.tasks.iter().any(|task| world.tasks[task.0].state == TaskState::Succeeded);
            let is_due = job.stale_for.unwrap_or(Span(0)) >= grace;
            if active.is_empty() || succeeded || gang.is_whole() || !is_due {
                continue;
            }
            for task in active {
                self.board.evict(task);
                self.reasons.insert(task, (None, Why::Stale));
            }
        }
    }

    fn finish(self) -> Plan {
        let mut acts = BTreeMap::new();
        let mut seated = BTreeMap::new();
        for (at, seat) in self.board.seats.iter().enumerate() {
            let task = TaskAt(at);
            let reason = self.reasons.get(&task).copied();
            let there = |place: &Place| (place.node, place.devices.clone());
            if let (State::Running | State::Started, Some(place)) = (seat.state, &seat.place) {
                seated.insert(task, there(place));
            }
            let act = match (seat.state, &seat.place, reason) {
                (State::Started, Some(place), _) => {
                    let (node, devices) = there(place);
                    Act::Start(node, devices)
                }
                (State::Promised, Some(place), Some((by, why))) if seat.old.is_some() => {
                    let (node, devices) = there(place);
                    Act::Move(node, devices, by, why)
                }
                (State::Promised, Some(place), _) => {
                    let (node, devices) = there(place);
                    Act::Reserve(node, devices)
                }
                (State::Leaving, None, Some((by, why))) => Act::Evict(by, why),
                _ => continue,
            };
            acts.insert(task, act);
        }
        let (is_short, accounts) = (self.is_short, self.board.tree.accounts);
        let Self { refused, turns, gone, in_vain, is_unfinished, ran_out, compared, .. } = self;
        Plan {
            acts,
            refused,
            turns,
            gone,
            in_vain,
            is_unfinished,
            ran_out,
            is_short,
            seated,
            accounts,
            compared,
        }
    }
}

/// The account of every queue before any decision: what it holds and its fair share.
#[must_use]
pub fn accounts(world: &World) -> Vec<(QueueAt, Account)> {
    let board = Board::new(world);
    board.tree.accounts.into_iter().enumerate().map(|(at, one)| (QueueAt(at), one)).collect()
}

#[cfg(test)]
pub(super) mod tests;
