//! The sender's side: the headers by which [`super::verify`] lets a request in. For requests that are sent again by somebody who
//! knows the secret, since what proved the first sender is kept nowhere.

use super::{Authentication, Digests, Scheme, fields, standard_webhooks_key};
use crate::clock::Timestamp;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::digest::KeyInit;
use hmac::{Hmac, Mac};
use sha1::Sha1;
use sha2::{Sha256, Sha512};

/// A request that is about to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'r> {
    /// The address that the receiver has, with path and query. Twilio's scheme signs it; of a body that is not a form it has to have
    /// `bodySHA256`.
    pub url: &'r str,
    /// What the scheme of Standard Webhooks signs as `webhook-id`.
    pub id: &'r str,
    /// The raw body.
    pub body: &'r [u8],
    /// Whether that is a form, URL-encoded.
    pub is_form: bool,
}

/// Headers with their values. `None`: the proof is a JSON Web Token, which is not made here, or the body has more fields than are taken.
pub fn sign(
    authentication: &Authentication,
    secret: &str,
    outgoing: &Outgoing<'_>,
    now: Timestamp,
) -> Option<Vec<(String, String)>> {
    let (key, body) = (secret.as_bytes(), outgoing.body);
    let name = authentication.header();
    let seconds = now.millis().div_euclid(1000).to_string();
    let proof = |value: String| (name.to_owned(), value);
    let timed = |name: &str| (name.to_owned(), seconds.clone());
    let sha256 = |parts: &[&[u8]]| digest(Digests::Sha256, key, parts);
    Some(match authentication.scheme {
        Scheme::Heddle => vec![proof(hex::encode(sha256(&[body])))],
        Scheme::Github => vec![proof(format!("sha256={}", hex::encode(sha256(&[body]))))],
        Scheme::Shopify => vec![proof(STANDARD.encode(sha256(&[body])))],
        Scheme::Stripe => {
            let signature = hex::encode(sha256(&[seconds.as_bytes(), b".", body]));
            vec![proof(format!("t={seconds},v1={signature}"))]
        }
        Scheme::Slack => {
            let signature = hex::encode(sha256(&[b"v0:", seconds.as_bytes(), b":", body]));
            vec![
                timed("X-Slack-Request-Timestamp"),
                proof(format!("v0={signature}")),
            ]
        }
        Scheme::StandardWebhooks => {
            let signed = [outgoing.id.as_bytes(), b".", seconds.as_bytes(), b".", body];
            let signature = digest(Digests::Sha256, &standard_webhooks_key(secret), &signed);
            vec![
                ("webhook-id".to_owned(), outgoing.id.to_owned()),
                timed("webhook-timestamp"),
                proof(format!("v1,{}", STANDARD.encode(signature))),
            ]
        }
        Scheme::Twilio => {
            let fields = if outgoing.is_form {
                fields(body).ok()?
            } else {
                String::new()
            };
            let signed = [outgoing.url.as_bytes(), fields.as_bytes()];
            vec![proof(STANDARD.encode(digest(Digests::Sha1, key, &signed)))]
        }
        Scheme::Hmac => by_mac(authentication, key, body, &seconds),
        Scheme::Gitlab | Scheme::Header => vec![proof(secret.to_owned())],
        Scheme::Bearer => vec![proof(format!("Bearer {secret}"))],
        Scheme::Basic => {
            let given = STANDARD.encode(format!("{}:{secret}", authentication.user));
            vec![proof(format!("Basic {given}"))]
        }
        Scheme::Jwt => return None,
        Scheme::Open => Vec::new(),
    })
}

/// An HMAC as the node describes it.
fn by_mac(authentication: &Authentication, key: &[u8], body: &[u8], seconds: &str) -> Vec<(String, String)> {
    let form = &authentication.mac;
    let mut headers = Vec::new();
    let mut signed: Vec<&[u8]> = Vec::new();
    if let Some(name) = &form.timestamp_header {
        if !authentication.has_pairs() {
            headers.push((name.clone(), seconds.to_owned()));
        }
        signed.extend([seconds.as_bytes(), form.separator.as_bytes()]);
    }
    signed.push(body);
    let signature = digest(form.algorithm, key, &signed);
    let written = match form.is_base64 {
        true => STANDARD.encode(signature),
        false => hex::encode(signature),
    };
    let value = match authentication.has_pairs() {
        true => format!("t={seconds},v1={written}"),
        false => format!("{}{written}", form.prefix),
    };
    headers.push((authentication.header().to_owned(), value));
    headers
}

fn digest(algorithm: Digests, key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    match algorithm {
        Digests::Sha1 => mac::<Hmac<Sha1>>(key, parts),
        Digests::Sha256 => mac::<Hmac<Sha256>>(key, parts),
        Digests::Sha512 => mac::<Hmac<Sha512>>(key, parts),
    }
}

fn mac<M: Mac + KeyInit>(key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    // HMAC takes a key of any length.
    let Ok(mut mac) = <M as KeyInit>::new_from_slice(key) else {
        return Vec::new();
    };
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::{Outgoing, sign};
    use crate::clock::Timestamp;
    use crate::signature::{Authentication, Digests, Incoming, MacForm, Scheme, verify};
    use http::{HeaderMap, HeaderName, HeaderValue};

    #[test]
    fn what_is_signed_is_let_in_and_another_body_is_not() {
        let now = Timestamp::from_millis(1_790_000_000_123);
        let mac = MacForm {
            algorithm: Digests::Sha512,
            is_base64: true,
            prefix: "v1=".to_owned(),
            timestamp_header: Some("X-Time".to_owned()),
            separator: ".".to_owned(),
        };
        for scheme in Scheme::ALL {
            let authentication = Authentication {
                header: "X-Signed".to_owned(),
                user: "ann".to_owned(),
                mac: mac.clone(),
                ..Authentication::from(scheme)
            };
            let outgoing = Outgoing {
                url: "http://127.0.0.1:8080/webhooks/a/b?c=d",
                id: "msg_1",
                body: b"b=2&a=1&b=%C3%A9",
                is_form: true,
            };
            let Some(signed) = sign(&authentication, "whsec_c2VjcmV0", &outgoing, now) else {
                assert_eq!(scheme, Scheme::Jwt);
                continue;
            };
            let mut headers: HeaderMap = signed
                .iter()
                .map(|(name, value)| {
                    let name = HeaderName::try_from(name.as_str()).unwrap();
                    (name, HeaderValue::try_from(value.as_str()).unwrap())
                })
                .collect();
            let content_type = HeaderValue::from_static("application/x-www-form-urlencoded");
            headers.insert(http::header::CONTENT_TYPE, content_type);
            let verified = |body: &[u8]| {
                let incoming = Incoming {
                    headers: &headers,
                    base_url: "http://127.0.0.1:8080",
                    target: "/webhooks/a/b?c=d",
                    body,
                };
                verify(&authentication, "whsec_c2VjcmV0", &incoming, now)
            };
            assert_eq!(verified(outgoing.body), Ok(()), "{scheme:?}");
            let signs_no_body = matches!(
                scheme,
                Scheme::Gitlab | Scheme::Header | Scheme::Bearer | Scheme::Basic | Scheme::Open
            );
            assert_eq!(verified(b"b=3").is_ok(), signs_no_body, "{scheme:?}");
        }
    }
}
