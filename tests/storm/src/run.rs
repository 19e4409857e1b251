//! Runs of histories: one, or many in parallel threads that share nothing. A panic in one history
//! does not end the others.

use crate::faults::Kind;
use crate::judge::Complaint;
use crate::mutants::Mutant;
use crate::plan::{Cuts, Plan};
use crate::world::{Verdict, World};
use clap::ValueEnum;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

#[derive(Debug, Clone)]
pub struct Series {
    /// Kinds of faults that may happen.
    pub kinds: Vec<Kind>,
    pub mutant: Option<Mutant>,
    /// Parts of each plan to leave out.
    pub cuts: Cuts,
}

impl Series {
    pub fn plan(&self, seed: u64) -> Plan {
        Plan::draw(seed, &self.kinds, self.mutant).cut(&self.cuts)
    }
}

/// Runs one history. A panic in simulated code becomes a complaint.
pub fn run(plan: Plan, is_recorded: bool) -> Verdict {
    let mut world = World::new(plan, is_recorded);
    let run = catch_unwind(AssertUnwindSafe(|| world.run()));
    let mut verdict = world.into_verdict();
    if let Err(panic) = run {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        let text = text.unwrap_or_else(|| "without a word".to_owned());
        verdict.complaints.push(Complaint::new("panic", text));
    }
    verdict
}

/// Runs all seeds of a range in `jobs` threads, and passes each verdict to `report`, in any order,
/// until `report` returns false.
pub fn run_all(
    series: &Series,
    seeds: Range<u64>,
    jobs: usize,
    report: impl FnMut(u64, Verdict) -> bool + Send,
) {
    let next = AtomicU64::new(seeds.start);
    let is_enough = AtomicBool::new(false);
    let report = Mutex::new(report);
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                while !is_enough.load(Ordering::Relaxed) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    let verdict = run(series.plan(seed), false);
                    let Ok(mut report) = report.lock() else { return };
                    if !report(seed, verdict) {
                        is_enough.store(true, Ordering::Relaxed);
                    }
                }
            });
        }
    });
}

/// For tests: the seeds of a range about which a judge complains, each with its first complaint.
///
/// # Errors
/// A message, if a fault or mutant does not exist.
pub fn check_seeds(
    seeds: Range<u64>,
    faults: &str,
    mutant: Option<&str>,
) -> Result<Vec<String>, String> {
    let kinds = Kind::parse_list(faults)?;
    let mutant = mutant.map(|name| Mutant::from_str(name, false)).transpose()?;
    let series = Series { kinds, mutant, cuts: Cuts::default() };
    let mut failed = Vec::new();
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    run_all(&series, seeds, jobs, |seed, verdict| {
        if let Some(first) = verdict.complaints.first() {
            failed.push(format!("seed {seed}: {}: {}", first.judge, first.text));
        }
        true
    });
    Ok(failed)
}

/// For tests: the scenarios about which a judge complains, each with its first complaint.
pub fn check_scenarios() -> Vec<String> {
    let mut failed = Vec::new();
    for (name, plan) in crate::scenarios::all() {
        if let Some(first) = run(plan, false).complaints.first() {
            failed.push(format!("{name}: {}: {}", first.judge, first.text));
        }
    }
    failed
}
