//! `kantctl reservations`: reservations of nodes, for users or for maintenance.

mod busy;
pub mod update;

use super::bulk_action::{self, Action, JOBS};
use crate::clock;
use crate::failure::{Failure, OK};
use crate::fetch::{self, Answer};
use crate::output::{Screen, reservations};
use crate::server::{Retry, Server};
use crate::submission::begin::{read_begin, read_deadline};
use clap::{ArgGroup, Subcommand};
use common::gpu::GpuKind;
use common::id::{AccountName, ReservationName};
use common::job::attributes::{GpuCount, read_kinds};
use common::job::attributes::{Hosts, ValueError, read_count};
use common::time::{Span, Time};
use common::unit::Nodes;
use common::wire::api::{ReservationList, ReservationRequest};
use serde_json::Value;
use update::Update;

const EXAMPLES: &str = "\
Examples:
  kantctl reservations
  kantctl reservations create exam --count 4 --gpu-kind h100 --from 9:00 --for 2h --user ada,bob
  kantctl reservations update exam --for 3h
  kantctl reservations delete exam";

const CREATE_EXAMPLES: &str = "\
Examples:
  kantctl reservations create exam --nodes g-[001-004] --from tomorrow --for 2h --group students
  kantctl reservations create demo --count 2 --gpu-kind h100 --to 18:00 --user ada
  kantctl reservations create run7 --gpus h100:64 --from 20:00 --for 12h --account vision
  kantctl reservations create fans --nodes g-007 --from now+2hours --for 1h --maintenance
  kantctl reservations create patch --count 8 --for 30m --flexible-until now+12hours --maintenance

Jobs run in a reservation with `kantctl submit --reservation NAME`, and end with it. No other job
runs on its nodes while it lasts, or starts on them before, unless its time limit ends in time.
Jobs that already run on the nodes are not stopped: choose a later --from, drain the nodes, or use
--flexible-until, with which the reservation begins when the nodes become free. Without --user,
--group and --account all users may use it. Operators only.";

const LIST_EXAMPLES: &str = "\
Examples:
  kantctl reservations list
  kantctl reservations list --json";

const UPDATE_EXAMPLES: &str = "\
Examples:
  kantctl reservations update exam --for 3h
  kantctl reservations update exam --nodes g-[001-006] --user ada,bob,eve

Settings that are not given stay as they are. If the change is refused, nothing changes. Operators
only.";

const DELETE_EXAMPLES: &str = "\
Examples:
  kantctl reservations delete exam
  kantctl reservations delete fans patch

Running jobs of a deleted reservation continue; waiting ones wait until it is created again or they
are cancelled. Operators only.";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    pub what: Option<What>,
}

#[derive(Subcommand, Debug)]
pub enum What {
    /// List reservations that have not ended (the default)
    #[command(after_help = LIST_EXAMPLES)]
    List,
    /// Reserve nodes
    #[command(after_help = CREATE_EXAMPLES)]
    Create(Box<Create>),
    /// Change a reservation: its time, nodes or users
    #[command(after_help = UPDATE_EXAMPLES)]
    Update(Box<Update>),
    /// Delete reservations, and release their nodes
    #[command(after_help = DELETE_EXAMPLES)]
    Delete {
        /// Names of reservations
        #[arg(required = true, value_name = "NAME")]
        names: Vec<ReservationName>,
    },
}

