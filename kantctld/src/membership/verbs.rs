//! `kantctld found`, `join`, `rebuild` and `restore`: what an operator types once in a controller's
//! life. Each says what to do next, and acts as the owner of the state directory. Never starts a
//! controller.

use super::{
    How, Membership, MembershipError, MembershipFile, act_as_owner, advertised, found,
    is_reachable, join, living, rebuild, restore,
};
use common::config::ControllerConfig;
use common::id::ClusterId;
use std::path::Path;

/// Founds a cluster. Gives what to say.
///
/// # Errors
/// [`MembershipError`].
pub fn run_found(config: &ControllerConfig) -> Result<String, MembershipError> {
    act_as_owner(config)?;
    let file = MembershipFile::in_dir(&config.state_dir)?;
    let Membership { cluster, .. } = found(&file, ClusterId(fastrand::u64(1..)))?;
    let address = advertised(config);
    let others = match is_reachable(address) {
        true => format!(
            "then, for each other controller, `kantctl admin controller invite` here, and on its \
             host what that prints: `KANT_INVITATION=... kantctld join --to {address}`"
        ),
        false => format!(
            "before others join, write where they reach it in `advertise` in the \
             configuration: `{address}` is nowhere"
        ),
    };
    Ok(format!(
        "this is controller 1 of the new cluster {cluster}; start kantctld now, and copy {} to \
         every other controller and node; {others}",
        config.cluster_key
    ))
}

/// Joins a cluster. Gives what to say.
///
/// # Errors
/// [`MembershipError`].
pub fn run_join(config: &ControllerConfig, how: &How) -> Result<String, MembershipError> {
    act_as_owner(config)?;
    let Membership { cluster, id, .. } = wait_for(join(config, how))?;
    let vote = match how.learner {
        true => "it keeps a copy and does not vote",
        false => "it votes once it has caught up",
    };
    Ok(format!("this is controller {id} of cluster {cluster}; start kantctld now: {vote}"))
}

/// Joins anew after the log was lost. Gives what to say.
///
/// # Errors
/// [`MembershipError`].
pub fn run_rebuild(config: &ControllerConfig, how: &How) -> Result<String, MembershipError> {
    act_as_owner(config)?;
    let (Membership { cluster, id, .. }, aside) = wait_for(rebuild(config, how))?;
    let aside = aside.map(|path| format!("; what is left of its log is in {}", path.display()));
    Ok(format!(
        "this is controller {id} of cluster {cluster} from now on{}; start kantctld now: it gets \
         its log from the others",
        aside.unwrap_or_default()
    ))
}

/// Goes on from a backup; with `force` without asking whether the old cluster lives. Gives what to
/// say.
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
        false => wait_for(living::check_nobody_lives(config, &head.controllers))?,
    };
    let Membership { cluster, id, .. } =
        restore::restore(config, saved, ClusterId(fastrand::u64(1..)))?;
    let silent = match silent.is_empty() {
        true => String::new(),
        false => format!(
            ". Nobody answers at {}: a controller that runs there all the same must be stopped",
            silent.join(", ")
        ),
    };
    Ok(format!(
        "this is controller {id}, the only one, of the new cluster {cluster}, which goes on as {} \
         was at {}; start kantctld now, then let others join, each with an empty directory. Jobs \
         submitted since are not known: nodes that still run them end them; the next job has a \
         number {} higher{silent}",
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
