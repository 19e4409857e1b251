//! Sentences on jobs that have nodes and on finished jobs: what they do, and what ends or ended
//! them.

use super::{elastic, length, shared};
use common::hostlist::compress;
use common::id::NodeName;
use common::job::{ExitStatus, Outcome, Phase, PreemptReason, Preempted};
use common::node::Contact;
use common::time::Time;
use common::wire::api::JobView;
use engine::Snapshot;
use state::State;
use state::job::Run;
use state::timeline::TimelineEvent;
use std::collections::BTreeSet;

/// The reason why one job was preempted by another, as a clause.
pub(super) fn preemption_reason(state: &State, preempted: Preempted) -> String {
    let by = preempted.by;
    match preempted.why {
        PreemptReason::Priority => format!("job {by}, which has a higher priority"),
        PreemptReason::Reclaim if shared::is_fair(state) => {
            format!("job {by}, whose queue takes back what is due to it")
        }
        PreemptReason::Reclaim => format!("job {by}, whose queue takes back quota that it lent"),
        PreemptReason::HeadTimeout => {
            format!("job {by}, which has waited at the head of the queue for too long")
        }
        PreemptReason::Move => {
            format!("job {by}, which then has room; it continues elsewhere")
        }
    }
}

pub(super) fn explain_started(
    state: &State,
    job: &JobView,
    snapshot: &Snapshot,
    now: Time,
) -> (Vec<String>, Option<String>) {
    let nodes = job.allocation.iter().flat_map(|a| a.shares()).map(|share| &share.node);
    let nodes: BTreeSet<&NodeName> = nodes.collect();
    let s = if nodes.len() == 1 { "s" } else { "" };
    let nodes = compress(nodes);
    let element = state.element(job.key).map(|(_, element)| element);
    let end = element.and_then(|element| element.run.as_ref()?.end.as_ref());
    let line = match job.phase {
        Phase::Starting => format!("it is starting: {nodes} prepare{s} for it"),
        Phase::Completing if end.is_some_and(|end| end.exit.is_some()) => {
            format!("it has ended; {nodes} still clean{s} up after it")
        }
        Phase::Completing => stopping_line(state, element.and_then(|e| e.run.as_deref()), &nodes),
        Phase::Suspended => match job.suspended_at {
            Some(at) => format!("an operator suspended it at {at} on {nodes}"),
            None => format!("it is suspended on {nodes}"),
        },
        _ => format!("it is {} on {nodes}", job.state),
    };
    let mut lines = vec![line];
    lines.extend(elastic::running_tasks_line(job));
    let gives_to = element.and_then(|element| element.run.as_ref()?.gives_to);
    lines.extend(elastic::joining_nodes_line(job));
    lines.extend(elastic::leaving_nodes_line(job, gives_to));
    lines.extend(latest_end_line(job).into_iter().chain(unsaved_work_line(job, now)));
    let mut advice = match job.phase {
        Phase::Starting => Some("nothing: it runs as soon as that is done".to_owned()),
        Phase::Completing => Some("nothing: it is over as soon as that is done".to_owned()),
        Phase::Suspended => Some(format!(
            "an operator resumes it with `kantctl resume {}`; its time limit is paused too",
            job.key
        )),
        _ => None,
    };
    let Some(element) = element else { return (lines, advice) };
    for line in element.timeline.iter().rev().take_while(|line| !is_start(&line.what)) {
        if let TimelineEvent::Preempts { victim, why } = &line.what {
            lines.push(format!("it preempted job {} ({why})", victim.key));
        }
    }
    if job.phase == Phase::Running {
        let (more, what_to_do) = shared::preemption_outlook(state, job.key, snapshot, now);
        lines.extend(more);
        advice = advice.or(what_to_do);
    }
    if let Some(preempted) = end.and_then(|end| end.preempted) {
        lines.push(format!("it is preempted by {}", preemption_reason(state, preempted)));
        let moving = element.moving.as_deref();
        let moving = moving.map(|moving| compress(moving.to.iter().collect::<BTreeSet<_>>()));
        advice = Some(match end.is_some_and(|end| end.requeue) {
            true if moving.is_some() => format!(
                "nothing: it starts again from the beginning on {}, where its place is kept; what \
                 its script has not saved by then is lost",
                moving.unwrap_or_default()
            ),
            true => "nothing: it goes back to its place in the queue and starts again from the \
                     beginning; what its script has not saved by then is lost"
                .to_owned(),
            false => {
                format!("submit it again; `kantctl explain {}` explains that job", preempted.by)
            }
        });
    }
    (lines, advice)
}

