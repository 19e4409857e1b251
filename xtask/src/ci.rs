//! `cargo xtask ci`: everything that must hold before a change is merged, as one list of steps. The
//! same command on a desk and on a build machine. Never changes a file that git tracks.

mod preflight;
mod step;
mod totals;

use crate::packages;
use crate::programs::{cargo, has_subcommand};
use crate::tree;
use anyhow::{Result, bail};
use std::time::{Duration, Instant};
use step::{Outcome, Step};
use totals::Totals;

/// Run the whole gate: house rules, format, generated files, clippy, build, tests, a virtual
/// machine with systemd, licences.
#[derive(clap::Args)]
pub struct Args {
    /// Run the later steps even after one failed.
    #[arg(long)]
    keep_going: bool,
    /// First install what the steps use and this machine lacks: Debian packages (as root) and
    /// cargo-deny.
    #[arg(long)]
    install: bool,
}

/// Steps that a build machine (CI=true) may skip, and why. Every other skipped step fails there: a
/// landing would otherwise pass for tested where it was not.
const MAY_SKIP: &[(&str, &str)] = &[(
    "advisories",
    "the advisory database is fetched from its repository, and a build machine may reach package \
     registries only",
)];

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
    // A part of `test` once more, so that the summary names it where it was skipped.
    Step::unless(mpi_missing, "mpi", &["test", "-p", "e2e", "--test", "mpi", "--locked"]),
    Step::unless(crate::vm::missing, "vm", &["xtask", "vm", "--required"]),
    Step::unless(deny_missing, "deny", &["deny", "check", "bans", "licenses", "sources"]),
    Step::unless(advisories_missing, "advisories", &["deny", "check", "advisories"]),
];

/// Runs the verb.
pub fn run(args: Args) -> Result<()> {
    preflight::check()?;
    if args.install {
        packages::install()?;
    }
    let is_build_machine = std::env::var_os("CI").is_some();
    if is_build_machine && let Some(missing) = packages::missing_at_all() {
        // Tests that lack a program pass and say `skipped`: that would hide what was not tested.
        bail!("failed to begin: CI is set, and there is {missing}; `cargo xtask ci --install`");
    }
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
        let outcome = judged(step.name, step.run(&root, &mut totals)?, is_build_machine);
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

/// A skipped step fails on a build machine, unless it is listed in [`MAY_SKIP`].
fn judged(name: &str, outcome: Outcome, is_build_machine: bool) -> Outcome {
    match outcome {
        Outcome::Skipped(why) if is_build_machine => {
            match MAY_SKIP.iter().find(|(step, _)| *step == name) {
                Some((_, reason)) => Outcome::Skipped(format!("{why}; allowed: {reason}")),
                None => Outcome::Failed(format!(
                    "skipped where CI is set: {why}; `cargo xtask ci --install` installs it"
                )),
            }
        }
        other => other,
    }
}

/// What keeps programs of MPI from running here.
fn mpi_missing() -> Option<String> {
    if !e2e::is_root() {
        return Some("only root can give two nodes a host each".to_owned());
    }
    packages::missing(packages::MPI)
}

/// What keeps the dependencies from being checked here.
fn deny_missing() -> Option<String> {
    let is_there = has_subcommand("deny");
    (!is_there).then(|| format!("no cargo-deny (`cargo install {}`)", packages::DENY))
}

/// What keeps the dependencies from being checked for known vulnerabilities here.
fn advisories_missing() -> Option<String> {
    deny_missing().or_else(|| {
        let fetched = cargo().args(["deny", "fetch", "db"]).output();
        let is_fetched = fetched.is_ok_and(|output| output.status.success());
        (!is_fetched).then(|| "the advisory database cannot be fetched".to_owned())
    })
}

/// One line a step: its name, its time, how it ended.
fn summary(done: &[(&str, Outcome, Duration)]) -> String {
    let line = |(name, outcome, time): &(&str, Outcome, Duration)| {
        format!("{name:<10} {:>7.1} s  {outcome}\n", time.as_secs_f64())
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
        let expected = "fmt            1.2 s  passed\n\
                        test          90.0 s  FAILED (exit status 101)\n\
                        deny           0.0 s  not run\n";
        assert_eq!(summary(&done), expected);
    }
    #[test]
    fn a_skipped_step_fails_on_a_build_machine_unless_it_is_listed() {
        let skipped = || Outcome::Skipped("no qemu".to_owned());
        assert_eq!(judged("vm", skipped(), false), skipped());
        assert!(matches!(judged("vm", skipped(), true), Outcome::Failed(_)));
        let listed = judged("advisories", skipped(), true);
        assert!(listed.to_string().starts_with("skipped: no qemu; allowed: the advisory"));
        assert_eq!(judged("vm", Outcome::Passed, true), Outcome::Passed);
    }

    #[test]
    fn a_step_that_may_be_skipped_exists() {
        for (name, _) in MAY_SKIP {
            assert!(STEPS.iter().any(|step| step.name == *name), "{name}");
        }
    }
}
