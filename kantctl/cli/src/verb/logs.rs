//! `kantctl logs`: the output of a job; with `-f` also new output as it is written.

use super::wait::PATIENCE;
use crate::failure::{Failure, OK};
use crate::fetch;
use crate::keys::Keys;
use crate::output::Screen;
use crate::output::jobs::{ending, why};
use crate::output::screen::note;
use crate::server::{self, POLL_SECONDS, Server};
use common::id::JobKey;
use common::job::Phase;
use common::wire::api::JobView;
use net::http::HeaderMap;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  kantctl logs 42
  kantctl logs -f $(kantctl submit --parsable --wrap 'for i in 1 2 3; do date; sleep 1; done')
  kantctl logs --stderr --tail 20 42_7";

/// The pause between requests for a waiting job, and the shortest pause if there is no new output.
const LOOK: Duration = Duration::from_secs(1);

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The job (42), or one task of an array (42_7)
    #[arg(value_name = "JOB")]
    pub key: Keys,
    /// Follow the output until the job ends
    #[arg(short, long)]
    pub follow: bool,
    /// Print stderr instead of stdout
    #[arg(short = 'e', long)]
    pub stderr: bool,
    /// Only the last LINES lines of the existing output
    #[arg(short = 'n', long, value_name = "LINES")]
    pub tail: Option<usize>,
}

/// Prints a job's output.
///
/// # Errors
/// [`Failure`] when the job has not started, or its output cannot be read.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let [key] = args.key.0.as_slice() else {
        return Err(Failure::usage(anyhow::anyhow!(
            "only the output of one job can be shown: name one job"
        )));
    };
    let job = wait_until_started(*key, args.follow, server).await?;
    let stream = if args.stderr { "stderr" } else { "stdout" };
    let mut sink = Sink::new(args.tail, screen);
    read_all(job.key, stream, args.follow, server, &mut sink).await?;
    if screen.json {
        let text = String::from_utf8_lossy(&sink.kept).into_owned();
        screen.print_answer_json(
            &serde_json::json!({ "job": job.key, "stream": stream, "text": text }),
        )?;
    }
    Ok(OK)
}

/// Whether the job has no output yet: it has never started, or waits for its next attempt.
fn has_no_output_yet(job: &JobView) -> bool {
    matches!(job.phase, Phase::Pending | Phase::Starting)
}

