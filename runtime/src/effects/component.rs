//! `component`: a call of a component, which the sandbox makes itself. What is here decides when it begins, and sends its
//! requests, to those hosts that its definition lists.

use super::effect::{Effect, Reveals};
use super::handles::{GrantedHosts, IdempotencyKey};
use super::http::{Http, HttpNeeds};
use super::progress::{EffectResult, weight};
use crate::aside::{SMALL_BYTES_MAX, aside_if_large};
use crate::egress::names_for;
use crate::secrets::Destination;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use heddle_sandbox::{
    ComponentCall, ComponentRequest, ComponentResponse, EffectCode, EffectError, Job, Panicked, RequestHost,
    Sending, continue_on,
};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::runtime::Handle;

/// Requests that one call may send.
const REQUESTS_MAX: u32 = 100;

/// A call of a component as an effect.
pub struct Component {
    pub id: u32,
    /// Begins when it is polled; taken by the only start.
    pub call: Mutex<Option<ComponentCall>>,
    /// Hosts that its definition lists.
    pub hosts: Arc<[String]>,
    pub senders: Arc<Senders>,
}

impl Effect for Component {
    const KIND: &'static str = "component";
    /// Code sees references only; they are replaced when a request leaves.
    const REVEALS: Reveals = Reveals::Nothing;

    /// Of its requests, which only go to the hosts that its definition lists.
    type Needs = HttpNeeds;
    type Output = Value;

    fn start(
        &self,
        request: Value,
        context: HttpNeeds,
    ) -> impl Future<Output = EffectResult> + Send + 'static {
        let call = self.call.lock().unwrap_or_else(PoisonError::into_inner).take();
        let key = request["key"].as_str().unwrap_or_default().to_owned();
        let place = context.place.clone();
        let opened = (!self.hosts.is_empty()).then(|| {
            let sender = Sender {
                context: HttpNeeds {
                    idempotency_key: IdempotencyKey(key),
                    hosts: GrantedHosts(self.hosts.clone()),
                    ..context
                },
                sent: 0,
            };
            self.senders.open(self.id, sender)
        });
        async move {
            let missing = || EffectError::new(EffectCode::Internal, "The component has been called already.");
            let output = call.ok_or_else(missing)?.await;
            drop(opened);
            // Its size is known only now: what waits for room is kept once, and not yet written as a result.
            place.make_room(output.as_ref().map_or(0, String::len)).await;
            output.map(Value::String)
        }
    }

    fn is_repeatable(&self) -> bool {
        self.hosts.is_empty()
    }

    /// What it was given may have left in its requests.
    fn may_reveal(&self) -> bool {
        !self.hosts.is_empty()
    }
}

/// A call's way to the outside.
struct Sender {
    /// Of the call, but with the hosts that the definition lists.
    context: HttpNeeds,
    sent: u32,
}

/// The ways to the outside of a run's calls that are at work.
pub struct Senders {
    http: Http,
    /// The threads for effects.
    io: Handle,
    open: Mutex<HashMap<u32, Sender>>,
    /// Bytes of all requests, roughly.
    sent_bytes: AtomicU64,
}

/// Closes a call's way when it is dropped.
struct Opened(Arc<Senders>, u32);

impl Drop for Opened {
    fn drop(&mut self) {
        self.0.locked().remove(&self.1);
    }
}

impl Senders {
    pub fn new(http: Http, io: Handle) -> Arc<Self> {
        Arc::new(Senders {
            http,
            io,
            open: Mutex::default(),
            sent_bytes: AtomicU64::new(0),
        })
    }

