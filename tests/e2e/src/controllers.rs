//! Several controllers on loopback, each in a directory of its own, with one cluster key: founded,
//! joined, killed and looked at as operators would. Never touches /etc, /run or /var.

mod faults;
mod measured;

use crate::binaries::{Binaries, Build};
use crate::daemon::Daemon;
use crate::kantctl::{Answer, Kantctl};
use crate::network::Network;
use crate::wait::wait_for;
use anyhow::{Context as _, ensure};
use common::config::{CgroupMode, ControllerConfig, NodeConfig, VouchedFor};
use common::id::ControllerId;
use common::wire::api::{ControllerList, ControllerRole, InviteAnswer};
use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Controllers in a directory, by name.
pub struct Controllers {
    dir: tempfile::TempDir,
    binaries: Binaries,
    configs: BTreeMap<String, ControllerConfig>,
    running: BTreeMap<String, Daemon>,
    nodes: BTreeMap<String, Daemon>,
    /// Each daemon on a host of its own; none: all on loopback.
    network: Option<Network>,
}

impl Controllers {
    /// An empty house.
    ///
    /// # Errors
    /// When the programs do not build.
    pub fn new() -> anyhow::Result<Self> {
        let binaries = Binaries::build(Build::Quiet)?;
        let dir = tempfile::Builder::new().prefix("kant-ha-").tempdir()?;
        let (configs, running, nodes, network) = Default::default();
        Ok(Self { dir, binaries, configs, running, nodes, network })
    }

    /// Three that vote: the first is named `a`.
    ///
    /// # Errors
    /// When they do not come to vote.
    pub fn three() -> anyhow::Result<Self> {
        Self::three_with(|_| {})
    }

