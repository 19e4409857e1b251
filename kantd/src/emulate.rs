//! `kantd emulate`: thousands of nodes in one process, with the same runner and session as a real
//! kantd, for scale tests, demos and dry runs of a policy. It starts no processes of jobs and needs
//! no root. Emulated nodes cannot be mistaken for real ones: each has the feature `emulated`, and
//! only a controller with `emulated = true` admits it.

mod args;
mod behaviour;
mod controller_config;
mod emulated_steps;
mod machine;
mod power_cut;

pub use args::{ArgsError, EmulateArgs};
pub use behaviour::DefaultBehaviour;
pub use controller_config::controller_config;
pub use emulated_steps::EmulatedSteps;
pub use machine::{MachineError, load_machine};
pub use power_cut::{PowerCut, PowerCutError};

use crate::data_dirs;
use crate::node_runtime::NodeRuntime;
use crate::session::{KeyGenerations, Measurements, NodeInfo, SessionTiming};
use common::id::{IdError, NodeName};
use common::node::Inventory;
use net::{ClusterKeys, Endpoint, Identity, IdentityError, KeyError};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// Open files in addition to one connection for each node.
const OTHER_FILES: u64 = 64;
/// Pause between node starts, so that controllers see at most a thousand new nodes a second.
const START_PAUSE: Duration = Duration::from_millis(1);

/// The nodes to emulate.
#[derive(Debug, Clone)]
pub struct Emulation {
    pub names: Vec<NodeName>,
    /// The hardware of each node.
    pub inventory: Inventory,
    /// The controllers, as host:port; at least one.
    pub controllers: Vec<String>,
    pub cluster_key: PathBuf,
    /// Behaviour of jobs whose script does not define it.
    pub default_behaviour: DefaultBehaviour,
    pub power_cuts: Vec<PowerCut>,
}

/// A reason why nothing is emulated.
#[derive(Debug, thiserror::Error)]
pub enum EmulateError {
    #[error("failed to name the nodes: {0}; choose another --prefix")]
    Name(#[from] IdError),
    #[error("failed to read the cluster key {path}: name the controller's key with --cluster-key")]
    Key {
        path: String,
        #[source]
        source: KeyError,
    },
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The limit of open files is too low.
    #[error(
        "failed to hold {nodes} connections: this process may have {files} open files; raise \
         the limit (ulimit -Hn), or start several emulators with a --prefix each"
    )]
    Files { nodes: usize, files: u64 },
    #[error("failed to plan a power cut of {0}: there is no such node; see --nodes and --prefix")]
    NoSuchNode(NodeName),
}

/// N node names of equal width: `em01` to `em50`.
///
/// # Errors
/// [`EmulateError::Name`].
pub fn node_names(prefix: &str, count: u32) -> Result<Vec<NodeName>, EmulateError> {
    let width = count.to_string().len();
    let name = |number: u32| Ok(NodeName::new(format!("{prefix}{number:0width$}"))?);
    (1..=count).map(name).collect()
}

/// Runs all nodes. Returns only with an error; when dropped, all nodes end at once.
///
/// # Errors
/// [`EmulateError`].
pub async fn run(emulation: Emulation) -> Result<(), EmulateError> {
    raise_open_file_limit(emulation.names.len())?;
    let known = |name: &&NodeName| !emulation.names.contains(name);
    if let Some(name) =
        emulation.power_cuts.iter().flat_map(|power_cut| &power_cut.nodes).find(known)
    {
        return Err(EmulateError::NoSuchNode(name.clone()));
    }
    let path = &emulation.cluster_key;
    let keys = ClusterKeys::load(path)
        .map_err(|source| EmulateError::Key { path: path.display().to_string(), source })?;
    let mut nodes = JoinSet::new();
    for name in &emulation.names {
        let identity = Identity::emulated_node(&keys.issuing, name.as_str())?;
        let tls = |addr: &String| Endpoint::Tls { addr: addr.clone(), identity: identity.clone() };
        let node = Node {
            name: name.clone(),
            controllers: emulation.controllers.iter().map(tls).collect(),
            inventory: emulation.inventory.clone(),
            default_behaviour: emulation.default_behaviour,
            power_cuts: emulation
                .power_cuts
                .iter()
                .filter(|f| f.nodes.contains(name))
                .cloned()
                .collect(),
        };
        nodes.spawn(node.run());
        sleep(START_PAUSE).await;
    }
    tracing::info!(nodes = nodes.len(), "all emulated nodes are up; nothing really runs on them");
    // A node that is gone for good must not end the others.
    while nodes.join_next().await.is_some() {}
    std::future::pending().await
}

