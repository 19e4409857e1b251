//! `cargo xtask fuzz`: libFuzzer over the functions of tests/fuzz-targets, on stable Rust. Inputs
//! that reach new code are kept in target/fuzz/corpus; findings are in target/fuzz/artifacts.

use crate::programs::cargo;
use crate::tree;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Call the functions that read foreign bytes with inputs that a fuzzer makes.
#[derive(clap::Args)]
pub struct Args {
    /// How long to run each target, in seconds.
    #[arg(long, default_value_t = 60)]
    seconds: u32,
    /// Only these targets; all without any.
    targets: Vec<String>,
}

/// What cargo-fuzz passes to rustc, without a sanitizer, which would need a nightly compiler:
/// nearly all code is safe Rust, where an error of memory is a panic.
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares \
    -Cllvm-args=-simplifycfg-branch-fold-threshold=0 -Ccodegen-units=1";

/// A call that takes longer is a hang.
const CALL_SECONDS: u32 = 10;
/// A process that takes more memory is a finding.
const MEMORY_MIB: u32 = 2048;

/// A target, as the fuzzer lists it.
#[derive(Debug, PartialEq, Eq)]
struct Target {
    name: String,
    /// Directories with inputs to begin with.
    seeds: Vec<String>,
}

/// Runs the verb.
pub fn run(args: Args) -> Result<()> {
    let root = tree::root();
    let fuzzer = build(&root)?;
    let listed = Command::new(&fuzzer).output().context("failed to run the fuzzer")?;
    let all = targets(&String::from_utf8_lossy(&listed.stdout));
    ensure!(!all.is_empty(), "the fuzzer lists no target");
    if let Some(none) = args.targets.iter().find(|name| all.iter().all(|one| one.name != **name)) {
        let names: Vec<&str> = all.iter().map(|target| target.name.as_str()).collect();
        bail!("unknown target `{none}`: targets are {}", names.join(", "));
    }
    let is_wanted = |one: &&Target| args.targets.is_empty() || args.targets.contains(&one.name);
    let mut failed = Vec::new();
    for target in all.iter().filter(is_wanted) {
        println!("fuzz: {} for {} s", target.name, args.seconds);
        if !fuzz(&root, &fuzzer, target, args.seconds)? {
            failed.push(target.name.as_str());
        }
    }
    ensure!(
        failed.is_empty(),
        "findings in {}: mend the code, and copy the inputs from target/fuzz/artifacts to \
         fuzz/corpus",
        failed.join(", ")
    );
    Ok(())
}

/// Builds the fuzzer, and returns its path.
fn build(root: &Path) -> Result<PathBuf> {
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let target_dir = root.join("target/fuzz");
    let mut build = cargo();
    build.args(["build", "--release", "--locked", "--manifest-path", "fuzz/Cargo.toml"]);
    // With a platform, build scripts and macros are built without instrumentation.
    build.args(["--target", &platform]).current_dir(root);
    build.env("RUSTFLAGS", FLAGS).env("CARGO_TARGET_DIR", &target_dir);
    let status = build.status().context("failed to run cargo")?;
    ensure!(status.success(), "failed to build the fuzzer: cargo ended with {status}");
    Ok(target_dir.join(platform).join("release/fuzz"))
}

/// The targets in the fuzzer's output: a name and its seeds in each line.
fn targets(listed: &str) -> Vec<Target> {
    let target = |line: &str| {
        let mut words = line.split_whitespace().map(str::to_owned);
        Some(Target { name: words.next()?, seeds: words.collect() })
    };
    listed.lines().filter_map(target).collect()
}

/// Runs one target. Returns whether it found nothing.
fn fuzz(root: &Path, fuzzer: &Path, target: &Target, seconds: u32) -> Result<bool> {
    let make = |path: PathBuf| {
        fs::create_dir_all(&path).with_context(|| format!("failed to make {}", path.display()))?;
        Ok::<_, anyhow::Error>(path)
    };
    let found = make(root.join("target/fuzz/corpus").join(&target.name))?;
    let kept = make(root.join("fuzz/corpus").join(&target.name))?;
    let artifacts = make(root.join("target/fuzz/artifacts").join(&target.name))?;
    let mut command = Command::new(fuzzer);
    command.env("KANT_FUZZ_TARGET", &target.name).current_dir(root).arg(found).arg(kept);
    command.args(target.seeds.iter().filter(|seed| root.join(seed).is_dir()));
    command.arg(format!("-max_total_time={seconds}")).arg(format!("-timeout={CALL_SECONDS}"));
    command.arg(format!("-rss_limit_mb={MEMORY_MIB}"));
    command.arg(format!("-artifact_prefix={}/", artifacts.display()));
    command.args(["-print_final_stats=1", "-verbosity=1"]);
    let status = command.status().context("failed to run the fuzzer")?;
    Ok(status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_the_fuzzer_has_names_and_seeds() {
        let target = |name: &str, seeds: &[&str]| Target {
            name: name.to_owned(),
            seeds: seeds.iter().map(|seed| (*seed).to_owned()).collect(),
        };
        let listed = "config etc\n\ntoken\n";
        assert_eq!(targets(listed), [target("config", &["etc"]), target("token", &[])]);
    }
}
