//! The command line of `kantd emulate`. Never starts a node.

use super::{EmulateError, Emulation, Fault, MachineError, Manner, machine, names};
use common::id::NodeName;
use common::time::Span;
use std::path::PathBuf;
use std::time::Duration;

/// What can be said to `kantd emulate`.
#[derive(Debug, clap::Args)]
pub struct Line {
    /// How many nodes.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    nodes: u32,
    /// What each of them has: a machine in a few words (TOML), or what `kantd inventory --json`
    /// says of a real one (.json); without it a DGX H100.
    #[arg(long, value_name = "FILE")]
    machine: Option<PathBuf>,
    /// Their names begin with this.
    #[arg(long, value_name = "WORD", default_value = "em")]
    prefix: String,
    /// The controller's host:port; again for each of several.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7600")]
    controller: Vec<String>,
    /// The cluster's secret key.
    #[arg(long, value_name = "FILE", default_value = "/etc/kant/cluster.key")]
    cluster_key: PathBuf,
    /// Jobs whose script does not `sleep` take so long; without it they are over at once.
    #[arg(long, value_name = "TIME")]
    duration: Option<Span>,
    /// So many jobs in a hundred exit with 1: always the same ones.
    #[arg(long, value_name = "PERCENT", default_value_t = 0,
        value_parser = clap::value_parser!(u8).range(0..=100))]
    failing_jobs: u8,
    /// Cut the power of these nodes after a time, and give it back after another: em[01-05]=30s+1m.
    #[arg(long, value_name = "NODES=AFTER[+FOR]")]
    fail_node: Vec<Fault>,
    /// For --show-config: stand under so many leaf switches.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "show_config")]
    leafs: usize,
    /// Print what the controller's configuration needs for these nodes, and exit.
    #[arg(long)]
    show_config: bool,
}

/// Why a command line asks for nothing that can be had.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// The machine.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// The rest.
    #[error(transparent)]
    Emulate(#[from] EmulateError),
}

impl Line {
    /// What the controller's configuration needs, where that is asked for.
    ///
    /// # Errors
    /// [`LineError`].
    pub fn config(&self) -> Result<Option<String>, LineError> {
        let names = self.names()?;
        Ok(self.show_config.then(|| super::controller_config(&names, self.leafs)))
    }

    /// What to emulate.
    ///
    /// # Errors
    /// [`LineError`].
    pub fn emulation(self) -> Result<Emulation, LineError> {
        let duration = self.duration.map_or(Duration::ZERO, |span| Duration::from_millis(span.0));
        Ok(Emulation {
            names: self.names()?,
            inventory: machine(self.machine.as_deref())?,
            controllers: self.controller,
            cluster_key: self.cluster_key,
            manner: Manner { duration, failing_percent: self.failing_jobs },
            faults: self.fail_node,
        })
    }

    fn names(&self) -> Result<Vec<NodeName>, EmulateError> {
        names(&self.prefix, self.nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Program {
        #[command(flatten)]
        line: Line,
    }

    fn line(words: &[&str]) -> Line {
        Program::try_parse_from(["emulate"].iter().chain(words)).unwrap().line
    }

    #[test]
    fn all_of_the_line_is_heard() {
        let words = "--nodes 20 --prefix g --controller a:1 --controller b:2 --cluster-key /k \
                     --duration 90s --failing-jobs 3 --fail-node g[01-02]=1m";
        let words: Vec<&str> = words.split_whitespace().collect();
        assert_eq!(line(&words).config().unwrap(), None);
        let asked = line(&words).emulation().unwrap();
        assert_eq!((asked.names.len(), asked.names[19].as_str()), (20, "g20"));
        assert_eq!(asked.controllers, ["a:1", "b:2"]);
        assert_eq!(asked.manner.duration, Duration::from_secs(90));
        assert_eq!((asked.manner.failing_percent, asked.faults.len()), (3, 1));
    }

    #[test]
    fn the_controllers_part_is_shown_when_it_is_asked_for() {
        let shown = line(&["--nodes", "4", "--show-config", "--leafs", "2"]).config().unwrap();
        assert!(shown.unwrap().contains("em[3-4]"));
        assert!(Program::try_parse_from(["emulate", "--nodes", "4", "--leafs", "2"]).is_err());
    }
}
