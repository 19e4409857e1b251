//! Opens this controller's log and the sockets to the others, as its membership says. Never begins
//! anything that the membership does not.

use crate::machine::StateMachine;
use crate::membership::{LogStage, Membership, MembershipError, Start, advertised, check_adopted};
use crate::peers::{Book, Lines, Me, Peers};
use crate::raft::{self, LogError, LogThread, Opening, Shell, StoreError};
use common::config::ControllerConfig;
use common::id::ControllerId;
use net::Identity;
use std::io;
use std::sync::{Arc, Mutex};
use wal::{Options, RealDisk};

/// Whose a log is that was written before there were memberships.
const LONE_CONTROLLER: ControllerId = ControllerId(1);

/// The log could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpeningError {
    #[error(transparent)]
    Membership(#[from] MembershipError),
    #[error("failed to open the state directory {path}")]
    Directory {
        path: String,
        #[source]
        source: io::Error,
    },
    /// Gone or damaged: going on would break promises given.
    #[error(
        "the log in {path} is gone or damaged, and this controller must not vote without it. If \
         others of the cluster run: `kantctld rebuild --to HOST:PORT` makes it a new controller \
         with a log from them, and moves this one aside. If it was the only one: put the files \
         back, or, with every controller stopped, `kantctld restore` a backup"
    )]
    Lost {
        path: String,
        /// What is wrong with it; nothing, where it is simply gone.
        #[source]
        source: Option<LogError>,
    },
    #[error(transparent)]
    Log(#[from] LogError),
}

/// What has been opened.
pub struct Opened {
    /// The log, and the way to the others.
    pub peers: Arc<Peers<StateMachine>>,
    pub thread: LogThread,
}

/// Opens the log and starts its thread; the sockets wait for [`crate::peers::keep`].
///
/// # Errors
/// [`OpeningError`].
pub fn open(
    config: &ControllerConfig,
    start: Start,
    identity: Identity,
    machine: StateMachine,
) -> Result<Opened, OpeningError> {
    let clock = machine.clock().clone();
    let log_dir = start.file.log_dir();
    let path = log_dir.display().to_string();
    let disk = RealDisk::open(&log_dir)
        .map_err(|source| OpeningError::Directory { path: path.clone(), source })?;
    let opening = Opening {
        id: start.membership.map_or(LONE_CONTROLLER, |membership| membership.id),
        cluster: start.membership.map(|membership| membership.cluster),
        beginning: start.beginning,
        snapshot_every: config.snapshot_every_entries,
        snapshot_bytes_min: replica::SNAPSHOT_BYTES_MIN,
        seed: fastrand::u64(..),
        options: Options { salt: fastrand::u64(..), ..Options::default() },
    };
    let lines = Arc::new(Lines::default());
    let (file, membership) = (start.file.clone(), start.membership);
    let began = move || membership.map_or(Ok(()), |membership| file.note_began(&membership));
    let shell = Shell { post: lines.post(), began: Box::new(began) };
    let (log, thread) =
        raft::start(disk, &opening, machine, shell).map_err(|error| explain(path, error))?;
    let status = log.status().borrow().clone();
    let membership = match start.membership {
        Some(membership) => membership,
        None => {
            let adopted = check_adopted(&start.file, &status.members)?;
            start.file.write(&Membership { log: LogStage::Began, ..adopted })?;
            adopted
        }
    };
    let Membership { cluster, id, .. } = membership;
    tracing::info!("controller {id} of cluster {cluster}");
    let me = Me { cluster, id, address: advertised(config).to_owned() };
    let (book, unfinished_join) = (Book::default(), Mutex::default());
    let peers = Arc::new(Peers { me, log, lines, book, identity, clock, unfinished_join });
    Ok(Opened { peers, thread })
}

fn explain(path: String, error: LogError) -> OpeningError {
    let is_lost = matches!(
        &error,
        LogError::Store(
            StoreError::Empty { .. }
                | StoreError::Wal(wal::Error::Corrupt { .. } | wal::Error::Incomplete { .. })
        )
    );
    // What it says is for who never had one.
    let is_gone = matches!(&error, LogError::Store(StoreError::Empty { .. }));
    match is_lost {
        true => OpeningError::Lost { path, source: Some(error).filter(|_| !is_gone) },
        false => OpeningError::Log(error),
    }
}
