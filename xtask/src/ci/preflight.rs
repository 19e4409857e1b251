//! What the gate needs from the machine, asked before anything is built, so that a missing package
//! is named by its name and not by the linker's last words. Never installs anything.

use crate::programs::{has_subcommand, is_program};
use anyhow::{Result, bail};

/// Programs that must be found: the program, what for, and where it comes from.
const PROGRAMS: &[(&str, &str, &str)] = &[
    (
        "cc",
        "links every program and compiles the C of the crate `ring`",
        "Debian and Ubuntu: `apt-get install gcc libc6-dev`; Fedora and RHEL: `dnf install gcc`",
    ),
    ("git", "lists the project's files for tidy", "the package is called `git` everywhere"),
];

/// Parts of the Rust toolchain: the subcommand and its component.
const COMPONENTS: &[(&str, &str)] = &[("fmt", "rustfmt"), ("clippy", "clippy")];

/// Checks that everything is there.
///
/// # Errors
/// Names each missing program and how to get it.
pub fn check() -> Result<()> {
    let missing = missing(has_program, has_subcommand);
    if !missing.is_empty() {
        bail!("failed to begin, something is missing:\n{}", missing.join("\n"));
    }
    Ok(())
}

/// Does the PATH find this program?
fn has_program(name: &str) -> bool {
    let search = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&search).any(|folder| is_program(&folder.join(name)))
}

/// A sentence for each thing that is not there.
fn missing(
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
    fn nothing_missing_says_nothing() {
        assert_eq!(missing(|_| true, |_| true), [""; 0]);
    }

    #[test]
    fn a_missing_compiler_is_named_with_its_package() {
        let found = missing(|name| name != "cc", |_| true);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("cc:") && found[0].contains("apt-get install gcc"), "{found:?}");
    }

    #[test]
    fn a_missing_component_is_named() {
        assert_eq!(
            missing(|_| true, |name| name != "clippy"),
            ["  cargo clippy: `rustup component add clippy`"]
        );
    }
}
