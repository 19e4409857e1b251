//! A cluster in a directory: one controller, or several, and node daemons, all on loopback or each
//! on a host of its own. Nothing in /etc, /run or /var is used.

mod standbys;

use crate::binaries::{Binaries, Build, workspace};
use crate::daemon::Daemon;
use crate::kantctl::Kantctl;
use crate::machine::{Gpus, Machine};
use crate::network::Network;
use crate::person::{Person, is_root};
use crate::ports::{free_port, service_ports};
use crate::wait::wait_for;
use anyhow::{Context as _, bail, ensure};
use common::config::{CgroupMode, ControllerConfig, NodeConfig, VouchedFor};
use common::node::Contact;
use common::wire::api::InviteAnswer;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Options of a cluster.
#[derive(Debug, Clone, Default)]
pub struct ClusterOptions {
    /// The nodes, by name.
    pub nodes: Vec<(&'static str, Machine)>,
    /// The number of controllers; 0 means 1.
    pub controllers: usize,
    /// Changes to the controllers' configuration.
    pub controller: Option<fn(&mut ControllerConfig)>,
    /// Changes to the nodes' configuration.
    pub node: Option<fn(&mut NodeConfig)>,
    /// How to build the daemons.
    pub build: Build,
    /// Run nodes without cgroups.
    pub without_cgroups: bool,
}

impl ClusterOptions {
    /// Nodes of these names without GPUs.
    #[must_use]
    pub fn cpu_nodes(names: &[&'static str]) -> Self {
        Self::of_nodes(names, &Machine::cpu())
    }

    /// Nodes of these names with the GPUs of a stand-in's machine.
    #[must_use]
    pub fn gpu_nodes(names: &[&'static str], gpus: &'static str) -> Self {
        Self::of_nodes(names, &Machine::with_gpus(gpus))
    }

    fn of_nodes(names: &[&'static str], machine: &Machine) -> Self {
        let nodes = names.iter().map(|name| (*name, machine.clone())).collect();
        Self { nodes, ..Self::default() }
    }
}

/// A running cluster.
pub struct Cluster {
    dir: PathBuf,
    /// Removes the directory when dropped; `None`: the directory stays.
    _temporary: Option<tempfile::TempDir>,
    binaries: Binaries,
    controller: Option<Daemon>,
    /// The further controllers that run, by name.
    standbys: BTreeMap<String, Daemon>,
    /// The addresses of all controllers, for nodes.
    listens: Vec<String>,
    nodes: BTreeMap<String, Option<Daemon>>,
    machines: BTreeMap<String, Machine>,
    node_change: Option<fn(&mut NodeConfig)>,
    cgroup_base: String,
    /// With a network, each daemon is on a host of its own; otherwise all are on loopback.
    network: Option<Network>,
}

impl Cluster {
    /// The network host of the controller.
    pub const CONTROLLER_HOST: &str = "ctl";

    /// Starts a cluster in a temporary directory and waits until its nodes are connected.
    ///
    /// # Errors
    /// When a daemon does not start, with its log.
    pub fn start(options: ClusterOptions) -> anyhow::Result<Self> {
        Self::start_somewhere(options, None)
    }

    /// Starts a cluster on a network. Each node is on the host of its name, the controller on
    /// [`Cluster::CONTROLLER_HOST`].
    ///
    /// # Errors
    /// As [`Cluster::start`].
    pub fn start_on(network: Network, options: ClusterOptions) -> anyhow::Result<Self> {
        Self::start_somewhere(options, Some(network))
    }

    fn start_somewhere(options: ClusterOptions, network: Option<Network>) -> anyhow::Result<Self> {
        let temporary = tempfile::Builder::new().prefix("kant-").tempdir()?;
        let mut cluster = Self::begin(temporary.path(), options, network)?;
        cluster._temporary = Some(temporary);
        Ok(cluster)
    }

    /// Starts a cluster in an empty directory that stays.
    ///
    /// # Errors
    /// As [`Cluster::start`].
    pub fn start_in(dir: &Path, options: ClusterOptions) -> anyhow::Result<Self> {
        Self::begin(dir, options, None)
    }

    fn begin(
        dir: &Path,
        options: ClusterOptions,
        network: Option<Network>,
    ) -> anyhow::Result<Self> {
        let binaries = Binaries::build(options.build)?;
        // Other users need access: jobs run as users who own only their home directory here.
        fs::set_permissions(dir, fs::Permissions::from_mode(0o755))?;
        copy_program(&binaries.kantctl, &dir.join("kantctl"))?;
        let cgroup_base = format!("kant-test-{}", std::process::id());
        let mut cluster = Self {
            dir: dir.to_owned(),
            _temporary: None,
            binaries,
            controller: None,
            standbys: BTreeMap::new(),
            listens: Vec::new(),
            nodes: BTreeMap::new(),
            machines: BTreeMap::new(),
            node_change: options.node,
            cgroup_base,
            network,
        };
        cluster.write_controller_config(options.controller)?;
        cluster.start_controller()?;
        cluster.listens.push(cluster.controller_config()?.listen);
        for name in Self::standby_names(options.controllers) {
            cluster.add_standby(&name)?;
        }
        for (name, machine) in options.nodes {
            let mode = match options.without_cgroups {
                true => CgroupMode::Off,
                false => CgroupMode::Auto,
            };
            cluster.add_node(name, machine, mode)?;
        }
        cluster.wait_for_nodes()?;
        Ok(cluster)
    }

    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    #[must_use]
    pub fn binaries(&self) -> &Binaries {
        &self.binaries
    }

    fn on_host(&self, host: &str, program: &Path) -> Command {
        match &self.network {
            Some(network) => network.command_by_name(host, program),
            None => Command::new(program),
        }
    }

    fn address(&self, host: &str) -> anyhow::Result<String> {
        let loopback = || Ok("127.0.0.1".to_owned());
        self.network.as_ref().map_or_else(loopback, |network| network.address(host))
    }

    /// The parent cgroup of a node's jobs.
    #[must_use]
    pub fn cgroup_root(&self, node: &str) -> String {
        format!("{}-{}-{node}", self.cgroup_base, self.tag())
    }

    fn tag(&self) -> String {
        self.dir.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
    }

    fn path(&self, name: &str) -> String {
        self.dir.join(name).display().to_string()
    }

    fn write_controller_config(
        &self,
        change: Option<fn(&mut ControllerConfig)>,
    ) -> anyhow::Result<()> {
        let port = free_port()?;
        let listen = format!("{}:{port}", self.address(Self::CONTROLLER_HOST)?);
        let mut config = ControllerConfig {
            cluster: "test".to_owned(),
            state_dir: self.path("state"),
            socket: self.path("kantctld.sock"),
            listen,
            cluster_key: self.path("cluster.key"),
            kill_grace_seconds: 1,
            // The test users are uids without an account.
            allow_unknown_users: true,
            // Without root there is one user, who operates the cluster and submits jobs.
            nodes_may_vouch_for: match is_root() {
                true => VouchedFor::Users,
                false => VouchedFor::Operators,
            },
            log: "debug".to_owned(),
            ..ControllerConfig::default()
        };
        if let Some(change) = change {
            change(&mut config);
        }
        fs::write(self.path("kantctld.toml"), toml::to_string(&config)?)?;
        Ok(())
    }

    pub(crate) fn controller_config(&self) -> anyhow::Result<ControllerConfig> {
        let file = self.path("kantctld.toml");
        Ok(common::config::read(&file, &fs::read_to_string(&file)?)?)
    }

    /// Starts the controller and waits until it answers.
    ///
    /// # Errors
    /// When it ends instead, with its log.
    pub fn start_controller(&mut self) -> anyhow::Result<()> {
        let log = self.path("kantctld.log");
        let mut daemon = Daemon::start(self.controller_command("kantctld"), Path::new(&log))?;
        let kantctl = self.kantctl(Person::me())?;
        wait_for("the controller", || {
            if let Some(status) = daemon.ended()? {
                bail!("kantctld ended with {status}:\n{}", daemon.log());
            }
            Ok((kantctl.run(&["status"])?.code == 0).then_some(()))
        })?;
        self.controller = Some(daemon);
        Ok(())
    }

    fn controller_command(&self, name: &str) -> Command {
        let mut command = self.on_host(Self::CONTROLLER_HOST, &self.binaries.kantctld);
        command.arg("--config").arg(self.path(&format!("{name}.toml")));
        command.env_remove("RUST_LOG");
        command
    }

    /// The controller's process.
    ///
    /// # Errors
    /// When it is not running.
    pub fn controller(&mut self) -> anyhow::Result<&mut Daemon> {
        self.controller.as_mut().context("the controller is not running")
    }

    /// The controller's log.
    #[must_use]
    pub fn controller_log(&self) -> String {
        self.controller.as_ref().map(Daemon::log).unwrap_or_default()
    }

    /// Kills the controller with SIGKILL.
    ///
    /// # Errors
    /// When a system call fails.
    pub fn kill_controller(&mut self) -> anyhow::Result<()> {
        self.controller.take().map_or(Ok(()), Daemon::kill)
    }

    /// Writes a node's configuration and starts it.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn add_node(
        &mut self,
        name: &str,
        machine: Machine,
        cgroup: CgroupMode,
    ) -> anyhow::Result<()> {
        let nvml = match machine.gpus {
            Gpus::StandIn(_) => self.binaries.nvml.display().to_string(),
            Gpus::Real => String::new(),
            // A CPU node, even on a host that has GPUs.
            Gpus::None => self.path("no-nvml-here.so"),
        };
        let mut config = NodeConfig {
            name: name.to_owned(),
            address: self.address(name)?,
            kantctl: self.path("kantctl"),
            controllers: self.listens.clone(),
            spool_dir: self.path(&format!("spool-{name}")),
            socket: self.path(&format!("kantd-{name}.sock")),
            cpus: machine.cpus.clone().unwrap_or_default(),
            cgroup,
            cgroup_root: self.cgroup_root(name),
            nvml_library: nvml,
            allow_unknown_users: true,
            log: "debug".to_owned(),
            // All files of the tests are in /tmp, and their jobs use them.
            private_dirs: vec!["/dev/shm".to_owned()],
            service_ports: service_ports(),
            health_seconds: 1,
            accounting_seconds: 1,
            ..NodeConfig::default()
        };
        if let Some(change) = self.node_change {
            change(&mut config);
        }
        fs::write(self.path(&format!("kantd-{name}.toml")), toml::to_string(&config)?)?;
        if let Gpus::StandIn(gpus) = machine.gpus {
            self.write_machine(name, gpus)?;
        }
        self.machines.insert(name.to_owned(), machine);
        self.enrol(name)?;
        self.start_node(name)
    }

    /// Gives a node a certificate by an invitation, as an operator does.
    ///
    /// # Errors
    /// When the controller or the node refuses.
    pub fn enrol(&self, name: &str) -> anyhow::Result<()> {
        let invite = ["admin", "node", "invite", name];
        let made: InviteAnswer = self.kantctl(Person::me())?.json(&invite)?;
        let mut command = self.on_host(name, &self.binaries.kantd);
        command.arg("--config").arg(self.path(&format!("kantd-{name}.toml"))).arg("join");
        let output = command.env("KANT_INVITATION", made.invitation.0).output()?;
        ensure!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    }

    /// Writes a machine file for the node, so that GPUs of two nodes have different UUIDs.
    fn write_machine(&self, node: &str, machine: &str) -> anyhow::Result<()> {
        let source = workspace().join(format!("tests/nvml-standin/machines/{machine}.toml"));
        let text = fs::read_to_string(&source)
            .with_context(|| format!("failed to read {}", source.display()))?;
        let mut table: toml::Table = toml::from_str(&text)?;
        table.insert("name".to_owned(), toml::Value::String(format!("{machine}-{node}")));
        fs::write(self.path(&format!("machine-{node}.toml")), toml::to_string(&table)?)?;
        Ok(())
    }

    /// Starts a node's daemon again.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start_node(&mut self, name: &str) -> anyhow::Result<()> {
        let mut command = self.on_host(name, &self.binaries.kantd);
        command.arg("--config").arg(self.path(&format!("kantd-{name}.toml")));
        command.env_remove("RUST_LOG");
        if self.machines.get(name).is_some_and(|m| matches!(m.gpus, Gpus::StandIn(_))) {
            command.env("KANT_NVML_STANDIN", self.path(&format!("machine-{name}.toml")));
        }
        let log = self.path(&format!("kantd-{name}.log"));
        let daemon = Daemon::start(command, Path::new(&log))?;
        self.nodes.insert(name.to_owned(), Some(daemon));
        Ok(())
    }

    /// Starts the router of a node whose configuration has one.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start_router(&self, name: &str) -> anyhow::Result<Daemon> {
        let mut command = self.on_host(name, &self.binaries.kantd);
        command.arg("--config").arg(self.path(&format!("kantd-{name}.toml"))).arg("router");
        command.env_remove("RUST_LOG");
        Daemon::start(command, Path::new(&self.path(&format!("router-{name}.log"))))
    }

