//! `hash` and `hmac`: `{"algorithm", "value", "secret"?, "encoding"}` gives the digest as text. Outside of the
//! sandbox because the key of an HMAC is a secret, which never enters it.

use super::effect::{Effect, Reveals};
use super::handles::Owner;
use super::progress::EffectResult;
use super::requests::read;
use super::run::interrupted;
use crate::aside::aside_if_large;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use heddle_sandbox::EffectError;
use hmac::digest::{Digest, KeyInit};
use hmac::{Mac, SimpleHmac};
use md5::Md5;
use serde::Deserialize;
use serde_json::Value;
use sha1::Sha1;
use sha2::{Sha256, Sha512};

/// Makes digests.
pub struct Digests<const KEYED: bool>;
/// Without a key.
pub type Hash = Digests<false>;
/// With a secret key.
pub type Hmac = Digests<true>;

#[derive(Deserialize)]
struct Request {
    algorithm: String,
    value: String,
    #[serde(default)]
    secret: Option<String>,
    #[serde(default)]
    encoding: Option<String>,
}

impl<const KEYED: bool> Effect for Digests<KEYED> {
    const KIND: &'static str = if KEYED { "hmac" } else { "hash" };
    const REVEALS: Reveals = Reveals::Digest;

    type Needs = Owner;
    type Output = Value;

    fn start(
        &self,
        request: Value,
        owner: Self::Needs,
    ) -> impl Future<Output = Result<Value, EffectError>> + Send + 'static {
        computed(request, KEYED, owner)
    }

    fn is_repeatable(&self) -> bool {
        true
    }
}

/// Makes it where others' effects don't wait for it: that of megabytes takes a while.
async fn computed(request: Value, keyed: bool, Owner(owner): Owner) -> EffectResult {
    let texts = [&request["value"], &request["secret"]];
    let bytes: usize = texts.map(|text| text.as_str().map_or(0, str::len)).iter().sum();
    let computed = aside_if_large(owner, bytes, move || digest(request, keyed)).await;
    computed.unwrap_or_else(|| Err(interrupted()))
}

fn digest(request: Value, keyed: bool) -> EffectResult {
    let request: Request = read(request)?;
    let key = match (keyed, &request.secret) {
        (false, _) => None,
        (true, Some(secret)) => Some(secret.as_bytes()),
        (true, None) => return Err(EffectError::parameter("An HMAC needs a secret.")),
    };
    let value = request.value.as_bytes();
    let bytes = match request.algorithm.as_str() {
        "sha256" => compute::<Sha256>(key, value),
        "sha512" => compute::<Sha512>(key, value),
        "sha1" => compute::<Sha1>(key, value),
        "md5" => compute::<Md5>(key, value),
        other => {
            let message =
                format!("The algorithm `{other}` is not supported; use sha256, sha512, sha1 or md5.");
            return Err(EffectError::parameter(message));
        }
    };
    match request.encoding.as_deref() {
        None | Some("hex") => Ok(heddle_sandbox::hex(&bytes).into()),
        Some("base64") => Ok(STANDARD.encode(&bytes).into()),
        Some(other) => Err(EffectError::parameter(format!(
            "The encoding `{other}` is not supported; use hex or base64."
        ))),
    }
}

fn compute<D>(key: Option<&[u8]>, value: &[u8]) -> Vec<u8>
where
    D: Digest + hmac::digest::core_api::BlockSizeUser,
{
    let Some(key) = key else {
        return D::digest(value).to_vec();
    };
    // HMAC takes keys of any length; the error can't occur.
    match <SimpleHmac<D> as KeyInit>::new_from_slice(key) {
        Ok(mac) => mac.chain_update(value).finalize().into_bytes().to_vec(),
        Err(_) => Vec::new(),
    }
}
