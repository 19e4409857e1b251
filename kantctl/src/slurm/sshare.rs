//! `sshare`: what accounts are owed and have used, in Slurm's columns. Usage is that of the last 14
//! days in GPU-seconds, which is what fair share counts here, CPU-seconds under `-l`. The scheduler
//! counts what is older for less (`half_life_hours`), this does not: `sprio -n` has its own factor.
//! Never what a user of an account is owed: shares are accounts'.
//! Source: man sshare.

use super::membership::{self, Member};
use super::name::{self, Common};
use super::sheet::{self, Apart, Column};
use crate::failure::{Failure, OK};
use crate::output::Screen;
use crate::server::Server;
use crate::verb::report::fetch_report;
use common::account::Account;
use common::id::AccountName;
use common::time::Span;
use common::wire::api::{AccountList, ReportRow};
use std::collections::BTreeSet;

/// So far back usage counts.
const BACK: Span = Span::from_minutes(14 * 24 * 60);

/// Show what accounts are owed and have used, as Slurm's sshare does
#[derive(clap::Parser, Debug)]
#[command(name = "sshare", disable_help_flag = true, disable_version_flag = true)]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    /// Only of these accounts
    #[arg(short = 'A', long = "accounts", value_delimiter = ',', value_name = "ACCOUNT")]
    pub accounts: Vec<AccountName>,
    /// Of all users
    #[arg(short = 'a', long)]
    pub all: bool,
    /// What is shown: account,user,rawusage%20
    #[arg(short = 'o', long, value_name = "NAMES")]
    pub format: Option<String>,
    /// No titles
    #[arg(short = 'n', long = "noheader", visible_short_alias = 'h')]
    pub no_header: bool,
    /// More columns
    #[arg(short = 'l', long)]
    pub long: bool,
    /// Fields with | between them and at the end
    #[arg(short = 'p', long, overrides_with = "parsable2")]
    pub parsable: bool,
    /// Fields with | between them
    #[arg(short = 'P', long, overrides_with = "parsable")]
    pub parsable2: bool,
    /// Only of these users
    #[arg(short = 'u', long = "users", value_delimiter = ',', value_name = "USER")]
    pub users: Vec<String>,
    /// Users alone, without their accounts
    #[arg(short = 'U', long = "Users")]
    pub users_only: bool,
}

/// The columns where none are asked for, the last with `-l` alone.
const USUAL: [&str; 8] = [
    "Account",
    "User",
    "RawShares",
    "NormShares",
    "RawUsage",
    "EffectvUsage",
    "FairShare",
    "CPUSeconds",
];

/// All columns. An account has one cluster, and no partition of its own.
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
    let used =
        fetch_report(server, "account,user", known.as_of - BACK, None, lists).await?.typed.rows;
    let cluster = match &args.format {
        Some(_) => name::cluster(server).await?,
        None => String::new(),
    };
    let asked = asked(args);
    let rows = rows(args, &asked, &known, &used, &cluster);
    let usual = if args.long { USUAL.len() } else { USUAL.len() - 1 };
    let format = args.format.clone().unwrap_or_else(|| USUAL[..usual].join(","));
    let chosen = sheet::chosen(&COLUMNS, &rows, &format, &[]);
    let (columns, rows) = chosen.map_err(|error| {
        let titles: Vec<&str> = COLUMNS.iter().map(|(title, ..)| *title).collect();
        Failure::usage(error).hint(format!("there are {}", titles.join(", ")))
    })?;
    let apart = Apart::of(args.parsable, args.parsable2, None);
    for line in sheet::lines(&columns, &rows, &apart, !args.no_header, true) {
        screen.line(&line)?;
    }
    Ok(OK)
}

/// Amounts of one account, or of one of its users.
#[derive(Debug, Clone, Copy, Default)]
struct Used {
    cpu: u64,
    gpu: u64,
}

fn sum<'a>(rows: impl Iterator<Item = &'a ReportRow>) -> Used {
    rows.fold(Used::default(), |sum, row| Used {
        cpu: sum.cpu + row.cpu_milliseconds,
        gpu: sum.gpu + row.gpu_milliseconds,
    })
}

