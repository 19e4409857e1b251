//! What measurements need of a house besides what tests do: as many controllers as asked for, an
//! end that does not take as long as what was measured. Never measures.

use super::Controllers;
use anyhow::Context as _;
use common::config::ControllerConfig;

impl Controllers {
    /// Controllers of these names that all vote, each with a change to its configuration.
    ///
    /// # Errors
    /// When they do not come to vote, or no name is given.
    pub fn of(names: &[&str], change: fn(&mut ControllerConfig)) -> anyhow::Result<Self> {
        let (first, others) = names.split_first().context("a cluster of no controllers")?;
        let mut house = Self::new()?;
        house.add(first)?;
        house.reconfigure(first, change)?;
        house.start(first)?;
        for name in others {
            house.add(name)?;
            house.reconfigure(name, change)?;
            house.admit(name, "join", first)?;
            house.start(name)?;
        }
        house.wait_for_voters(first, names.len())?;
        Ok(house)
    }

    /// Stops a node's daemon for good; whoever does this has seen to it that nothing runs there.
    ///
    /// # Errors
    /// The system's.
    pub fn stop_node(&mut self, name: &str) -> anyhow::Result<()> {
        self.nodes.remove(name).map_or(Ok(()), |daemon| daemon.stop().map(|_| ()))
    }
}
