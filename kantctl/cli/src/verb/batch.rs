//! `kantctl submit`: submits one job, or with `--batch` one for each line of a file. If any line of
//! the file is invalid, nothing is submitted.

mod chunk;
mod line;

pub(super) use line::LineReader;

use super::submit;
use crate::failure::{Failure, OK};
use crate::fetch::join_lists;
use crate::output::Screen;
use crate::output::screen::warn;
use crate::server::Server;
use anyhow::Context;
use chunk::Chunks;
use common::job::Attribute;
use common::wire::api::{BatchAnswer, BatchOutcome, SubmitAnswer};
use serde_json::Value;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a controller may be unreachable before the rest of a batch is given up.
const PATIENCE: Duration = Duration::from_secs(30);
/// Invalid lines that are reported at most.
const COMPLAINTS_MAX: usize = 20;

#[derive(clap::Args, Debug)]
#[group(skip)]
pub struct Args {
    #[command(flatten)]
    pub one: submit::Args,
    /// Submit a job for each line of this file (- is standard input). A line has the words of a
    /// `kantctl submit`, or options as JSON: {"gpus": 1, "script": "train.sh", "args": ["--seed",
    /// "7"]}. Options on the command line apply to lines that do not set them
    #[arg(long, value_name = "FILE", conflicts_with_all = ["script", "wrap", "wait", "test-only"])]
    #[arg(help_heading = "Execution")]
    pub batch: Option<PathBuf>,
}

/// Submits one job or many.
///
/// # Errors
/// [`Failure`] as from [`submit::run`], or when a line is invalid or was refused.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    match &args.batch {
        None => submit::run(&args.one, server, screen).await,
        Some(file) => submit_all(args, file, server, screen).await,
    }
}

async fn submit_all(
    args: &Args,
    file: &Path,
    server: &Server,
    screen: &Screen,
) -> Result<u8, Failure> {
    let text = read(file)?;
    let mut lines = LineReader::new(&args.one.options)?;
    let mut chunks = Chunks::new()?;
    let mut complaints = Vec::new();
    for (number, text) in (1..).zip(text.lines()) {
        match lines.request(text) {
            Ok(None) => {}
            Ok(Some(request)) if complaints.is_empty() => chunks.add(number, request),
            Ok(Some(_)) => {}
            Err(failure) => {
                complaints.push(format!("line {number}: {:#}", failure.error));
            }
        }
    }
    lines.warnings().iter().for_each(|text| warn(text));
    let name = file.display();
    if !complaints.is_empty() {
        let more = complaints.len().saturating_sub(COMPLAINTS_MAX);
        complaints.truncate(COMPLAINTS_MAX);
        complaints.extend((more > 0).then(|| format!("and {more} more lines")));
        let what = format!("failed to read {name}; nothing was submitted:\n  ");
        return Err(Failure::usage(anyhow::anyhow!("{what}{}", complaints.join("\n  "))));
    }
    let (mut answers, mut refused, mut count) = (Vec::new(), Vec::new(), 0);
    for chunk in chunks.all() {
        let raw: Value = server.post_keyed("/v1/jobs/batch", &chunk.request, PATIENCE).await?;
        let answer: BatchAnswer = serde_json::from_value(raw.clone()).context(
            "failed to understand the controller's answer: does it have the same \
                      version as kantctl?",
        )?;
        count += answer.jobs.len();
        for (line, outcome) in chunk.lines.iter().zip(&answer.jobs) {
            if let BatchOutcome::Accepted(SubmitAnswer { warning: Some(warning), .. }) = outcome {
                warn(&format!("line {line}: {warning}"));
            }
            report(*line, outcome, &args.one.options, screen, &mut refused)?;
        }
        answers.push(raw);
    }
    if screen.json {
        screen.print_answer_json(&join_lists(answers, "jobs"))?;
    }
    if refused.is_empty() {
        return Ok(OK);
    }
    let (some, refused) = (refused.len(), refused.join("\n  "));
    Err(Failure::from_message(format!(
        "{some} of {count} jobs of {name} were refused:\n  {refused}"
    )))
}

/// Reports the outcome of a line immediately, so that an interrupted user knows which are accepted.
fn report(
    line: usize,
    outcome: &BatchOutcome,
    options: &crate::submission::options::Options,
    screen: &Screen,
    refused: &mut Vec<String>,
) -> Result<(), Failure> {
    match outcome {
        BatchOutcome::Refused { message, hint, .. } => {
            let hint = hint.iter().map(|hint| format!("; {hint}")).collect::<String>();
            refused.push(format!("line {line}: {message}{hint}"));
        }
        BatchOutcome::Accepted(_) if screen.json => {}
        BatchOutcome::Accepted(answer) if options.has(Attribute::Parsable) => {
            screen.print_line(&answer.job.to_string())?;
        }
        BatchOutcome::Accepted(_) if options.has(Attribute::Quiet) => {}
        BatchOutcome::Accepted(answer) => {
            screen.print_line(&format!("Submitted job {} (line {line})", answer.job))?;
        }
    }
    Ok(())
}

fn read(file: &Path) -> Result<String, Failure> {
    if file == Path::new("-") {
        let mut text = String::new();
        let read = std::io::stdin().lock().read_to_string(&mut text);
        read.context("failed to read the batch from standard input")?;
        return Ok(text);
    }
    let text = std::fs::read_to_string(file);
    Ok(text.with_context(|| format!("failed to read the batch {}", file.display()))?)
}
