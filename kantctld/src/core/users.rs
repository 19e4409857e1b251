//! The users of requests: their roles, and what they see.

use super::Core;
use crate::access::Access;
use common::id::Uid;
use common::right::Right;
use net::User;
use query::viewer::{Limits, Viewer};
use state::Actor;
use std::sync::Arc;

impl Core {
    /// The user of a request, with their roles.
    pub fn actor(&self, user: &User) -> Actor {
        let uid = Uid(user.uid);
        match user.has_roles {
            true => self.access().actor(uid, user.groups.as_ref()),
            false => Actor::user(uid),
        }
    }

    /// The user of a request as a reader of views.
    pub fn viewer(&self, user: &User) -> Viewer {
        self.viewer_of(&self.actor(user))
    }

    /// This user as a reader of views.
    pub fn viewer_of(&self, actor: &Actor) -> Viewer {
        let access = self.access();
        if access.private.is_empty() || actor.has(Right::Oversee) {
            return Viewer::ALL;
        }
        Viewer::limited(Limits {
            uid: actor.uid,
            hidden: access.private.clone(),
            queues: self.state.read().coordinated_queues(&actor.roles),
            accounts: actor.roles.accounts.clone(),
        })
    }

    /// The access rules.
    pub fn access(&self) -> Arc<Access> {
        self.access.read().clone()
    }

    /// Replaces the access rules.
    pub fn set_access(&self, access: Access) {
        *self.access.write() = Arc::new(access);
    }
}
