//! Client of the step ledger, which the job's first node keeps: it assigns numbers and resources to
//! steps, and transfers signals, input and output of attached clients. Steps that need no resources
//! of their own also run without the ledger, and then choose a number themselves.

use super::connection::NODE_PATIENCE;
use super::lease_renewer::lease_duration;
use super::placement::StepPlacement;
use super::step_options::StepOptions;
use crate::failure::Failure;
use crate::output::screen::note;
use crate::server::{POLL_SECONDS, Retry, Server};
use anyhow::Context;
use common::id::{JobKey, TaskNumber};
use common::job::check::check_step_name;
use common::job::{ExitStatus, SignalNumber};
use common::time::Span;
use common::wire::node::{
    StepAnswer, StepAsk, StepGpus, StepHeard, StepInput, StepPiece, StepSaid, StepSpeech,
    StepStreams, StepView, StepWish,
};
use std::io::Read;
use std::time::{Duration, Instant};

/// The first and the longest pause before the next attempt.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];
/// The pause between requests while there is no answer.
const SILENCE: Duration = Duration::from_secs(5);

/// Registers a step, waiting until its resources are free; `None` if there is no ledger.
///
/// # Errors
/// [`Failure`] when it never fits, or needs resources of its own and there is no ledger.
pub async fn register_step(
    options: &StepOptions,
    placement: &StepPlacement,
    cpus_each: u32,
    server: &Server,
) -> Result<Option<StepView>, Failure> {
    let name = options.name();
    check_step_name(&name).map_err(Failure::usage)?;
    let ask = StepAsk {
        nonce: random_number()?,
        name,
        tasks: placement.nodes.clone(),
        others: placement.others.iter().map(|(name, _)| name.clone()).collect(),
        cpus_each,
        gpus: options.gpus,
        exclusive: options.exclusive,
        lease: Span::from_seconds(lease_duration().as_secs()),
    };
    // A step without resources of its own also runs without a ledger.
    let is_optional = !options.exclusive && options.gpus == StepGpus::All;
    let request = StepWish::Open(ask);
    // No retries just for a number.
    let quick = server.reconnected();
    let asked = if is_optional { &quick } else { server };
    let [mut pause, longest] = PAUSES;
    let (mut is_reported, mut silent_since) = (false, None);
    loop {
        let answer = send(asked, placement.key, &request).await;
        if let Err(failure) = &answer
            && failure.is_silent_node()
            && !is_optional
            && silent_since.get_or_insert_with(Instant::now).elapsed() < NODE_PATIENCE
        {
            // kantd restarts, or the node is connecting to another controller.
            tokio::time::sleep(longest).await;
            continue;
        }
        silent_since = None;
        match answer {
            Ok(StepAnswer::Opened(view)) => return Ok(Some(view)),
            Ok(StepAnswer::Busy(why)) => {
                if !is_reported {
                    note(&format!("the step waits for other steps of its job: {why}"));
                }
                is_reported = true;
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(longest);
            }
            Ok(StepAnswer::Refused(_)) if is_optional => return Ok(None),
            Ok(StepAnswer::Refused(why)) => return Err(Failure::usage(anyhow::Error::msg(why))),
            Ok(_) => return Ok(None),
            Err(_) if is_optional => return Ok(None),
            Err(failure) => return Err(failure),
        }
    }
}

/// Waits for requests to a step: signals, and input or output of attached clients. Never retries:
/// failures are reported by the connections to launchers.
pub async fn next_requests(
    server: &Server,
    key: JobKey,
    number: u32,
    streams: StepStreams,
) -> StepHeard {
    // The request also renews the step's lease. Rejected input is offered again soon.
    let usual = (lease_duration().as_secs() / 3).clamp(1, POLL_SECONDS);
    let wait = Span::from_seconds(if streams.input == StepInput::Full { 1 } else { usual });
    match send(server, key, &StepWish::Hold { number, wait, streams: Some(streams) }).await {
        Ok(StepAnswer::Heard(requests)) => return requests,
        // The job has ended, or nothing answers, which is noticed by the connections to launchers.
        Ok(_) | Err(_) => tokio::time::sleep(SILENCE).await,
    }
    StepHeard { listened: streams.listened, ..StepHeard::default() }
}

