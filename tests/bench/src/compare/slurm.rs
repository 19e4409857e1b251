//! Slurm with one controller and one node on loopback. Except for ports and paths it is as Debian
//! ships it, with configuration, key and state in a scratch directory. It changes nothing in /etc
//! and no service, and its daemons are ended by their pids.

use super::debian::Programs;
use anyhow::{Context as _, ensure};
use e2e::{Daemon, free_port};
use std::path::Path;
use std::process::{Command, Output};

/// The configuration of its scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tuning {
    Stock,
    /// For many short jobs: submissions are scheduled without delay, every event causes a pass, and
    /// logs contain only errors (man slurm.conf, `SchedulerParameters`).
    Short,
}

impl Tuning {
    const fn lines(self) -> &'static str {
        match self {
            Self::Stock => "",
            Self::Short => {
                "SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=1,\
                 bf_interval=1,default_queue_depth=1000\n\
                 SlurmctldDebug=error\nSlurmdDebug=error\n"
            }
        }
    }
}

/// A running cluster. Fields are dropped in order: the node's daemon, the controller, munge.
pub struct Slurm {
    _slurmd: Daemon,
    _slurmctld: Daemon,
    _munged: Daemon,
    programs: Programs,
    tuning: Tuning,
    dir: tempfile::TempDir,
}

impl Slurm {
    /// Starts it, and waits until its node is idle.
    pub fn start(programs: Programs, tuning: Tuning) -> anyhow::Result<Self> {
        let dir = tempfile::Builder::new().prefix("slurm-").tempdir()?;
        let at = |name: &str| dir.path().join(name);
        for name in ["munge", "state", "spool"] {
            std::fs::create_dir(at(name))?;
        }
        std::fs::write(at("slurm.conf"), slurm_conf(&programs, tuning, dir.path())?)?;
        let munged = start_munged(&programs, dir.path())?;
        e2e::wait_for("munged", || Ok(at("munge/socket").exists().then_some(())))?;
        let start = |name: &str, words: &[&str]| {
            let daemon = programs.daemon(name).with_context(|| format!("no {name}"))?;
            let mut command = programs.command(&daemon);
            command.env("SLURM_CONF", at("slurm.conf")).args(words);
            Daemon::start(command, &at(&format!("{name}.out")))
        };
        let slurmctld = start("slurmctld", &["-D", "-c"])?;
        let stepd = programs.daemon("slurmstepd").context("no slurmstepd")?;
        let slurmd = start("slurmd", &["-D", "-N", "n1", "-d", &stepd.display().to_string()])?;
        let slurm =
            Self { _slurmd: slurmd, _slurmctld: slurmctld, _munged: munged, programs, tuning, dir };
        let ready = e2e::wait_for("Slurm's node", || {
            let shown = slurm.run("sinfo", &["-h", "-o", "%t"])?;
            Ok((String::from_utf8_lossy(&shown.stdout).trim() == "idle").then_some(()))
        });
        ready.with_context(|| slurm.logs())?;
        Ok(slurm)
    }

    pub const fn tuning(&self) -> Tuning {
        self.tuning
    }

    /// The directory in which its jobs may write.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// One of its commands, to be run in that directory.
    pub fn command(&self, name: &str) -> Command {
        let mut command = self.programs.command(&self.programs.path(&format!("usr/bin/{name}")));
        command.env("SLURM_CONF", self.dir.path().join("slurm.conf")).current_dir(self.dir());
        command
    }

    fn run(&self, name: &str, words: &[&str]) -> anyhow::Result<Output> {
        Ok(self.command(name).args(words).output()?)
    }

    /// Runs a command that must succeed, and returns its output.
    pub fn ok(&self, name: &str, words: &[&str]) -> anyhow::Result<String> {
        let done = self.run(name, words)?;
        let said = String::from_utf8_lossy(&done.stderr);
        ensure!(done.status.success(), "{name} {words:?}: {}", said.trim());
        Ok(String::from_utf8_lossy(&done.stdout).into_owned())
    }

    fn logs(&self) -> String {
        let log = |name: &str| {
            let text = std::fs::read_to_string(self.dir.path().join(name)).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            format!("{name}:\n{}\n", lines[lines.len().saturating_sub(8)..].join("\n"))
        };
        ["slurmctld.out", "slurmd.out", "munged.out"].map(log).concat()
    }
}

fn start_munged(programs: &Programs, dir: &Path) -> anyhow::Result<Daemon> {
    let at = |name: &str| dir.join("munge").join(name);
    // Any secret of at least 32 bytes; no other host ever connects to this cluster.
    std::fs::write(at("key"), format!("{:064x}{:064x}", fastrand::u128(..), fastrand::u128(..)))?;
    for (path, mode) in [(at("key"), "600"), (at(""), "755"), (dir.to_owned(), "755")] {
        let done = Command::new("chmod").arg(mode).arg(&path).status()?;
        ensure!(done.success(), "failed to chmod {}", path.display());
    }
    let mut command = programs.command(&programs.path("usr/sbin/munged"));
    command.args(["--foreground", "--force"]);
    for (option, name) in [
        ("key-file", "key"),
        ("socket", "socket"),
        ("pid-file", "pid"),
        ("log-file", "log"),
        ("seed-file", "seed"),
    ] {
        command.arg(format!("--{option}={}", at(name).display()));
    }
    Daemon::start(command, &dir.join("munged.out"))
}

/// Slurm's own defaults, except for ports, paths, tuning, and options that need cgroups.
/// Source: man slurm.conf.
fn slurm_conf(programs: &Programs, tuning: Tuning, dir: &Path) -> anyhow::Result<String> {
    let (controller, node) = (free_port()?, free_port()?);
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname")?;
    let host = host.trim().split('.').next().unwrap_or("localhost").to_owned();
    let cpus = std::thread::available_parallelism()?;
    let (plugins, dir) = (programs.plugins(), dir.display());
    Ok(format!(
        "ClusterName=bench\nSlurmctldHost=localhost(127.0.0.1)\nSlurmUser=root\nSlurmdUser=root\n\
         SlurmctldPort={controller}\nSlurmdPort={node}\nAuthType=auth/munge\nCredType=cred/munge\n\
         AuthInfo=socket={dir}/munge/socket\nPluginDir={}\nStateSaveLocation={dir}/state\n\
         SlurmdSpoolDir={dir}/spool\nSlurmctldPidFile={dir}/slurmctld.pid\n\
         SlurmdPidFile={dir}/slurmd.pid\nProctrackType=proctrack/linuxproc\n\
         TaskPlugin=task/none\nMpiDefault=none\nSelectType=select/cons_tres\n\
         SelectTypeParameters=CR_Core_Memory\nReturnToService=2\n\
         NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=4000\n\
         PartitionName=main Nodes=n1 Default=YES MaxTime=INFINITE State=UP\n{}",
        plugins.display(),
        tuning.lines()
    ))
}