    /// A node's daemon.
    ///
    /// # Errors
    /// When it is not running.
    pub fn node(&mut self, name: &str) -> anyhow::Result<&mut Daemon> {
        let daemon = self.nodes.get_mut(name).and_then(Option::as_mut);
        daemon.with_context(|| format!("kantd of {name} is not running"))
    }

    /// Kills a node's daemon with SIGKILL; its jobs keep running.
    ///
    /// # Errors
    /// When a system call fails.
    pub fn kill_node(&mut self, name: &str) -> anyhow::Result<()> {
        self.nodes.get_mut(name).and_then(Option::take).map_or(Ok(()), Daemon::kill)
    }

    /// Waits until every node with a running daemon is connected.
    ///
    /// # Errors
    /// When a node does not connect, with its log.
    pub fn wait_for_nodes(&mut self) -> anyhow::Result<()> {
        let kantctl = self.kantctl(Person::me())?;
        let nodes = &mut self.nodes;
        wait_for("the nodes", || {
            for (name, daemon) in nodes.iter_mut() {
                let Some(daemon) = daemon else { continue };
                if let Some(status) = daemon.ended()? {
                    bail!("kantd of {name} ended with {status}:\n{}", daemon.log());
                }
            }
            let list = kantctl.nodes()?;
            let connected = |name: &String| {
                list.nodes
                    .iter()
                    .any(|n| n.name.as_str() == name && n.contact == Contact::Connected)
            };
            let running = nodes.iter().filter(|(_, daemon)| daemon.is_some());
            Ok(running.map(|(name, _)| name).all(connected).then_some(()))
        })
    }

