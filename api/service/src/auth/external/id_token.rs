//! The check of an ID token (OpenID Connect Core 1.0, section 3.1.3.7): signed by one of the provider's keys, issued to
//! this client, and not expired.

use super::claims::Claims;
use super::login::LoginError;
use crate::auth::signing;
use anyhow::anyhow;
use heddle_compiler::CANDIDATES_MAX;
use heddle_model::clock::Timestamp;
use jsonwebtoken::jwk::{Jwk, JwkSet, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, Header, Validation};
use serde::Deserialize;
use serde_json::{Map, Value};

/// Clocks differ by so much.
const LEEWAY_S: i64 = 60;

/// The provider's public keys.
pub(super) struct Keys(Vec<ProviderKey>);

struct ProviderKey {
    id: Option<String>,
    algorithm: Option<KeyAlgorithm>,
    key: DecodingKey,
}

impl Keys {
    /// The keys of a set that can check signatures.
    pub fn new(set: &JwkSet) -> Self {
        signing::install();
        let usable = |jwk: &&Jwk| !matches!(jwk.common.public_key_use, Some(PublicKeyUse::Encryption));
        let keys = set.keys.iter().filter(usable);
        let keys = keys.filter(|jwk| signing::is_affordable(jwk)).filter_map(|jwk| {
            Some(ProviderKey {
                id: jwk.common.key_id.clone(),
                algorithm: jwk.common.key_algorithm,
                key: DecodingKey::from_jwk(jwk).ok()?,
            })
        });
        Keys(keys.collect())
    }

    /// Whether the key that signed this token is among them, by its id.
    pub fn know(&self, token: &str) -> bool {
        jsonwebtoken::decode_header(token).is_ok_and(|header| self.candidates(&header).next().is_some())
    }

    /// A few: a provider that publishes many says by their ids which has signed.
    fn candidates<'a>(&'a self, header: &'a Header) -> impl Iterator<Item = &'a DecodingKey> {
        self.0
            .iter()
            .filter(|key| header.kid.is_none() || key.id == header.kid)
            .filter(|key| {
                key.algorithm
                    .is_none_or(|algorithm| algorithm == header.alg.into())
            })
            .map(|key| &key.key)
            .filter(|key| key.family() == header.alg.family())
            .take(CANDIDATES_MAX)
    }
}

#[derive(Deserialize)]
struct IdToken {
    exp: i64,
    azp: Option<String>,
    nonce: Option<String>,
}

/// The claims of an ID token, if it is genuine and issued to this client.
pub(super) fn check(
    keys: &Keys,
    token: &str,
    issuer: &str,
    (client_id, nonce): (&str, Option<&str>),
    now: Timestamp,
) -> Result<Claims, LoginError> {
    let refused = |reason: anyhow::Error| LoginError::Refused(reason.context("the ID token is rejected"));
    let header = jsonwebtoken::decode_header(token).map_err(|error| refused(error.into()))?;
    // A public key is not secret: anybody could use it as an HMAC key and sign.
    if matches!(header.alg, Algorithm::HS256 | Algorithm::HS384 | Algorithm::HS512) {
        return Err(refused(anyhow!("it is not signed with a private key")));
    }
    let mut validation = Validation::new(header.alg);
    // The service's own clock decides, below.
    validation.validate_exp = false;
    validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
    validation.set_issuer(&[issuer]);
    validation.set_audience(&[client_id]);
    let mut failure = anyhow!("none of the provider's keys (of RSA: up to 4,096 bits) has its key id");
    for key in keys.candidates(&header) {
        let all = match jsonwebtoken::decode::<Map<String, Value>>(token, key, &validation) {
            Ok(decoded) => decoded.claims,
            Err(error) => {
                failure = error.into();
                continue;
            }
        };
        let token: IdToken = serde_json::from_value(Value::Object(all.clone()))
            .map_err(|error| refused(anyhow::Error::new(error)))?;
        if token.azp.is_some_and(|party| party != client_id) {
            return Err(refused(anyhow!("it was issued to a different client")));
        }
        if nonce.is_some() && token.nonce.as_deref() != nonce {
            return Err(refused(anyhow!("it was not issued for this attempt")));
        }
        if token.exp.saturating_add(LEEWAY_S) <= now.millis().div_euclid(1000) {
            return Err(refused(anyhow!("it has expired")));
        }
        return Claims::read(all).map_err(|error| refused(anyhow::Error::new(error)));
    }
    Err(refused(failure))
}
