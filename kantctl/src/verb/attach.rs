//! `kantctl attach`: see what a step that runs writes, from here on, and give it something to read.
//! Never starts or ends one.

use super::logs;
use crate::failure::{Failure, OK};
use crate::keys::Keys;
use crate::output::Screen;
use crate::output::screen::note;
use crate::server::Server;
use crate::step::attach::{self, Wanted, Which};
use common::hostlist::fold;
use common::id::JobKey;
use common::job::Launch;
use common::wire::api::{JobList, StepList};
use common::wire::node::StepView;
use std::str::FromStr;

const EXAMPLES: &str = "\
Examples:
  kantctl attach 42
  kantctl attach 42.0 --label
  kantctl attach 42.0 --output-filter 3 --input-filter none
  kantctl attach 42.0 --layout

A step is what `kantctl run` or srun starts in a job. First comes the last of what its tasks wrote
before (64 KiB, or up to 256 KiB where others are attached), then what they write. Ctrl-C detaches;
the step goes on, with or without anybody attached. What is typed goes to its tasks too, as long as
their own input has not ended.

A job's script is no step: its output goes to a file, and `kantctl attach JOB` follows that where
the job runs no step, as `kantctl logs -f` does. The exit code is the step's; 0 after Ctrl-C.";

/// Arguments of `attach`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The step (42.0), or the job whose only step it is (42, 42_7)
    #[arg(value_name = "JOB[.STEP]")]
    pub target: Target,
    #[command(flatten)]
    pub streams: Streams,
}

/// What of the step's streams; the same options as sattach's.
#[derive(clap::Args, Debug, Default)]
pub struct Streams {
    /// The task's number before each line
    #[arg(short = 'l', long)]
    pub label: bool,
    /// Only the output of this task; or `none`
    #[arg(long, value_name = "TASK")]
    pub output_filter: Option<Filter>,
    /// Only the errors of this task; or `none`
    #[arg(long, value_name = "TASK")]
    pub error_filter: Option<Filter>,
    /// What is typed here goes to this task alone; or `none`
    #[arg(long, value_name = "TASK")]
    pub input_filter: Option<Filter>,
    /// Only show which tasks stand where
    #[arg(long)]
    pub layout: bool,
}

/// A task's number, `none` or `all`.
#[derive(Debug, Clone, Copy)]
pub struct Filter(Which);

impl FromStr for Filter {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Ok(Self(match text {
            "all" | "-" => Which::All,
            "none" => Which::Nothing,
            number => match number.parse() {
                Ok(task) => Which::One(task),
                Err(_) => return Err("write a task's number, `all` or `none`".to_owned()),
            },
        }))
    }
}

/// What to attach to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// The job.
    pub key: JobKey,
    /// The step.
    pub part: Part,
}

/// What of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Its only step.
    Only,
    /// The step of that number.
    Step(u32),
    /// Its script.
    Batch,
}

impl FromStr for Target {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (job, part) = match text.split_once('.') {
            None => (text, Part::Only),
            Some((job, "batch")) => (job, Part::Batch),
            Some((job, number)) => match number.parse() {
                Ok(number) => (job, Part::Step(number)),
                Err(_) => {
                    return Err(format!(
                        "`{number}` is no step's number: write JOB.STEP as in 42.0"
                    ));
                }
            },
        };
        match job.parse::<Keys>().map_err(|error| error.to_string())?.0.as_slice() {
            [key] => Ok(Self { key: *key, part }),
            _ => Err("name one job: 42, or a task of an array, 42_7".to_owned()),
        }
    }
}

/// Attaches to a step.
///
/// # Errors
/// [`Failure`] when there is no such step, it does not run, or it is somebody else's.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let Target { key, part } = args.target;
    let listed = if part == Part::Batch { None } else { steps(key, server).await? };
    if let Some(steps) = listed
        && (part != Part::Only || runs(&steps).next().is_some())
    {
        let step = chosen(key, part, &steps)?;
        return to_step(&args.streams, false, key, step, server, screen).await;
    }
    if let Part::Step(number) = part {
        let none = Failure::message(format!("step {key}.{number} does not run, nor does its job"));
        return Err(none.hint(format!("`kantctl show {key}` says how the job is")));
    }
    let list: JobList = server.get(&format!("/v1/jobs/{key}")).await?;
    let is_held = |list: &JobList| list.jobs.iter().all(|job| job.ask.launch == Launch::Held);
    if is_held(&list) || args.streams.layout {
        let none = Failure::message(format!("no step runs in job {key}"));
        return Err(none.hint(format!("`kantctl show {key}` says how it is")));
    }
    note(&format!("no step runs in job {key}: this is its script's output, as `kantctl logs -f`"));
    let follow = logs::Args { key: Keys(vec![key]), follow: true, stderr: false, tail: Some(10) };
    logs::run(&follow, server, screen).await
}