    /// The directory that all share.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir().join(name)
    }

    /// Writes the configuration of one more controller.
    ///
    /// # Errors
    /// The system's.
    pub fn add(&mut self, name: &str) -> anyhow::Result<()> {
        // Taken and let go again: the daemon binds it a moment later.
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let others = self.configs.values().map(|config| config.listen.clone()).collect();
        let text = |path: PathBuf| path.display().to_string();
        let config = ControllerConfig {
            cluster: "test".to_owned(),
            name: name.to_owned(),
            state_dir: text(self.path(&format!("state-{name}"))),
            socket: text(self.path(&format!("{name}.sock"))),
            listen: format!("127.0.0.1:{port}"),
            peers: others,
            cluster_key: text(self.path("cluster.key")),
            kill_grace_seconds: 1,
            // Tests run as whoever runs them.
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
    /// The system's.
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

    /// Where a controller is reached.
    #[must_use]
    pub fn address(&self, name: &str) -> String {
        self.configs.get(name).map(|config| config.listen.clone()).unwrap_or_default()
    }

    fn program(&self, name: &str) -> Command {
        let mut command = self.on_host(name, &self.binaries.kantctld);
        command.arg("--config").arg(self.path(&format!("{name}.toml"))).env_remove("RUST_LOG");
        command
    }

    /// Runs a verb of kantctld; any exit code is an answer.
    ///
    /// # Errors
    /// When it could not be run.
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
    /// When it fails, with what it said.
    pub fn verb(&self, name: &str, verb: &[&str]) -> anyhow::Result<String> {
        let answer = self.try_verb(name, verb)?;
        ensure!(answer.code == 0, "kantctld {verb:?} of {name}: {}", answer.stderr);
        Ok(answer.stdout)
    }

    /// An operator's invitation, of the leader that a controller knows.
    ///
    /// # Errors
    /// When none leads.
    pub fn invite(&self, asked: &str) -> anyhow::Result<String> {
        wait_for("an invitation", || {
            let Ok(list) = self.list(asked) else { return Ok(None) };
            let leader = list.controllers.iter().find(|one| Some(one.id) == list.leader);
            let Some(leader) = leader else { return Ok(None) };
            let made = self.kantctl(&leader.name)?.json(&["admin", "controller", "invite"]);
            Ok(made.ok().map(|InviteAnswer { invitation, .. }| invitation))
        })
    }

    /// Runs `join` or `rebuild` of a controller, invited, by way of another.
    ///
    /// # Errors
    /// When it fails, with what it said.
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

    /// kill -9.
    ///
    /// # Errors
    /// The system's.
    pub fn kill(&mut self, name: &str) -> anyhow::Result<()> {
        self.running.remove(name).map_or(Ok(()), Daemon::kill)
    }

    /// SIGTERM, and waits for the end.
    ///
    /// # Errors
    /// The system's, or when it ends with a failure.
    pub fn stop(&mut self, name: &str) -> anyhow::Result<()> {
        let Some(daemon) = self.running.remove(name) else { return Ok(()) };
        let status = daemon.stop()?;
        ensure!(status.success(), "kantctld of {name} ended with {status}:\n{}", self.log(name));
        Ok(())
    }

    /// What a controller has logged so far.
    #[must_use]
    pub fn log(&self, name: &str) -> String {
        fs::read_to_string(self.path(&format!("{name}.log"))).unwrap_or_default()
    }

    /// kantctl on a controller's socket.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn kantctl(&self, name: &str) -> anyhow::Result<Kantctl> {
        let socket = PathBuf::from(&self.config(name)?.socket);
        Ok(Kantctl::at(&self.binaries.kantctl, &socket, self.dir.path()))
    }

    /// The controllers, as one of them sees them.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn list(&self, name: &str) -> anyhow::Result<ControllerList> {
        self.kantctl(name)?.json(&["admin", "controller", "status"])
    }

    /// Waits until so many vote, and no others are on their way.
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

    /// The one that leads, once all that run agree who that is.
    ///
    /// # Errors
    /// When they do not in time.
    pub fn leader(&self) -> anyhow::Result<(String, ControllerId)> {
        wait_for("a leader", || {
            let mut said = Vec::new();
            for name in self.running.keys() {
                let Ok(list) = self.list(name) else { return Ok(None) };
                let leader = list.controllers.iter().find(|c| Some(c.id) == list.leader);
                let Some(leader) = leader.cloned() else { return Ok(None) };
                said.push((leader.name, leader.id));
            }
            said.dedup();
            let [one] = &said[..] else { return Ok(None) };
            Ok(self.running.contains_key(&one.0).then(|| one.clone()))
        })
    }

    /// Starts a node daemon without GPUs that knows all controllers there are.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start_node(&mut self, name: &str) -> anyhow::Result<()> {
        let text = |path: PathBuf| path.display().to_string();
        let config = NodeConfig {
            name: name.to_owned(),
            address: "127.0.0.1".to_owned(),
            controllers: self.configs.values().map(|config| config.listen.clone()).collect(),
            cluster_key: text(self.path("cluster.key")),
            spool_dir: text(self.path(&format!("spool-{name}"))),
            socket: text(self.path(&format!("kantd-{name}.sock"))),
            cgroup: CgroupMode::Off,
            allow_root_jobs: true,
            nvml_library: text(self.path("no-nvml-here.so")),
            log: "debug".to_owned(),
            // Everything of these tests is in /tmp, and their jobs look at it.
            private_dirs: vec!["/dev/shm".to_owned()],
            ..NodeConfig::default()
        };
        let path = self.path(&format!("kantd-{name}.toml"));
        fs::write(&path, toml::to_string(&config)?)?;
        let mut command = self.on_host(name, &self.binaries.kantd);
        command.arg("--config").arg(&path).env_remove("RUST_LOG");
        let log = self.path(&format!("kantd-{name}.log"));
        self.nodes.insert(name.to_owned(), Daemon::start(command, &log)?);
        Ok(())
    }
}

impl Drop for Controllers {
    fn drop(&mut self) {
        // Supervisors outlive their kantd: jobs first.
        let any = self.running.keys().next().cloned();
        if let Some(kantctl) = any.filter(|_| !self.nodes.is_empty())
            && let Err(error) =
                self.kantctl(&kantctl).and_then(|kantctl| kantctl.cancel_everything())
        {
            eprintln!("failed to end the jobs of a test: {error:#}");
        }
        if std::env::var_os("KANT_KEEP").is_some() {
            self.dir.disable_cleanup(true);
            eprintln!("kept, as KANT_KEEP asks: {}", self.dir.path().display());
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
