//! `kantctld found`, `join` and `rebuild`: what an operator types once in a controller's life. Each
//! says what to do next. Never starts a controller.

use super::{
    How, Membership, MembershipError, MembershipFile, advertised, found, is_reachable, join,
    rebuild, restore,
};
use common::config::ControllerConfig;
use common::id::ClusterId;
use std::path::Path;

/// Founds a cluster. Gives what to say.
///
/// # Errors
/// [`MembershipError`].
pub fn run_found(config: &ControllerConfig) -> Result<String, MembershipError> {
    let file = MembershipFile::in_dir(&config.state_dir)?;
    let Membership { cluster, .. } = found(&file, ClusterId(fastrand::u64(1..)))?;
    let address = advertised(config);
    let others = match is_reachable(address) {
        true => format!("then, on each other host, `kantctld join --to {address}`"),
        false => format!(
            "before others join, write where they reach it in `advertise` in kantctld.toml: \
             `{address}` is nowhere"
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
    let (Membership { cluster, id, .. }, aside) = wait_for(rebuild(config, how))?;
    let aside = aside.map(|path| format!("; the old log is in {}", path.display()));
    Ok(format!(
        "this is controller {id} of cluster {cluster} from now on{}; start kantctld now: it gets \
         its log from the others",
        aside.unwrap_or_default()
    ))
}

/// Goes on from a backup. Gives what to say.
///
/// # Errors
/// [`MembershipError`].
pub fn run_restore(config: &ControllerConfig, backup: &Path) -> Result<String, MembershipError> {
    let (head, Membership { cluster, id, .. }) = restore(config, backup)?;
    Ok(format!(
        "this is controller {id}, the only one, of cluster {cluster} ({}) as it was at {}; start \
         kantctld now, then let others join. Jobs submitted since are not known: nodes that still \
         run them end them",
        head.name, head.at
    ))
}

fn wait_for<T>(
    asking: impl Future<Output = Result<T, MembershipError>>,
) -> Result<T, MembershipError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(MembershipError::Runtime)?.block_on(asking)
}
