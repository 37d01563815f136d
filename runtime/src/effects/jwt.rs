//! `jwt`: `{"operation": "sign", "algorithm", "input", "secret"}` gives the token of `input` (header and payload of the
//! compact form) with its signature; `"verify"`, with `signature` besides, gives whether that is the right one. Outside
//! of the sandbox because the secret never enters it. Knows nothing of what tokens claim.

use super::effect::{Effect, Reveals};
use super::handles::Owner;
use super::progress::EffectResult;
use super::requests::read;
use super::run::interrupted;
use crate::aside::aside;
use crate::entropy;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use heddle_sandbox::EffectError;
use ring::hmac;
use ring::signature::{self, EcdsaKeyPair, RsaKeyPair, UnparsedPublicKey, VerificationAlgorithm};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{PrivateKeyDer, SubjectPublicKeyInfoDer};
use serde::Deserialize;
use serde_json::Value;

/// Signs and verifies JSON Web Tokens (RFC 7515, algorithms of RFC 7518).
pub struct Jwt;

/// Bytes of a key in PEM: one of RSA with 4,096 bits and room for comments. Larger ones would take seconds.
const PEM_BYTES_MAX: usize = 4_096;
/// The smallest key of RSA that RFC 7518 allows.
const RSA_BITS_MIN: usize = 2_048;

/// `AlgorithmIdentifier` of RSA (RFC 3279) in DER.
const RSA_IDENTIFIER: &[u8] = &[
    0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00,
];
/// `AlgorithmIdentifier` of the curve P-256 (RFC 5480) in DER.
const P256_IDENTIFIER: &[u8] = &[
    0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
    0x3d, 0x03, 0x01, 0x07,
];

#[derive(Deserialize)]
struct Request {
    operation: Operation,
    algorithm: String,
    input: String,
    secret: String,
    #[serde(default)]
    signature: String,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Operation {
    Sign,
    Verify,
}

impl Effect for Jwt {
    const KIND: &'static str = "jwt";
    const REVEALS: Reveals = Reveals::Digest;

    type Needs = Owner;
    type Output = Value;

    fn start(
        &self,
        request: Value,
        owner: Self::Needs,
    ) -> impl Future<Output = Result<Value, EffectError>> + Send + 'static {
        work(request, owner)
    }

    fn is_repeatable(&self) -> bool {
        true
    }
}

/// Does the work in its owner's turn: a signature by RSA takes milliseconds, and runs ask for hundreds at the same time.
async fn work(request: Value, Owner(owner): Owner) -> EffectResult {
    aside(owner, move || perform(request))
        .await
        .unwrap_or_else(|| Err(interrupted()))
}

/// What the effect does, where blocking is allowed.
pub fn perform(request: Value) -> EffectResult {
    let request: Request = read(request)?;
    let algorithm = Algorithm::of(&request.algorithm)?;
    let (secret, input) = (request.secret.as_str(), request.input.as_bytes());
    check(secret, &algorithm, &request.algorithm)?;
    match request.operation {
        Operation::Sign => {
            let signature = sign(secret, input, &algorithm)
                .ok_or_else(|| unusable(request.operation, &algorithm, &request.algorithm))?;
            Ok(format!("{}.{}", request.input, URL_SAFE_NO_PAD.encode(signature)).into())
        }
        Operation::Verify => {
            let signature = URL_SAFE_NO_PAD
                .decode(&request.signature)
                .map_err(|_| EffectError::parameter("The signature is not valid base64url."))?;
            let is_right = verify(secret, input, &signature, &algorithm)
                .ok_or_else(|| unusable(request.operation, &algorithm, &request.algorithm))?;
            Ok(is_right.into())
        }
    }
}

enum Algorithm {
    Hmac(hmac::Algorithm),
    Rsa,
    P256,
}

impl Algorithm {
    fn of(name: &str) -> Result<Self, EffectError> {
        Ok(match name {
            "HS256" => Algorithm::Hmac(hmac::HMAC_SHA256),
            "HS384" => Algorithm::Hmac(hmac::HMAC_SHA384),
            "HS512" => Algorithm::Hmac(hmac::HMAC_SHA512),
            "RS256" => Algorithm::Rsa,
            "ES256" => Algorithm::P256,
            other => {
                let message = format!(
                    "The algorithm `{other}` is not supported; use HS256, HS384, HS512, RS256 or ES256."
                );
                return Err(EffectError::parameter(message));
            }
        })
    }
}

/// Refuses anything that is not a secret of the algorithm's kind.
fn check(secret: &str, algorithm: &Algorithm, name: &str) -> Result<(), EffectError> {
    let is_pem = secret.trim_start().starts_with("-----BEGIN");
    let message = match algorithm {
        _ if secret.is_empty() => "Parameter `secret` is empty.".into(),
        // Whoever knows a public key could sign with it as if it were a secret.
        Algorithm::Hmac(_) if is_pem => {
            format!("Parameter `secret` is a PEM key, which {name} does not accept; use RS256 or ES256.")
        }
        Algorithm::Rsa | Algorithm::P256 if !is_pem || secret.len() > PEM_BYTES_MAX => {
            format!("For {name}, parameter `secret` must be a PEM key of at most {PEM_BYTES_MAX} bytes.")
        }
        _ => return Ok(()),
    };
    Err(EffectError::parameter(message))
}

