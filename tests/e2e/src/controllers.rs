//! Several controllers on loopback with one cluster key, each in a directory of its own, operated
//! as an operator would. Nothing in /etc, /run or /var is used.

mod faults;
mod measured;

use crate::binaries::{Binaries, Build};
use crate::daemon::Daemon;
use crate::kantctl::{Answer, Kantctl};
use crate::network::Network;
use crate::ports::free_port;
use crate::wait::wait_for;
use anyhow::{Context as _, ensure};
use common::config::{CgroupMode, ControllerConfig, NodeConfig, VouchedFor};
use common::id::ControllerId;
use common::wire::api::{ControllerList, ControllerRole, InviteAnswer};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Controllers in a directory, by name.
pub struct Controllers {
    dir: tempfile::TempDir,
    binaries: Binaries,
    configs: BTreeMap<String, ControllerConfig>,
    running: BTreeMap<String, Daemon>,
    nodes: BTreeMap<String, Daemon>,
    /// Controllers with another kantctld than this release's.
    installed: BTreeMap<String, PathBuf>,
    /// With a network, each daemon is on a host of its own; otherwise all are on loopback.
    network: Option<Network>,
}

impl Controllers {
    /// No controllers yet.
    ///
    /// # Errors
    /// When the programs do not build.
    pub fn new() -> anyhow::Result<Self> {
        let binaries = Binaries::build(Build::Quiet)?;
        let dir = tempfile::Builder::new().prefix("kant-ha-").tempdir()?;
        let (configs, running, nodes, installed, network) = Default::default();
        Ok(Self { dir, binaries, configs, running, nodes, installed, network })
    }

    /// Starts one controller, `a`.
    ///
    /// # Errors
    /// When it does not start.
    pub fn one() -> anyhow::Result<Self> {
        let mut controllers = Self::new()?;
        controllers.add("a")?;
        controllers.start("a")?;
        Ok(controllers)
    }

    /// Starts three voting controllers, `a`, `b` and `c`.
    ///
    /// # Errors
    /// When they do not become voters.
    pub fn three() -> anyhow::Result<Self> {
        Self::three_with(|_| {})
    }

