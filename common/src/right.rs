//! Roles of users, and the rights that they give. The API, `apply` and docs/operating/rights.md
//! share these tables.

use crate::id::{AccountName, QueueName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// What a user is, in general or to one job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Every user.
    User,
    /// The user whose job, service or token it is.
    Owner,
    /// A coordinator of the job's account, of its queue, or of a queue above it.
    Coordinator,
    /// A member of `support`.
    Support,
    /// A member of `viewers`.
    Viewer,
    /// A member of `operators`, root, or the user of kantctld.
    Operator,
}

impl Role {
    pub const ALL: [Self; 6] =
        [Self::User, Self::Owner, Self::Coordinator, Self::Support, Self::Viewer, Self::Operator];

    /// The name, as the head of a column.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Owner => "owner",
            Self::Coordinator => "coordinator",
            Self::Support => "support",
            Self::Viewer => "viewer",
            Self::Operator => "operator",
        }
    }
}

/// What a request needs.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Right {
    /// Every user may do it, each with what is their own or not private.
    Everyone,
    /// To see what only the owner of a job has: its script and its output.
    Inspect,
    /// To manage a job in its queue.
    Manage,
    /// To let a job start again.
    Requeue,
    /// To change what is one's own.
    #[default]
    Own,
    /// To act as the owner.
    ActAsOwner,
    /// To see what is not for every user.
    Oversee,
    /// To operate the cluster.
    Operate,
    /// For hosts with a certificate or an invitation. No user has it.
    Host,
}

impl Right {
    pub const ALL: [Self; 9] = [
        Self::Everyone,
        Self::Inspect,
        Self::Manage,
        Self::Requeue,
        Self::Own,
        Self::ActAsOwner,
        Self::Oversee,
        Self::Operate,
        Self::Host,
    ];

    /// Whether a role gives this right.
    #[must_use]
    pub const fn is_of(self, role: Role) -> bool {
        match self {
            Self::Everyone => true,
            Self::Inspect => {
                matches!(role, Role::Owner | Role::Support | Role::Viewer | Role::Operator)
            }
            Self::Manage => matches!(role, Role::Owner | Role::Coordinator | Role::Operator),
            Self::Requeue => {
                matches!(role, Role::Owner | Role::Coordinator | Role::Support | Role::Operator)
            }
            Self::Own => matches!(role, Role::Owner | Role::Operator),
            Self::ActAsOwner => matches!(role, Role::Owner),
            Self::Oversee => matches!(role, Role::Support | Role::Viewer | Role::Operator),
            Self::Operate => matches!(role, Role::Operator),
            Self::Host => false,
        }
    }

    /// Whether it depends on whose job, service or token it is.
    #[must_use]
    pub const fn depends_on_owner(self) -> bool {
        self.is_of(Role::Owner) && !self.is_of(Role::User)
    }
}

/// Who has the right, for refusals.
impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Everyone => "every user",
            Self::Inspect => "they, support, viewers and operators",
            Self::Manage => "they, coordinators of its queue or account, and operators",
            Self::Requeue => "they, coordinators of its queue or account, support and operators",
            Self::Own => "they and operators",
            Self::ActAsOwner => "they",
            Self::Oversee => "support, viewers and operators",
            Self::Operate => "operators",
            Self::Host => "hosts of the cluster",
        })
    }
}

/// What can be done to a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum JobAction {
    /// To see it, its steps, and why it waits.
    See,
    /// To read its script, its output, or the output of a step.
    Read,
    Cancel,
    Hold,
    Release,
    Requeue,
    Update,
    Signal,
    Checkpoint,
    Resize,
    /// To end a job that only holds nodes.
    Finish,
    Suspend,
    Resume,
    /// To start programs in it, and to keep it alive.
    RunPrograms,
}

impl JobAction {
    /// What it needs.
    #[must_use]
    pub const fn right(self) -> Right {
        match self {
            Self::See => Right::Everyone,
            Self::Read => Right::Inspect,
            Self::Cancel | Self::Hold | Self::Release | Self::Update => Right::Manage,
            Self::Requeue => Right::Requeue,
            Self::Signal | Self::Checkpoint | Self::Resize | Self::Finish => Right::Own,
            Self::Suspend | Self::Resume => Right::Operate,
            Self::RunPrograms => Right::ActAsOwner,
        }
    }
}

/// The roles of a user besides that of an operator.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Roles {
    #[serde(skip_serializing_if = "crate::serde_skip::is_default")]
    pub support: bool,
    #[serde(skip_serializing_if = "crate::serde_skip::is_default")]
    pub viewer: bool,
    /// The queues that the user coordinates, without those below them.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub queues: BTreeSet<QueueName>,
    /// The accounts that the user coordinates.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub accounts: BTreeSet<AccountName>,
}

impl Roles {
    /// An ordinary user.
    pub const NONE: Self =
        Self { support: false, viewer: false, queues: BTreeSet::new(), accounts: BTreeSet::new() };

    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_has_every_right_but_those_of_owners_and_hosts() {
        for right in Right::ALL {
            let is_theirs = !matches!(right, Right::ActAsOwner | Right::Host);
            assert_eq!(right.is_of(Role::Operator), is_theirs, "{right:?}");
        }
    }

    #[test]
    fn a_viewer_changes_nothing_and_support_only_requeues() {
        let changes = [
            JobAction::Cancel,
            JobAction::Hold,
            JobAction::Release,
            JobAction::Requeue,
            JobAction::Update,
            JobAction::Signal,
            JobAction::Checkpoint,
            JobAction::Resize,
            JobAction::Finish,
            JobAction::Suspend,
            JobAction::Resume,
            JobAction::RunPrograms,
        ];
        for action in changes {
            assert!(!action.right().is_of(Role::Viewer), "{action:?}");
            let requeues = action == JobAction::Requeue;
            assert_eq!(action.right().is_of(Role::Support), requeues, "{action:?}");
        }
        for right in [Right::Inspect, Right::Oversee] {
            assert!(right.is_of(Role::Viewer) && right.is_of(Role::Support));
            assert!(!right.is_of(Role::Coordinator) && !right.is_of(Role::User));
        }
    }
}
