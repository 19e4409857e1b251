//! Ownership of the files that membership commands create: kantctld's user, even if root runs the
//! command.

use super::MembershipError;
use common::config::ControllerConfig;
use common::id::{Gid, Uid};
use nix::unistd;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// If root runs the command and the state directory belongs to another user, becomes that user.
/// Files that only root can read must be read before. Returns the new uid.
///
/// # Errors
/// [`MembershipError::Owner`] if the change of user fails, as in a user namespace.
pub fn act_as_owner(config: &ControllerConfig) -> Result<Option<Uid>, MembershipError> {
    let Some((uid, gid)) = owner(&config.state_dir).filter(|_| unistd::geteuid().is_root()) else {
        return Ok(None);
    };
    let (user, group) = (unistd::Uid::from_raw(uid.0), unistd::Gid::from_raw(gid.0));
    let became = unistd::setgroups(&[group])
        .and_then(|()| unistd::setgid(group))
        .and_then(|()| unistd::setuid(user));
    let path = config.state_dir.clone();
    became.map_err(|error| MembershipError::Owner { path, uid, source: error.into() })?;
    Ok(Some(uid))
}

/// The owner of an existing state directory, unless it is root.
fn owner(state_dir: &str) -> Option<(Uid, Gid)> {
    let found = fs::metadata(Path::new(state_dir)).ok()?;
    (found.uid() != 0).then_some((Uid(found.uid()), Gid(found.gid())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_directory_and_one_of_roots_have_no_owner_to_act_as() {
        assert_eq!(owner("/nonexistent/state"), None);
        assert_eq!(owner("/"), None);
    }
}
