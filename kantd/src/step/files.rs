//! The files that the tasks of a step read and write: patterns expanded, and each output file
//! listed once however many tasks share it. `prepare` opens them, as the user.

use super::spec::{StepSpec, TaskPlace};
use common::job::OpenMode;
use common::job::pattern::{self, PatternFacts};

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    Read,
    /// For appending, so that concurrent writers lose nothing.
    Append,
    /// Truncated, then for appending.
    Truncate,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    pub path: String,
    pub how: Use,
}

/// The three files of a task, as indexes into [`FilePlan::openings`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskFiles {
    pub task: TaskPlace,
    pub streams: [usize; 3],
}

/// All files of a step on this node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FilePlan {
    pub openings: Vec<Opening>,
    pub tasks: Vec<TaskFiles>,
}

impl FilePlan {
    /// The files of the step's tasks on this node.
    #[must_use]
    pub fn new(spec: &StepSpec) -> Self {
        let mut plan = Self::default();
        for task in spec.tasks() {
            let stdin = plan.add_input(spec, task);
            let stdout = plan.add_output(spec, task, &spec.launch.stdout);
            let stderr = match &spec.launch.stderr {
                Some(pattern) => plan.add_output(spec, task, pattern),
                None => stdout,
            };
            plan.tasks.push(TaskFiles { task, streams: [stdin, stdout, stderr] });
        }
        plan
    }

    /// Each task reads its input from the beginning, so it is opened for each task.
    fn add_input(&mut self, spec: &StepSpec, task: TaskPlace) -> usize {
        let path = match &spec.launch.stdin {
            Some(pattern) => expand_path(spec, pattern, task),
            None => "/dev/null".to_owned(),
        };
        self.openings.push(Opening { path, how: Use::Read });
        self.openings.len() - 1
    }

    fn add_output(&mut self, spec: &StepSpec, task: TaskPlace, pattern: &str) -> usize {
        let path = expand_path(spec, pattern, task);
        let is_shared = |o: &Opening| o.how != Use::Read && o.path == path;
        if let Some(found) = self.openings.iter().position(is_shared) {
            return found;
        }
        let fresh = spec.launch.open_mode == OpenMode::Truncate && spec.launch.id.attempt.0 <= 1;
        let how =
            if fresh && may_truncate(spec, pattern, &path) { Use::Truncate } else { Use::Append };
        self.openings.push(Opening { path, how });
        self.openings.len() - 1
    }
}

/// A file that the job's first task writes too is truncated by that task's node only: other nodes
/// may open it later, when it has content.
fn may_truncate(spec: &StepSpec, pattern: &str, path: &str) -> bool {
    spec.rank == 0 || first_task_path(spec, pattern) != path
}

fn first_task_path(spec: &StepSpec, pattern: &str) -> String {
    let first = spec.launch.allocation.shares().first();
    let node = first.map_or(&spec.node, |share| &share.node);
    let facts = PatternFacts { node, node_rank: 0, task_rank: 0, ..pattern_facts(spec) };
    pattern::absolute(&spec.launch.work_dir, &pattern::fill(pattern, &facts))
}

fn expand_path(spec: &StepSpec, pattern: &str, task: TaskPlace) -> String {
    let facts = PatternFacts { task_rank: task.rank, ..pattern_facts(spec) };
    pattern::absolute(&spec.launch.work_dir, &pattern::fill(pattern, &facts))
}

fn pattern_facts(spec: &StepSpec) -> PatternFacts<'_> {
    PatternFacts {
        key: spec.launch.id.key,
        number: spec.launch.array.as_ref().and_then(|array| array.number),
        job_name: &spec.launch.job_name,
        user: &spec.launch.owner.name,
        node: &spec.node,
        node_rank: spec.rank,
        task_rank: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::spec::tests::{example, example_launch};
    use common::id::Attempt;
    use common::job::Launch;
    use common::wire::node::LaunchOrder;

    fn launch() -> LaunchOrder {
        LaunchOrder { launch: Launch::PerTask, ..example_launch() }
    }

    fn outputs(launch: LaunchOrder, node: &str) -> Vec<(String, Use)> {
        let plan = FilePlan::new(&example(launch, node).unwrap());
        let outputs = plan.openings.into_iter().filter(|o| o.how != Use::Read);
        outputs.map(|o| (o.path, o.how)).collect()
    }

    #[test]
    fn tasks_share_one_output_and_only_the_first_node_truncates_it() {
        let path = "/scratch/kant-42.out".to_owned();
        assert_eq!(outputs(launch(), "g1"), [(path.clone(), Use::Truncate)]);
        assert_eq!(outputs(launch(), "g2"), [(path, Use::Append)]);
        let plan = FilePlan::new(&example(launch(), "g1").unwrap());
        let [first, second] = plan.tasks.as_slice() else { panic!("{plan:?}") };
        assert_eq!(first.streams[1], second.streams[1]);
        assert_eq!(first.streams[1], first.streams[2]);
        assert_ne!(first.streams[0], second.streams[0], "each reads the input from its beginning");
    }

    #[test]
    fn a_file_of_one_node_or_task_is_truncated_there() {
        for pattern in ["%t.out", "%N.out", "%n.out"] {
            let spec = LaunchOrder { stdout: pattern.into(), ..launch() };
            assert!(outputs(spec, "g2").iter().all(|(_, how)| *how == Use::Truncate), "{pattern}");
        }
        let spec = LaunchOrder { stdout: "%t.out".into(), ..launch() };
        let names: Vec<String> = outputs(spec, "g1").into_iter().map(|(path, _)| path).collect();
        assert_eq!(names, ["/scratch/0.out", "/scratch/1.out"]);
    }

    #[test]
    fn a_requeued_attempt_and_append_mode_keep_what_was_written() {
        let mut again = launch();
        again.id.attempt = Attempt(2);
        let append = LaunchOrder { open_mode: OpenMode::Append, ..launch() };
        for spec in [again, append] {
            assert!(outputs(spec, "g1").iter().all(|(_, how)| *how == Use::Append));
        }
    }

    #[test]
    fn output_and_error_of_one_name_are_one_file() {
        let spec = LaunchOrder { stderr: Some("/scratch/kant-%A.out".into()), ..launch() };
        assert_eq!(outputs(spec, "g1").len(), 1);
        let apart = LaunchOrder { stderr: Some("%x.err".into()), ..launch() };
        assert_eq!(outputs(apart, "g1").len(), 2);
    }

    #[test]
    fn a_node_without_a_process_opens_nothing() {
        let plan = FilePlan::new(&example(example_launch(), "g2").unwrap());
        assert_eq!(plan, FilePlan::default());
    }
}