/// Attaches to a step, or shows where its tasks are. `is_quiet`: says nothing but what goes wrong.
///
/// # Errors
/// As of [`run`].
pub async fn to_step(
    streams: &Streams,
    is_quiet: bool,
    key: JobKey,
    step: &StepView,
    server: &Server,
    screen: &Screen,
) -> Result<u8, Failure> {
    if streams.layout && screen.json {
        screen.answer(step)?;
        return Ok(OK);
    }
    if screen.json {
        let text = "--json goes with --layout: what tasks write is shown as it is";
        return Err(Failure::usage(anyhow::Error::msg(text)));
    }
    if streams.layout {
        screen.print(&layout(step))?;
        return Ok(OK);
    }
    let which = |filter: Option<Filter>| filter.map_or(Which::All, |filter| filter.0);
    let wanted = Wanted {
        label: streams.label,
        output: which(streams.output_filter),
        error: which(streams.error_filter),
        input: which(streams.input_filter),
        is_quiet,
    };
    attach::attach(&wanted, key, step, server).await
}

/// The steps of a job that runs; `None`: it does not.
///
/// # Errors
/// [`Failure`] when it is not known, or its node does not answer.
pub async fn steps(key: JobKey, server: &Server) -> Result<Option<Vec<StepView>>, Failure> {
    match server.get::<StepList>(&format!("/v1/jobs/{key}/steps")).await {
        Ok(list) => Ok(Some(list.steps)),
        Err(failure) if failure.code() == Some("wrong_phase") => Ok(None),
        Err(failure) => Err(failure),
    }
}

fn runs(steps: &[StepView]) -> impl Iterator<Item = &StepView> {
    steps.iter().filter(|step| step.ended_at.is_none())
}

/// The step that is meant.
///
/// # Errors
/// [`Failure`] when it is not there, is over, or could be one of several.
pub fn chosen(key: JobKey, part: Part, steps: &[StepView]) -> Result<&StepView, Failure> {
    let names = || {
        let names: Vec<String> = runs(steps).map(|step| format!("{key}.{}", step.number)).collect();
        if names.is_empty() { "none runs".to_owned() } else { names.join(", ") }
    };
    if let Part::Step(number) = part {
        let found = steps.iter().find(|step| step.number == number);
        let how = match found {
            None => "is not known",
            Some(step) if step.ended_at.is_some() => "is over",
            Some(step) => return Ok(step),
        };
        let text = format!("step {key}.{number} {how}");
        return Err(Failure::message(text).hint(format!("steps that run: {}", names())));
    }
    let mut found = runs(steps);
    match (found.next(), found.next()) {
        (Some(step), None) => Ok(step),
        (None, _) => Err(Failure::message(format!("no step runs in job {key}"))),
        (Some(_), Some(_)) => {
            let text = format!("several steps run in job {key}: name one");
            Err(Failure::usage(anyhow::Error::msg(text)).hint(names()))
        }
    }
}

/// As sattach shows it (man sattach, --layout).
fn layout(step: &StepView) -> String {
    let tasks: u32 = step.shares.iter().map(|share| share.tasks).sum();
    let nodes = fold(step.shares.iter().map(|share| &share.node));
    let mut text =
        format!("Job step layout:\n\t{tasks} tasks, {} nodes ({nodes})\n\n", step.shares.len());
    let mut first = 0;
    for (place, share) in step.shares.iter().enumerate() {
        let ranks: Vec<String> =
            (first..first + share.tasks).map(|rank| rank.to_string()).collect();
        let (node, count) = (&share.node, share.tasks);
        text += &format!("\tNode {place} ({node}), {count} task(s): {}\n", ranks.join(" "));
        first += share.tasks;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::time::Time;

    #[test]
    fn a_step_that_is_named_runs_or_is_refused() {
        let step = |number, ended_at| StepView {
            number,
            name: "train".to_owned(),
            shares: Vec::new(),
            exclusive: false,
            opened_at: Time(1),
            ended_at,
            exit: None,
        };
        let key = "42".parse::<Target>().unwrap().key;
        let steps = [step(0, Some(Time(2))), step(1, None), step(2, None)];
        let told = |part| match chosen(key, part, &steps) {
            Ok(step) => step.number.to_string(),
            Err(failure) => failure.to_string(),
        };
        assert_eq!(told(Part::Step(1)), "1");
        assert!(told(Part::Step(0)).contains("step 42.0 is over"), "{}", told(Part::Step(0)));
        assert!(told(Part::Step(9)).contains("step 42.9 is not known"));
        assert!(told(Part::Only).contains("several steps run in job 42"));
        assert_eq!(chosen(key, Part::Only, &steps[..2]).unwrap().number, 1);
    }
}
