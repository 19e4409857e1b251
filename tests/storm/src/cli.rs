//! The command `cargo xtask sim`, which runs seeds and shows complaints and how to replay them.

use crate::faults::Kind;
use crate::mutants::Mutant;
use crate::plan::Cuts;
use crate::run::{Series, run, run_all};
use crate::shrink::shrink;
use crate::table;
use crate::world::Verdict;
use anyhow::{anyhow, bail};
use indicatif::{ProgressBar, ProgressStyle};
use std::ops::Range;
use std::path::PathBuf;

/// At most this number of failed seeds is shown with a command that replays it; of the others only
/// the first complaint.
const REPLAYED_MAX: usize = 5;
/// Number of last lines shown of a failed seed's story.
const LINES_SHOWN: usize = 40;

/// Simulate the whole control plane with faults, one history per seed
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Seeds to run, from A up to but not including B
    #[arg(long, value_name = "A..B", default_value = "0..500", value_parser = parse_seeds)]
    pub seeds: Range<u64>,
    /// Faults that may happen: all, none, or a comma-separated list
    #[arg(long, default_value = "all")]
    pub faults: String,
    /// Inject a bug, which a judge must catch
    #[arg(long, value_name = "NAME")]
    pub mutant: Option<Mutant>,
    /// Number of histories that run in parallel
    #[arg(long)]
    pub jobs: Option<usize>,
    /// Inject each bug in turn, and write a table of the judges that caught them into this page
    #[arg(long, value_name = "PAGE", num_args = 0..=1,
        default_missing_value = "docs/operating/simulation.md")]
    pub table: Option<PathBuf>,
    /// Run only these faults of a seed, by number
    #[arg(long, value_name = "N,N", value_delimiter = ',')]
    pub only_faults: Option<Vec<usize>>,
    /// Run only the first N user actions of a seed
    #[arg(long)]
    pub works: Option<usize>,
    /// Print the story of the first seed
    #[arg(long)]
    pub story: bool,
}

fn parse_seeds(text: &str) -> Result<Range<u64>, String> {
    let wrong = || format!("`{text}` is no range of seeds: write 0..500");
    let (first, end) = text.split_once("..").ok_or_else(wrong)?;
    let first: u64 = first.parse().map_err(|_| wrong())?;
    let end: u64 = end.parse().map_err(|_| wrong())?;
    if first < end { Ok(first..end) } else { Err(wrong()) }
}

/// Runs the command.
///
/// # Errors
/// If a judge complains about a history, or the arguments make no sense.
pub fn main(args: &Args) -> anyhow::Result<()> {
    // Simulated code may panic; `run` turns the panic into a complaint, which is printed instead.
    std::panic::set_hook(Box::new(|_| {}));
    let jobs =
        args.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let kinds = Kind::parse_list(&args.faults).map_err(|text| anyhow!(text))?;
    if let Some(page) = &args.table {
        return table::write(page, &kinds, jobs);
    }
    let only = args.only_faults.as_ref().filter(|only| **only != [usize::MAX]);
    let cuts = Cuts { faults: only.cloned(), works: args.works };
    let series = Series { kinds, mutant: args.mutant, cuts };
    if args.story {
        let verdict = run(series.plan(args.seeds.start), true);
        verdict.story.iter().for_each(|line| println!("{line}"));
    }
    let (failed, totals) = run_series(args, &series, jobs);
    let count = args.seeds.end - args.seeds.start;
    for (place, (seed, verdict)) in failed.iter().enumerate() {
        show(args, &series, *seed, verdict, place);
    }
    let Totals { lasted_ms, acknowledged, replicas } = totals;
    eprintln!(
        "virtual time {} s, {acknowledged} submits acknowledged, {replicas} replicas started",
        lasted_ms / 1000
    );
    println!("{count} seeds, {} failed", failed.len());
    if failed.is_empty() { Ok(()) } else { bail!("a judge is not content") }
}

/// Sums over all histories.
#[derive(Default)]
struct Totals {
    /// Virtual time.
    lasted_ms: u64,
    /// Acknowledged submissions.
    acknowledged: usize,
    /// Replicas of services.
    replicas: usize,
}

/// Failed seeds, and the sums over all.
fn run_series(args: &Args, series: &Series, jobs: usize) -> (Vec<(u64, Verdict)>, Totals) {
    // Drawn only on a terminal.
    let bar = ProgressBar::new(args.seeds.end - args.seeds.start);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} seeds {eta} {msg}") {
        bar.set_style(style);
    }
    let mut failed = Vec::new();
    let mut totals = Totals::default();
    run_all(series, args.seeds.clone(), jobs, |seed, verdict| {
        totals.lasted_ms += verdict.lasted_ms;
        totals.acknowledged += verdict.acknowledged;
        totals.replicas += verdict.replicas;
        if !verdict.complaints.is_empty() {
            failed.push((seed, verdict));
            bar.set_message(format!("{} failed", failed.len()));
        }
        bar.inc(1);
        true
    });
    bar.finish_and_clear();
    failed.sort_by_key(|(seed, _)| *seed);
    (failed, totals)
}

/// Shows a failed seed, the first one in full. `place` is its place among all failed seeds.
fn show(args: &Args, series: &Series, seed: u64, verdict: &Verdict, place: usize) {
    let Some(first) = verdict.complaints.first() else { return };
    println!("seed {seed}: {}: {}", first.judge, first.text);
    if place >= REPLAYED_MAX {
        return;
    }
    let in_full = place == 0;
    let cuts = if in_full { shrink(series, seed, first.judge) } else { series.cuts.clone() };
    if in_full {
        let smaller = Series { cuts: cuts.clone(), ..series.clone() };
        let plan = smaller.plan(seed);
        let verdict = run(plan.clone(), true);
        let skipped = verdict.story.len().saturating_sub(LINES_SHOWN);
        verdict.story.iter().skip(skipped).for_each(|line| println!("    {line}"));
        for fault in &plan.faults {
            println!(
                "    with {} at {} ms for {} ms",
                fault.kind.name(),
                fault.at_ms,
                fault.lasts_ms
            );
        }
        for complaint in &verdict.complaints {
            println!("  {}: {}", complaint.judge, complaint.text);
        }
    }
    println!("  again: {}", replay(args, seed, &cuts));
}

/// The command that replays a seed.
fn replay(args: &Args, seed: u64, cuts: &Cuts) -> String {
    let mut command =
        format!("cargo xtask sim --seeds {seed}..{} --faults {}", seed + 1, args.faults);
    if let Some(mutant) = args.mutant {
        command += &format!(" --mutant {}", mutant.about().0);
    }
    match &cuts.faults {
        None => {}
        Some(faults) if faults.is_empty() => command += &format!(" --only-faults {}", usize::MAX),
        Some(faults) => {
            let numbers: Vec<String> = faults.iter().map(ToString::to_string).collect();
            command += &format!(" --only-faults {}", numbers.join(","));
        }
    }
    if let Some(works) = cuts.works {
        command += &format!(" --works {works}");
    }
    command + " --story"
}
