//! Emulated nodes (`kantd emulate`), for a cluster whose controller has `emulated = true`.

use crate::cluster::Cluster;
use crate::daemon::Daemon;
use std::process::Command;

impl Cluster {
    /// Starts an emulator with these arguments, in addition to the controller and its key.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn emulate(&self, words: &[&str]) -> anyhow::Result<Daemon> {
        let mut command = Command::new(&self.binaries().kantd);
        command.arg("emulate").args(words);
        command.arg("--controller").arg(self.controller_config()?.listen);
        command.arg("--cluster-key").arg(self.dir().join("cluster.key"));
        command.env_remove("RUST_LOG");
        Daemon::start(command, &self.dir().join("emulator.log"))
    }
}