/// Raises the limit of open files to what the nodes' connections need, if possible.
fn raise_open_file_limit(nodes: usize) -> Result<(), EmulateError> {
    let wanted = nodes as u64 + OTHER_FILES;
    // If the limit is unknown, a failing connection will show it.
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return Ok(()) };
    if soft >= wanted {
        return Ok(());
    }
    let raised = wanted <= hard && setrlimit(Resource::RLIMIT_NOFILE, wanted, hard).is_ok();
    if raised { Ok(()) } else { Err(EmulateError::Files { nodes, files: hard }) }
}

/// One node, over all its boots.
struct Node {
    name: NodeName,
    controllers: Vec<Endpoint>,
    inventory: Inventory,
    default_behaviour: DefaultBehaviour,
    power_cuts: Vec<PowerCut>,
}

impl Node {
    /// Runs the node from its first boot to its last power cut, if there is one.
    async fn run(self) {
        let mut boot = 1;
        let mut running = self.boot(boot);
        let mut power_cuts = self.power_cuts.clone();
        power_cuts.sort_by_key(|power_cut| power_cut.after);
        let began = tokio::time::Instant::now();
        for PowerCut { after, back_after, .. } in power_cuts {
            tokio::time::sleep_until(began + after).await;
            tracing::info!(node = %self.name, "loses power");
            running.shutdown().await;
            let Some(back_after) = back_after else { return };
            sleep(back_after).await;
            boot += 1;
            tracing::info!(node = %self.name, "boots");
            running = self.boot(boot);
        }
        // The tasks end only with the process.
        while running.join_next().await.is_some() {}
    }

    /// Starts the tasks of a kantd, with emulated steps.
    fn boot(&self, boot: u32) -> JoinSet<()> {
        let mut inventory = self.inventory.clone();
        machine::set_identity(&mut inventory, &self.name, boot);
        let (steps, changes) = EmulatedSteps::new(self.name.clone(), self.default_behaviour);
        let parts = NodeRuntime {
            controllers: self.controllers.clone(),
            info: NodeInfo {
                name: self.name.clone(),
                address: "127.0.0.1".to_owned(),
                identity: format!("emulated {}", self.name),
                inventory: Arc::new(inventory),
            },
            allow_root: false,
            timing: SessionTiming::default(),
            // An emulated node is always healthy.
            health: watch::channel(Some(Vec::new())).1,
            data: data_dirs::watch(Vec::new()),
            steps: None,
            leader_contact: None,
            measurements: Measurements::none(),
            routes: None,
            key_generations: KeyGenerations::without_renewal(),
        };
        parts.start(steps, None, Vec::new(), changes, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_equal_width_so_that_they_sort() {
        let named = node_names("em", 10).unwrap();
        assert_eq!((named[0].as_str(), named[9].as_str()), ("em01", "em10"));
        assert!(node_names("e m", 1).unwrap_err().to_string().contains("--prefix"));
    }

    #[tokio::test]
    async fn a_power_cut_of_an_unknown_node_is_refused_before_anything_starts() {
        let emulation = Emulation {
            names: node_names("em", 3).unwrap(),
            inventory: load_machine(None).unwrap(),
            controllers: vec!["127.0.0.1:1".to_owned()],
            cluster_key: "/nonexistent".into(),
            default_behaviour: DefaultBehaviour::default(),
            power_cuts: vec!["em[3-4]=1s".parse().unwrap()],
        };
        let error = run(emulation).await.unwrap_err();
        assert!(error.to_string().contains("em4"), "{error}");
    }
}
