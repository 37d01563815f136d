//! The cryptography of tokens: ring's, which rustls uses as well. jsonwebtoken's own choices bring either a second C
//! library or the crate `rsa`, whose private-key operations leak through their timing (RUSTSEC-2023-0071).

use heddle_compiler::{CANDIDATES_MAX, MODULUS_DIGITS_MAX};
use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{ErrorKind, Result};
use jsonwebtoken::jwk::{AlgorithmParameters, Jwk};
use jsonwebtoken::signature::{Error, Signer, Verifier};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, DecodingKeyKind, EncodingKey};
use ring::hmac;
use ring::signature::{
    self, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};

/// What jsonwebtoken calls for signatures. The service signs its own tokens by HMAC only; it verifies those of external
/// logins by whatever their provider uses.
static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: signer,
    verifier_factory: verifier,
    // For making JWKs out of keys, which nothing here does.
    key_utils: KeyUtils::new_unimplemented(),
};

/// Has jsonwebtoken use this module. To be called before its first use; further calls change nothing.
pub fn install() {
    // An error says that it is installed already.
    let _ = PROVIDER.install_default();
}

/// The keys of a set that may have signed something.
pub struct Candidates<'k> {
    /// Those to be tried, the one that is named first.
    pub keys: Vec<&'k Jwk>,
    /// Why there are no more.
    pub left_out: Option<&'static str>,
}

impl<'k> Candidates<'k> {
    /// Keys for this algorithm, without those that have another id than this one.
    pub fn of(keys: &'k [Jwk], algorithm: Algorithm, id: Option<&str>) -> Self {
        let is_other = |key: &Jwk| id.is_some() && own_id(key).is_some_and(|own| id != Some(own));
        let fits = |key: &&Jwk| is_of(key, algorithm) && !is_other(key);
        let (mut keys, costly): (Vec<&Jwk>, Vec<&Jwk>) =
            keys.iter().filter(fits).partition(|key| is_affordable(key));
        keys.sort_by_key(|key| id.is_some() && own_id(key).is_none());
        let left_out = match (costly.is_empty(), keys.len() > CANDIDATES_MAX) {
            (false, _) => {
                Some("its key is one of RSA with more than 4,096 bits, by which nothing is checked")
            }
            (true, true) => {
                Some("more than 4 keys may have signed it: they, and it, must say by `kid` which has")
            }
            (true, false) => None,
        };
        keys.truncate(CANDIDATES_MAX);
        Candidates { keys, left_out }
    }
}

fn own_id(key: &Jwk) -> Option<&str> {
    key.common.key_id.as_deref()
}

/// Whether it takes little to check a signature by this key.
pub fn is_affordable(key: &Jwk) -> bool {
    match &key.algorithm {
        AlgorithmParameters::RSA(rsa) => rsa.n.len() <= MODULUS_DIGITS_MAX,
        _ => true,
    }
}

/// Whether a key is of an algorithm's kind.
fn is_of(key: &Jwk, algorithm: Algorithm) -> bool {
    matches!(
        (algorithm.family(), &key.algorithm),
        (AlgorithmFamily::Rsa, AlgorithmParameters::RSA(_))
            | (AlgorithmFamily::Ec, AlgorithmParameters::EllipticCurve(_))
            | (AlgorithmFamily::Ed, AlgorithmParameters::OctetKeyPair(_))
    )
}

struct Hmac {
    algorithm: Algorithm,
    key: hmac::Key,
}

/// The digest of an algorithm of the HMAC family.
fn digest(algorithm: Algorithm) -> Option<hmac::Algorithm> {
    Some(match algorithm {
        Algorithm::HS256 => hmac::HMAC_SHA256,
        Algorithm::HS384 => hmac::HMAC_SHA384,
        Algorithm::HS512 => hmac::HMAC_SHA512,
        _ => return None,
    })
}

fn signer(algorithm: &Algorithm, key: &EncodingKey) -> Result<Box<dyn JwtSigner>> {
    match digest(*algorithm) {
        Some(digest) if key.family() == AlgorithmFamily::Hmac => Ok(Box::new(Hmac {
            algorithm: *algorithm,
            key: hmac::Key::new(digest, key.as_bytes()),
        })),
        _ => Err(ErrorKind::InvalidAlgorithm.into()),
    }
}

impl Signer<Vec<u8>> for Hmac {
    fn try_sign(&self, message: &[u8]) -> std::result::Result<Vec<u8>, Error> {
        Ok(hmac::sign(&self.key, message).as_ref().to_vec())
    }
}

impl JwtSigner for Hmac {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

impl Verifier<Vec<u8>> for Hmac {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        hmac::verify(&self.key, message, signature).map_err(|_| Error::new())
    }
}

