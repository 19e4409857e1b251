//! Extensions of the test controllers for benchmarks: any number of controllers, and a fast stop of
//! node daemons.

use super::Controllers;
use anyhow::Context as _;
use common::config::ControllerConfig;

impl Controllers {
    /// Starts voting controllers with these names, each with a change to its configuration.
    ///
    /// # Errors
    /// When they do not become voters, or no name is given.
    pub fn of(names: &[&str], change: fn(&mut ControllerConfig)) -> anyhow::Result<Self> {
        let (first, others) = names.split_first().context("no name of a controller is given")?;
        let mut controllers = Self::new()?;
        controllers.add(first)?;
        controllers.reconfigure(first, change)?;
        controllers.start(first)?;
        for name in others {
            controllers.add(name)?;
            controllers.reconfigure(name, change)?;
            controllers.admit(name, "join", first)?;
            controllers.start(name)?;
        }
        controllers.wait_for_voters(first, names.len())?;
        Ok(controllers)
    }

    /// Stops a node's daemon. The caller must have ensured that no job runs on the node.
    ///
    /// # Errors
    /// When a system call fails.
    pub fn stop_node(&mut self, name: &str) -> anyhow::Result<()> {
        self.nodes.remove(name).map_or(Ok(()), |daemon| daemon.stop().map(|_| ()))
    }
}
