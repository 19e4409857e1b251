//! `kantctl submit`: submits a script as a job.

use super::wait;
use crate::directive::{self, Directives};
use crate::failure::{Failure, OK};
use crate::fetch::Answer;
use crate::output::Screen;
use crate::output::screen::warn;
use crate::server::Server;
use crate::submission::components::{self, CommandLine};
use crate::submission::mail::{is_variable, variable_warning};
use crate::submission::options::Options;
use crate::submission::script::{self, Script};
use crate::submission::shell::Shell;
use crate::submission::{environment, submit_request, test_only};
use common::id::{JobId, JobKey};
use common::job::Attribute;
use common::job::attributes::Switches;
use common::wire::api::SubmitAnswer;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  kantctl submit --wrap 'hostname; nproc'
  kantctl submit --gpus 1 --mem 8G --time 30 --wrap nvidia-smi
  kantctl submit -N 2 --gpus-per-node 8 --launch per-node --wrap 'echo $SLURM_NODEID'
  kantctl submit --array 0-9%2 --wrap 'echo task $SLURM_ARRAY_TASK_ID'
  kantctl submit -N 4 --gpus-per-node 8 --near leaf:required --qos high --wrap 'echo near'
  kantctl submit --gpus 'h100|a100:4' --deadline tomorrow --preemptible --wrap nvidia-smi
  kantctl submit --ntasks 2-8 --gpus-per-task 1 --launch per-task --wrap 'echo $SLURM_PROCID'
  kantctl submit --gpus 0.5 --service --max-per-node 2 -J chat --wrap 'echo a share of a GPU'
  kantctl submit --batch jobs.txt --time 30
  kantctl submit -N 1 --gpus 1 : -N 2-4 --gpus-per-node 8 prefill-and-decode.sh
  kantctl submit --test-only -N 4 --gpus-per-node 8 train.sh
  printf '#!/bin/sh\\n#KANT --time 5\\ndate\\n' | kantctl submit --wait

Directives:
  Lines that begin with #KANT or #SBATCH before a script's first command contain options.
  Precedence, highest first: command line, environment (KANTCTL_QUEUE sets --queue, and so on for
  every option; SBATCH_* as for sbatch), #KANT, #SBATCH.

Components:
  Options separated by `:` (in a script, by a line `#SBATCH hetjob`) describe the components of a
  het job, which start and end together. The script runs on the first node of the first component,
  and starts programs in the others (`srun --het-group=1 ...`). Job 42 is the whole het job, 42+1
  its second component.

The script is copied at submission; $SLURM_SUBMIT_DIR is the directory in which it was submitted.";

/// How long a controller may be unreachable before a submission is given up.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
#[command(override_usage = "kantctl submit [OPTIONS] [: OPTIONS]... [SCRIPT [ARG]...]\n       \
                            kantctl submit [OPTIONS] --wrap COMMAND\n       \
                            kantctl submit [OPTIONS] --batch FILE")]
pub struct Args {
    #[command(flatten)]
    pub options: Options,
    /// Run this command instead of a script
    #[arg(long, value_name = "COMMAND", help_heading = "Execution")]
    pub wrap: Option<String>,
    /// The script and its arguments; without a script, or with -, it is read from standard input
    #[arg(value_names = ["SCRIPT", "ARG"], num_args = 0.., trailing_var_arg = true)]
    pub script: Vec<String>,
}

/// Submits a job.
///
/// # Errors
/// [`Failure`] when the script, an option or a directive is invalid, or the controller refuses or
/// does not answer.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    run_as(args, &SubmitDialect::Kant, server, screen).await
}

/// The command line that is imitated in messages and names of output files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubmitDialect {
    Kant,
    /// Slurm's, which programs that call sbatch parse.
    Slurm {
        /// The cluster's name, if the user named clusters.
        cluster: Option<String>,
    },
}

impl SubmitDialect {
    /// The message for an accepted job.
    fn accepted_message(&self, job: JobId, parsable: bool) -> String {
        match (self, parsable) {
            (Self::Kant, true) | (Self::Slurm { cluster: None }, true) => job.to_string(),
            (Self::Kant, false) => format!("Submitted job {job}"),
            (Self::Slurm { cluster: Some(cluster) }, true) => format!("{job};{cluster}"),
            (Self::Slurm { cluster: None }, false) => format!("Submitted batch job {job}"),
            (Self::Slurm { cluster: Some(cluster) }, false) => {
                format!("Submitted batch job {job} on cluster {cluster}")
            }
        }
    }

    /// The default output file.
    fn default_output_file(&self, is_array: bool) -> Option<String> {
        let pattern = if is_array { "slurm-%A_%a.out" } else { "slurm-%j.out" };
        (*self != Self::Kant).then(|| pattern.to_owned())
    }
}

