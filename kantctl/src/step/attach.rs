//! Attached to a step that runs: what its tasks write comes here from now on, after the last of
//! what they wrote before; what is typed here is theirs to read. Never ends the step, nor holds it
//! up: who is too slow for it misses something, and is told.

use super::allocate::refusal;
use super::booking::{self, random_number};
use super::frame::{Frame, Frames, Kind};
use super::stream::{self, Outputs, Pieces, Source};
use crate::failure::{Failure, OK};
use crate::output::screen::note;
use crate::server::Server;
use crate::signals::Signals;
use common::id::JobKey;
use common::job::ExitStatus;
use common::wire::node::{Octets, StepPiece, StepSaid, StepSpeech, StepView};
use std::convert::Infallible;
use std::pin::pin;
use std::time::Duration;
use tokio::time::sleep;

/// Between two tries to say something to a step that reads slowly.
const LOOK: Duration = Duration::from_millis(200);

/// What of a step's streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Which {
    /// All of its tasks.
    #[default]
    All,
    /// One, by its rank.
    One(u32),
    /// None.
    Nothing,
}

#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// A task's number before each line.
    pub label: bool,
    pub output: Which,
    /// Whose errors.
    pub error: Which,
    /// Who reads what is typed.
    pub input: Which,
    /// Say nothing but what goes wrong.
    pub is_quiet: bool,
}

impl Wanted {
    /// Are the tasks that are named there?
    ///
    /// # Errors
    /// [`Failure`] with the first that is not.
    pub fn check(&self, step: &StepView) -> Result<(), Failure> {
        let tasks: u32 = step.shares.iter().map(|share| share.tasks).sum();
        let named = [("output", self.output), ("error", self.error), ("input", self.input)];
        for (name, which) in named {
            if let Which::One(task) = which
                && task >= tasks
            {
                let last = tasks.saturating_sub(1);
                let text = format!("--{name}-filter={task}: the step has tasks 0 to {last}");
                return Err(Failure::usage(anyhow::Error::msg(text)));
            }
        }
        Ok(())
    }
}

/// Listens, and speaks, until the step is over or somebody interrupts; gives the step's code.
///
/// # Errors
/// [`Failure`] when it cannot be listened to, or what comes cannot be written.
pub async fn attach(
    wanted: &Wanted,
    key: JobKey,
    step: &StepView,
    server: &Server,
) -> Result<u8, Failure> {
    wanted.check(step)?;
    let mut signals = Signals::take()?;
    let tasks = step.shares.iter().map(|share| share.tasks).sum();
    let outputs = Outputs::here(tasks, wanted.label, [wanted.output, wanted.error]);
    // Held as long as anything is said.
    let voice = outputs.own().voice();
    let name = format!("{key}.{}", step.number);
    let left = tokio::select! {
        code = hear(outputs, key, step.number, &name, server) => return code,
        never = speak(wanted.input, key, step.number, server) => match never {},
        signal = refusal(&mut signals) => signal,
    };
    // Not after what is not written yet: whoever leaves does not wait for that.
    drop(voice);
    if !wanted.is_quiet {
        note(&format!("detached from step {name} at {left}; it goes on"));
    }
    Ok(OK)
}

async fn hear(
    mut outputs: Outputs,
    key: JobKey,
    number: u32,
    name: &str,
    server: &Server,
) -> Result<u8, Failure> {
    let (mut from, mut has_listened) = (None, false);
    loop {
        while !outputs.own().has_room() {
            outputs.own().moved().await.map_err(|error| stream::unwritten(&error))?;
        }
        let said = match listen(&outputs, key, number, from, server).await {
            Ok(said) => said,
            // The job is over, and its steps with it: nobody keeps how.
            Err(failure) if has_listened && failure.code() == Some("wrong_phase") => {
                StepSaid { is_over: true, ..StepSaid::default() }
            }
            Err(failure) => return Err(failure),
        };
        has_listened = true;
        for piece in said.pieces {
            if let Some(missed) = missed(from, &piece) {
                outputs.note(&format!("missed some output: {missed} bytes came too fast"));
            }
            // Asked for again from here. Before anything came, nothing was missed: the first piece
            // begins where whoever runs the step chose to.
            from = Some(piece.end());
            write(&mut outputs, &piece.bytes.0)?;
        }
        if said.is_over {
            outputs.end();
            while !outputs.own().is_done() {
                outputs.own().moved().await.map_err(|error| stream::unwritten(&error))?;
            }
            return ended(name, said.exit);
        }
    }
}

