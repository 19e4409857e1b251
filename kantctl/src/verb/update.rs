//! `kantctl update`: changes the request of waiting jobs, which keep their position, and a few
//! settings of started ones. The controller decides what may be changed.

use super::bulk_action::{self, Action};
use crate::failure::Failure;
use crate::keys::{self, Keys};
use crate::output::Screen;
use crate::server::{Retry, Server};
use crate::submission::what_if::patch_of;
use common::id::JobKey;
use common::time::Span;
use common::wire::api::{JobList, UpdateRequest};

const EXAMPLES: &str = "\
Examples:
  kantctl update 42 --time=2h
  kantctl update 42 --gpus=2 --queue=debug
  kantctl update 42 --deadline=none
  kantctl update 43 --array-limit=8
  kantctl update 44 --time=-30 --comment='it is enough'

Waiting jobs keep their id and their position. Of a started job only --time (its user can lower it,
operators also raise it), --job-name, --comment, --mail-type and --mail-user can be changed. To
remove a part of the request, use --gpus=0, --gpu-kind=any, --comment= or `none` (--qos, --near,
--begin, --deadline, --dependency, --reservation, --array-limit, --constraint, --nodelist,
--exclude). The tasks of an array are changed together; once the first has started, only the
settings above and --array-limit can be changed. `kantctl explain 42 --what-if 'gpus=2'` shows the
effect of a change beforehand.";

#[derive(clap::Args, Debug, Default)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Jobs: 42
    #[arg(required = true, value_name = "JOB")]
    pub keys: Vec<Keys>,
    /// Time limit: minutes, h:m:s, d-h, 90m, 2h; +30 or -30 change the current limit
    #[arg(short = 't', long, value_name = "[+|-]TIME", allow_hyphen_values = true)]
    pub time: Option<String>,
    /// GPUs in the whole job: 8, h100:8, 0.5
    #[arg(short = 'G', long, value_name = "[KIND:]COUNT", conflicts_with = "gpus_per_node")]
    pub gpus: Option<String>,
    /// GPUs on each node
    #[arg(long, value_name = "[KIND:]COUNT")]
    pub gpus_per_node: Option<String>,
    /// Kind of GPU, alternatives (h100|a100), or any
    #[arg(long, value_name = "KIND")]
    pub gpu_kind: Option<String>,
    /// Number of nodes; without --ntasks the tasks per node stay the same
    #[arg(short = 'N', long, value_name = "COUNT")]
    pub nodes: Option<String>,
    /// Number of tasks, or a range (2-8)
    #[arg(short = 'n', long, value_name = "COUNT[-COUNT]")]
    pub ntasks: Option<String>,
    /// CPUs per task
    #[arg(short = 'c', long, value_name = "COUNT")]
    pub cpus_per_task: Option<String>,
    /// Memory per node, in MiB or with K, M, G, T
    #[arg(long, value_name = "SIZE")]
    pub mem: Option<String>,
    /// Queue
    #[arg(short = 'p', long, visible_alias = "partition", value_name = "NAME")]
    pub queue: Option<String>,
    /// Quality of service
    #[arg(short = 'q', long, value_name = "NAME")]
    pub qos: Option<String>,
    /// Prefer or require nodes in one topology group: leaf, leaf:required
    #[arg(long, value_name = "LEVEL[:required]")]
    pub near: Option<String>,
    /// Earliest start: now+1hour, 16:30, tomorrow
    #[arg(long, value_name = "WHEN")]
    pub begin: Option<String>,
    /// Deadline: the job must end by then, or never starts
    #[arg(long, value_name = "WHEN")]
    pub deadline: Option<String>,
    /// Jobs to wait for: afterok:20, or none
    #[arg(short = 'd', long, value_name = "RULE:JOB")]
    pub dependency: Option<String>,
    /// Run in this reservation
    #[arg(long, value_name = "NAME")]
    pub reservation: Option<String>,
    /// Run at most COUNT tasks of the array at once
    #[arg(long, value_name = "COUNT")]
    pub array_limit: Option<String>,
    /// Required features of nodes: a100&ib
    #[arg(short = 'C', long, value_name = "FEATURES")]
    pub constraint: Option<String>,
    /// Use only these nodes
    #[arg(short = 'w', long, value_name = "NODES")]
    pub nodelist: Option<String>,
    /// Do not use these nodes
    #[arg(short = 'x', long, value_name = "NODES")]
    pub exclude: Option<String>,
    /// Account to charge
    #[arg(short = 'A', long, value_name = "ACCOUNT")]
    pub account: Option<String>,
    /// Lower the priority by NUMBER; operators can use negative values
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
    pub nice: Option<String>,
    /// Job name
    #[arg(short = 'J', long, value_name = "NAME")]
    pub job_name: Option<String>,
    /// Comment
    #[arg(long, value_name = "TEXT")]
    pub comment: Option<String>,
    /// Events that send an e-mail: END,FAIL, or NONE
    #[arg(long, value_name = "EVENTS")]
    pub mail_type: Option<String>,
    /// Recipient of e-mails [default: the job's owner]
    #[arg(long, value_name = "ADDRESS")]
    pub mail_user: Option<String>,
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
            ("constraint", &self.constraint),
            ("nodelist", &self.nodelist),
            ("exclude", &self.exclude),
            ("account", &self.account),
            ("nice", &self.nice),
            ("name", &self.job_name),
            ("comment", &self.comment),
            ("mail-type", &self.mail_type),
            ("mail-user", &self.mail_user),
        ];
        all.into_iter().filter_map(|(key, value)| Some((key, value.as_deref()?)))
    }
}