/// Submits a job with the messages of this command line.
///
/// # Errors
/// As [`run`].
pub async fn run_as(
    args: &Args,
    dialect: &SubmitDialect,
    server: &Server,
    screen: &Screen,
) -> Result<u8, Failure> {
    let shell = Shell::current()?;
    let line = CommandLine::read(&args.options, args.wrap.as_ref(), &args.script)?;
    let (script, script_args) = read_script(&line)?;
    let mut components = merge(line.components.clone(), &script, &shell)?;
    for options in &mut components {
        let usual = dialect.default_output_file(options.has(Attribute::Array));
        if let Some(usual) = usual.filter(|_| !options.has(Attribute::Output)) {
            options.set(Attribute::Output, usual);
        }
        if matches!(dialect, SubmitDialect::Slurm { .. }) {
            *options = options.clone().with_all_named_nodes();
        }
    }
    let is_given = |option| components.iter().any(|options| options.has(option));
    let (parsable, quiet) = (is_given(Attribute::Parsable), is_given(Attribute::Quiet));
    let (test_only, wait) = (is_given(Attribute::TestOnly), is_given(Attribute::Wait));
    let (Some(first), others) = (components.first(), components.get(1..).unwrap_or_default())
    else {
        return Err(Failure::from_message("no job is requested".to_owned()));
    };
    let request = submit_request::build(first, &script, script_args, &shell)?;
    if test_only && !others.is_empty() {
        let text = "--test-only cannot be used with components: submit without it, or test a \
                    single component";
        return Err(Failure::usage(anyhow::anyhow!(text)));
    }
    if test_only {
        return test_only::report(&request, *dialect != SubmitDialect::Kant, server, Some(screen))
            .await;
    }
    let raw: Value = match others {
        [] => server.post_keyed("/v1/jobs", &request, PATIENCE).await?,
        others => {
            let set = submit_request::build_set(request, others, &script, script_args, &shell)?;
            server.post_keyed("/v1/jobs/set", &set, PATIENCE).await?
        }
    };
    let Answer { raw, typed }: Answer<SubmitAnswer> = raw.try_into()?;
    if screen.json {
        screen.print_answer_json(&raw)?;
    } else if parsable || !quiet {
        screen.print_line(&dialect.accepted_message(typed.job, parsable))?;
    }
    if let Some(warning) = typed.warning.filter(|_| !quiet) {
        warn(&warning);
    }
    if !wait {
        return Ok(OK);
    }
    let ended = wait::until_done(server, &[JobKey::single(typed.job)]).await?;
    Ok(wait::worst(&ended))
}

fn read_script(line: &CommandLine) -> Result<(Script, &[String]), Failure> {
    match (&line.wrap, line.script.as_slice()) {
        (Some(command), _) => Ok((script::wrap(command)?, &[])),
        (None, []) => Ok((script::read(None)?, &[])),
        (None, [path, rest @ ..]) => Ok((script::read(Some(path))?, rest)),
    }
}

/// Merges the options of each component: command line over environment over script.
fn merge(line: Vec<Options>, script: &Script, shell: &Shell) -> Result<Vec<Options>, Failure> {
    let directives = directives(script)?;
    let environment = environment::read_options(&shell.environment)?;
    let components = components::merge(line, &environment, directives);
    components.iter().flat_map(option_warnings).for_each(|text| warn(&text));
    Ok(components)
}

/// The options in a script's directives, for each component; warns of directives that are ignored.
///
/// # Errors
/// [`Failure`] if a directive is invalid.
pub fn directives(script: &Script) -> Result<Vec<Options>, Failure> {
    if !script.has_directives {
        return Ok(vec![Options::default()]);
    }
    let Directives { components, too_late, burst_buffers } =
        directive::read(&script.origin, &script.text)?;
    for line in too_late {
        warn(&format!(
            "{}, line {line}: directives after the first command are ignored",
            script.origin
        ));
    }
    for (line, marker) in burst_buffers {
        warn(&format!(
            "{}, line {line}: {marker} is ignored, because there are no burst buffers: copy files \
             in the script",
            script.origin
        ));
    }
    Ok(components)
}

/// Warnings about options that are accepted but have little or no effect.
#[must_use]
pub fn option_warnings(options: &Options) -> Vec<String> {
    let mut by_reason: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for option in options.ignored_options.given() {
        by_reason.entry(option.why).or_default().push(format!("--{}", option.name));
    }
    let sentence = |(why, names): (&str, Vec<String>)| {
        let verb = if names.len() > 1 { "have" } else { "has" };
        format!("{} {verb} no effect: {why}", names.join(", "))
    };
    let mut sentences: Vec<String> = by_reason.into_iter().map(sentence).collect();
    if options.get(Attribute::Switches).is_some_and(|switches: Switches| switches.timed) {
        let text = "--switches prefers one leaf switch without waiting; --near=leaf:required waits";
        sentences.push(text.to_owned());
    }
    let variable = options.text(Attribute::MailUser).filter(|to| is_variable(to));
    sentences.extend(variable.as_deref().map(variable_warning));
    sentences
}
