//! One trial of a set of victims: they leave, the job is placed, then the victims are placed again
//! where there is room. The trial is kept if there is a valid reason for each victim that loses its
//! place.
//!
//! Source: KAI Scheduler, job solver: a victim that finds another place has only moved.

use super::amount::Amount;
use super::asking::is_protected;
use super::board::State;
use super::gang::Gang;
use super::gather::place;
use super::line::{Line, held, sum};
use super::taking::{Claimant, may_take};
use super::tree::{Account, QueueAt};
use super::world::{JobAt, TaskAt};
use super::yielding::{Quest, Why};
use std::collections::BTreeSet;

impl Quest<'_, '_> {
    /// Stops these tasks, then places the job's tasks and again those that were stopped. Keeps the
    /// result if it is allowed, and returns the bundles of tasks that really have to leave or move.
    pub(super) fn attempt(
        &mut self,
        tasks: &[TaskAt],
        bundles: &[Vec<TaskAt>],
    ) -> Option<Vec<Vec<TaskAt>>> {
        *self.trials_left = self.trials_left.checked_sub(1)?;
        let gone: BTreeSet<TaskAt> = bundles.iter().flatten().copied().collect();
        let (mark, mut before) = (self.board.mark(), self.accounts(&gone));
        gone.iter().for_each(|task| self.board.evict(*task));
        if self.place_all(tasks, &gone) && self.is_allowed(tasks, bundles, &mut before) {
            let moved = |task: &TaskAt| self.board.seats[task.0].state != State::Running;
            let real = bundles.iter().map(|bundle| bundle.iter().copied().filter(moved).collect());
            return Some(real.filter(|bundle: &Vec<TaskAt>| !bundle.is_empty()).collect());
        }
        self.board.go_back(mark);
        None
    }

    /// Places the job, which must get a place, and the stopped tasks, in queue order.
    fn place_all(&mut self, tasks: &[TaskAt], gone: &BTreeSet<TaskAt>) -> bool {
        let mut jobs: BTreeSet<JobAt> =
            gone.iter().map(|task| self.board.world.job_of[task.0]).collect();
        jobs.insert(self.job);
        let mut line = Line::with_again(self.board, jobs, gone.clone());
        let mut is_placed = false;
        while let Some(job) = line.pop(self.board) {
            if job == self.job {
                if is_placed {
                    continue;
                }
                if place(self.board, job, tasks, false).is_err() {
                    return false;
                }
                is_placed = true;
                continue;
            }
            let next = Gang::of(self.board, job).again(gone).next();
            let next: Vec<TaskAt> = next.into_iter().filter(|task| gone.contains(task)).collect();
            let mark = self.board.mark();
            if next.is_empty() || place(self.board, job, &next, false).is_err() {
                continue;
            }
            let stays = |task: &TaskAt| self.board.seats[task.0].state == State::Running;
            let may_move = self.why == Why::Consolidate || self.board.world.settings.may_move;
            if may_move || next.iter().all(stays) {
                line.push(self.board, job);
            } else {
                self.board.go_back(mark);
            }
        }
        is_placed
    }

    /// A copy of the accounts that a trial can change. Copying the whole tree for each trial would
    /// cost too much.
    fn accounts(&self, gone: &BTreeSet<TaskAt>) -> Vec<(QueueAt, Account)> {
        let world = self.board.world;
        let jobs: BTreeSet<JobAt> = gone.iter().map(|task| world.job_of[task.0]).collect();
        let leaves: BTreeSet<QueueAt> =
            jobs.iter().chain([&self.job]).map(|job| world.jobs[job.0].queue).collect();
        let tree = &self.board.tree;
        let queues: BTreeSet<QueueAt> =
            leaves.iter().flat_map(|leaf| tree.path(*leaf)).copied().collect();
        queues.into_iter().map(|at| (at, tree.accounts[at.0].clone())).collect()
    }

    /// Whether there is a valid reason for each task that has lost its place. `before`: the
    /// accounts before the trial.
    fn is_allowed(
        &mut self,
        tasks: &[TaskAt],
        bundles: &[Vec<TaskAt>],
        before: &mut [(QueueAt, Account)],
    ) -> bool {
        let board = &*self.board;
        let is_lost =
            |task: &&TaskAt| matches!(board.seats[task.0].state, State::Leaving | State::Waiting);
        let lost = bundles.iter().filter_map(|bundle| {
            let tasks: Vec<TaskAt> = bundle.iter().filter(is_lost).copied().collect();
            let job = board.world.job_of[tasks.first()?.0];
            let amount = sum(tasks.iter().map(|task| held(board, *task)));
            Some((job, board.world.jobs[job.0].queue, amount))
        });
        let lost: Vec<(JobAt, QueueAt, Amount)> = lost.collect();
        let is_kept = |(job, ..): &(JobAt, QueueAt, Amount)| {
            !is_protected(board, self.job, self.why, *job) || Gang::of(board, *job).is_whole()
        };
        if !lost.iter().all(is_kept) {
            return false;
        }
        match self.why {
            Why::Consolidate => lost.is_empty() && self.jobs_of(bundles) <= *self.moves_left,
            Why::Preempt | Why::Stale => true,
            Why::Reclaim => {
                let asks = sum(tasks.iter().map(|task| held(board, *task)));
                let claimant = Claimant { asks, ..self.claimant(tasks) };
                let victims: Vec<(QueueAt, Amount)> =
                    lost.into_iter().map(|(_, queue, amount)| (queue, amount)).collect();
                let slack = board.world.settings.slack;
                self.board.tree.exchange(before);
                let may = may_take(&self.board.tree, &claimant, &victims, slack);
                self.board.tree.exchange(before);
                may
            }
        }
    }
}
