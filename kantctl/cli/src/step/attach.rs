//! Attaching to a running step: prints its recent and new output, and sends it input. It never ends
//! or delays the step: a client that is too slow misses output, which is reported.

use super::allocate::ending_signal;
use super::frame::{Frame, Frames, Kind};
use super::ledger_client::{self, random_number};
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

/// The pause before input is sent again to a step that reads slowly.
const LOOK: Duration = Duration::from_millis(200);

/// TaskFilter tasks a stream is connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TaskFilter {
    #[default]
    All,
    /// The task with this rank.
    One(u32),
    Nothing,
}

#[derive(Debug, Clone, Default)]
pub struct AttachOptions {
    /// Prefix each line with the task's number.
    pub label: bool,
    pub output: TaskFilter,
    /// Tasks to show stderr of.
    pub error: TaskFilter,
    /// Tasks to send input to.
    pub input: TaskFilter,
    /// Print errors only.
    pub is_quiet: bool,
}

impl AttachOptions {
    /// Checks that the selected tasks exist.
    ///
    /// # Errors
    /// [`Failure`] with the first that does not exist.
    pub fn check(&self, step: &StepView) -> Result<(), Failure> {
        let tasks: u32 = step.shares.iter().map(|share| share.tasks).sum();
        let named = [("output", self.output), ("error", self.error), ("input", self.input)];
        for (name, which) in named {
            if let TaskFilter::One(task) = which
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

/// Attaches until the step ends or a signal detaches; returns the step's exit code.
///
/// # Errors
/// [`Failure`] when the step cannot be reached, or output cannot be written.
pub async fn attach(
    wanted: &AttachOptions,
    key: JobKey,
    step: &StepView,
    server: &Server,
) -> Result<u8, Failure> {
    wanted.check(step)?;
    let mut signals = Signals::block_and_watch()?;
    let tasks = step.shares.iter().map(|share| share.tasks).sum();
    let outputs = Outputs::to_own_streams(tasks, wanted.label, [wanted.output, wanted.error]);
    // Messages go through the writer of the outputs as long as this is held.
    let redirect = outputs.own_writer().redirect_stderr();
    let name = format!("{key}.{}", step.number);
    let left = tokio::select! {
        code = print_output(outputs, key, step.number, &name, server) => return code,
        never = forward_input(wanted.input, key, step.number, server) => match never {},
        signal = ending_signal(&mut signals) => signal,
    };
    // The last message does not wait for output that is still to be written.
    drop(redirect);
    if !wanted.is_quiet {
        note(&format!("detached from step {name} after {left}; the step continues"));
    }
    Ok(OK)
}

async fn print_output(
    mut outputs: Outputs,
    key: JobKey,
    number: u32,
    name: &str,
    server: &Server,
) -> Result<u8, Failure> {
    let (mut from, mut has_listened) = (None, false);
    loop {
        while !outputs.own_writer().has_room() {
            outputs
                .own_writer()
                .wait_until_written()
                .await
                .map_err(|error| stream::write_failure(&error))?;
        }
        let answer = match read_output(&outputs, key, number, from, server).await {
            Ok(answer) => answer,
            // The job has ended with its steps; the exit status of the step is not known.
            Err(failure) if has_listened && failure.error_code() == Some("wrong_phase") => {
                StepSaid { is_over: true, ..StepSaid::default() }
            }
            Err(failure) => return Err(failure),
        };
        has_listened = true;
        for piece in answer.pieces {
            if let Some(missed) = missed(from, &piece) {
                outputs.note(&format!(
                    "{missed} bytes of output were missed: this client is too slow"
                ));
            }
            // Where to continue. Before the first piece nothing was missed: the step chooses where
            // it begins.
            from = Some(piece.end());
            write(&mut outputs, &piece.bytes.0)?;
        }
        if answer.is_over {
            outputs.end();
            while !outputs.own_writer().is_done() {
                outputs
                    .own_writer()
                    .wait_until_written()
                    .await
                    .map_err(|error| stream::write_failure(&error))?;
            }
            return exit_code_of_step(name, answer.exit);
        }
    }
}

/// The output of tasks from there on, once there is some. Returns early if an error occurs while
/// earlier output is written.
async fn read_output(
    outputs: &Outputs,
    key: JobKey,
    number: u32,
    from: Option<u64>,
    server: &Server,
) -> Result<StepSaid, Failure> {
    let mut answer = pin!(ledger_client::read_output(server, key, number, from));
    loop {
        tokio::select! {
            answer = &mut answer => return answer,
            moved = outputs.own_writer().wait_until_written() => {
                moved.map_err(|error| stream::write_failure(&error))?;
            }
        }
    }
}

/// The number of bytes between the last piece and this one.
fn missed(from: Option<u64>, piece: &StepPiece) -> Option<u64> {
    piece.from.checked_sub(from?).filter(|missed| *missed > 0)
}

/// Writes complete frames, each from the task with that rank.
fn write(outputs: &mut Outputs, bytes: &[u8]) -> Result<(), Failure> {
    let mut frames = Frames::default();
    frames.push(bytes);
    while let Some(Frame { kind, task, body }) = frames.take().map_err(anyhow::Error::new)? {
        if matches!(kind, Kind::Output | Kind::Error) {
            let written = outputs.write(task, kind, body);
            written.map_err(|error| stream::write_failure(&error))?;
        }
    }
    Ok(())
}

fn exit_code_of_step(name: &str, exit: Option<ExitStatus>) -> Result<u8, Failure> {
    match exit {
        Some(ExitStatus { code, signal: None }) => Ok(code),
        Some(ExitStatus { signal: Some(signal), .. }) => Ok(signal.saturating_add(128)),
        None => {
            let text = format!("step {name} has ended, but its exit status is not known");
            Err(Failure::from_message(text))
        }
    }
}

/// Sends what is typed to the step. Never returns; the caller drops it.
async fn forward_input(to: TaskFilter, key: JobKey, number: u32, server: &Server) -> Infallible {
    if to != TaskFilter::Nothing {
        match stream::read(&[(Source::Own, Vec::new())]) {
            Ok(pieces) => {
                if let Err(failure) = send_input(to, pieces, key, number, server).await {
                    note(&format!("failed to send input: {failure}"));
                }
            }
            Err(failure) => note(&failure.to_string()),
        }
    }
    std::future::pending().await
}

async fn send_input(
    to: TaskFilter,
    mut pieces: Pieces,
    key: JobKey,
    number: u32,
    server: &Server,
) -> Result<(), Failure> {
    let (speaker, mut from) = (random_number()?, 0);
    // The end of this input is not the end of the tasks' input, which belongs to another client.
    while let Some((_, bytes)) = pieces.recv().await
        && !bytes.is_empty()
    {
        let count = bytes.len() as u64;
        let task = if let TaskFilter::One(task) = to { Some(task) } else { None };
        let speech = StepSpeech { speaker, from, task, bytes: Octets(bytes) };
        while !ledger_client::send_input(server, key, number, speech.clone()).await? {
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
    fn only_a_gap_between_two_pieces_is_missed_output() {
        let piece = StepPiece { from: 100, bytes: Octets(vec![0; 5]) };
        assert_eq!(missed(None, &piece), None);
        assert_eq!(missed(Some(100), &piece), None);
        assert_eq!(missed(Some(40), &piece), Some(60));
        assert_eq!(missed(Some(102), &piece), None);
    }
}
