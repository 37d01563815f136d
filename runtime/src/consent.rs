//! The authorization code grant of OAuth 2.0 (RFC 6749, section 4.1, with PKCE, RFC 7636): where people give their consent,
//! codes and refresh tokens exchanged for tokens, and tokens revoked (RFC 7009). Every connection passes the egress guard.
//!
//! Knows nothing of whose tokens they are, where they are kept, and which provider is which.

mod ask;
mod discovery;
mod error;

use ask::{Ask, Body, encoded};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use heddle_catalogue::{ClientAuth, Revocation};
use reqwest::{Method, Url};
use serde_json::{Value, json};
use std::time::Duration;
use zeroize::{Zeroize, Zeroizing};

pub use ask::ConsentHttp;
pub use discovery::{Discovered, published};
pub use error::ConsentError;

/// Longest token believed in, in bytes.
const TOKEN_BYTES_MAX: usize = 32 << 10;
/// Longest lifetime believed.
const LIFETIME_MAX: Duration = Duration::from_secs(366 * 24 * 60 * 60);
/// A client of a provider, as the provider knows it.
#[derive(Clone)]
pub struct ConsentClient {
    pub authorize_url: String,
    pub token_url: String,
    pub client_id: String,
    /// `None`: a public client, which has nothing but its proof keys.
    pub client_secret: Option<Zeroizing<String>>,
    pub auth: ClientAuth,
    /// Whether the endpoint for tokens takes JSON.
    pub takes_json: bool,
    pub has_proof_keys: bool,
    pub scope_separator: String,
    pub scopes: Vec<String>,
    /// Parameters of the address for consent besides the standard ones.
    pub parameters: Vec<(String, String)>,
    pub redirect_uri: String,
}

/// How a client's tokens are revoked.
#[derive(Clone)]
pub struct Revoking {
    /// The address, if it is not among those of known providers.
    pub url: Option<String>,
    /// How a known provider does it.
    pub known: Revocation,
}

/// What a provider has given. Wiped when it is dropped.
pub struct Grants {
    pub access: String,
    /// `None`: the one of before stays.
    pub refresh: Option<String>,
    /// How long the access token lasts; `None`: the provider does not say.
    pub lifetime: Option<Duration>,
    /// What was granted; `None`: what was asked for.
    pub scopes: Option<Vec<String>>,
}

impl Drop for Grants {
    fn drop(&mut self) {
        self.access.zeroize();
        self.refresh.zeroize();
    }
}

impl ConsentClient {
    /// Where a browser is sent.
    pub fn consent_url(&self, state: &str, challenge: &str) -> Result<String, ConsentError> {
        let mut url = ask::url(&self.authorize_url)?;
        if !matches!(url.scheme(), "https" | "http") {
            let scheme = ask::shown(url.scheme(), &[]);
            return Err(ConsentError::Unavailable(format!(
                "The address where people give their consent begins with {scheme}: instead of https://, so nobody is sent there."
            )));
        }
        {
            let mut query = url.query_pairs_mut();
            query
                .append_pair("response_type", "code")
                .append_pair("client_id", &self.client_id)
                .append_pair("redirect_uri", &self.redirect_uri)
                .append_pair("state", state);
            if !self.scopes.is_empty() {
                query.append_pair("scope", &self.scopes.join(&self.scope_separator));
            }
            if self.has_proof_keys {
                query
                    .append_pair("code_challenge", challenge)
                    .append_pair("code_challenge_method", "S256");
            }
            for (name, value) in &self.parameters {
                query.append_pair(name, value);
            }
        }
        Ok(url.into())
    }

    /// A request of this client's, which proves who it is.
    fn ask<'a>(&'a self, url: Url, mut fields: Vec<(&'a str, &'a str)>) -> Ask {
        let mut authorization = None;
        match (&self.client_secret, self.auth) {
            (Some(secret), ClientAuth::Header) => {
                let pair = Zeroizing::new(format!("{}:{}", encoded(&self.client_id), encoded(secret)));
                authorization = Some(format!("Basic {}", STANDARD.encode(pair.as_bytes())));
            }
            (secret, _) => {
                fields.push(("client_id", &self.client_id));
                fields.extend(secret.as_ref().map(|secret| ("client_secret", secret.as_str())));
            }
        }
        Ask {
            method: Method::POST,
            url,
            authorization,
            body: match self.takes_json {
                true => Body::Json(
                    fields
                        .into_iter()
                        .map(|(name, value)| (name.to_owned(), value.into()))
                        .collect(),
                ),
                false => Body::form(&fields),
            },
        }
    }

    fn basic(&self) -> String {
        let secret = self.client_secret.as_deref().map_or("", String::as_str);
        let pair = Zeroizing::new(format!("{}:{secret}", self.client_id));
        format!("Basic {}", STANDARD.encode(pair.as_bytes()))
    }
}

