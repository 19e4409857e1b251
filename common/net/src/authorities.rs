//! The certificate authorities of a controller's keys: one issues certificates, and while the
//! cluster key is replaced, another one is trusted as well.

use common::hex::hex;
use common::id::NodeName;
use common::time::Time;
use common::wire::api::IssuedCertificate;
use rustls::pki_types::CertificateDer;

use crate::authority::{Authority, PublicKey};
use crate::cluster_keys::ClusterKeys;
use crate::identity::Identity;
use crate::role::{IdentityError, Role};

/// What issues certificates, and what is trusted.
pub struct Authorities {
    generation: u32,
    issuing: Authority,
    trusted: Vec<CertificateDer<'static>>,
}

impl Authorities {
    /// # Errors
    /// [`IdentityError::Authority`]: a defect.
    pub fn new(keys: &ClusterKeys) -> Result<Self, IdentityError> {
        let issuing = Authority::new(&keys.issuing)?;
        let mut trusted = vec![issuing.certificate().clone()];
        if let Some(other) = &keys.other {
            trusted.push(Authority::new(other)?.certificate().clone());
        }
        Ok(Self { generation: keys.generation, issuing, trusted })
    }

    /// A new identity of this controller.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub fn identity(&self) -> Result<Identity, IdentityError> {
        Identity::controller_from_authority(&self.issuing, &self.trusted)
    }

    /// Of the authority that issues certificates ([`Authority::fingerprint`]).
    #[must_use]
    pub fn fingerprint(&self) -> String {
        self.issuing.fingerprint()
    }

    /// Issues a certificate for an enrolment of a node and its public key.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub fn issue(
        &self,
        (name, enrolment): (&NodeName, u32),
        public: &PublicKey,
        (issued, until): (Time, Time),
    ) -> Result<IssuedCertificate, IdentityError> {
        let role = Role::Node { name: name.to_string(), enrolment };
        let certificate = self.issuing.issue(&role, public, Some(until))?;
        Ok(IssuedCertificate {
            name: name.clone(),
            enrolment,
            issued,
            until,
            certificate: hex(&certificate),
            authorities: self.trusted.iter().map(|one| hex(one)).collect(),
            generation: self.generation,
        })
    }
}
