//! `sacctmgr show`: accounts, QoS, users and the cluster, in Slurm's columns. It changes nothing:
//! they are configured in kantctld.toml, which `kantctl reload` applies.
//! Source: man sacctmgr.

mod associations;
mod query;

use super::cluster_name::cluster_name;
use super::fixed_columns::{self, Column, Separator};
use super::shared_options::Common;
use cli::failure::{Failure, OK};
use cli::output::Screen;
use cli::server::Server;
use common::policy::Limits;
use common::wire::api::AccountList;
use query::Query;

const AFTER: &str = "\
Commands:
  show account | association | cluster | qos | user        (list is the same)
Options: names=A,B  users=A,B  accounts=A,B  withassoc  format=NAMES (Account%20,User)
Accounts, QoS and limits are set in the controller's configuration, which `kantctl reload` reads.";

/// Show accounts, QoS and limits, as Slurm's sacctmgr does
#[derive(clap::Parser, Debug)]
#[command(name = "sacctmgr", disable_help_flag = true, disable_version_flag = true)]
#[command(after_help = AFTER, override_usage = "sacctmgr [OPTIONS] show WHAT [WORD=VALUE]...")]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    /// Do not ask for confirmation (ignored: nothing is changed)
    #[arg(short = 'i', long)]
    pub immediate: bool,
    /// Omit the header
    #[arg(short = 'n', long = "noheader")]
    pub no_header: bool,
    /// Separate fields with |, also after the last
    #[arg(short = 'p', long, overrides_with = "parsable2")]
    pub parsable: bool,
    /// Separate fields with |
    #[arg(short = 'P', long, overrides_with = "parsable")]
    pub parsable2: bool,
    /// Include associations, as with `withassoc`
    #[arg(short = 's', long = "associations")]
    pub associations: bool,
    /// The command and its arguments
    #[arg(value_name = "WORD", num_args = 1.., required = true)]
    pub words: Vec<String>,
}

/// The columns and rows to show.
struct Listing {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

/// Runs `sacctmgr show`.
///
/// # Errors
/// [`Failure`] when the controller does not answer, or an argument is unknown.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let [command, rest @ ..] = args.words.as_slice() else { return Err(unknown("")) };
    if !matches!(command.to_ascii_lowercase().as_str(), "show" | "list") {
        let refused = anyhow::anyhow!("sacctmgr {command} is not supported in this release");
        return Err(Failure::usage(refused).with_hint(
            "accounts, QoS and limits are set in kantctld.toml: change them there and run `kantctl \
             reload`",
        ));
    }
    let [what, words @ ..] = rest else { return Err(unknown("show")) };
    let mut query = Query::read(words)?;
    query.with_associations |= args.associations;
    let known: AccountList = server.get("/v1/accounts").await?;
    let cluster = cluster_name(server).await?;
    let listing = match what.to_ascii_lowercase().as_str() {
        "account" | "accounts" | "acct" => accounts(&known, &query),
        "association" | "associations" | "assoc" => {
            associations::associations(&known, &cluster, &query)
        }
        "cluster" | "clusters" => clusters(&cluster),
        "qos" => qos(&known, &query),
        "user" | "users" => associations::users(&known, &cluster, &query),
        other => return Err(unknown(other)),
    };
    let Listing { columns, rows } = query.select(listing)?;
    let separator = Separator::from_options(args.parsable, args.parsable2);
    for line in fixed_columns::lines(&columns, &rows, separator, !args.no_header) {
        screen.print_line(&line)?;
    }
    Ok(OK)
}

fn unknown(what: &str) -> Failure {
    Failure::usage(anyhow::anyhow!("unknown argument `{what}`")).with_hint("see `sacctmgr --help`")
}

fn accounts(known: &AccountList, query: &Query) -> Listing {
    let columns = vec![("Account", 10, true), ("Descr", 20, true), ("Org", 20, true)];
    let row = |name: String| vec![name.clone(), name.clone(), name];
    let names = known.accounts.iter().map(|one| one.name.to_string());
    let is_selected = |name: &String| {
        Query::selects_name(&query.names, name) && Query::selects_name(&query.accounts, name)
    };
    Listing { columns, rows: names.filter(is_selected).map(row).collect() }
}

/// `cpu=100,gres/gpu=8`.
fn tres(limits: &Limits) -> String {
    let mut parts = Vec::new();
    parts.extend(limits.gpus.map(|gpus| format!("gres/gpu={gpus}")));
    parts.extend(limits.cpus.map(|cpus| format!("cpu={cpus}")));
    parts.sort_unstable();
    parts.join(",")
}

fn optional_number(number: Option<u32>) -> String {
    number.map(|number| number.to_string()).unwrap_or_default()
}

fn clusters(cluster: &str) -> Listing {
    let columns = vec![("Cluster", 10, true), ("RPC", 5, true), ("Share", 9, true)];
    Listing { columns, rows: vec![vec![cluster.to_owned(), "0".to_owned(), "1".to_owned()]] }
}

fn qos(known: &AccountList, query: &Query) -> Listing {
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
    let row = |qos: &common::policy::qos::Qos| {
        vec![
            qos.name.to_string(),
            qos.priority.to_string(),
            match qos.preemptible {
                Some(true) => "requeue".to_owned(),
                Some(false) => "off".to_owned(),
                None => "cluster".to_owned(),
            },
            qos.time_limit_max.map(cli::slurm_time::long_span).unwrap_or_default(),
            tres(&qos.limits),
            optional_number(qos.limits.jobs),
            tres(&qos.limits_per_user),
            optional_number(qos.limits_per_user.jobs),
        ]
    };
    let is_selected =
        |qos: &&common::policy::qos::Qos| Query::selects_name(&query.names, qos.name.as_str());
    Listing { columns, rows: known.qos.iter().filter(is_selected).map(row).collect() }
}
