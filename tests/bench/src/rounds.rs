//! The benchmark of rounds: their CPU time, and how it grows with nodes and waiting jobs. It prints
//! a table of rows, each of which a process of its own measures (`row`).

use crate::policy::Rules;
use crate::row;
use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Options of the benchmark of rounds
#[derive(clap::Args)]
pub struct Args {
    /// Numbers of nodes
    #[arg(long, value_delimiter = ',', default_values_t = [1_000, 10_000, 100_000])]
    nodes: Vec<u32>,
    /// Numbers of waiting jobs
    #[arg(long, value_delimiter = ',', default_values_t = [1_000, 10_000, 100_000])]
    jobs: Vec<u32>,
    /// Measure only these rows: RULES, NODESxJOBS, or RULES:NODESxJOBS
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Number of times that each round is repeated; the median counts
    #[arg(long, default_value_t = 9)]
    repeat: usize,
    /// Seconds after which a row is given up
    #[arg(long, value_name = "SECONDS", default_value_t = 200)]
    row_seconds: u64,
}

struct Row {
    rules: Rules,
    nodes: u32,
    jobs: u32,
}

impl Row {
    fn is_called(&self, name: &str) -> bool {
        let size = format!("{}x{}", self.nodes, self.jobs);
        let rules = self.rules.name();
        name == rules || name == size || name == format!("{rules}:{size}")
    }
}

/// The chosen rows, in the order of the table.
fn chosen_rows(args: &Args) -> anyhow::Result<Vec<Row>> {
    let rows = Rules::ALL.into_iter().flat_map(|rules| {
        let of_size =
            move |nodes: u32| args.jobs.iter().map(move |jobs| Row { rules, nodes, jobs: *jobs });
        args.nodes.iter().copied().flat_map(of_size)
    });
    let rows: Vec<Row> = rows.collect();
    for name in &args.only {
        ensure!(
            rows.iter().any(|row| row.is_called(name)),
            "failed to find the row `{name}`: write plain, 1000x1000 or teams:10000x100000"
        );
    }
    let wanted = |row: &Row| args.only.is_empty() || args.only.iter().any(|n| row.is_called(n));
    Ok(rows.into_iter().filter(wanted).collect())
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let plan = chosen_rows(args)?;
    let bar = indicatif::ProgressBar::new(plan.len() as u64);
    bar.set_style(indicatif::ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} {elapsed}")?);
    bar.enable_steady_tick(Duration::from_secs(1));
    let mut rows = Vec::new();
    for row in &plan {
        bar.set_message(format!("{} {}x{}", row.rules.name(), row.nodes, row.jobs));
        let measured = measure(row, args)?;
        bar.suspend(|| eprintln!("{measured}"));
        rows.push(measured);
        bar.inc(1);
    }
    bar.finish_and_clear();
    println!("{:#}", json!(rows));
    Ok(())
}

/// Measures one row by running this program in a process of its own. A row that takes too long has
/// no figures.
fn measure(row: &Row, args: &Args) -> anyhow::Result<Value> {
    let program = std::env::current_exe().context("failed to find this program")?;
    let mut run = Command::new(program)
        .arg("engine-row")
        .args(["--rules", row.rules.name()])
        .args(["--nodes", &row.nodes.to_string()])
        .args(["--jobs", &row.jobs.to_string()])
        .args(["--repeat", &args.repeat.to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .context("failed to start a process for a row")?;
    let (rules, nodes, jobs) = (row.rules.name(), row.nodes, row.jobs);
    let until = Instant::now() + Duration::from_secs(args.row_seconds);
    let status = loop {
        if let Some(status) = run.try_wait().context("failed to wait for a row")? {
            break status;
        }
        if Instant::now() > until {
            run.kill().and_then(|()| run.wait()).context("failed to end a row")?;
            return Ok(json!({ "rules": rules, "nodes": nodes, "waiting": jobs }));
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    if !status.success() {
        bail!("failed to measure {rules} {nodes}x{jobs}: its process ended with {status}");
    }
    let mut text = String::new();
    let mut printed = run.stdout.take().context("a row prints")?;
    printed.read_to_string(&mut text).context("failed to read a row")?;
    row::read(&text).context("failed to read a row")
}
