//! Whose files the verbs make: those of the user that kantctld runs as, also where root types them.
//! Never gains a right: root becomes somebody else, and nobody else becomes anybody.

use super::MembershipError;
use common::config::ControllerConfig;
use common::id::{Gid, Uid};
use nix::unistd;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Typed by root where the state directory is another's: from here on, that user is who acts. What
/// only root may read is read before. Gives who that is.
///
/// # Errors
/// [`MembershipError::Owner`] when root may not become that user, as in a user namespace.
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

/// The owner of a state directory that is there and not root's.
fn owner(state_dir: &str) -> Option<(Uid, Gid)> {
    let found = fs::metadata(Path::new(state_dir)).ok()?;
    (found.uid() != 0).then_some((Uid(found.uid()), Gid(found.gid())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_is_not_there_or_roots_has_nobody_to_act_as() {
        assert_eq!(owner("/nonexistent/state"), None);
        assert_eq!(owner("/"), None);
    }
}
