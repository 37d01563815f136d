//! JSON Web Tokens by which senders prove who they are: signed with the webhook's secret or a key of the issuer's, not
//! expired, and made for this audience if the node names one.

use crate::auth::signing::{self, Candidates};
use heddle_model::clock::Timestamp;
use heddle_model::signature::{Jwt, Refusal, Scheme, after, header};
use http::HeaderMap;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::jwk::{Jwk, JwkSet};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// Clocks differ by so much.
const LEEWAY_S: i64 = 60;

/// A token as a webhook takes them, of which nothing is checked yet.
pub(super) struct Token<'h> {
    text: &'h str,
    algorithm: Algorithm,
    /// The id of the key that is said to have signed it.
    id: Option<String>,
}

impl Token<'_> {
    /// Whether its sender and the webhook have a secret in common, and no key of an issuer's is needed.
    pub(super) const fn is_shared(&self) -> bool {
        is_shared(self.algorithm)
    }

    /// Whether a set has its key: one with the id that it names, or else one that has signed it, since nothing tells keys without ids
    /// apart but the signature.
    pub(super) fn has_key_in(&self, set: &JwkSet) -> bool {
        let is_named = |key: &Jwk| self.id.is_some() && key.common.key_id == self.id;
        set.keys.iter().any(is_named) || self.is_signed_by(set)
    }

    fn is_signed_by(&self, set: &JwkSet) -> bool {
        signing::install();
        let Some((message, signature)) = self.text.rsplit_once('.') else {
            return false;
        };
        let signs = |key: &Jwk| {
            let Ok(key) = DecodingKey::from_jwk(key) else {
                return false;
            };
            let verified = jsonwebtoken::crypto::verify(signature, message.as_bytes(), &key, self.algorithm);
            verified.unwrap_or_default()
        };
        let candidates = Candidates::of(&set.keys, self.algorithm, self.id.as_deref());
        candidates.keys.into_iter().any(signs)
    }
}

/// The token in a request.
pub(super) fn token<'h>(jwt: &Jwt, headers: &'h HeaderMap) -> Result<Token<'h>, Refusal> {
    let name = Scheme::Jwt.header();
    let text = after(header(headers, name)?, "Bearer", name)?;
    let head = jsonwebtoken::decode_header(text).map_err(|_| Refusal::Malformed(name.into()))?;
    let algorithm: Algorithm = jwt
        .algorithm
        .parse()
        .map_err(|_| refused("its algorithm is unknown"))?;
    // The node's and not the token's: a public key is not secret, and could be taken for a shared one.
    match head.alg == algorithm {
        true => Ok(Token {
            text,
            algorithm,
            id: head.kid,
        }),
        false => Err(refused(
            "it is signed by another algorithm than the webhook takes",
        )),
    }
}

const fn refused(reason: &'static str) -> Refusal {
    Refusal::Unacceptable(Cow::Borrowed(reason))
}

/// The claims of the token in a request, if it is genuine and may be used now. `published` are the issuer's keys, if they do not stand
/// in the webhook.
pub fn claims(
    jwt: &Jwt,
    secret: &str,
    published: Option<&JwkSet>,
    headers: &HeaderMap,
    now: Timestamp,
) -> Result<Box<RawValue>, Refusal> {
    signing::install();
    let Token { text, algorithm, id } = token(jwt, headers)?;
    let mut validation = Validation::new(algorithm);
    // The service's own clock decides, below.
    validation.validate_exp = false;
    validation.validate_aud = jwt.audience.is_some();
    let mut required = vec!["exp"];
    if let Some(audience) = &jwt.audience {
        validation.set_audience(&[audience]);
        required.push("aud");
    }
    if let Some(issuer) = &jwt.issuer {
        validation.set_issuer(&[issuer]);
        required.push("iss");
    }
    validation.set_required_spec_claims(&required);
    let (keys, left_out) = keys(jwt, (secret, published), algorithm, id.as_deref());
    let mut failure = refused(left_out.unwrap_or("none of the webhook's keys has its key id"));
    for key in keys {
        match jsonwebtoken::decode::<Map<String, Value>>(text, &key, &validation) {
            Ok(decoded) => return in_time(&decoded.claims, now),
            // One that was left out may have.
            Err(error) if left_out.is_some() && matches!(error.kind(), ErrorKind::InvalidSignature) => {}
            Err(error) => failure = Refusal::Unacceptable(error.to_string().into()),
        }
    }
    Err(failure)
}

/// The keys that may have signed a token, and why there are no more.
fn keys(
    jwt: &Jwt,
    (secret, published): (&str, Option<&JwkSet>),
    algorithm: Algorithm,
    id: Option<&str>,
) -> (Vec<DecodingKey>, Option<&'static str>) {
    if is_shared(algorithm) {
        return (vec![DecodingKey::from_secret(secret.as_bytes())], None);
    }
    let written: Option<JwkSet> = match published {
        Some(_) => None,
        None => serde_json::from_str(&jwt.keys).ok(),
    };
    let set = published.or(written.as_ref());
    let keys = set.map(|set| set.keys.as_slice()).unwrap_or_default();
    let candidates = Candidates::of(keys, algorithm, id);
    let usable = candidates.keys.into_iter();
    let usable = usable.filter_map(|key| DecodingKey::from_jwk(key).ok());
    (usable.collect(), candidates.left_out)
}

const fn is_shared(algorithm: Algorithm) -> bool {
    matches!(algorithm, Algorithm::HS256 | Algorithm::HS384 | Algorithm::HS512)
}

fn in_time(claims: &Map<String, Value>, now: Timestamp) -> Result<Box<RawValue>, Refusal> {
    let now_s = now.millis().div_euclid(1000);
    let seconds = |name: &str| {
        claims
            .get(name)
            .and_then(Value::as_f64)
            .map(|seconds| seconds as i64)
    };
    match (seconds("exp"), seconds("nbf")) {
        (Some(end), _) if end.saturating_add(LEEWAY_S) <= now_s => {
            Err(Refusal::Unacceptable("it has expired".into()))
        }
        (None, _) => Err(Refusal::Unacceptable("its claim `exp` is not a time".into())),
        (_, Some(start)) if start.saturating_sub(LEEWAY_S) > now_s => {
            Err(Refusal::Unacceptable("it is not valid yet".into()))
        }
        _ => to_raw_value(claims).map_err(|_| Refusal::Wrong),
    }
}

/// A token that is accepted until `until`, for the snippets; `None` if only the issuer can make one.
pub fn example(jwt: &Jwt, secret: &str, until: Timestamp) -> Option<String> {
    signing::install();
    let algorithm: Algorithm = jwt
        .algorithm
        .parse()
        .ok()
        .filter(|algorithm| is_shared(*algorithm))?;
    let mut claims = json!({"sub": "example", "exp": until.millis().div_euclid(1000)});
    for (name, value) in [("iss", &jwt.issuer), ("aud", &jwt.audience)] {
        if let Some(value) = value {
            claims[name] = json!(value);
        }
    }
    let key = EncodingKey::from_secret(secret.as_bytes());
    jsonwebtoken::encode(&Header::new(algorithm), &claims, &key).ok()
}
