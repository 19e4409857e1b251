//! `sreport`: who used how much, in the forms that sites put on their pages. Never adds up what the
//! controller has not; what of Slurm's reports has no meaning here is refused by name.
//! Source: man sreport.

mod measure;
mod words;

use super::calendar;
use super::name::{self, Common};
use super::sheet::{self, Apart, Column};
use crate::failure::{Failure, OK};
use crate::output::Screen;
use crate::output::report::Amounts;
use crate::server::Server;
use crate::verb::report::fetch_report;
use common::time::Time;
use common::wire::api::{ReportRow, ReportView};
use measure::Measure;
use std::collections::{BTreeMap, BTreeSet};
use words::Words;

const AFTER: &str = "\
Reports:
  cluster Utilization              how the cluster's time was spent
  cluster AccountUtilizationByUser who used how much, by account
  cluster UserUtilizationByAccount the same, by user
  user TopUsage                    who used the most (TopCount=10)
  job SizesByAccount               by how large the jobs were
Words after a report: Start=TIME End=TIME Users=A,B Accounts=A,B TopCount=N Group
Times as in `sacct -S`; without them, it is yesterday.";

/// Report who used how much, as Slurm's sreport does
#[derive(clap::Parser, Debug)]
#[command(name = "sreport", disable_help_flag = true, disable_version_flag = true)]
#[command(after_help = AFTER, override_usage = "sreport [OPTIONS] REPORT [WORD=VALUE]...")]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    /// No titles
    #[arg(short = 'n', long = "noheader")]
    pub no_header: bool,
    /// Fields with | between them and at the end
    #[arg(short = 'p', long, overrides_with = "parsable2")]
    pub parsable: bool,
    /// Fields with | between them
    #[arg(short = 'P', long, overrides_with = "parsable")]
    pub parsable2: bool,
    /// In this unit: Seconds, Minutes, Hours, Percent
    #[arg(short = 't', value_name = "UNIT", default_value = "Minutes")]
    pub unit: String,
    /// Of what: cpu, gres/gpu
    #[arg(short = 'T', long, value_name = "TRES", default_value = "cpu")]
    pub tres: String,
    /// The report, and its words
    #[arg(value_name = "WORD", num_args = 1.., required = true)]
    pub words: Vec<String>,
}

/// A report: its title, its columns and rows.
struct Sheet {
    title: &'static str,
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

/// Shows a report.
///
/// # Errors
/// [`Failure`] when the controller does not answer, or there is no such report.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let measure = Measure::of(args)?;
    let now = Time(u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0));
    let [kind, rest @ ..] = args.words.as_slice() else { return Err(unknown("")) };
    let [which, words @ ..] = rest else { return Err(unknown(kind)) };
    let words = Words::read(words, now, screen)?;
    let cluster = name::cluster(server).await?;
    let by = match (kind.to_ascii_lowercase().as_str(), which.to_ascii_lowercase().as_str()) {
        ("cluster", "utilization" | "util") => "",
        ("cluster", "accountutilizationbyuser" | "accountutil") => "account,user",
        ("cluster", "userutilizationbyaccount" | "userutil") => "user,account",
        ("user", "topusage" | "top") => "user,account",
        ("job" | "jobs", "sizesbyaccount" | "sizes") => "account,cpus,gpus",
        _ => return Err(unknown(&format!("{kind} {which}"))),
    };
    let lists = [("users", &words.users[..]), ("accounts", &words.accounts[..])];
    let lists = [lists[0], lists[1], ("queues", &[][..])];
    let report = fetch_report(server, by, words.since, Some(words.until), lists).await?.typed;
    let whole =
        fetch_report(server, "", words.since, Some(words.until), [("", &[][..]); 3]).await?.typed;
    let all = measure.amounts(&whole).all;
    let sheet = match by {
        "" => utilization(&cluster, measure, &whole),
        "account,user" => by_account(&cluster, measure, &report, all),
        "user,account" if kind.eq_ignore_ascii_case("user") => {
            top(&cluster, measure, &report, all, &words)
        }
        "user,account" => by_user(&cluster, measure, &report, all),
        _ => sizes(&cluster, measure, &report),
    };
    show(args, measure, &report, &sheet, screen)
}

fn unknown(what: &str) -> Failure {
    let refused = Failure::usage(anyhow::anyhow!("there is no report `{what}` here"));
    refused.hint("see `sreport --help`, and `kantctl report`")
}

