//! `cargo xtask ci`: all checks that a change must pass before it is merged, as one list of steps.
//! The command is the same for developers and build machines, and changes no tracked file.

mod preflight;
mod results;
mod step;

use crate::packages;
use crate::programs::{cargo, has_subcommand};
use crate::tree;
use anyhow::{Result, bail};
use results::Results;
use std::time::{Duration, Instant};
use step::{Outcome, Step};

/// Run all checks: project rules, generated files, format, clippy, build, tests, tests in a virtual
/// machine with systemd, licences.
#[derive(clap::Args)]
pub struct Args {
    /// Continue with later steps after one has failed.
    #[arg(long)]
    keep_going: bool,
    /// First install what the steps need: Debian packages (as root) and cargo-deny.
    #[arg(long)]
    install: bool,
}

/// Steps that a build machine (CI is set) may skip, and why. Any other skipped step fails there,
/// since a change would otherwise count as tested without having been tested.
const MAY_SKIP: &[(&str, &str)] = &[(
    "advisories",
    "the advisory database is fetched from its repository, and a build machine may reach package \
     registries only",
)];

/// Runs each test program with libtest's times of tests, which are an unstable option, and prints
/// its name before. The programs are those of a build without this setting. Two threads per CPU,
/// since most tests with real daemons wait for a time limit or a process.
const RUNNER: &str = concat!(
    r#"target."cfg(all())".runner = ["sh", "-c", "#,
    r#""echo \"test program: $0\"; export RUST_TEST_THREADS=$((2 * $(nproc))); "#,
    r#"RUSTC_BOOTSTRAP=1 exec \"$0\" \"$@\""]"#,
);

/// All tests with their times, and with the output of tests that passed: those that skipped
/// themselves say why in it.
#[rustfmt::skip]
const TEST: &[&str] = &[
    "test", "--workspace", "--all-targets", "--locked", "--no-fail-fast", "--config", RUNNER,
    "--", "-Zunstable-options", "--report-time", "--show-output",
];

/// The steps in order, fast ones first. All that build select the same packages, since cargo gives
/// dependencies the features that the selected packages need: with another selection, most crates
/// would be built again. `build` also builds the daemons that the tests in tests/e2e start.
const STEPS: &[Step] = &[
    Step::cargo("tidy", &["xtask", "tidy"]),
    Step::cargo("gen", &["xtask", "gen", "--check"]),
    Step::cargo("fmt", &["fmt", "--all", "--check"]),
    Step::cargo(
        "clippy",
        &["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"],
    ),
    Step::cargo("build", &["build", "--workspace", "--all-targets", "--locked"]),
    Step::cargo("next", &["xtask", "next-release"]),
    Step::cargo("test", TEST),
    Step::unless(crate::vm::missing, "vm", &["xtask", "vm", "--required"]),
    // Its crates have the names of ours, so that cargo builds ours again after it.
    Step::cargo("attribute", &["xtask", "attribute-trial"]),
    Step::unless(deny_missing, "deny", &["deny", "check", "bans", "licenses", "sources"]),
    Step::unless(advisories_missing, "advisories", &["deny", "check", "advisories"]),
];

/// Runs the verb.
pub fn run(args: Args) -> Result<()> {
    preflight::check()?;
    preflight::print_disk()?;
    if args.install {
        packages::install()?;
    }
    let is_build_machine = std::env::var_os("CI").is_some();
    if is_build_machine && let Some(missing) = packages::missing_for_any_step() {
        // Tests without the program they need are skipped, which would hide what was not tested.
        bail!("failed to start: CI is set, and there is {missing}; run `cargo xtask ci --install`");
    }
    let root = tree::root();
    let mut results = Results::default();
    let mut done: Vec<(&str, Outcome, Duration)> = Vec::new();
    let mut failed = Vec::new();
    for step in STEPS {
        if !failed.is_empty() && !args.keep_going {
            done.push((step.name, Outcome::NotRun, Duration::ZERO));
            continue;
        }
        println!("ci: {}: {}", step.name, step.shown());
        let begin = Instant::now();
        let outcome = with_skip_policy(step.name, step.run(&root, &mut results)?, is_build_machine);
        if let Outcome::Failed(_) = outcome {
            failed.push(step.name);
        }
        done.push((step.name, outcome, begin.elapsed()));
    }
    println!("\n{}\n{}\n{results}", results.details(), summarize_steps(&done));
    if !failed.is_empty() {
        bail!("ci failed at: {}", failed.join(", "));
    }
    Ok(())
}

/// A skipped step fails on a build machine, unless it is listed in [`MAY_SKIP`].
fn with_skip_policy(name: &str, outcome: Outcome, is_build_machine: bool) -> Outcome {
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

/// Why dependencies cannot be checked on this machine.
fn deny_missing() -> Option<String> {
    let is_there = has_subcommand("deny");
    (!is_there).then(|| format!("no cargo-deny (`cargo install {}`)", packages::DENY))
}

/// Why dependencies cannot be checked for known vulnerabilities on this machine.
fn advisories_missing() -> Option<String> {
    deny_missing().or_else(|| {
        let fetched = cargo().args(["deny", "fetch", "db"]).output();
        let is_fetched = fetched.is_ok_and(|output| output.status.success());
        (!is_fetched).then(|| "the advisory database cannot be fetched".to_owned())
    })
}

/// One line per step: name, time and outcome.
fn summarize_steps(done: &[(&str, Outcome, Duration)]) -> String {
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
        assert_eq!(summarize_steps(&done), expected);
    }

    #[test]
    fn a_skipped_step_fails_on_a_build_machine_unless_it_is_listed() {
        let skipped = || Outcome::Skipped("no qemu".to_owned());
        assert_eq!(with_skip_policy("vm", skipped(), false), skipped());
        assert!(matches!(with_skip_policy("vm", skipped(), true), Outcome::Failed(_)));
        let listed = with_skip_policy("advisories", skipped(), true);
        assert!(listed.to_string().starts_with("skipped: no qemu; allowed: the advisory"));
        assert_eq!(with_skip_policy("vm", Outcome::Passed, true), Outcome::Passed);
    }

    #[test]
    fn a_step_that_may_be_skipped_exists() {
        for (name, _) in MAY_SKIP {
            assert!(STEPS.iter().any(|step| step.name == *name), "{name}");
        }
    }
}
