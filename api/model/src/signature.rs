//! Signatures of webhooks: HMAC-SHA256 (RFC 2104) over the raw body, in the formats of common senders. Knows nothing
//! about endpoints or JSON.

use crate::clock::Timestamp;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use http::HeaderMap;
use sha2::{Digest, Sha256};
use std::time::Duration;
use subtle::ConstantTimeEq;

/// Maximum deviation of a timestamp from the current time, so that intercepted requests can't be replayed later.
pub const TOLERANCE: Duration = Duration::from_secs(5 * 60);
/// Maximum number of signatures that are checked per request: senders that rotate their secret send two.
const SIGNATURES_MAX: usize = 16;
/// Begins a secret of Standard Webhooks whose rest is base64.
const BASE64_SECRET: &str = "whsec_";

/// How a sender signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Scheme {
    /// `X-Webhook-Signature`: hex of the body's HMAC, with or without `sha256=` before it.
    #[default]
    Heddle,
    /// `X-Hub-Signature-256`: `sha256=` and hex.
    /// <https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries>
    Github,
    /// `Stripe-Signature`: `t=<seconds>,v1=<hex>` over `<seconds>.<body>`. <https://docs.stripe.com/webhooks/signature>
    Stripe,
    /// `X-Slack-Signature`: `v0=<hex>` over `v0:<seconds>:<body>`.
    /// <https://api.slack.com/authentication/verifying-requests-from-slack>
    Slack,
    /// `X-Shopify-Hmac-SHA256`: base64 of the body's HMAC.
    /// <https://shopify.dev/docs/apps/build/webhooks/subscribe/https>
    Shopify,
    /// `webhook-signature`: `v1,<base64>` over `<id>.<seconds>.<body>`.
    /// <https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md>
    StandardWebhooks,
}

impl Scheme {
    /// All variants, in the order of declaration.
    pub const ALL: [Scheme; 6] = [
        Scheme::Heddle,
        Scheme::Github,
        Scheme::Stripe,
        Scheme::Slack,
        Scheme::Shopify,
        Scheme::StandardWebhooks,
    ];

    /// The name in OnWebhook's parameter `scheme`.
    pub const fn name(self) -> &'static str {
        match self {
            Scheme::Heddle => "heddle",
            Scheme::Github => "github",
            Scheme::Stripe => "stripe",
            Scheme::Slack => "slack",
            Scheme::Shopify => "shopify",
            Scheme::StandardWebhooks => "standard-webhooks",
        }
    }

    /// The scheme of this name.
    pub fn named(name: &str) -> Option<Scheme> {
        Scheme::ALL.into_iter().find(|scheme| scheme.name() == name)
    }

    /// The header that has the signature.
    pub const fn header(self) -> &'static str {
        match self {
            Scheme::Heddle => "X-Webhook-Signature",
            Scheme::Github => "X-Hub-Signature-256",
            Scheme::Stripe => "Stripe-Signature",
            Scheme::Slack => "X-Slack-Signature",
            Scheme::Shopify => "X-Shopify-Hmac-SHA256",
            Scheme::StandardWebhooks => "webhook-signature",
        }
    }

    /// A new secret in the form that the scheme's senders take, of 256 random bits.
    pub fn new_secret(self) -> String {
        let bits: [u8; 32] = crate::entropy::random();
        match self {
            Scheme::StandardWebhooks => format!("{BASE64_SECRET}{}", STANDARD.encode(bits)),
            _ => hex::encode(bits),
        }
    }
}

