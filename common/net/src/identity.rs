//! The identity of a daemon: its certificate, the private key, and the authorities that it trusts.
//!
//! All connections between hosts are TLS 1.3, and a daemon trusts only certificates of its
//! cluster's authorities. Controllers have the authority's key and issue their own certificates,
//! with a fresh key that stays in memory. A node has [`Credentials`] that a controller issued. A
//! host that has nothing but an invitation connects without a certificate
//! (docs/decisions/0004-identity.md).
//!
//! An identity can be replaced while connections use it: the next handshake takes the new one.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use common::id::NodeName;
use common::sync::RwLock;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};

use crate::authority::{Authority, new_key};
use crate::credentials::Credentials;
use crate::invitation::Invitation;
use crate::key::ClusterKey;
use crate::pinned::PinnedAuthority;
use crate::role::{CONTROLLER_NAME, IdentityError, Role};

/// A daemon's certificate and TLS settings. Clones are replaced together.
#[derive(Clone)]
pub struct Identity {
    tls: Arc<RwLock<Tls>>,
    epochs: Arc<Epochs>,
}

/// Counts the replacements of an identity.
#[derive(Debug, Default)]
struct Epochs {
    now: AtomicU64,
    /// Connections of earlier epochs are no longer trusted.
    trusted_from: AtomicU64,
}

/// The epoch in which a connection was made.
#[derive(Debug, Clone)]
pub struct TrustEpoch {
    epoch: u64,
    epochs: Arc<Epochs>,
}

impl TrustEpoch {
    /// Whether connections of this epoch are trusted.
    pub(crate) fn holds(&self) -> bool {
        self.epoch >= self.epochs.trusted_from.load(Ordering::Acquire)
    }

    /// Ends all connections that were accepted in earlier epochs.
    pub fn end_earlier_connections(&self) {
        self.epochs.trusted_from.fetch_max(self.epoch, Ordering::AcqRel);
    }
}

struct Tls {
    /// `None`: a host that has only an invitation.
    role: Option<Role>,
    server: Arc<ServerConfig>,
    client: Arc<ClientConfig>,
}

/// A certificate with its private key, and the certificate of the authority that issued it.
struct Certified {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl Identity {
    /// A controller of the cluster with this key.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub fn controller(key: &ClusterKey) -> Result<Self, IdentityError> {
        let authority = Authority::new(key)?;
        Self::controller_from_authority(&authority, std::slice::from_ref(authority.certificate()))
    }

    /// A controller whose certificate is of one authority, and which trusts several.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub fn controller_from_authority(
        authority: &Authority,
        trusted: &[CertificateDer<'static>],
    ) -> Result<Self, IdentityError> {
        let (private, public) = new_key()?;
        let leaf = authority.issue(&Role::Controller, &public, None)?;
        let chain = vec![leaf, authority.certificate().clone()];
        let certified = Certified { chain, key: private_key(&private) };
        Self::new(Some(Role::Controller), Some(certified), trusted)
    }

    /// A node with credentials.
    ///
    /// # Errors
    /// [`IdentityError::Setup`]: the credentials do not fit together.
    pub fn node(credentials: &Credentials) -> Result<Self, IdentityError> {
        let certified = Certified {
            chain: vec![credentials.certificate.clone()],
            key: private_key(&credentials.key),
        };
        Self::new(Some(credentials.role()), Some(certified), &credentials.authorities)
    }

