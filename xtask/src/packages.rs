//! System packages that the gate's steps use, in one list: a step that lacks one names it, and
//! `cargo xtask ci --install` installs all of them on Debian and its children.

use crate::programs::{cargo, has_subcommand, is_program};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program or file that a step of the gate uses, and the Debian packages that it needs.
pub struct Needed {
    step: &'static str,
    program: &'static str,
    packages: &'static str,
}

const fn needed(step: &'static str, program: &'static str, packages: &'static str) -> Needed {
    Needed { step, program, packages }
}

/// The step that runs all tests.
const TEST: &str = "test";

/// The step that runs programs of MPI.
pub const MPI: &str = "mpi";

/// The step that starts a virtual machine.
pub const VM: &str = "vm";

/// Programs that neither Rust nor a minimal Debian brings. Where one is missing, its tests say
/// `skipped`; a build machine has to have all of them.
const NEEDED: &[Needed] = &[
    needed(TEST, "chattr", "e2fsprogs"),
    needed(TEST, "crun", "crun"),
    needed(TEST, "fish", "fish"),
    needed(TEST, "ip", "iproute2"),
    needed(TEST, "ksh", "ksh"),
    needed(TEST, "zsh", "zsh"),
    needed(TEST, "/usr/bin/python3", "python3"),
    // No program of its own: a part of Python that `python3 -m venv` calls.
    needed(TEST, "/var/lib/dpkg/info/python3-venv.list", "python3-venv"),
    needed(MPI, "mpicc.openmpi", "openmpi-bin libopenmpi-dev"),
    needed(MPI, "mpicc.mpich", "mpich libmpich-dev"),
    needed(VM, "busybox", "busybox-static"),
    needed(VM, "cpio", "cpio"),
    needed(VM, "depmod", "kmod"),
    needed(VM, "mke2fs", "e2fsprogs"),
    needed(VM, "mmdebstrap", "mmdebstrap"),
    needed(VM, "qemu-system-x86_64", "qemu-system-x86"),
    needed(VM, "strip", "binutils"),
    needed(VM, "timeout", "coreutils"),
];

/// Where root's programs are, which a PATH may leave out.
const ROOT_PROGRAMS: [&str; 2] = ["/usr/sbin", "/sbin"];

/// The cargo subcommand that the steps `deny` and `advisories` run.
pub const DENY: &str = "cargo-deny";

/// What `step` lacks on this machine, and the command that installs it; `None`: nothing.
#[must_use]
pub fn missing(step: &str) -> Option<String> {
    lacking(|needed| needed.step == step, is_there)
}

/// What any step lacks, in the same words.
#[must_use]
pub fn missing_at_all() -> Option<String> {
    lacking(|_| true, is_there)
}

fn lacking(is_asked: impl Fn(&Needed) -> bool, is_there: impl Fn(&str) -> bool) -> Option<String> {
    let lacking = NEEDED.iter().filter(|needed| is_asked(needed) && !is_there(needed.program));
    let packages: BTreeSet<&str> = lacking.flat_map(|needed| needed.packages.split(' ')).collect();
    let packages: Vec<&str> = packages.into_iter().collect();
    let packages = packages.join(" ");
    (!packages.is_empty())
        .then(|| format!("no {packages} (`apt-get install --no-install-recommends {packages}`)"))
}

fn is_there(program: &str) -> bool {
    let search = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&search).chain(ROOT_PROGRAMS.map(PathBuf::from));
    // An absolute name replaces the folder that it is joined to, and need not be a program.
    folders.any(|folder| {
        let path = folder.join(program);
        if program.starts_with('/') { path.exists() } else { is_program(&path) }
    })
}

/// Installs what the gate needs and this machine lacks: Debian packages as root, cargo-deny by
/// cargo.
///
/// # Errors
/// When this is not Debian or not root and a package is missing, or an installer fails.
pub fn install() -> Result<()> {
    if let Some(missing) = missing_at_all() {
        ensure!(nix::unistd::geteuid().is_root(), "failed to install as a user: {missing}");
        ensure!(
            Path::new("/etc/debian_version").exists(),
            "failed to install: this is not Debian or a child of it; {missing}"
        );
        let packages: BTreeSet<&str> =
            NEEDED.iter().flat_map(|needed| needed.packages.split(' ')).collect();
        apt(&["update"])?;
        let mut words = vec!["install", "--yes", "--no-install-recommends"];
        words.extend(packages);
        apt(&words)?;
        if let Some(missing) = missing_at_all() {
            anyhow::bail!("failed to install: apt-get ended well, and still there is {missing}");
        }
    }
    if !has_subcommand("deny") {
        // Not optimised: it reads one lock file, and is built in half the time.
        let words = ["install", "--locked", "--debug", DENY];
        println!("ci: cargo {}", words.join(" "));
        let status = cargo().args(words).status().context("failed to start cargo")?;
        ensure!(status.success(), "failed to install {DENY}: {status}");
    }
    Ok(())
}

/// Runs apt-get without questions; a package's service is not started, where policy can say so.
fn apt(words: &[&str]) -> Result<()> {
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
    fn a_missing_program_is_named_by_its_packages() {
        assert_eq!(lacking(|_| true, |_| true), None);
        let said = lacking(|_| true, |name| name != "mpicc.mpich").unwrap();
        assert!(said.contains("install --no-install-recommends libmpich-dev mpich`"), "{said}");
    }

    #[test]
    fn a_step_lacks_only_what_it_uses() {
        let said = lacking(|needed| needed.step == VM, |_| false).unwrap();
        assert!(said.contains("qemu-system-x86") && !said.contains("mpich"), "{said}");
    }

    #[test]
    fn a_package_that_two_steps_use_is_named_once() {
        let said = lacking(|_| true, |name| name != "mke2fs" && name != "chattr").unwrap();
        assert!(said.starts_with("no e2fsprogs ("), "{said}");
    }
}
