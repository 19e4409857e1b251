//! `sreport`: usage reports by account, user and job size. A report or option of Slurm's without a
//! meaning here is refused by name.
//! Source: man sreport.

mod arguments;
mod measure;

use super::cluster_name::cluster_name;
use super::fixed_columns::{self, Column, Separator};
use super::shared_options::Common;
use arguments::ReportArguments;
use cli::clock;
use cli::failure::{Failure, OK};
use cli::output::Screen;
use cli::output::report::Amounts;
use cli::server::Server;
use cli::slurm_time;
use cli::verb::report::fetch_report;
use common::time::Time;
use common::wire::api::{ReportRow, ReportView};
use measure::Measure;
use std::collections::{BTreeMap, BTreeSet};

const AFTER: &str = "\
Reports:
  cluster Utilization              allocated, idle, drained and down time
  cluster AccountUtilizationByUser usage by account, then by user
  cluster UserUtilizationByAccount usage by user, then by account
  user TopUsage                    the users with the highest usage (TopCount=10)
  job SizesByAccount               usage by account and job size
Options of a report: Start=TIME End=TIME Users=A,B Accounts=A,B TopCount=N Group
Times are written as for `sacct -S`. The default is yesterday.";

/// Report usage, as Slurm's sreport does
#[derive(clap::Parser, Debug)]
#[command(name = "sreport", disable_help_flag = true, disable_version_flag = true)]
#[command(after_help = AFTER, override_usage = "sreport [OPTIONS] REPORT [WORD=VALUE]...")]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    /// Omit the header
    #[arg(short = 'n', long = "noheader")]
    pub no_header: bool,
    /// Separate fields with |, also after the last
    #[arg(short = 'p', long, overrides_with = "parsable2")]
    pub parsable: bool,
    /// Separate fields with |
    #[arg(short = 'P', long, overrides_with = "parsable")]
    pub parsable2: bool,
    /// Unit of usage: Seconds, Minutes, Hours, Percent
    #[arg(short = 't', value_name = "UNIT", default_value = "Minutes")]
    pub unit: String,
    /// Resource to report: cpu, gres/gpu
    #[arg(short = 'T', long, value_name = "TRES", default_value = "cpu")]
    pub tres: String,
    /// The report and its options
    #[arg(value_name = "WORD", num_args = 1.., required = true)]
    pub words: Vec<String>,
}

/// A report.
struct Listing {
    title: &'static str,
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

/// Shows a report.
///
/// # Errors
/// [`Failure`] when the controller does not answer, or there is no such report.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let measure = Measure::from_args(args)?;
    let now = clock::now();
    let [kind, rest @ ..] = args.words.as_slice() else { return Err(unknown("")) };
    let [which, words @ ..] = rest else { return Err(unknown(kind)) };
    let arguments = ReportArguments::read(words, now, screen)?;
    let cluster = cluster_name(server).await?;
    let by = match (kind.to_ascii_lowercase().as_str(), which.to_ascii_lowercase().as_str()) {
        ("cluster", "utilization" | "util") => "",
        ("cluster", "accountutilizationbyuser" | "accountutil") => "account,user",
        ("cluster", "userutilizationbyaccount" | "userutil") => "user,account",
        ("user", "topusage" | "top") => "user,account",
        ("job" | "jobs", "sizesbyaccount" | "sizes") => "account,cpus,gpus",
        _ => return Err(unknown(&format!("{kind} {which}"))),
    };
    let lists = [("users", &arguments.users[..]), ("accounts", &arguments.accounts[..])];
    let lists = [lists[0], lists[1], ("queues", &[][..])];
    let report =
        fetch_report(server, by, arguments.since, Some(arguments.until), lists).await?.typed;
    let whole =
        fetch_report(server, "", arguments.since, Some(arguments.until), [("", &[][..]); 3])
            .await?
            .typed;
    let all = measure.amounts(&whole).all;
    let listing = match by {
        "" => utilization(&cluster, measure, &whole),
        "account,user" => by_account(&cluster, measure, &report, all),
        "user,account" if kind.eq_ignore_ascii_case("user") => {
            top_users(&cluster, measure, &report, all, &arguments)
        }
        "user,account" => by_user(&cluster, measure, &report, all),
        _ => sizes(&cluster, measure, &report),
    };
    show(args, measure, &report, &listing, screen)
}

