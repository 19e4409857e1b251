//! The system packages that the steps of the checks need. A step reports its missing packages, and
//! `cargo xtask ci --install` installs all on Debian and its derivatives.

use crate::programs::{cargo, has_subcommand, is_program};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program or file that a step needs, and its Debian packages.
pub struct Needed {
    step: &'static str,
    program: &'static str,
    packages: &'static str,
}

const fn needed_package(
    step: &'static str,
    program: &'static str,
    packages: &'static str,
) -> Needed {
    Needed { step, program, packages }
}

/// The step that runs all tests.
const TEST: &str = "test";

/// The step that starts a virtual machine.
pub const VM: &str = "vm";

/// The packages that `cargo xtask dist` builds.
pub const DIST: &str = "dist";

/// Programs that are part of neither Rust nor a minimal Debian. Without one, the tests that need it
/// are skipped; a build machine must have all.
const NEEDED: &[Needed] = &[
    needed_package(TEST, "chattr", "e2fsprogs"),
    needed_package(TEST, "crun", "crun"),
    needed_package(TEST, "fish", "fish"),
    needed_package(TEST, "ip", "iproute2"),
    needed_package(TEST, "ksh", "ksh"),
    needed_package(TEST, "man", "man-db"),
    needed_package(TEST, "prometheus", "prometheus"),
    needed_package(TEST, "zsh", "zsh"),
    needed_package(TEST, "/usr/bin/python3", "python3"),
    // Not a program, but a part of Python that `python3 -m venv` needs.
    needed_package(TEST, "/var/lib/dpkg/info/python3-venv.list", "python3-venv"),
    needed_package(TEST, "mpicc.openmpi", "openmpi-bin libopenmpi-dev"),
    needed_package(TEST, "mpicc.mpich", "mpich libmpich-dev"),
    needed_package(DIST, "dpkg-deb", "dpkg"),
    needed_package(DIST, "gzip", "gzip"),
    needed_package(DIST, "objdump", "binutils"),
    needed_package(DIST, "strip", "binutils"),
    needed_package(VM, "busybox", "busybox-static"),
    needed_package(VM, "cpio", "cpio"),
    needed_package(VM, "dpkg-deb", "dpkg"),
    needed_package(VM, "depmod", "kmod"),
    needed_package(VM, "mke2fs", "e2fsprogs"),
    needed_package(VM, "mmdebstrap", "mmdebstrap"),
    needed_package(VM, "qemu-system-x86_64", "qemu-system-x86"),
    needed_package(VM, "strip", "binutils"),
    needed_package(VM, "timeout", "coreutils"),
];

/// The directories of root's programs, which PATH may not contain.
const ROOT_PROGRAMS: [&str; 2] = ["/usr/sbin", "/sbin"];

/// The crate of the subcommand that the steps `deny` and `advisories` run.
pub const DENY: &str = "cargo-deny";

/// The packages that `step` lacks on this machine, and the command that installs them; `None`:
/// none.
#[must_use]
pub fn missing(step: &str) -> Option<String> {
    missing_packages(|needed| needed.step == step, is_there)
}

/// The packages that any step lacks, and the command that installs them.
#[must_use]
pub fn missing_for_any_step() -> Option<String> {
    missing_packages(|_| true, is_there)
}

fn missing_packages(
    is_relevant: impl Fn(&Needed) -> bool,
    is_there: impl Fn(&str) -> bool,
) -> Option<String> {
    let missing = NEEDED.iter().filter(|needed| is_relevant(needed) && !is_there(needed.program));
    let packages: BTreeSet<&str> = missing.flat_map(|needed| needed.packages.split(' ')).collect();
    let packages: Vec<&str> = packages.into_iter().collect();
    let packages = packages.join(" ");
    (!packages.is_empty())
        .then(|| format!("no {packages} (`apt-get install --no-install-recommends {packages}`)"))
}

fn is_there(program: &str) -> bool {
    let search = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&search).chain(ROOT_PROGRAMS.map(PathBuf::from));
    // Joining an absolute path replaces the folder; the file need not be a program.
    folders.any(|folder| {
        let path = folder.join(program);
        if program.starts_with('/') { path.exists() } else { is_program(&path) }
    })
}

/// Installs missing packages: Debian packages as root, cargo-deny with cargo.
///
/// # Errors
/// When a package is missing and this is not Debian or the user is not root, or an installer fails.
pub fn install() -> Result<()> {
    if let Some(missing) = missing_for_any_step() {
        ensure!(nix::unistd::geteuid().is_root(), "failed to install: not root: {missing}");
        ensure!(
            Path::new("/etc/debian_version").exists(),
            "failed to install: this is not Debian or a derivative; {missing}"
        );
        let packages: BTreeSet<&str> =
            NEEDED.iter().flat_map(|needed| needed.packages.split(' ')).collect();
        run_apt_get(&["update"])?;
        let mut words = vec!["install", "--yes", "--no-install-recommends"];
        words.extend(packages);
        run_apt_get(&words)?;
        if let Some(missing) = missing_for_any_step() {
            anyhow::bail!("failed to install: apt-get succeeded, and still there is {missing}");
        }
    }
    if !has_subcommand("deny") {
        // Not optimised: it only reads one lock file, and building takes half the time.
        let words = ["install", "--locked", "--debug", DENY, "--config", "profile.dev.debug=false"];
        println!("ci: cargo {}", words.join(" "));
        let status = cargo().args(words).status().context("failed to start cargo")?;
        ensure!(status.success(), "failed to install {DENY}: {status}");
    }
    Ok(())
}

/// Runs apt-get without questions.
fn run_apt_get(words: &[&str]) -> Result<()> {
    println!("ci: apt-get {}", words.join(" "));
    let mut apt = Command::new("apt-get");
    apt.arg("--quiet").args(words).env("DEBIAN_FRONTEND", "noninteractive");
    let status = apt.status().context("failed to start apt-get")?;
    ensure!(status.success(), "failed to run `apt-get {}`: {status}", words.join(" "));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_reported_by_its_packages() {
        assert_eq!(missing_packages(|_| true, |_| true), None);
        let said = missing_packages(|_| true, |name| name != "mpicc.mpich").unwrap();
        assert!(said.contains("install --no-install-recommends libmpich-dev mpich`"), "{said}");
    }

    #[test]
    fn a_step_reports_only_its_own_packages() {
        let said = missing_packages(|needed| needed.step == VM, |_| false).unwrap();
        assert!(said.contains("qemu-system-x86") && !said.contains("mpich"), "{said}");
    }

    #[test]
    fn a_package_that_two_steps_need_is_reported_once() {
        let said = missing_packages(|_| true, |name| name != "mke2fs" && name != "chattr").unwrap();
        assert!(said.starts_with("no e2fsprogs ("), "{said}");
    }
}
