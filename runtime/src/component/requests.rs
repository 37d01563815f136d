//! `heddle:node/http`: requests of a component, sent by the effect `http` to the hosts that its definition lists.

use super::state::CallState;
use crate::effect_error::{EffectCode, EffectError};
use crate::effects::{Effect, EffectResult};
use crate::executor::{Job, Panicked, continue_on};
use crate::secrets::Destination;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use wasmtime::StoreContextMut;
use wasmtime::component::{ComponentType, Lift, Linker, Lower};

/// Requests that one call may send.
const REQUESTS_MAX: u32 = 100;

#[derive(ComponentType, Lift)]
#[component(record)]
struct Request {
    method: String,
    url: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
    #[component(name = "timeout-ms")]
    timeout_ms: Option<u32>,
    #[component(name = "follow-redirects")]
    follow_redirects: bool,
}

#[derive(ComponentType, Lower)]
#[component(record)]
struct Response {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

#[derive(ComponentType, Lower)]
#[component(record)]
struct Failure {
    code: String,
    message: String,
}

pub fn link(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    linker
        .instance("heddle:node/http@0.1.0")?
        .func_wrap_async("send", |store, (request,): (Request,)| {
            Box::new(async move { Ok((send(store, request).await,)) })
        })
}

async fn send(mut store: StoreContextMut<'_, CallState>, request: Request) -> Result<Response, Failure> {
    let (http, io, context, key) = {
        let Some(sender) = &mut store.data_mut().sender else {
            let message = "The component's definition lists no hosts.".to_owned();
            return Err(failed(EffectError::new(EffectCode::NotPermitted, message)));
        };
        sender.sent += 1;
        if sender.sent > REQUESTS_MAX {
            let message = format!("The component sent more than {REQUESTS_MAX} requests in one call.");
            return Err(failed(EffectError::new(EffectCode::EffectLimit, message)));
        }
        let key = format!("{}/{}", sender.context.idempotency_key.0, sender.sent);
        (
            sender.http.clone(),
            sender.io.clone(),
            sender.context.clone(),
            key,
        )
    };
    let vault = context.vault.clone();
    // The effect itself puts those in that are bound to hosts.
    let sent = match vault.reveal(as_effect(request, &key), Destination::Anywhere) {
        Ok(request) => {
            let job: Job<EffectResult> = Box::pin(http.start(request, context));
            continue_on(&io, job).await.unwrap_or_else(|Panicked| {
                Err(EffectError::new(
                    EffectCode::Internal,
                    "The request failed because of a bug in heddle.",
                ))
            })
        }
        Err(error) => Err(error),
    };
    sent.map(|response| as_response(&vault.mask_value(response)))
        .map_err(|error| {
            failed(EffectError {
                message: vault.mask(&error.message).into_owned(),
                ..error
            })
        })
}

fn failed(error: EffectError) -> Failure {
    Failure {
        code: error.code.to_string(),
        message: error.message,
    }
}

/// As the effect takes it.
fn as_effect(request: Request, key: &str) -> Value {
    let mut effect = json!({
        "method": request.method,
        "url": request.url,
        "headers": request.headers,
        "followRedirects": request.follow_redirects,
        "idempotencyKey": key,
    });
    if let Some(body) = request.body {
        // As text wherever it is one, since only there references to secrets are found.
        effect["body"] = match String::from_utf8(body) {
            Ok(text) => json!({ "text": text }),
            Err(error) => json!({ "base64": STANDARD.encode(error.as_bytes()) }),
        };
    }
    if let Some(timeout_ms) = request.timeout_ms {
        effect["timeoutMs"] = timeout_ms.into();
    }
    effect
}

/// From what the effect gives.
fn as_response(result: &Value) -> Response {
    let none = Map::new();
    let given = result["headers"].as_object().unwrap_or(&none);
    let mut headers = Vec::with_capacity(given.len());
    for (name, value) in given {
        let values = match value {
            Value::Array(values) => values.as_slice(),
            value => std::slice::from_ref(value),
        };
        let texts = values.iter().filter_map(Value::as_str);
        headers.extend(texts.map(|text| (name.clone(), text.to_owned())));
    }
    let body = match (result["text"].as_str(), result["base64"].as_str()) {
        (Some(text), _) => text.as_bytes().to_vec(),
        (None, Some(base64)) => STANDARD.decode(base64).unwrap_or_default(),
        (None, None) => Vec::new(),
    };
    Response {
        status: result["status"]
            .as_u64()
            .and_then(|status| u16::try_from(status).ok())
            .unwrap_or_default(),
        headers,
        body,
    }
}
