//! A step in the book of its job, which the job's first node keeps: its number, its part of the
//! job, and words for it. Never holds anything up but a step that wants a part to itself: without
//! the book, steps have numbers of their own and see all that the job has.

use super::keeper::lease;
use super::line::NODE_PATIENCE;
use super::place::Place;
use super::wish::Wish;
use crate::failure::Failure;
use crate::output::screen::note;
use crate::server::{Again, POLL_SECONDS, Server};
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

/// The first and the longest pause before it is asked for again.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];
/// Between two tries to hear words while nobody answers.
const SILENCE: Duration = Duration::from_secs(5);

/// Opens a step, once there is room for it; `None`: there is no book.
///
/// # Errors
/// [`Failure`] when it never fits, or wants a part of the job and there is no book.
pub async fn open(
    wish: &Wish,
    place: &Place,
    cpus_each: u32,
    server: &Server,
) -> Result<Option<StepView>, Failure> {
    let name = wish.name();
    check_step_name(&name).map_err(Failure::usage)?;
    let ask = StepAsk {
        nonce: random_number()?,
        name,
        tasks: place.nodes.clone(),
        others: place.others.iter().map(|(name, _)| name.clone()).collect(),
        cpus_each,
        gpus: wish.gpus,
        exclusive: wish.exclusive,
        lease: Span::from_seconds(lease().as_secs()),
    };
    // One that asks for nothing goes without a book, as on a node of an earlier release.
    let is_modest = !wish.exclusive && wish.gpus == StepGpus::All;
    let wish = StepWish::Open(ask);
    // Nobody waits for a number alone.
    let quick = server.fresh();
    let asked = if is_modest { &quick } else { server };
    let [mut pause, longest] = PAUSES;
    let (mut is_told, mut silent_since) = (false, None);
    loop {
        let answer = tell(asked, place.key, &wish).await;
        if let Err(failure) = &answer
            && failure.is_silent_node()
            && !is_modest
            && silent_since.get_or_insert_with(Instant::now).elapsed() < NODE_PATIENCE
        {
            // kantd starts anew, or the node is on its way to another controller.
            tokio::time::sleep(longest).await;
            continue;
        }
        silent_since = None;
        match answer {
            Ok(StepAnswer::Opened(view)) => return Ok(Some(view)),
            Ok(StepAnswer::Busy(why)) => {
                if !is_told {
                    note(&format!("the step waits for others of its job: {why}"));
                }
                is_told = true;
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(longest);
            }
            Ok(StepAnswer::Refused(_)) if is_modest => return Ok(None),
            Ok(StepAnswer::Refused(why)) => return Err(Failure::usage(anyhow::Error::msg(why))),
            Ok(_) => return Ok(None),
            Err(_) if is_modest => return Ok(None),
            Err(failure) => return Err(failure),
        }
    }
}

/// The next words for a step and who attaches to it; waits for some, though not for ever. `server`
/// asks once: whoever watches its tasks says that nobody answers, this does not say it again.
pub async fn words(server: &Server, key: JobKey, number: u32, told: StepStreams) -> StepHeard {
    // To ask is to hold it. What waits for room is asked for again soon.
    let usual = (lease().as_secs() / 3).clamp(1, POLL_SECONDS);
    let wait = Span::from_seconds(if told.input == StepInput::Full { 1 } else { usual });
    match tell(server, key, &StepWish::Hold { number, wait, streams: Some(told) }).await {
        Ok(StepAnswer::Heard(heard)) => return heard,
        // A node of an earlier release.
        Ok(StepAnswer::Words(signals)) => return StepHeard { signals, ..StepHeard::default() },
        // The job is over, or nobody answers: whoever watches its tasks hears of that.
        Ok(_) | Err(_) => tokio::time::sleep(SILENCE).await,
    }
    StepHeard { listened: told.listened, ..StepHeard::default() }
}

/// What its tasks wrote, for those who listen; false: nobody does.
///
/// # Errors
/// [`Failure`] when nobody answers.
pub async fn say(
    server: &Server,
    key: JobKey,
    number: u32,
    piece: StepPiece,
) -> Result<bool, Failure> {
    Ok(tell(server, key, &StepWish::Say { number, piece }).await? == StepAnswer::Done)
}

/// What its tasks write from there on, once there is some.
///
/// # Errors
/// [`Failure`] when there is no such step, or nobody answers.
pub async fn listen(
    server: &Server,
    key: JobKey,
    number: u32,
    from: Option<u64>,
) -> Result<StepSaid, Failure> {
    let wait = Span::from_seconds(POLL_SECONDS);
    match tell_patiently(server, key, &StepWish::Listen { number, from, wait }).await? {
        StepAnswer::Said(said) => Ok(said),
        StepAnswer::Refused(why) => Err(Failure::message(why)),
        other => Err(Failure::message(format!("failed to listen to step {number}: {other:?}"))),
    }
}

/// Something for its tasks to read; false: not now.
///
/// # Errors
/// [`Failure`] when no task reads, or nobody answers.
pub async fn speak(
    server: &Server,
    key: JobKey,
    number: u32,
    speech: StepSpeech,
) -> Result<bool, Failure> {
    match tell_patiently(server, key, &StepWish::Speak { number, speech }).await? {
        StepAnswer::Refused(why) => Err(Failure::message(why)),
        answer => Ok(answer == StepAnswer::Done),
    }
}

/// A step is over.
pub async fn close(server: &Server, key: JobKey, number: u32, exit: ExitStatus) {
    // If nobody hears it, its lease runs out.
    drop(tell(&server.fresh(), key, &StepWish::Close { number, exit }).await);
}

/// A signal for all tasks of a step.
///
/// # Errors
/// [`Failure`] when there is no such step, or nobody answers.
pub async fn signal(
    server: &Server,
    key: JobKey,
    number: u32,
    signal: SignalNumber,
) -> Result<(), Failure> {
    match tell(server, key, &StepWish::Signal { number, signal }).await? {
        StepAnswer::Refused(why) => Err(Failure::message(why)),
        _ => Ok(()),
    }
}

/// Where kantd starts anew, or the node is on its way to another controller, the step runs on.
async fn tell_patiently(
    server: &Server,
    key: JobKey,
    wish: &StepWish,
) -> Result<StepAnswer, Failure> {
    let begun = Instant::now();
    loop {
        match tell(server, key, wish).await {
            Err(failure) if failure.is_silent_node() && begun.elapsed() < NODE_PATIENCE => {
                tokio::time::sleep(PAUSES[1]).await;
            }
            answer => return answer,
        }
    }
}

async fn tell(server: &Server, key: JobKey, wish: &StepWish) -> Result<StepAnswer, Failure> {
    // Each may be repeated: a step is opened once, whatever is sent twice.
    server.post(&format!("/v1/jobs/{key}/steps"), wish, Again::IfUnanswered).await
}

/// That no other has.
///
/// # Errors
/// [`Failure`] when the system has none.
pub fn random_number() -> Result<TaskNumber, Failure> {
    let mut bytes = [0; 8];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .context("failed to read /dev/urandom")?;
    // As large as every JSON reader's numbers.
    Ok(TaskNumber(u64::from_ne_bytes(bytes) >> 11))
}
