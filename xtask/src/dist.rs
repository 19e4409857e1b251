//! `cargo xtask dist`: Debian packages of the controller, the node daemon and the command line,
//! made by dpkg-deb. The same programs and the same commit give the same bytes.

mod contents;
mod glibc;
mod staging;

use crate::programs::cargo;
use crate::tree;
use anyhow::{Context, Result, ensure};
use contents::{PACKAGES, Package};
use staging::Staging;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Build the Debian packages kant-controller, kant-node and kant-client.
#[derive(clap::Args)]
pub struct Args {
    /// Take the programs from this directory, instead of building them optimised.
    #[arg(long, value_name = "DIRECTORY")]
    programs: Option<PathBuf>,
    /// The directory for the packages [default: target/dist].
    #[arg(long, value_name = "DIRECTORY")]
    out: Option<PathBuf>,
}

/// How a package is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    Xz,
    /// For a slow machine that reads it once.
    None,
}

/// Runs the verb.
pub fn run(args: Args) -> Result<()> {
    let root = tree::root();
    let programs = match args.programs {
        Some(programs) => programs,
        None => build_programs(&root)?,
    };
    let out = args.out.unwrap_or_else(|| root.join("target/dist"));
    for package in build(&programs, env!("CARGO_PKG_VERSION"), Compression::Xz, &out)? {
        let bytes = fs::metadata(&package)?.len();
        println!("dist: {} ({:.1} MB)", package.display(), bytes as f64 / 1e6);
    }
    Ok(())
}

/// Builds the packages of this version from the programs in a directory. Returns their paths.
///
/// # Errors
/// When a program or tool is missing.
pub fn build(
    programs: &Path,
    version: &str,
    compression: Compression,
    out: &Path,
) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(out).with_context(|| format!("failed to create {}", out.display()))?;
    let architecture = output_of(Command::new("dpkg").arg("--print-architecture"))?;
    let epoch = source_date_epoch()?;
    let one = |package: &Package| {
        let staging = Staging::fill(package, programs)?;
        staging.write_control(package, version, architecture.trim())?;
        let name = format!("{}_{version}_{}.deb", package.name, architecture.trim());
        let path = out.join(name);
        // One thread of xz: with several, the bytes depend on the number of processors.
        let mut dpkg = Command::new("dpkg-deb");
        let kind = if compression == Compression::Xz { "-Zxz" } else { "-Znone" };
        dpkg.args(["--root-owner-group", "--threads-max=1", kind, "--build"]);
        dpkg.arg(staging.root()).arg(&path).env("SOURCE_DATE_EPOCH", &epoch);
        output_of(&mut dpkg)?;
        Ok(path)
    };
    PACKAGES.iter().map(one).collect()
}

/// Builds optimised programs, and returns their directory.
fn build_programs(root: &Path) -> Result<PathBuf> {
    let mut build = cargo();
    build.args(["build", "--release", "--locked"]).current_dir(root);
    let status = build.status().context("failed to run cargo")?;
    ensure!(status.success(), "failed to build the programs: cargo ended with {status}");
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    Ok(target.unwrap_or_else(|| root.join("target")).join("release"))
}

/// The time of all files in the packages: the variable of that name, or the last commit.
fn source_date_epoch() -> Result<String> {
    if let Ok(epoch) = std::env::var("SOURCE_DATE_EPOCH") {
        return Ok(epoch);
    }
    let mut git = Command::new("git");
    git.args(["log", "-1", "--format=%ct"]).current_dir(tree::root());
    let epoch = output_of(&mut git).context("set SOURCE_DATE_EPOCH to build without git")?;
    Ok(epoch.trim().to_owned())
}

/// Runs a tool that must succeed; returns what it printed.
fn output_of(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("failed to run {command:?}"))?;
    ensure!(
        output.status.success(),
        "failed to run {command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).with_context(|| format!("{command:?} printed no text"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packages;
    use std::os::unix::fs::PermissionsExt;

    /// Scripts in the place of the programs, among them one that writes manual pages.
    fn programs(dir: &Path) {
        let kantctl = "#!/bin/sh\nif [ $1 = man ]; then mkdir -p $2; echo page >$2/kantctl.1; fi\n\
                       if [ $1 = completions ]; then echo \"# $2\"; fi\n";
        for name in ["kantctl", "kantctld", "kantd", "kant-sim"] {
            let path = dir.join(name);
            fs::write(&path, kantctl).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    #[test]
    fn the_same_input_gives_the_same_bytes_and_every_file_is_there() {
        if let Some(missing) = packages::missing(packages::DIST) {
            println!("skipped: {missing}");
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        programs(dir.path());
        let build =
            |out: &str| build(dir.path(), "1.2.3", Compression::Xz, &dir.path().join(out)).unwrap();
        let (first, second) = (build("first"), build("second"));
        assert_eq!(first.len(), 3);
        for (first, second) in first.iter().zip(&second) {
            assert!(fs::read(first).unwrap() == fs::read(second).unwrap(), "{}", first.display());
        }
        let list = |path| output_of(Command::new("dpkg-deb").arg("--contents").arg(path)).unwrap();
        let all: String = first.iter().map(list).collect();
        for file in [
            "root/root",
            "./usr/bin/kantctl\n",
            "./usr/share/man/man1/kantctl.1.gz\n",
            "./usr/share/bash-completion/completions/kantctl\n",
            "./usr/lib/systemd/system/kantctld.service\n",
            "./usr/lib/systemd/system/kantd.service\n",
            "./usr/lib/sysusers.d/kant-controller.conf\n",
        ] {
            assert!(all.contains(file), "no {file} in {all}");
        }
        assert!(!all.contains("/etc/kant/kantctld.toml"), "`kantctld setup` writes it");
        let mut field = Command::new("dpkg-deb");
        let depends = output_of(field.arg("--field").arg(&first[1]).arg("Depends")).unwrap();
        assert!(depends.starts_with("kant-client (= 1.2.3)"), "{depends}");
    }
}
