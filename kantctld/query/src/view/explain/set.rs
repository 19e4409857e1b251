//! Sentences on a waiting component of a set: the components with which it starts, and the commands
//! that apply to the whole set.

use super::shared::is_fair;
use common::id::QueueName;
use common::reason::WaitReason;
use common::wire::api::JobView;
use engine::Snapshot;
use state::State;
use std::collections::BTreeSet;

/// The lines and the advice for a component of a set.
pub(super) fn with_set_lines(
    state: &State,
    job: &JobView,
    snapshot: &Snapshot,
    (mut lines, advice): (Vec<String>, Option<String>),
) -> (Vec<String>, Option<String>) {
    let Some(set) = job.set else { return (lines, advice) };
    let (first, last) = (set.first, set.size - 1);
    lines.push(format!(
        "it is {} of {} components, {first}+0 to {first}+{last}, which start together: what one of \
         them lacks, all wait for",
        set.name(),
        set.size
    ));
    let reason = job.reason.as_ref().map(|reason| &reason.detail);
    if matches!(reason, Some(WaitReason::Preempting { .. })) {
        return (lines, advice);
    }
    let lacks_room = matches!(reason, Some(WaitReason::Resources { .. }));
    lines.extend(separate_queues_note(state, job, snapshot).filter(|_| lacks_room));
    let replica = job.ask.replica.as_deref();
    let advice = match job.held {
        _ if replica.is_some() => {
            "wait, or deploy the service with less for each replica, or a lower `min`".to_owned()
        }
        true => format!("`kantctl release {first}` releases all of it"),
        false => format!(
            "wait, or change what a component asks for: `kantctl update {first}+1 ...`; `kantctl \
             cancel {first}` cancels all of it"
        ),
    };
    (lines, Some(advice))
}

/// With fair sharing, a note that the components are in several queues.
fn separate_queues_note(state: &State, job: &JobView, snapshot: &Snapshot) -> Option<String> {
    let components = state::components(state, job.key).into_iter();
    let waiting = components.filter_map(|key| snapshot.waiting_job(key));
    let queues: BTreeSet<&QueueName> = waiting.map(|job| &job.queue).collect();
    let names: Vec<&str> = queues.into_iter().map(QueueName::as_str).collect();
    let line = format!(
        "its components are in different queues ({}): jobs are preempted for the components of one \
         queue only",
        names.join(", ")
    );
    (is_fair(state) && names.len() > 1).then_some(line)
}