    /// kantctl on the controller's socket for a user, who gets a home directory in the test
    /// directory.
    ///
    /// # Errors
    /// When the directory cannot be made.
    pub fn kantctl(&self, person: Person) -> anyhow::Result<Kantctl> {
        let dir = self.dir.join(format!("home-{}", person.uid));
        fs::create_dir_all(&dir)?;
        person.own(&dir)?;
        Ok(Kantctl {
            program: self.dir.join("kantctl"),
            socket: self.dir.join("kantctld.sock"),
            person,
            dir,
        })
    }

    /// A node's local socket.
    #[must_use]
    pub fn node_socket(&self, node: &str) -> PathBuf {
        self.dir.join(format!("kantd-{node}.sock"))
    }

    /// Keeps everything running when this value is dropped.
    pub fn keep(&mut self) {
        self.controller.iter_mut().for_each(Daemon::keep);
        self.standbys.values_mut().for_each(Daemon::keep);
        self.nodes.values_mut().flatten().for_each(Daemon::keep);
    }

    /// The parent cgroups of the nodes' jobs.
    #[must_use]
    pub fn groups(&self) -> Vec<String> {
        self.machines.keys().map(|node| self.cgroup_root(node)).collect()
    }

    /// Ends all jobs, so that no supervisor is left, then the daemons and their cgroups. Jobs of
    /// emulated nodes have no processes and end with their controller.
    ///
    /// # Errors
    /// When a job does not end.
    pub fn wind_down(&mut self) -> anyhow::Result<()> {
        let has_nodes = !self.nodes.is_empty() && self.nodes.values().all(Option::is_some);
        let cancelled = match self.any_kantctl() {
            Some(kantctl) if has_nodes => kantctl.cancel_everything(),
            _ => Ok(()),
        };
        for daemon in self.nodes.values_mut().filter_map(Option::take) {
            daemon.stop()?;
        }
        let standbys = std::mem::take(&mut self.standbys).into_values();
        for daemon in standbys.chain(self.controller.take()) {
            daemon.stop()?;
        }
        for node in self.machines.keys() {
            remove_groups(&self.cgroup_root(node));
        }
        cancelled
    }
}

/// Removes a node's cgroups, which kantd keeps for its next start, and those of jobs whose
/// supervisor was killed.
pub fn remove_groups(root: &str) {
    let mounts = fs::read_dir("/sys/fs/cgroup").into_iter().flatten().flatten();
    for mount in mounts.map(|entry| entry.path()).chain([PathBuf::from("/sys/fs/cgroup")]) {
        let group = mount.join(root);
        for entry in fs::read_dir(&group).into_iter().flatten().flatten() {
            // This fails for files and for cgroups with processes.
            let _ = fs::remove_dir(entry.path());
        }
        // Most mounts do not have such a cgroup.
        let _ = fs::remove_dir(group);
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let kept = self._temporary.is_none();
        if !kept && let Err(error) = self.wind_down() {
            eprintln!("failed to end the test cluster: {error:#}");
        }
        if std::thread::panicking() {
            for (name, daemon) in &self.nodes {
                if let Some(daemon) = daemon {
                    eprintln!("--- kantd {name} ---\n{}", tail(&daemon.log()));
                }
            }
            if let Some(daemon) = &self.controller {
                eprintln!("--- kantctld ---\n{}", tail(&daemon.log()));
            }
        }
    }
}

/// Copies with a separate process: if the file were open for writing in this process while another
/// thread forks, it could not be executed until that child's exec ("text file busy").
fn copy_program(from: &Path, to: &Path) -> anyhow::Result<()> {
    let status = Command::new("cp").arg(from).arg(to).status().context("failed to run cp")?;
    ensure!(status.success(), "failed to copy {}: cp ended with {status}", from.display());
    Ok(())
}

fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(60)..].join("\n")
}
