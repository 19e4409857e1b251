//! The benchmarks with an optimised build: builds `tests/bench` as a release, runs
//! it, and writes its tables into docs/ between markers.

use super::figures::Figures;
use anyhow::{Context, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A machine with 8 GPUs.
const STANDIN: &str = "tests/nvml-standin/machines/dgx-h100.toml";

/// Runs `bench engine` and returns its rows: all, or the named ones.
pub fn engine(only: &[String]) -> anyhow::Result<Vec<serde_json::Value>> {
    let only = only.iter().map(|row| format!("--only={row}"));
    let text = run_bench(&std::iter::once("engine".to_owned()).chain(only).collect::<Vec<_>>())?;
    serde_json::from_str(&text).context("failed to read what the benchmark printed")
}

/// Runs `bench quality` on the traces in a folder and returns its tables.
pub fn quality(traces: &Path) -> anyhow::Result<String> {
    ensure!(
        traces.join("kth-sp2.jobs.csv.gz").exists(),
        "failed to find the traces in {}: give the folder with `--traces DIR`; \
         tests/traces/README.md says where they come from",
        traces.display()
    );
    let traces = traces.canonicalize()?;
    run_bench(&["quality".to_owned(), format!("--traces={}", traces.display())])
}

/// Runs a benchmark that prints samples, and adds them to `figures`.
pub fn sampled(name: &str, rounds: u32, figures: &mut Figures) -> anyhow::Result<()> {
    let text = run_bench(&[name.to_owned(), format!("--rounds={rounds}")])?;
    let rows: Vec<serde_json::Value> =
        serde_json::from_str(&text).context("failed to read what the benchmark printed")?;
    for row in &rows {
        let what = row["what"].as_str().context("a figure without a name")?;
        let unit = row["unit"].as_str().context("a figure without a unit")?;
        let samples = row["samples"].as_array().context("a figure without samples")?;
        figures.add(what, unit, samples.iter().filter_map(serde_json::Value::as_f64));
    }
    Ok(())
}

/// Runs `bench growth` and returns its points.
pub fn growth() -> anyhow::Result<Vec<serde_json::Value>> {
    let text = run_bench(&["growth".to_owned()])?;
    serde_json::from_str(&text).context("failed to read what the benchmark printed")
}

/// Runs the engine's example `share` and returns its table.
pub fn share() -> anyhow::Result<String> {
    build(&["-p", "engine", "--example", "share"])?;
    run(&target_dir()?.join("release/examples/share"), &[])
}

fn run_bench(arguments: &[String]) -> anyhow::Result<String> {
    // In one command: cargo unifies features per selection of packages, and a second build with
    // another selection would rebuild crates during the measurement.
    let daemons = ["-p", "kantctld", "-p", "kantd", "-p", "kantctl", "-p", "nvml-standin"];
    build(&[&["-p", "bench"], &daemons[..]].concat())?;
    run(&target_dir()?.join("release/bench"), arguments)
}

fn build(what: &[&str]) -> anyhow::Result<()> {
    let mut cargo = crate::programs::cargo();
    cargo.args(["build", "--release", "--locked"]).args(what);
    let cargo = cargo.arg("--target-dir").arg(target_dir()?).current_dir(e2e::workspace());
    let status = cargo.status().context("failed to start cargo")?;
    ensure!(status.success(), "failed to build the benchmark: cargo ended with {status}");
    Ok(())
}

fn run(program: &Path, arguments: &[String]) -> anyhow::Result<String> {
    let mut command = Command::new(program);
    e2e::forget_the_outer_cargo(&mut command);
    let run = command
        .args(arguments)
        // The machine that the simulated NVML library shows.
        .env("KANT_NVML_STANDIN", e2e::workspace().join(STANDIN))
        .env(e2e::PREBUILT, "1")
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("failed to start {}", program.display()))?;
    if !run.status.success() {
        bail!("failed to measure: {} ended with {}", program.display(), run.status);
    }
    String::from_utf8(run.stdout).context("failed to read what the benchmark printed")
}

/// Cargo's target directory: this program is in a profile's directory below it.
fn target_dir() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe().context("failed to find this program")?;
    let dir = program.parent().and_then(Path::parent);
    Ok(dir.context("this program is not in a target directory")?.to_owned())
}

/// The engine's rows as a Markdown table.
pub fn engine_table(rows: &[serde_json::Value]) -> String {
    let mut text = "| rules | nodes | waiting | takeover ms | full round ms | incremental ms: \
                    median / worst | nothing changed µs | fill: starts/s | memory MiB |\n\
                    |---|--:|--:|--:|--:|--:|--:|--:|--:|\n"
        .to_owned();
    for row in rows {
        let number = |key: &str, digits: usize| match row[key].as_f64() {
            Some(number) => format!("{number:.digits$}"),
            None => "-".to_owned(),
        };
        text += &format!(
            "| {} | {} | {} | {} | {} | {} / {} | {} | {} | {} |\n",
            row["rules"].as_str().unwrap_or("-"),
            row["nodes"],
            row["waiting"],
            number("takeover_ms", 0),
            number("full_ms", 1),
            number("incremental_ms", 1),
            number("incremental_worst_ms", 1),
            number("nothing_us", 2),
            number("starts_per_second", 0),
            number("memory_mib", 0),
        );
    }
    text
}

/// Writes a text between `<!-- bench:NAME -->` and `<!-- /bench:NAME -->` of a page.
pub fn write_into(page: &str, name: &str, text: &str) -> anyhow::Result<()> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(page);
    let before =
        std::fs::read_to_string(&path).with_context(|| format!("failed to read {page}"))?;
    let (open, close) = (format!("<!-- bench:{name} -->"), format!("<!-- /bench:{name} -->"));
    let parts = before.split_once(&open).and_then(|(head, rest)| {
        let (_, tail) = rest.split_once(&close)?;
        Some((head, tail))
    });
    let Some((head, tail)) = parts else { bail!("failed to find {open} and {close} in {page}") };
    let after = format!("{head}{open}\n{}\n{close}{tail}", text.trim_end());
    std::fs::write(&path, after).with_context(|| format!("failed to write {page}"))
}
