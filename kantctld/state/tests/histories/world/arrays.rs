//! Commands to parts of arrays, divided like the leader does it, and otherwise.

use super::World;
use super::things::{actor, pick};
use common::id::{ArrayIndex, JobId};
use common::job::Phase;
use common::time::Span;
use proptest::test_runner::TestCaseError;
use state::job::{Element, Record};
use state::{BulkAction, Command, SomeTasks};

impl World {
    /// A command to some tasks of an array; sometimes to a job that is no array.
    pub(super) fn act_on_tasks(
        &mut self,
        which: u8,
        user: u8,
        part: u8,
    ) -> Result<(), TestCaseError> {
        let is_suspended: fn(&Element) -> bool = |task| task.phase == Phase::Suspended;
        let is_running: fn(&Element) -> bool = |task| task.phase == Phase::Running;
        let is_held: fn(&Element) -> bool = |task| task.held;
        let is_any: fn(&Element) -> bool = |_| true;
        let has = |is_meant| part < 160 && self.array(which, is_meant).is_some();
        // Few arrays have such tasks, so these come first.
        let how = match part % 8 {
            _ if has(is_suspended) => BulkAction::Resume,
            _ if has(is_running) => BulkAction::Suspend,
            _ if has(is_held) => BulkAction::Release,
            0 | 1 => BulkAction::Cancel,
            2 | 3 => BulkAction::Hold,
            4 | 5 => BulkAction::Release,
            _ => BulkAction::Requeue,
        };
        let (is_meant, user) = match how {
            // Only operators may do this.
            BulkAction::Suspend => (is_running, user & !3),
            BulkAction::Resume => (is_suspended, user & !3),
            BulkAction::Release => (is_held, user),
            _ => (is_any, user),
        };
        let job = self.array(which, is_meant).filter(|_| !which.is_multiple_of(16));
        let job = job.unwrap_or(JobId(u32::from(which / 16)));
        let first = u32::from(which % 3);
        let (first, last) = (ArrayIndex(first), ArrayIndex(first + u32::from(part / 64)));
        let asked_at = self.state.now() - Span::from_seconds(u64::from(part % 2) * 60);
        let tasks = SomeTasks { job, first, last, asked_at };
        self.apply(Command::ActOnTasks { actor: actor(user), tasks, how })
    }

    /// An array with a task for which the predicate holds.
    fn array(&self, which: u8, is_so: fn(&Element) -> bool) -> Option<JobId> {
        let is_meant =
            |job: &&Record| job.spec.ask.array.is_some() && job.elements.values().any(is_so);
        let arrays = self.state.jobs().filter(is_meant).map(|record| record.id);
        pick(&arrays.collect::<Vec<JobId>>(), which)
    }
}
