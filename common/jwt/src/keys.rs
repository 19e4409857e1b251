//! The keys that may sign tokens. Each key is for the algorithms of its own kind, so that a public
//! key cannot be taken for a shared secret.

use crate::Rejection;
use crate::ring_provider;
use jsonwebtoken::jwk::{
    AlgorithmParameters, EllipticCurve, Jwk, JwkSet, KeyAlgorithm, PublicKeyUse,
};
use jsonwebtoken::{AlgorithmFamily, DecodingKey, Validation, decode, decode_header};
use serde_json::{Map, Value};

/// The shortest shared secret, in bytes: the output of SHA-256 (RFC 7518, section 3.2).
const SECRET_BYTES_MIN: usize = 32;
/// The longest token; those of identity providers with many groups have a few kilobytes.
const TOKEN_BYTES_MAX: usize = 16 << 10;

/// Why a file with keys cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error(
        "the secret has {0} bytes, and at least {SECRET_BYTES_MIN} are needed: make one with \
         `openssl rand -out FILE 32`"
    )]
    ShortSecret(usize),
    #[error("it is no JWK set (RFC 7517)")]
    NoSet(#[source] serde_json::Error),
    #[error("it has no key that can check a signature with RSA, ECDSA or EdDSA")]
    NoKey,
}

/// One key.
#[derive(Debug, Clone)]
struct Key {
    /// The name of the key in tokens (`kid`).
    name: Option<String>,
    key: DecodingKey,
    validation: Validation,
}

/// All keys of a cluster.
#[derive(Debug, Clone, Default)]
pub struct Keys(Vec<Key>);

impl Keys {
    /// Adds a shared secret, as in Slurm's `jwt_hs256.key`.
    ///
    /// # Errors
    /// [`KeyError::ShortSecret`].
    pub fn with_secret(mut self, secret: &[u8]) -> Result<Self, KeyError> {
        if secret.len() < SECRET_BYTES_MIN {
            return Err(KeyError::ShortSecret(secret.len()));
        }
        let short = |_| KeyError::ShortSecret(secret.len());
        let key = DecodingKey::from_secret(secret).map_err(short)?;
        self.0.push(Key { name: None, validation: signature_validation(&key), key });
        Ok(self)
    }

    /// Adds the public keys of a JWK set. Shared secrets in it are left out: the set of an identity
    /// provider is public.
    ///
    /// # Errors
    /// [`KeyError::NoSet`], [`KeyError::NoKey`].
    pub fn with_jwk_set(mut self, set: &[u8]) -> Result<Self, KeyError> {
        let set: JwkSet = serde_json::from_slice(set).map_err(KeyError::NoSet)?;
        let before = self.0.len();
        self.0.extend(set.keys.iter().filter_map(public_key));
        match self.0.len() > before {
            true => Ok(self),
            false => Err(KeyError::NoKey),
        }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The claims of a token that one of the keys has signed. Times are not checked.
    pub(crate) fn verify_signature(&self, token: &str) -> Result<Map<String, Value>, Rejection> {
        ring_provider::install();
        if token.len() > TOKEN_BYTES_MAX {
            return Err(Rejection::Unreadable);
        }
        let header = decode_header(token).map_err(|_| Rejection::Unreadable)?;
        let is_meant = |key: &&Key| match (&header.kid, &key.name) {
            (Some(named), Some(name)) => named == name,
            _ => true,
        };
        let fitting = self.0.iter().filter(is_meant);
        fitting
            .filter_map(|key| decode::<Map<String, Value>>(token, &key.key, &key.validation).ok())
            .map(|data| data.claims)
            .next()
            .ok_or(Rejection::Signature)
    }
}

fn public_key(jwk: &Jwk) -> Option<Key> {
    let is_for_signatures =
        jwk.common.public_key_use.as_ref().is_none_or(|key| *key == PublicKeyUse::Signature);
    // `ring` has no P-521.
    let is_known = !matches!(&jwk.algorithm, AlgorithmParameters::EllipticCurve(curve)
        if curve.curve == EllipticCurve::P521);
    let key = DecodingKey::from_jwk(jwk).ok()?;
    let is_public = key.family() != AlgorithmFamily::Hmac;
    let mut validation = signature_validation(&key);
    if let Some(only) = jwk.common.key_algorithm {
        validation.algorithms.retain(|algorithm| only == KeyAlgorithm::from(*algorithm));
    }
    let is_usable = is_for_signatures && is_known && is_public && !validation.algorithms.is_empty();
    is_usable.then(|| Key { name: jwk.common.key_id.clone(), validation, key })
}

/// Checks the signature alone: [`crate::check`] looks at the claims, with the caller's time.
fn signature_validation(key: &DecodingKey) -> Validation {
    let mut validation = Validation::new_for_family(key.family());
    validation.required_spec_claims.clear();
    validation.validate_exp = false;
    validation.validate_aud = false;
    validation
}