/// What its tasks write from there on, once there is some; not any longer than somebody reads what
/// is written here.
async fn listen(
    outputs: &Outputs,
    key: JobKey,
    number: u32,
    from: Option<u64>,
    server: &Server,
) -> Result<StepSaid, Failure> {
    let mut said = pin!(booking::listen(server, key, number, from));
    loop {
        tokio::select! {
            said = &mut said => return said,
            moved = outputs.own().moved() => moved.map_err(|error| stream::unwritten(&error))?,
        }
    }
}

/// The bytes between what came and a piece.
fn missed(from: Option<u64>, piece: &StepPiece) -> Option<u64> {
    piece.from.checked_sub(from?).filter(|missed| *missed > 0)
}

/// Whole frames, each from the task of that rank.
fn write(outputs: &mut Outputs, bytes: &[u8]) -> Result<(), Failure> {
    let mut frames = Frames::default();
    frames.push(bytes);
    while let Some(Frame { kind, task, body }) = frames.take().map_err(anyhow::Error::new)? {
        if matches!(kind, Kind::Output | Kind::Error) {
            let written = outputs.write(task, kind, body);
            written.map_err(|error| stream::unwritten(&error))?;
        }
    }
    Ok(())
}

fn ended(name: &str, exit: Option<ExitStatus>) -> Result<u8, Failure> {
    match exit {
        Some(ExitStatus { code, signal: None }) => Ok(code),
        Some(ExitStatus { signal: Some(signal), .. }) => Ok(signal.saturating_add(128)),
        None => {
            let text = format!("step {name} is over; nobody is left who could say how it ended");
            Err(Failure::message(text))
        }
    }
}

/// Passes on what is typed; ends with whoever listens.
async fn speak(to: Which, key: JobKey, number: u32, server: &Server) -> Infallible {
    if to != Which::Nothing {
        match stream::read(&[(Source::Own, Vec::new())]) {
            Ok(pieces) => {
                if let Err(failure) = pass_on(to, pieces, key, number, server).await {
                    note(&format!("what is typed here is not passed on: {failure}"));
                }
            }
            Err(failure) => note(&failure.to_string()),
        }
    }
    std::future::pending().await
}

async fn pass_on(
    to: Which,
    mut pieces: Pieces,
    key: JobKey,
    number: u32,
    server: &Server,
) -> Result<(), Failure> {
    let (speaker, mut from) = (random_number()?, 0);
    // An end here is nobody's end there: whoever started the step has an input of their own.
    while let Some((_, bytes)) = pieces.recv().await
        && !bytes.is_empty()
    {
        let count = bytes.len() as u64;
        let task = if let Which::One(task) = to { Some(task) } else { None };
        let speech = StepSpeech { speaker, from, task, bytes: Octets(bytes) };
        while !booking::speak(server, key, number, speech.clone()).await? {
            sleep(LOOK).await;
        }
        from += count;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_missed_before_the_first_piece_nor_between_two_that_follow_on() {
        let piece = StepPiece { from: 100, bytes: Octets(vec![0; 5]) };
        assert_eq!(missed(None, &piece), None);
        assert_eq!(missed(Some(100), &piece), None);
        assert_eq!(missed(Some(40), &piece), Some(60));
        assert_eq!(missed(Some(102), &piece), None);
    }
}
