//! A user's name for people, as this host's user database has it. Never decides who a user is.

use common::id::Uid;
use nix::unistd;

/// The name of a user, or the number where this host knows none.
#[must_use]
pub fn name(uid: Uid) -> String {
    let known = unistd::User::from_uid(unistd::Uid::from_raw(uid.0)).ok().flatten();
    known.map_or_else(|| uid.to_string(), |user| user.name)
}
