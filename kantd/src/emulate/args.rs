//! The command line of `kantd emulate`.

use super::{
    DefaultBehaviour, EmulateError, Emulation, MachineError, PowerCut, load_machine, node_names,
};
use common::id::NodeName;
use common::time::Span;
use std::path::PathBuf;
use std::time::Duration;

/// The arguments of `kantd emulate`.
#[derive(Debug, clap::Args)]
pub struct EmulateArgs {
    /// Number of nodes to emulate.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    nodes: u32,
    /// Hardware of each node: a short description (TOML), or the output of `kantd inventory --json`
    /// on a real node (.json). Default: a DGX H100.
    #[arg(long, value_name = "FILE")]
    machine: Option<PathBuf>,
    /// Prefix of the node names.
    #[arg(long, value_name = "WORD", default_value = "em")]
    prefix: String,
    /// The controller's host:port; may be repeated.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7600")]
    controller: Vec<String>,
    /// The cluster's secret key.
    #[arg(long, value_name = "FILE", default_value = "/var/lib/kantctld/cluster.key")]
    cluster_key: PathBuf,
    /// Run time of jobs whose script has no `sleep`. Default: they end at once.
    #[arg(long, value_name = "TIME")]
    duration: Option<Span>,
    /// Percentage of jobs, always the same ones, that exit with 1.
    #[arg(long, value_name = "PERCENT", default_value_t = 0,
        value_parser = clap::value_parser!(u8).range(0..=100))]
    failing_jobs: u8,
    /// Cut the power of these nodes after a time, and restore it after another: em[01-05]=30s+1m.
    #[arg(long, value_name = "NODES=AFTER[+FOR]")]
    fail_node: Vec<PowerCut>,
    /// Number of leaf switches above the nodes, for --show-config.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "show_config")]
    leafs: usize,
    /// Print the controller configuration that these nodes need, and exit.
    #[arg(long)]
    show_config: bool,
}

/// An invalid command line.
#[derive(Debug, thiserror::Error)]
pub enum ArgsError {
    #[error(transparent)]
    Machine(#[from] MachineError),
    #[error(transparent)]
    Emulate(#[from] EmulateError),
}

impl EmulateArgs {
    /// The controller configuration, if it was requested.
    ///
    /// # Errors
    /// [`ArgsError`].
    pub fn controller_config(&self) -> Result<Option<String>, ArgsError> {
        let names = self.names()?;
        Ok(self.show_config.then(|| super::controller_config(&names, self.leafs)))
    }

    /// The nodes to emulate.
    ///
    /// # Errors
    /// [`ArgsError`].
    pub fn emulation(self) -> Result<Emulation, ArgsError> {
        let duration = self.duration.map_or(Duration::ZERO, |span| Duration::from_millis(span.0));
        Ok(Emulation {
            names: self.names()?,
            inventory: load_machine(self.machine.as_deref())?,
            controllers: self.controller,
            cluster_key: self.cluster_key,
            default_behaviour: DefaultBehaviour { duration, failing_percent: self.failing_jobs },
            power_cuts: self.fail_node,
        })
    }

    fn names(&self) -> Result<Vec<NodeName>, EmulateError> {
        node_names(&self.prefix, self.nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Program {
        #[command(flatten)]
        args: EmulateArgs,
    }

    fn args(words: &[&str]) -> EmulateArgs {
        Program::try_parse_from(["emulate"].iter().chain(words)).unwrap().args
    }

    #[test]
    fn all_arguments_take_effect() {
        let words = "--nodes 20 --prefix g --controller a:1 --controller b:2 --cluster-key /k \
                     --duration 90s --failing-jobs 3 --fail-node g[01-02]=1m";
        let words: Vec<&str> = words.split_whitespace().collect();
        assert_eq!(args(&words).controller_config().unwrap(), None);
        let asked = args(&words).emulation().unwrap();
        assert_eq!((asked.names.len(), asked.names[19].as_str()), (20, "g20"));
        assert_eq!(asked.controllers, ["a:1", "b:2"]);
        assert_eq!(asked.default_behaviour.duration, Duration::from_secs(90));
        assert_eq!((asked.default_behaviour.failing_percent, asked.power_cuts.len()), (3, 1));
    }

    #[test]
    fn the_controller_configuration_is_shown_on_request() {
        let shown =
            args(&["--nodes", "4", "--show-config", "--leafs", "2"]).controller_config().unwrap();
        assert!(shown.unwrap().contains("em[3-4]"));
        assert!(Program::try_parse_from(["emulate", "--nodes", "4", "--leafs", "2"]).is_err());
    }
}