impl ConsentHttp {
    /// Exchanges a code for tokens.
    pub async fn exchange(
        &self,
        client: &ConsentClient,
        code: &str,
        verifier: &str,
    ) -> Result<Grants, ConsentError> {
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", client.redirect_uri.as_str()),
        ];
        if client.has_proof_keys {
            fields.push(("code_verifier", verifier));
        }
        self.tokens(client, fields).await
    }

    /// Exchanges a refresh token for other tokens.
    pub async fn refresh(&self, client: &ConsentClient, token: &str) -> Result<Grants, ConsentError> {
        let fields = vec![("grant_type", "refresh_token"), ("refresh_token", token)];
        self.tokens(client, fields).await
    }

    async fn tokens(
        &self,
        client: &ConsentClient,
        fields: Vec<(&str, &str)>,
    ) -> Result<Grants, ConsentError> {
        let url = ask::url(&client.token_url)?;
        let place = ask::place(&url);
        let is_secret = |name: &str| matches!(name, "code" | "code_verifier" | "refresh_token");
        let sent = fields.iter().filter(|(name, _)| is_secret(name));
        let mut secrets: Vec<&str> = sent.map(|(_, value)| *value).collect();
        secrets.extend(client.client_secret.as_ref().map(|secret| secret.as_str()));
        let ask = client.ask(url, fields);
        let basic = ask.authorization.clone().map(Zeroizing::new);
        secrets.extend(basic.as_ref().and_then(|basic| basic.strip_prefix("Basic ")));
        let answer = self.ask(ask).await?;
        let separator = client.scope_separator.as_str();
        granted((&place, separator), answer.status, &answer.body, &secrets)
    }

    /// Revokes tokens as far as the provider has a way for it; whether it has.
    pub async fn revoke(
        &self,
        client: &ConsentClient,
        revoking: &Revoking,
        access: &str,
        refresh: Option<&str>,
    ) -> Result<bool, ConsentError> {
        let (token, hint) = match refresh {
            Some(refresh) => (refresh, "refresh_token"),
            None => (access, "access_token"),
        };
        let known = match &revoking.url {
            Some(url) => (url.as_str(), Revocation::Standard("")),
            None => ("", revoking.known),
        };
        let ask = match known {
            (_, Revocation::None) => return Ok(false),
            (own, Revocation::Standard(url)) => {
                let url = ask::url(if own.is_empty() { url } else { own })?;
                client.ask(url, vec![("token", token), ("token_type_hint", hint)])
            }
            (_, Revocation::Bearer(url)) => Ask {
                method: Method::POST,
                url: ask::url(url)?,
                authorization: Some(format!("Bearer {access}")),
                body: Body::None,
            },
            (_, Revocation::Path(url)) => Ask {
                method: Method::DELETE,
                url: ask::url(&format!("{url}{}", encoded(token)))?,
                authorization: None,
                body: Body::None,
            },
            (_, Revocation::Json(url)) => Ask {
                method: Method::DELETE,
                url: ask::url(&url.replace("{client_id}", &encoded(&client.client_id)))?,
                authorization: Some(client.basic()),
                body: Body::Json(vec![("access_token".to_owned(), json!(access))]),
            },
        };
        let place = ask::place(&ask.url);
        let answer = self.ask(ask).await?;
        match answer.status {
            200..300 => Ok(true),
            status => Err(ConsentError::Refused(format!(
                "{place} did not revoke the tokens: it answered with status {status}."
            ))),
        }
    }
}

/// What the answer of the provider at this place gives. The provider separates scopes like this, and was sent these secrets, which errors
/// must not repeat.
pub fn granted(
    (place, scope_separator): (&str, &str),
    status: u16,
    answer: &[u8],
    secrets: &[&str],
) -> Result<Grants, ConsentError> {
    let read: Value = serde_json::from_slice(answer).unwrap_or_default();
    // Some providers refuse with the status 200.
    let error = read.get("error").and_then(Value::as_str);
    if error.is_some() || !(200..300).contains(&status) {
        return Err(refusal(place, status, &read, secrets));
    }
    grants(&read, scope_separator)
        .ok_or_else(|| ConsentError::Unavailable(format!("{place} answered without a token.")))
}

/// What a provider says when it gives nothing.
fn refusal(place: &str, status: u16, answer: &Value, secrets: &[&str]) -> ConsentError {
    let text = |name: &str| answer.get(name).and_then(Value::as_str).unwrap_or_default();
    let [error, description] = ["error", "error_description"].map(|name| ask::shown(text(name), secrets));
    let said: Vec<&str> = [error.as_str(), description.trim_end_matches('.')]
        .into_iter()
        .filter(|text| !text.is_empty())
        .collect();
    let message = match said.is_empty() {
        true => format!("{place} gave no tokens: it answered with status {status}."),
        false => format!("{place} gave no tokens: {}.", said.join(": ")),
    };
    // Only what the provider says of the grant itself is for good: a wrong secret of the client can be corrected.
    let is_for_good = matches!(
        text("error"),
        "invalid_grant"
            | "bad_refresh_token"
            | "bad_verification_code"
            | "token_revoked"
            | "token_expired"
            | "invalid_refresh_token"
            | "invalid_code"
            | "code_already_used"
            | "access_denied"
    );
    match is_for_good {
        true => ConsentError::Refused(message),
        false => ConsentError::Unavailable(message),
    }
}

