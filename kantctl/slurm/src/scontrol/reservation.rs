//! `scontrol create`, `update` and `delete` of reservations, as `kantctl reservations` does them. A
//! field or flag without a meaning here is refused by name: a reservation other than the requested
//! one is worse than none.
//! Source: man scontrol, RESERVATIONS.

use super::Args;
use cli::clock::now;
use cli::failure::{Failure, OK};
use cli::output::Screen;
use cli::output::screen::note;
use cli::server::{Retry, Server};
use cli::slurm_time;
use cli::verb::reservations::update::{change, warn_of};
use common::gpu::GpuKind;
use common::hostlist::expand;
use common::id::{AccountName, NodeName, ReservationName};
use common::job::attributes::read_count;
use common::job::attributes::read_kinds;
use common::time::{Span, Time};
use common::unit::{Gpus, Nodes};
use common::wire::api::{NodeList, ReservationList, ReservationPatch, ReservationRequest};
use jiff::tz::TimeZone;
use serde_json::Value;

/// The duration that Slurm uses for `infinite`.
const UNLIMITED_DURATION: Span = Span::from_minutes(365 * 24 * 60);

/// The given fields.
#[derive(Debug, Default, PartialEq, Eq)]
struct ReservationFields {
    name: Option<ReservationName>,
    /// `Nodes=ALL`.
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

impl ReservationFields {
    fn parse(words: &[(String, &str)], now: Time, zone: &TimeZone) -> Result<Self, Failure> {
        let mut fields = Self::default();
        for (field, value) in words {
            fields
                .set(field, value, now, zone)
                .map_err(|why| Failure::usage(anyhow::anyhow!("{field}={value}: {why}")))?;
        }
        if fields.maintenance == Some(true)
            && (fields.users.is_some() || fields.groups.is_some() || fields.accounts.is_some())
        {
            note("Users, Groups and Accounts are ignored: with Flags=MAINT no job runs there");
            (fields.users, fields.groups, fields.accounts) = (None, None, None);
        }
        Ok(fields)
    }

    fn set(&mut self, field: &str, value: &str, now: Time, zone: &TimeZone) -> Result<(), String> {
        let list = || value.split(',').filter(|one| !one.is_empty()).map(str::to_owned).collect();
        let at = || slurm_time::parse_time(value, now, zone).map(Some);
        match field {
            "reservationname" | "reservation" => {
                self.name = Some(value.parse().map_err(error_text)?)
            }
            "starttime" => self.from = at()?,
            "endtime" => self.to = at()?,
            "duration" => {
                let is_unlimited =
                    ["infinite", "unlimited"].contains(&&*value.to_ascii_lowercase());
                self.span = Some(if is_unlimited {
                    UNLIMITED_DURATION
                } else {
                    value.parse::<Span>().map_err(error_text)?
                });
            }
            "nodes" if value.eq_ignore_ascii_case("all") => self.all_nodes = true,
            "nodes" => self.nodes = Some(expand(value).map_err(error_text)?),
            "nodecnt" | "nodecount" => {
                self.node_count = Some(read_count(value).map_err(error_text)?)
            }
            "tres" => value.split(',').try_for_each(|one| self.set_resource(one))?,
            "users" | "user" => self.users = Some(list()),
            "groups" | "group" => self.groups = Some(list()),
            "accounts" | "account" => {
                let names: Vec<String> = list();
                let names = names.into_iter().map(AccountName::new);
                self.accounts = Some(names.collect::<Result<_, _>>().map_err(error_text)?);
            }
            "flags" => value.split(',').try_for_each(|one| self.set_flag(one))?,
            "comment" => self.comment = Some(value.to_owned()),
            _ => {
                return Err("no such field: fields are ReservationName, StartTime, EndTime, \
                            Duration, Nodes, NodeCnt, TRES, Users, Groups, Accounts, Flags and \
                            Comment"
                    .to_owned());
            }
        }
        Ok(())
    }

