//! `cargo xtask vm`: kantd's tests of misbehaving jobs, and the systemd units with a real systemd
//! and a reboot, in a virtual machine with cgroup v2. It needs root, to make the machine's disk,
//! and Debian or a derivative. It does not change this host.

mod clock;
mod guest_disk;

use crate::packages;
use crate::tree;
use anyhow::{Context, Result, bail, ensure};
use guest_disk::GuestDisk;
use sha2::{Digest, Sha256};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Run the tests that need real systemd and cgroup v2, in a virtual machine
#[derive(clap::Args)]
pub struct Args {
    /// Run only these: `units`, or modules of kantd's tests (`hostile`)
    parts: Vec<String>,
    /// Fail instead of skipping if the machine cannot be made
    #[arg(long)]
    required: bool,
}

/// The script that makes the disk, the kernel and the initrd.
const RECIPE: &str = "tests/vm/image.sh";

/// The time after which the machine is considered hung. A full run takes seven minutes on two busy
/// cores.
const LIMIT_SECONDS: &str = "2400";

/// Why the machine cannot be made on this host, and what to do; `None`: it can.
#[must_use]
pub fn missing() -> Option<String> {
    if !cfg!(target_arch = "x86_64") {
        return Some("the virtual machine is x86_64".to_owned());
    }
    if !nix::unistd::geteuid().is_root() {
        return Some("not root, which is needed to make its disk".to_owned());
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
        println!("vm: everything skipped: {missing}");
        return Ok(());
    }
    let guest = GuestDisk::build(&args.parts)?;
    let image = image(&guest.target)?;
    let dir = tempfile::Builder::new().prefix("vm-").tempdir_in(&image)?;
    let disk = guest.write_disk(dir.path())?;
    boot(&image, &disk)
}

/// The machine's disk and kernel, made again if the recipe has changed.
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
    println!("vm: running {RECIPE} (a minute or two, only once)");
    let status = Command::new(&recipe).arg(&dir).stdin(Stdio::null()).status();
    let status = status.with_context(|| format!("failed to run {RECIPE}"))?;
    ensure!(status.success(), "failed to make the virtual machine's disk: {RECIPE}: {status}");
    fs::write(&stamp_file, stamp)?;
    Ok(dir)
}

/// Starts the machine, prints its output, and returns when it has powered off. The kernel's
/// messages are in `target/vm/console.log`.
fn boot(image: &Path, disk: &Path) -> Result<()> {
    // No hardware acceleration unless requested: /dev/kvm may exist and not work.
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
    let mut kernel = "console=ttyS0 mitigations=off tsc=reliable systemd.show_status=0".to_owned();
    if accelerator.starts_with("tcg") {
        kernel += &format!(" tsc_early_khz={}", clock::counter_khz()?);
    }
    machine.args(["-append", &kernel]);
    // Changes to the system's disk are discarded.
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
