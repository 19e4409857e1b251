//! Which files the tasks of a step read and write, by name: the patterns filled in, each output
//! file once however many tasks share it. Never opens one; `prepare` does, as the user.

use super::order::{StepOrder, TaskPlace};
use common::job::OpenMode;
use common::job::pattern::{self, PatternFacts};

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    Read,
    /// For appending: what others write meanwhile stays.
    Append,
    /// Emptied, then for appending.
    Truncate,
}

/// A file to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    pub path: String,
    pub how: Use,
}

/// The three files of a task, as positions in [`FilePlan::openings`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskFiles {
    pub task: TaskPlace,
    /// Standard input, output, error.
    pub streams: [usize; 3],
}

/// All files of a step on this node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FilePlan {
    pub openings: Vec<Opening>,
    pub tasks: Vec<TaskFiles>,
}

impl FilePlan {
    /// Of an order's tasks on this node.
    #[must_use]
    pub fn of(order: &StepOrder) -> Self {
        let mut plan = Self::default();
        for task in order.tasks() {
            let stdin = plan.reading(order, task);
            let stdout = plan.writing(order, task, &order.launch.stdout);
            let stderr = match &order.launch.stderr {
                Some(pattern) => plan.writing(order, task, pattern),
                None => stdout,
            };
            plan.tasks.push(TaskFiles { task, streams: [stdin, stdout, stderr] });
        }
        plan
    }

    /// Every task reads its input from the beginning, so it is opened for each.
    fn reading(&mut self, order: &StepOrder, task: TaskPlace) -> usize {
        let path = match &order.launch.stdin {
            Some(pattern) => named(order, pattern, task),
            None => "/dev/null".to_owned(),
        };
        self.openings.push(Opening { path, how: Use::Read });
        self.openings.len() - 1
    }

    fn writing(&mut self, order: &StepOrder, task: TaskPlace, pattern: &str) -> usize {
        let path = named(order, pattern, task);
        let is_shared = |o: &Opening| o.how != Use::Read && o.path == path;
        if let Some(found) = self.openings.iter().position(is_shared) {
            return found;
        }
        let fresh = order.launch.open_mode == OpenMode::Truncate && order.launch.id.attempt.0 <= 1;
        let how = if fresh && is_ours(order, pattern, &path) { Use::Truncate } else { Use::Append };
        self.openings.push(Opening { path, how });
        self.openings.len() - 1
    }
}

/// A file that the job's first task writes too is emptied by its node only: the others may come
/// later, when the first has written to it.
fn is_ours(order: &StepOrder, pattern: &str, path: &str) -> bool {
    order.rank == 0 || of_first_task(order, pattern) != path
}

fn of_first_task(order: &StepOrder, pattern: &str) -> String {
    let first = order.launch.allocation.shares().first();
    let node = first.map_or(&order.node, |share| &share.node);
    let facts = PatternFacts { node, node_rank: 0, task_rank: 0, ..facts(order) };
    pattern::absolute(&order.launch.work_dir, &pattern::fill(pattern, &facts))
}

fn named(order: &StepOrder, pattern: &str, task: TaskPlace) -> String {
    let facts = PatternFacts { task_rank: task.rank, ..facts(order) };
    pattern::absolute(&order.launch.work_dir, &pattern::fill(pattern, &facts))
}

fn facts(order: &StepOrder) -> PatternFacts<'_> {
    PatternFacts {
        key: order.launch.id.key,
        number: order.launch.array.as_ref().and_then(|array| array.number),
        job_name: &order.launch.job_name,
        user: &order.launch.owner.name,
        node: &order.node,
        node_rank: order.rank,
        task_rank: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::order::tests::{example, example_launch};
    use common::id::Attempt;
    use common::job::Launch;
    use common::wire::node::LaunchOrder;

    fn launch() -> LaunchOrder {
        LaunchOrder { launch: Launch::PerTask, ..example_launch() }
    }

    fn outputs(launch: LaunchOrder, node: &str) -> Vec<(String, Use)> {
        let plan = FilePlan::of(&example(launch, node).unwrap());
        let outputs = plan.openings.into_iter().filter(|o| o.how != Use::Read);
        outputs.map(|o| (o.path, o.how)).collect()
    }

    #[test]
    fn tasks_share_one_output_and_only_the_first_node_empties_it() {
        let path = "/scratch/kant-42.out".to_owned();
        assert_eq!(outputs(launch(), "g1"), [(path.clone(), Use::Truncate)]);
        assert_eq!(outputs(launch(), "g2"), [(path, Use::Append)]);
        let plan = FilePlan::of(&example(launch(), "g1").unwrap());
        let [first, second] = plan.tasks.as_slice() else { panic!("{plan:?}") };
        assert_eq!(first.streams[1], second.streams[1]);
        assert_eq!(first.streams[1], first.streams[2]);
        assert_ne!(first.streams[0], second.streams[0], "each reads its input by itself");
    }

    #[test]
    fn a_file_of_its_own_is_emptied_by_whoever_has_it() {
        for pattern in ["%t.out", "%N.out", "%n.out"] {
            let order = LaunchOrder { stdout: pattern.into(), ..launch() };
            assert!(outputs(order, "g2").iter().all(|(_, how)| *how == Use::Truncate), "{pattern}");
        }
        let order = LaunchOrder { stdout: "%t.out".into(), ..launch() };
        let names: Vec<String> = outputs(order, "g1").into_iter().map(|(path, _)| path).collect();
        assert_eq!(names, ["/scratch/0.out", "/scratch/1.out"]);
    }

    #[test]
    fn a_requeued_attempt_and_append_mode_keep_what_was_written() {
        let mut again = launch();
        again.id.attempt = Attempt(2);
        let append = LaunchOrder { open_mode: OpenMode::Append, ..launch() };
        for order in [again, append] {
            assert!(outputs(order, "g1").iter().all(|(_, how)| *how == Use::Append));
        }
    }

    #[test]
    fn output_and_error_of_one_name_are_one_file() {
        let order = LaunchOrder { stderr: Some("/scratch/kant-%A.out".into()), ..launch() };
        assert_eq!(outputs(order, "g1").len(), 1);
        let apart = LaunchOrder { stderr: Some("%x.err".into()), ..launch() };
        assert_eq!(outputs(apart, "g1").len(), 2);
    }

    #[test]
    fn a_node_without_a_process_opens_nothing() {
        let plan = FilePlan::of(&example(example_launch(), "g2").unwrap());
        assert_eq!(plan, FilePlan::default());
    }
}