    /// Bytes of addresses and bodies that were sent.
    pub fn sent_bytes(&self) -> u64 {
        self.sent_bytes.load(Ordering::Relaxed)
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<u32, Sender>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(self: &Arc<Self>, call: u32, sender: Sender) -> Opened {
        self.locked().insert(call, sender);
        Opened(self.clone(), call)
    }

    /// What this request of a call is sent with, and its key.
    fn next(&self, call: u32, request: &ComponentRequest) -> Result<(HttpNeeds, String), EffectError> {
        let mut open = self.locked();
        let Some(sender) = open.get_mut(&call) else {
            let message = "The component's definition lists no hosts.";
            return Err(EffectError::new(EffectCode::NotPermitted, message));
        };
        sender.sent = sender.sent.saturating_add(1);
        if sender.sent > REQUESTS_MAX {
            let message = format!("The component sent more than {REQUESTS_MAX} requests in one call.");
            return Err(EffectError::new(EffectCode::EffectLimit, message));
        }
        request.check_size(sender.context.bounds.result_bytes_max)?;
        let key = format!("{}/{}", sender.context.idempotency_key.0, sender.sent);
        Ok((sender.context.clone(), key))
    }
}

impl RequestHost for Senders {
    fn send(&self, call: u32, request: ComponentRequest) -> Sending {
        let next = self.next(call, &request);
        let (http, io) = (self.http.clone(), self.io.clone());
        if next.is_ok() {
            let bytes = request.url.len() + request.body.as_ref().map_or(0, Vec::len);
            self.sent_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        }
        Box::pin(async move {
            let (context, key) = next?;
            let vault = context.vault.clone();
            // The effect itself puts those in that are bound to hosts.
            let request = vault.reveal(as_effect(request, &key), Destination::Anywhere)?;
            let owner = context.connections.owner();
            let job: Job<EffectResult> = Box::pin(names_for(owner, http.start(request, context)));
            let bug = || {
                EffectError::new(
                    EffectCode::Internal,
                    "The request failed because of a bug in heddle.",
                )
            };
            let sent = continue_on(&io, job).await;
            match sent.unwrap_or_else(|Panicked| Err(bug())) {
                Ok(response) => {
                    let spelled = vault.spelling_bytes(None);
                    let bytes = weight(&response, SMALL_BYTES_MAX).saturating_add(spelled);
                    let given = move || as_response(&vault.mask_value(response));
                    aside_if_large(owner, bytes, given).await.ok_or_else(bug)
                }
                Err(error) => Err(EffectError {
                    message: vault.mask_message(&error.message).into_owned(),
                    ..error
                }),
            }
        })
    }
}

/// As the effect takes it.
fn as_effect(request: ComponentRequest, key: &str) -> Value {
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
fn as_response(result: &Value) -> ComponentResponse {
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
    ComponentResponse {
        status: result["status"]
            .as_u64()
            .and_then(|status| u16::try_from(status).ok())
            .unwrap_or_default(),
        headers,
        body,
    }
}

#[cfg(test)]
mod tests {
    use super::super::handles::{Bounds, Clock, Egress, Parking, Signals};
    use super::super::large::room_for_bytes;
    use super::super::needs::{Handles, Needs};
    use super::super::open_streams::OpenStreams;
    use super::super::result_place::ResultPlace;
    use super::super::sinks::OpenSinks;
    use super::*;
    use crate::connections::{Granted, NoConnections};
    use crate::egress::EgressPolicy;
    use crate::files::MemoryFiles;
    use crate::key_values::MemoryValues;
    use crate::secrets::{Secrets, Vault};
    use futures_util::FutureExt;
    use heddle_sandbox::clock::monotonic;
    use std::time::Duration;
    use tokio::sync::Semaphore;

    const BYTES_MAX: usize = 1 << 20;

    fn handles() -> Handles {
        let vault = Arc::new(Vault::new(Secrets::new(), Arc::new([]), String::new()));
        let connections = Granted::new(Arc::new(NoConnections), Arc::new([]), vault.clone());
        Handles {
            key: String::new(),
            idempotency_key: String::new(),
            attempt: 1,
            bounds: Bounds {
                result_bytes_max: BYTES_MAX,
                deadline: monotonic() + Duration::from_secs(60),
            },
            hosts: Arc::new([]),
            patterns: Arc::new([]),
            vault,
            connections: Arc::new(connections),
            key_values: Arc::new(MemoryValues::default()),
            files: Arc::new(MemoryFiles::default()),
            response: None,
            sinks: OpenSinks::default(),
            streams: OpenStreams::default(),
            calls: None,
            signals: Signals::of(None),
            clock: Clock::of(None),
            egress: Egress::default(),
            parking: Parking {
                is_possible: false,
                state: None,
            },
            place: None,
        }
    }

    #[tokio::test]
    async fn a_large_output_takes_room_of_its_owner() {
        let owner = Some(0x434f_4d50);
        let all = room_for_bytes(owner, usize::MAX).await;
        let call: ComponentCall = Box::pin(async { Ok("x".repeat(BYTES_MAX)) });
        let component = Component {
            id: 1,
            call: Mutex::new(Some(call)),
            hosts: Arc::new([]),
            senders: Senders::new(Http::new(&EgressPolicy::default()), Handle::current()),
        };
        let context = HttpNeeds {
            place: ResultPlace::among(Arc::new(Semaphore::new(1)), owner),
            ..HttpNeeds::of(&handles())
        };
        let mut calling = Box::pin(component.start(json!({"key": "1"}), context));
        assert!((&mut calling).now_or_never().is_none());
        drop(all);
        assert!(calling.await.is_ok());
    }

    #[tokio::test]
    async fn a_request_has_no_more_bytes_than_one_of_another_effect() {
        let senders = Senders::new(Http::new(&EgressPolicy::default()), Handle::current());
        let context = HttpNeeds::of(&handles());
        let _opened = senders.open(1, Sender { context, sent: 0 });
        let (url, name) = ("http://example.com/".to_owned(), "x-header".to_owned());
        let room = BYTES_MAX - "POST".len() - url.len() - name.len();
        for (body, expected) in [
            // The definition lists no hosts.
            (room, EffectCode::NotPermitted),
            (room + 1, EffectCode::EffectLimit),
        ] {
            let request = ComponentRequest {
                method: "POST".to_owned(),
                url: url.clone(),
                headers: vec![(name.clone(), String::new())],
                body: Some(vec![b'x'; body]),
                timeout_ms: Some(60_000),
                follow_redirects: false,
            };
            let refused = senders.send(1, request).await.unwrap_err();
            assert_eq!(refused.code, expected, "{refused}");
        }
        assert!(senders.sent_bytes() < BYTES_MAX as u64);
    }
}