/// A job that is being stopped: SIGTERM first, and SIGKILL after the grace period. Whether a node
/// out of contact received the command is unknown.
fn stopping_line(state: &State, run: Option<&Run>, nodes: &str) -> String {
    let Some((run, end)) = run.and_then(|run| Some((run, run.end.as_ref()?))) else {
        return format!("it is being stopped on {nodes}");
    };
    let is_silent =
        |name: &NodeName| state.node(name).is_some_and(|node| node.contact != Contact::Connected);
    let (silent, informed): (Vec<_>, Vec<_>) = run.holding_nodes().into_iter().partition(is_silent);
    let grace = state.settings().map(|settings| settings.kill_grace).unwrap_or_default();
    let at = end.decided_at;
    let mut parts = Vec::new();
    if !informed.is_empty() {
        let nodes = compress(&informed);
        let killed_at = at + grace;
        parts.push(format!(
            "it was sent SIGTERM at {at}; what still runs on {nodes} at {killed_at} is killed"
        ));
    }
    if !silent.is_empty() {
        let (nodes, does) = (compress(&silent), if silent.len() == 1 { "does" } else { "do" });
        let since = match parts.is_empty() {
            true => format!("it was to stop at {at}; "),
            false => String::new(),
        };
        parts.push(format!(
            "{since}{nodes} {does} not answer, and it is unknown whether it still runs there"
        ));
    }
    if parts.is_empty() { format!("it is being stopped on {nodes}") } else { parts.join("; ") }
}

const fn is_start(what: &TimelineEvent) -> bool {
    matches!(what, TimelineEvent::Requeued { .. })
}

/// The time limit or deadline that ends a running job at the latest.
fn latest_end_line(job: &JobView) -> Option<String> {
    let began = job.started_at.filter(|_| job.phase == Phase::Running)?;
    let limit = job.ask.time_limit.map(|limit| began + limit + job.suspended);
    match (limit, job.ask.deadline) {
        (limit, Some(deadline)) if limit.is_none_or(|limit| limit > deadline) => {
            Some(format!("its deadline ends it at {deadline}"))
        }
        (limit, _) => limit.map(|limit| format!("its time limit ends it at {limit}")),
    }
}

/// The work that a job with a checkpoint would lose.
fn unsaved_work_line(job: &JobView, now: Time) -> Option<String> {
    let lives = matches!(job.phase, Phase::Starting | Phase::Running | Phase::Suspended);
    let at = job.checkpoint_at.filter(|_| lives)?;
    let since = length::in_words(now.since(at));
    Some(format!(
        "its last checkpoint was at {at}: the work since then ({since}) is lost if it is preempted"
    ))
}

/// How the script ended, for readers who do not know Slurm's `code:signal`.
fn exit_line(exit: ExitStatus) -> String {
    let name = match exit.signal {
        None => return format!("its script exited with code {}", exit.code),
        Some(1) => " (SIGHUP)",
        Some(2) => " (SIGINT)",
        Some(6) => " (SIGABRT)",
        Some(7) => " (SIGBUS)",
        Some(9) => " (SIGKILL)",
        Some(11) => " (SIGSEGV)",
        Some(15) => " (SIGTERM)",
        Some(_) => "",
    };
    format!("its script was ended by signal {}{name}", exit.signal.unwrap_or_default())
}

pub(super) fn explain_done(job: &JobView) -> (Vec<String>, Option<String>) {
    let at = job.ended_at.map(|at| format!(" since {at}")).unwrap_or_default();
    let mut lines = vec![format!("it is over{at}: {}", job.state)];
    match (job.outcome, job.ask.deadline, job.ask.time_limit) {
        (Some(Outcome::DeadlineMissed), Some(deadline), _) if job.attempt == 0 => {
            lines.push(format!("it never started: its deadline, {deadline}, came first"));
        }
        (Some(Outcome::TimedOut), _, Some(limit)) => {
            lines.push(format!("it was stopped at its time limit, {}", length::in_words(limit)));
        }
        _ => lines.extend(job.exit.map(exit_line)),
    }
    lines.extend(job.message.clone());
    let advice = match job.outcome {
        Some(Outcome::TimedOut) => Some("submit it again with a longer --time".to_owned()),
        Some(Outcome::DeadlineMissed) => {
            Some("submit it again with a later --deadline, or a shorter --time".to_owned())
        }
        // The node's message already contains the advice.
        Some(Outcome::OutOfMemory) if job.message.is_none() => {
            Some("submit it again with more --mem".to_owned())
        }
        Some(Outcome::Failed) => Some(format!("`kantctl logs {}` shows what it printed", job.key)),
        Some(Outcome::LaunchFailed) => Some(format!(
            "mend what the message above names, such as the directory, the script or the path of \
             the output, then `kantctl requeue {}`; if nothing is wrong there, an operator finds \
             more in the log of kantd on the node (`journalctl -u kantd`)",
            job.key
        )),
        _ => None,
    };
    (lines, advice)
}
