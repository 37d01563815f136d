//! Hash and Hmac (RFC 2104): digests of text. With a secret in it they are effects: only the host has the secret.

use super::text::{holds_secret, text_or_input};
use super::{Context, Emission, NodeResult, Outcome, parameters};
use crate::value::{Object, Value};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::digest::core_api::BlockSizeUser;
use hmac::digest::{Digest, KeyInit};
use hmac::{Mac, SimpleHmac};
use md5::Md5;
use sha1::Sha1;
use sha2::{Sha256, Sha512};
use std::fmt::Write as _;

/// The digest of a text.
pub fn hash(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    digest(parameters, context, "hash", None)
}

/// The digest of a text with a secret.
pub fn hmac(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let secret = parameters::required_text(parameters, "secret")?;
    digest(parameters, context, "hmac", Some(secret))
}

/// The host has computed the digest.
pub fn digested(_: &Object, digest: Value, _: &mut dyn Context) -> NodeResult {
    Ok(Outcome::Emit(Emission::one(0, digest)))
}

fn digest(
    parameters: &Object,
    context: &mut dyn Context,
    kind: &'static str,
    secret: Option<String>,
) -> NodeResult {
    let algorithms = ["sha256", "sha1", "sha512", "md5"];
    let algorithm = parameters::choice(parameters, "algorithm", &algorithms, "sha256")?;
    let encoding = parameters::choice(parameters, "encoding", &["hex", "base64"], "hex")?;
    let text = text_or_input(parameters, context)?;
    if holds_secret(&text) || secret.as_deref().is_some_and(holds_secret) {
        let mut request = Object::new();
        request.insert("algorithm", algorithm.into());
        request.insert("encoding", encoding.into());
        request.insert("value", text.into());
        if let Some(secret) = secret {
            request.insert("secret", secret.into());
        }
        let request = request.into();
        return Ok(Outcome::Effect { kind, request });
    }
    let key = secret.as_deref().map(str::as_bytes);
    let bytes = bytes_of(algorithm, key, text.as_bytes()).unwrap_or_default();
    let digest = match encoding {
        "base64" => STANDARD.encode(bytes),
        _ => hex(&bytes),
    };
    Ok(Outcome::Emit(Emission::one(0, digest.into())))
}

/// The digest in hexadecimal digits; `None` for an algorithm that is not known.
pub fn digest_of(algorithm: &str, text: &[u8]) -> Option<String> {
    bytes_of(algorithm, None, text).map(|bytes| hex(&bytes))
}

/// The first half of the HMAC-SHA256 of a text, in hexadecimal digits: enough that nobody guesses it.
pub fn token_of(key: &str, text: &str) -> String {
    let bytes = compute::<Sha256>(Some(key.as_bytes()), text.as_bytes());
    hex(bytes.get(..16).unwrap_or_default())
}

fn bytes_of(algorithm: &str, key: Option<&[u8]>, text: &[u8]) -> Option<Vec<u8>> {
    Some(match algorithm {
        "md5" => compute::<Md5>(key, text),
        "sha1" => compute::<Sha1>(key, text),
        "sha256" => compute::<Sha256>(key, text),
        "sha512" => compute::<Sha512>(key, text),
        _ => return None,
    })
}

fn compute<D: Digest + BlockSizeUser>(key: Option<&[u8]>, text: &[u8]) -> Vec<u8> {
    let Some(key) = key else {
        return D::digest(text).to_vec();
    };
    // HMAC takes keys of any length; the error can't occur.
    match <SimpleHmac<D> as KeyInit>::new_from_slice(key) {
        Ok(mac) => mac.chain_update(text).finalize().into_bytes().to_vec(),
        Err(_) => Vec::new(),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String can't fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
