//! Signals to running jobs. They are sent to the job's nodes at once, are not in the log, and are
//! not repeated if a node cannot be reached, because a program may count them: the caller gets the
//! error.

use super::audited::AuditRemark;
use super::error::ApiFailure;
use super::tasks::{ANSWER_LIMIT, node_silent, refused};
use crate::core::Core;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::{Extension, Json};
use common::id::{AttemptId, JobKey, NodeName};
use common::job::{Launch, Phase, SignalNumber};
use common::reason::Refusal;
use common::wire::api::{Changed, JobSignalRequest};
use common::wire::node::{JobSignal, Reached, SignalJob};
use futures_util::future::join_all;
use std::sync::Arc;

/// A running attempt and its nodes.
#[derive(Clone)]
struct RunningAttempt {
    id: AttemptId,
    nodes: Vec<NodeName>,
}

/// POST /v1/jobs/{key}/signal
pub async fn signal(
    State(core): State<Arc<Core>>,
    _user: net::User,
    Path(key): Path<String>,
    Extension(remark): Extension<AuditRemark>,
    body: Result<Json<JobSignalRequest>, JsonRejection>,
) -> Result<Json<Changed>, ApiFailure> {
    let Json(JobSignalRequest { signal, to: recipients }) = body?;
    remark.set_detail(signal);
    if signal.name().is_none() {
        return Err(Refusal::BadAsk { message: format!("there is no signal {signal}") }.into());
    }
    let (target, key) = (core.parse_target(&key)?, core.parse_job_key(&key)?);
    let set = core.state.read().job(key.job).and_then(|record| record.set);
    let all = set.filter(|set| set.first == key.job && target.key.component_offset().is_none());
    let of = |key| running_attempts(&core, key, recipients);
    // Only the first component of a heterogeneous job has a script.
    let attempts = match all.filter(|_| recipients != Reached::Script) {
        None => of(key)?,
        Some(set) => set.keys().map(of).collect::<Result<Vec<_>, _>>()?.concat(),
    };
    let sent =
        join_all(attempts.iter().map(|attempt| send_signal(&core, attempt, signal, recipients)))
            .await;
    let sent = sent.into_iter().collect::<Result<Vec<bool>, _>>()?;
    let keys = || attempts.iter().map(|attempt| attempt.id.key).zip(&sent);
    let jobs: Vec<JobKey> = keys().filter_map(|(key, got)| got.then_some(key)).collect();
    // Some components may have no process to signal.
    let is_enough = all.is_some() && !jobs.is_empty();
    match keys().find(|(_, got)| !**got).filter(|_| !is_enough) {
        None => Ok(Json(Changed { jobs })),
        Some((key, _)) => Err(refused(
            "not_signalled",
            format!("job {key} has no running process to receive {signal}"),
        )),
    }
}

/// Signals one job; false if it has no such process. A plain signal goes to the steps or, if there
/// are none, to the work.
async fn send_signal(
    core: &Core,
    attempt: &RunningAttempt,
    signal: SignalNumber,
    recipients: Reached,
) -> Result<bool, ApiFailure> {
    let got_it = signal_attempt(core, attempt, signal, recipients).await?;
    Ok(got_it
        || (recipients == Reached::Steps
            && signal_attempt(core, attempt, signal, Reached::Work).await?))
}

/// True if a process got the signal. All nodes are asked, whatever one answers.
async fn signal_attempt(
    core: &Core,
    attempt: &RunningAttempt,
    signal: SignalNumber,
    recipients: Reached,
) -> Result<bool, ApiFailure> {
    let question = SignalJob { question: 0, id: attempt.id, signal, to: recipients };
    let asked = attempt.nodes.iter().map(|node| async move {
        let answer = core.sessions.signal_job(node, question);
        match tokio::time::timeout(ANSWER_LIMIT, answer).await.ok().flatten() {
            Some(news) => (node, Some(news.signal)),
            None => (node, None),
        }
    });
    let answers = join_all(asked).await;
    for (node, answer) in &answers {
        match answer {
            None => return Err(node_silent(node)),
            Some(JobSignal::Failed(why)) => {
                let key = attempt.id.key;
                let message = format!("failed to send job {key} {signal} on node {node}: {why}");
                return Err(refused("not_signalled", message));
            }
            Some(JobSignal::Sent | JobSignal::NoProcess) => {}
        }
    }
    Ok(answers.iter().any(|(_, answer)| *answer == Some(JobSignal::Sent)))
}

/// The job, or the running tasks of an array.
fn running_attempts(
    core: &Core,
    key: JobKey,
    recipients: Reached,
) -> Result<Vec<RunningAttempt>, ApiFailure> {
    let state = core.state.read();
    let record = state.job(key.job).ok_or(Refusal::UnknownJob { key })?;
    let launch = record.spec.ask.launch;
    if recipients == Reached::Script && launch == Launch::Held {
        let message = format!("job {key} has no script: leave --batch out");
        return Err(Refusal::BadAsk { message }.into());
    }
    let (mut attempts, mut other) = (Vec::new(), None);
    for (index, element) in &record.elements {
        let own = record.key(*index);
        if key.index.is_some() && key != own {
            continue;
        }
        let Some(run) = element.run.as_ref().filter(|_| element.phase == Phase::Running) else {
            other = other.or(Some((own, element.phase)));
            continue;
        };
        let shares = run.allocation.shares().iter().map(|share| share.node.clone());
        // A script runs on the first node or on each.
        let first_only = recipients == Reached::Script && launch == Launch::Once;
        let nodes = shares.take(if first_only { 1 } else { usize::MAX }).collect();
        attempts
            .push(RunningAttempt { id: AttemptId { key: own, attempt: element.attempt }, nodes });
    }
    match (attempts.is_empty(), other) {
        (false, _) => Ok(attempts),
        (true, Some((key, phase))) => {
            Err(Refusal::WrongPhase { key, verb: "signal".to_owned(), phase }.into())
        }
        (true, None) => Err(Refusal::UnknownJob { key }.into()),
    }
}