fn unknown(what: &str) -> Failure {
    let refused = Failure::usage(anyhow::anyhow!("unknown report `{what}`"));
    refused.with_hint("see `sreport --help`, and `kantctl report`")
}

fn show(
    args: &Args,
    measure: Measure,
    report: &ReportView,
    listing: &Listing,
    screen: &Screen,
) -> Result<u8, Failure> {
    let separator = Separator::from_options(args.parsable, args.parsable2);
    if !args.no_header {
        let rule = "-".repeat(80);
        let at = |time| slurm_time::format_time(time, &screen.zone);
        // Slurm prints the last second within the report.
        let last = Time(report.until.0.saturating_sub(1000));
        let what = if measure.gpus { "TRES" } else { "CPU" };
        screen.print_line(&rule)?;
        screen.print_line(&format!("{} {} - {}", listing.title, at(report.since), at(last)))?;
        screen.print_line(&format!("Usage reported in {what} {}", measure.unit))?;
        screen.print_line(&rule)?;
    }
    let titled = !args.no_header;
    for line in fixed_columns::lines(&listing.columns, &listing.rows, separator, titled) {
        screen.print_line(&line)?;
    }
    Ok(OK)
}

fn utilization(cluster: &str, measure: Measure, report: &ReportView) -> Listing {
    let Amounts { used, down, drained, idle, all } = measure.amounts(report);
    let show = |amount| measure.show(amount, all);
    let row = [show(used), show(down), show(drained), show(idle), show(0), show(all)];
    Listing {
        title: "Cluster Utilization",
        columns: vec![
            ("Cluster", 9, true),
            ("Allocate", 12, true),
            ("Down", 12, true),
            ("PLND Dow", 12, true),
            ("Idle", 12, true),
            ("Planned", 12, true),
            ("Reported", 12, true),
        ],
        rows: vec![std::iter::once(cluster.to_owned()).chain(row).collect()],
    }
}

fn account(row: &ReportRow) -> String {
    row.group.account.clone().filter(|name| !name.is_empty()).unwrap_or_else(|| "(none)".to_owned())
}

fn user(row: &ReportRow) -> String {
    row.group.user.clone().unwrap_or_default()
}

/// The total of each account, followed by its users.
fn by_account(cluster: &str, measure: Measure, report: &ReportView, all: u64) -> Listing {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for row in &report.rows {
        *sums.entry(account(row)).or_default() += measure.amount_of_row(row);
    }
    let mut rows = Vec::new();
    let line = |account: &str, login: &str, amount| {
        let amount = measure.show(amount, all);
        let proper = proper_name(login);
        vec![cluster.to_owned(), account.to_owned(), login.to_owned(), proper, amount, "0".into()]
    };
    for (name, sum) in &sums {
        rows.push(line(name, "", *sum));
        for row in report.rows.iter().filter(|row| account(row) == *name) {
            rows.push(line(name, &user(row), measure.amount_of_row(row)));
        }
    }
    let columns = vec![
        ("Cluster", 9, true),
        ("Account", 15, true),
        ("Login", 9, true),
        ("Proper Name", 15, true),
        ("Used", 10, true),
        ("Energy", 8, true),
    ];
    Listing { title: "Cluster/Account/User Utilization", columns, rows }
}

