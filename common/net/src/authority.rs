//! The certificate authority of a cluster, derived from the cluster key. Only controllers have it.
//! They issue their own certificates with it, and those of nodes.

use common::hex::hex;
use common::time::Time;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ED25519, PublicKeyData, SerialNumber, SignatureAlgorithm, date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use sha2::{Digest, Sha256};

use crate::key::ClusterKey;
use crate::role::{IdentityError, Role};

/// RFC 8410: an Ed25519 private key in PKCS#8 version 1 is this prefix and the 32 byte seed.
const PKCS8_ED25519_PREFIX: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];
/// The bytes of a fingerprint: too many to find a second certificate with it.
const FINGERPRINT_BYTES: usize = 16;

/// An Ed25519 public key, as a node sends it.
pub type PublicKey = [u8; 32];

/// What signs the certificates of one cluster.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
}

impl Authority {
    /// The same for each controller that has the key.
    ///
    /// # Errors
    /// [`IdentityError::Authority`]: a defect.
    pub fn new(key: &ClusterKey) -> Result<Self, IdentityError> {
        derive(key).map_err(IdentityError::Authority)
    }

    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// Identifies the authority to a host that has nothing but an invitation.
    pub fn fingerprint(&self) -> String {
        fingerprint(&self.certificate)
    }

    /// A certificate for a role and the holder of this key. Without an end it is valid for the life
    /// of the authority.
    ///
    /// # Errors
    /// [`IdentityError::NodeName`], [`IdentityError::Issue`].
    pub fn issue(
        &self,
        role: &Role,
        key: &PublicKey,
        until: Option<Time>,
    ) -> Result<CertificateDer<'static>, IdentityError> {
        role.check_dns_name()?;
        self.sign(role, key, until)
            .map_err(|source| IdentityError::Issue { role: role.clone(), source })
    }

    fn sign(
        &self,
        role: &Role,
        key: &PublicKey,
        until: Option<Time>,
    ) -> Result<CertificateDer<'static>, rcgen::Error> {
        let mut params = params(role.to_string());
        if let Some(until) = until {
            // The start stays far in the past: a host whose clock is behind still accepts it.
            let since_epoch = std::time::Duration::from_millis(until.0);
            params.not_after = (std::time::SystemTime::UNIX_EPOCH + since_epoch).into();
        }
        params.subject_alt_names = vec![rcgen::SanType::DnsName(role.dns_name().try_into()?)];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        // A node only connects. Controllers also accept, and connect to each other.
        params.extended_key_usages = match role {
            Role::Controller => {
                vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth]
            }
            Role::Node { .. } => vec![ExtendedKeyUsagePurpose::ClientAuth],
        };
        Ok(params.signed_by(&Subject(*key), &self.issuer)?.der().clone())
    }
}

/// Identifies the certificate of an authority, in hex.
pub(crate) fn fingerprint(certificate: &CertificateDer<'_>) -> String {
    hex(&Sha256::digest(certificate)[..FINGERPRINT_BYTES])
}

/// The public key of a certificate's holder.
struct Subject(PublicKey);

impl PublicKeyData for Subject {
    fn der_bytes(&self) -> &[u8] {
        &self.0
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        &PKCS_ED25519
    }
}

/// A new private key (PKCS#8) and its public key.
pub(crate) fn new_key() -> Result<(Vec<u8>, PublicKey), IdentityError> {
    let pair = KeyPair::generate_for(&PKCS_ED25519).map_err(IdentityError::Key)?;
    let public = pair
        .der_bytes()
        .try_into()
        .map_err(|_| IdentityError::Key(rcgen::Error::KeyGenerationUnavailable))?;
    Ok((pair.serialize_der(), public))
}

/// The public key of a private key in PKCS#8.
pub(crate) fn public_key_of(pkcs8: &[u8]) -> Option<PublicKey> {
    let der = PrivatePkcs8KeyDer::from(pkcs8);
    let pair = KeyPair::from_pkcs8_der_and_sign_algo(&der, &PKCS_ED25519).ok()?;
    pair.der_bytes().try_into().ok()
}

fn derive(key: &ClusterKey) -> Result<Authority, rcgen::Error> {
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

fn params(common_name: String) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, common_name);
    // A host whose clock begins at 1970 accepts it as well.
    params.not_before = date_time_ymd(1970, 1, 1);
    params.not_after = date_time_ymd(4000, 1, 1);
    params
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_controller_derives_the_same_authority() {
        let key = ClusterKey::generate().unwrap();
        let first = Authority::new(&key).unwrap();
        let second = Authority::new(&key).unwrap();
        assert_eq!(first.certificate, second.certificate);
        assert_eq!(first.fingerprint(), second.fingerprint());
        let other = Authority::new(&ClusterKey::generate().unwrap()).unwrap();
        assert_ne!(first.fingerprint(), other.fingerprint());
    }

    #[test]
    fn a_role_survives_the_way_through_a_certificate() {
        let authority = Authority::new(&ClusterKey::generate().unwrap()).unwrap();
        for name in ["g-012", "login_1", "a.b.example", "Node7", "e7.node"] {
            let role = Role::Node { name: name.to_owned(), enrolment: 3 };
            let leaf = authority.issue(&role, &[7; 32], Some(Time(1))).unwrap();
            assert_eq!(Role::from_certificates(Some(&[leaf])).unwrap(), Some(role));
        }
        assert!(
            Role::from_certificates(Some(std::slice::from_ref(authority.certificate()))).is_err()
        );
        assert_eq!(Role::from_certificates(None).unwrap(), None);
    }
}