    /// A node that the holder of the cluster key makes up: for `kantd emulate` and for tests.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub fn emulated_node(key: &ClusterKey, name: &str) -> Result<Self, IdentityError> {
        let name =
            NodeName::new(name).map_err(|_| IdentityError::NodeName { name: name.to_owned() })?;
        Self::node(&Credentials::issued_by(&Authority::new(key)?, name)?)
    }

    /// A host without a certificate, which trusts the controllers of the cluster that made the
    /// invitation.
    ///
    /// # Errors
    /// [`IdentityError::Setup`]: a defect.
    pub fn for_invited_host(invitation: &Invitation) -> Result<Self, IdentityError> {
        let identity = Self::new(None, None, &[])?;
        let pinned = PinnedAuthority::new(&invitation.authority);
        let mut client = ClientConfig::clone(&identity.client_config());
        client.dangerous().set_certificate_verifier(Arc::new(pinned));
        identity.tls.write().client = Arc::new(client);
        Ok(identity)
    }

    fn new(
        role: Option<Role>,
        certified: Option<Certified>,
        authorities: &[CertificateDer<'static>],
    ) -> Result<Self, IdentityError> {
        let (server, client) = configs(certified, authorities).map_err(IdentityError::Setup)?;
        let tls = Tls { role, server: Arc::new(server), client: Arc::new(client) };
        Ok(Self { tls: Arc::new(RwLock::new(tls)), epochs: Arc::default() })
    }

    /// Takes over the certificate of another identity, for all clones of this one.
    pub fn replace(&self, by: &Self) {
        let (role, server, client) = {
            let by = by.tls.read();
            (by.role.clone(), by.server.clone(), by.client.clone())
        };
        *self.tls.write() = Tls { role, server, client };
        // Afterwards: a connection of the new epoch never has the old settings.
        self.epochs.now.fetch_add(1, Ordering::AcqRel);
    }

    /// The present epoch.
    pub fn current_epoch(&self) -> TrustEpoch {
        let epoch = self.epochs.now.load(Ordering::Acquire);
        TrustEpoch { epoch, epochs: self.epochs.clone() }
    }

    pub fn role(&self) -> Option<Role> {
        self.tls.read().role.clone()
    }

    /// For the accepting side: TLS 1.3. A client's certificate must be from an authority of this
    /// cluster; a client without one may do no more than use an invitation.
    pub fn server_config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.tls.read().server)
    }

    /// For the connecting side: TLS 1.3, and the other side must prove [`Role::Controller`] by the
    /// name [`Identity::server_name`].
    pub fn client_config(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.tls.read().client)
    }

    /// The server name for connections, which only a controller's certificate has.
    pub fn server_name() -> ServerName<'static> {
        ServerName::try_from(CONTROLLER_NAME).expect("the constant is a DNS name")
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.role() {
            Some(role) => write!(f, "Identity({role})"),
            None => f.write_str("Identity(invited)"),
        }
    }
}

fn private_key(pkcs8: &[u8]) -> PrivateKeyDer<'static> {
    PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(pkcs8.to_vec()))
}

type SetupError = Box<dyn std::error::Error + Send + Sync>;

fn configs(
    certified: Option<Certified>,
    authorities: &[CertificateDer<'static>],
) -> Result<(ServerConfig, ClientConfig), SetupError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    for authority in authorities {
        roots.add(authority.clone())?;
    }
    let roots = Arc::new(roots);
    let tls13 = &[&rustls::version::TLS13];
    let client = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(tls13)?
        .with_root_certificates(roots.clone());
    let server =
        ServerConfig::builder_with_provider(provider.clone()).with_protocol_versions(tls13)?;
    let (mut server, mut client) = match certified {
        Some(Certified { chain, key }) => {
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider)
                .allow_unauthenticated()
                .build()?;
            let server = server.with_client_cert_verifier(verifier);
            let server = server.with_single_cert(chain.clone(), key.clone_key())?;
            (server, client.with_client_auth_cert(chain, key)?)
        }
        None => {
            let none = Arc::new(rustls::server::ResolvesServerCertUsingSni::new());
            (server.with_no_client_auth().with_cert_resolver(none), client.with_no_client_auth())
        }
    };
    // Connections live long and are few per node: tickets would cost memory and save nothing.
    server.send_tls13_tickets = 0;
    client.resumption = rustls::client::Resumption::disabled();
    Ok((server, client))
}
