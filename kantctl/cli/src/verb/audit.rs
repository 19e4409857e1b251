//! `kantctl audit`: who changed what, and which requests were refused.

use crate::failure::{Failure, OK};
use crate::fetch::{self, Answer};
use crate::output::Screen;
use crate::output::screen::note;
use crate::output::table::{Cell, Column, Table};
use crate::server::{Server, encoded};
use crate::verb::export::read_since;
use common::time::Time;
use common::wire::api::{AuditCheck, AuditList, AuditView};

const EXAMPLES: &str = "\
Examples:
  kantctl audit                              # the last 100 lines
  kantctl audit --user ann --since 2d
  kantctl audit --verb nodes/drain --target g-012
  kantctl audit --refused --via 'node g-012'
  kantctl audit --verify                     # was a line changed or removed?
  kantctl --json audit --last 1000

For operators, viewers and support. Each controller has a log of its own, and the leader writes the lines of the requests
that it carries out: ask each of them with --socket, or on its host.";

/// The exit code if a line does not follow from the line before.
const BROKEN: u8 = 1;

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Only requests of this user (name or number)
    #[arg(short, long, value_name = "USER")]
    pub user: Option<String>,
    /// Only lines since then: an age (7d, 12h) or a date
    #[arg(short = 'S', long, value_name = "TIME", value_parser = read_since)]
    pub since: Option<Time>,
    /// Only this verb, or all that begin so: jobs/cancel, nodes
    #[arg(long, value_name = "VERB")]
    pub verb: Option<String>,
    /// Only requests about this job, node, reservation or controller
    #[arg(long, value_name = "NAME")]
    pub target: Option<String>,
    /// Only requests from there: socket, 'node g-012', token
    #[arg(long, value_name = "ORIGIN")]
    pub via: Option<String>,
    /// Only requests that were refused
    #[arg(long)]
    pub refused: bool,
    /// At most this many lines, the last ones (10000 at most)
    #[arg(short = 'n', long, value_name = "N", default_value_t = 100)]
    pub last: u32,
    /// Check the whole log: each line must follow from the line before. Fails if one does not
    #[arg(long)]
    pub verify: bool,
}

/// # Errors
/// [`Failure`] when the controller refuses or does not answer.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let answer: Answer<AuditList> =
        fetch::get(server, &format!("/v1/audit?{}", query(args))).await?;
    let checked = answer.typed.checked.as_ref();
    let code = match checked {
        Some(check) if !check.breaks.is_empty() => BROKEN,
        _ => OK,
    };
    if screen.json {
        screen.print_answer_json(&answer.raw)?;
        return Ok(code);
    }
    match checked {
        Some(check) => screen.print_line(&outcome(&answer.typed.file, check))?,
        None if answer.typed.lines.is_empty() => note("no line matches"),
        None => screen.print_table(&table(&answer.typed.lines))?,
    }
    Ok(code)
}

fn query(args: &Args) -> String {
    let texts = [
        ("user", args.user.clone()),
        ("verb", args.verb.clone()),
        ("target", args.target.clone()),
        ("via", args.via.clone()),
        ("since", args.since.map(|since| since.0.to_string())),
        ("refused", args.refused.then(|| "true".to_owned())),
        ("verify", args.verify.then(|| "true".to_owned())),
        ("limit", Some(args.last.to_string())),
    ];
    let pairs = texts.into_iter().filter_map(|(name, text)| Some((name, text?)));
    pairs.map(|(name, text)| format!("{name}={}", encoded(&text))).collect::<Vec<_>>().join("&")
}

fn outcome(file: &str, AuditCheck { lines, breaks }: &AuditCheck) -> String {
    if breaks.is_empty() {
        return format!("{file}: {lines} lines, none was changed, inserted or removed");
    }
    let numbers: Vec<String> = breaks.iter().map(ToString::to_string).collect();
    format!(
        "{file}: {lines} lines; these do not follow from the line before: {}. A line was changed, \
         inserted or removed there, or a power failure cut one off",
        numbers.join(", ")
    )
}

const COLUMNS: [Column; 6] = [
    Column::new("TIME (UTC)"),
    Column::new("USER").with_min_width(6),
    Column::new("VIA"),
    Column::new("VERB"),
    Column::new("TARGET"),
    Column::new("RESULT"),
];

fn table(lines: &[AuditView]) -> Table {
    let mut table = Table::new(&COLUMNS, &["VIA", "TARGET"]);
    for line in lines {
        let user = line.user.clone().or_else(|| line.uid.map(|uid| uid.to_string()));
        let result = match &line.code {
            Some(code) => format!("{} ({code})", line.result),
            None => line.result.clone(),
        };
        let seconds = line.at.split('.').next().unwrap_or_default();
        table.add_row(vec![
            Cell::from(seconds.replace('T', " ")),
            Cell::from(user.unwrap_or_else(|| "-".to_owned())),
            Cell::from(&line.via),
            Cell::from(&line.verb),
            Cell::from(&line.target),
            Cell::from(result),
        ]);
    }
    table
}