    /// `IGNORE_JOBS` and `SPEC_NODES` have no effect: running jobs always continue, and a
    /// reservation always has whole nodes.
    fn set_flag(&mut self, flag: &str) -> Result<(), String> {
        match flag.to_ascii_uppercase().as_str() {
            "MAINT" => self.maintenance = Some(true),
            "IGNORE_JOBS" | "SPEC_NODES" | "" => {}
            _ => {
                return Err(format!(
                    "{flag} is not supported: flags are MAINT, IGNORE_JOBS and SPEC_NODES"
                ));
            }
        }
        Ok(())
    }

    /// `node=4`, `gres/gpu=8`, `gres/gpu:h100=8`.
    fn set_resource(&mut self, text: &str) -> Result<(), String> {
        let (name, count) = text.split_once('=').ok_or("write gres/gpu=8 or node=4")?;
        let count = read_count(count).map_err(error_text)?;
        match name.split_once(':') {
            None if name == "node" => self.node_count = Some(count),
            None if name == "gres/gpu" => self.gpus = Some(count),
            Some(("gres/gpu", kind)) => {
                self.gpu_kind = read_kinds(kind).map_err(error_text)?.into_iter().next();
                self.gpus = Some(count);
            }
            _ => return Err(format!("{name} cannot be reserved: write gres/gpu=8 or node=4")),
        }
        Ok(())
    }

    /// The names of the requested nodes.
    async fn node_names(&self, server: &Server) -> Result<Option<Vec<NodeName>>, Failure> {
        if !self.all_nodes {
            return Ok(self.nodes.clone());
        }
        let list: NodeList = server.get("/v1/nodes").await?;
        Ok(Some(list.nodes.into_iter().map(|node| node.name).collect()))
    }

    /// Slurm's name for an unnamed reservation: the first user or account, and a number.
    fn default_name(&self, known: &ReservationList) -> Result<ReservationName, Failure> {
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

fn error_text(error: impl ToString) -> String {
    error.to_string()
}

/// `reservation NAME=VALUE...`, or the fields alone.
fn read_fields<'a>(words: &[&'a str]) -> Result<Vec<(String, &'a str)>, Failure> {
    let bare = |word: &&&str| ["reservation", "res"].contains(&&*word.to_ascii_lowercase());
    let words = if words.first().as_ref().is_some_and(bare) { &words[1..] } else { words };
    let field = |word: &&'a str| match word.split_once('=') {
        Some((name, value)) => Ok((name.to_ascii_lowercase(), value)),
        None => Err(Failure::usage(anyhow::anyhow!(
            "`{word}`: write NAME=VALUE; only reservations can be created and deleted, everything \
             else is configured in kantctld.toml"
        ))),
    };
    words.iter().map(field).collect()
}

