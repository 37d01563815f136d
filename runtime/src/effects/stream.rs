//! `stream`: `{format, data, event?, id?, status, headers}` gives `{sent}`, see [`crate::response_stream`].

use super::effect::Effect;
use super::handles::IdempotencyKey;
use super::progress::EffectResult;
use super::requests::read;
use crate::response_stream::{PIECE_BYTES_MAX, ResponseStream, Sent, StreamFormat, StreamHead};
use crate::secrets::Vault;
use bytes::Bytes;
use heddle_sandbox::EffectError;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Sends a piece of the run's response.
pub struct Stream;

#[derive(Deserialize)]
struct Request {
    format: String,
    data: String,
    #[serde(default)]
    event: Option<String>,
    #[serde(default)]
    id: Option<String>,
    status: u16,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

impl Effect for Stream {
    const KIND: &'static str = "stream";

    type Needs = (Arc<Vault>, IdempotencyKey, Option<Arc<dyn ResponseStream>>);
    type Output = Value;

    fn start(
        &self,
        request: Value,
        needs: Self::Needs,
    ) -> impl Future<Output = Result<Value, EffectError>> + Send + 'static {
        send(request, needs)
    }

    /// A run that begins again on this server sends no piece twice, since its stream knows their keys; elsewhere nobody waits.
    fn is_repeatable(&self) -> bool {
        true
    }
}

async fn send(request: Value, (vault, key, response): <Stream as Effect>::Needs) -> EffectResult {
    // Like all that leaves by the response: without the secrets that the run has used.
    let request: Request = read(vault.mask_value(request))?;
    let mut formats = StreamFormat::ALL.iter().copied();
    let Some(format) = formats.find(|format| format.name() == request.format) else {
        let message = format!("The format `{}` does not exist.", request.format);
        return Err(EffectError::parameter(message));
    };
    let piece = encoded(format, &request);
    if piece.len() > PIECE_BYTES_MAX {
        let message = format!(
            "A piece has at most {PIECE_BYTES_MAX} bytes; this one has {}. Send it in several.",
            piece.len()
        );
        return Err(EffectError::parameter(message));
    }
    let Some(response) = response else {
        return Ok(json!({"sent": false}));
    };
    let head = StreamHead {
        format,
        status: request.status,
        headers: request.headers.into_iter().collect(),
    };
    match response.send(&key.0, head, Bytes::from(piece)).await {
        Sent::Taken => Ok(json!({"sent": true})),
        Sent::Unheard => Ok(json!({"sent": false})),
        Sent::Begun(begun) => Err(EffectError::parameter(format!(
            "The response has begun as `{}`, so a piece can't be `{}`: set `format` to the same in all nodes.",
            begun.name(),
            format.name()
        ))),
    }
}

/// The piece as it is sent.
fn encoded(format: StreamFormat, request: &Request) -> String {
    match format {
        StreamFormat::Text => request.data.clone(),
        StreamFormat::JsonLines => format!("{}\n", request.data),
        StreamFormat::Sse => event(request),
    }
}

/// A server-sent event. Lines end as the format has it, so that no text can end an event or begin a field.
fn event(request: &Request) -> String {
    let mut event = String::with_capacity(request.data.len() + 16);
    let is_line_end = |character: char| matches!(character, '\r' | '\n' | '\0');
    for (name, value) in [("id", &request.id), ("event", &request.event)] {
        if let Some(value) = value {
            let value = value.replace(is_line_end, " ");
            event.push_str(&format!("{name}: {value}\n"));
        }
    }
    for line in request.data.replace("\r\n", "\n").split(['\r', '\n']) {
        event.push_str("data: ");
        event.push_str(line);
        event.push('\n');
    }
    event.push('\n');
    event
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(event: Option<&str>, data: &str) -> String {
        super::event(&Request {
            format: "sse".to_owned(),
            data: data.to_owned(),
            event: event.map(str::to_owned),
            id: None,
            status: 200,
            headers: BTreeMap::new(),
        })
    }

    #[test]
    fn no_text_leaves_its_field() {
        assert_eq!(
            sent(None, "a\nb\r\nc\rd"),
            "data: a\ndata: b\ndata: c\ndata: d\n\n"
        );
        assert_eq!(sent(Some("x\n\ndata: y"), ""), "event: x  data: y\ndata: \n\n");
        assert_eq!(sent(None, "event: end"), "data: event: end\n\n");
    }
}
