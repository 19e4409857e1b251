//! `sshare`: what accounts are owed and have used, in Slurm's columns. Usage is that of the last 14
//! days in GPU-seconds, which is what fair share counts here, CPU-seconds under `-l`. The scheduler
//! counts what is older for less (`half_life_hours`), this does not: `sprio -n` has its own factor.
//! Never what a user of an account is owed: shares are accounts'.
//! Source: man sshare.

use super::name::Common;
use super::sheet::{self, Apart, Column};
use crate::failure::{Failure, OK};
use crate::output::Screen;
use crate::server::Server;
use crate::verb::report::ask;
use common::account::Account;
use common::id::AccountName;
use common::time::Span;
use common::wire::api::{AccountList, ReportRow};

/// So far back usage counts.
const BACK: Span = Span::from_minutes(14 * 24 * 60);

/// Show what accounts are owed and have used, as Slurm's sshare does
#[derive(clap::Parser, Debug)]
#[command(name = "sshare", disable_help_flag = true, disable_version_flag = true)]
#[allow(missing_docs)] // each field's comment is its help
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    /// Only of these accounts
    #[arg(short = 'A', long = "accounts", value_delimiter = ',', value_name = "ACCOUNT")]
    pub accounts: Vec<AccountName>,
    /// Of all users
    #[arg(short = 'a', long)]
    pub all: bool,
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

const COLUMNS: [Column; 7] = [
    ("Account", 20, false),
    ("User", 10, true),
    ("RawShares", 10, true),
    ("NormShares", 11, true),
    ("RawUsage", 11, true),
    ("EffectvUsage", 13, true),
    ("FairShare", 10, true),
];
const CPUS: Column = ("CPUSeconds", 11, true);

/// Shows shares and usage.
///
/// # Errors
/// [`Failure`] when the controller does not answer.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let known: AccountList = server.get("/v1/accounts").await?;
    let lists = [("users", &[][..]), ("accounts", &[][..]), ("queues", &[][..])];
    let used = ask(server, "account,user", (known.as_of - BACK, None), lists).await?.typed.rows;
    let rows = rows(args, &known, &used);
    let mut columns = COLUMNS.to_vec();
    if args.long {
        columns.push(CPUS);
    }
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

fn rows(args: &Args, known: &AccountList, used: &[ReportRow]) -> Vec<Vec<String>> {
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
        rows.push(row(args, "root", "", None, (all, all), shares));
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
            rows.push(row(args, &format!(" {shown}"), "", account, (sum(own()), all), shares));
        }
        for one in own().filter(|row| is_users(args, row)) {
            let user = one.user.as_deref().unwrap_or_default();
            let used = (sum(std::iter::once(one)), all);
            rows.push(row(args, &format!("  {shown}"), user, account, used, shares));
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
    args: &Args,
    name: &str,
    user: &str,
    account: Option<&Account>,
    (used, all): (Used, Used),
    shares: u64,
) -> Vec<String> {
    let of = |part: u64, all: u64| if all == 0 { 0.0 } else { part as f64 / all as f64 };
    let raw = account.map(|account| u64::from(account.shares));
    let norm = raw.map(|raw| of(raw, shares));
    let effective = of(used.gpu, all.gpu);
    // The classic formula of Slurm: half the factor for each time that the share was used.
    let fair = norm.filter(|norm| *norm > 0.0 && user.is_empty());
    let fair = fair.map(|norm| (-effective / norm).exp2());
    let six = |value: f64| format!("{value:.6}");
    let mut cells = vec![
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
    ];
    if args.long {
        cells.push((used.cpu / 1000).to_string());
    }
    cells
}
