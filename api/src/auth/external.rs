//! The login by another service: the authorization-code exchange of OAuth 2.0 (RFC 6749, with PKCE, RFC 7636) and
//! OpenID Connect Core 1.0. The client has sent the person to the provider and brings back the code; here it
//! becomes an identity. Knows nothing of users.

mod id_token;
mod provider;

use crate::clock::Timestamp;
use crate::config::ExternalLogin;
use crate::error::{ApiError, Code};
use heddle_runtime::EgressPolicy;
use provider::{Provider, Tokens};
use serde::{Deserialize, Deserializer};
use std::sync::Arc;

/// What a client brings back from the provider.
#[derive(Clone, Copy)]
pub struct Login<'a> {
    /// Authorization code.
    pub code: &'a str,
    /// PKCE verifier.
    pub code_verifier: Option<&'a str>,
}

/// Who somebody is, by the provider's word.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Provider and the provider's own name for the person: never changes.
    pub subject: String,
    /// Email.
    pub email: String,
    /// Whether the provider has verified that the email is theirs.
    pub email_verified: bool,
    /// First name.
    pub first_name: String,
    /// Last name.
    pub last_name: String,
    /// Picture.
    pub avatar_url: Option<String>,
}

/// Why there is no identity.
#[derive(Debug, thiserror::Error)]
enum LoginError {
    /// The provider, or the check of what it said, refuses this login.
    #[error("{0}")]
    Refused(String),
    /// The provider does not answer as it must.
    #[error("{0}")]
    Unavailable(String),
}

/// The configured provider. Cheap to clone.
#[derive(Clone)]
pub struct ExternalProvider(Arc<Provider>);

impl ExternalProvider {
    /// With these settings; connections pass the egress guard.
    pub fn new(settings: ExternalLogin, egress: &EgressPolicy) -> Self {
        ExternalProvider(Arc::new(Provider::new(settings, egress)))
    }

    /// Exchanges a code for the identity of the person who logged in.
    pub async fn identify(&self, login: Login<'_>, now: Timestamp) -> Result<Identity, ApiError> {
        self.exchange(login, now).await.map_err(|error| match error {
            LoginError::Refused(reason) => {
                tracing::info!(reason, "An external login was refused: {reason}");
                Code::InvalidCredentials
                    .with("The login provider did not confirm this login: start it again.")
            }
            LoginError::Unavailable(reason) => {
                tracing::error!(reason, "The login provider can't be used: {reason}");
                Code::Unavailable
                    .with("The login provider can't be reached at the moment: try again shortly.")
                    .retry_after_s(5)
            }
        })
    }

    async fn exchange(&self, login: Login<'_>, now: Timestamp) -> Result<Identity, LoginError> {
        let provider = &*self.0;
        let endpoints = provider.endpoints(now).await?;
        let tokens = provider.tokens(&endpoints, login).await?;
        let claims = match &endpoints.issuer {
            Some(issuer) => {
                let id_token = tokens.id_token.as_deref().ok_or_else(|| {
                    LoginError::Refused("there is no ID token: is the scope openid asked for?".to_owned())
                })?;
                let mut claims = provider.check_id_token(&endpoints, issuer, id_token, now).await?;
                if endpoints.userinfo.is_some() {
                    let more = self.userinfo(&endpoints, &tokens).await?;
                    if more.subject() != claims.subject() {
                        return Err(LoginError::Refused(
                            "userinfo tells of another subject".to_owned(),
                        ));
                    }
                    claims = more.or(claims);
                }
                claims
            }
            None => self.userinfo(&endpoints, &tokens).await?,
        };
        identity(provider.name(), claims)
    }

    async fn userinfo(&self, endpoints: &provider::Endpoints, tokens: &Tokens) -> Result<Claims, LoginError> {
        self.0.userinfo(endpoints, tokens).await
    }
}

/// What a provider tells of a person: OpenID Connect's standard claims, and GitHub's words for them.
#[derive(Debug, Default, Deserialize)]
struct Claims {
    #[serde(default, deserialize_with = "text_or_number")]
    sub: Option<String>,
    #[serde(default, deserialize_with = "text_or_number")]
    id: Option<String>,
    email: Option<String>,
    #[serde(default, deserialize_with = "truth")]
    email_verified: Option<bool>,
    given_name: Option<String>,
    family_name: Option<String>,
    name: Option<String>,
    picture: Option<String>,
    avatar_url: Option<String>,
}

impl Claims {
    fn subject(&self) -> Option<&str> {
        self.sub.as_deref().or(self.id.as_deref())
    }

    /// These, and the others' where these are silent. An email and its verification stay together.
    fn or(self, others: Claims) -> Claims {
        let (email, email_verified) = match self.email {
            Some(email) => (Some(email), self.email_verified),
            None => (others.email, others.email_verified),
        };
        Claims {
            sub: self.sub.or(others.sub),
            id: self.id.or(others.id),
            email,
            email_verified,
            given_name: self.given_name.or(others.given_name),
            family_name: self.family_name.or(others.family_name),
            name: self.name.or(others.name),
            picture: self.picture.or(others.picture),
            avatar_url: self.avatar_url.or(others.avatar_url),
        }
    }
}

fn identity(provider: &str, claims: Claims) -> Result<Identity, LoginError> {
    let refused = |reason: &str| LoginError::Refused(reason.to_owned());
    let subject = claims.subject().filter(|subject| !subject.is_empty());
    let subject = subject.ok_or_else(|| refused("the provider names no subject"))?;
    let subject = format!("{provider}|{subject}");
    let email = claims
        .email
        .as_deref()
        .and_then(|email| crate::auth::email::read(email).ok())
        .ok_or_else(|| refused("the provider tells no email: is the scope email asked for?"))?;
    let full = claims
        .name
        .as_deref()
        .map(str::trim)
        .filter(|name| !name.is_empty());
    let local = email.split('@').next().unwrap_or_default();
    let (first, rest) = full
        .unwrap_or(local)
        .split_once(' ')
        .unwrap_or((full.unwrap_or(local), ""));
    Ok(Identity {
        subject,
        first_name: name(claims.given_name.as_deref().unwrap_or(first)),
        last_name: name(claims.family_name.as_deref().unwrap_or(rest)),
        avatar_url: claims.picture.or(claims.avatar_url).filter(|url| {
            url.len() <= 2048
                && url.starts_with("https://")
                && !url.chars().any(|c| c.is_control() || c == ' ')
        }),
        email_verified: claims.email_verified == Some(true),
        email,
    })
}

/// Without what a name of ours may not have.
fn name(given: &str) -> String {
    let printable: String = given.chars().filter(|c| !c.is_control()).take(100).collect();
    printable.trim().to_owned()
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Scalar {
    Text(String),
    Number(serde_json::Number),
    Truth(bool),
}

fn text_or_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Option::deserialize(deserializer)? {
        Some(Scalar::Text(text)) => Some(text),
        Some(Scalar::Number(number)) => Some(number.to_string()),
        Some(Scalar::Truth(_)) | None => None,
    })
}

/// Some providers write `"true"`.
fn truth<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    Ok(match Option::deserialize(deserializer)? {
        Some(Scalar::Truth(truth)) => Some(truth),
        Some(Scalar::Text(text)) => Some(text == "true"),
        Some(Scalar::Number(_)) | None => None,
    })
}
