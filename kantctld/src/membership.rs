//! Which controller a state directory belongs to: how that is written down, and the four ways to
//! come by it: founding a cluster, joining one, joining again after the log was lost, and going on
//! from a backup. Never overwrites a membership that has a log, and never removes a log.

mod file;
mod found;
mod join;
mod living;
mod owner;
mod rebuild;
mod restore;
mod start;
mod verbs;

pub use file::{FILE, LogStage, Membership, MembershipFile};
pub use found::found;
pub use join::{How, join};
pub use owner::act_as_owner;
pub use rebuild::rebuild;
pub use start::{Start, at_start, check_adopted};
pub use verbs::{run_found, run_join, run_rebuild, run_restore};

use common::config::ControllerConfig;
use common::id::{ClusterId, ControllerId, Uid};
use net::{ClientError, Identity, IdentityError, KeyError, TrustError};
use std::io;
use std::path::Path;

/// A controller cannot begin here, or not like this.
#[derive(Debug, thiserror::Error)]
pub enum MembershipError {
    /// The file, or a directory.
    #[error("failed to {action} {path}")]
    Io {
        action: &'static str,
        path: String,
        #[source]
        source: io::Error,
    },
    #[error("failed to read {path}: {message}. Put the file back as kantctld wrote it")]
    Unreadable {
        path: String,
        /// What is wrong with it.
        message: String,
    },
    /// A second beginning.
    #[error(
        "{path} belongs to controller {id} of cluster {cluster} already: start kantctld plainly to \
         go on, or give the new one an empty directory"
    )]
    Taken { path: String, id: ControllerId, cluster: ClusterId },
    /// A second beginning over a log.
    #[error(
        "there is a log in {path} already: start kantctld plainly to go on with it, or give the \
         new one an empty directory"
    )]
    LogTaken { path: String },
    /// Nobody said what an empty directory is to become.
    #[error(
        "{path} is empty, and the configuration names other controllers in `peers`: on the first \
         of them run `kantctld found`; on each other `kantctld join`, with an invitation of \
         `kantctl admin controller invite`"
    )]
    Unsaid { path: String },
    /// The log of several is there, and the file that says whose it is not.
    #[error(
        "the log in {path} is of {count} controllers, and {file} is not there to say which this \
         one is: put that file back, or give this controller's log up with `kantctld rebuild`"
    )]
    Nameless { path: String, count: usize, file: String },
    /// The others hold of the log what is not in it any more.
    #[error(
        "a part of the log in {path} was lost, so this controller must not vote with what is left: \
         `kantctld rebuild --to HOST:PORT` makes it a new controller with a log from the others, \
         and moves this one aside"
    )]
    LogLost { path: String },
    #[error("{path} belongs to no controller yet: `kantctld join` makes it one")]
    NothingToRebuild { path: String },
    /// A kantctld has it open.
    #[error("a kantctld runs on {path}: stop it first")]
    Running { path: String },
    /// Others cannot reach it there.
    #[error(
        "other controllers cannot reach this one at `{address}`: write its host and port in \
         `advertise` in its configuration"
    )]
    Unreachable { address: String },
    /// The cluster's key alone lets no controller in.
    #[error(
        "an operator has to invite this controller: `kantctl admin controller invite` on the host \
         of the leading controller prints what to give here as KANT_INVITATION"
    )]
    NotInvited,
    /// No address to ask.
    #[error("say which controller to ask: --to HOST:PORT, or `peers` in the configuration")]
    NobodyToAsk,
    /// There is no key.
    #[error(
        "there is no cluster key in {path}: copy it from a controller of the cluster, mode 0600"
    )]
    NoKey {
        /// Where it should be.
        path: String,
    },
    /// Others may change what is in the state directory.
    #[error(transparent)]
    Trust(#[from] TrustError),
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A certificate from it.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// None of those asked took it in.
    #[error("failed to join the cluster: {}", answers(.0))]
    Ask(
        /// What each said, by address.
        Vec<(String, ClientError)>,
    ),
    /// A backup is to take the place of a cluster that runs.
    #[error(
        "{who} answers at {addr}, and two that think they are the cluster would both command its \
         nodes. If it is to go on: `kantctld join` an empty directory to it, or `kantctld rebuild` \
         this controller. If the backup is to go on: stop it there, and every other controller, \
         then restore. (`--force` does not ask: only if it is no controller of these nodes)"
    )]
    Living { addr: String, who: String },
    /// The directory was another cluster's.
    #[error(
        "{path} was of controller {id} of cluster {cluster}, and the backup is of cluster \
         {theirs}: if it is the right one, move that directory aside first"
    )]
    OtherBackup { path: String, id: ControllerId, cluster: ClusterId, theirs: ClusterId },
    /// The numbers of jobs end.
    #[error("failed to restore: of the job numbers there are none left to skip")]
    NoJobNumbers,
    /// Root typed it, and cannot act for the owner.
    #[error("failed to act as user {uid}, who owns {path}: type it as that user")]
    Owner {
        path: String,
        uid: Uid,
        #[source]
        source: io::Error,
    },
    #[error(transparent)]
    Backup(#[from] crate::backup::BackupError),
    /// The log that is made from it.
    #[error("failed to make a log from the backup")]
    Log(#[from] crate::raft::LogError),
    /// Nothing can be asked.
    #[error("failed to start what asks the cluster")]
    Runtime(#[source] io::Error),
}

impl MembershipError {
    fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.display().to_string();
        move |source| Self::Io { action, path, source }
    }
}

/// What each said, in one line.
fn answers(said: &[(String, ClientError)]) -> String {
    let one = |(addr, error): &(String, ClientError)| {
        let why = crate::settings::with_causes(error);
        // The address is in most, and not in a refusal.
        if why.contains(addr.as_str()) { why } else { format!("{addr} says: {why}") }
    };
    said.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// Where others reach this controller; empty: nowhere.
#[must_use]
pub fn advertised(config: &ControllerConfig) -> &str {
    match config.advertise.as_str() {
        "" => &config.listen,
        address => address,
    }
}

#[must_use]
pub fn name(config: &ControllerConfig) -> String {
    match config.name.as_str() {
        "" => nix::unistd::gethostname()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default(),
        name => name.to_owned(),
    }
}

/// Can anybody else dial this?
#[must_use]
pub fn is_reachable(address: &str) -> bool {
    let (host, _) = address.rsplit_once(':').unwrap_or_default();
    !["", "0.0.0.0", "[::]", "*"].contains(&host)
}

/// The identity of a controller whose key must be there already.
fn identity(config: &ControllerConfig) -> Result<Identity, MembershipError> {
    let path = Path::new(&config.cluster_key);
    if !path.exists() {
        return Err(MembershipError::NoKey { path: path.display().to_string() });
    }
    Ok(Identity::new(&net::ClusterKey::load(path)?, net::Role::Controller)?)
}
