//! `sattach`: `kantctl attach` with Slurm's options.
//! Source: man sattach.

use super::shared_options::Common;
use cli::failure::Failure;
use cli::output::Screen;
use cli::server::Server;
use cli::verb::attach::{Part, Streams, Target, chosen, steps, to_step};

/// Attach to the output of a running step, as Slurm's sattach does
#[derive(clap::Parser, Debug)]
#[command(name = "sattach", disable_help_flag = true, disable_version_flag = true)]
#[command(override_usage = "sattach [OPTIONS] JOB.STEP")]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub streams: Streams,
    /// Print errors only
    #[arg(short = 'Q', long)]
    pub quiet: bool,
    /// The step: 42.0; or a job with a single step
    #[arg(value_name = "JOB.STEP")]
    pub target: Target,
}

/// Attaches to a step.
///
/// # Errors
/// [`Failure`] when there is no such step, it is not running, or it is another user's.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let Target { key, part } = args.target;
    let in_a_file = || {
        let text = format!("step {key}.batch writes to the job's output file");
        Failure::usage(anyhow::Error::msg(text)).with_hint(format!("kantctl logs -f {key}"))
    };
    if part == Part::Batch {
        return Err(in_a_file());
    }
    let Some(steps) = steps(key, server).await? else {
        return Err(Failure::from_message(format!("job {key} is not running")));
    };
    let step = chosen(key, part, &steps)?;
    to_step(&args.streams, args.quiet, key, step, server, screen).await
}
