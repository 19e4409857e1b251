//! Jobs as tables show them: only the fields that are set and that a table has a column for,
//! serialized straight from the state. Each can be read as a [`common::wire::api::JobView`], with
//! defaults for the rest.

use super::requested;
use super::{Listed, Waits, listed, remarks};
use crate::viewer::Viewer;
use common::id::{AccountName, JobId, JobKey, QosName, QueueName, ReservationName, Uid};
use common::job::state::slurm_state;
use common::job::{ExitStatus, Launch, Outcome, Owner, Phase, SetPlace};
use common::resource::{Allocation, GpuRequest, Resources};
use common::serde_skip::is_default;
use common::time::{Span, Time};
use common::unit::{Bytes, Cpus, Gpus, Nodes, Tasks};
use common::wire::api::JobQuery;
use serde::Serialize;
use state::State;
use std::sync::Arc;

/// The jobs that match a query, in the order of [`super::job_list`]. They are built lazily: each is
/// written before the next one is read.
pub fn list_rows<'a>(
    state: &'a State,
    viewer: &'a Viewer,
    query: &JobQuery,
    waits: &'a Waits,
) -> impl Iterator<Item = impl Serialize + use<'a>> + use<'a> {
    let part = listed(state, viewer, query, waits).into_iter().skip(query.offset);
    part.take(query.limit.unwrap_or(usize::MAX)).map(move |one| ListRow::of(state, viewer, &one))
}

/// A subset of [`common::wire::api::JobView`].
#[derive(Serialize)]
struct ListRow<'a> {
    key: JobKey,
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<JobId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    set: Option<SetPlace>,
    owner: &'a Owner,
    ask: ListRowAsk<'a>,
    phase: Phase,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<Outcome>,
    state: &'static str,
    state_code: &'static str,
    #[serde(skip_serializing_if = "is_default")]
    held: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<ListRowReason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<u32>,
    #[serde(skip_serializing_if = "is_default")]
    attempt: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    cancelled_by: Option<Uid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    array_limit: Option<u32>,
    submitted_at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    suspended_at: Option<Time>,
    #[serde(skip_serializing_if = "is_default")]
    suspended: Span,
    #[serde(skip_serializing_if = "Option::is_none")]
    allocation: Option<Arc<Allocation>>,
    cpus: Cpus,
    memory: Bytes,
    gpus: Gpus,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit: Option<ExitStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

/// A subset of [`common::job::Ask`].
#[derive(Serialize)]
struct ListRowAsk<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<&'a QueueName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<&'a AccountName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    qos: Option<&'a QosName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reservation: Option<&'a ReservationName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_limit: Option<Span>,
    #[serde(skip_serializing_if = "is_default")]
    launch: Launch,
    request: ListRowRequest,
}

/// A subset of [`common::resource::Request`].
#[derive(Serialize)]
struct ListRowRequest {
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<Nodes>,
    tasks: Tasks,
    cpus_per_task: Cpus,
    #[serde(skip_serializing_if = "Option::is_none")]
    gpus: Option<GpuRequest>,
}

/// A subset of [`common::wire::api::ReasonView`].
#[derive(Serialize)]
struct ListRowReason {
    code: String,
    sentence: String,
}

impl<'a> ListRow<'a> {
    fn of(state: &'a State, viewer: &Viewer, one: &Listed<'a>) -> Self {
        let Listed { key, record, element, waiting } = *one;
        let (spec, ask) = (&record.spec, &record.spec.ask);
        let run = element.run.as_ref();
        let end = run.and_then(|run| run.end.as_ref());
        let allocation = run.map(|run| run.staying());
        let Resources { cpus, memory, gpus } = allocation
            .as_deref()
            .map_or_else(|| requested::requested(state, record), requested::allocated);
        let (word, code) = slurm_state(element.phase, element.outcome);
        let reason = (element.phase == Phase::Pending).then(|| {
            let reason = remarks::reason((state, viewer), record, (key, element), waiting);
            ListRowReason { code: reason.code, sentence: reason.sentence }
        });
        let request = ListRowRequest {
            nodes: ask.request.nodes,
            tasks: ask.request.tasks,
            cpus_per_task: ask.request.cpus_per_task,
            gpus: ask.request.gpus,
        };
        Self {
            key,
            number: record.number(key.index),
            set: record.set,
            owner: &spec.owner,
            ask: ListRowAsk {
                name: &ask.name,
                queue: ask.queue.as_ref(),
                account: ask.account.as_ref(),
                qos: ask.qos.as_ref(),
                reservation: ask.reservation.as_ref(),
                time_limit: ask.time_limit,
                launch: ask.launch,
                request,
            },
            phase: element.phase,
            outcome: element.outcome,
            state: word,
            state_code: code,
            held: element.held,
            reason,
            position: waiting.map(|wait| wait.position),
            attempt: element.attempt.0,
            cancelled_by: remarks::cancelled_by(element),
            array_limit: ask.array.as_ref().and_then(|array| array.limit()),
            submitted_at: record.submitted_at,
            started_at: run.and_then(|run| run.running_at),
            ended_at: element.ended_at(),
            suspended_at: run.and_then(|run| run.suspended_at),
            suspended: run.map_or(Span(0), |run| run.suspended),
            allocation,
            cpus,
            memory,
            gpus,
            exit: end.and_then(|end| end.exit),
            message: remarks::end_or_fault_message(viewer, element),
        }
    }
}