/// Why a request's signature is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A header is missing.
    #[error("the header {0} is missing")]
    Missing(&'static str),
    /// A header is not what the scheme says.
    #[error("the header {0} is malformed")]
    Malformed(&'static str),
    /// The timestamp is too far from now.
    #[error("the timestamp differs from the server's time by more than 5 minutes")]
    Timestamp,
    /// The signature does not match.
    #[error("the signature does not match the body and the secret")]
    Wrong,
}

/// Whether the request was signed with this secret.
pub fn verify(
    scheme: Scheme,
    secret: &str,
    headers: &HeaderMap,
    body: &[u8],
    now: Timestamp,
) -> Result<(), Refusal> {
    let signature = header(headers, scheme.header())?;
    let key = secret.as_bytes();
    match scheme {
        Scheme::Heddle => {
            let hex = signature.strip_prefix("sha256=").unwrap_or(signature);
            matches(key, &[body], [from_hex(hex, scheme.header())?])
        }
        Scheme::Github => {
            let hex = signature
                .strip_prefix("sha256=")
                .ok_or(Refusal::Malformed(scheme.header()))?;
            matches(key, &[body], [from_hex(hex, scheme.header())?])
        }
        Scheme::Shopify => {
            let signature = STANDARD
                .decode(signature)
                .map_err(|_| Refusal::Malformed(scheme.header()))?;
            matches(key, &[body], [signature])
        }
        Scheme::Stripe => stripe(key, signature, body, now),
        Scheme::Slack => {
            let seconds = header(headers, "X-Slack-Request-Timestamp")?;
            recent(seconds, now, "X-Slack-Request-Timestamp")?;
            let hex = signature
                .strip_prefix("v0=")
                .ok_or(Refusal::Malformed(scheme.header()))?;
            let signature = from_hex(hex, scheme.header())?;
            matches(key, &[b"v0:", seconds.as_bytes(), b":", body], [signature])
        }
        Scheme::StandardWebhooks => {
            let id = header(headers, "webhook-id")?;
            let seconds = header(headers, "webhook-timestamp")?;
            recent(seconds, now, "webhook-timestamp")?;
            let signatures = signature
                .split_ascii_whitespace()
                .filter_map(|signature| STANDARD.decode(signature.strip_prefix("v1,")?).ok());
            let signed = [id.as_bytes(), b".", seconds.as_bytes(), b".", body];
            matches(&standard_webhooks_key(secret), &signed, signatures)
        }
    }
}

/// By what the sender has signed, the id of the event of a request that [`verify`] has passed: Standard Webhooks'
/// `webhook-id`, the `id` of Stripe's event, or, of a signature that holds a time, the signature. Other schemes sign the
/// body only, and two events may have the same one.
pub fn signed_id(scheme: Scheme, headers: &HeaderMap, body: &[u8]) -> Option<String> {
    let digest = |kind: &str, signed: &[u8]| format!("{kind}:{}", hex::encode(Sha256::digest(signed)));
    match scheme {
        Scheme::StandardWebhooks => {
            let id = header(headers, "webhook-id").ok()?;
            Some(digest("webhook-id", id.as_bytes()))
        }
        Scheme::Stripe => {
            #[derive(serde::Deserialize)]
            struct Event {
                id: String,
            }
            let event: Option<Event> = serde_json::from_slice(body).ok();
            Some(match event {
                Some(event) => digest("stripe-event", event.id.as_bytes()),
                None => {
                    // The time and the body are what is signed; a signature may be one of several.
                    let value = header(headers, scheme.header()).ok()?;
                    let fields = || value.split(',').filter_map(|field| field.trim().split_once('='));
                    let (_, seconds) = fields().find(|(name, _)| *name == "t")?;
                    digest("stripe", &[seconds.as_bytes(), b".", body].concat())
                }
            })
        }
        Scheme::Slack => {
            let seconds = header(headers, "X-Slack-Request-Timestamp").ok()?;
            Some(digest("slack", &[seconds.as_bytes(), b":", body].concat()))
        }
        Scheme::Heddle | Scheme::Github | Scheme::Shopify => None,
    }
}

/// The key that a secret of Standard Webhooks stands for.
pub fn standard_webhooks_key(secret: &str) -> Vec<u8> {
    let decoded = secret
        .strip_prefix(BASE64_SECRET)
        .and_then(|rest| STANDARD.decode(rest).ok());
    decoded.unwrap_or_else(|| secret.as_bytes().to_vec())
}

fn stripe(key: &[u8], header: &str, body: &[u8], now: Timestamp) -> Result<(), Refusal> {
    let malformed = Refusal::Malformed(Scheme::Stripe.header());
    let fields = || header.split(',').filter_map(|field| field.trim().split_once('='));
    let (_, seconds) = fields().find(|(name, _)| *name == "t").ok_or(malformed)?;
    recent(seconds, now, Scheme::Stripe.header())?;
    let signatures = fields()
        .filter(|(name, _)| *name == "v1")
        .filter_map(|(_, hex)| hex::decode(hex).ok());
    matches(key, &[seconds.as_bytes(), b".", body], signatures)
}

fn header<'h>(headers: &'h HeaderMap, name: &'static str) -> Result<&'h str, Refusal> {
    let value = headers.get(name).ok_or(Refusal::Missing(name))?;
    value
        .to_str()
        .map(str::trim)
        .map_err(|_| Refusal::Malformed(name))
}

fn from_hex(hex: &str, header: &'static str) -> Result<Vec<u8>, Refusal> {
    hex::decode(hex).map_err(|_| Refusal::Malformed(header))
}

fn recent(seconds: &str, now: Timestamp, header: &'static str) -> Result<(), Refusal> {
    let seconds: i64 = seconds.parse().map_err(|_| Refusal::Malformed(header))?;
    let away_ms = seconds.saturating_mul(1000).abs_diff(now.millis());
    if u128::from(away_ms) > TOLERANCE.as_millis() {
        return Err(Refusal::Timestamp);
    }
    Ok(())
}

/// Whether one of the signatures is that of these parts, compared in constant time.
fn matches(
    key: &[u8],
    signed: &[&[u8]],
    signatures: impl IntoIterator<Item = Vec<u8>>,
) -> Result<(), Refusal> {
    // HMAC takes a key of any length.
    let mut mac = Hmac::<Sha256>::new_from_slice(key).map_err(|_| Refusal::Wrong)?;
    for part in signed {
        mac.update(part);
    }
    let expected = mac.finalize().into_bytes();
    let mut signatures = signatures.into_iter().take(SIGNATURES_MAX);
    let right = signatures.any(|signature| bool::from(signature.as_slice().ct_eq(&expected)));
    right.then_some(()).ok_or(Refusal::Wrong)
}

#[cfg(test)]
mod tests;
