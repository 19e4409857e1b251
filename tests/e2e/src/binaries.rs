//! The programs under test, built before use. Installed ones are not used.

use anyhow::{Context as _, ensure};
use common::sync::Mutex;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Set by a caller that has just built everything (`cargo xtask ci`): then nothing is built.
pub const PREBUILT: &str = "KANT_E2E_PREBUILT";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Build {
    /// In the profile of this program, without output: for tests.
    #[default]
    Quiet,
    /// In the profile of this program, with cargo's progress on standard error.
    Loud,
    Release,
}

#[derive(Debug, Clone)]
pub struct Binaries {
    pub kantctld: PathBuf,
    pub kantd: PathBuf,
    pub kantctl: PathBuf,
    /// The simulated NVML library.
    pub nvml: PathBuf,
    /// kantctld of the release after this one (feature `next-rules`).
    next_kantctld: PathBuf,
}

/// The program of the next release, beside kantctld.
const NEXT: &str = "kantctld-next";
/// Builds it. The same packages are selected as by the build of everything, so that only crates
/// with the feature are built again.
const NEXT_BUILD: [&str; 7] =
    ["build", "--quiet", "--workspace", "--bin", NEXT, "--features", "kantctld/next-rules"];

impl Binaries {
    /// Builds the programs, at most once per process.
    ///
    /// # Errors
    /// When cargo fails, with its output on standard error.
    pub fn build(how: Build) -> anyhow::Result<Self> {
        static BUILT: Mutex<Vec<(Build, Binaries)>> = Mutex::new(Vec::new());
        let mut built = BUILT.lock();
        if let Some((_, binaries)) = built.iter().find(|(known, _)| *known == how) {
            return Ok(binaries.clone());
        }
        let binaries = Self::build_now(how)?;
        built.push((how, binaries.clone()));
        Ok(binaries)
    }

    fn build_now(how: Build) -> anyhow::Result<Self> {
        let mut target = target_dir()?;
        if how == Build::Quiet && std::env::var_os(PREBUILT).is_some() {
            return Self::in_dir(&target);
        }
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["build", "-p", "kantctld", "-p", "kantd", "-p", "kantctl"]);
        cargo.args(["-p", "nvml-standin"]);
        if how == Build::Quiet {
            cargo.arg("--quiet");
        }
        if how == Build::Release {
            target.set_file_name("release");
        }
        if target.ends_with("release") {
            cargo.arg("--release");
        }
        if let Some(dir) = target.parent() {
            cargo.arg("--target-dir").arg(dir);
        }
        forget_the_outer_cargo(&mut cargo);
        cargo.current_dir(workspace()).stdin(Stdio::null()).stdout(Stdio::null());
        let status = cargo.status().context("failed to run cargo")?;
        ensure!(status.success(), "failed to build the daemons: cargo ended with {status}");
        Self::in_dir(&target)
    }

    fn in_dir(target: &Path) -> anyhow::Result<Self> {
        let program = |name: &str| -> anyhow::Result<PathBuf> {
            let path = target.join(name);
            ensure!(path.exists(), "cargo built no {}", path.display());
            Ok(path)
        };
        Ok(Self {
            kantctld: program("kantctld")?,
            kantd: program("kantd")?,
            kantctl: program("kantctl")?,
            nvml: program("libnvml_standin.so")?,
            next_kantctld: target.join(NEXT),
        })
    }

    /// kantctld of the release after this one; built now, unless `cargo xtask ci` has built it.
    ///
    /// # Errors
    /// When cargo fails, with its output on standard error.
    pub fn next_kantctld(&self) -> anyhow::Result<&Path> {
        static BUILDING: Mutex<()> = Mutex::new(());
        let _turn = BUILDING.lock();
        if std::env::var_os(PREBUILT).is_none() {
            build_next(self.next_kantctld.parent().context("a program has a directory")?)?;
        }
        let next = self.next_kantctld.as_path();
        ensure!(next.exists(), "there is no {}", next.display());
        Ok(next)
    }
}

/// Removes the environment variables that an outer cargo sets for the programs it runs. With them,
/// an inner cargo would rebuild all crates with build scripts, and the outer one would rebuild them
/// again.
pub fn forget_the_outer_cargo(cargo: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let of_a_package = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "DEP_"];
        if of_a_package.iter().any(|prefix| text.starts_with(prefix))
            || matches!(&*text, "OUT_DIR" | "CARGO_PRIMARY_PACKAGE" | "CARGO_TARGET_TMPDIR")
        {
            cargo.env_remove(&name);
        }
    }
}

/// Builds kantctld of the release after this one beside kantctld, in that directory of a profile.
///
/// # Errors
/// When cargo fails, with its output on standard error.
pub fn build_next(profile: &Path) -> anyhow::Result<()> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(NEXT_BUILD);
    if profile.ends_with("release") {
        cargo.arg("--release");
    } else {
        // One test runs it, for seconds: less than it takes to optimise what only it needs.
        for package in ["lead", "query", "state"] {
            cargo.arg("--config").arg(format!("profile.dev.package.{package}.opt-level=0"));
        }
    }
    let target = profile.parent().context("a profile has a directory of its own")?;
    cargo.arg("--target-dir").arg(target);
    forget_the_outer_cargo(&mut cargo);
    let built = cargo.current_dir(workspace()).stdin(Stdio::null()).status();
    let status = built.context("failed to run cargo")?;
    ensure!(status.success(), "failed to build the next release: cargo ended with {status}");
    Ok(())
}

/// The root of this repository.
#[must_use]
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// `target/<profile>`: the directory of this program, or the parent of its `deps`.
fn target_dir() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe().context("failed to find this program")?;
    let dir = program.parent().context("this program has no directory")?;
    let deps = dir.ends_with("deps") || dir.ends_with("examples");
    Ok(if deps { dir.parent().unwrap_or(dir) } else { dir }.to_owned())
}
