//! Jobs that have nodes, and jobs that are over: what they do, what ends or ended them.
//! Never speaks of jobs that wait.

use crate::remembered::State;
use crate::story::StoryEvent;
use crate::view::standing;
use common::job::{Outcome, Phase, PreemptReason, Preempted};
use common::wire::api::JobView;

/// Why one job had to make way for another, as a clause.
pub(super) fn why(preempted: Preempted) -> String {
    let by = preempted.by;
    match preempted.why {
        PreemptReason::Priority => format!("job {by}, which has a higher priority"),
        PreemptReason::Reclaim => format!("job {by}, whose queue takes back quota that it lent"),
        PreemptReason::HeadTimeout => {
            format!("job {by}, which has waited at the head of the queue for too long")
        }
    }
}

pub(super) fn living(state: &State, job: &JobView) -> (Vec<String>, Option<String>) {
    let nodes = job.allocation.iter().flat_map(|a| a.shares()).map(|share| &share.node);
    let nodes = common::hostlist::fold(nodes);
    let line = match job.phase {
        Phase::Starting => format!("its nodes make ready: {nodes}"),
        Phase::Completing => format!("its end is decided; its nodes clean up: {nodes}"),
        phase => format!("it is {phase} on {nodes}"),
    };
    let mut lines = vec![line];
    lines.extend(ends(job));
    let mut advice = None;
    let Some((_, element)) = state.element(job.key) else { return (lines, None) };
    for line in element.story.iter().rev().take_while(|line| !is_start(&line.what)) {
        if let StoryEvent::Preempts { victim, why } = &line.what {
            lines.push(format!("job {} made way for it ({why})", victim.key));
        }
    }
    let end = element.run.as_ref().and_then(|run| run.end.as_ref());
    if let Some(preempted) = end.and_then(|end| end.preempted) {
        lines.push(format!("it makes way for {}", why(preempted)));
        advice = Some(match end.is_some_and(|end| end.requeue) {
            true => "nothing: it goes back to its place in the queue and starts again from the top"
                .to_owned(),
            false => {
                format!("submit it again; `kantctl explain {}` tells of the other", preempted.by)
            }
        });
    }
    (lines, advice)
}

const fn is_start(what: &StoryEvent) -> bool {
    matches!(what, StoryEvent::Requeued { .. })
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

pub(super) fn over(job: &JobView) -> (Vec<String>, Option<String>) {
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
