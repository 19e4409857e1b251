//! `kantctl update`: changes the request of waiting jobs, which keep their position, and a few
//! settings of started ones. The controller decides what may be changed.

use super::bulk_action::{self, Action, JOBS};
use crate::failure::Failure;
use crate::keys::{self, Keys};
use crate::output::Screen;
use crate::server::{Retry, Server};
use crate::submission::options::{AttributeWords, Selection};
use crate::submission::what_if::patch_of;
use clap::Arg;
use common::id::JobKey;
use common::job::attributes::{Attribute, Changeable, Row};
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
    #[command(flatten)]
    pub changes: AttributeWords<Changes>,
}

/// The attributes that can be changed.
#[derive(Debug, Clone, Default)]
pub struct Changes;

impl Selection for Changes {
    fn selects(row: &Row) -> bool {
        row.changeable != Changeable::Never
    }

    fn with_details(row: &'static Row, arg: Arg) -> Arg {
        let others = row.attribute.alternatives().filter(|other| *other != row.attribute);
        let others = others.filter(|other| Self::selects(other.row()));
        let arg = arg.conflicts_with_all(others.map(|other| other.row().option));
        let value_name =
            if row.attribute == Attribute::Time { "[+|-]TIME" } else { row.value_name };
        let signed = matches!(row.attribute, Attribute::Time | Attribute::Nice);
        arg.value_name(value_name).allow_hyphen_values(signed).help(row.change_help())
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
pub async fn to_absolute_limit(
    time: &str,
    key: JobKey,
    server: &Server,
) -> Result<String, Failure> {
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
    if args.changes.given().next().is_none() {
        let nothing =
            "no change is given: use options such as --time=2h, see `kantctl update --help`";
        return Err(Failure::usage(anyhow::anyhow!(nothing)));
    }
    let keys = keys::flatten(&args.keys);
    let given = args.changes.get(Attribute::Time);
    let time = match (given.filter(|time| is_relative(time)), keys.as_slice()) {
        (None, _) => given.map(str::to_owned),
        (Some(time), [key]) => Some(to_absolute_limit(time, *key, server).await?),
        (Some(time), _) => {
            let several = format!("--time={time} can change only one job at a time: name one");
            return Err(Failure::usage(anyhow::Error::msg(several)));
        }
    };
    let time = time.as_deref();
    let changes = args.changes.given().map(|(attribute, word)| match (attribute, time) {
        (Attribute::Time, Some(time)) => (attribute, time),
        _ => (attribute, word),
    });
    let patch = patch_of(changes).map_err(Failure::usage)?;
    let request = serde_json::to_value(UpdateRequest { patch })
        .map_err(|error| Failure::usage(anyhow::anyhow!("failed to write the request: {error}")))?;
    let path = |key: &str| format!("/v1/jobs/{key}/update");
    let action =
        Action { body: &request, retry: Retry::IfUnanswered, done: "Updated", changed: JOBS };
    bulk_action::act_on_each(&keys, path, action, server, screen).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use common::time::Time;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn only_given_options_are_changed() {
        let line = ["update", "42", "-t", "2h", "--deadline", "none"];
        let args = Line::try_parse_from(line).unwrap().args;
        let patch = patch_of(args.changes.given()).unwrap();
        assert_eq!(patch.to_string(), "--time=02:00:00 --deadline=none");
        assert_eq!(patch.value::<Time>(Attribute::Deadline), None);
        let line = ["update", "42", "--mem", "lots"];
        let bad = patch_of(Line::try_parse_from(line).unwrap().args.changes.given());
        assert!(bad.unwrap_err().to_string().starts_with("mem=lots: "));
    }
}
