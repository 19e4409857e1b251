//! `kantctl explain`: why a job is where it is, in sentences, and what to do about it.
//! Never guesses: what the last round did not say is not said.

use super::{Waits, job_view, standing};
use crate::remembered::State;
use common::id::JobKey;
use common::job::{Outcome, Phase};
use common::reason::WaitReason;
use common::wire::api::{Explanation, JobView};

/// Why a job is where it is; of an array, its first waiting task, or else its first.
/// `None`: there is no such job.
#[must_use]
pub fn explain(state: &State, key: JobKey, waits: &Waits) -> Option<Explanation> {
    let record = state.job(key.job)?;
    let key = if record.elements.contains_key(&key.index) {
        key
    } else if key.index.is_none() {
        let waiting = record.elements.iter().find(|(_, e)| e.phase == Phase::Pending);
        record.key(*waiting.or(record.elements.iter().next())?.0)
    } else {
        return None;
    };
    let job = job_view(state, key, waits)?;
    let (lines, advice) = match job.phase {
        Phase::Pending => waiting(&job),
        Phase::Done => over(&job),
        _ => living(&job),
    };
    Some(Explanation { job, lines, advice, expected_at: None })
}

fn waiting(job: &JobView) -> (Vec<String>, Option<String>) {
    let mut lines = Vec::new();
    if job.attempt > 0 {
        lines.push(format!("it waits again, after attempt {}", job.attempt));
    }
    if let Some(position) = job.position {
        lines.push(format!("it is number {position} of the jobs that wait"));
    }
    let Some(reason) = &job.reason else { return (lines, None) };
    lines.push(reason.sentence.clone());
    lines.extend(job.message.clone());
    let advice = match &reason.detail {
        WaitReason::Held => Some(format!("kantctl release {}", job.key)),
        WaitReason::NeverFits { .. } => Some(format!(
            "ask for less, or for other nodes: `kantctl cancel {}` and submit it again",
            job.key
        )),
        WaitReason::NodesUnavailable { example, .. } => {
            Some(format!("kantctl nodes; for an operator: kantctl resume {example}"))
        }
        WaitReason::Resources { expected_at: None, .. } => Some(
            "jobs that run now name no time limit, so nobody can say when there will be room: \
             `kantctl queue` shows them"
                .to_owned(),
        ),
        _ => None,
    };
    (lines, advice)
}

fn living(job: &JobView) -> (Vec<String>, Option<String>) {
    let nodes = job.allocation.iter().flat_map(|a| a.shares()).map(|share| &share.node);
    let nodes = common::hostlist::fold(nodes);
    let line = match job.phase {
        Phase::Starting => format!("its nodes make ready: {nodes}"),
        Phase::Completing => format!("its end is decided; its nodes clean up: {nodes}"),
        phase => format!("it is {phase} on {nodes}"),
    };
    (std::iter::once(line).chain(ends(job)).collect(), None)
}

/// What ends a running job that does not end by itself.
fn ends(job: &JobView) -> Option<String> {
    let began = job.started_at.filter(|_| job.phase == Phase::Running)?;
    let limit = job.ask.time_limit.map(|limit| began + limit);
    match (limit, job.ask.deadline) {
        (limit, Some(deadline)) if limit.is_none_or(|limit| limit > deadline) => {
            Some(format!("its deadline ends it at {deadline}"))
        }
        (limit, _) => limit.map(|limit| format!("its time limit ends it at {limit}")),
    }
}

fn over(job: &JobView) -> (Vec<String>, Option<String>) {
    let mut lines = vec![format!("it is over: {}", standing(job.phase, job.outcome))];
    if let Some(exit) = job.exit {
        lines.push(format!("its script exited with {exit}"));
    }
    lines.extend(job.message.clone());
    let advice = match job.outcome {
        Some(Outcome::TimedOut) => Some("submit it with a longer --time".to_owned()),
        Some(Outcome::DeadlineMissed) => {
            Some("submit it with a later --deadline, or a shorter --time".to_owned())
        }
        Some(Outcome::OutOfMemory) => Some("submit it with more --mem".to_owned()),
        Some(Outcome::Failed) => Some(format!("kantctl logs {}", job.key)),
        _ => None,
    };
    (lines, advice)
}
