//! `scontrol create`, `update` and `delete` of reservations, as `kantctl reservations` does them.
//! A field or flag without a meaning here is refused by name: a booking that is not what was asked
//! for is worse than none.
//! Source: man scontrol, RESERVATIONS.

use super::Args;
use crate::failure::{Failure, OK};
use crate::output::Screen;
use crate::output::screen::note;
use crate::server::{Retry, Server};
use crate::slurm::calendar;
use crate::submission::gpus::read_kinds;
use crate::submission::value::read_count;
use crate::verb::reservations::update::{change, warn_of};
use common::gpu::GpuKind;
use common::hostlist::expand;
use common::id::{AccountName, NodeName, ReservationName};
use common::time::{Span, Time};
use common::unit::{Gpus, Nodes};
use common::wire::api::{NodeList, ReservationList, ReservationPatch, ReservationRequest};
use jiff::tz::TimeZone;
use serde_json::Value;

/// What Slurm takes for a booking without an end.
const ENDLESS: Span = Span::from_minutes(365 * 24 * 60);

/// The fields that were given.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wish {
    name: Option<ReservationName>,
    /// All nodes that there are, or these.
    all_nodes: bool,
    nodes: Option<Vec<NodeName>>,
    node_count: Option<u32>,
    gpus: Option<u32>,
    gpu_kind: Option<GpuKind>,
    from: Option<Time>,
    to: Option<Time>,
    span: Option<Span>,
    users: Option<Vec<String>>,
    groups: Option<Vec<String>>,
    accounts: Option<Vec<AccountName>>,
    maintenance: Option<bool>,
    comment: Option<String>,
}

impl Wish {
    fn read(fields: &[(String, &str)], now: Time, zone: &TimeZone) -> Result<Self, Failure> {
        let mut wish = Self::default();
        for (field, value) in fields {
            wish.take(field, value, now, zone)
                .map_err(|why| Failure::usage(anyhow::anyhow!("{field}={value}: {why}")))?;
        }
        if wish.maintenance == Some(true)
            && (wish.users.is_some() || wish.groups.is_some() || wish.accounts.is_some())
        {
            note("with Flags=MAINT no job runs there: Users, Groups and Accounts are left out");
            (wish.users, wish.groups, wish.accounts) = (None, None, None);
        }
        Ok(wish)
    }

    fn take(&mut self, field: &str, value: &str, now: Time, zone: &TimeZone) -> Result<(), String> {
        let list = || value.split(',').filter(|one| !one.is_empty()).map(str::to_owned).collect();
        let at = || calendar::read(value, now, zone).map(Some);
        match field {
            "reservationname" | "reservation" => self.name = Some(value.parse().map_err(text)?),
            "starttime" => self.from = at()?,
            "endtime" => self.to = at()?,
            "duration" => {
                let endless = ["infinite", "unlimited"].contains(&&*value.to_ascii_lowercase());
                self.span =
                    Some(if endless { ENDLESS } else { value.parse::<Span>().map_err(text)? });
            }
            "nodes" if value.eq_ignore_ascii_case("all") => self.all_nodes = true,
            "nodes" => self.nodes = Some(expand(value).map_err(text)?),
            "nodecnt" | "nodecount" => self.node_count = Some(read_count(value).map_err(text)?),
            "tres" => value.split(',').try_for_each(|one| self.resource(one))?,
            "users" | "user" => self.users = Some(list()),
            "groups" | "group" => self.groups = Some(list()),
            "accounts" | "account" => {
                let names: Vec<String> = list();
                let names = names.into_iter().map(AccountName::new);
                self.accounts = Some(names.collect::<Result<_, _>>().map_err(text)?);
            }
            "flags" => value.split(',').try_for_each(|one| self.flag(one))?,
            "comment" => self.comment = Some(value.to_owned()),
            _ => {
                return Err("no such field here: ReservationName, StartTime, EndTime, Duration, \
                            Nodes, NodeCnt, TRES, Users, Groups, Accounts, Flags and Comment are"
                    .to_owned());
            }
        }
        Ok(())
    }

    /// What runs there goes on, and nodes are whole, whether it is said or not.
    fn flag(&mut self, flag: &str) -> Result<(), String> {
        match flag.to_ascii_uppercase().as_str() {
            "MAINT" => self.maintenance = Some(true),
            "IGNORE_JOBS" | "SPEC_NODES" | "" => {}
            _ => {
                return Err(format!(
                    "{flag} is not supported: MAINT, IGNORE_JOBS and SPEC_NODES are"
                ));
            }
        }
        Ok(())
    }

