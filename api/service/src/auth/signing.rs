//! The cryptography of tokens: ring's, which rustls uses as well. jsonwebtoken's own choices bring either a second C
//! library or the crate `rsa`, whose private-key operations leak through their timing (RUSTSEC-2023-0071).

use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{ErrorKind, Result};
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
