//! Tokens by the client credentials grant of OAuth 2.0 (RFC 6749, section 4.4), kept until shortly before they
//! expire.

use super::address::place;
use super::answer::body_of;
use super::failure::{guarded, send_error};
use crate::connections::Connection;
use crate::egress::GuardedHttp;
use crate::secrets::Vault;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use heddle_sandbox::clock::monotonic;
use heddle_sandbox::{EffectCode, EffectError};
use heddle_sandbox::{hex, sha256};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use quick_cache::unsync::Cache;
use reqwest::Url;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use serde::Deserialize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use zeroize::Zeroizing;

/// Tokens kept.
const KEPT_MAX: usize = 1_000;
/// For a token whose server does not say.
const LIFETIME: Duration = Duration::from_secs(300);
/// Longest lifetime believed.
const LIFETIME_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// A token is not used in its last seconds (or half, if it lives shorter), since it has to arrive as well.
const MARGIN: Duration = Duration::from_secs(30);
/// All but the unreserved characters of RFC 3986.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
const ANSWER_BYTES_MAX: usize = 64 << 10;
/// Characters of each thing that a provider says which people are told.
const SAID_CHARS_MAX: usize = 300;

/// What is exchanged for a token.
pub(super) struct Grant {
    token_url: Url,
    client_id: String,
    client_secret: Zeroizing<String>,
    scope: Option<String>,
    audience: Option<String>,
    /// Client id and secret in the body instead of the header.
    in_body: bool,
    key: String,
}

impl Grant {
    pub fn of(connection: &Connection) -> Result<Self, EffectError> {
        let token_url = connection.required(&["tokenUrl"])?;
        let token_url = Url::parse(&token_url)
            .map_err(|error| connection.unfit(format!("its `tokenUrl` is not a URL ({error})")))?;
        let in_body = match connection.text(&["clientAuth"]).as_deref() {
            None | Some("header") => false,
            Some("body") => true,
            Some(other) => {
                return Err(connection.unfit(format!("its `clientAuth` is `{other}`, not header or body")));
            }
        };
        let mut grant = Grant {
            token_url,
            client_id: connection.required(&["clientId"])?,
            client_secret: connection.required(&["clientSecret"])?.into(),
            scope: connection.text(&["scope", "scopes"]),
            audience: connection.text(&["audience"]),
            in_body,
            key: String::new(),
        };
        // A connection that was changed keeps no token of before.
        let facts = (
            &connection.id,
            grant.token_url.as_str(),
            &grant.client_id,
            &grant.client_secret,
            (&grant.scope, &grant.audience),
        );
        grant.key = hex(&sha256(format!("{facts:?}").as_bytes()));
        Ok(grant)
    }

    fn form(&self) -> String {
        let mut form = vec![("grant_type", "client_credentials")];
        form.extend(self.scope.as_deref().map(|scope| ("scope", scope)));
        form.extend(self.audience.as_deref().map(|audience| ("audience", audience)));
        if self.in_body {
            form.extend([
                ("client_id", self.client_id.as_str()),
                ("client_secret", self.client_secret.as_str()),
            ]);
        }
        let encoded = |text| utf8_percent_encode(text, ENCODED);
        let pairs = form
            .into_iter()
            .map(|(name, value)| format!("{name}={}", encoded(value)));
        pairs.collect::<Vec<_>>().join("&")
    }

    /// Both form-encoded first, as section 2.3.1 has it.
    fn basic(&self) -> String {
        let encoded = |text| utf8_percent_encode(text, ENCODED);
        let pair = format!("{}:{}", encoded(&self.client_id), encoded(&self.client_secret));
        STANDARD.encode(pair)
    }
}

struct Token {
    value: Zeroizing<String>,
    fresh_until: Instant,
}

/// Nobody asks for a token while another does for the same one.
type Slot = Arc<tokio::sync::Mutex<Option<Token>>>;

/// Tokens of all connections.
pub(super) struct Tokens(Mutex<Cache<String, Slot>>);

impl Default for Tokens {
    fn default() -> Self {
        Tokens(Mutex::new(Cache::new(KEPT_MAX)))
    }
}

impl Tokens {
    /// A token that is not `refused`, which a service no longer takes.
    pub async fn get(
        &self,
        clients: &GuardedHttp,
        grant: &Grant,
        refused: Option<&str>,
        vault: &Vault,
    ) -> Result<Zeroizing<String>, EffectError> {
        let slot = self.slot(&grant.key);
        let mut slot = slot.lock().await;
        let kept = slot.as_ref().filter(|token| {
            token.fresh_until > monotonic() && refused.is_none_or(|refused| refused != token.value.as_str())
        });
        let value = match kept {
            Some(token) => token.value.clone(),
            None => {
                *slot = None;
                let token = request(clients, grant, vault).await?;
                slot.insert(token).value.clone()
            }
        };
        vault.note_use(&value)?;
        Ok(value)
    }

