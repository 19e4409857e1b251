//! `sshare`: the shares and usage of accounts, in Slurm's columns. Usage covers the last 14 days,
//! in GPU-seconds, the unit of fair share, and with `-l` also in CPU-seconds. Unlike the
//! scheduler's (`half_life_hours`), this usage does not decay; `sprio -n` shows the scheduler's
//! factor. Users have no shares of their own: shares belong to accounts.
//! Source: man sshare.

use super::cluster_name::cluster_name;
use super::fixed_columns::{self, Column, Separator};
use super::membership::{self, Member};
use super::shared_options::Common;
use cli::failure::{Failure, OK};
use cli::output::Screen;
use cli::server::Server;
use cli::verb::report::fetch_report;
use common::id::AccountName;
use common::policy::account::Account;
use common::time::Span;
use common::wire::api::{AccountList, ReportRow};
use std::collections::BTreeSet;

/// The period that usage covers.
const USAGE_PERIOD: Span = Span::from_minutes(14 * 24 * 60);

/// Show the shares and usage of accounts, as Slurm's sshare does
#[derive(clap::Parser, Debug)]
#[command(name = "sshare", disable_help_flag = true, disable_version_flag = true)]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    /// Only these accounts
    #[arg(short = 'A', long = "accounts", value_delimiter = ',', value_name = "ACCOUNT")]
    pub accounts: Vec<AccountName>,
    /// Show all users
    #[arg(short = 'a', long)]
    pub all: bool,
    /// Fields to show: account,user,rawusage%20
    #[arg(short = 'o', long, value_name = "NAMES")]
    pub format: Option<String>,
    /// Omit the header
    #[arg(short = 'n', long = "noheader", visible_short_alias = 'h')]
    pub no_header: bool,
    /// Show more columns
    #[arg(short = 'l', long)]
    pub long: bool,
    /// Separate fields with |, also after the last
    #[arg(short = 'p', long, overrides_with = "parsable2")]
    pub parsable: bool,
    /// Separate fields with |
    #[arg(short = 'P', long, overrides_with = "parsable")]
    pub parsable2: bool,
    /// Only these users
    #[arg(short = 'u', long = "users", value_delimiter = ',', value_name = "USER")]
    pub users: Vec<String>,
    /// Show users without the lines of accounts
    #[arg(short = 'U', long = "Users")]
    pub users_only: bool,
}

/// The default columns, the last only with `-l`.
const DEFAULT_COLUMNS: [&str; 8] = [
    "Account",
    "User",
    "RawShares",
    "NormShares",
    "RawUsage",
    "EffectvUsage",
    "FairShare",
    "CPUSeconds",
];

/// All columns.
const COLUMNS: [Column; 12] = [
    ("Account", 20, false),
    ("User", 10, true),
    ("RawShares", 10, true),
    ("NormShares", 11, true),
    ("RawUsage", 11, true),
    ("EffectvUsage", 13, true),
    ("FairShare", 10, true),
    ("CPUSeconds", 11, true),
    ("NormUsage", 11, true),
    ("LevelFS", 10, true),
    ("Cluster", 10, true),
    ("Partition", 12, true),
];

/// Shows shares and usage.
///
/// # Errors
/// [`Failure`] when the controller does not answer.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let known: AccountList = server.get("/v1/accounts").await?;
    let lists = [("users", &[][..]), ("accounts", &[][..]), ("queues", &[][..])];
    let used = fetch_report(server, "account,user", known.as_of - USAGE_PERIOD, None, lists)
        .await?
        .typed
        .rows;
    let cluster = match &args.format {
        Some(_) => cluster_name(server).await?,
        None => String::new(),
    };
    let members = requested_members(args);
    let rows = rows(args, &members, &known, &used, &cluster);
    let default_count = if args.long { DEFAULT_COLUMNS.len() } else { DEFAULT_COLUMNS.len() - 1 };
    let format = args.format.clone().unwrap_or_else(|| DEFAULT_COLUMNS[..default_count].join(","));
    let chosen = fixed_columns::select(&COLUMNS, &rows, &format, &[]);
    let (columns, rows) = chosen.map_err(|error| {
        let titles: Vec<&str> = COLUMNS.iter().map(|(title, ..)| *title).collect();
        Failure::usage(error).with_hint(format!("fields are {}", titles.join(", ")))
    })?;
    let separator = Separator::from_options(args.parsable, args.parsable2);
    for line in fixed_columns::lines(&columns, &rows, separator, !args.no_header) {
        screen.print_line(&line)?;
    }
    Ok(OK)
}

/// Usage in milliseconds.
#[derive(Debug, Clone, Copy, Default)]
struct Used {
    cpu: u64,
    gpu: u64,
}

/// What an account's part is computed of.
struct Total<'a> {
    used: Used,
    shares: u64,
    cluster: &'a str,
}

fn sum<'a>(rows: impl Iterator<Item = &'a ReportRow>) -> Used {
    rows.fold(Used::default(), |sum, row| Used {
        cpu: sum.cpu + row.cpu_milliseconds,
        gpu: sum.gpu + row.gpu_milliseconds,
    })
}

