//! The user that issues a command.

use common::id::Uid;
use common::right::{Right, Role, Roles};
use serde::{Deserialize, Serialize};

/// The user that issues a command, as authenticated by the leader. Operators may do everything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    pub uid: Uid,
    /// Whether the user is root, the controller's own user, or one of `operators` in [roles].
    pub operator: bool,
    /// What else the user is. `apply` compares it with the job as it is then.
    #[serde(default, skip_serializing_if = "Roles::is_none")]
    pub roles: Roles,
}

impl Actor {
    /// An ordinary user.
    #[must_use]
    pub const fn user(uid: Uid) -> Self {
        Self { uid, operator: false, roles: Roles::NONE }
    }

    #[must_use]
    pub const fn operator(uid: Uid) -> Self {
        Self { uid, operator: true, roles: Roles::NONE }
    }

    /// Whether the user has a right whatever job it is about.
    #[must_use]
    pub fn has(&self, right: Right) -> bool {
        Role::ALL.into_iter().any(|role| right.is_of(role) && self.is(role))
    }

    /// Whether the user has a right to something of this user's that is no job.
    #[must_use]
    pub fn has_for(&self, right: Right, owner: Uid) -> bool {
        self.has(right) || right.is_of(Role::Owner) && self.uid == owner
    }

    /// Whether the user has a role whatever job it is about.
    pub(crate) const fn is(&self, role: Role) -> bool {
        match role {
            Role::User => true,
            Role::Support => self.roles.support,
            Role::Viewer => self.roles.viewer,
            Role::Operator => self.operator,
            Role::Owner | Role::Coordinator => false,
        }
    }
}
