//! `kantctl update`: changes what waiting jobs ask for; they keep their place. Never touches a job
//! that has started: the controller refuses that.

use super::steer;
use crate::failure::Failure;
use crate::keys::{self, Keys};
use crate::output::Screen;
use crate::server::{Again, Server};
use crate::submission::what_if::patch_of;
use common::wire::api::UpdateRequest;

const EXAMPLES: &str = "\
Examples:
  kantctl update 42 --time=2h
  kantctl update 42 --gpus=2 --queue=debug
  kantctl update 42 --deadline=none
  kantctl update 43 --array-limit=8

Only jobs that wait can be changed; they keep their id and their place. What was asked for is taken
away by --gpus=0, --qos=none, --near=none, --gpu-kind=any, --begin=none, --deadline=none,
--dependency=none, --reservation=none and --array-limit=none. The tasks of an array are changed together, before the
first starts; --array-limit at any time. `kantctl explain 42 --what-if 'gpus=2'` says beforehand
what a change would bring.";

/// Arguments of `update`.
#[derive(clap::Args, Debug, Default)]
#[command(after_help = EXAMPLES)]
#[allow(missing_docs)] // each field's comment is its help
pub struct Args {
    /// Jobs: 42
    #[arg(required = true, value_name = "JOB")]
    pub keys: Vec<Keys>,
    /// Time limit: minutes, h:m:s, d-h, 90m, 2h
    #[arg(short = 't', long, value_name = "TIME")]
    pub time: Option<String>,
    /// GPUs in the whole job: 8, h100:8, 0.5
    #[arg(short = 'G', long, value_name = "[KIND:]COUNT", conflicts_with = "gpus_per_node")]
    pub gpus: Option<String>,
    /// GPUs on each node
    #[arg(long, value_name = "[KIND:]COUNT")]
    pub gpus_per_node: Option<String>,
    /// The kind of GPU, one of several (h100|a100), or any
    #[arg(long, value_name = "KIND")]
    pub gpu_kind: Option<String>,
    /// How many nodes; without --ntasks, each keeps as many tasks
    #[arg(short = 'N', long, value_name = "COUNT")]
    pub nodes: Option<String>,
    /// Tasks in all, or a range (2-8)
    #[arg(short = 'n', long, value_name = "COUNT[-COUNT]")]
    pub ntasks: Option<String>,
    /// CPUs for each task
    #[arg(short = 'c', long, value_name = "COUNT")]
    pub cpus_per_task: Option<String>,
    /// Memory on each node, in MiB or with K, M, G, T
    #[arg(long, value_name = "SIZE")]
    pub mem: Option<String>,
    /// The queue
    #[arg(short = 'p', long, visible_alias = "partition", value_name = "NAME")]
    pub queue: Option<String>,
    /// The quality of service
    #[arg(short = 'q', long, value_name = "NAME")]
    pub qos: Option<String>,
    /// Nodes near to each other: leaf, leaf:required
    #[arg(long, value_name = "LEVEL[:required]")]
    pub near: Option<String>,
    /// Not before: now+1hour, 16:30, tomorrow
    #[arg(long, value_name = "WHEN")]
    pub begin: Option<String>,
    /// Over by then, or never started
    #[arg(long, value_name = "WHEN")]
    pub deadline: Option<String>,
    /// Which other jobs it waits for: afterok:20, or none
    #[arg(short = 'd', long, value_name = "RULE:JOB")]
    pub dependency: Option<String>,
    /// Run in this booking
    #[arg(long, value_name = "NAME")]
    pub reservation: Option<String>,
    /// At most so many tasks of the array at once
    #[arg(long, value_name = "COUNT")]
    pub array_limit: Option<String>,
}

impl Args {
    fn changes(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [
            ("time", &self.time),
            ("gpus", &self.gpus),
            ("gpus-per-node", &self.gpus_per_node),
            ("gpu-kind", &self.gpu_kind),
            ("nodes", &self.nodes),
            ("ntasks", &self.ntasks),
            ("cpus", &self.cpus_per_task),
            ("mem", &self.mem),
            ("queue", &self.queue),
            ("qos", &self.qos),
            ("near", &self.near),
            ("begin", &self.begin),
            ("deadline", &self.deadline),
            ("dependency", &self.dependency),
            ("reservation", &self.reservation),
            ("array-limit", &self.array_limit),
        ];
        all.into_iter().filter_map(|(key, value)| Some((key, value.as_deref()?)))
    }
}

/// Changes jobs.
///
/// # Errors
/// [`Failure`] when nothing is to be changed, a value does not read, or the controller cannot be
/// reached.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    if args.changes().next().is_none() {
        let nothing = "say what is to be changed, as with --time=2h: see `kantctl update --help`";
        return Err(Failure::usage(anyhow::anyhow!(nothing)));
    }
    let patch = patch_of(args.changes()).map_err(Failure::usage)?;
    let wish = serde_json::to_value(UpdateRequest { patch })
        .map_err(|error| Failure::usage(anyhow::anyhow!("failed to write the request: {error}")))?;
    let path = |key: &str| format!("/v1/jobs/{key}/update");
    let wish = (&wish, Again::IfUnanswered);
    steer::each(&keys::all(&args.keys), path, wish, "Updated", server, screen).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use common::job::Replaced;
    use common::time::Span;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn what_is_given_is_changed_and_nothing_else() {
        let line = ["update", "42", "-t", "2h", "--deadline", "none"];
        let args = Line::try_parse_from(line).unwrap().args;
        let patch = patch_of(args.changes()).unwrap();
        assert_eq!(patch.time_limit, Some(Span::from_minutes(120)));
        assert_eq!(patch.deadline, Some(Replaced::Without));
        assert_eq!((patch.gpus, patch.queue), (None, None));
        let bad = Args { mem: Some("lots".to_owned()), ..Args::default() };
        assert!(patch_of(bad.changes()).unwrap_err().to_string().starts_with("mem=lots: "));
    }
}
