//! `cargo xtask ci`: everything that must hold before a change is merged, as one list of steps. The
//! same command on a desk and on a build machine. Never changes a file that git tracks.

mod mpi;
mod preflight;
mod step;
mod totals;

use crate::tree;
use anyhow::{Result, bail};
use std::time::{Duration, Instant};
pub use step::cargo;
use step::{Outcome, Step};
use totals::Totals;

/// Run the whole gate: house rules, format, generated files, clippy, build, tests, a virtual
/// machine with systemd, licences.
#[derive(clap::Args)]
pub struct Args {
    /// Run the later steps even after one failed.
    #[arg(long)]
    keep_going: bool,
}

/// The steps in order, quick ones first. `build` makes the daemons that the tests in tests/e2e
/// start; cargo does not build another crate's programs for a test by itself.
const STEPS: &[Step] = &[
    Step::cargo("tidy", &["xtask", "tidy"]),
    Step::cargo("gen", &["xtask", "gen", "--check"]),
    Step::cargo("fmt", &["fmt", "--all", "--check"]),
    Step::cargo(
        "clippy",
        &["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"],
    ),
    Step::cargo("build", &["build", "--workspace", "--locked"]),
    Step::cargo("test", &["test", "--workspace", "--locked", "--no-fail-fast"]),
    // A part of `test`, once more: so that it is said where it was left out.
    Step::unless(mpi::missing, "mpi", &["test", "-p", "e2e", "--test", "mpi", "--locked"]),
    Step::unless(crate::vm::missing, "vm", &["xtask", "vm", "--required"]),
    Step::if_installed("deny", &["deny", "check"], "cargo-deny", "cargo install cargo-deny"),
];

/// Runs the verb.
pub fn run(args: Args) -> Result<()> {
    preflight::check()?;
    let root = tree::root();
    let mut totals = Totals::default();
    let mut done: Vec<(&str, Outcome, Duration)> = Vec::new();
    let mut failed = Vec::new();
    for step in STEPS {
        if !failed.is_empty() && !args.keep_going {
            done.push((step.name, Outcome::NotRun, Duration::ZERO));
            continue;
        }
        println!("ci: {}: {}", step.name, step.shown());
        let begin = Instant::now();
        let outcome = step.run(&root, &mut totals)?;
        if let Outcome::Failed(_) = outcome {
            failed.push(step.name);
        }
        done.push((step.name, outcome, begin.elapsed()));
    }
    println!("\n{}", summary(&done));
    println!("{totals}");
    if !failed.is_empty() {
        bail!("ci failed at: {}", failed.join(", "));
    }
    Ok(())
}

/// One line a step: its name, its time, how it ended.
fn summary(done: &[(&str, Outcome, Duration)]) -> String {
    let line = |(name, outcome, time): &(&str, Outcome, Duration)| {
        format!("{name:<8} {:>7.1} s  {outcome}\n", time.as_secs_f64())
    };
    done.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_has_a_line_for_every_step() {
        let done = [
            ("fmt", Outcome::Passed, Duration::from_millis(1_250)),
            ("test", Outcome::Failed("exit status 101".to_owned()), Duration::from_secs(90)),
            ("deny", Outcome::NotRun, Duration::ZERO),
        ];
        let expected = "fmt          1.2 s  passed\n\
                        test        90.0 s  FAILED (exit status 101)\n\
                        deny         0.0 s  not run\n";
        assert_eq!(summary(&done), expected);
    }
}