/// Whether a time is relative to the current time limit (`+30`, `-30`).
#[must_use]
pub fn is_relative(time: &str) -> bool {
    time.starts_with(['+', '-'])
}

/// Converts a relative time limit to an absolute one, from the job's current limit.
///
/// # Errors
/// [`Failure`] when the job has none, nothing would be left, or the controller does not answer.
pub async fn absolute(time: &str, key: JobKey, server: &Server) -> Result<String, Failure> {
    let (sign, by) = time.split_at(1);
    let by: Span =
        by.parse().map_err(|error| Failure::usage(anyhow::anyhow!("--time={time}: {error}")))?;
    let list: JobList = server.get(&format!("/v1/jobs/{key}")).await?;
    let has = list.jobs.first().and_then(|job| job.ask.time_limit);
    let Some(has) = has else {
        let none = format!("job {key} has no time limit: set one without + or -");
        return Err(Failure::usage(anyhow::Error::msg(none)));
    };
    let now = if sign == "+" { has.0.checked_add(by.0) } else { has.0.checked_sub(by.0) };
    match now.filter(|now| *now > 0).map(Span) {
        Some(now) => Ok(now.to_string()),
        None => {
            let none = format!("job {key} has a time limit of {has}: no time would be left");
            Err(Failure::usage(anyhow::Error::msg(none)))
        }
    }
}

/// Changes jobs.
///
/// # Errors
/// [`Failure`] when there is no change, a value is invalid, or the controller cannot be reached.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    if args.changes().next().is_none() {
        let nothing =
            "no change is given: use options such as --time=2h, see `kantctl update --help`";
        return Err(Failure::usage(anyhow::anyhow!(nothing)));
    }
    let keys = keys::flatten(&args.keys);
    let time = match (args.time.as_deref().filter(|time| is_relative(time)), keys.as_slice()) {
        (None, _) => args.time.clone(),
        (Some(time), [key]) => Some(absolute(time, *key, server).await?),
        (Some(time), _) => {
            let several = format!("--time={time} can change only one job at a time: name one");
            return Err(Failure::usage(anyhow::Error::msg(several)));
        }
    };
    let time = time.as_deref();
    let changes = args.changes().map(|(key, value)| match (key, time) {
        ("time", Some(time)) => (key, time),
        _ => (key, value),
    });
    let patch = patch_of(changes).map_err(Failure::usage)?;
    let request = serde_json::to_value(UpdateRequest { patch })
        .map_err(|error| Failure::usage(anyhow::anyhow!("failed to write the request: {error}")))?;
    let path = |key: &str| format!("/v1/jobs/{key}/update");
    let action = Action { body: &request, retry: Retry::IfUnanswered, done: "Updated" };
    bulk_action::each(&keys, path, action, server, screen).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use common::job::Replaced;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn only_given_options_are_changed() {
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
