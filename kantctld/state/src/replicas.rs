//! Jobs as replicas of services: what the end of one means for its service.

use crate::job::Run;
use crate::state::State;
use common::id::JobKey;
use common::job::{Outcome, Replica};
use common::service::ServiceEventKind;
use common::time::{Span, Time};

/// Notes the end of a replica. Whatever it ends by, except for a stop or a lost node, is a failure,
/// because replicas run until they are stopped.
pub(crate) fn note_replica_end(state: &mut State, key: JobKey, outcome: Outcome) {
    let now = state.now;
    let Some((record, element)) = state.element(key) else { return };
    let Some(replica) = record.spec.ask.replica.clone() else { return };
    let ran = ran(element.run.as_deref(), now);
    let Some(service) = state.services.get_mut(&replica.service) else { return };
    let Replica { role, ordinal, revision, .. } = replica.as_ref();
    let (role, ordinal, job) = (role.clone(), *ordinal, key.job);
    if matches!(outcome, Outcome::Cancelled | Outcome::NodeLost) {
        if ran >= crate::service::RUN_LONG {
            service.forget_failures(&role, ordinal);
        }
        return;
    }
    let event = ServiceEventKind::ReplicaEnded { role: role.clone(), ordinal, job, outcome };
    service.note(now, event);
    // Failures of other revisions say nothing about the current one.
    if *revision == service.current && service.note_failure(&replica, now, ran) {
        let failures = crate::service::FAILURES_MAX;
        let job = Some(job);
        service.note(now, ServiceEventKind::ReplicaHeld { role, ordinal, failures, job });
    }
}

/// How long the last attempt ran.
fn ran(run: Option<&Run>, now: Time) -> Span {
    run.and_then(|run| run.running_at).map_or(Span(0), |since| now.since(since))
}
