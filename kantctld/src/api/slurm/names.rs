//! The names of users and groups in answers, from this host's user database. They may block.

use crate::host_names::{group_name, user_name};
use common::id::Gid;
use common::wire::api::JobView;
use std::collections::{BTreeMap, BTreeSet};

/// The names of the groups of these jobs.
pub fn groups<'a>(jobs: impl IntoIterator<Item = &'a JobView>) -> BTreeMap<Gid, String> {
    let gids: BTreeSet<Gid> = jobs.into_iter().map(|job| job.owner.gid).collect();
    gids.into_iter().map(|gid| (gid, group_name(gid))).collect()
}

pub fn user(uid: u32) -> String {
    user_name(uid)
}

pub fn group(gid: u32) -> String {
    group_name(Gid(gid))
}
