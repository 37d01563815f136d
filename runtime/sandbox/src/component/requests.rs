//! `heddle:node/http`: requests of a component, which the host sends to those hosts that its definition lists.

use super::state::CallState;
use crate::effect_error::{EffectCode, EffectError};
use crate::effect_host::{ComponentRequest, ComponentResponse};
use wasmtime::StoreContextMut;
use wasmtime::component::{ComponentType, Lift, Linker, Lower};

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

impl From<Request> for ComponentRequest {
    fn from(request: Request) -> Self {
        ComponentRequest {
            method: request.method,
            url: request.url,
            headers: request.headers,
            body: request.body,
            timeout_ms: request.timeout_ms,
            follow_redirects: request.follow_redirects,
        }
    }
}

impl From<ComponentResponse> for Response {
    fn from(response: ComponentResponse) -> Self {
        Response {
            status: response.status,
            headers: response.headers,
            body: response.body,
        }
    }
}

impl From<EffectError> for Failure {
    fn from(error: EffectError) -> Self {
        Failure {
            code: error.code.to_string(),
            message: error.message,
        }
    }
}

pub fn link(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    linker
        .instance("heddle:node/http@0.1.0")?
        .func_wrap_async("send", |store, (request,): (Request,)| {
            Box::new(async move { Ok((send(store, request).await,)) })
        })
}

async fn send(store: StoreContextMut<'_, CallState>, request: Request) -> Result<Response, Failure> {
    let Some(sender) = &store.data().sender else {
        let message = "The component's definition lists no hosts.";
        return Err(EffectError::new(EffectCode::NotPermitted, message).into());
    };
    // Here as well: what has left this process waits in memory to be read.
    let request = ComponentRequest::from(request);
    request.check_size(sender.request_bytes_max)?;
    let sent = sender.host.send(sender.call, request).await;
    Ok(sent?.into())
}
