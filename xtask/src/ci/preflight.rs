//! The check for required programs before the first step, so that a missing package is reported by
//! its name and not by a linker error.

use crate::programs::{has_subcommand, is_program};
use crate::tree;
use anyhow::{Context, Result, bail};
use nix::sys::statvfs::statvfs;

/// Required programs: name, purpose, and package.
const PROGRAMS: &[(&str, &str, &str)] = &[
    (
        "cc",
        "links every program and compiles the C of the crate `ring`",
        "Debian and Ubuntu: `apt-get install gcc libc6-dev`; Fedora and RHEL: `dnf install gcc`",
    ),
    ("git", "lists the project's files for tidy", "the package is called `git` everywhere"),
];

/// Required parts of the Rust toolchain: subcommand and component.
const COMPONENTS: &[(&str, &str)] = &[("fmt", "rustfmt"), ("clippy", "clippy")];

/// What a run from a cold start writes: the build folders, and the disks of the virtual machine.
const COLD_RUN_GIB: u64 = 14;

/// Prints how much disk is free and needed: without space, compiler and linker fail one by one.
///
/// # Errors
/// When the file system of the source tree cannot be read.
pub fn print_disk() -> Result<()> {
    let root = tree::root();
    let disk = statvfs(&root).with_context(|| format!("failed to read {}", root.display()))?;
    let free_gib = (disk.blocks_available() * disk.fragment_size()) >> 30;
    println!("ci: {free_gib} GiB of disk are free; a run from a cold start needs {COLD_RUN_GIB}");
    Ok(())
}

/// Checks for all required programs.
///
/// # Errors
/// Names each missing program and its package.
pub fn check() -> Result<()> {
    let missing = list_missing_programs(has_program, has_subcommand);
    if !missing.is_empty() {
        bail!("failed to start: programs are missing:\n{}", missing.join("\n"));
    }
    Ok(())
}

/// Whether PATH contains this program.
fn has_program(name: &str) -> bool {
    let search = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&search).any(|folder| is_program(&folder.join(name)))
}

/// A line for each missing program or component.
fn list_missing_programs(
    has_program: impl Fn(&str) -> bool,
    has_subcommand: impl Fn(&str) -> bool,
) -> Vec<String> {
    let programs = PROGRAMS.iter().filter(|(name, _, _)| !has_program(name));
    let programs = programs.map(|(name, purpose, from)| format!("  {name}: {purpose}; {from}"));
    let components = COMPONENTS.iter().filter(|(subcommand, _)| !has_subcommand(subcommand));
    let components = components.map(|(subcommand, component)| {
        format!("  cargo {subcommand}: `rustup component add {component}`")
    });
    programs.chain(components).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_all_programs_nothing_is_reported() {
        assert_eq!(list_missing_programs(|_| true, |_| true), [""; 0]);
    }

    #[test]
    fn a_missing_compiler_is_reported_with_its_package() {
        let found = list_missing_programs(|name| name != "cc", |_| true);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("cc:") && found[0].contains("apt-get install gcc"), "{found:?}");
    }

    #[test]
    fn a_missing_component_is_reported() {
        assert_eq!(
            list_missing_programs(|_| true, |name| name != "clippy"),
            ["  cargo clippy: `rustup component add clippy`"]
        );
    }
}
