//! `kantctl reservations update`: changes a reservation's time, nodes or users in one step, so that
//! no job can start on its nodes between deletion and creation.

use super::busy;
use crate::failure::{Failure, OK};
use crate::fetch::Answer;
use crate::output::screen::warn;
use crate::output::{Screen, reservations};
use crate::server::{Retry, Server};
use crate::submission::begin::{read_begin, read_deadline};
use clap::ArgGroup;
use common::id::{AccountName, ReservationName};
use common::job::attributes::Hosts;
use common::time::{Span, Time};
use common::wire::api::{ReservationList, ReservationPatch};
use serde_json::Value;

const CHANGES: [&str; 9] =
    ["nodes", "from", "to", "span", "users", "groups", "accounts", "maintenance", "comment"];

#[derive(clap::Args, Debug, Clone)]
#[command(group(ArgGroup::new("change").required(true).multiple(true).args(CHANGES)))]
pub struct Update {
    /// Name of the reservation
    #[arg(value_name = "NAME")]
    pub name: ReservationName,
    /// New nodes
    #[arg(short = 'w', long, value_name = "NODES")]
    pub nodes: Option<Hosts>,
    /// New begin
    #[arg(long, visible_alias = "start", value_name = "WHEN", value_parser = read_begin)]
    pub from: Option<Time>,
    /// New end
    #[arg(long, visible_alias = "end", value_name = "WHEN", value_parser = read_deadline,
          conflicts_with = "span")]
    pub to: Option<Time>,
    /// New duration, counted from its begin
    #[arg(long = "for", visible_alias = "duration", id = "span", value_name = "TIME")]
    pub span: Option<Span>,
    /// Users who may use it, replacing the current ones
    #[arg(
        short = 'u',
        long = "user",
        visible_alias = "users",
        value_name = "USERS",
        value_delimiter = ','
    )]
    pub users: Option<Vec<String>>,
    /// Groups that may use it, replacing the current ones
    #[arg(
        short = 'g',
        long = "group",
        visible_alias = "groups",
        value_name = "GROUPS",
        value_delimiter = ','
    )]
    pub groups: Option<Vec<String>>,
    /// Accounts that may use it, replacing the current ones
    #[arg(
        short = 'A',
        long = "account",
        visible_alias = "accounts",
        value_name = "ACCOUNTS",
        value_delimiter = ','
    )]
    pub accounts: Option<Vec<AccountName>>,
    /// For maintenance: no job may use it; `=false` allows jobs again
    #[arg(long, value_name = "true|false", num_args = 0..=1, require_equals = true,
          default_missing_value = "true")]
    pub maintenance: Option<bool>,
    /// New comment
    #[arg(long, value_name = "TEXT")]
    pub comment: Option<String>,
}

impl Update {
    fn patch(&self) -> ReservationPatch {
        ReservationPatch {
            nodes: self.nodes.clone().map(|hosts| hosts.0),
            from: self.from,
            to: self.to,
            users: self.users.clone(),
            groups: self.groups.clone(),
            accounts: self.accounts.clone(),
            maintenance: self.maintenance,
            comment: self.comment.clone(),
        }
    }
}

/// Changes a reservation, and shows it.
///
/// # Errors
/// [`Failure`] when the controller refuses or does not answer.
pub(super) async fn run(args: &Update, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let Answer { raw, typed } = change(&args.name, args.patch(), args.span, server).await?;
    if screen.json {
        screen.print_answer_json(&raw)?;
        return Ok(OK);
    }
    typed.reservations.iter().try_for_each(|changed| {
        screen.print_line(&format!("Reserved {}", reservations::summary(changed, &screen.zone)))
    })?;
    warn_of(&typed, server).await;
    Ok(OK)
}

/// Prints warnings about a reservation that was created or changed.
pub async fn warn_of(list: &ReservationList, server: &Server) {
    list.warnings.iter().for_each(|warning| warn(warning));
    let begun = list.reservations.iter().filter(|made| made.from <= list.as_of);
    busy::warn_of_jobs(server, &begun.flat_map(|made| &made.nodes).collect()).await;
}

/// Changes a reservation; if a duration is given, computes its end from its begin.
///
/// # Errors
/// As [`run`].
pub async fn change(
    name: &ReservationName,
    mut patch: ReservationPatch,
    span: Option<Span>,
    server: &Server,
) -> Result<Answer<ReservationList>, Failure> {
    if let Some(span) = span {
        let list: ReservationList = server.get("/v1/reservations").await?;
        let there_is = list.reservations.iter().find(|booking| booking.name == *name);
        let begin = patch.from.or(there_is.map(|booking| booking.from));
        patch.to = begin.map(|begin| begin + span);
    }
    let path = format!("/v1/reservations/{name}/update");
    let raw: Value = server.post(&path, &patch, Retry::IfUnsent).await?;
    raw.try_into()
}
