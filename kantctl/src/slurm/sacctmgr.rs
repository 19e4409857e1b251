//! `sacctmgr show`: accounts, qualities of service, users and the cluster, in Slurm's columns.
//! Never changes any: they stand in kantctld.toml, and `kantctl reload` puts them in force.
//! Source: man sacctmgr.

use super::name::{self, Common};
use super::sheet::{self, Apart, Column};
use crate::failure::{Failure, OK};
use crate::output::Screen;
use crate::server::Server;
use common::policy::{Access, Limits};
use common::wire::api::AccountList;

const AFTER: &str = "\
Commands:
  show account | association | cluster | qos | user        (list is the same)
Words after it: names=A,B  format=NAMES (of the columns shown)
Accounts, QoS and limits stand in the controller's configuration, which `kantctl reload` reads.";

/// Show accounts, QoS and limits, as Slurm's sacctmgr does
#[derive(clap::Parser, Debug)]
#[command(name = "sacctmgr", disable_help_flag = true, disable_version_flag = true)]
#[command(after_help = AFTER, override_usage = "sacctmgr [OPTIONS] show WHAT [WORD=VALUE]...")]
#[allow(missing_docs)] // each field's comment is its help
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    /// Change without asking (nothing is changed)
    #[arg(short = 'i', long)]
    pub immediate: bool,
    /// No titles
    #[arg(short = 'n', long = "noheader")]
    pub no_header: bool,
    /// Fields with | between them and at the end
    #[arg(short = 'p', long, overrides_with = "parsable2")]
    pub parsable: bool,
    /// Fields with | between them
    #[arg(short = 'P', long, overrides_with = "parsable")]
    pub parsable2: bool,
    /// Associations with what they are of (always)
    #[arg(short = 's', long = "associations")]
    pub associations: bool,
    /// The command and its words
    #[arg(value_name = "WORD", num_args = 1.., required = true)]
    pub words: Vec<String>,
}

/// What is shown: columns and rows.
struct Sheet {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

/// Shows what is asked.
///
/// # Errors
/// [`Failure`] when the controller does not answer, or a word is not known.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let [command, rest @ ..] = args.words.as_slice() else { return Err(unknown("")) };
    if !matches!(command.to_ascii_lowercase().as_str(), "show" | "list") {
        let refused = anyhow::anyhow!("sacctmgr {command} is not supported in this release");
        return Err(Failure::usage(refused).hint(
            "accounts, QoS and limits stand in kantctld.toml: change them there, and `kantctl \
             reload` puts them in force",
        ));
    }
    let [what, words @ ..] = rest else { return Err(unknown("show")) };
    let known: AccountList = server.get("/v1/accounts").await?;
    let cluster = name::cluster(server).await?;
    let sheet = match what.to_ascii_lowercase().as_str() {
        "account" | "accounts" | "acct" => accounts(&known),
        "association" | "associations" | "assoc" => associations(&known, &cluster),
        "cluster" | "clusters" => clusters(&cluster),
        "qos" => qos(&known),
        "user" | "users" => users(&known),
        other => return Err(unknown(other)),
    };
    let sheet = chosen(sheet, words)?;
    let apart = Apart::of(args.parsable, args.parsable2, None);
    for line in sheet::lines(&sheet.columns, &sheet.rows, &apart, !args.no_header, true) {
        screen.line(&line)?;
    }
    Ok(OK)
}

fn unknown(what: &str) -> Failure {
    Failure::usage(anyhow::anyhow!("`{what}` is not known here")).hint("see `sacctmgr --help`")
}

/// The columns and names that the words ask for.
fn chosen(sheet: Sheet, words: &[String]) -> Result<Sheet, Failure> {
    let Sheet { mut columns, mut rows } = sheet;
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or(("names", word));
        let list: Vec<&str> = value.split(',').filter(|one| !one.is_empty()).collect();
        match key.to_ascii_lowercase().as_str() {
            "names" | "name" | "account" | "accounts" | "user" | "users" | "where" => {
                rows.retain(|row| {
                    list.is_empty() || row.iter().any(|c| list.contains(&c.as_str()))
                });
            }
            "format" => {
                let place = |name: &&str| {
                    let name = name.split('%').next().unwrap_or_default();
                    let found = columns.iter().position(|c| c.0.eq_ignore_ascii_case(name));
                    found.ok_or_else(|| unknown(name))
                };
                let places: Vec<usize> = list.iter().map(place).collect::<Result<_, _>>()?;
                columns = places.iter().map(|place| columns[*place]).collect();
                let pick = |row: Vec<String>| places.iter().map(|p| row[*p].clone()).collect();
                rows = rows.into_iter().map(pick).collect();
            }
            // Deleted ones are not kept; associations are always shown.
            "withassoc" | "withdeleted" | "cluster" | "clusters" | "tree" => {}
            other => return Err(unknown(other)),
        }
    }
    Ok(Sheet { columns, rows })
}

