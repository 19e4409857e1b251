//! Opening of this controller's log and of its connections to other controllers, according to its
//! membership file.

use crate::membership::{Membership, MembershipError, Start, advertised_address};
use crate::peers::{AddressBook, Links, LocalController, Peers};
use crate::raft::{self, Hooks, LogError, LogThread, ReplicaConfig, StoreError};
use crate::state_machine::StateMachine;
use common::config::ControllerConfig;
use common::sync::Mutex;
use net::Identity;
use std::io;
use std::sync::Arc;
use wal::{Options, RealDisk};

#[derive(Debug, thiserror::Error)]
pub enum BootstrapError {
    #[error(transparent)]
    Membership(#[from] MembershipError),
    #[error("failed to open the state directory {path}")]
    Directory {
        path: String,
        #[source]
        source: io::Error,
    },
    /// Continuing without it would break promises already given to other members.
    #[error(
        "the log in {path} is missing or damaged, and this controller must not vote without it. If \
         other controllers of the cluster run: `kantctld rebuild --to HOST:PORT` makes this one a \
         new member with a log from them, and sets the old log aside. If it was the only one: put \
         the files back or, with every controller stopped, `kantctld restore` a backup"
    )]
    Lost {
        path: String,
        /// What is wrong with it; `None` if it is missing.
        #[source]
        source: Option<LogError>,
    },
    #[error(transparent)]
    Log(#[from] LogError),
}

pub struct OpenedLog {
    pub peers: Arc<Peers<StateMachine>>,
    pub thread: LogThread,
}

/// Opens the log and starts its thread; connections start with
/// [`crate::peers::maintain_connections`].
///
/// # Errors
/// [`BootstrapError`].
pub fn open_log(
    config: &ControllerConfig,
    start: Start,
    identity: Identity,
    machine: StateMachine,
) -> Result<OpenedLog, BootstrapError> {
    let clock = machine.clock().clone();
    let Start { file, membership, bootstrap } = start;
    let log_dir = file.log_dir();
    let path = log_dir.display().to_string();
    let disk = RealDisk::open(&log_dir)
        .map_err(|source| BootstrapError::Directory { path: path.clone(), source })?;
    let Membership { cluster, id, .. } = membership;
    let replica_config = ReplicaConfig {
        id,
        cluster,
        bootstrap,
        snapshot_every: config.snapshot_every_entries,
        snapshot_bytes_min: replica::SNAPSHOT_BYTES_MIN,
        compare_every: replica::COMPARE_EVERY,
        seed: fastrand::u64(..),
        options: Options { salt: fastrand::u64(..), ..Options::default() },
    };
    let links = Arc::new(Links::default());
    let began = move || file.note_began(&membership);
    let hooks = Hooks { transport: links.transport(), began: Box::new(began) };
    let (log, thread) =
        raft::start(disk, &replica_config, machine, hooks).map_err(|error| explain(path, error))?;
    tracing::info!("controller {id} of cluster {cluster}");
    let local = LocalController { cluster, id, address: advertised_address(config).to_owned() };
    let (addresses, unfinished_join) = (AddressBook::default(), Mutex::default());
    let levels = Mutex::default();
    let peers = Peers { local, log, links, addresses, identity, clock, unfinished_join, levels };
    let peers = Arc::new(peers);
    Ok(OpenedLog { peers, thread })
}

fn explain(path: String, error: LogError) -> BootstrapError {
    let is_lost = matches!(
        &error,
        LogError::Store(
            StoreError::Empty { .. }
                | StoreError::Wal(wal::Error::Corrupt { .. } | wal::Error::Incomplete { .. })
        )
    );
    // The store's message for an empty directory assumes a first start.
    let is_gone = matches!(&error, LogError::Store(StoreError::Empty { .. }));
    match is_lost {
        true => BootstrapError::Lost { path, source: Some(error).filter(|_| !is_gone) },
        false => BootstrapError::Log(error),
    }
}
