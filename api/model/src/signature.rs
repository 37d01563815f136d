//! How senders of webhooks prove who they are: HMACs (RFC 2104) over the raw body, in the formats of common senders, or
//! the secret itself in a header. Knows nothing about endpoints.

pub mod event_id;
pub mod signing;

use crate::clock::Timestamp;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::digest::KeyInit;
use hmac::{Hmac, Mac};
use http::HeaderMap;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};
use std::borrow::Cow;
use std::time::Duration;
use subtle::ConstantTimeEq;

/// Maximum deviation of a timestamp from the current time, so that intercepted requests can't be replayed later.
pub const TOLERANCE: Duration = Duration::from_secs(5 * 60);
/// Maximum number of signatures that are checked per request: senders that rotate their secret send two.
const SIGNATURES_MAX: usize = 16;
/// Times below this are in seconds since 1970, others in milliseconds: it stands for the year 5138 or for 1973.
const SECONDS_MAX: u64 = 100_000_000_000;
/// Maximum number of a form's fields that are put in order before it is known who sends them: no body of more is an event.
const FIELDS_MAX: usize = 1_000;
/// Has the signature of Standard Webhooks as Svix sends it.
pub const SVIX_SIGNATURE: &str = "svix-signature";
/// Begins a secret of Standard Webhooks whose rest is base64.
const BASE64_SECRET: &str = "whsec_";

/// How senders prove who they are.
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
    /// `webhook-signature`, or `svix-signature`: `v1,<base64>` over `<id>.<seconds>.<body>`.
    /// <https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md>
    StandardWebhooks,
    /// `X-Twilio-Signature`: base64 of the HMAC-SHA1 of the URL and the form's sorted fields.
    /// <https://www.twilio.com/docs/usage/security#validating-requests>
    Twilio,
    /// `X-Gitlab-Token`: the secret itself.
    /// <https://docs.gitlab.com/user/project/integrations/webhooks/#validate-webhook-requests>
    Gitlab,
    /// An HMAC in a header, as the node's `hmac` describes it.
    Hmac,
    /// The secret itself in a header that the node names.
    Header,
    /// `Authorization: Bearer <secret>`.
    Bearer,
    /// `Authorization: Basic`, with the node's `user` and the secret as password.
    Basic,
    /// `Authorization: Bearer <JSON Web Token>`, signed as the node's `jwt` describes it.
    Jwt,
    /// Not at all.
    Open,
}

