//! The table of injected bugs: which judge caught each, and at which seed.

use crate::faults::Kind;
use crate::mutants::Mutant;
use crate::plan::Cuts;
use crate::run::{Series, run_all};
use anyhow::{Context, bail};
use clap::ValueEnum;
use std::path::Path;

/// Number of seeds within which each bug must be caught.
const SEEDS: u64 = 1_000;
const OPEN: &str = "<!-- sim:mutants -->";
const CLOSE: &str = "<!-- /sim:mutants -->";

/// Injects each bug in turn, and writes into a page which judge caught it.
///
/// # Errors
/// If a bug is not caught, or the page cannot be written.
pub fn write(page: &Path, kinds: &[Kind], jobs: usize) -> anyhow::Result<()> {
    let mut text = "| injected bug | what it does | caught by | first at seed |\n\
                    |---|---|---|--:|\n"
        .to_owned();
    let mut missed = Vec::new();
    for mutant in Mutant::value_variants().iter().copied() {
        let (name, about) = mutant.about();
        let row = match first_caught(mutant, kinds, jobs) {
            Some((seed, judge)) => format!("| `{name}` | {about} | {judge} | {seed} |"),
            None => {
                missed.push(name.clone());
                format!("| `{name}` | {about} | **no judge** | |")
            }
        };
        println!("{row}");
        text += &(row + "\n");
    }
    let before = std::fs::read_to_string(page)
        .with_context(|| format!("failed to read {}", page.display()))?;
    let parts = before.split_once(OPEN).and_then(|(head, rest)| {
        let (_, tail) = rest.split_once(CLOSE)?;
        Some((head, tail))
    });
    let Some((head, tail)) = parts else {
        bail!("failed to find {OPEN} and {CLOSE} in {}", page.display())
    };
    std::fs::write(page, format!("{head}{OPEN}\n{text}{CLOSE}{tail}"))
        .with_context(|| format!("failed to write {}", page.display()))?;
    if missed.is_empty() { Ok(()) } else { bail!("no judge caught {}", missed.join(", ")) }
}

/// The lowest seed at which a judge catches a bug, and the name of the judge.
fn first_caught(mutant: Mutant, kinds: &[Kind], jobs: usize) -> Option<(u64, &'static str)> {
    let series = Series { kinds: kinds.to_vec(), mutant: Some(mutant), cuts: Cuts::default() };
    let mut caught = Vec::new();
    run_all(&series, 0..SEEDS, jobs, |seed, verdict| {
        if let Some(first) = verdict.complaints.first() {
            caught.push((seed, first.judge));
        }
        caught.is_empty()
    });
    caught.into_iter().min()
}