/// The signature; `None` if the key can't make it.
fn sign(secret: &str, input: &[u8], algorithm: &Algorithm) -> Option<Vec<u8>> {
    if let Algorithm::Hmac(digest) = algorithm {
        let key = hmac::Key::new(*digest, secret.as_bytes());
        return Some(hmac::sign(&key, input).as_ref().to_vec());
    }
    let key = PrivateKeyDer::from_pem_slice(secret.as_bytes()).ok()?;
    let random = entropy::system();
    match (algorithm, &key) {
        (Algorithm::P256, PrivateKeyDer::Pkcs8(key)) => {
            let form = &signature::ECDSA_P256_SHA256_FIXED_SIGNING;
            let pair = EcdsaKeyPair::from_pkcs8(form, key.secret_pkcs8_der(), &random).ok()?;
            Some(pair.sign(&random, input).ok()?.as_ref().to_vec())
        }
        (Algorithm::Rsa, key) => {
            let pair = match key {
                PrivateKeyDer::Pkcs8(key) => RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()),
                PrivateKeyDer::Pkcs1(key) => RsaKeyPair::from_der(key.secret_pkcs1_der()),
                _ => return None,
            };
            let pair = pair.ok()?;
            let mut signed = vec![0; pair.public().modulus_len()];
            pair.sign(&signature::RSA_PKCS1_SHA256, &random, input, &mut signed)
                .ok()?;
            Some(signed)
        }
        _ => None,
    }
}

/// Whether the signature is right; `None` if the key can't tell.
fn verify(secret: &str, input: &[u8], signature: &[u8], algorithm: &Algorithm) -> Option<bool> {
    if let Algorithm::Hmac(digest) = algorithm {
        let key = hmac::Key::new(*digest, secret.as_bytes());
        return Some(hmac::verify(&key, input, signature).is_ok());
    }
    let key = SubjectPublicKeyInfoDer::from_pem_slice(secret.as_bytes()).ok()?;
    let (form, identifier): (&dyn VerificationAlgorithm, _) = match algorithm {
        Algorithm::P256 => (&signature::ECDSA_P256_SHA256_FIXED, P256_IDENTIFIER),
        _ => (&signature::RSA_PKCS1_2048_8192_SHA256, RSA_IDENTIFIER),
    };
    let key = public_key(&key, identifier)?;
    // ring tells a weak key by the same error as a wrong signature.
    if identifier == RSA_IDENTIFIER && modulus_bits(key)? < RSA_BITS_MIN {
        return None;
    }
    let key = UnparsedPublicKey::new(form, key);
    Some(key.verify(input, signature).is_ok())
}

/// The key in a `SubjectPublicKeyInfo` (RFC 5280) of the given algorithm:
/// `SEQUENCE { identifier, BIT STRING { 0, key } }`.
fn public_key<'a>(info: &'a [u8], identifier: &[u8]) -> Option<&'a [u8]> {
    let (inside, rest) = element(info, 0x30)?;
    let bits = inside.strip_prefix(identifier)?;
    let (key, after) = element(bits, 0x03)?;
    match rest.is_empty() && after.is_empty() {
        true => key.strip_prefix(&[0]),
        false => None,
    }
}

/// Bits of the modulus of an `RSAPublicKey` (RFC 8017), `SEQUENCE { modulus, exponent }`, rounded up to bytes.
fn modulus_bits(key: &[u8]) -> Option<usize> {
    let (inside, _) = element(key, 0x30)?;
    let (modulus, _) = element(inside, 0x02)?;
    let unsigned = modulus.strip_prefix(&[0]).unwrap_or(modulus);
    unsigned.len().checked_mul(8)
}

/// Content of the DER element of this tag at the beginning, and what follows it.
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&length, rest) = der.strip_prefix(&[tag])?.split_first()?;
    let (length, rest) = match length {
        0..=0x7F => (usize::from(length), rest),
        0x81 | 0x82 => {
            let (digits, rest) = rest.split_at_checked(usize::from(length & 0x7f))?;
            let length = digits
                .iter()
                .fold(0, |length, byte| length << 8 | usize::from(*byte));
            (length, rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

/// What a library says of a key could be of its content.
fn unusable(operation: Operation, algorithm: &Algorithm, name: &str) -> EffectError {
    let (verb, key) = match (operation, algorithm) {
        (Operation::Sign, Algorithm::Rsa) => {
            ("sign", "RSA private key of 2,048 to 4,096 bits in PEM (PKCS#8)")
        }
        (Operation::Sign, _) => ("sign", "P-256 private key in PEM (PKCS#8)"),
        (_, Algorithm::Rsa) => ("verify", "RSA public key of at least 2,048 bits in PEM (SPKI)"),
        _ => ("verify", "P-256 public key in PEM (SPKI)"),
    };
    EffectError::parameter(format!(
        "Parameter `secret` can't {verb} with {name}: it takes a {key}."
    ))
}
