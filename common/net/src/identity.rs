//! The identity of a daemon: a certificate for its role, issued from the cluster key.
//!
//! Every daemon derives the same certificate authority from the cluster key and issues itself a
//! leaf with a fresh key that stays in its memory. All connections are TLS 1.3 with certificates on
//! both ends; a peer without a certificate from this key fails in the handshake. The dates in the
//! certificates are fixed and far apart, so that a wrong clock locks out no host; access is
//! withdrawn by replacing the cluster key (docs/decisions/0004-identity.md).

use std::fmt;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ED25519, SerialNumber, date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use thiserror::Error;

use crate::key::ClusterKey;

/// The name in every controller's certificate, and the only one a client accepts.
const CONTROLLER_NAME: &str = "controller.kant.internal";
/// The suffix of a node's name in its certificate.
const NODE_SUFFIX: &str = ".node.kant.internal";
/// RFC 8410: an Ed25519 private key in PKCS#8 version 1 is this prefix and the 32 byte seed.
const PKCS8_ED25519_PREFIX: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

/// The role of a daemon in its cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    Controller,
    /// The kantd of the node with this name.
    Node(String),
}

/// A daemon's certificate and TLS settings. Cheap to clone.
#[derive(Clone)]
pub struct Identity {
    role: Role,
    server: Arc<ServerConfig>,
    client: Arc<ClientConfig>,
}

/// Why an identity could not be created, or a peer's could not be read.
#[derive(Debug, Error)]
pub enum IdentityError {
    #[error(
        "node name {name:?} is not allowed in a certificate: use letters, digits, `-`, `_` and \
         `.`, at most 63 between dots and 200 in all"
    )]
    NodeName { name: String },
    #[error("failed to issue a certificate for {role}")]
    Issue {
        role: Role,
        #[source]
        source: rcgen::Error,
    },
    #[error("failed to set up TLS for {role}")]
    Setup {
        role: Role,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A verified certificate without a role: made with the right key by another program or another
    /// version.
    #[error("the peer's certificate is from this cluster's key but has no role")]
    NoRole,
}

impl Identity {
    /// Issues a certificate for `role`.
    pub fn new(key: &ClusterKey, role: Role) -> Result<Self, IdentityError> {
        role.check()?;
        let authority = authority(key).map_err(|source| issue_error(&role, source))?;
        let leaf_key =
            KeyPair::generate_for(&PKCS_ED25519).map_err(|source| issue_error(&role, source))?;
        let leaf =
            leaf(&role, &leaf_key, &authority).map_err(|source| issue_error(&role, source))?;

        let mut roots = RootCertStore::empty();
        roots.add(authority.certificate).map_err(|source| setup_error(&role, source))?;
        let roots = Arc::new(roots);
        let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(leaf_key.serialize_der()));
        let server = server_config(&roots, leaf.clone(), private.clone_key())
            .map_err(|source| setup_error(&role, source))?;
        let client =
            client_config(&roots, leaf, private).map_err(|source| setup_error(&role, source))?;
        Ok(Self { role, server: Arc::new(server), client: Arc::new(client) })
    }

    pub fn role(&self) -> &Role {
        &self.role
    }

    /// For the accepting side: TLS 1.3, with a required certificate from this cluster key.
    pub fn server_config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.server)
    }

    /// For the connecting side: TLS 1.3, and the other side must prove [`Role::Controller`] by the
    /// name [`Identity::server_name`].
    pub fn client_config(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.client)
    }

    /// The server name for connections, which only a controller's certificate has.
    pub fn server_name() -> ServerName<'static> {
        ServerName::try_from(CONTROLLER_NAME).expect("the constant is a DNS name")
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({})", self.role)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Role::Controller => f.write_str("controller"),
            Role::Node(name) => write!(f, "node {name}"),
        }
    }
}

