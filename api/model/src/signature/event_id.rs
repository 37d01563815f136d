//! The id that tells a sender's events apart, from what the sender has signed. Knows nothing of what becomes of an event that comes
//! twice.

use super::{Authentication, Scheme, StandardHeaders, header, time_in_pairs};
use http::HeaderMap;
use sha2::{Digest, Sha256};

/// By what the sender has signed, the id of the event of a request that [`verify`](super::verify) has passed: Standard Webhooks'
/// `webhook-id`, the `id` of Stripe's event, the `event_id` of Slack's, or, of a signature that holds a time, the signature. Other schemes sign the
/// body only, and two events may have the same one.
pub fn signed_id(authentication: &Authentication, headers: &HeaderMap, body: &[u8]) -> Option<String> {
    let digest = |kind: &str, signed: &[u8]| format!("{kind}:{}", hex::encode(Sha256::digest(signed)));
    match authentication.scheme {
        Scheme::StandardWebhooks => {
            let id = header(headers, StandardHeaders::of(headers).id).ok()?;
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
                    let value = header(headers, Scheme::Stripe.header()).ok()?;
                    let fields = || value.split(',').filter_map(|field| field.trim().split_once('='));
                    let (_, seconds) = fields().find(|(name, _)| *name == "t")?;
                    digest("stripe", &[seconds.as_bytes(), b".", body].concat())
                }
            })
        }
        Scheme::Slack => {
            // A retry is signed anew, with another time.
            #[derive(serde::Deserialize)]
            struct Event {
                #[serde(rename = "type")]
                kind: String,
                event_id: String,
            }
            let event: Option<Event> = serde_json::from_slice(body).ok();
            if let Some(event) = event.filter(|event| event.kind == "event_callback") {
                return Some(digest("slack-event", event.event_id.as_bytes()));
            }
            let seconds = header(headers, "X-Slack-Request-Timestamp").ok()?;
            Some(digest("slack", &[seconds.as_bytes(), b":", body].concat()))
        }
        Scheme::Hmac => {
            let value = header(headers, authentication.mac.timestamp_header.as_deref()?).ok()?;
            let time = match authentication.has_pairs() {
                true => time_in_pairs(value)?,
                false => value,
            };
            Some(digest("hmac", &[time.as_bytes(), b":", body].concat()))
        }
        _ => None,
    }
}