/// `scontrol create reservation NAME=VALUE...`
///
/// # Errors
/// [`Failure`] when a field is unknown, or the controller refuses.
pub(super) async fn create(
    args: &Args,
    words: &[&str],
    server: &Server,
    screen: &Screen,
) -> Result<u8, Failure> {
    let now = now();
    let fields = ReservationFields::parse(&read_fields(words)?, now, &screen.zone)?;
    let from = fields.from.unwrap_or(now);
    let Some(to) = fields.to.or(fields.span.map(|span| from + span)) else {
        return Err(Failure::usage(anyhow::anyhow!("write Duration=MINUTES or EndTime=TIME")));
    };
    let name = match &fields.name {
        Some(name) => name.clone(),
        None => fields.default_name(&server.get("/v1/reservations").await?)?,
    };
    let request = ReservationRequest {
        name,
        nodes: fields.node_names(server).await?.unwrap_or_default(),
        node_count: fields.node_count.map(Nodes),
        gpus: fields.gpus.map(Gpus),
        gpu_kind: fields.gpu_kind,
        from,
        to,
        flexible_until: None,
        users: fields.users.unwrap_or_default(),
        groups: fields.groups.unwrap_or_default(),
        accounts: fields.accounts.unwrap_or_default(),
        maintenance: fields.maintenance.unwrap_or_default(),
        comment: fields.comment.unwrap_or_default(),
    };
    let made: ReservationList = server.post("/v1/reservations", &request, Retry::IfUnsent).await?;
    if !args.quiet {
        screen.print_line(&format!("Reservation created: {}", request.name))?;
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
    let fields = ReservationFields::parse(fields, now(), &screen.zone)?;
    let unnamed =
        || Failure::usage(anyhow::anyhow!("no reservation given: write ReservationName=NAME"));
    let name = fields.name.clone().ok_or_else(unnamed)?;
    if fields.node_count.is_some() || fields.gpus.is_some() {
        let refused = anyhow::anyhow!("NodeCnt and TRES cannot be changed: name the nodes, Nodes=");
        return Err(Failure::usage(refused));
    }
    let patch = ReservationPatch {
        nodes: fields.node_names(server).await?,
        from: fields.from,
        to: fields.to,
        users: fields.users,
        groups: fields.groups,
        accounts: fields.accounts,
        maintenance: fields.maintenance,
        comment: fields.comment,
    };
    if patch == ReservationPatch::default() && fields.span.is_none() {
        return Err(Failure::usage(anyhow::anyhow!("no change given: write NAME=VALUE")));
    }
    let changed = change(&name, patch, fields.span, server).await?;
    if !args.quiet {
        screen.print_line("Reservation updated.")?;
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
        let unknown = "only reservations can be deleted: write `scontrol delete \
                       ReservationName=NAME`";
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

    fn read(words: &str) -> Result<ReservationFields, String> {
        let words: Vec<&str> = words.split(' ').collect();
        let fields = read_fields(&words).map_err(|failure| failure.to_string())?;
        ReservationFields::parse(&fields, NOW, &TimeZone::UTC)
            .map_err(|failure| failure.to_string())
    }

    #[test]
    fn fields_of_a_reservation_are_parsed_as_slurm_writes_them() {
        let fields = read(
            "reservation ReservationName=exam StartTime=now+60 Duration=1-00:00:00 \
             TRES=gres/gpu:h100=8 Users=ada,bob Accounts=vision Flags=IGNORE_JOBS Comment=finals",
        );
        let expected = ReservationFields {
            name: ReservationName::new("exam").ok(),
            gpus: Some(8),
            gpu_kind: read_kinds("h100").unwrap().pop(),
            from: Some(NOW + Span::from_seconds(60)),
            span: Some(Span::from_minutes(24 * 60)),
            users: Some(vec!["ada".to_owned(), "bob".to_owned()]),
            accounts: Some(vec![AccountName::new("vision").unwrap()]),
            comment: Some("finals".to_owned()),
            ..ReservationFields::default()
        };
        assert_eq!(fields, Ok(expected));
        let fields =
            read("starttime=2030-01-01T00:00:00 duration=infinite nodes=ALL flags=maint user=root");
        let fields = fields.unwrap();
        assert_eq!((fields.all_nodes, fields.maintenance, fields.users), (true, Some(true), None));
        assert_eq!(fields.span, Some(UNLIMITED_DURATION));
        let known = ReservationList { reservations: Vec::new(), as_of: NOW, warnings: Vec::new() };
        let fields = read("Users=ada NodeCnt=2 EndTime=tomorrow").unwrap();
        assert_eq!(fields.default_name(&known).unwrap().as_str(), "ada_1");
    }

    #[test]
    fn unsupported_fields_and_values_are_refused_by_name() {
        for (words, word) in [
            ("Flags=DAILY", "DAILY is not supported"),
            ("Licenses=matlab:1", "licenses=matlab:1: no such field"),
            ("CoreCnt=4", "NodeCnt"),
            ("TRES=cpu=4", "cpu cannot be reserved"),
            ("partition", "write NAME=VALUE"),
            ("Users+=eve", "no such field"),
            ("StartTime=soon", "not a time"),
            ("Duration=x", "duration=x"),
            ("ReservationName=a/b", "valid reservation name"),
        ] {
            let refused = read(words).unwrap_err();
            assert!(refused.contains(word), "{words}: {refused}");
        }
    }
}
