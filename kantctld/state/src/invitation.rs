//! An invitation for one controller to join, made by an operator for a limited time and a single
//! use. Only the hash of the secret is stored, so that a reader of the state or a backup cannot
//! join with it.

use common::id::Uid;
use common::time::{Span, Time};
use serde::{Deserialize, Serialize};

/// The maximum number of open invitations; no cluster has as many controllers.
pub const OPEN_MAX: usize = 64;
/// The maximum lifetime of an invitation.
pub const LASTS_MAX: Span = Span::from_seconds(7 * 86_400);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invitation {
    pub by: Uid,
    /// The time of expiry.
    pub until: Time,
    /// The address of the controller that used it. Kept until the invitation expires, so that a
    /// lost answer can be repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_by: Option<String>,
}
