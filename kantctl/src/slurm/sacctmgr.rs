//! `sacctmgr show`: accounts, qualities of service, users and the cluster, in Slurm's columns.
//! Never changes any: they stand in kantctld.toml, and `kantctl reload` puts them in force.
//! Source: man sacctmgr.

mod people;
mod wish;

use super::name::{self, Common};
use super::sheet::{self, Apart, Column};
use crate::failure::{Failure, OK};
use crate::output::Screen;
use crate::server::Server;
use common::policy::Limits;
use common::wire::api::AccountList;
use wish::Wish;

const AFTER: &str = "\
Commands:
  show account | association | cluster | qos | user        (list is the same)
Words after it: names=A,B  users=A,B  accounts=A,B  withassoc  format=NAMES (Account%20,User)
Accounts, QoS and limits stand in the controller's configuration, which `kantctl reload` reads.";

/// Show accounts, QoS and limits, as Slurm's sacctmgr does
#[derive(clap::Parser, Debug)]
#[command(name = "sacctmgr", disable_help_flag = true, disable_version_flag = true)]
#[command(after_help = AFTER, override_usage = "sacctmgr [OPTIONS] show WHAT [WORD=VALUE]...")]
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
    /// Associations with what they are of, as `withassoc`
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
    let mut wish = Wish::read(words)?;
    wish.with_associations |= args.associations;
    let known: AccountList = server.get("/v1/accounts").await?;
    let cluster = name::cluster(server).await?;
    let sheet = match what.to_ascii_lowercase().as_str() {
        "account" | "accounts" | "acct" => accounts(&known, &wish),
        "association" | "associations" | "assoc" => people::associations(&known, &cluster, &wish),
        "cluster" | "clusters" => clusters(&cluster),
        "qos" => qos(&known, &wish),
        "user" | "users" => people::users(&known, &cluster, &wish),
        other => return Err(unknown(other)),
    };
    let Sheet { columns, rows } = wish.chosen(sheet)?;
    let apart = Apart::of(args.parsable, args.parsable2, None);
    for line in sheet::lines(&columns, &rows, &apart, !args.no_header, true) {
        screen.line(&line)?;
    }
    Ok(OK)
}

fn unknown(what: &str) -> Failure {
    Failure::usage(anyhow::anyhow!("`{what}` is not known here")).hint("see `sacctmgr --help`")
}

fn accounts(known: &AccountList, wish: &Wish) -> Sheet {
    let columns = vec![("Account", 10, true), ("Descr", 20, true), ("Org", 20, true)];
    let row = |name: String| vec![name.clone(), name.clone(), name];
    let names = known.accounts.iter().map(|one| one.name.to_string());
    let asked = |name: &String| Wish::takes(&wish.names, name) && Wish::takes(&wish.accounts, name);
    Sheet { columns, rows: names.filter(asked).map(row).collect() }
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

fn clusters(cluster: &str) -> Sheet {
    let columns = vec![("Cluster", 10, true), ("RPC", 5, true), ("Share", 9, true)];
    Sheet { columns, rows: vec![vec![cluster.to_owned(), "0".to_owned(), "1".to_owned()]] }
}

fn qos(known: &AccountList, wish: &Wish) -> Sheet {
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
    let asked = |qos: &&common::qos::Qos| Wish::takes(&wish.names, qos.name.as_str());
    Sheet { columns, rows: known.qos.iter().filter(asked).map(row).collect() }
}
