//! Further controllers of a test cluster, so that the leading one may die.

use super::Cluster;
use crate::daemon::Daemon;
use crate::kantctl::Kantctl;
use crate::person::Person;
use crate::ports::free_port;
use crate::wait::wait_for;
use anyhow::{Context as _, bail, ensure};
use common::config::ControllerConfig;
use common::wire::api::{ControllerList, ControllerRole, InviteAnswer};
use std::fs;
use std::path::Path;

impl Cluster {
    /// The names of the further controllers of a cluster of this many.
    pub(super) fn standby_names(controllers: usize) -> Vec<String> {
        (2..=controllers).map(|number| format!("kantctld-{number}")).collect()
    }

    /// Starts a further controller, which joins the first one, and waits until it votes.
    pub(super) fn add_standby(&mut self, name: &str) -> anyhow::Result<()> {
        let first = self.controller_config()?;
        let config = ControllerConfig {
            name: name.to_owned(),
            listen: format!("{}:{}", self.address(Self::CONTROLLER_HOST)?, free_port()?),
            state_dir: self.path(&format!("state-{name}")),
            socket: self.path(&format!("{name}.sock")),
            cluster_key: self.path(&format!("{name}.key")),
            peers: vec![first.listen.clone()],
            http_listen: String::new(),
            ..first.clone()
        };
        fs::write(self.path(&format!("{name}.toml")), toml::to_string(&config)?)?;
        let kantctl = self.kantctl(Person::me())?;
        let invited = ["admin", "controller", "invite"];
        // Refused while the voters change.
        let made: InviteAnswer =
            wait_for("an invitation", || Ok(kantctl.json::<InviteAnswer>(&invited).ok()))?;
        let mut join = self.controller_command(name);
        join.args(["join", "--to", &first.listen, "--invitation", &made.invitation.0]);
        let output = join.output()?;
        ensure!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        self.start_standby(name)?;
        self.listens.push(config.listen);
        let voters = self.listens.len();
        wait_for(&format!("{voters} voters"), || {
            let Ok(list) = kantctl.json::<ControllerList>(&["admin", "controller", "status"])
            else {
                return Ok(None);
            };
            let votes = |role| matches!(role, ControllerRole::Leader | ControllerRole::Voter);
            let count = list.controllers.iter().filter(|one| votes(one.role)).count();
            Ok((count == voters && !list.changing).then_some(()))
        })
    }

    fn start_standby(&mut self, name: &str) -> anyhow::Result<()> {
        let log = self.path(&format!("{name}.log"));
        let mut daemon = Daemon::start(self.controller_command(name), Path::new(&log))?;
        let kantctl = self.standby_kantctl(name)?;
        wait_for("a further controller", || {
            if let Some(status) = daemon.ended()? {
                bail!("{name} ended with {status}:\n{}", daemon.log());
            }
            Ok((kantctl.run(&["status"])?.code == 0).then_some(()))
        })?;
        self.standbys.insert(name.to_owned(), daemon);
        Ok(())
    }

    fn standby_kantctl(&self, name: &str) -> anyhow::Result<Kantctl> {
        Ok(self.kantctl(Person::me())?.on(&self.dir().join(format!("{name}.sock"))))
    }

    /// Kills the leading controller with SIGKILL. Returns its name, for [`Cluster::revive`].
    ///
    /// # Errors
    /// When there is no leader.
    pub fn kill_leader(&mut self) -> anyhow::Result<String> {
        let asked = self.any_kantctl().context("no controller runs")?;
        let name = wait_for("a leader", || {
            let Ok(list) = asked.json::<ControllerList>(&["admin", "controller", "status"]) else {
                return Ok(None);
            };
            let leader = list.controllers.into_iter().find(|one| Some(one.id) == list.leader);
            Ok(leader.map(|one| one.name).filter(|name| self.runs(name)))
        })?;
        match self.standbys.remove(&name) {
            Some(daemon) => daemon.kill()?,
            None => self.kill_controller()?,
        }
        Ok(name)
    }

    /// kantctl on a controller that runs.
    pub(super) fn any_kantctl(&self) -> Option<Kantctl> {
        match (&self.controller, self.standbys.keys().next()) {
            (Some(_), _) => self.kantctl(Person::me()).ok(),
            (None, Some(name)) => self.standby_kantctl(name).ok(),
            (None, None) => None,
        }
    }

    fn is_standby(&self, name: &str) -> bool {
        Self::standby_names(self.listens.len()).iter().any(|standby| standby == name)
    }

    fn runs(&self, name: &str) -> bool {
        if self.is_standby(name) {
            self.standbys.contains_key(name)
        } else {
            self.controller.is_some()
        }
    }

    /// Starts a killed controller again.
    ///
    /// # Errors
    /// When it does not start.
    pub fn revive(&mut self, name: &str) -> anyhow::Result<()> {
        if self.is_standby(name) { self.start_standby(name) } else { self.start_controller() }
    }
}
