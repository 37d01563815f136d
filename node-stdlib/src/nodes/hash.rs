//! Hash and Hmac (RFC 2104): digests of text. With a secret in it they are effects: only the host has the secret.

use super::parameters;
use super::text::{holds_secret, text_or_input};
use crate::node::{Context, Emission, NodeResult, Outcome};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use heddle_values::{Object, Value, digest};

/// The digest of a text.
pub fn hash(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    computed(parameters, context, "hash", None)
}

/// The digest of a text with a secret.
pub fn hmac(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let secret = parameters::required_text(parameters, "secret")?;
    computed(parameters, context, "hmac", Some(secret))
}

/// The host has computed the digest.
pub fn digested(_: &Object, digest: Value, _: &mut dyn Context) -> NodeResult {
    Ok(Outcome::Emit(Emission::one(0, digest)))
}

fn computed(
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
    let bytes = digest::digest(algorithm, key, text.as_bytes()).unwrap_or_default();
    let digest = match encoding {
        "base64" => STANDARD.encode(bytes),
        _ => digest::hex(&bytes),
    };
    Ok(Outcome::Emit(Emission::one(0, digest.into())))
}