#[derive(clap::Args, Debug, Clone)]
#[command(group(ArgGroup::new("where").required(true).args(["nodes", "count", "gpus"])))]
#[command(group(ArgGroup::new("until").required(true).args(["to", "span"])))]
pub struct Create {
    /// Name of the reservation
    #[arg(value_name = "NAME")]
    pub name: ReservationName,
    /// These nodes as a whole, e.g. g-[001-004]
    #[arg(short = 'w', long, value_name = "NODES", conflicts_with = "gpu_kind")]
    pub nodes: Option<Hosts>,
    /// COUNT nodes, chosen by the controller
    #[arg(short = 'N', long, value_name = "COUNT", value_parser = read_count,
          allow_negative_numbers = true)]
    pub count: Option<u32>,
    /// Whole nodes with COUNT GPUs in total, chosen by the controller
    #[arg(short = 'G', long, value_name = "[KIND:]COUNT", conflicts_with = "gpu_kind")]
    pub gpus: Option<GpuCount>,
    /// Choose only nodes with GPUs of this kind
    #[arg(long, value_name = "KIND", value_parser = read_one_kind)]
    pub gpu_kind: Option<GpuKind>,
    /// When it begins, as for `submit --begin` [default: now]
    #[arg(long, visible_alias = "start", value_name = "WHEN", value_parser = read_begin)]
    pub from: Option<Time>,
    /// When it ends
    #[arg(long, visible_alias = "end", value_name = "WHEN", value_parser = read_deadline)]
    pub to: Option<Time>,
    /// How long it lasts: minutes, h:m:s, d-h, 90m, 2h
    #[arg(
        long = "for",
        visible_alias = "duration",
        id = "span",
        value_name = "TIME",
        allow_negative_numbers = true
    )]
    pub span: Option<Span>,
    /// The latest time to begin, if nodes are not free earlier; the end moves accordingly
    #[arg(long, value_name = "WHEN", value_parser = read_deadline)]
    pub flexible_until: Option<Time>,
    /// Users who may use it, by name or number
    #[arg(
        short = 'u',
        long = "user",
        visible_alias = "users",
        value_name = "USERS",
        value_delimiter = ','
    )]
    pub users: Vec<String>,
    /// Groups that may use it
    #[arg(
        short = 'g',
        long = "group",
        visible_alias = "groups",
        value_name = "GROUPS",
        value_delimiter = ','
    )]
    pub groups: Vec<String>,
    /// Accounts with jobs that may use it
    #[arg(
        short = 'A',
        long = "account",
        visible_alias = "accounts",
        value_name = "ACCOUNTS",
        value_delimiter = ','
    )]
    pub accounts: Vec<AccountName>,
    /// For maintenance: no job may use it
    #[arg(long, conflicts_with_all = ["users", "groups", "accounts"])]
    pub maintenance: bool,
    /// Comment
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub comment: String,
}

fn read_one_kind(text: &str) -> Result<GpuKind, ValueError> {
    let mut kinds = read_kinds(text)?.into_iter();
    match (kinds.next(), kinds.next()) {
        (Some(kind), None) => Ok(kind),
        _ => Err(ValueError::GpuKinds),
    }
}

/// Lists, creates, changes or deletes reservations.
///
/// # Errors
/// [`Failure`] when the times are invalid, or the controller refuses or does not answer.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    match &args.what {
        None | Some(What::List) => {
            let answer: Answer<ReservationList> = fetch::get(server, "/v1/reservations").await?;
            if screen.json {
                screen.print_answer_json(&answer.raw)?;
            } else {
                let ReservationList { reservations, as_of, .. } = &answer.typed;
                screen.print_table(&reservations::table(reservations, *as_of, &screen.zone))?;
            }
            Ok(OK)
        }
        Some(What::Create(create)) => {
            let request = request(create, clock::now())?;
            let raw: Value = server.post("/v1/reservations", &request, Retry::IfUnsent).await?;
            let Answer { raw, typed }: Answer<ReservationList> = raw.try_into()?;
            if screen.json {
                screen.print_answer_json(&raw)?;
            } else {
                typed.reservations.iter().try_for_each(|made| {
                    screen.print_line(&format!(
                        "Reserved {}",
                        reservations::summary(made, &screen.zone)
                    ))
                })?;
                update::warn_of(&typed, server).await;
            }
            Ok(OK)
        }
        Some(What::Update(args)) => update::run(args, server, screen).await,
        Some(What::Delete { names }) => {
            let path = |name: &str| format!("/v1/reservations/{name}/delete");
            let action = Action {
                body: &Value::Null,
                retry: Retry::IfUnsent,
                done: "Deleted",
                changed: JOBS,
            };
            bulk_action::act_on_each(names, path, action, server, screen).await
        }
    }
}