/// The tokens in an answer. Slack puts those of a person into `authed_user`.
fn grants(answer: &Value, separator: &str) -> Option<Grants> {
    let of = match answer.get("access_token") {
        Some(_) => answer,
        None => answer.get("authed_user")?,
    };
    let text = |name: &str| {
        of.get(name)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty() && text.len() <= TOKEN_BYTES_MAX)
    };
    let seconds = match of.get("expires_in") {
        Some(Value::String(text)) => text.parse().ok(),
        other => other.and_then(Value::as_f64),
    };
    let lifetime = seconds
        .filter(|seconds| *seconds > 0.0)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds.min(LIFETIME_MAX.as_secs_f64())).ok());
    let scopes = text("scope").map(|scopes| {
        let parts = scopes.split(|c: char| c.is_whitespace() || separator.contains(c));
        parts
            .filter(|scope| !scope.is_empty())
            .map(str::to_owned)
            .collect()
    });
    Some(Grants {
        access: text("access_token")?.to_owned(),
        refresh: text("refresh_token").map(str::to_owned),
        lifetime,
        scopes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_providers_are_read_as_they_send_them() {
        let google = json!({"access_token": "a", "refresh_token": "r", "expires_in": 3599, "scope": "x y"});
        let read = grants(&google, " ").unwrap();
        assert_eq!((read.access.as_str(), read.refresh.as_deref()), ("a", Some("r")));
        assert_eq!(read.lifetime, Some(Duration::from_secs(3599)));
        assert_eq!(
            read.scopes.as_deref(),
            Some(&["x".to_owned(), "y".to_owned()][..])
        );
        let slack = json!({"ok": true, "authed_user": {"access_token": "u", "scope": "chat:write,im:read"}});
        let read = grants(&slack, ",").unwrap();
        assert_eq!(read.access, "u");
        assert_eq!(read.scopes.as_ref().map(Vec::len), Some(2));
        assert!(read.lifetime.is_none());
        let odd = json!({"access_token": "a", "expires_in": "7200"});
        assert_eq!(
            grants(&odd, " ").unwrap().lifetime,
            Some(Duration::from_secs(7200))
        );
        for none in [
            json!(null),
            json!([]),
            json!({"access_token": 7}),
            json!({"access_token": ""}),
            json!({"access_token": "x".repeat(TOKEN_BYTES_MAX + 1)}),
            json!({"authed_user": []}),
        ] {
            assert!(grants(&none, " ").is_none(), "{none}");
        }
        for lifetime in [json!(-1), json!(1e300), json!("soon"), json!([]), json!(null)] {
            let answer = json!({"access_token": "a", "expires_in": lifetime});
            let read = grants(&answer, " ").unwrap().lifetime;
            assert!(read.is_none_or(|lifetime| lifetime <= LIFETIME_MAX), "{answer}");
        }
    }

    #[test]
    fn only_what_is_said_of_the_grant_is_for_good() {
        let for_good = refusal("https://a.example", 400, &json!({"error": "invalid_grant"}), &[]);
        assert!(matches!(for_good, ConsentError::Refused(_)), "{for_good}");
        for (status, answer) in [
            (401, json!({"error": "invalid_client"})),
            (500, json!(null)),
            (429, json!({})),
        ] {
            let later = refusal("https://a.example", status, &answer, &[]);
            assert!(matches!(later, ConsentError::Unavailable(_)), "{later}");
        }
    }

    #[test]
    fn a_provider_that_says_what_it_was_told_is_not_quoted() {
        let said = |text: &str| json!({"error": "invalid_grant", "error_description": text});
        let secrets = ["a-long-secret", "1//refresh token", "aWQ6YS1sb25nLXNlY3JldA=="];
        for text in [
            "no client a-long-secret",
            "expired: 1//refresh token.",
            "1%2F%2Frefresh%20token",
            "Basic aWQ6YS1sb25nLXNlY3JldA==",
            &format!("{} a-long-secret", "x".repeat(293)),
        ] {
            let told = refusal("https://a.example", 400, &said(text), &secrets).to_string();
            assert!(told.contains("invalid_grant"), "{told}");
            let is_in = secrets.iter().any(|secret| told.contains(secret));
            assert!(
                !is_in && !told.contains("a-l") && !told.contains("%2Fref"),
                "{told}"
            );
        }
        let told = refusal("https://a.example", 400, &said(&"x\n".repeat(100_000)), &secrets).to_string();
        assert!(told.chars().count() < 400 && !told.contains('\n'), "{told}");
    }
}
