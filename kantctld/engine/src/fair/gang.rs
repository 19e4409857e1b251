//! The units in which a job starts and loses tasks: the minimum of every group first, then one task
//! or one whole group at a time.
//!
//! Source: KAI Scheduler, "Gang, elastic, subgroups": the least-served group grows first; surplus
//! tasks leave first, then surplus groups, then the whole job.
//!
//! Example, two nodes of 8 GPUs. Job 1 needs 2 of its 4 tasks, with a GPU each: two start together,
//! then the third, then the fourth. Job 2 takes one GPU back: the fourth task leaves. Job 3 takes
//! three: the fourth, the third, and then both others leave.

use super::board::{Board, State};
use super::world::{GroupAt, Job, JobAt, Least, TaskAt};
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// What a job has, compared with its minimum. The smaller value goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Standing {
    Below,
    At,
    Above,
}

impl Standing {
    /// The standing of a job with one group.
    pub fn of(has: usize, least: usize) -> Self {
        match has.cmp(&least) {
            Ordering::Less => Self::Below,
            Ordering::Equal => Self::At,
            Ordering::Greater => Self::Above,
        }
    }
}

/// A job and those of its tasks that are active.
pub(super) struct Gang<'b, 'a> {
    board: &'b Board<'a>,
    job: &'a Job,
    /// Tasks that are treated as gone.
    without: &'b BTreeSet<TaskAt>,
    /// Tasks stopped in this trial, which may be placed although they are leaving.
    again: &'b BTreeSet<TaskAt>,
}

pub(super) static NONE: BTreeSet<TaskAt> = BTreeSet::new();

impl<'b, 'a> Gang<'b, 'a> {
    pub fn of(board: &'b Board<'a>, job: JobAt) -> Self {
        Self { board, job: &board.world.jobs[job.0], without: &NONE, again: &NONE }
    }

    /// The same job, with these tasks treated as gone.
    pub fn without(self, without: &'b BTreeSet<TaskAt>) -> Self {
        Self { without, ..self }
    }

    /// The same job, where these tasks, stopped in this trial, may be placed again.
    pub fn again(self, again: &'b BTreeSet<TaskAt>) -> Self {
        Self { again, ..self }
    }

    fn is_active(&self, task: TaskAt) -> bool {
        let state = self.board.seats[task.0].state;
        matches!(state, State::Running | State::Started | State::Promised)
            && !self.without.contains(&task)
    }

    fn may_start(&self, task: TaskAt) -> bool {
        match self.board.seats[task.0].state {
            State::Waiting => true,
            State::Leaving => self.again.contains(&task),
            _ => false,
        }
    }

    fn leaf_of(&self, task: TaskAt) -> GroupAt {
        self.board.world.tasks[task.0].group.unwrap_or(GroupAt(0))
    }

    fn tasks_of(&self, group: GroupAt) -> Vec<TaskAt> {
        let of_group = |task: &TaskAt| self.leaf_of(*task) == group;
        let mut tasks: Vec<TaskAt> = self.job.tasks.iter().copied().filter(of_group).collect();
        let tasks_of = &self.board.world.tasks;
        tasks.sort_by_key(|task| (std::cmp::Reverse(tasks_of[task.0].order), *task));
        tasks
    }

    fn below(&self, group: GroupAt) -> Vec<GroupAt> {
        let groups = self.job.groups.iter().enumerate();
        let is_below = |(_, one): &(usize, &super::world::Group)| one.parent == Some(group);
        groups.filter(is_below).map(|(at, _)| GroupAt(at)).collect()
    }

    /// How much of its minimum a group has, and the minimum.
    fn served(&self, group: GroupAt) -> (usize, usize) {
        match self.job.groups[group.0].least {
            Least::Tasks(least) => {
                let active = self.tasks_of(group).into_iter().filter(|task| self.is_active(*task));
                (active.count(), least)
            }
            Least::Groups(least) => {
                let below = self.below(group);
                (below.into_iter().filter(|one| self.has_least(*one)).count(), least)
            }
        }
    }

    fn has_least(&self, group: GroupAt) -> bool {
        let (has, least) = self.served(group);
        has >= least
    }

    /// Whether the job has its minimum.
    pub fn is_whole(&self) -> bool {
        self.has_least(GroupAt(0))
    }

    /// Tasks that have a place.
    pub fn active(&self) -> Vec<TaskAt> {
        self.job.tasks.iter().copied().filter(|task| self.is_active(*task)).collect()
    }

    pub fn standing(&self) -> Standing {
        if !self.is_whole() {
            return Standing::Below;
        }
        let has_more = |group: GroupAt| {
            let (has, least) = self.served(group);
            has > least
        };
        let any_more = (0..self.job.groups.len()).any(|at| has_more(GroupAt(at)));
        if any_more { Standing::Above } else { Standing::At }
    }

    /// The tasks that start together next. Empty: no tasks are left, or too few.
    pub fn next(&self) -> Vec<TaskAt> {
        self.next_of(GroupAt(0)).unwrap_or_default()
    }