fn accounts(known: &AccountList) -> Sheet {
    let columns = vec![("Account", 10, true), ("Descr", 20, true), ("Org", 20, true)];
    let row = |name: String| vec![name.clone(), name.clone(), name];
    Sheet { columns, rows: known.accounts.iter().map(|one| row(one.name.to_string())).collect() }
}

/// `cpu=100,gres/gpu=8`.
fn tres(limits: &Limits) -> String {
    let mut parts = Vec::new();
    parts.extend(limits.gpus.map(|gpus| format!("gres/gpu={gpus}")));
    parts.extend(limits.cpus.map(|cpus| format!("cpu={cpus}")));
    parts.sort_unstable();
    parts.join(",")
}

fn number(number: Option<u32>) -> String {
    number.map(|number| number.to_string()).unwrap_or_default()
}

fn associations(known: &AccountList, cluster: &str) -> Sheet {
    let columns = vec![
        ("Cluster", 10, true),
        ("Account", 10, true),
        ("User", 10, true),
        ("Share", 9, true),
        ("GrpJobs", 7, true),
        ("GrpTRES", 13, true),
        ("MaxJobs", 7, true),
        ("QOS", 20, true),
    ];
    let qos: Vec<String> = known.qos.iter().map(|qos| qos.name.to_string()).collect();
    let qos = qos.join(",");
    let mut rows = Vec::new();
    for account in &known.accounts {
        let line = |user: String, share: String, all: &Limits, each: &Limits| {
            let (jobs, most) = (number(all.jobs), number(each.jobs));
            let (cluster, name) = (cluster.to_owned(), account.name.to_string());
            vec![cluster, name, user, share, jobs, tres(all), most, qos.clone()]
        };
        let (all, each) = (&account.limits, &account.limits_per_user);
        rows.push(line(String::new(), account.shares.to_string(), all, each));
        for user in members(&account.access) {
            rows.push(line(user, String::new(), each, each));
        }
    }
    Sheet { columns, rows }
}

/// Users by name, groups with an `@`.
fn members(access: &Access) -> Vec<String> {
    let users = access.users.iter().map(|uid| {
        let id = nix::unistd::Uid::from_raw(uid.0);
        let user = nix::unistd::User::from_uid(id).ok().flatten();
        user.map_or_else(|| uid.to_string(), |user| user.name)
    });
    let groups = access.groups.iter().map(|gid| format!("@{gid}"));
    users.chain(groups).collect()
}

fn clusters(cluster: &str) -> Sheet {
    let columns = vec![("Cluster", 10, true), ("RPC", 5, true), ("Share", 9, true)];
    Sheet { columns, rows: vec![vec![cluster.to_owned(), "0".to_owned(), "1".to_owned()]] }
}

fn qos(known: &AccountList) -> Sheet {
    let columns = vec![
        ("Name", 10, true),
        ("Priority", 10, true),
        ("PreemptMode", 11, true),
        ("MaxWall", 11, true),
        ("GrpTRES", 13, true),
        ("GrpJobs", 7, true),
        ("MaxTRESPU", 13, true),
        ("MaxJobsPU", 9, true),
    ];
    let row = |qos: &common::qos::Qos| {
        vec![
            qos.name.to_string(),
            qos.priority.to_string(),
            match qos.preemptible {
                Some(true) => "requeue".to_owned(),
                Some(false) => "off".to_owned(),
                None => "cluster".to_owned(),
            },
            qos.time_limit_max.map(super::calendar::long_span).unwrap_or_default(),
            tres(&qos.limits),
            number(qos.limits.jobs),
            tres(&qos.limits_per_user),
            number(qos.limits_per_user.jobs),
        ]
    };
    Sheet { columns, rows: known.qos.iter().map(row).collect() }
}

fn users(known: &AccountList) -> Sheet {
    let columns = vec![("User", 10, true), ("Def Acct", 10, true), ("Admin", 9, true)];
    let mut rows: Vec<Vec<String>> = Vec::new();
    for account in &known.accounts {
        for user in members(&account.access) {
            // The first that names one is charged where a job names none.
            if !rows.iter().any(|row| row[0] == user) {
                rows.push(vec![user, account.name.to_string(), "None".to_owned()]);
            }
        }
    }
    Sheet { columns, rows }
}
