//! What is asked of all tasks of an array, in parts that go into the log one after the other: while
//! one is applied nobody else's command is, and an array may have a hundred thousand tasks. Every
//! part is harmless if it is repeated, so what came to nothing halfway is asked again whole.
//! Never divides what is asked of few.

use common::id::{ArrayIndex, JobKey};
use common::reason::Refusal;
use state::job::Record;
use state::{Command, SomeTasks, State, Steering, Target};
use std::collections::VecDeque;

/// The most tasks that one entry changes: some milliseconds on one core of 2020.
pub const TASKS_MAX: usize = 1000;

/// A command in parts, and what came of those that were carried out.
#[derive(Debug)]
pub struct Parts {
    left: VecDeque<Command>,
    is_whole: bool,
    changed: Vec<JobKey>,
    is_fine: bool,
    refused: Option<Refusal>,
}

impl Parts {
    /// Of a command, in parts of at most `tasks_max` tasks.
    #[must_use]
    pub fn new(state: &State, command: Command, tasks_max: usize) -> Self {
        let left = divided(state, &command, tasks_max).unwrap_or_else(|| [command].into());
        let is_whole = left.len() == 1;
        Self { left, is_whole, changed: Vec::new(), is_fine: false, refused: None }
    }

    /// Is it one command, as it was asked?
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The next part, to be carried out before the one after it.
    pub fn next_part(&mut self) -> Option<Command> {
        self.left.pop_front()
    }

    /// The last part changed these, or was refused.
    pub fn note(&mut self, outcome: Result<Vec<JobKey>, Refusal>) {
        match outcome {
            Ok(changed) => {
                self.is_fine = true;
                self.changed.extend(changed);
            }
            Err(refusal) => self.refused = self.refused.take().or(Some(refusal)),
        }
    }

    /// All that was changed, once no part is left.
    ///
    /// # Errors
    /// The reason, where every part was refused.
    pub fn outcome(self) -> Result<Vec<JobKey>, Refusal> {
        match self.refused.filter(|_| !self.is_fine) {
            Some(refusal) => Err(refusal),
            None => {
                let mut changed = self.changed;
                changed.sort_unstable();
                changed.dedup();
                Ok(changed)
            }
        }
    }
}

/// The parts of what is asked of a large array; `None`: it is one.
fn divided(state: &State, command: &Command, tasks_max: usize) -> Option<VecDeque<Command>> {
    let (actor, Target { key }, how) = command.steering()?;
    let record = state.job(key.job).filter(|_| key.index.is_none())?;
    let is_divided = record.spec.ask.array.is_some() && record.elements.len() > tasks_max;
    // What is refused whole is refused at once.
    let is_theirs = actor.operator || actor.uid == record.spec.owner.uid;
    if !is_divided || !is_theirs {
        return None;
    }
    let part = |(first, last)| Command::SteerTasks {
        actor: actor.clone(),
        tasks: SomeTasks { job: key.job, first, last, asked_at: state.now() },
        how,
    };
    let parts = bounds(record, tasks_max).into_iter().map(part);
    Some(match how {
        // The last first: they wait, and must not start where those before them end.
        Steering::Cancel => parts.rev().collect(),
        _ => parts.collect(),
    })
}

/// The first and the last task of each part.
fn bounds(record: &Record, tasks_max: usize) -> Vec<(ArrayIndex, ArrayIndex)> {
    let indices: Vec<ArrayIndex> = record.elements.keys().copied().flatten().collect();
    let chunks = indices.chunks(tasks_max.max(1));
    chunks.filter_map(|chunk| Some((*chunk.first()?, *chunk.last()?))).collect()
}

#[cfg(test)]
mod tests;
