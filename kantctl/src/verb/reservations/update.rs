//! `kantctl reservations update`: another time, other nodes or users of a booking, in one step, so
//! that no job gets onto its nodes between the two.

use super::busy;
use crate::failure::{Failure, OK};
use crate::output::screen::warn;
use crate::output::{Screen, reservations};
use crate::server::{Again, Server};
use crate::submission::begin::{read_begin, read_deadline};
use crate::submission::value::Hosts;
use crate::verb::ask::Answer;
use clap::ArgGroup;
use common::id::{AccountName, ReservationName};
use common::time::{Span, Time};
use common::wire::api::{ReservationList, ReservationPatch};
use serde_json::Value;

const CHANGES: [&str; 9] =
    ["nodes", "from", "to", "span", "users", "groups", "accounts", "maintenance", "comment"];

/// Arguments of `reservations update`.
#[derive(clap::Args, Debug, Clone)]
#[command(group(ArgGroup::new("change").required(true).multiple(true).args(CHANGES)))]
pub struct Update {
    /// Its name
    #[arg(value_name = "NAME")]
    pub name: ReservationName,
    /// These nodes instead
    #[arg(short = 'w', long, value_name = "NODES")]
    pub nodes: Option<Hosts>,
    /// When it begins
    #[arg(long, visible_alias = "start", value_name = "WHEN", value_parser = read_begin)]
    pub from: Option<Time>,
    /// When it ends
    #[arg(long, visible_alias = "end", value_name = "WHEN", value_parser = read_deadline,
          conflicts_with = "span")]
    pub to: Option<Time>,
    /// How long it lasts, from its begin on
    #[arg(long = "for", visible_alias = "duration", id = "span", value_name = "TIME")]
    pub span: Option<Span>,
    /// Users that may use it, instead of those before
    #[arg(
        short = 'u',
        long = "user",
        visible_alias = "users",
        value_name = "USERS",
        value_delimiter = ','
    )]
    pub users: Option<Vec<String>>,
    /// Groups that may use it, instead of those before
    #[arg(
        short = 'g',
        long = "group",
        visible_alias = "groups",
        value_name = "GROUPS",
        value_delimiter = ','
    )]
    pub groups: Option<Vec<String>>,
    /// Accounts that may use it, instead of those before
    #[arg(
        short = 'A',
        long = "account",
        visible_alias = "accounts",
        value_name = "ACCOUNTS",
        value_delimiter = ','
    )]
    pub accounts: Option<Vec<AccountName>>,
    /// No job at all runs there meanwhile; with `=false`, jobs do again
    #[arg(long, value_name = "true|false", num_args = 0..=1, require_equals = true,
          default_missing_value = "true")]
    pub maintenance: Option<bool>,
    /// Another word about it
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

/// Changes a booking, and shows it.
///
/// # Errors
/// [`Failure`] when the controller refuses or does not answer.
pub(super) async fn run(args: &Update, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let Answer { raw, typed } = change(&args.name, args.patch(), args.span, server).await?;
    if screen.json {
        screen.answer(&raw)?;
        return Ok(OK);
    }
    typed.reservations.iter().try_for_each(|changed| {
        screen.line(&format!("Reserved {}", reservations::summary(changed, &screen.zone)))
    })?;
    warn_of(&typed, server).await;
    Ok(OK)
}

/// Says what is probably not meant of a booking that was made or changed.
pub async fn warn_of(list: &ReservationList, server: &Server) {
    list.warnings.iter().for_each(|warning| warn(warning));
    let begun = list.reservations.iter().filter(|made| made.from <= list.as_of);
    busy::warn_of_jobs(server, &begun.flat_map(|made| &made.nodes).collect()).await;
}

/// Changes a booking; with a length, its end follows from its begin.
///
/// # Errors
/// As of [`run`].
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
    let raw: Value = server.post(&path, &patch, Again::IfUnsent).await?;
    raw.try_into()
}