/// Users of which lines are asked for by name; one's own, where nothing else is said.
fn asked(args: &Args) -> Vec<Member> {
    match (args.users.is_empty(), args.all) {
        (false, _) => args.users.iter().map(|name| Member::of(name)).collect(),
        (true, false) => vec![Member::own()],
        (true, true) => Vec::new(),
    }
}

/// The users of an account that are shown, those without usage too.
fn users_of(
    args: &Args,
    asked: &[Member],
    account: Option<&Account>,
    used: &[&ReportRow],
) -> BTreeSet<String> {
    let names = |row: &&&ReportRow| is_users(args, row);
    let rows = used.iter().filter(names).filter_map(|row| row.user.clone());
    let mut users: BTreeSet<String> = rows.collect();
    if let Some(account) = account {
        let may = asked.iter().filter(|member| member.may(&account.access));
        users.extend(may.map(|member| member.name.clone()));
        if args.all {
            let named = membership::named(&account.access);
            users.extend(named.into_iter().filter(|name| !name.starts_with('@')));
        }
    }
    users
}

fn rows(
    args: &Args,
    asked: &[Member],
    known: &AccountList,
    used: &[ReportRow],
    cluster: &str,
) -> Vec<Vec<String>> {
    let all = sum(used.iter());
    let shares: u64 = known.accounts.iter().map(|account| u64::from(account.shares)).sum();
    let is_listed = |row: &ReportRow| {
        known.accounts.iter().any(|account| row.account.as_deref() == Some(account.name.as_str()))
    };
    // All that is used without a listed account is that of one more account with one share.
    let others = used.iter().any(|row| row.gpu_milliseconds > 0 && !is_listed(row));
    let shares = shares + u64::from(others);
    let mut rows = Vec::new();
    if args.accounts.is_empty() && !args.users_only {
        rows.push(row(("root", ""), None, (all, all), shares, cluster));
    }
    let named = used.iter().filter_map(|row| row.account.clone());
    let mut names: Vec<String> = known.accounts.iter().map(|one| one.name.to_string()).collect();
    names.extend(named);
    names.sort_unstable();
    names.dedup();
    for name in names.iter().filter(|name| is_asked(args, name)) {
        let own = || used.iter().filter(|row| row.account.as_deref() == Some(name));
        let account = known.accounts.iter().find(|account| account.name.as_str() == name);
        let shown = if name.is_empty() { "(none)" } else { name };
        if !args.users_only {
            let used = (sum(own()), all);
            rows.push(row((&format!(" {shown}"), ""), account, used, shares, cluster));
        }
        for user in users_of(args, asked, account, &own().collect::<Vec<_>>()) {
            let of_user = own().filter(|row| row.user.as_ref() == Some(&user));
            let used = (sum(of_user), all);
            rows.push(row((&format!("  {shown}"), &user), account, used, shares, cluster));
        }
    }
    rows
}

fn is_asked(args: &Args, name: &str) -> bool {
    args.accounts.is_empty() || args.accounts.iter().any(|account| account.as_str() == name)
}

/// One's own, unless others are asked for.
fn is_users(args: &Args, row: &ReportRow) -> bool {
    let named = |user: &String| row.user.as_ref() == Some(user);
    match args.users.is_empty() {
        false => args.users.iter().any(named),
        true => args.all || row.uid.map(|uid| uid.0) == Some(nix::unistd::getuid().as_raw()),
    }
}

fn row(
    (name, user): (&str, &str),
    account: Option<&Account>,
    (used, all): (Used, Used),
    shares: u64,
    cluster: &str,
) -> Vec<String> {
    let of = |part: u64, all: u64| if all == 0 { 0.0 } else { part as f64 / all as f64 };
    let raw = account.map(|account| u64::from(account.shares));
    let norm = raw.map(|raw| of(raw, shares));
    let effective = of(used.gpu, all.gpu);
    // The classic formula of Slurm: half the factor for each time that the share was used.
    let fair = norm.filter(|norm| *norm > 0.0 && user.is_empty());
    let fair = fair.map(|norm| (-effective / norm).exp2());
    let six = |value: f64| format!("{value:.6}");
    // Above 1 an account has had less than it is owed.
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
        cluster.to_owned(),
        String::new(),
    ]
}