impl Scheme {
    /// All variants, in the order of declaration.
    pub const ALL: [Scheme; 14] = [
        Scheme::Heddle,
        Scheme::Github,
        Scheme::Stripe,
        Scheme::Slack,
        Scheme::Shopify,
        Scheme::StandardWebhooks,
        Scheme::Twilio,
        Scheme::Gitlab,
        Scheme::Hmac,
        Scheme::Header,
        Scheme::Bearer,
        Scheme::Basic,
        Scheme::Jwt,
        Scheme::Open,
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
            Scheme::Twilio => "twilio",
            Scheme::Gitlab => "gitlab",
            Scheme::Hmac => "hmac",
            Scheme::Header => "header",
            Scheme::Bearer => "bearer",
            Scheme::Basic => "basic",
            Scheme::Jwt => "jwt",
            Scheme::Open => "none",
        }
    }

    /// The scheme of this name.
    pub fn named(name: &str) -> Option<Scheme> {
        Scheme::ALL.into_iter().find(|scheme| scheme.name() == name)
    }

    /// The header that has the signature, or what stands for one; empty if the node names it, or there is none.
    pub const fn header(self) -> &'static str {
        match self {
            Scheme::Heddle => "X-Webhook-Signature",
            Scheme::Github => "X-Hub-Signature-256",
            Scheme::Stripe => "Stripe-Signature",
            Scheme::Slack => "X-Slack-Signature",
            Scheme::Shopify => "X-Shopify-Hmac-SHA256",
            Scheme::StandardWebhooks => "webhook-signature",
            Scheme::Twilio => "X-Twilio-Signature",
            Scheme::Gitlab => "X-Gitlab-Token",
            Scheme::Bearer | Scheme::Basic | Scheme::Jwt => "Authorization",
            Scheme::Hmac | Scheme::Header | Scheme::Open => "",
        }
    }

    /// Whether the request's head tells who sends; what is signed is the body otherwise.
    pub const fn is_in_head(self) -> bool {
        matches!(
            self,
            Scheme::Gitlab | Scheme::Header | Scheme::Bearer | Scheme::Basic | Scheme::Jwt | Scheme::Open
        )
    }

    /// Headers that name an event and are not signed, the most telling first.
    pub const fn event_ids(self) -> &'static [&'static str] {
        match self {
            Scheme::Heddle | Scheme::Stripe | Scheme::Slack | Scheme::StandardWebhooks => {
                &["x-idempotency-key", "x-request-id"]
            }
            Scheme::Github => &["x-github-delivery", "x-idempotency-key", "x-request-id"],
            Scheme::Shopify => &["x-shopify-webhook-id", "x-idempotency-key", "x-request-id"],
            Scheme::Twilio => &["i-twilio-idempotency-token", "x-idempotency-key", "x-request-id"],
            Scheme::Gitlab
            | Scheme::Hmac
            | Scheme::Header
            | Scheme::Bearer
            | Scheme::Basic
            | Scheme::Jwt
            | Scheme::Open => &["idempotency-key", "x-idempotency-key", "x-request-id"],
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

/// The headers of a request by Standard Webhooks.
struct StandardHeaders {
    id: &'static str,
    timestamp: &'static str,
    signature: &'static str,
}

impl StandardHeaders {
    /// Svix, from which the standard comes, has other names for them, which many senders use.
    fn of(headers: &HeaderMap) -> StandardHeaders {
        let is_svix = headers.contains_key(SVIX_SIGNATURE) && !headers.contains_key("webhook-signature");
        match is_svix {
            true => StandardHeaders {
                id: "svix-id",
                timestamp: "svix-timestamp",
                signature: SVIX_SIGNATURE,
            },
            false => StandardHeaders {
                id: "webhook-id",
                timestamp: "webhook-timestamp",
                signature: "webhook-signature",
            },
        }
    }
}

/// A scheme with what the node says of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Authentication {
    /// How senders prove who they are.
    pub scheme: Scheme,
    /// The header that `header` and `hmac` read.
    pub header: String,
    /// The name that goes with the secret in `basic`.
    pub user: String,
    /// How `hmac` signs.
    pub mac: MacForm,
    /// What `jwt` takes.
    pub jwt: Jwt,
}

impl From<Scheme> for Authentication {
    fn from(scheme: Scheme) -> Self {
        Authentication {
            scheme,
            ..Authentication::default()
        }
    }
}

impl Authentication {
    /// The header whose value proves who the sender is; empty if there is none.
    pub fn header(&self) -> &str {
        match self.scheme {
            Scheme::Header | Scheme::Hmac => &self.header,
            scheme => scheme.header(),
        }
    }

    /// Whether a header's value proves who the sender is. Of Standard Webhooks both may come, with the same signature.
    pub fn is_proof(&self, name: &str) -> bool {
        let is_svix = self.scheme == Scheme::StandardWebhooks && name.eq_ignore_ascii_case(SVIX_SIGNATURE);
        is_svix || name.eq_ignore_ascii_case(self.header())
    }

    /// Whether an HMAC stands in one header with its time, `t=<time>,v1=<digest>`, as Stripe has made usual.
    fn has_pairs(&self) -> bool {
        let header = self.mac.timestamp_header.as_deref();
        header.is_some_and(|header| header.eq_ignore_ascii_case(&self.header))
    }
}

/// The form of an HMAC in a header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MacForm {
    pub algorithm: Digests,
    /// Whether it is written in base64; else in hex.
    pub is_base64: bool,
    /// What stands before it in the header.
    pub prefix: String,
    /// The header with the time, in seconds or milliseconds since 1970, if that is signed before the body. If it is the header of the
    /// HMAC, that has both: `t=<time>,v1=<digest>`.
    pub timestamp_header: Option<String>,
    /// What is signed between the time and the body.
    pub separator: String,
}