impl JwtVerifier for Hmac {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

/// A public key with the form of its signatures.
struct PublicKey {
    algorithm: Algorithm,
    key: DecodingKey,
    form: Form,
}

/// How ring takes a key and verifies by it.
enum Form {
    Rsa(&'static RsaParameters),
    Other(&'static dyn VerificationAlgorithm),
}

impl Form {
    /// Of all algorithms with public keys; `None` for those with a shared secret.
    fn of(algorithm: Algorithm) -> Option<Self> {
        Some(match algorithm {
            Algorithm::RS256 => Form::Rsa(&signature::RSA_PKCS1_2048_8192_SHA256),
            Algorithm::RS384 => Form::Rsa(&signature::RSA_PKCS1_2048_8192_SHA384),
            Algorithm::RS512 => Form::Rsa(&signature::RSA_PKCS1_2048_8192_SHA512),
            Algorithm::PS256 => Form::Rsa(&signature::RSA_PSS_2048_8192_SHA256),
            Algorithm::PS384 => Form::Rsa(&signature::RSA_PSS_2048_8192_SHA384),
            Algorithm::PS512 => Form::Rsa(&signature::RSA_PSS_2048_8192_SHA512),
            Algorithm::ES256 => Form::Other(&signature::ECDSA_P256_SHA256_FIXED),
            Algorithm::ES384 => Form::Other(&signature::ECDSA_P384_SHA384_FIXED),
            Algorithm::EdDSA => Form::Other(&signature::ED25519),
            _ => return None,
        })
    }
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>> {
    // Else a public key could be taken for a shared secret.
    if key.family() != algorithm.family() {
        return Err(ErrorKind::InvalidKeyFormat.into());
    }
    if let Some(form) = Form::of(*algorithm) {
        return Ok(Box::new(PublicKey {
            algorithm: *algorithm,
            key: key.clone(),
            form,
        }));
    }
    let digest = digest(*algorithm).ok_or(ErrorKind::InvalidAlgorithm)?;
    Ok(Box::new(Hmac {
        algorithm: *algorithm,
        key: hmac::Key::new(digest, key.try_get_as_bytes()?),
    }))
}

impl Verifier<Vec<u8>> for PublicKey {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        let verified = match (&self.form, self.key.kind()) {
            (Form::Rsa(form), DecodingKeyKind::RsaModulusExponent { n, e }) => {
                RsaPublicKeyComponents { n, e }.verify(form, message, signature)
            }
            (Form::Rsa(form), DecodingKeyKind::SecretOrDer(key)) => {
                UnparsedPublicKey::new(*form, key).verify(message, signature)
            }
            (Form::Other(form), DecodingKeyKind::SecretOrDer(key)) => {
                UnparsedPublicKey::new(*form, key).verify(message, signature)
            }
            (Form::Other(_), DecodingKeyKind::RsaModulusExponent { .. }) => return Err(Error::new()),
        };
        verified.map_err(|_| Error::new())
    }
}

impl JwtVerifier for PublicKey {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn rsa(id: Option<&str>, bits: usize) -> Jwk {
        let digits = (bits / 8 * 4).div_ceil(3);
        let mut key = json!({"kty": "RSA", "n": "u".repeat(digits), "e": "AQAB"});
        if let Some(id) = id {
            key["kid"] = Value::from(id);
        }
        serde_json::from_value(key).unwrap()
    }

    #[test]
    fn a_few_keys_are_tried_the_one_that_is_named_first() {
        let mut keys: Vec<Jwk> = (0..32).map(|_| rsa(None, 2_048)).collect();
        keys.push(rsa(Some("other"), 2_048));
        keys.push(rsa(Some("mine"), 4_096));
        let found = Candidates::of(&keys, Algorithm::RS256, Some("mine"));
        assert_eq!(found.keys.len(), CANDIDATES_MAX);
        assert_eq!(found.keys[0].common.key_id.as_deref(), Some("mine"));
        assert!(
            found
                .keys
                .iter()
                .all(|key| key.common.key_id.as_deref() != Some("other"))
        );
        let few = Candidates::of(&keys[30..], Algorithm::PS512, None);
        assert_eq!((few.keys.len(), few.left_out), (4, None));
        assert!(Candidates::of(&keys, Algorithm::ES256, None).keys.is_empty());
    }

    #[test]
    fn keys_that_take_long_are_left_out_and_it_is_said() {
        let keys = [rsa(Some("large"), 8_192), rsa(Some("usual"), 4_096)];
        let large = Candidates::of(&keys, Algorithm::RS256, Some("large"));
        assert!(large.keys.is_empty());
        assert!(large.left_out.unwrap().contains("4,096 bits"));
        let usual = Candidates::of(&keys, Algorithm::RS256, Some("usual"));
        assert_eq!((usual.keys.len(), usual.left_out), (1, None));
    }
}