impl Role {
    /// The role in a certificate that the handshake has verified.
    pub(crate) fn of_verified(
        certificates: Option<&[CertificateDer<'_>]>,
    ) -> Result<Self, IdentityError> {
        let leaf = certificates.and_then(<[_]>::first).ok_or(IdentityError::NoRole)?;
        let leaf = webpki::EndEntityCert::try_from(leaf).map_err(|_| IdentityError::NoRole)?;
        let mut names = leaf.valid_dns_names();
        match (names.next(), names.next()) {
            (Some(name), None) => Self::from_dns_name(name).ok_or(IdentityError::NoRole),
            _ => Err(IdentityError::NoRole),
        }
    }

    fn from_dns_name(name: &str) -> Option<Self> {
        if name == CONTROLLER_NAME {
            return Some(Role::Controller);
        }
        name.strip_suffix(NODE_SUFFIX).map(|node| Role::Node(node.to_owned()))
    }

    fn dns_name(&self) -> String {
        match self {
            Role::Controller => CONTROLLER_NAME.to_owned(),
            Role::Node(name) => format!("{name}{NODE_SUFFIX}"),
        }
    }

    fn check(&self) -> Result<(), IdentityError> {
        let Role::Node(name) = self else { return Ok(()) };
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

/// The certificate authority, the same in every daemon that has the key.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
}

fn authority(key: &ClusterKey) -> Result<Authority, rcgen::Error> {
    let seed = key.derive("certificate authority");
    let der = [&PKCS8_ED25519_PREFIX[..], &seed].concat();
    let pair = KeyPair::from_pkcs8_der_and_sign_algo(
        &PrivatePkcs8KeyDer::from(der.as_slice()),
        &PKCS_ED25519,
    )?;
    let mut params = params(format!("kant cluster {}", key.fingerprint()));
    params.serial_number = Some(SerialNumber::from(1u64));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let certificate = params.self_signed(&pair)?.der().clone();
    Ok(Authority { issuer: Issuer::new(params, pair), certificate })
}

fn leaf(
    role: &Role,
    key: &KeyPair,
    authority: &Authority,
) -> Result<CertificateDer<'static>, rcgen::Error> {
    let mut params = params(role.to_string());
    params.subject_alt_names = vec![rcgen::SanType::DnsName(role.dns_name().try_into()?)];
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    // A node only connects. Controllers also accept, and connect to each other.
    params.extended_key_usages = match role {
        Role::Controller => {
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth]
        }
        Role::Node(_) => vec![ExtendedKeyUsagePurpose::ClientAuth],
    };
    Ok(params.signed_by(key, &authority.issuer)?.der().clone())
}

fn params(common_name: String) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, common_name);
    params.not_before = date_time_ymd(2000, 1, 1);
    params.not_after = date_time_ymd(4000, 1, 1);
    params
}

fn server_config(
    roots: &Arc<RootCertStore>,
    leaf: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
) -> Result<ServerConfig, Box<dyn std::error::Error + Send + Sync>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::clone(roots), Arc::clone(&provider))
            .build()?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![leaf], key)?;
    // Connections live long and are few per node: tickets would cost memory and save nothing.
    config.send_tls13_tickets = 0;
    Ok(config)
}

fn client_config(
    roots: &Arc<RootCertStore>,
    leaf: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(Arc::clone(roots))
        .with_client_auth_cert(vec![leaf], key)?;
    config.resumption = rustls::client::Resumption::disabled();
    Ok(config)
}

fn issue_error(role: &Role, source: rcgen::Error) -> IdentityError {
    IdentityError::Issue { role: role.clone(), source }
}

fn setup_error(
    role: &Role,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> IdentityError {
    IdentityError::Setup { role: role.clone(), source: source.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_daemon_derives_the_same_authority() {
        let key = ClusterKey::generate().unwrap();
        let first = authority(&key).unwrap();
        let second = authority(&key).unwrap();
        assert_eq!(first.certificate, second.certificate);
        let other = authority(&ClusterKey::generate().unwrap()).unwrap();
        assert_ne!(first.certificate, other.certificate);
    }

    #[test]
    fn a_role_survives_the_way_through_a_certificate() {
        let key = ClusterKey::generate().unwrap();
        let authority = authority(&key).unwrap();
        for role in ["g-012", "login_1", "a.b.example", "Node7"].map(|n| Role::Node(n.to_owned())) {
            role.check().unwrap();
            let pair = KeyPair::generate_for(&PKCS_ED25519).unwrap();
            let leaf = leaf(&role, &pair, &authority).unwrap();
            assert_eq!(Role::of_verified(Some(&[leaf])).unwrap(), role);
        }
        assert!(Role::of_verified(Some(&[authority.certificate])).is_err());
        assert!(Role::of_verified(None).is_err());
    }

    #[test]
    fn node_names_that_no_certificate_can_carry_are_refused() {
        let key = ClusterKey::generate().unwrap();
        let long = "a".repeat(64);
        for name in ["", "a b", "a..b", "-a", "a-", "g\u{e4}", "*", "a,b", long.as_str()] {
            let error = Identity::new(&key, Role::Node(name.to_owned())).unwrap_err();
            assert!(matches!(error, IdentityError::NodeName { .. }), "{name:?}: {error}");
        }
    }

    #[test]
    fn no_node_name_makes_a_node_a_controller() {
        assert_ne!(
            Role::from_dns_name(&Role::Node("controller".to_owned()).dns_name()),
            Some(Role::Controller)
        );
    }
}