/// Digests of an HMAC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Digests {
    Sha1,
    #[default]
    Sha256,
    Sha512,
}

/// What a JSON Web Token must be. Verified by who knows public keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Jwt {
    /// Name of the algorithm, such as `RS256`.
    pub algorithm: String,
    /// The issuer's public keys, a JSON Web Key Set; empty for algorithms with a shared secret.
    pub keys: String,
    /// Where the issuer publishes them instead.
    pub keys_url: Option<String>,
    /// `iss`, if it is checked.
    pub issuer: Option<String>,
    /// `aud`, if it is checked.
    pub audience: Option<String>,
}

/// What a sender has sent.
#[derive(Clone, Copy, Debug)]
pub struct Incoming<'r> {
    pub headers: &'r HeaderMap,
    /// The service's public address, without a path.
    pub base_url: &'r str,
    /// The path and the query, as they came.
    pub target: &'r str,
    /// The raw body.
    pub body: &'r [u8],
}

/// Why a sender is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A header is missing.
    #[error("the header {0} is missing")]
    Missing(Cow<'static, str>),
    /// A header is not what the scheme says.
    #[error("the header {0} is malformed")]
    Malformed(Cow<'static, str>),
    /// The timestamp is too far from now.
    #[error("the timestamp differs from the server's time by more than 5 minutes")]
    Timestamp,
    /// The signature does not match.
    #[error("the signature does not match the body and the secret")]
    Wrong,
    /// What was sent instead of a signature is not the secret.
    #[error("the header {0} does not have the right credentials")]
    Mismatch(Cow<'static, str>),
    /// A body that Twilio can't have signed like this.
    #[error("the body is not a form, and the address has no bodySHA256")]
    Unsigned,
    /// A form that would take long to be checked.
    #[error("the body has more than {} fields", FIELDS_MAX)]
    TooManyFields,
    /// A JSON Web Token that is not taken.
    #[error("the token is not accepted: {0}")]
    Unacceptable(Cow<'static, str>),
}

impl Refusal {
    fn malformed(header: &str) -> Self {
        Refusal::Malformed(header.to_owned().into())
    }
}

/// Whether the request comes from somebody who knows this secret. JSON Web Tokens are not verified here: they are refused.
pub fn verify(
    authentication: &Authentication,
    secret: &str,
    incoming: &Incoming<'_>,
    now: Timestamp,
) -> Result<(), Refusal> {
    let Incoming { headers, body, .. } = *incoming;
    let name = match authentication.scheme {
        Scheme::StandardWebhooks => StandardHeaders::of(headers).signature,
        _ => authentication.header(),
    };
    let key = secret.as_bytes();
    if authentication.scheme == Scheme::Open {
        return Ok(());
    }
    let signature = header(headers, name)?;
    match authentication.scheme {
        Scheme::Heddle => {
            let hex = signature.strip_prefix("sha256=").unwrap_or(signature);
            matches::<Hmac<Sha256>>(key, &[body], [from_hex(hex, name)?])
        }
        Scheme::Github => {
            let hex = signature
                .strip_prefix("sha256=")
                .ok_or_else(|| Refusal::malformed(name))?;
            matches::<Hmac<Sha256>>(key, &[body], [from_hex(hex, name)?])
        }
        Scheme::Shopify => matches::<Hmac<Sha256>>(key, &[body], [from_base64(signature, name)?]),
        Scheme::Stripe => stripe(key, signature, body, now),
        Scheme::Slack => {
            let seconds = header(headers, "X-Slack-Request-Timestamp")?;
            recent(seconds, now, "X-Slack-Request-Timestamp")?;
            let hex = signature
                .strip_prefix("v0=")
                .ok_or_else(|| Refusal::malformed(name))?;
            let signature = from_hex(hex, name)?;
            matches::<Hmac<Sha256>>(key, &[b"v0:", seconds.as_bytes(), b":", body], [signature])
        }
        Scheme::StandardWebhooks => {
            let names = StandardHeaders::of(headers);
            let id = header(headers, names.id)?;
            let seconds = header(headers, names.timestamp)?;
            recent(seconds, now, names.timestamp)?;
            let signatures = signature
                .split_ascii_whitespace()
                .filter_map(|signature| STANDARD.decode(signature.strip_prefix("v1,")?).ok());
            let signed = [id.as_bytes(), b".", seconds.as_bytes(), b".", body];
            matches::<Hmac<Sha256>>(&standard_webhooks_key(secret), &signed, signatures)
        }
        Scheme::Twilio => twilio(key, from_base64(signature, name)?, incoming),
        Scheme::Hmac => mac(key, authentication, signature, incoming, now),
        Scheme::Gitlab | Scheme::Header => same(signature, secret, name),
        Scheme::Bearer => same(after(signature, "Bearer", name)?, secret, name),
        Scheme::Basic => {
            let given = from_base64(after(signature, "Basic", name)?, name)?;
            let expected = format!("{}:{secret}", authentication.user);
            same(&String::from_utf8_lossy(&given), &expected, name)
        }
        Scheme::Jwt | Scheme::Open => Err(Refusal::Wrong),
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
    let name = Scheme::Stripe.header();
    let fields = || header.split(',').filter_map(|field| field.trim().split_once('='));
    let (_, seconds) = fields()
        .find(|(name, _)| *name == "t")
        .ok_or_else(|| Refusal::malformed(name))?;
    recent(seconds, now, name)?;
    let signatures = fields()
        .filter(|(name, _)| *name == "v1")
        .filter_map(|(_, hex)| hex::decode(hex).ok());
    matches::<Hmac<Sha256>>(key, &[seconds.as_bytes(), b".", body], signatures)
}

/// Twilio signs the URL, and after it the fields of a form by name, each with its value; of any other body, the URL has
/// the hash.
fn twilio(key: &[u8], signature: Vec<u8>, incoming: &Incoming<'_>) -> Result<(), Refusal> {
    let query = incoming.target.split_once('?').map_or("", |(_, query)| query);
    let hash = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "bodySHA256");
    let mut signed = format!("{}{}", incoming.base_url, incoming.target);
    if let Some((_, hash)) = hash {
        let hash = from_hex(&hash, Scheme::Twilio.header())?;
        if !bool::from(hash.as_slice().ct_eq(&Sha256::digest(incoming.body))) {
            return Err(Refusal::Wrong);
        }
    } else if !incoming.body.is_empty() {
        if !is_form(incoming.headers) {
            return Err(Refusal::Unsigned);
        }
        signed.push_str(&fields(incoming.body)?);
    }
    matches::<Hmac<Sha1>>(key, &[signed.as_bytes()], [signature])
}

/// A form's fields by name, each with its value, as Twilio signs them.
fn fields(body: &[u8]) -> Result<String, Refusal> {
    let mut fields: Vec<_> = form_urlencoded::parse(body).take(FIELDS_MAX + 1).collect();
    if fields.len() > FIELDS_MAX {
        return Err(Refusal::TooManyFields);
    }
    fields.sort_unstable();
    fields.dedup();
    let fields = fields.iter().map(|(name, value)| format!("{name}{value}"));
    Ok(fields.collect())
}

fn is_form(headers: &HeaderMap) -> bool {
    let content_type = headers.get(http::header::CONTENT_TYPE);
    let content_type = content_type
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    media_type.eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

/// An HMAC as the node describes it.
fn mac(
    key: &[u8],
    authentication: &Authentication,
    signature: &str,
    incoming: &Incoming<'_>,
    now: Timestamp,
) -> Result<(), Refusal> {
    let (form, name) = (&authentication.mac, authentication.header());
    if authentication.has_pairs() {
        return in_pairs(form, key, (name, signature), incoming.body, now);
    }
    let written = signature
        .strip_prefix(form.prefix.as_str())
        .ok_or_else(|| Refusal::malformed(name))?;
    let signature = match form.is_base64 {
        true => from_base64(written, name)?,
        false => from_hex(written, name)?,
    };
    let mut signed: Vec<&[u8]> = Vec::new();
    if let Some(name) = &form.timestamp_header {
        let time = header(incoming.headers, name)?;
        recent(time, now, name)?;
        signed.extend([time.as_bytes(), form.separator.as_bytes()]);
    }
    signed.push(incoming.body);
    match form.algorithm {
        Digests::Sha1 => matches::<Hmac<Sha1>>(key, &signed, [signature]),
        Digests::Sha256 => matches::<Hmac<Sha256>>(key, &signed, [signature]),
        Digests::Sha512 => matches::<Hmac<Sha512>>(key, &signed, [signature]),
    }
}

/// An HMAC that stands in one header with its time. There may be several, while a secret is exchanged.
fn in_pairs(
    form: &MacForm,
    key: &[u8],
    (name, value): (&str, &str),
    body: &[u8],
    now: Timestamp,
) -> Result<(), Refusal> {
    let time = time_in_pairs(value).ok_or_else(|| Refusal::malformed(name))?;
    recent(time, now, name)?;
    let decoded = |written: &str| match form.is_base64 {
        true => STANDARD.decode(written).ok(),
        false => hex::decode(written).ok(),
    };
    let signatures = value
        .split(',')
        .filter_map(|field| field.trim().strip_prefix("v1="))
        .filter_map(decoded);
    let signed = [time.as_bytes(), form.separator.as_bytes(), body];
    match form.algorithm {
        Digests::Sha1 => matches::<Hmac<Sha1>>(key, &signed, signatures),
        Digests::Sha256 => matches::<Hmac<Sha256>>(key, &signed, signatures),
        Digests::Sha512 => matches::<Hmac<Sha512>>(key, &signed, signatures),
    }
}

fn time_in_pairs(value: &str) -> Option<&str> {
    value.split(',').find_map(|field| field.trim().strip_prefix("t="))
}

/// What follows the name of a scheme of HTTP authentication.
pub fn after<'v>(value: &'v str, scheme: &str, header: &str) -> Result<&'v str, Refusal> {
    value
        .split_once(' ')
        .filter(|(name, _)| name.eq_ignore_ascii_case(scheme))
        .map(|(_, rest)| rest.trim())
        .ok_or_else(|| Refusal::malformed(header))
}

/// Whether two texts are the same, in a time that tells nothing of either.
fn same(given: &str, expected: &str, header: &str) -> Result<(), Refusal> {
    let [given, expected] = [given, expected].map(|text| Sha256::digest(text.as_bytes()));
    let is_same = bool::from(given.as_slice().ct_eq(&expected));
    is_same
        .then_some(())
        .ok_or_else(|| Refusal::Mismatch(header.to_owned().into()))
}

/// The value of a header, of which there must be one.
pub fn header<'h>(headers: &'h HeaderMap, name: &str) -> Result<&'h str, Refusal> {
    let value = headers
        .get(name)
        .ok_or_else(|| Refusal::Missing(name.to_owned().into()))?;
    // Not only ASCII: a secret may have any characters.
    std::str::from_utf8(value.as_bytes())
        .map(str::trim)
        .map_err(|_| Refusal::malformed(name))
}

