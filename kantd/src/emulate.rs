//! `kantd emulate`: thousands of nodes in one process, over the same runner and session as a real
//! kantd's, for scale tests, demos and dry runs of a policy. Never starts a process of any job,
//! never needs root, and never passes for the real thing: every node bears the feature `emulated`,
//! and only a controller with `emulated = true` lets it in.

mod behaviour;
mod fault;
mod leafs;
mod line;
mod machine;
mod steps;

pub use behaviour::Manner;
pub use fault::{Fault, FaultError};
pub use leafs::controller_config;
pub use line::{Line, LineError};
pub use machine::{MachineError, machine};
pub use steps::MadeUpSteps;

use crate::parts::Parts;
use crate::session::{About, Pace};
use common::id::{IdError, NodeName};
use common::node::Inventory;
use net::{ClusterKey, Endpoint, Identity, IdentityError, KeyError, Role};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// Open files beside one connection for each node.
const FILES_BESIDE: u64 = 64;
/// Between two nodes that start: controllers see a thousand new ones a second, not all at once.
const START_PAUSE: Duration = Duration::from_millis(1);

/// What is to be emulated.
#[derive(Debug, Clone)]
pub struct Emulation {
    /// The nodes, in order.
    pub names: Vec<NodeName>,
    /// What each of them has.
    pub inventory: Inventory,
    /// The controllers, each host:port; at least one.
    pub controllers: Vec<String>,
    /// The cluster's secret key.
    pub cluster_key: PathBuf,
    /// How jobs behave whose script does not say.
    pub manner: Manner,
    /// What befalls which nodes.
    pub faults: Vec<Fault>,
}

/// Why nothing is emulated.
#[derive(Debug, thiserror::Error)]
pub enum EmulateError {
    /// No nodes can be named like that.
    #[error("failed to name the nodes: {0}; choose another --prefix")]
    Name(#[from] IdError),
    /// The cluster key is missing or unfit.
    #[error("failed to read the cluster key {path}: name that of the controller, --cluster-key")]
    Key {
        /// Where it was looked for.
        path: String,
        #[source]
        source: KeyError,
    },
    /// The key makes no certificate.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// A process may not have so many connections.
    #[error(
        "failed to hold {nodes} connections: this process may have {files} open files; raise \
         the limit (ulimit -Hn), or start several emulators with a --prefix each"
    )]
    Files { nodes: usize, files: u64 },
    /// A fault of a node that there is not.
    #[error("failed to plan a fault of {0}: there is no such node; see --nodes and --prefix")]
    NoSuchNode(NodeName),
}

/// So many names: `em01` to `em50`, as wide as the last.
///
/// # Errors
/// [`EmulateError::Name`].
pub fn names(prefix: &str, count: u32) -> Result<Vec<NodeName>, EmulateError> {
    let width = count.to_string().len();
    let name = |number: u32| Ok(NodeName::new(format!("{prefix}{number:0width$}"))?);
    (1..=count).map(name).collect()
}

/// Runs all nodes. Returns only with an error; dropped, all of them end at once.
///
/// # Errors
/// [`EmulateError`].
pub async fn run(emulation: Emulation) -> Result<(), EmulateError> {
    allow_files(emulation.names.len())?;
    let known = |name: &&NodeName| !emulation.names.contains(name);
    if let Some(name) = emulation.faults.iter().flat_map(|fault| &fault.nodes).find(known) {
        return Err(EmulateError::NoSuchNode(name.clone()));
    }
    let path = &emulation.cluster_key;
    let key = ClusterKey::load(path)
        .map_err(|source| EmulateError::Key { path: path.display().to_string(), source })?;
    let mut nodes = JoinSet::new();
    for name in &emulation.names {
        let identity = Identity::new(&key, Role::Node(name.to_string()))?;
        let tls = |addr: &String| Endpoint::Tls { addr: addr.clone(), identity: identity.clone() };
        let node = Node {
            name: name.clone(),
            controllers: emulation.controllers.iter().map(tls).collect(),
            inventory: emulation.inventory.clone(),
            manner: emulation.manner,
            faults: emulation.faults.iter().filter(|f| f.nodes.contains(name)).cloned().collect(),
        };
        nodes.spawn(node.live());
        sleep(START_PAUSE).await;
    }
    tracing::info!(nodes = nodes.len(), "all emulated nodes are up; nothing really runs on them");
    // A node that is gone for good is no end of the others.
    while nodes.join_next().await.is_some() {}
    std::future::pending().await
}

/// Every node is a connection. Asks for what they need, where the limit leaves room.
fn allow_files(nodes: usize) -> Result<(), EmulateError> {
    let wanted = nodes as u64 + FILES_BESIDE;
    // A system that does not tell is found out by the first connection that fails.
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return Ok(()) };
    if soft >= wanted {
        return Ok(());
    }
    let raised = wanted <= hard && setrlimit(Resource::RLIMIT_NOFILE, wanted, hard).is_ok();
    if raised { Ok(()) } else { Err(EmulateError::Files { nodes, files: hard }) }
}

/// One node, over all of its boots.
struct Node {
    name: NodeName,
    controllers: Vec<Endpoint>,
    inventory: Inventory,
    manner: Manner,
    faults: Vec<Fault>,
}

impl Node {
    /// From its first boot to its last power cut, if there is one.
    async fn live(self) {
        let mut boot = 1;
        let mut running = self.boot(boot);
        let mut faults = self.faults.clone();
        faults.sort_by_key(|fault| fault.after);
        let began = tokio::time::Instant::now();
        for Fault { after, back_after, .. } in faults {
            tokio::time::sleep_until(began + after).await;
            tracing::info!(node = %self.name, "loses power");
            running.shutdown().await;
            let Some(back_after) = back_after else { return };
            sleep(back_after).await;
            boot += 1;
            tracing::info!(node = %self.name, "boots");
            running = self.boot(boot);
        }
        // Its parts end only with the process.
        while running.join_next().await.is_some() {}
    }

    /// Starts what a kantd consists of, with steps that are made up.
    fn boot(&self, boot: u32) -> JoinSet<()> {
        let mut inventory = self.inventory.clone();
        machine::belong_to(&mut inventory, &self.name, boot);
        let (steps, changes) = MadeUpSteps::new(self.name.clone(), self.manner);
        let parts = Parts {
            controllers: self.controllers.clone(),
            about: About {
                name: self.name.clone(),
                address: "127.0.0.1".to_owned(),
                identity: format!("emulated {}", self.name),
                inventory: Arc::new(inventory),
            },
            allow_root: false,
            pace: Pace::default(),
            // Nothing is ever wrong with it.
            health: watch::channel(Some(Vec::new())).1,
            steps: None,
        };
        parts.start(steps, Vec::new(), changes, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_wide_as_the_last_so_that_they_sort() {
        let named = names("em", 10).unwrap();
        assert_eq!((named[0].as_str(), named[9].as_str()), ("em01", "em10"));
        assert!(names("e m", 1).unwrap_err().to_string().contains("--prefix"));
    }

    #[tokio::test]
    async fn a_fault_of_a_node_that_there_is_not_is_refused_before_anything_starts() {
        let emulation = Emulation {
            names: names("em", 3).unwrap(),
            inventory: machine(None).unwrap(),
            controllers: vec!["127.0.0.1:1".to_owned()],
            cluster_key: "/nonexistent".into(),
            manner: Manner::default(),
            faults: vec!["em[3-4]=1s".parse().unwrap()],
        };
        let error = run(emulation).await.unwrap_err();
        assert!(error.to_string().contains("em4"), "{error}");
    }
}