    /// `node=4`, `gres/gpu=8`, `gres/gpu:h100=8`.
    fn resource(&mut self, text_of: &str) -> Result<(), String> {
        let (name, count) = text_of.split_once('=').ok_or("write gres/gpu=8 or node=4")?;
        let count = read_count(count).map_err(text)?;
        match name.split_once(':') {
            None if name == "node" => self.node_count = Some(count),
            None if name == "gres/gpu" => self.gpus = Some(count),
            Some(("gres/gpu", kind)) => {
                self.gpu_kind = read_kinds(kind).map_err(text)?.into_iter().next();
                self.gpus = Some(count);
            }
            _ => return Err(format!("{name} cannot be booked: write gres/gpu=8 or node=4")),
        }
        Ok(())
    }

    /// The nodes that are named, each by its name.
    async fn named(&self, server: &Server) -> Result<Option<Vec<NodeName>>, Failure> {
        if !self.all_nodes {
            return Ok(self.nodes.clone());
        }
        let list: NodeList = server.get("/v1/nodes").await?;
        Ok(Some(list.nodes.into_iter().map(|node| node.name).collect()))
    }

    /// What Slurm calls a booking without a name: after the first that may use it, and a number.
    fn usual_name(&self, known: &ReservationList) -> Result<ReservationName, Failure> {
        let account = self.accounts.iter().flatten().next().map(ToString::to_string);
        let user = self.users.iter().flatten().next().cloned();
        let first = user.or(account).unwrap_or_else(|| "resv".to_owned());
        let is_free = |name: &ReservationName| known.reservations.iter().all(|r| r.name != *name);
        let names = (1_u32..).map(|number| ReservationName::new(format!("{first}_{number}")));
        let mut names = names.take(known.reservations.len() + 1);
        let found = names.find(|name| name.as_ref().map_or(true, is_free));
        let none = || Failure::usage(anyhow::anyhow!("write ReservationName=NAME"));
        found.ok_or_else(none)?.map_err(Failure::usage)
    }
}

fn text(error: impl ToString) -> String {
    error.to_string()
}

fn now() -> Time {
    Time(u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0))
}

/// `reservation NAME=VALUE...`, or the fields alone.
fn fields<'a>(words: &[&'a str]) -> Result<Vec<(String, &'a str)>, Failure> {
    let bare = |word: &&&str| ["reservation", "res"].contains(&&*word.to_ascii_lowercase());
    let words = if words.first().as_ref().is_some_and(bare) { &words[1..] } else { words };
    let field = |word: &&'a str| match word.split_once('=') {
        Some((name, value)) => Ok((name.to_ascii_lowercase(), value)),
        None => Err(Failure::usage(anyhow::anyhow!(
            "`{word}`: write NAME=VALUE; reservations can be made and deleted here, what else \
             there is stands in kantctld.toml"
        ))),
    };
    words.iter().map(field).collect()
}

/// `scontrol create reservation NAME=VALUE...`
///
/// # Errors
/// [`Failure`] when a field is not known, or the controller refuses.
pub(super) async fn create(
    args: &Args,
    words: &[&str],
    server: &Server,
    screen: &Screen,
) -> Result<u8, Failure> {
    let now = now();
    let wish = Wish::read(&fields(words)?, now, &screen.zone)?;
    let from = wish.from.unwrap_or(now);
    let Some(to) = wish.to.or(wish.span.map(|span| from + span)) else {
        return Err(Failure::usage(anyhow::anyhow!("write Duration=MINUTES or EndTime=TIME")));
    };
    let name = match &wish.name {
        Some(name) => name.clone(),
        None => wish.usual_name(&server.get("/v1/reservations").await?)?,
    };
    let request = ReservationRequest {
        name,
        nodes: wish.named(server).await?.unwrap_or_default(),
        node_count: wish.node_count.map(Nodes),
        gpus: wish.gpus.map(Gpus),
        gpu_kind: wish.gpu_kind,
        from,
        to,
        flexible_until: None,
        users: wish.users.unwrap_or_default(),
        groups: wish.groups.unwrap_or_default(),
        accounts: wish.accounts.unwrap_or_default(),
        maintenance: wish.maintenance.unwrap_or_default(),
        comment: wish.comment.unwrap_or_default(),
    };
    let made: ReservationList = server.post("/v1/reservations", &request, Retry::IfUnsent).await?;
    if !args.quiet {
        screen.line(&format!("Reservation created: {}", request.name))?;
    }
    warn_of(&made, server).await;
    Ok(OK)
}

