//! `kantctl attach`: shows the output of a running step from now on, and passes input to it.

use super::logs;
use crate::failure::{Failure, OK};
use crate::keys::Keys;
use crate::output::Screen;
use crate::output::screen::note;
use crate::server::Server;
use crate::step::attach::{self, AttachOptions, TaskFilter};
use common::hostlist::compress;
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

A step is started by `kantctl run` or srun inside a job. Attaching first prints the last part of
the earlier output (64 KiB, or up to 256 KiB if others are attached), then new output as it is
written. Ctrl-C detaches; the step continues, attached or not. What you type is sent to its tasks,
too, unless their own input has ended.

A job's script is not a step: its output goes to a file. If no step runs, `kantctl attach JOB`
follows that file, as `kantctl logs -f` does. The exit code is the step's; 0 after Ctrl-C.";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A step (42.0), or a job with only one running step (42, 42_7)
    #[arg(value_name = "JOB[.STEP]")]
    pub target: Target,
    #[command(flatten)]
    pub streams: Streams,
}

/// TaskFilter streams of the step are connected; the same options as sattach's.
#[derive(clap::Args, Debug, Default)]
pub struct Streams {
    /// Prefix each line of output with the task's number
    #[arg(short = 'l', long)]
    pub label: bool,
    /// Show stdout of task TASK only; with `none`, of no task
    #[arg(long, value_name = "TASK")]
    pub output_filter: Option<Filter>,
    /// Show stderr of task TASK only; with `none`, of no task
    #[arg(long, value_name = "TASK")]
    pub error_filter: Option<Filter>,
    /// Send input to task TASK only; with `none`, to no task
    #[arg(long, value_name = "TASK")]
    pub input_filter: Option<Filter>,
    /// Only show on which nodes the tasks run, then exit
    #[arg(long)]
    pub layout: bool,
}

/// A task's number, `none` or `all`.
#[derive(Debug, Clone, Copy)]
pub struct Filter(TaskFilter);

impl FromStr for Filter {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Ok(Self(match text {
            "all" | "-" => TaskFilter::All,
            "none" => TaskFilter::Nothing,
            number => match number.parse() {
                Ok(task) => TaskFilter::One(task),
                Err(_) => return Err("write a task's number, `all` or `none`".to_owned()),
            },
        }))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    pub key: JobKey,
    pub part: Part,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The only running step.
    Only,
    Step(u32),
    /// The job's script.
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
                        "`{number}` is not a step number: write JOB.STEP as in 42.0"
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

/// Attaches to a step, or follows a job's output.
///
/// # Errors
/// [`Failure`] when there is no such step, it is not running, or belongs to another user.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let Target { key, part } = args.target;
    let listed = if part == Part::Batch { None } else { steps(key, server).await? };
    if let Some(steps) = listed
        && (part != Part::Only || running_steps(&steps).next().is_some())
    {
        let step = chosen(key, part, &steps)?;
        return to_step(&args.streams, false, key, step, server, screen).await;
    }
    if let Part::Step(number) = part {
        let none = Failure::from_message(format!(
            "step {key}.{number} is not running, and neither is its job"
        ));
        return Err(none.with_hint(format!("`kantctl show {key}` shows the state of the job")));
    }
    let list: JobList = server.get(&format!("/v1/jobs/{key}")).await?;
    let is_held = |list: &JobList| list.jobs.iter().all(|job| job.ask.launch == Launch::Held);
    if is_held(&list) || args.streams.layout {
        let none = Failure::from_message(format!("job {key} has no running step"));
        return Err(none.with_hint(format!("`kantctl show {key}` shows its state")));
    }
    note(&format!("job {key} has no running step: following the output of its script"));
    let follow = logs::Args { key: Keys(vec![key]), follow: true, stderr: false, tail: Some(10) };
    logs::run(&follow, server, screen).await
}

/// Attaches to a step, or shows its layout. With `is_quiet` only errors are printed.
///
/// # Errors
/// As [`run`].
pub async fn to_step(
    streams: &Streams,
    is_quiet: bool,
    key: JobKey,
    step: &StepView,
    server: &Server,
    screen: &Screen,
) -> Result<u8, Failure> {
    if streams.layout && screen.json {
        screen.print_answer_json(step)?;
        return Ok(OK);
    }
    if screen.json {
        let text = "--json requires --layout: the output of tasks is never converted";
        return Err(Failure::usage(anyhow::Error::msg(text)));
    }
    if streams.layout {
        screen.print(&layout(step))?;
        return Ok(OK);
    }
    let which = |filter: Option<Filter>| filter.map_or(TaskFilter::All, |filter| filter.0);
    let wanted = AttachOptions {
        label: streams.label,
        output: which(streams.output_filter),
        error: which(streams.error_filter),
        input: which(streams.input_filter),
        is_quiet,
    };
    attach::attach(&wanted, key, step, server).await
}

/// The steps of a job; `None` if the job is not running.
///
/// # Errors
/// [`Failure`] when the job is not known, or its node does not answer.
pub async fn steps(key: JobKey, server: &Server) -> Result<Option<Vec<StepView>>, Failure> {
    match server.get::<StepList>(&format!("/v1/jobs/{key}/steps")).await {
        Ok(list) => Ok(Some(list.steps)),
        Err(failure) if failure.error_code() == Some("wrong_phase") => Ok(None),
        Err(failure) => Err(failure),
    }
}

fn running_steps(steps: &[StepView]) -> impl Iterator<Item = &StepView> {
    steps.iter().filter(|step| step.ended_at.is_none())
}

/// The step that `part` selects.
///
/// # Errors
/// [`Failure`] when it does not exist, has ended, or is ambiguous.
pub fn chosen(key: JobKey, part: Part, steps: &[StepView]) -> Result<&StepView, Failure> {
    let names = || {
        let names: Vec<String> =
            running_steps(steps).map(|step| format!("{key}.{}", step.number)).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    if let Part::Step(number) = part {
        let found = steps.iter().find(|step| step.number == number);
        let how = match found {
            None => "is unknown",
            Some(step) if step.ended_at.is_some() => "has ended",
            Some(step) => return Ok(step),
        };
        let text = format!("step {key}.{number} {how}");
        return Err(Failure::from_message(text).with_hint(format!("running steps: {}", names())));
    }
    let mut found = running_steps(steps);
    match (found.next(), found.next()) {
        (Some(step), None) => Ok(step),
        (None, _) => Err(Failure::from_message(format!("job {key} has no running step"))),
        (Some(_), Some(_)) => {
            let text = format!("job {key} has several running steps: choose one");
            Err(Failure::usage(anyhow::Error::msg(text)).with_hint(names()))
        }
    }
}

/// The layout in the format of sattach (man sattach, --layout).
fn layout(step: &StepView) -> String {
    let tasks: u32 = step.shares.iter().map(|share| share.tasks).sum();
    let nodes = compress(step.shares.iter().map(|share| &share.node));
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
    fn only_a_running_step_can_be_chosen() {
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
        let result = |part| match chosen(key, part, &steps) {
            Ok(step) => step.number.to_string(),
            Err(failure) => failure.to_string(),
        };
        assert_eq!(result(Part::Step(1)), "1");
        assert!(result(Part::Step(0)).contains("step 42.0 has ended"), "{}", result(Part::Step(0)));
        assert!(result(Part::Step(9)).contains("step 42.9 is unknown"));
        assert!(result(Part::Only).contains("job 42 has several running steps"));
        assert_eq!(chosen(key, Part::Only, &steps[..2]).unwrap().number, 1);
    }
}