    /// The common directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir().join(name)
    }

    /// Writes the configuration of another controller.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn add(&mut self, name: &str) -> anyhow::Result<()> {
        let port = free_port()?;
        let others = self.configs.values().map(|config| config.listen.clone()).collect();
        let text = |path: PathBuf| path.display().to_string();
        let config = ControllerConfig {
            cluster: "test".to_owned(),
            name: name.to_owned(),
            state_dir: text(self.path(&format!("state-{name}"))),
            socket: text(self.path(&format!("{name}.sock"))),
            listen: format!("127.0.0.1:{port}"),
            peers: others,
            cluster_key: text(self.path(&format!("cluster-{name}.key"))),
            kill_grace_seconds: 1,
            // Tests run as the user who starts them.
            allow_root_jobs: true,
            nodes_may_vouch_for: VouchedFor::Operators,
            log: "debug".to_owned(),
            ..ControllerConfig::default()
        };
        self.configs.insert(name.to_owned(), config);
        self.write_config(name)
    }

    /// Changes a controller's configuration, for its next start.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn reconfigure(
        &mut self,
        name: &str,
        change: impl FnOnce(&mut ControllerConfig),
    ) -> anyhow::Result<()> {
        change(self.configs.get_mut(name).context("no such controller")?);
        self.write_config(name)
    }

    fn write_config(&self, name: &str) -> anyhow::Result<()> {
        let path = self.path(&format!("{name}.toml"));
        Ok(fs::write(path, toml::to_string(self.config(name)?)?)?)
    }

    /// A controller's configuration.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn config(&self, name: &str) -> anyhow::Result<&ControllerConfig> {
        self.configs.get(name).with_context(|| format!("there is no controller {name}"))
    }

    /// A controller's address.
    #[must_use]
    pub fn address(&self, name: &str) -> String {
        self.configs.get(name).map(|config| config.listen.clone()).unwrap_or_default()
    }

    /// Installs this release or the next one on a controller, for its next start.
    ///
    /// # Errors
    /// When the next release does not build.
    pub fn install(&mut self, name: &str, is_next: bool) -> anyhow::Result<()> {
        self.installed.remove(name);
        if is_next {
            let next = self.binaries.next_kantctld()?.to_owned();
            self.installed.insert(name.to_owned(), next);
        }
        Ok(())
    }

    fn program(&self, name: &str) -> Command {
        let kantctld = self.installed.get(name).unwrap_or(&self.binaries.kantctld);
        let mut command = self.on_host(name, kantctld);
        command.arg("--config").arg(self.path(&format!("{name}.toml"))).env_remove("RUST_LOG");
        command
    }

    /// Runs a verb of kantctld; it must be refused, with this in its message.
    ///
    /// # Errors
    /// When it is not.
    pub fn verb_refused(&self, name: &str, words: &[&str], message: &str) -> anyhow::Result<()> {
        let answer = self.try_verb(name, words)?;
        ensure!(answer.code != 0 && answer.stderr.contains(message), "{words:?}: {answer:?}");
        Ok(())
    }

    /// Runs a verb of kantctld; any exit code is a result.
    ///
    /// # Errors
    /// When it cannot be run.
    pub fn try_verb(&self, name: &str, verb: &[&str]) -> anyhow::Result<Answer> {
        let output = self.program(name).args(verb).output()?;
        Ok(Answer {
            code: output.status.code().context("kantctld was killed")?,
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// Runs a verb of kantctld.
    ///
    /// # Errors
    /// When it fails, with its standard error.
    pub fn verb(&self, name: &str, verb: &[&str]) -> anyhow::Result<String> {
        let answer = self.try_verb(name, verb)?;
        ensure!(answer.code == 0, "kantctld {verb:?} of {name}: {}", answer.stderr);
        Ok(answer.stdout)
    }

    /// An invitation from the leader that a controller knows.
    ///
    /// # Errors
    /// When there is no leader.
    pub fn invite(&self, asked: &str) -> anyhow::Result<String> {
        wait_for("an invitation", || {
            let Ok(list) = self.list(asked) else { return Ok(None) };
            let leader = list.controllers.iter().find(|one| Some(one.id) == list.leader);
            let Some(leader) = leader else { return Ok(None) };
            let made = self.kantctl(&leader.name)?.json(&["admin", "controller", "invite"]);
            Ok(made.ok().map(|InviteAnswer { invitation, .. }| invitation.0))
        })
    }

    /// Gives a node a certificate by an invitation, unless it has one.
    fn enrol(&self, node: &str, config: &Path, spool: &Path) -> anyhow::Result<()> {
        if spool.join("credentials.toml").exists() {
            return Ok(());
        }
        let invitation = wait_for("an invitation for a node", || {
            let asked = self.running.keys().next().context("no controller runs")?;
            let Ok(list) = self.list(asked) else { return Ok(None) };
            let leader = list.controllers.iter().find(|one| Some(one.id) == list.leader);
            let Some(leader) = leader else { return Ok(None) };
            let made = self.kantctl(&leader.name)?.json(&["admin", "node", "invite", node]);
            Ok(made.ok().map(|InviteAnswer { invitation, .. }| invitation.0))
        })?;
        let mut command = self.on_host(node, &self.binaries.kantd);
        command.arg("--config").arg(config).arg("join").env("KANT_INVITATION", invitation);
        let output = command.output()?;
        ensure!(output.status.success(), "{node}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    }

    /// Runs `join` or `rebuild` of a controller with an invitation, by way of another.
    ///
    /// # Errors
    /// When it fails, with its standard error.
    pub fn admit(&self, name: &str, verb: &str, by: &str) -> anyhow::Result<String> {
        let (to, invitation) = (self.address(by), self.invite(by)?);
        self.verb(name, &[verb, "--to", &to, "--invitation", &invitation])
    }

    /// Starts a controller and waits until it answers.
    ///
    /// # Errors
    /// When it ends instead, with its log.
    pub fn start(&mut self, name: &str) -> anyhow::Result<()> {
        self.launch(name)?;
        self.wait_for_answer(name)
    }

    /// Kills a controller with SIGKILL.
    ///
    /// # Errors
    /// When a system call fails.
    pub fn kill(&mut self, name: &str) -> anyhow::Result<()> {
        self.running.remove(name).map_or(Ok(()), Daemon::kill)
    }

    /// Stops a controller with SIGTERM and waits for its end.
    ///
    /// # Errors
    /// When a system call fails, or the controller ends with a failure.
    pub fn stop(&mut self, name: &str) -> anyhow::Result<()> {
        let Some(daemon) = self.running.remove(name) else { return Ok(()) };
        let status = daemon.stop()?;
        ensure!(status.success(), "kantctld of {name} ended with {status}:\n{}", self.log(name));
        Ok(())
    }

    /// A controller's log.
    #[must_use]
    pub fn log(&self, name: &str) -> String {
        fs::read_to_string(self.path(&format!("{name}.log"))).unwrap_or_default()
    }

    /// kantctl on a controller's socket.
    ///
    /// # Errors
    /// When there is no controller of that name.
    pub fn kantctl(&self, name: &str) -> anyhow::Result<Kantctl> {
        let socket = PathBuf::from(&self.config(name)?.socket);
        Ok(Kantctl::at(&self.binaries.kantctl, &socket, self.dir.path()))
    }

    /// The list of controllers, as seen by one of them.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn list(&self, name: &str) -> anyhow::Result<ControllerList> {
        self.kantctl(name)?.json(&["admin", "controller", "status"])
    }

    /// Waits until N controllers vote, and no change of the voters is in progress.
    ///
    /// # Errors
    /// When it takes too long.
    pub fn wait_for_voters(&self, asked: &str, count: usize) -> anyhow::Result<ControllerList> {
        wait_for(&format!("{count} voters"), || {
            let Ok(list) = self.list(asked) else { return Ok(None) };
            let votes = |role| matches!(role, ControllerRole::Leader | ControllerRole::Voter);
            let voters = list.controllers.iter().filter(|one| votes(one.role)).count();
            let is_so = voters == count && !list.changing && list.leader.is_some();
            Ok(is_so.then_some(list))
        })
    }

    /// The leader, once all running controllers agree on it.
    ///
    /// # Errors
    /// When they do not agree in time.
    pub fn leader(&self) -> anyhow::Result<(String, ControllerId)> {
        wait_for("a leader", || {
            let mut reports = Vec::new();
            for name in self.running.keys() {
                let Ok(list) = self.list(name) else { return Ok(None) };
                let leader = list.controllers.iter().find(|c| Some(c.id) == list.leader);
                let Some(leader) = leader.cloned() else { return Ok(None) };
                reports.push((leader.name, leader.id));
            }
            reports.dedup();
            let [one] = &reports[..] else { return Ok(None) };
            Ok(self.running.contains_key(&one.0).then(|| one.clone()))
        })
    }

    /// Starts a node daemon without GPUs that knows all controllers.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start_node(&mut self, name: &str) -> anyhow::Result<()> {
        let text = |path: PathBuf| path.display().to_string();
        let config = NodeConfig {
            name: name.to_owned(),
            address: "127.0.0.1".to_owned(),
            controllers: self.configs.values().map(|config| config.listen.clone()).collect(),
            spool_dir: text(self.path(&format!("spool-{name}"))),
            socket: text(self.path(&format!("kantd-{name}.sock"))),
            cgroup: CgroupMode::Off,
            allow_root_jobs: true,
            nvml_library: text(self.path("no-nvml-here.so")),
            log: "debug".to_owned(),
            // All files of the tests are in /tmp, and their jobs use them.
            private_dirs: vec!["/dev/shm".to_owned()],
            ..NodeConfig::default()
        };
        let path = self.path(&format!("kantd-{name}.toml"));
        fs::write(&path, toml::to_string(&config)?)?;
        self.enrol(name, &path, Path::new(&config.spool_dir))?;
        let mut command = self.on_host(name, &self.binaries.kantd);
        command.arg("--config").arg(&path).env_remove("RUST_LOG");
        let log = self.path(&format!("kantd-{name}.log"));
        self.nodes.insert(name.to_owned(), Daemon::start(command, &log)?);
        Ok(())
    }
}

impl Drop for Controllers {
    fn drop(&mut self) {
        // Supervisors outlive their kantd, so jobs are ended first.
        let any = self.running.keys().next().cloned();
        if let Some(kantctl) = any.filter(|_| !self.nodes.is_empty())
            && let Err(error) =
                self.kantctl(&kantctl).and_then(|kantctl| kantctl.cancel_everything())
        {
            eprintln!("failed to end the jobs of a test: {error:#}");
        }
        if std::env::var_os("KANT_KEEP").is_some() {
            self.dir.disable_cleanup(true);
            eprintln!("kept, since KANT_KEEP is set: {}", self.dir.path().display());
        }
        if std::thread::panicking() {
            for name in self.configs.keys() {
                let log = self.log(name);
                let lines: Vec<&str> = log.lines().collect();
                let tail = lines[lines.len().saturating_sub(60)..].join("\n");
                eprintln!("--- kantctld {name} ---\n{tail}");
            }
        }
    }
}
