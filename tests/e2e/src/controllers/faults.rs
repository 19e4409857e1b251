//! What may befall controllers: started without waiting, stalled, asked one by one. Never decides
//! what that may cost.

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
    /// Three that vote, each with a change to its configuration: the first is named `a`.
    ///
    /// # Errors
    /// When they do not come to vote.
    pub fn three_with(change: fn(&mut ControllerConfig)) -> anyhow::Result<Self> {
        Self::of(&["a", "b", "c"], change)
    }

    /// Three that vote, each on the host of its name, which this network must have.
    ///
    /// # Errors
    /// When they do not come to vote.
    pub fn three_on(network: Network) -> anyhow::Result<Self> {
        let mut house = Self::new()?;
        for name in ["a", "b", "c"] {
            house.add(name)?;
            let listen = format!("{}:7600", network.address(name)?);
            house.reconfigure(name, |config| config.listen = listen)?;
        }
        house.network = Some(network);
        house.reconfigure("a", |config| config.peers.clear())?;
        house.start("a")?;
        for name in ["b", "c"] {
            house.admit(name, "join", "a")?;
            house.start(name)?;
        }
        house.wait_for_voters("a", 3)?;
        Ok(house)
    }

    /// The network that its hosts are on.
    ///
    /// # Errors
    /// When all is on loopback.
    pub fn network(&self) -> anyhow::Result<&Network> {
        self.network.as_ref().context("all is on loopback")
    }

    pub(super) fn on_host(&self, host: &str, program: &Path) -> Command {
        match &self.network {
            Some(network) => network.command(host, program),
            None => Command::new(program),
        }
    }

    /// Starts a controller and does not wait.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn launch(&mut self, name: &str) -> anyhow::Result<()> {
        let log = self.path(&format!("{name}.log"));
        let daemon = Daemon::start(self.program(name), &log)?;
        self.running.insert(name.to_owned(), daemon);
        Ok(())
    }

    /// Waits until a controller answers that was started.
    ///
    /// # Errors
    /// When it ends instead, with its log.
    pub fn wait_for_answer(&mut self, name: &str) -> anyhow::Result<()> {
        let kantctl = self.kantctl(name)?;
        let daemon = self.running.get_mut(name).context("it was not started")?;
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
    /// When it does not run.
    pub fn signal(&self, name: &str, signal: Signal) -> anyhow::Result<()> {
        self.running.get(name).context("it does not run")?.signal(signal)
    }

    /// Where kantctl finds each controller, in order of their names.
    #[must_use]
    pub fn sockets(&self) -> Vec<PathBuf> {
        self.configs.values().map(|config| PathBuf::from(&config.socket)).collect()
    }

    /// kantctl on a node, which passes on what it is asked.
    #[must_use]
    pub fn kantctl_on_node(&self, node: &str) -> Kantctl {
        let socket = self.path(&format!("kantd-{node}.sock"));
        Kantctl::at(&self.binaries.kantctl, &socket, self.dir())
    }

    /// The number of the controller of a name, as another knows it.
    ///
    /// # Errors
    /// When that one does not answer, or knows none.
    pub fn number(&self, asked: &str, name: &str) -> anyhow::Result<ControllerId> {
        let known = self.list(asked)?.controllers.into_iter().find(|one| one.name == name);
        Ok(known.with_context(|| format!("{asked} knows no controller {name}"))?.id)
    }

    /// Waits until one controller says that another leads than `old`; gives its name.
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

    /// Waits until the leader hears from all nodes that were started.
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