/// `scontrol update ReservationName=NAME NAME=VALUE...`
///
/// # Errors
/// As of [`create`].
pub(super) async fn update(
    args: &Args,
    fields: &[(String, &str)],
    server: &Server,
    screen: &Screen,
) -> Result<u8, Failure> {
    let wish = Wish::read(fields, now(), &screen.zone)?;
    let unnamed = || Failure::usage(anyhow::anyhow!("which one? Write ReservationName=NAME"));
    let name = wish.name.clone().ok_or_else(unnamed)?;
    if wish.node_count.is_some() || wish.gpus.is_some() {
        let refused = anyhow::anyhow!("NodeCnt and TRES cannot be changed: name the nodes, Nodes=");
        return Err(Failure::usage(refused));
    }
    let patch = ReservationPatch {
        nodes: wish.named(server).await?,
        from: wish.from,
        to: wish.to,
        users: wish.users,
        groups: wish.groups,
        accounts: wish.accounts,
        maintenance: wish.maintenance,
        comment: wish.comment,
    };
    if patch == ReservationPatch::default() && wish.span.is_none() {
        return Err(Failure::usage(anyhow::anyhow!("no change is named: write NAME=VALUE")));
    }
    let changed = change(&name, patch, wish.span, server).await?;
    if !args.quiet {
        screen.line("Reservation updated.")?;
    }
    warn_of(&changed.typed, server).await;
    Ok(OK)
}

/// `scontrol delete reservation NAME`, `scontrol delete ReservationName=NAME`
///
/// # Errors
/// As of [`create`].
pub(super) async fn delete(words: &[&str], server: &Server) -> Result<u8, Failure> {
    let joined: Vec<&str> = words.iter().flat_map(|word| word.splitn(2, '=')).collect();
    let (what, names) = joined.split_first().map_or(("", &[][..]), |(what, names)| (*what, names));
    let is_booking =
        ["reservation", "reservationname", "res"].contains(&&*what.to_ascii_lowercase());
    if !is_booking || names.is_empty() {
        let unknown = "delete what? Write `scontrol delete ReservationName=NAME`";
        return Err(Failure::usage(anyhow::anyhow!(unknown)));
    }
    for name in names.iter().flat_map(|names| names.split(',')) {
        let name: ReservationName = name.parse().map_err(Failure::usage)?;
        let path = format!("/v1/reservations/{name}/delete");
        server.post::<Value, Value>(&path, &Value::Null, Retry::IfUnsent).await?;
    }
    Ok(OK)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time(1_700_000_000_000);

    fn read(words: &str) -> Result<Wish, String> {
        let words: Vec<&str> = words.split(' ').collect();
        let fields = fields(&words).map_err(|failure| failure.to_string())?;
        Wish::read(&fields, NOW, &TimeZone::UTC).map_err(|failure| failure.to_string())
    }

    #[test]
    fn fields_of_a_reservation_are_read_as_slurm_writes_them() {
        let wish = read(
            "reservation ReservationName=exam StartTime=now+60 Duration=1-00:00:00 \
             TRES=gres/gpu:h100=8 Users=ada,bob Accounts=vision Flags=IGNORE_JOBS Comment=finals",
        );
        let expected = Wish {
            name: ReservationName::new("exam").ok(),
            gpus: Some(8),
            gpu_kind: read_kinds("h100").unwrap().pop(),
            from: Some(NOW + Span::from_seconds(60)),
            span: Some(Span::from_minutes(24 * 60)),
            users: Some(vec!["ada".to_owned(), "bob".to_owned()]),
            accounts: Some(vec![AccountName::new("vision").unwrap()]),
            comment: Some("finals".to_owned()),
            ..Wish::default()
        };
        assert_eq!(wish, Ok(expected));
        let wish =
            read("starttime=2030-01-01T00:00:00 duration=infinite nodes=ALL flags=maint user=root");
        let wish = wish.unwrap();
        assert_eq!((wish.all_nodes, wish.maintenance, wish.users), (true, Some(true), None));
        assert_eq!(wish.span, Some(ENDLESS));
        let known = ReservationList { reservations: Vec::new(), as_of: NOW, warnings: Vec::new() };
        let wish = read("Users=ada NodeCnt=2 EndTime=tomorrow").unwrap();
        assert_eq!(wish.usual_name(&known).unwrap().as_str(), "ada_1");
    }

    #[test]
    fn what_has_no_meaning_here_is_refused_by_name() {
        for (words, word) in [
            ("Flags=DAILY", "DAILY is not supported"),
            ("Licenses=matlab:1", "licenses=matlab:1: no such field"),
            ("CoreCnt=4", "NodeCnt"),
            ("TRES=cpu=4", "cpu cannot be booked"),
            ("partition", "write NAME=VALUE"),
            ("Users+=eve", "no such field"),
            ("StartTime=soon", "no time"),
            ("Duration=x", "duration=x"),
            ("ReservationName=a/b", "valid reservation name"),
        ] {
            let refused = read(words).unwrap_err();
            assert!(refused.contains(word), "{words}: {refused}");
        }
    }
}