fn show(
    args: &Args,
    measure: Measure,
    report: &ReportView,
    sheet: &Sheet,
    screen: &Screen,
) -> Result<u8, Failure> {
    let apart = Apart::of(args.parsable, args.parsable2, None);
    if !args.no_header {
        let rule = "-".repeat(80);
        let at = |time| calendar::moment(time, &screen.zone);
        // The last second that counts, as Slurm has it.
        let last = Time(report.until.0.saturating_sub(1000));
        let what = if measure.gpus { "TRES" } else { "CPU" };
        screen.line(&rule)?;
        screen.line(&format!("{} {} - {}", sheet.title, at(report.since), at(last)))?;
        screen.line(&format!("Usage reported in {what} {}", measure.unit))?;
        screen.line(&rule)?;
    }
    let titled = !args.no_header;
    for line in sheet::lines(&sheet.columns, &sheet.rows, &apart, titled, true) {
        screen.line(&line)?;
    }
    Ok(OK)
}

fn utilization(cluster: &str, measure: Measure, report: &ReportView) -> Sheet {
    let Amounts { used, down, drained, idle, all } = measure.amounts(report);
    let show = |amount| measure.show(amount, all);
    let row = [show(used), show(down), show(drained), show(idle), show(0), show(all)];
    Sheet {
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
    row.account.clone().filter(|name| !name.is_empty()).unwrap_or_else(|| "(none)".to_owned())
}

fn user(row: &ReportRow) -> String {
    row.user.clone().unwrap_or_default()
}

/// Each account's sum first, then its users'.
fn by_account(cluster: &str, measure: Measure, report: &ReportView, all: u64) -> Sheet {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for row in &report.rows {
        *sums.entry(account(row)).or_default() += measure.row(row);
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
            rows.push(line(name, &user(row), measure.row(row)));
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
    Sheet { title: "Cluster/Account/User Utilization", columns, rows }
}

fn by_user(cluster: &str, measure: Measure, report: &ReportView, all: u64) -> Sheet {
    let rows = report.rows.iter().map(|row| {
        let (login, used) = (user(row), measure.show(measure.row(row), all));
        vec![cluster.to_owned(), login.clone(), proper_name(&login), account(row), used]
    });
    let columns = vec![
        ("Cluster", 9, true),
        ("Login", 9, true),
        ("Proper Name", 15, true),
        ("Account", 15, true),
        ("Used", 10, true),
    ];
    Sheet { title: "Cluster/User/Account Utilization", columns, rows: rows.collect() }
}

/// Each user in each account, or once with all of them (man sreport, Group).
fn top(cluster: &str, measure: Measure, report: &ReportView, all: u64, words: &Words) -> Sheet {
    let mut users: BTreeMap<(String, Option<String>), (BTreeSet<String>, u64)> = BTreeMap::new();
    for row in &report.rows {
        let apart = (!words.group).then(|| account(row));
        let (accounts, sum) = users.entry((user(row), apart)).or_default();
        accounts.insert(account(row));
        *sum += measure.row(row);
    }
    let mut users: Vec<_> = users.into_iter().collect();
    users.sort_by_key(|(_, (_, sum))| std::cmp::Reverse(*sum));
    let rows = users.into_iter().take(words.top).map(|((login, _), (accounts, sum))| {
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
    Sheet { title: "Top Users", columns, rows: rows.collect() }
}

/// Slurm's groups by CPUs, and as many by GPUs.
fn sizes(cluster: &str, measure: Measure, report: &ReportView) -> Sheet {
    let bounds: [u32; 4] = if measure.gpus { [1, 8, 64, 512] } else { [50, 250, 500, 1000] };
    let mut sums: BTreeMap<String, [u64; 5]> = BTreeMap::new();
    for row in &report.rows {
        let size = if measure.gpus { row.gpus } else { row.cpus }.unwrap_or(0);
        let group = bounds.iter().filter(|bound| size >= **bound).count();
        sums.entry(account(row)).or_default()[group] += measure.row(row);
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
    Sheet { title: "Job Sizes", columns, rows: rows.collect() }
}

/// As the host's user database has it.
fn proper_name(login: &str) -> String {
    if login.is_empty() {
        return String::new();
    }
    let user = nix::unistd::User::from_name(login).ok().flatten();
    let gecos = user.map(|user| user.gecos.to_string_lossy().into_owned()).unwrap_or_default();
    gecos.split(',').next().unwrap_or_default().to_owned()
}