/// The request, with the end computed.
fn request(create: &Create, now: Time) -> Result<ReservationRequest, Failure> {
    let from = create.from.unwrap_or(now);
    let to = match (create.to, create.span) {
        (Some(to), _) => to,
        (None, span) => from + span.unwrap_or_default(),
    };
    let refused = |what: &str, option: &str| {
        Err(Failure::usage(anyhow::anyhow!("reservation {}: {what}", create.name))
            .with_hint(option))
    };
    if to <= from {
        return refused("it would not end after it begins", "give a later --to, or --for 2h");
    }
    if create.flexible_until.is_some_and(|until| until < from) {
        return refused(
            "--flexible-until is before --from",
            "--from is the earliest begin, --flexible-until the latest",
        );
    }
    let gpus = create.gpus.as_ref();
    if gpus.is_some_and(|gpus| gpus.kinds.len() > 1) {
        return refused("--gpus accepts only one kind", "for example --gpus h100:16");
    }
    let kind = gpus.and_then(|gpus| gpus.kinds.first()).or(create.gpu_kind.as_ref());
    Ok(ReservationRequest {
        name: create.name.clone(),
        nodes: create.nodes.clone().map(|hosts| hosts.0).unwrap_or_default(),
        node_count: create.count.map(Nodes),
        gpus: gpus.map(|gpus| gpus.count),
        gpu_kind: kind.cloned(),
        from,
        to,
        flexible_until: create.flexible_until,
        users: create.users.clone(),
        groups: create.groups.clone(),
        accounts: create.accounts.clone(),
        maintenance: create.maintenance,
        comment: create.comment.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use common::unit::Gpus;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        create: Create,
    }

    const NOW: Time = Time(4_000_000_000_000);

    fn asked(words: &str) -> Result<ReservationRequest, String> {
        let words = ["create"].into_iter().chain(words.split(' '));
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        request(&line.create, NOW).map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_reservation_begins_now_and_lasts_as_requested() {
        let request = asked("exam --count 4 --gpu-kind H100 --for 2h -u ada,7 -A vision").unwrap();
        assert_eq!((request.from, request.to), (NOW, Time(NOW.0 + 7_200_000)));
        assert_eq!(
            (request.node_count, request.gpu_kind),
            (Some(Nodes(4)), read_one_kind("h100").ok())
        );
        assert_eq!(request.users, ["ada", "7"]);
        let request = asked("run7 --gpus h100:64 --for 12h").unwrap();
        assert_eq!((request.gpus, request.node_count), (Some(Gpus(64)), None));
        assert_eq!(request.gpu_kind, read_one_kind("h100").ok());
        let request = asked("fans -w g-[1-2] --for 60 --maintenance --comment fans").unwrap();
        assert_eq!((request.nodes.len(), request.maintenance), (2, true));
    }

    #[test]
    fn invalid_reservations_are_refused_with_the_reason() {
        for (words, word) in [
            ("exam --for 2h", "--nodes"),
            ("exam --count 2", "--for"),
            ("exam --count 2 -w g-1 --for 2h", "cannot be used with"),
            ("exam --count 2 --for 2h --to tomorrow", "cannot be used with"),
            ("exam --count 2 --for 2h --maintenance -u ada", "cannot be used with"),
            ("a/b --count 2 --for 2h", "valid reservation name"),
            ("exam --count 2 --for 0", "later --to"),
            ("exam --count 2 --from 2200-01-01 --to 2199-01-01", "later --to"),
            ("exam --count 2 --from 2200-01-01 --for 2h --flexible-until 2199-01-01", "latest"),
            ("exam --count 2 --for 2h --gpu-kind a100|h100", "one kind"),
            ("exam --gpus a100|h100:8 --for 2h", "one kind"),
            ("exam --gpus 0 --for 2h", "write a number"),
            ("exam --gpus 8 --count 1 --for 2h", "cannot be used with"),
        ] {
            let refused = asked(words).unwrap_err();
            assert!(refused.contains(word), "{words}: {refused}");
        }
    }
}
