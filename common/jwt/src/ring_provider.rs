//! The cryptography for crate `jsonwebtoken`: crate `ring`, which TLS uses too. It checks
//! signatures; only tests sign, with HS256.

use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{ErrorKind, Result};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, DecodingKeyKind, EncodingKey};
use ring::hmac;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};
use signature::{Error, Verifier};

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: signer,
    verifier_factory: verifier,
    key_utils: KeyUtils::new_unimplemented(),
};

/// Makes this the provider of the process. A second call changes nothing.
pub fn install() {
    let _ = PROVIDER.install_default();
}

#[cfg(not(feature = "testing"))]
fn signer(_: &Algorithm, _: &EncodingKey) -> Result<Box<dyn JwtSigner>> {
    Err(ErrorKind::UnsupportedAlgorithm.into())
}

#[cfg(feature = "testing")]
fn signer(algorithm: &Algorithm, key: &EncodingKey) -> Result<Box<dyn JwtSigner>> {
    match algorithm {
        Algorithm::HS256 => Ok(Box::new(testing::HmacSigner(key.clone()))),
        _ => Err(ErrorKind::UnsupportedAlgorithm.into()),
    }
}

#[cfg(feature = "testing")]
mod testing {
    use super::{Algorithm, EncodingKey, Error, JwtSigner, hmac};

    pub(super) struct HmacSigner(pub EncodingKey);

    impl JwtSigner for HmacSigner {
        fn algorithm(&self) -> Algorithm {
            Algorithm::HS256
        }
    }

    impl signature::Signer<Vec<u8>> for HmacSigner {
        fn try_sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
            let secret = self.0.as_bytes();
            Ok(hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), message).as_ref().to_vec())
        }
    }
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>> {
    match algorithm.family() == key.family() {
        true => Ok(Box::new(RingVerifier { algorithm: *algorithm, key: key.clone() })),
        false => Err(ErrorKind::InvalidKeyFormat.into()),
    }
}

struct RingVerifier {
    algorithm: Algorithm,
    key: DecodingKey,
}

impl JwtVerifier for RingVerifier {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

impl Verifier<Vec<u8>> for RingVerifier {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        let is_valid = match self.key.family() {
            AlgorithmFamily::Hmac => self.is_signed_with_hmac(message, signature),
            AlgorithmFamily::Rsa => self.is_signed_with_rsa(message, signature),
            _ => self.is_signed_with_curve(message, signature),
        };
        is_valid.filter(|valid| *valid).map(|_| ()).ok_or_else(Error::new)
    }
}

/// Each check is `None` for an algorithm that is not one of the key's kind.
impl RingVerifier {
    fn is_signed_with_hmac(&self, message: &[u8], tag: &[u8]) -> Option<bool> {
        let algorithm = match self.algorithm {
            Algorithm::HS256 => hmac::HMAC_SHA256,
            Algorithm::HS384 => hmac::HMAC_SHA384,
            Algorithm::HS512 => hmac::HMAC_SHA512,
            _ => return None,
        };
        let key = hmac::Key::new(algorithm, self.key.try_get_as_bytes().ok()?);
        Some(hmac::verify(&key, message, tag).is_ok())
    }

    fn is_signed_with_rsa(&self, message: &[u8], signature: &[u8]) -> Option<bool> {
        let parameters: &RsaParameters = match self.algorithm {
            Algorithm::RS256 => &RSA_PKCS1_2048_8192_SHA256,
            Algorithm::RS384 => &RSA_PKCS1_2048_8192_SHA384,
            Algorithm::RS512 => &RSA_PKCS1_2048_8192_SHA512,
            Algorithm::PS256 => &RSA_PSS_2048_8192_SHA256,
            Algorithm::PS384 => &RSA_PSS_2048_8192_SHA384,
            Algorithm::PS512 => &RSA_PSS_2048_8192_SHA512,
            _ => return None,
        };
        let DecodingKeyKind::RsaModulusExponent { n, e } = self.key.kind() else { return None };
        let key = RsaPublicKeyComponents { n, e };
        Some(key.verify(parameters, message, signature).is_ok())
    }

    fn is_signed_with_curve(&self, message: &[u8], signature: &[u8]) -> Option<bool> {
        let algorithm: &dyn VerificationAlgorithm = match self.algorithm {
            Algorithm::ES256 => &ECDSA_P256_SHA256_FIXED,
            Algorithm::ES384 => &ECDSA_P384_SHA384_FIXED,
            Algorithm::EdDSA => &ED25519,
            _ => return None,
        };
        let key = UnparsedPublicKey::new(algorithm, self.key.try_get_as_bytes().ok()?);
        Some(key.verify(message, signature).is_ok())
    }
}