    fn next_of(&self, group: GroupAt) -> Option<Vec<TaskAt>> {
        let (has, least) = self.served(group);
        let lacks = least.saturating_sub(has);
        if matches!(self.job.groups[group.0].least, Least::Tasks(_)) {
            let waiting = self.tasks_of(group).into_iter().filter(|task| self.may_start(*task));
            let tasks: Vec<TaskAt> = waiting.take(lacks.max(1)).collect();
            return (!tasks.is_empty() && tasks.len() >= lacks).then_some(tasks);
        }
        let mut below = self.below(group);
        below.sort_by(|a, b| self.by_served(*a, *b));
        let lacking = below.iter().filter(|one| !self.has_least(**one));
        if lacks > 0 {
            let parts: Vec<Vec<TaskAt>> =
                lacking.filter_map(|one| self.next_of(*one)).take(lacks).collect();
            return (parts.len() >= lacks).then(|| parts.concat());
        }
        below.into_iter().find_map(|one| self.next_of(one))
    }

    /// Least served first, then by name.
    fn by_served(&self, a: GroupAt, b: GroupAt) -> Ordering {
        let (left, right) = (self.served(a), self.served(b));
        let lacks = |(has, least): (usize, usize)| has >= least;
        let name = |at: GroupAt| &self.job.groups[at.0].name;
        lacks(left)
            .cmp(&lacks(right))
            .then((left.0 * right.1.max(1)).cmp(&(right.0 * left.1.max(1))))
            .then_with(|| name(a).cmp(name(b)))
    }

    /// The tasks that leave first, and whether more can leave after them.
    pub fn first_to_go(&self) -> (Vec<TaskAt>, bool) {
        if let Some(task) = self.surplus_task(GroupAt(0)) {
            return (vec![task], true);
        }
        if let Some(group) = self.surplus_group(GroupAt(0)) {
            return (self.active_below(group), true);
        }
        (self.active(), false)
    }

    fn backwards(&self, group: GroupAt) -> Vec<GroupAt> {
        let mut below = self.below(group);
        below.sort_by(|a, b| self.by_served(*b, *a));
        below
    }

    fn surplus_task(&self, group: GroupAt) -> Option<TaskAt> {
        if matches!(self.job.groups[group.0].least, Least::Tasks(_)) {
            let (has, least) = self.served(group);
            let tasks = self.tasks_of(group);
            let last = tasks.into_iter().rev().find(|task| self.is_active(*task));
            return last.filter(|_| has > least);
        }
        self.backwards(group).into_iter().find_map(|one| self.surplus_task(one))
    }

    fn surplus_group(&self, group: GroupAt) -> Option<GroupAt> {
        let below = self.backwards(group);
        if let Some(found) = below.iter().find_map(|one| self.surplus_group(*one)) {
            return Some(found);
        }
        let (has, least) = self.served(group);
        let is_groups = matches!(self.job.groups[group.0].least, Least::Groups(_));
        below.into_iter().find(|one| self.has_least(*one)).filter(|_| is_groups && has > least)
    }

    fn active_below(&self, group: GroupAt) -> Vec<TaskAt> {
        let is_in = |task: &TaskAt| self.path(self.leaf_of(*task)).contains(&group);
        self.active().into_iter().filter(is_in).collect()
    }

    fn path(&self, group: GroupAt) -> Vec<GroupAt> {
        let mut path = vec![group];
        let mut at = group;
        // Each group's parent precedes it, so this ends.
        while let Some(above) = self.job.groups[at.0].parent.filter(|above| above.0 < at.0) {
            path.push(above);
            at = above;
        }
        path
    }

    /// Those of these tasks that belong to a group or to a group below it.
    pub fn of_group(&self, tasks: &[TaskAt], group: GroupAt) -> Vec<TaskAt> {
        let is_in = |task: &&TaskAt| self.path(self.leaf_of(**task)).contains(&group);
        tasks.iter().filter(is_in).copied().collect()
    }

    /// The child groups of these tasks, in the order in which the tasks are listed.
    pub fn groups_of(&self, tasks: &[TaskAt], group: GroupAt) -> Vec<GroupAt> {
        let below = self.below(group);
        let mut found = Vec::new();
        for task in tasks {
            let path = self.path(self.leaf_of(*task));
            if let Some(one) = below.iter().find(|one| path.contains(one))
                && !found.contains(one)
            {
                found.push(*one);
            }
        }
        found
    }

    /// Whether a leaf group lacks some of its minimum now and has a place reserved for it.
    pub fn waits_for_promised(&self) -> bool {
        let leaves = self.job.groups.iter().enumerate();
        leaves.into_iter().any(|(at, group)| {
            let Least::Tasks(least) = group.least else { return false };
            let tasks = self.tasks_of(GroupAt(at));
            let state = |task: &TaskAt| self.board.seats[task.0].state;
            let promised = tasks.iter().any(|task| state(task) == State::Promised);
            let there =
                tasks.iter().filter(|task| matches!(state(task), State::Running | State::Started));
            promised && there.count() < least
        })
    }
}