fn by_user(cluster: &str, measure: Measure, report: &ReportView, all: u64) -> Listing {
    let rows = report.rows.iter().map(|row| {
        let (login, used) = (user(row), measure.show(measure.amount_of_row(row), all));
        vec![cluster.to_owned(), login.clone(), proper_name(&login), account(row), used]
    });
    let columns = vec![
        ("Cluster", 9, true),
        ("Login", 9, true),
        ("Proper Name", 15, true),
        ("Account", 15, true),
        ("Used", 10, true),
    ];
    Listing { title: "Cluster/User/Account Utilization", columns, rows: rows.collect() }
}

/// Each user per account, or once with all accounts (man sreport, Group).
fn top_users(
    cluster: &str,
    measure: Measure,
    report: &ReportView,
    all: u64,
    arguments: &ReportArguments,
) -> Listing {
    let mut users: BTreeMap<(String, Option<String>), (BTreeSet<String>, u64)> = BTreeMap::new();
    for row in &report.rows {
        let separator = (!arguments.group).then(|| account(row));
        let (accounts, sum) = users.entry((user(row), separator)).or_default();
        accounts.insert(account(row));
        *sum += measure.amount_of_row(row);
    }
    let mut users: Vec<_> = users.into_iter().collect();
    users.sort_by_key(|(_, (_, sum))| std::cmp::Reverse(*sum));
    let rows = users.into_iter().take(arguments.top).map(|((login, _), (accounts, sum))| {
        let accounts = accounts.into_iter().collect::<Vec<_>>().join(",");
        let proper = proper_name(&login);
        vec![cluster.to_owned(), login, proper, accounts, measure.show(sum, all), "0".into()]
    });
    let columns = vec![
        ("Cluster", 9, true),
        ("Login", 9, true),
        ("Proper Name", 15, true),
        ("Account", 15, true),
        ("Used", 10, true),
        ("Energy", 8, true),
    ];
    Listing { title: "Top Users", columns, rows: rows.collect() }
}

/// Usage by job size: Slurm's groups for CPUs, and five groups for GPUs.
fn sizes(cluster: &str, measure: Measure, report: &ReportView) -> Listing {
    let bounds: [u32; 4] = if measure.gpus { [1, 8, 64, 512] } else { [50, 250, 500, 1000] };
    let mut sums: BTreeMap<String, [u64; 5]> = BTreeMap::new();
    for row in &report.rows {
        let size = if measure.gpus { row.group.gpus } else { row.group.cpus }.unwrap_or(0);
        let group = bounds.iter().filter(|bound| size >= **bound).count();
        sums.entry(account(row)).or_default()[group] += measure.amount_of_row(row);
    }
    let titles = if measure.gpus {
        ["0 GPUs", "1-7 GPUs", "8-63 GPUs", "64-511 GPUs", ">= 512 GPUs"]
    } else {
        ["0-49 CPUs", "50-249 CPUs", "250-499 CPUs", "500-999 CPUs", ">= 1000 CPUs"]
    };
    let mut columns = vec![("Cluster", 9, true), ("Account", 15, true)];
    columns.extend(titles.map(|title| (title, 13, true)));
    columns.push(("% of cluster", 12, true));
    let all: u64 = sums.values().flatten().sum();
    let rows = sums.into_iter().map(|(account, groups)| {
        let own: u64 = groups.iter().sum();
        let percent = Measure { milliseconds: None, ..measure }.show(own, all);
        let groups = groups.map(|amount| measure.show(amount, all));
        [cluster.to_owned(), account].into_iter().chain(groups).chain([percent]).collect()
    });
    Listing { title: "Job Sizes", columns, rows: rows.collect() }
}

/// The full name from this host's user database.
fn proper_name(login: &str) -> String {
    if login.is_empty() {
        return String::new();
    }
    let user = nix::unistd::User::from_name(login).ok().flatten();
    let gecos = user.map(|user| user.gecos.to_string_lossy().into_owned()).unwrap_or_default();
    gecos.split(',').next().unwrap_or_default().to_owned()
}
