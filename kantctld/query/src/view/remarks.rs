//! Remarks on a job besides its fields: why it waits, which faults it had, and which user cancelled
//! it.

use super::Wait;
use crate::timeline;
use crate::viewer::Viewer;
use common::id::{ArrayIndex, JobKey, Uid};
use common::job::{Outcome, Phase};
use common::reason::WaitReason;
use common::wire::api::ReasonView;
use state::OpenTerm;
use state::State;
use state::job::{Element, Record};
use state::timeline::TimelineEvent;

/// The user that cancelled it, by the last such line of its timeline.
pub(super) fn cancelled_by(element: &Element) -> Option<Uid> {
    let is_cancelled = element.outcome == Some(Outcome::Cancelled);
    let lines = element.timeline.iter().rev().filter(|_| is_cancelled);
    lines.take(4).find_map(|line| match &line.what {
        TimelineEvent::Ended { by, .. }
        | TimelineEvent::EndChanged { by, .. }
        | TimelineEvent::Done { by, .. } => *by,
        _ => None,
    })
}

/// Why it ended, or what [`fault_message`] says.
pub(super) fn end_or_fault_message(viewer: &Viewer, element: &Element) -> Option<String> {
    let end = element.run.as_ref().and_then(|run| run.end.as_ref());
    end.map_or_else(|| fault_message(viewer, element), |end| end.message.clone())
}

/// The faults of a job that waits after faulty attempts, with advice if it is held. Also the reason
/// of a job whose dependencies could no longer be satisfied.
fn fault_message(viewer: &Viewer, element: &Element) -> Option<String> {
    if let Some(hopeless) = hopeless_event(element) {
        return Some(match viewer.hides_jobs() {
            true => timeline::HOPELESS.to_owned(),
            false => timeline::line(hopeless),
        });
    }
    let faults = element.faults.as_ref().filter(|_| element.phase == Phase::Pending)?;
    let (in_a_row, until, why) = (faults.in_a_row, faults.not_before, faults.why.clone());
    let event = match element.held && faults.are_too_many() {
        true => TimelineEvent::HeldForFaults { in_a_row, why },
        false => TimelineEvent::Delayed { until, why },
    };
    Some(timeline::line(&event))
}

/// The reason why it was cancelled without a request.
fn hopeless_event(element: &Element) -> Option<&TimelineEvent> {
    let mut lines = element.timeline.iter().rev().filter(|_| element.phase == Phase::Done);
    let is_hopeless = |what: &&TimelineEvent| matches!(what, TimelineEvent::Hopeless { .. });
    lines.find_map(|line| Some(&line.what).filter(is_hopeless))
}

/// The open dependencies as in `squeue -o %E`; `None` if there are none.
pub(super) fn open_dependencies(
    (state, viewer): (&State, &Viewer),
    record: &Record,
    index: Option<ArrayIndex>,
) -> Option<String> {
    let dependency = record.spec.ask.dependency.as_ref()?;
    let open = state::open_terms(state, record, index);
    let shown = |open: &OpenTerm<'_>| match open.has_failed {
        // What became of a hidden job is not told.
        _ if open.term.on.is_some_and(|on| !viewer.sees_key(state, on)) => open.term.to_string(),
        true => format!("{}(failed)", open.term),
        false => format!("{}(unfulfilled)", open.term),
    };
    let terms: Vec<String> = open.iter().map(shown).collect();
    (!terms.is_empty()).then(|| terms.join(if dependency.is_any() { "?" } else { "," }))
}

/// The reason why it waits. Holds and dependencies are read from the state; everything else comes
/// from the last round.
pub(super) fn reason(
    (state, viewer): (&State, &Viewer),
    record: &Record,
    (key, element): (JobKey, &Element),
    waiting: Option<&Wait>,
) -> ReasonView {
    let waits_for = waiting.map(|wait| wait.reason.clone());
    let awaited = || state::dependency_reason(state, record, key.index);
    let reason = match (element.held, waits_for) {
        (true, _) => WaitReason::Held,
        (false, waits_for) => awaited().or(waits_for).unwrap_or(WaitReason::NotConsidered),
    };
    let reason = match reason {
        // The reason is outdated: the job was released, or its dependencies were satisfied, after
        // the round.
        WaitReason::Held if !element.held => WaitReason::NotConsidered,
        WaitReason::Dependency { open, .. } if open.is_empty() => WaitReason::NotConsidered,
        reason => viewer.visible_reason(state, reason),
    };
    let (code, sentence) = match element {
        Element { held_by, .. } if held_by.includes_operator() => {
            ("JobHeldAdmin", "held by an operator; only an operator can release it".to_owned())
        }
        Element { held_by, .. } if held_by.includes_coordinator() => (
            "JobHeldAdmin",
            "held by a coordinator; only coordinators and operators can release it".to_owned(),
        ),
        Element { held: true, .. } => {
            (reason.code(), format!("held: release it with `kantctl release {key}`"))
        }
        _ => (reason.code(), reason.to_string()),
    };
    ReasonView { code: code.to_owned(), sentence, detail: reason }
}
