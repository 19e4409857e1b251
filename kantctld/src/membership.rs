//! The membership of a state directory: the file that records which controller it belongs to, and
//! the four ways to get one: found a cluster, join one, rebuild after a lost log, restore a backup.
//! A membership that has a log is not overwritten, and a log is moved aside but never deleted.

mod commands;
mod file;
mod found;
mod join;
mod liveness_check;
mod owner;
mod rebuild;
mod restore;
mod start;

pub use commands::{run_found, run_found_key, run_join, run_rebuild, run_restore};
pub use file::{FILE, LogStage, Membership, MembershipFile};
pub use found::found;
pub use join::{JoinOptions, join};
pub use owner::act_as_owner;
pub use rebuild::rebuild;
pub use start::{Start, examine_state_dir};

use common::causes::with_causes;
use common::config::ControllerConfig;
use common::id::{ClusterId, ControllerId, Uid};
use net::{ApiError, ClientError, IdentityError, KeyError, NotAnInvitation, TrustError};
use std::io;
use std::path::Path;

/// Why a controller cannot start or change its membership.
#[derive(Debug, thiserror::Error)]
pub enum MembershipError {
    #[error("failed to {action} {path}")]
    Io {
        action: &'static str,
        path: String,
        #[source]
        source: io::Error,
    },
    #[error("failed to read {path}: {message}. Restore the file as kantctld wrote it")]
    Unreadable { path: String, message: String },
    #[error(
        "{path} already belongs to controller {id} of cluster {cluster}: start kantctld to \
         continue, or give the new controller an empty directory"
    )]
    Taken { path: String, id: ControllerId, cluster: ClusterId },
    #[error(
        "{path} already has a log: start kantctld to continue with it, or give the new controller \
         an empty directory"
    )]
    LogTaken { path: String },
    /// An empty directory, and the configuration does not show whether to found or join.
    #[error(
        "{path} is empty, and the configuration lists other controllers in `peers`: run \
         `kantctld found` on the first controller, and `kantctld join` on each other one with an \
         invitation from `kantctl admin controller invite`"
    )]
    Undecided { path: String },
    /// A log without the file that identifies its controller.
    #[error(
        "there is a log in {path}, and {file}, which identifies its controller, is missing: \
         restore that file, or give up this log with `kantctld rebuild`"
    )]
    NoMembershipFile { path: String, file: String },
    /// Other members rely on entries that this log no longer has.
    #[error(
        "a part of the log in {path} was lost, so this controller must not vote with the rest: \
         `kantctld rebuild --to HOST:PORT` makes it a new member with a log from the others, and \
         sets this log aside"
    )]
    LogLost { path: String },
    #[error(
        "the state of this controller differs from that of the others, so it must not vote: its \
         memory or disk may be faulty. `kantctld rebuild --to HOST:PORT` makes it a new member \
         with a state from the others, and sets the log in {path} aside"
    )]
    StateDiffers { path: String },
    #[error("{path} belongs to no controller yet: run `kantctld join` first")]
    NothingToRebuild { path: String },
    #[error("kantctld is running on {path}: stop it first")]
    Running { path: String },
    #[error(
        "other controllers cannot reach this one at `{address}`: set `advertise` in its \
         configuration to its host and port"
    )]
    Unreachable { address: String },
    #[error(
        "an operator must invite this controller: run `kantctl admin controller invite` on the \
         leader's host, and set KANT_INVITATION here to what it prints"
    )]
    NotInvited,
    #[error("no controller to ask: give --to HOST:PORT, or `peers` in the configuration")]
    NoPeers,
    #[error(transparent)]
    Invitation(#[from] NotAnInvitation),
    #[error(
        "{path} is the key of another cluster than that of the invitation, or an old key of that \
         cluster: move it aside if it is not needed, then run this again"
    )]
    OtherKey { path: String },
    #[error("the controller sent no cluster key: install the same release on both hosts")]
    NoKeySent,
    /// Other users may change the state directory.
    #[error(transparent)]
    Trust(#[from] TrustError),
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// No controller accepted the request.
    #[error("failed to join the cluster: {}", errors_text(.0))]
    Ask(
        /// The errors by address.
        Vec<(String, ClientError)>,
    ),
    /// A backup must not replace a running cluster.
    #[error(
        "{who} answers at {addr}, and two clusters must not command the same nodes. To keep that \
         cluster, run `kantctld join` with an empty directory, or `kantctld rebuild`. To continue \
         from the backup, stop that controller and every other one, then restore. Use `--force` to \
         skip this check only if it is not a controller of these nodes"
    )]
    OtherRunning { addr: String, who: String },
    #[error(
        "{path} belonged to controller {id} of cluster {cluster}, and the backup is of cluster \
         {theirs}: if it is the right backup, move that directory aside first"
    )]
    OtherBackup { path: String, id: ControllerId, cluster: ClusterId, theirs: ClusterId },
    #[error("failed to restore: too few job numbers are left to skip past those in use")]
    NoJobNumbers,
    /// Root ran the command and could not become the owner.
    #[error("failed to act as user {uid}, who owns {path}: run the command as that user")]
    Owner {
        path: String,
        uid: Uid,
        #[source]
        source: io::Error,
    },
    #[error(transparent)]
    Backup(#[from] crate::backup::BackupError),
    #[error("failed to make a log from the backup")]
    Log(#[from] crate::raft::LogError),
    #[error("failed to start the runtime")]
    Runtime(#[source] io::Error),
}

impl MembershipError {
    fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.display().to_string();
        move |source| Self::Io { action, path, source }
    }
}

/// The errors on one line.
fn errors_text(errors: &[(String, ClientError)]) -> String {
    let one = |(addr, error): &(String, ClientError)| {
        let why = match error {
            ClientError::Refused { error: ApiError { message, hint: Some(hint), .. }, .. } => {
                format!("{message}; {hint}")
            }
            other => with_causes(other),
        };
        // Most errors contain the address; a refusal does not.
        if why.contains(addr.as_str()) { why } else { format!("{addr} says: {why}") }
    };
    errors.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// The address for other controllers; may be empty.
#[must_use]
pub fn advertised_address(config: &ControllerConfig) -> &str {
    match config.advertise.as_str() {
        "" => &config.listen,
        address => address,
    }
}

#[must_use]
pub fn controller_name(config: &ControllerConfig) -> String {
    match config.name.as_str() {
        "" => nix::unistd::gethostname()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default(),
        name => name.to_owned(),
    }
}

/// Whether another host can connect to this address.
#[must_use]
pub fn is_reachable(address: &str) -> bool {
    let (host, _) = address.rsplit_once(':').unwrap_or_default();
    !["", "0.0.0.0", "[::]", "*"].contains(&host)
}
