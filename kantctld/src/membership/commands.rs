//! The commands `kantctld found`, `join`, `rebuild` and `restore`. Each acts as the owner of the
//! state directory and prints what to do next.

use super::{
    JoinOptions, Membership, MembershipError, MembershipFile, act_as_owner, advertised_address,
    found, is_reachable, join, liveness_check, rebuild, restore,
};
use common::config::ControllerConfig;
use common::id::ClusterId;
use net::{ClusterKey, ClusterKeys};
use std::path::Path;

/// Founds a cluster. Returns the message to print.
///
/// # Errors
/// [`MembershipError`].
pub fn run_found(config: &ControllerConfig) -> Result<String, MembershipError> {
    act_as_owner(config)?;
    let file = MembershipFile::in_dir(&config.state_dir)?;
    let Membership { cluster, .. } = found(&file, ClusterId(fastrand::u64(1..)))?;
    let address = advertised_address(config);
    let others = match is_reachable(address) {
        true => format!(
            "then, for each other controller, run `kantctl admin controller invite` here and, on \
             the other host, `KANT_INVITATION=... kantctld join --to {address}`"
        ),
        false => format!(
            "before others can join, set `advertise` in the configuration to an address where \
             they can reach this host: `{address}` is not reachable"
        ),
    };
    Ok(format!("this is controller 1 of the new cluster {cluster}; start kantctld now; {others}"))
}

/// Makes a new cluster key, in place of one that was lost or moved away. Returns the message to
/// print.
///
/// # Errors
/// [`MembershipError`].
pub fn run_found_key(config: &ControllerConfig) -> Result<String, MembershipError> {
    act_as_owner(config)?;
    let path = Path::new(&config.cluster_key);
    ClusterKeys::new(ClusterKey::generate()?).create_file(path)?;
    Ok(format!(
        "made a new cluster key, {}: copy it to the other controllers (same owner, mode 0600), \
         start them, then invite all nodes again",
        path.display()
    ))
}

/// Joins a cluster. Returns the message to print.
///
/// # Errors
/// [`MembershipError`].
pub fn run_join(
    config: &ControllerConfig,
    options: &JoinOptions,
) -> Result<String, MembershipError> {
    act_as_owner(config)?;
    let Membership { cluster, id, .. } = wait_for(join(config, options))?;
    let vote = match options.learner {
        true => "it replicates the state and does not vote",
        false => "it votes once it has caught up",
    };
    Ok(format!("this is controller {id} of cluster {cluster}; start kantctld now: {vote}"))
}

/// Rejoins after the log was lost. Returns the message to print.
///
/// # Errors
/// [`MembershipError`].
pub fn run_rebuild(
    config: &ControllerConfig,
    options: &JoinOptions,
) -> Result<String, MembershipError> {
    act_as_owner(config)?;
    let (Membership { cluster, id, .. }, aside) = wait_for(rebuild(config, options))?;
    let aside = aside.map(|path| format!("; the old log is now {}", path.display()));
    Ok(format!(
        "this is now controller {id} of cluster {cluster}{}; start kantctld now: it receives its \
         log from the others",
        aside.unwrap_or_default()
    ))
}

/// Continues from a backup. With `force`, does not check whether the old cluster runs. Returns the
/// message to print.
///
/// # Errors
/// [`MembershipError`].
pub fn run_restore(
    config: &ControllerConfig,
    backup: &Path,
    force: bool,
) -> Result<String, MembershipError> {
    let saved = restore::read(backup)?;
    let head = saved.head.clone();
    act_as_owner(config)?;
    let silent = match force {
        true => Vec::new(),
        false => wait_for(liveness_check::check_none_runs(config, &head.controllers))?,
    };
    let Membership { cluster, id, .. } =
        restore::restore(config, saved, ClusterId(fastrand::u64(1..)))?;
    let silent = match silent.is_empty() {
        true => String::new(),
        false => {
            format!(". No answer from {}: if a controller runs there, stop it", silent.join(", "))
        }
    };
    Ok(format!(
        "this is controller {id}, the only one, of the new cluster {cluster}, which continues from \
         {} as of {}; start kantctld now, then let other controllers join with empty directories. \
         Jobs submitted after the backup are unknown, and nodes that still run them end them; the \
         next job number is {} higher{silent}",
        head.name,
        head.at,
        restore::JOBS_SKIPPED
    ))
}

fn wait_for<T>(
    asking: impl Future<Output = Result<T, MembershipError>>,
) -> Result<T, MembershipError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(MembershipError::Runtime)?.block_on(asking)
}