/// The users to show by name: those of --users, otherwise the current user unless --all is given.
fn requested_members(args: &Args) -> Vec<Member> {
    match (args.users.is_empty(), args.all) {
        (false, _) => args.users.iter().map(|name| Member::lookup(name)).collect(),
        (true, false) => vec![Member::current_user()],
        (true, true) => Vec::new(),
    }
}

/// The users shown for an account, including those without usage.
fn users_of(
    args: &Args,
    members: &[Member],
    account: Option<&Account>,
    used: &[&ReportRow],
) -> BTreeSet<String> {
    let names = |row: &&&ReportRow| is_requested_user(args, row);
    let rows = used.iter().filter(names).filter_map(|row| row.group.user.clone());
    let mut users: BTreeSet<String> = rows.collect();
    if let Some(account) = account {
        let may = members.iter().filter(|member| member.may_charge(&account.access));
        users.extend(may.map(|member| member.name.clone()));
        if args.all {
            let named = membership::access_names(&account.access);
            users.extend(named.into_iter().filter(|name| !name.starts_with('@')));
        }
    }
    users
}

fn rows(
    args: &Args,
    members: &[Member],
    known: &AccountList,
    used: &[ReportRow],
    cluster: &str,
) -> Vec<Vec<String>> {
    let shares: u64 = known.accounts.iter().map(|account| u64::from(account.shares)).sum();
    let is_listed = |row: &ReportRow| {
        known
            .accounts
            .iter()
            .any(|account| row.group.account.as_deref() == Some(account.name.as_str()))
    };
    // Usage without a listed account counts as that of one more account with one share.
    let others = used.iter().any(|row| row.gpu_milliseconds > 0 && !is_listed(row));
    let total = Total { used: sum(used.iter()), shares: shares + u64::from(others), cluster };
    let mut rows = Vec::new();
    if args.accounts.is_empty() && !args.users_only {
        rows.push(row("root", "", None, total.used, &total));
    }
    let named = used.iter().filter_map(|row| row.group.account.clone());
    let mut names: Vec<String> = known.accounts.iter().map(|one| one.name.to_string()).collect();
    names.extend(named);
    names.sort_unstable();
    names.dedup();
    for name in names.iter().filter(|name| is_requested(args, name)) {
        let own = || used.iter().filter(|row| row.group.account.as_deref() == Some(name));
        let account = known.accounts.iter().find(|account| account.name.as_str() == name);
        let shown = if name.is_empty() { "(none)" } else { name };
        if !args.users_only {
            rows.push(row(&format!(" {shown}"), "", account, sum(own()), &total));
        }
        for user in users_of(args, members, account, &own().collect::<Vec<_>>()) {
            let of_user = own().filter(|row| row.group.user.as_ref() == Some(&user));
            rows.push(row(&format!("  {shown}"), &user, account, sum(of_user), &total));
        }
    }
    rows
}

fn is_requested(args: &Args, name: &str) -> bool {
    args.accounts.is_empty() || args.accounts.iter().any(|account| account.as_str() == name)
}

/// Whether a row is one of a requested user.
fn is_requested_user(args: &Args, row: &ReportRow) -> bool {
    let named = |user: &String| row.group.user.as_ref() == Some(user);
    match args.users.is_empty() {
        false => args.users.iter().any(named),
        true => args.all || row.group.uid.map(|uid| uid.0) == Some(nix::unistd::getuid().as_raw()),
    }
}

fn row(
    name: &str,
    user: &str,
    account: Option<&Account>,
    used: Used,
    total: &Total<'_>,
) -> Vec<String> {
    let of = |part: u64, all: u64| if all == 0 { 0.0 } else { part as f64 / all as f64 };
    let raw = account.map(|account| u64::from(account.shares));
    let norm = raw.map(|raw| of(raw, total.shares));
    let effective = of(used.gpu, total.used.gpu);
    // Slurm's classic formula, 2^(-usage/share).
    let fair = norm.filter(|norm| *norm > 0.0 && user.is_empty());
    let fair = fair.map(|norm| (-effective / norm).exp2());
    let six = |value: f64| format!("{value:.6}");
    // Above 1, an account has used less than its share.
    let level = norm.filter(|_| user.is_empty()).map(|norm| match effective > 0.0 {
        true => six(norm / effective),
        false => "inf".to_owned(),
    });
    vec![
        name.to_owned(),
        user.to_owned(),
        match raw {
            Some(raw) if user.is_empty() => raw.to_string(),
            _ => String::new(),
        },
        norm.filter(|_| user.is_empty()).map(six).unwrap_or_default(),
        (used.gpu / 1000).to_string(),
        six(effective),
        fair.map(six).unwrap_or_default(),
        (used.cpu / 1000).to_string(),
        six(effective),
        level.unwrap_or_default(),
        total.cluster.to_owned(),
        String::new(),
    ]
}
