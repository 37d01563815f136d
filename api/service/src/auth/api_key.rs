//! API keys as text: `hdl_` and 256 random bits. Random enough that a plain hash protects the stored form.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

const PREFIX: &str = "hdl_";
/// Number of characters that are stored in plain text, to identify keys.
const SHOWN_CHARS: usize = 10;

/// A new key: shown once, never stored.
pub fn generate() -> String {
    let random: [u8; 32] = heddle_model::entropy::random();
    format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(random))
}

/// Whether a bearer token is a key rather than a JWT.
pub fn is_key(token: &str) -> bool {
    token.starts_with(PREFIX)
}

/// The stored form, in which a key is looked up.
pub fn hash(key: &str) -> String {
    hex::encode(Sha256::digest(key))
}

/// The part that is shown in lists.
pub fn shown(key: &str) -> &str {
    key.get(..SHOWN_CHARS).unwrap_or(key)
}