    fn slot(&self, key: &str) -> Slot {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = slots.get(key) {
            return slot.clone();
        }
        let slot = Slot::default();
        slots.insert(key.to_owned(), slot.clone());
        slot
    }
}

#[derive(Deserialize)]
struct Granted {
    access_token: String,
    #[serde(default)]
    token_type: Option<String>,
    #[serde(default)]
    expires_in: Option<f64>,
}

#[derive(Deserialize, Default)]
struct Refused {
    #[serde(default)]
    error: String,
    #[serde(default)]
    error_description: String,
}

async fn request(clients: &GuardedHttp, grant: &Grant, vault: &Vault) -> Result<Token, EffectError> {
    let url = &grant.token_url;
    let asked_at = monotonic();
    let mut request = clients
        .client(url)
        .map_err(guarded)?
        .post(url.clone())
        .header(ACCEPT, "application/json")
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(grant.form());
    if !grant.in_body {
        let credentials = grant.basic();
        vault.note_use(&credentials)?;
        // Base64 is fit for a header.
        if let Ok(mut value) = HeaderValue::from_str(&format!("Basic {credentials}")) {
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
    }
    let response = request.send().await.map_err(|error| send_error(&error, url))?;
    let status = response.status();
    let answer = body_of(response, url, ANSWER_BYTES_MAX).await?;
    let (value, lifetime) = granted(status.as_u16(), &answer, vault).map_err(|reason| {
        let message = format!("{} returned no token: {reason}.", place(url));
        EffectError::new(EffectCode::OauthFailed, message)
    })?;
    let margin = MARGIN.min(lifetime / 2);
    Ok(Token {
        value,
        fresh_until: asked_at + (lifetime - margin),
    })
}

/// The token in an answer and how long it lives, or why there is none.
pub fn granted(status: u16, answer: &[u8], vault: &Vault) -> Result<(Zeroizing<String>, Duration), String> {
    let shown = |text: &str| vault.mask_beginning(text, SAID_CHARS_MAX);
    if !(200..300).contains(&status) {
        let said: Refused = serde_json::from_slice(answer).unwrap_or_default();
        let said = [shown(&said.error), shown(&said.error_description)];
        let said: Vec<String> = said.into_iter().filter(|text| !text.is_empty()).collect();
        return Err(match said.is_empty() {
            true => format!("it answered with status {status}"),
            false => format!("status {status}, {}", said.join(": ").trim_end_matches('.')),
        });
    }
    let granted: Granted = serde_json::from_slice(answer).map_err(|error| {
        format!(
            "its answer is not a token response ({})",
            shown(&error.to_string())
        )
    })?;
    if let Some(other) = granted
        .token_type
        .filter(|kind| !kind.eq_ignore_ascii_case("bearer"))
    {
        return Err(format!(
            "its tokens are of the type `{}`, not Bearer",
            shown(&other)
        ));
    }
    let lifetime = granted.expires_in.map_or(LIFETIME, |seconds| {
        Duration::try_from_secs_f64(seconds.clamp(0.0, LIFETIME_MAX.as_secs_f64())).unwrap_or(LIFETIME)
    });
    Ok((granted.access_token.into(), lifetime))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_a_provider_says_the_beginning_is_told() {
        let vault = Vault::new([].into(), [].into(), "nonce".to_owned());
        let long = "x".repeat(1_000);
        for (status, answer) in [
            (
                400,
                format!("{{\"error\": \"{long}\", \"error_description\": \"a\\n{long}\"}}"),
            ),
            (
                200,
                format!("{{\"access_token\": \"a\", \"token_type\": \"{long}\"}}"),
            ),
            (
                200,
                format!("{{\"access_token\": \"a\", \"expires_in\": \"{long}\"}}"),
            ),
        ] {
            let told = granted(status, answer.as_bytes(), &vault).unwrap_err();
            let is_short = told.chars().count() < 2 * SAID_CHARS_MAX + 50;
            assert!(is_short && told.contains("xxx") && !told.contains('\n'), "{told}");
        }
        let (token, lifetime) = granted(200, b"{\"access_token\": \"a\"}", &vault).unwrap();
        assert_eq!((token.as_str(), lifetime), ("a", LIFETIME));
    }

    #[test]
    fn a_secret_that_is_cut_off_is_masked() {
        let vault = Vault::new([].into(), [].into(), "nonce".to_owned());
        vault.note_use("a-long-secret").unwrap();
        let said = format!(
            "{{\"error\": \"{} a-long-secret\"}}",
            "x".repeat(SAID_CHARS_MAX - 6)
        );
        let told = granted(400, said.as_bytes(), &vault).unwrap_err();
        assert!(!told.contains("a-l"), "{told}");
    }
}
