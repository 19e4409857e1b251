//! The role of a daemon, as its certificate names it.

use std::fmt;

use rustls::pki_types::CertificateDer;
use thiserror::Error;

/// The name in every controller's certificate, and the only one a client accepts.
pub(crate) const CONTROLLER_NAME: &str = "controller.kant.internal";
/// The suffix of a node's name in its certificate.
const NODE_SUFFIX: &str = ".node.kant.internal";
/// The prefix of the number of a node's enrolment, the first label of its name.
const ENROLMENT_PREFIX: char = 'e';

/// The role of a daemon in its cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    Controller,
    /// The kantd of the node with this name.
    Node {
        name: String,
        /// Counts the enrolments of this name, from 1. The certificates of an enrolment are revoked
        /// together, and when the node is enrolled again.
        enrolment: u32,
    },
}

/// Why an identity could not be created, or a peer's could not be read.
#[derive(Debug, Error)]
pub enum IdentityError {
    #[error(
        "node name {name:?} is not allowed in a certificate: use letters, digits, `-`, `_` and \
         `.`, at most 63 between dots and 200 in all"
    )]
    NodeName { name: String },
    #[error("failed to derive the certificate authority from the cluster key")]
    Authority(#[source] rcgen::Error),
    #[error("failed to issue a certificate for {role}")]
    Issue {
        role: Role,
        #[source]
        source: rcgen::Error,
    },
    #[error("failed to generate a private key")]
    Key(#[source] rcgen::Error),
    #[error("failed to set up TLS")]
    Setup(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A verified certificate without a role: made with the right key by another program or another
    /// version.
    #[error("the peer's certificate is from this cluster's key but has no role")]
    NoRole,
}

/// Checks that a certificate can carry the name of this node.
///
/// # Errors
/// [`IdentityError::NodeName`].
pub fn check_node_name(name: &str) -> Result<(), IdentityError> {
    Role::Node { name: name.to_owned(), enrolment: 1 }.check_dns_name()
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Role::Controller => f.write_str("controller"),
            Role::Node { name, .. } => write!(f, "node {name}"),
        }
    }
}

impl Role {
    /// The role in a certificate that the handshake has verified; `None` without a certificate.
    pub(crate) fn from_certificates(
        certificates: Option<&[CertificateDer<'_>]>,
    ) -> Result<Option<Self>, IdentityError> {
        let Some(leaf) = certificates.and_then(<[_]>::first) else { return Ok(None) };
        let leaf = webpki::EndEntityCert::try_from(leaf).map_err(|_| IdentityError::NoRole)?;
        let mut names = leaf.valid_dns_names();
        match (names.next(), names.next()) {
            (Some(name), None) => Self::from_dns_name(name).map(Some).ok_or(IdentityError::NoRole),
            _ => Err(IdentityError::NoRole),
        }
    }

    fn from_dns_name(name: &str) -> Option<Self> {
        if name == CONTROLLER_NAME {
            return Some(Role::Controller);
        }
        let (enrolment, name) = name.strip_suffix(NODE_SUFFIX)?.split_once('.')?;
        let enrolment = enrolment.strip_prefix(ENROLMENT_PREFIX)?.parse().ok()?;
        Some(Role::Node { name: name.to_owned(), enrolment })
    }

    pub(crate) fn dns_name(&self) -> String {
        match self {
            Role::Controller => CONTROLLER_NAME.to_owned(),
            Role::Node { name, enrolment } => {
                format!("{ENROLMENT_PREFIX}{enrolment}.{name}{NODE_SUFFIX}")
            }
        }
    }

    /// Whether a certificate can carry the name.
    pub(crate) fn check_dns_name(&self) -> Result<(), IdentityError> {
        let Role::Node { name, .. } = self else { return Ok(()) };
        let part_is_fine = |part: &str| {
            (1..=63).contains(&part.len())
                && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
                && !part.starts_with('-')
                && !part.ends_with('-')
        };
        if name.len() <= 200 && name.split('.').all(part_is_fine) {
            Ok(())
        } else {
            Err(IdentityError::NodeName { name: name.clone() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str) -> Role {
        Role::Node { name: name.to_owned(), enrolment: 1 }
    }

    #[test]
    fn node_names_that_no_certificate_can_carry_are_refused() {
        let long = "a".repeat(64);
        for name in ["", "a b", "a..b", "-a", "a-", "g\u{e4}", "*", "a,b", long.as_str()] {
            let error = node(name).check_dns_name().unwrap_err();
            assert!(matches!(error, IdentityError::NodeName { .. }), "{name:?}: {error}");
        }
    }

    #[test]
    fn no_node_name_makes_a_node_a_controller() {
        for name in ["controller", "controller.kant.internal"] {
            let read = Role::from_dns_name(&node(name).dns_name());
            assert_eq!(read, Some(node(name)));
        }
    }

    #[test]
    fn a_name_without_the_number_of_an_enrolment_is_no_role() {
        for name in ["g1", "x1.g1", "e.g1", "e-1.g1", "e99999999999.g1"] {
            assert_eq!(Role::from_dns_name(&format!("{name}{NODE_SUFFIX}")), None, "{name}");
        }
    }
}
