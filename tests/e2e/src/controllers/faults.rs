//! Fault injection for the test controllers: start without waiting, signals, network hosts, and
//! queries to single controllers.

use super::Controllers;
use crate::daemon::Daemon;
use crate::kantctl::Kantctl;
use crate::network::Network;
use crate::wait::wait_for;
use anyhow::{Context as _, bail};
use common::config::ControllerConfig;
use common::id::ControllerId;
use common::node::Contact;
use nix::sys::signal::Signal;
use std::path::{Path, PathBuf};
use std::process::Command;

impl Controllers {
    /// Starts three voting controllers, `a`, `b` and `c`, each with a change to its configuration.
    ///
    /// # Errors
    /// When they do not become voters.
    pub fn three_with(change: fn(&mut ControllerConfig)) -> anyhow::Result<Self> {
        Self::of(&["a", "b", "c"], change)
    }

    /// Starts three voting controllers, each on the network host of its name.
    ///
    /// # Errors
    /// When they do not become voters.
    pub fn three_on(network: Network) -> anyhow::Result<Self> {
        let mut controllers = Self::new()?;
        for name in ["a", "b", "c"] {
            controllers.add(name)?;
            let listen = format!("{}:7600", network.address(name)?);
            controllers.reconfigure(name, |config| config.listen = listen)?;
        }
        controllers.network = Some(network);
        controllers.reconfigure("a", |config| config.peers.clear())?;
        controllers.start("a")?;
        for name in ["b", "c"] {
            controllers.admit(name, "join", "a")?;
            controllers.start(name)?;
        }
        controllers.wait_for_voters("a", 3)?;
        Ok(controllers)
    }

    /// The network of the hosts.
    ///
    /// # Errors
    /// When all daemons are on loopback.
    pub fn network(&self) -> anyhow::Result<&Network> {
        self.network.as_ref().context("all daemons are on loopback")
    }

    pub(super) fn on_host(&self, host: &str, program: &Path) -> Command {
        match &self.network {
            Some(network) => network.command(host, program),
            None => Command::new(program),
        }
    }

    /// Starts a controller without waiting for it.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn launch(&mut self, name: &str) -> anyhow::Result<()> {
        let log = self.path(&format!("{name}.log"));
        let daemon = Daemon::start(self.program(name), &log)?;
        self.running.insert(name.to_owned(), daemon);
        Ok(())
    }

    /// Starts a verb of kantctld without waiting for its end.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn launch_verb(&self, name: &str, words: &[&str]) -> anyhow::Result<Daemon> {
        let mut command = self.program(name);
        command.args(words);
        Daemon::start(command, &self.path(&format!("{name}-verb.log")))
    }

    /// Waits until a started controller answers.
    ///
    /// # Errors
    /// When it ends instead, with its log.
    pub fn wait_for_answer(&mut self, name: &str) -> anyhow::Result<()> {
        let kantctl = self.kantctl(name)?;
        let daemon = self.running.get_mut(name).context("the controller was not started")?;
        let answered = wait_for(&format!("controller {name}"), || {
            if let Some(status) = daemon.ended()? {
                bail!("kantctld of {name} ended with {status}:\n{}", daemon.log());
            }
            Ok((kantctl.run(&["status"])?.code == 0).then_some(()))
        });
        if answered.is_err() {
            self.running.remove(name);
        }
        answered
    }

    /// Sends a controller a signal.
    ///
    /// # Errors
    /// When it is not running.
    pub fn signal(&self, name: &str, signal: Signal) -> anyhow::Result<()> {
        self.running.get(name).context("the controller is not running")?.signal(signal)
    }

    /// The socket of each controller, in order of their names.
    #[must_use]
    pub fn sockets(&self) -> Vec<PathBuf> {
        self.configs.values().map(|config| PathBuf::from(&config.socket)).collect()
    }

    /// kantctl on a node, whose daemon forwards requests.
    #[must_use]
    pub fn kantctl_on_node(&self, node: &str) -> Kantctl {
        let socket = self.path(&format!("kantd-{node}.sock"));
        Kantctl::at(&self.binaries.kantctl, &socket, self.dir())
    }

    /// The id of a named controller, as known by another.
    ///
    /// # Errors
    /// When the other does not answer, or does not know the name.
    pub fn number(&self, asked: &str, name: &str) -> anyhow::Result<ControllerId> {
        let known = self.list(asked)?.controllers.into_iter().find(|one| one.name == name);
        Ok(known.with_context(|| format!("{asked} knows no controller {name}"))?.id)
    }

    /// Waits until one controller reports another leader than `old`; returns the leader's name.
    ///
    /// # Errors
    /// When it takes too long.
    pub fn wait_for_another_leader(&self, asked: &str, old: &str) -> anyhow::Result<String> {
        wait_for("another leader", || {
            let Ok(list) = self.list(asked) else { return Ok(None) };
            let leader = list.controllers.iter().find(|one| Some(one.id) == list.leader);
            Ok(leader.map(|one| one.name.clone()).filter(|name| name != old))
        })
    }

    /// Waits until all started nodes are connected to the leader.
    ///
    /// # Errors
    /// When it takes too long.
    pub fn wait_for_nodes(&self, asked: &str) -> anyhow::Result<()> {
        let kantctl = self.kantctl(asked)?;
        wait_for("the nodes", || {
            let list = kantctl.nodes()?;
            let here = list.nodes.iter().filter(|node| node.contact == Contact::Connected);
            Ok((here.count() == self.nodes.len()).then_some(()))
        })
    }
}
