//! Enrolment of nodes: invitations, certificates, and what an operator sees of them.

use crate::id::{NodeName, Uid};
use crate::serde_skip::is_default;
use crate::time::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A text that is in no log and no debug output.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// A request for an invitation for nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeInviteRequest {
    /// The validity period.
    pub lasts: Span,
    /// Each of them may join once. Empty: one node whose name is new.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<NodeName>,
}

/// A node's request for its first certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnrolRequest {
    /// The secret of the invitation.
    pub secret: Secret,
    pub name: NodeName,
    /// Its Ed25519 public key, in hex.
    pub key: String,
}

/// A node's request for its next certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RenewRequest {
    /// The new public key, as in [`EnrolRequest`].
    pub key: String,
}

/// A certificate for a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IssuedCertificate {
    pub name: NodeName,
    pub enrolment: u32,
    pub issued: Time,
    pub until: Time,
    /// X.509 in hex, as are the authorities that the node is to trust.
    pub certificate: String,
    pub authorities: Vec<String>,
    /// The step of the replacements of the cluster key, counted from 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub generation: u32,
}

/// The invitations that may still be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InvitationList {
    pub invitations: Vec<InvitationView>,
}

/// An open invitation, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InvitationView {
    pub id: String,
    /// The operator who made it.
    pub by: Uid,
    pub until: Time,
    /// It admits a controller, not nodes.
    pub controller: bool,
    /// The nodes that may still join; none: one node whose name is new.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeName>,
}

/// The enrolled nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnrolmentList {
    pub enrolments: Vec<EnrolmentView>,
}

/// The enrolment of one node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnrolmentView {
    pub name: NodeName,
    /// Counts the enrolments of this name.
    pub number: u32,
    /// The operator who invited it.
    pub by: Uid,
    pub at: Time,
    /// When its certificates were revoked, and by which operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_by: Option<Uid>,
}
