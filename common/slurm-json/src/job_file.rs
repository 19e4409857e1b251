//! The paths of a job's files.

use common::id::NodeName;
use common::job::pattern::{PatternFacts, absolute, fill};
use common::wire::api::JobView;

/// The path of a file. Patterns such as `%N` are filled in for the first node, as in Slurm.
#[must_use]
pub fn path(job: &JobView, pattern: &str) -> String {
    let first = job.allocation.as_ref().and_then(|given| given.shares().first());
    let filled = |node: &NodeName, rank| {
        let facts = PatternFacts {
            key: job.key,
            number: job.number,
            job_name: &job.ask.name,
            user: &job.owner.name,
            node,
            node_rank: rank,
            task_rank: rank,
        };
        fill(pattern, &facts)
    };
    let text = match first {
        Some(share) => filled(&share.node, 0),
        // Without nodes, the path is known only if it does not depend on the node.
        None => match (NodeName::new("a"), NodeName::new("b")) {
            (Ok(one), Ok(other)) if filled(&one, 0) == filled(&other, 1) => filled(&one, 0),
            _ => pattern.to_owned(),
        },
    };
    absolute(&job.ask.work_dir, &text)
}

/// The path of the job's output.
#[must_use]
pub fn stdout(job: &JobView) -> String {
    path(job, job.ask.stdout_pattern())
}

/// The path of the job's errors, which is that of the output unless the user gave another.
#[must_use]
pub fn stderr(job: &JobView) -> String {
    job.ask.stderr.as_deref().map_or_else(|| stdout(job), |file| path(job, file))
}

/// The path of the job's input.
#[must_use]
pub fn stdin(job: &JobView) -> String {
    job.ask.stdin.as_deref().map_or_else(|| "/dev/null".to_owned(), |file| path(job, file))
}