fn from_hex(hex: &str, header: &str) -> Result<Vec<u8>, Refusal> {
    hex::decode(hex).map_err(|_| Refusal::malformed(header))
}

fn from_base64(text: &str, header: &str) -> Result<Vec<u8>, Refusal> {
    STANDARD.decode(text).map_err(|_| Refusal::malformed(header))
}

/// Whether a time, in seconds or milliseconds since 1970, is close to now.
fn recent(time: &str, now: Timestamp, header: &str) -> Result<(), Refusal> {
    let time: i64 = time.parse().map_err(|_| Refusal::malformed(header))?;
    let ms = match time.unsigned_abs() < SECONDS_MAX {
        true => time * 1000,
        false => time,
    };
    if u128::from(ms.abs_diff(now.millis())) > TOLERANCE.as_millis() {
        return Err(Refusal::Timestamp);
    }
    Ok(())
}

/// Whether one of the signatures is that of these parts, compared in constant time.
fn matches<M: Mac + KeyInit>(
    key: &[u8],
    signed: &[&[u8]],
    signatures: impl IntoIterator<Item = Vec<u8>>,
) -> Result<(), Refusal> {
    // HMAC takes a key of any length.
    let mut mac = <M as KeyInit>::new_from_slice(key).map_err(|_| Refusal::Wrong)?;
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
