//! What comes back of a consent: whose answer it is, what binds it to whoever began, and how long tokens last.

use super::client::Resolved;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use heddle_model::clock::Timestamp;
use heddle_model::entropy;
use heddle_model::error::{Code, ServiceError};
use heddle_runtime::consent::Grants;
use sha2::{Digest, Sha256};
use std::time::Duration;

/// A token is renewed in its last minutes, or in its last half if it lives shorter.
const MARGIN: Duration = Duration::from_secs(5 * 60);

/// What a provider sends back through the browser.
pub struct ConsentAnswer {
    pub state: String,
    /// The code, or what went wrong.
    pub result: Result<String, String>,
    /// Whose answer it says it is (`iss`).
    pub issuer: Option<String>,
}

/// A code of another provider must not be sent to this one (RFC 9207).
pub(super) fn check_issuer(resolved: &Resolved, said: Option<&str>) -> Result<(), ServiceError> {
    let is_right = match (&resolved.issuer, said) {
        (Some(issuer), Some(said)) => issuer == said,
        (Some(_), None) => !resolved.says_issuer,
        (None, _) => true,
    };
    match is_right {
        true => Ok(()),
        false => Err(Code::Validation
            .with("The answer did not come from the connection's provider: nothing was stored.")),
    }
}

/// When an access token is over, and from when on others are asked for.
pub(super) fn times(grants: &Grants, asked_at: Timestamp) -> (Option<Timestamp>, Option<Timestamp>) {
    let of = |lifetime: Duration| {
        let margin = MARGIN.min(lifetime / 2);
        (asked_at.plus(lifetime), asked_at.plus(lifetime - margin))
    };
    grants.lifetime.map(of).unzip()
}

/// 256 bits in base64url, as PKCE wants its verifiers.
pub(super) fn secret() -> String {
    let random: [u8; 32] = entropy::random();
    URL_SAFE_NO_PAD.encode(random)
}

pub(super) fn hash(state: &str) -> String {
    hex::encode(Sha256::digest(state))
}
