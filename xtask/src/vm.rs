//! `cargo xtask vm`: kantd's tests of jobs that misbehave, and the units under a real systemd, in a
//! virtual machine with cgroup v2, through a reboot. Needs root, for the machine's disk, and Debian
//! or a child of it. Never changes this host, and says plainly what it skipped.

mod given;

use crate::packages;
use crate::tree;
use anyhow::{Context, Result, bail, ensure};
use given::Given;
use sha2::{Digest, Sha256};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Run the tests that need real systemd and cgroup v2, in a virtual machine
#[derive(clap::Args)]
pub struct Args {
    /// Only these: `units`, or test programs of kantd (`hostile`)
    parts: Vec<String>,
    /// Fail, not skip, where the machine cannot be made
    #[arg(long)]
    required: bool,
}

/// What makes the disk, the kernel and what starts it.
const RECIPE: &str = "tests/vm/image.sh";

/// A machine that takes longer than this hangs, in seconds. All of it takes seven minutes on
/// two busy cores.
const LIMIT_SECONDS: &str = "2400";

/// Why it cannot be done here, and what would help; nothing if it can.
#[must_use]
pub fn missing() -> Option<String> {
    if !cfg!(target_arch = "x86_64") {
        return Some("the virtual machine is x86_64".to_owned());
    }
    if !nix::unistd::geteuid().is_root() {
        return Some("not root, who alone can make its disk".to_owned());
    }
    packages::missing(packages::VM)
}

/// Runs the verb.
///
/// # Errors
/// When something cannot be built, or a test failed in the machine.
pub fn run(args: Args) -> Result<()> {
    if let Some(missing) = missing() {
        ensure!(!args.required, "failed to make the virtual machine: {missing}");
        println!("vm: skipped, all of it: {missing}");
        return Ok(());
    }
    let given = Given::build(&args.parts)?;
    let image = image(&given.target)?;
    let dir = tempfile::Builder::new().prefix("vm-").tempdir_in(&image)?;
    let disk = given.write_disk(dir.path())?;
    boot(&image, &disk)
}

/// The machine's disk and kernel: made anew where the recipe changed.
fn image(target: &Path) -> Result<PathBuf> {
    let dir = target.join("vm");
    let recipe = tree::root().join(RECIPE);
    let text = fs::read(&recipe).with_context(|| format!("failed to read {RECIPE}"))?;
    let release = fs::read("/etc/os-release").context("failed to read /etc/os-release")?;
    let stamp: String = Sha256::new()
        .chain_update(text)
        .chain_update(release)
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let stamp_file = dir.join("stamp");
    if fs::read_to_string(&stamp_file).is_ok_and(|known| known == stamp) {
        return Ok(dir);
    }
    fs::create_dir_all(&dir)?;
    println!("vm: {RECIPE} (a minute or two, once)");
    let status = Command::new(&recipe).arg(&dir).stdin(Stdio::null()).status();
    let status = status.with_context(|| format!("failed to run {RECIPE}"))?;
    ensure!(status.success(), "failed to make the virtual machine's disk: {RECIPE}: {status}");
    fs::write(&stamp_file, stamp)?;
    Ok(dir)
}

/// Starts it, passes on what it says, and returns when it has switched itself off. What its kernel
/// said is in `target/vm/console.log` afterwards.
fn boot(image: &Path, disk: &Path) -> Result<()> {
    // No hardware acceleration unless asked for: /dev/kvm may be there and not work.
    let accelerator = std::env::var("KANT_VM_ACCEL").unwrap_or_else(|_| "tcg".to_owned());
    let processor = if accelerator.starts_with("tcg") { "max,la57=off" } else { "host" };
    let console = image.join("console.log");
    let drive = |file: &Path, name: &str| {
        format!("file={},if=none,id={name},format=raw,cache=unsafe", file.display())
    };
    let mut machine = Command::new("timeout");
    machine.args(["--kill-after=10", LIMIT_SECONDS, "qemu-system-x86_64"]);
    machine.args(["-nodefaults", "-no-user-config", "-display", "none", "-machine", "q35"]);
    machine.args(["-accel", &accelerator, "-cpu", processor, "-smp", "3", "-m", "1024"]);
    machine.arg("-kernel").arg(image.join("vmlinuz"));
    machine.arg("-initrd").arg(image.join("initrd"));
    machine.args(["-append", "console=ttyS0 mitigations=off tsc=reliable systemd.show_status=0"]);
    // The system's disk is thrown away with all that is written to it.
    machine.arg("-drive").arg(drive(&image.join("root.ext4"), "system") + ",snapshot=on");
    machine.args(["-device", "virtio-blk-pci,drive=system"]);
    machine.arg("-drive").arg(drive(disk, "given"));
    machine.args(["-device", "virtio-blk-pci,drive=given", "-nic", "none"]);
    machine.arg("-serial").arg(format!("file:{}", console.display())).args(["-serial", "stdio"]);
    machine.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut machine = machine.spawn().context("failed to start qemu-system-x86_64")?;
    let output = machine.stdout.take().context("failed to read the machine's output: no pipe")?;
    let mut verdict = None;
    for line in BufReader::new(output).split(b'\n') {
        let line = line.context("failed to read the machine's output")?;
        let line = String::from_utf8_lossy(&line).trim_end().to_owned();
        println!("{line}");
        if line.starts_with("vm: ") {
            verdict = Some(line);
        }
    }
    let status = machine.wait().context("failed to wait for the machine")?;
    match verdict.as_deref() {
        Some("vm: passed") => Ok(()),
        Some(verdict) => bail!("{verdict}"),
        None => {
            let console = fs::read(&console).unwrap_or_default();
            let text = String::from_utf8_lossy(&console);
            let last: Vec<&str> = text.lines().rev().take(20).collect();
            let last: Vec<&str> = last.into_iter().rev().collect();
            bail!(
                "the machine ended ({status}) without a verdict; its console:\n{}",
                last.join("\n")
            )
        }
    }
}
