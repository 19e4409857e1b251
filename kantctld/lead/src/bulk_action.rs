//! Commands on all tasks of a large array, split into parts that are logged one after the other: an
//! array may have a hundred thousand tasks, and no other command is applied during one. Every part
//! may be repeated without harm, so a command that failed halfway is simply given again.

use common::id::{ArrayIndex, JobKey};
use common::reason::Refusal;
use state::job::Record;
use state::{BulkAction, Command, SomeTasks, State, Target};
use std::collections::VecDeque;

/// The most tasks that one entry changes: a few milliseconds on one core of 2020.
pub const TASKS_MAX: usize = 1000;

/// A command in parts, with the outcome of those carried out.
#[derive(Debug)]
pub struct Parts {
    left: VecDeque<Command>,
    is_whole: bool,
    changed: Vec<JobKey>,
    is_fine: bool,
    refused: Option<Refusal>,
}

impl Parts {
    /// Splits a command into parts of at most `tasks_max` tasks.
    #[must_use]
    pub fn new(state: &State, command: Command, tasks_max: usize) -> Self {
        let left = split_command(state, &command, tasks_max).unwrap_or_else(|| [command].into());
        let is_whole = left.len() == 1;
        Self { left, is_whole, changed: Vec::new(), is_fine: false, refused: None }
    }

    /// Whether it is one command, not split.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The next part, to be carried out before those after it.
    pub fn next_part(&mut self) -> Option<Command> {
        self.left.pop_front()
    }

    /// Notes the outcome of the last part.
    pub fn note(&mut self, outcome: Result<Vec<JobKey>, Refusal>) {
        match outcome {
            Ok(changed) => {
                self.is_fine = true;
                self.changed.extend(changed);
            }
            Err(refusal) => self.refused = self.refused.take().or(Some(refusal)),
        }
    }

    /// All changed jobs, once no part is left.
    ///
    /// # Errors
    /// The reason, if every part was refused.
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

/// The parts of a command on a large array; `None` if it need not be split.
fn split_command(state: &State, command: &Command, tasks_max: usize) -> Option<VecDeque<Command>> {
    let (actor, Target { key }, how) = command.bulk_action()?;
    let record = state.job(key.job).filter(|_| key.index.is_none())?;
    let is_divided = record.spec.ask.array.is_some() && record.elements.len() > tasks_max;
    // A command that is refused as a whole is refused at once.
    let is_theirs = state.may(actor, record, how.right());
    if !is_divided || !is_theirs {
        return None;
    }
    let part = |(first, last)| Command::ActOnTasks {
        actor: actor.clone(),
        tasks: SomeTasks { job: key.job, first, last, asked_at: state.now() },
        how,
    };
    let parts = bounds_of_parts(record, tasks_max).into_iter().map(part);
    Some(match how {
        // Last tasks first: they wait, and must not start where earlier ones end.
        BulkAction::Cancel => parts.rev().collect(),
        _ => parts.collect(),
    })
}

/// The first and last task of each part.
fn bounds_of_parts(record: &Record, tasks_max: usize) -> Vec<(ArrayIndex, ArrayIndex)> {
    let indices: Vec<ArrayIndex> = record.elements.keys().copied().flatten().collect();
    let chunks = indices.chunks(tasks_max.max(1));
    chunks.filter_map(|chunk| Some((*chunk.first()?, *chunk.last()?))).collect()
}

#[cfg(test)]
mod tests;
