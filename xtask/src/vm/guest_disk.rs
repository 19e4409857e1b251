//! The second disk of the virtual machine: the daemons, kantd's tests and the packages that the
//! guest's script (tests/vm/guest.sh) installs.

use crate::dist::{self, Compression};
use crate::programs::cargo;
use crate::tree;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// kantd's test program.
const TEST_PROGRAM: &str = "kantd_tests";

/// The modules of kantd's tests that run steps and use cgroups; the others use fixtures.
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

/// The name of the part that is not a module of tests.
const UNITS: &str = "units";

/// The programs on the disk.
const PROGRAMS: [&str; 5] = ["kantctld", "kantd", "kantctl", "kant-sim", "libnvml_standin.so"];

/// The folders of this repository that the guest's script reads.
const FOLDERS: [&str; 3] = ["tests/systemd", "tests/vm", "tests/nvml-standin/machines"];

/// The size of the disk, with space for the output of the tests.
const DISK_BYTES: u64 = 1 << 30;

pub struct GuestDisk {
    pub target: PathBuf,
    /// The directory of the programs, below `target`.
    built: PathBuf,
    test_program: PathBuf,
    /// The modules whose tests run.
    modules: Vec<&'static str>,
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
        let mut cargo = cargo();
        // All targets, as in the gate: with another selection, dependencies have other features,
        // and all crates are built again.
        cargo.args(["build", "--workspace", "--all-targets", "--locked"]);
        cargo.arg("--message-format=json-render-diagnostics").current_dir(tree::root());
        let output = cargo.stderr(Stdio::inherit()).output().context("failed to run cargo")?;
        let status = output.status;
        ensure!(status.success(), "failed to build kantd and its tests: cargo ended with {status}");
        let test_program = test_program(&String::from_utf8_lossy(&output.stdout));
        let Some(test_program) = test_program else { bail!("cargo built no tests") };
        // target/debug/deps/kantd_tests-0123456789abcdef
        let built = test_program.parent().and_then(Path::parent);
        let built = built.context("the tests are not in a target directory")?.to_owned();
        let target = built.parent().context("the tests are not in a target directory")?.to_owned();
        let modules = TESTS.into_iter().filter(|module| wanted(module)).collect();
        Ok(GuestDisk { target, built, test_program, modules, units: wanted(UNITS) })
    }

    /// Writes the disk into a directory.
    ///
    /// # Errors
    /// When a file is missing, or there is no space.
    pub fn write_disk(&self, dir: &Path) -> Result<PathBuf> {
        let given = dir.join("given");
        fs::create_dir_all(given.join("bin"))?;
        fs::write(given.join("built"), self.built.display().to_string())?;
        if self.units {
            fs::write(given.join("units"), "")?;
        }
        for name in PROGRAMS {
            strip(&self.built.join(name), &given.join("bin").join(name))?;
        }
        if self.units {
            let out = given.join("packages");
            dist::build(&given.join("bin"), env!("CARGO_PKG_VERSION"), Compression::None, &out)?;
        }
        strip(&self.test_program, &given.join(TEST_PROGRAM))?;
        // Without modules the file is empty: an empty line would name all of them.
        let lines: String = self.modules.iter().map(|module| format!("{module}\n")).collect();
        fs::write(given.join("modules"), lines)?;
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

/// The program of kantd's tests in cargo's messages.
fn test_program(messages: &str) -> Option<PathBuf> {
    let program = |line: &str| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let is_it = message["target"]["name"] == TEST_PROGRAM;
        message["executable"].as_str().filter(|_| is_it).map(PathBuf::from)
    };
    messages.lines().find_map(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_program_is_found_in_cargos_messages() {
        let message = |name: &str, program: &str| {
            format!(r#"{{"target":{{"name":"{name}"}},"executable":"{program}"}}"#)
        };
        let messages = [
            message("kantd", "/t/debug/kantd"),
            message("kantd_tests", "/t/debug/deps/kantd_tests-2"),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ]
        .join("\n");
        assert_eq!(test_program(&messages), Some("/t/debug/deps/kantd_tests-2".into()));
    }

    #[test]
    fn every_module_that_the_machine_runs_exists() {
        let program = fs::read_to_string(tree::root().join("kantd/tests/main.rs")).unwrap();
        for name in TESTS {
            assert!(program.contains(&format!("\nmod {name};\n")), "{name}");
        }
    }
}
