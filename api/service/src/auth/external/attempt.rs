//! One attempt to sign in at a provider, begun by a browser. Everything that binds the provider's answer to that browser
//! follows from one secret, which only its cookie holds, with the provider's id: `state` (RFC 6749, section 10.12), the PKCE verifier (RFC 7636)
//! and the ID token's nonce (OpenID Connect Core 1.0, section 15.5.2).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

/// The characters of a secret: 256 bits in base64url.
const SECRET_CHARS: usize = 43;

/// An attempt to sign in. Its `Debug` would show the secret, so that it has none.
#[derive(Clone)]
pub struct Attempt {
    secret: String,
    provider: String,
}

impl Attempt {
    /// A new one, at the provider with this id.
    pub fn begin(provider: &str) -> Self {
        Attempt {
            secret: crate::auth::cookie::generate(),
            provider: provider.to_owned(),
        }
    }

    /// The one of this cookie; `None` if it is not one of ours.
    pub fn of_cookie(cookie: &str) -> Option<Self> {
        let is_ours = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let (secret, provider) = cookie.split_once('.')?;
        (secret.len() == SECRET_CHARS && secret.chars().all(is_ours)).then(|| Attempt {
            secret: secret.to_owned(),
            provider: provider.to_owned(),
        })
    }

    /// For the browser's cookie.
    pub fn cookie(&self) -> String {
        format!("{}.{}", self.secret, self.provider)
    }

    /// The id of the provider at which it was begun.
    pub fn provider(&self) -> &str {
        &self.provider
    }

    /// What the provider sends back through the browser.
    pub fn state(&self) -> String {
        self.derived("state")
    }

    /// Whether an answer with this `state` is the one to this attempt.
    pub fn is_answered_by(&self, state: &str) -> bool {
        self.state() == state
    }

    /// What the ID token must have in it.
    pub fn nonce(&self) -> String {
        self.derived("nonce")
    }

    /// The PKCE verifier, which the token endpoint is told.
    pub fn verifier(&self) -> String {
        self.derived("verifier")
    }

    /// The PKCE challenge, by which the code is requested, of the method S256.
    pub fn challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(Sha256::digest(self.verifier()))
    }

    fn derived(&self, purpose: &str) -> String {
        let digest = Sha256::new()
            .chain_update(purpose)
            .chain_update([0])
            .chain_update(&self.secret)
            .finalize();
        URL_SAFE_NO_PAD.encode(digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_to_others_gives_nothing_else_away() {
        let attempt = Attempt::begin("sso");
        let told = [
            attempt.secret.clone(),
            attempt.state(),
            attempt.nonce(),
            attempt.verifier(),
            attempt.challenge(),
        ];
        for (index, one) in told.iter().enumerate() {
            assert!((43..=128).contains(&one.len()), "{one}");
            assert!(!told[index + 1..].contains(one), "{one}");
        }
        let again = Attempt::of_cookie(&attempt.cookie()).unwrap();
        assert_eq!(again.provider(), "sso");
        assert!(again.is_answered_by(&attempt.state()));
        assert!(!again.is_answered_by(&Attempt::begin("sso").state()));
        assert!(!again.is_answered_by(""));
    }

    #[test]
    fn only_secrets_of_ours_are_attempts() {
        for secret in ["", "short", &"x".repeat(44), &"ä".repeat(22), &" ".repeat(43)] {
            let cookie = format!("{secret}.sso");
            assert!(Attempt::of_cookie(&cookie).is_none(), "{cookie}");
        }
        assert!(Attempt::of_cookie(&"x".repeat(43)).is_none());
    }
}
