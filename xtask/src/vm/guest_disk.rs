//! The second disk of the virtual machine: the daemons, kantd's tests and the systemd units that
//! the guest's script (tests/vm/guest.sh) runs.

use crate::programs::cargo;
use crate::tree;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The test programs of kantd that run steps and use cgroups; the others use fixtures.
const TESTS: [&str; 16] = [
    "cgroup_v2",
    "hostile",
    "hostile_users",
    "orphans",
    "output",
    "step_container",
    "step_disk",
    "step_failure",
    "step_programs",
    "step_hooks",
    "step_limits",
    "step_outlive",
    "step_private",
    "step_run",
    "step_suspend",
    "step_warning",
];

/// The name of the part that is not a test program.
const UNITS: &str = "units";

/// The programs on the disk.
const PROGRAMS: [&str; 4] = ["kantctld", "kantd", "kantctl", "libnvml_standin.so"];

/// The folders of this repository that the guest's script reads.
const FOLDERS: [&str; 4] = ["systemd", "tests/systemd", "tests/vm", "tests/nvml-standin/machines"];

/// The size of the disk, with space for the output of the tests.
const DISK_BYTES: u64 = 1 << 30;

pub struct GuestDisk {
    pub target: PathBuf,
    /// The directory of the programs, below `target`.
    built: PathBuf,
    /// Test programs by name.
    tests: Vec<(String, PathBuf)>,
    /// Whether the systemd units are tested.
    units: bool,
}

impl GuestDisk {
    /// Builds the daemons and the tests, for all parts or those named.
    ///
    /// # Errors
    /// When cargo fails, or there is no such part.
    pub fn build(parts: &[String]) -> Result<GuestDisk> {
        if let Some(none) = parts.iter().find(|part| *part != UNITS && !is_test(part)) {
            bail!("unknown part `{none}`: parts are {UNITS}, {}", TESTS.join(", "));
        }
        let wanted = |part: &str| parts.is_empty() || parts.iter().any(|wanted| wanted == part);
        let mut daemons = cargo();
        daemons.args(["build", "--locked", "-p", "kantctld", "-p", "kantd", "-p", "kantctl"]);
        daemons.args(["-p", "nvml-standin"]).current_dir(tree::root());
        let status = daemons.status().context("failed to run cargo")?;
        ensure!(status.success(), "failed to build the daemons: cargo ended with {status}");
        let mut tests = cargo();
        tests.args(["test", "--locked", "-p", "kantd", "--no-run", "--message-format=json"]);
        tests.current_dir(tree::root()).stderr(Stdio::inherit());
        let output = tests.output().context("failed to run cargo")?;
        let status = output.status;
        ensure!(status.success(), "failed to build kantd's tests: cargo ended with {status}");
        let all = test_programs(&String::from_utf8_lossy(&output.stdout));
        // target/debug/deps/hostile-0123456789abcdef
        let deps = all.first().and_then(|(_, program)| program.parent());
        let Some(built) = deps.and_then(Path::parent) else { bail!("cargo built no tests") };
        let target = built.parent().context("the tests are not in a target directory")?.to_owned();
        let built = built.to_owned();
        let tests = all.into_iter().filter(|(name, _)| is_test(name) && wanted(name)).collect();
        Ok(GuestDisk { target, built, tests, units: wanted(UNITS) })
    }

    /// Writes the disk into a directory.
    ///
    /// # Errors
    /// When a file is missing, or there is no space.
    pub fn write_disk(&self, dir: &Path) -> Result<PathBuf> {
        let given = dir.join("given");
        for folder in ["bin", "tests-of-kantd"] {
            fs::create_dir_all(given.join(folder))?;
        }
        fs::write(given.join("built"), self.built.display().to_string())?;
        if self.units {
            fs::write(given.join("units"), "")?;
        }
        for name in PROGRAMS {
            strip(&self.built.join(name), &given.join("bin").join(name))?;
        }
        for (name, program) in &self.tests {
            strip(program, &given.join("tests-of-kantd").join(name))?;
        }
        for folder in FOLDERS {
            let parent = given.join(folder).parent().map(Path::to_owned).unwrap_or_default();
            fs::create_dir_all(&parent)?;
            run_tool(Command::new("cp").arg("-r").arg(tree::root().join(folder)).arg(&parent))?;
        }
        let disk = dir.join("given.ext4");
        fs::File::create(&disk)?.set_len(DISK_BYTES)?;
        let mut mke2fs = Command::new("mke2fs");
        mke2fs.args(["-q", "-t", "ext4", "-E", "root_owner=0:0", "-d"]).arg(&given);
        run_tool(mke2fs.arg(&disk))?;
        Ok(disk)
    }
}

fn is_test(name: &str) -> bool {
    TESTS.contains(&name)
}

/// Copies a program without debug information, which a slow machine would have to read.
fn strip(from: &Path, to: &Path) -> Result<()> {
    run_tool(Command::new("strip").arg("-o").arg(to).arg(from))
}

fn run_tool(command: &mut Command) -> Result<()> {
    let status = command.stdin(Stdio::null()).status();
    let status = status.with_context(|| format!("failed to run {command:?}"))?;
    ensure!(status.success(), "failed to prepare the machine's disk: {command:?}: {status}");
    Ok(())
}

/// The programs of integration tests in cargo's messages, by name.
fn test_programs(messages: &str) -> Vec<(String, PathBuf)> {
    let message = |line: &str| serde_json::from_str::<serde_json::Value>(line).ok();
    let program = |message: serde_json::Value| {
        let target = &message["target"];
        let is_test = target["kind"].as_array()?.iter().any(|kind| kind == "test");
        let program = message["executable"].as_str().filter(|_| is_test)?;
        Some((target["name"].as_str()?.to_owned(), PathBuf::from(program)))
    };
    messages.lines().filter_map(message).filter_map(program).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_integration_tests_are_found_in_cargos_messages() {
        let message = |kind: &str, name: &str, program: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","target":{{"kind":["{kind}"],"name":"{name}"}},"#
            ) + &format!(r#""executable":"{program}"}}"#)
        };
        let messages = [
            message("lib", "kantd", "/t/debug/deps/kantd-1"),
            message("test", "hostile", "/t/debug/deps/hostile-2"),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ]
        .join("\n");
        let hostile = ("hostile".to_owned(), PathBuf::from("/t/debug/deps/hostile-2"));
        assert_eq!(test_programs(&messages), [hostile]);
    }

    #[test]
    fn every_test_program_that_the_machine_runs_exists() {
        for name in TESTS {
            let file = tree::root().join(format!("kantd/tests/{name}.rs"));
            assert!(file.exists(), "{}", file.display());
        }
    }
}