/// Publishes output of tasks for attached clients; false if there are none.
///
/// # Errors
/// [`Failure`] when there is no answer.
pub async fn publish_output(
    server: &Server,
    key: JobKey,
    number: u32,
    piece: StepPiece,
) -> Result<bool, Failure> {
    Ok(send(server, key, &StepWish::Say { number, piece }).await? == StepAnswer::Done)
}

/// The output of a step from there on, once there is some.
///
/// # Errors
/// [`Failure`] when there is no such step, or no answer.
pub async fn read_output(
    server: &Server,
    key: JobKey,
    number: u32,
    from: Option<u64>,
) -> Result<StepSaid, Failure> {
    let wait = Span::from_seconds(POLL_SECONDS);
    match send_with_retries(server, key, &StepWish::Listen { number, from, wait }).await? {
        StepAnswer::Said(output) => Ok(output),
        StepAnswer::Refused(why) => Err(Failure::from_message(why)),
        other => Err(Failure::from_message(format!(
            "failed to read the output of step {number}: {other:?}"
        ))),
    }
}

/// Sends input to tasks; false if it must be sent again later.
///
/// # Errors
/// [`Failure`] when no task reads, or there is no answer.
pub async fn send_input(
    server: &Server,
    key: JobKey,
    number: u32,
    speech: StepSpeech,
) -> Result<bool, Failure> {
    match send_with_retries(server, key, &StepWish::Speak { number, speech }).await? {
        StepAnswer::Refused(why) => Err(Failure::from_message(why)),
        answer => Ok(answer == StepAnswer::Done),
    }
}

/// Reports the end of a step.
pub async fn report_step_end(server: &Server, key: JobKey, number: u32, exit: ExitStatus) {
    // If it gets lost, the step's lease expires.
    drop(send(&server.reconnected(), key, &StepWish::Close { number, exit }).await);
}

/// Sends a signal to all tasks of a step.
///
/// # Errors
/// [`Failure`] when there is no such step, or no answer.
pub async fn signal(
    server: &Server,
    key: JobKey,
    number: u32,
    signal: SignalNumber,
) -> Result<(), Failure> {
    match send(server, key, &StepWish::Signal { number, signal }).await? {
        StepAnswer::Refused(why) => Err(Failure::from_message(why)),
        _ => Ok(()),
    }
}

/// Retries while kantd restarts or the node connects to another controller, for the step continues.
async fn send_with_retries(
    server: &Server,
    key: JobKey,
    request: &StepWish,
) -> Result<StepAnswer, Failure> {
    let begun = Instant::now();
    loop {
        match send(server, key, request).await {
            Err(failure) if failure.is_silent_node() && begun.elapsed() < NODE_PATIENCE => {
                tokio::time::sleep(PAUSES[1]).await;
            }
            answer => return answer,
        }
    }
}

async fn send(server: &Server, key: JobKey, request: &StepWish) -> Result<StepAnswer, Failure> {
    // All requests may be repeated: a nonce identifies the step that is opened.
    server.post(&format!("/v1/jobs/{key}/steps"), request, Retry::IfUnanswered).await
}

/// A random number for a task or a step.
///
/// # Errors
/// [`Failure`] when /dev/urandom cannot be read.
pub fn random_number() -> Result<TaskNumber, Failure> {
    let mut bytes = [0; 8];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .context("failed to read /dev/urandom")?;
    // 53 bits, which every JSON reader can represent.
    Ok(TaskNumber(u64::from_ne_bytes(bytes) >> 11))
}