/// The job, once it has started. With `follow`, waits for that and prints why it waits.
async fn wait_until_started(
    key: JobKey,
    follow: bool,
    server: &Server,
) -> Result<JobView, Failure> {
    let mut printed = String::new();
    loop {
        let job = fetch_single_job(key, follow, server).await?;
        if job.phase == Phase::Done && job.attempt == 0 {
            let why = ending(&job);
            let gap = if why.is_empty() { "" } else { ": " };
            let text = format!("job {key} never started, it is {}{gap}{why}", job.state);
            return Err(Failure::from_message(text));
        }
        if !has_no_output_yet(&job) {
            return Ok(job);
        }
        let why = match job.phase {
            Phase::Starting => "its nodes are being prepared".to_owned(),
            _ => why(&job).unwrap_or_else(|| "the reason is not known yet".to_owned()),
        };
        if !follow {
            return Err(Failure::from_message(format!("job {key} has not started: {why}"))
                .with_hint(format!("`kantctl logs -f {key}` waits for it")));
        }
        // The preparation of nodes takes a moment only, and is not worth a message.
        if printed != why && job.phase == Phase::Pending {
            note(&format!("job {key} is waiting: {why}"));
            printed = why;
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// How long a controller may be unreachable: following survives more than a restart.
const fn patience(follow: bool) -> Duration {
    if follow { PATIENCE } else { server::PATIENCE }
}

async fn fetch_single_job(key: JobKey, follow: bool, server: &Server) -> Result<JobView, Failure> {
    let mut jobs = fetch::jobs(server, key, patience(follow)).await?.typed.jobs;
    let count = jobs.len();
    match jobs.pop() {
        Some(job) if count == 1 => Ok(job),
        Some(last) => Err(Failure::from_message(format!("job {key} is an array of {count} tasks"))
            .with_hint(format!("name one of them: `kantctl logs {}`", last.key))),
        None => Err(Failure::from_message(format!("there is no job {key}"))),
    }
}

/// Reads from the start to the end, with `follow` until the job ends.
async fn read_all(
    key: JobKey,
    stream: &str,
    follow: bool,
    server: &Server,
    sink: &mut Sink<'_>,
) -> Result<(), Failure> {
    let (mut offset, mut wait_seconds, mut over) = (0_u64, 0, false);
    let mut silent_since = None;
    loop {
        let path = format!(
            "/v1/jobs/{key}/output?stream={stream}&offset={offset}&wait_seconds={wait_seconds}"
        );
        let asked = Instant::now();
        let (headers, bytes) = match server.get_bytes_retrying(&path, patience(follow)).await {
            Ok(answer) => answer,
            // A requeued job has no output until it starts again.
            Err(failure) if follow => {
                let job = fetch_single_job(key, follow, server).await?;
                if has_no_output_yet(&job) {
                    note(&failure.error.to_string());
                    wait_until_started(key, follow, server).await?;
                } else {
                    await_node(&job, failure, &mut silent_since, server).await?;
                }
                continue;
            }
            Err(failure) => return Err(failure),
        };
        silent_since = None;
        offset = offset.saturating_add(bytes.len() as u64);
        sink.write(&bytes)?;
        if !bytes.is_empty() {
            wait_seconds = 0;
            continue;
        }
        sink.flush_tail()?;
        if !follow || over || is_output_ended(&headers) {
            return Ok(());
        }
        // If the end of output is not reported because the node is lost, one more request after the
        // job's end gets the rest.
        over = fetch_single_job(key, follow, server).await?.phase == Phase::Done;
        let pause = LOOK.saturating_sub(asked.elapsed());
        if wait_seconds > 0 && !over {
            tokio::time::sleep(pause).await;
        }
        wait_seconds = if over { 0 } else { POLL_SECONDS };
    }
}

/// Pauses for a node that is out of contact, as all are just after a restart of the controller. Any
/// other failure is final, and so is this one once the job has ended.
async fn await_node(
    job: &JobView,
    failure: Failure,
    silent_since: &mut Option<Instant>,
    server: &Server,
) -> Result<(), Failure> {
    if job.phase == Phase::Done || !failure.is_silent_node() {
        return Err(failure);
    }
    let patience = server.patience(PATIENCE);
    if silent_since.is_none() && !patience.is_zero() {
        note(&failure.error.to_string());
        note(&format!("waiting for the node for {} s", patience.as_secs()));
    }
    let left = patience.saturating_sub(silent_since.get_or_insert_with(Instant::now).elapsed());
    if left.is_zero() {
        return Err(failure);
    }
    tokio::time::sleep(LOOK.min(left)).await;
    Ok(())
}

fn is_output_ended(headers: &HeaderMap) -> bool {
    headers.get("x-kant-ended").is_some_and(|value| value.as_bytes() == b"1")
}

/// Destination of the output. With `--tail`, only the last lines of the existing output are
/// printed.
struct Sink<'a> {
    screen: &'a Screen,
    tail: Option<Tail>,
    /// The whole output, for JSON.
    kept: Vec<u8>,
}

impl<'a> Sink<'a> {
    fn new(tail: Option<usize>, screen: &'a Screen) -> Self {
        Self { screen, tail: tail.map(Tail::new), kept: Vec::new() }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match &mut self.tail {
            Some(tail) => tail.push(bytes),
            None => self.print_or_keep(bytes)?,
        }
        Ok(())
    }

    fn flush_tail(&mut self) -> Result<(), Failure> {
        self.tail.take().map_or(Ok(()), |tail| self.print_or_keep(&tail.bytes()))
    }

    fn print_or_keep(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if self.screen.json {
            self.kept.extend_from_slice(bytes);
            return Ok(());
        }
        self.screen.print_bytes(bytes)
    }
}

/// The last lines of a stream.
struct Tail {
    lines_max: usize,
    /// Complete lines; `rest` follows the last line end.
    lines: VecDeque<Vec<u8>>,
    rest: Vec<u8>,
}

impl Tail {
    fn new(lines_max: usize) -> Self {
        Self { lines_max, lines: VecDeque::new(), rest: Vec::new() }
    }

    fn push(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.rest.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.lines.push_back(std::mem::take(&mut self.rest));
            }
            if self.lines.len() > self.lines_max {
                self.lines.pop_front();
            }
        }
    }

    fn bytes(mut self) -> Vec<u8> {
        self.lines.push_back(self.rest);
        if self.lines.back().is_some_and(Vec::is_empty) {
            self.lines.pop_back();
        }
        let extra = self.lines.len().saturating_sub(self.lines_max);
        self.lines.drain(extra..).flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(lines: usize, pieces: &[&str]) -> String {
        let mut tail = Tail::new(lines);
        pieces.iter().for_each(|piece| tail.push(piece.as_bytes()));
        String::from_utf8(tail.bytes()).unwrap()
    }

    #[test]
    fn the_tail_does_not_depend_on_how_the_output_arrives() {
        assert_eq!(tail(2, &["a\nb", "b\nc\n"]), "bb\nc\n");
        assert_eq!(tail(2, &["a\nb\nc"]), "b\nc");
        assert_eq!(tail(5, &["a\n"]), "a\n");
        assert_eq!(tail(0, &["a\nb"]), "");
    }
}
