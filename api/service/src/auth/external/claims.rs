//! Converts a provider's claims about a user into an identity.

use super::groups;
use super::login::{ExternalLogin, Identity, LoginError};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// A provider's claims about a user: OpenID Connect's standard claims, and GitHub's names for them.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Claims {
    #[serde(default, deserialize_with = "text_or_number")]
    pub sub: Option<String>,
    #[serde(default, deserialize_with = "text_or_number")]
    pub id: Option<String>,
    pub email: Option<String>,
    #[serde(default, deserialize_with = "truth")]
    pub email_verified: Option<bool>,
    pub given_name: Option<String>,
    pub family_name: Option<String>,
    pub name: Option<String>,
    pub picture: Option<String>,
    pub avatar_url: Option<String>,
    /// All of them.
    #[serde(skip)]
    pub all: Map<String, Value>,
}

impl Claims {
    /// Reads them; those that are not what they should be are errors.
    pub fn read(all: Map<String, Value>) -> Result<Self, serde_json::Error> {
        let claims: Claims = serde_json::from_value(Value::Object(all.clone()))?;
        Ok(Claims { all, ..claims })
    }

    pub fn subject(&self) -> Option<&str> {
        self.sub.as_deref().or(self.id.as_deref())
    }

    /// These, and the others' where these are silent. An email and its verification stay together.
    pub fn or(self, others: Claims) -> Claims {
        let (email, email_verified) = match self.email {
            Some(email) => (Some(email), self.email_verified),
            None => (others.email, others.email_verified),
        };
        let mut all = others.all;
        all.extend(self.all);
        Claims {
            all,
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

/// The identity that the claims describe, or an error if claims are missing.
pub(super) fn identity(
    settings: &ExternalLogin,
    provider: &str,
    claims: Claims,
) -> Result<Identity, LoginError> {
    let refused = |reason: &'static str| LoginError::refused(reason);
    let subject = claims.subject().filter(|subject| !subject.is_empty());
    let subject = subject.ok_or_else(|| refused("the provider sent no subject"))?;
    let subject = format!("{provider}|{subject}");
    let email = claims
        .email
        .as_deref()
        .and_then(|email| crate::auth::email::read(email).ok())
        .ok_or_else(|| refused("the provider sent no email: does the client request the scope email?"))?;
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
        provider_id: settings.id.clone(),
        provider: provider.to_owned(),
        group_roles: groups::roles(&settings.group_roles, &claims.all),
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
