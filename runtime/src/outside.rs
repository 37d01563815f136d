//! One effect outside of any run, by the same code and the same guards: hosts, addresses, processes of drivers, time.
//!
//! Knows nothing of what is asked, and of whose budget it is.

use crate::aside::aside;
use crate::connections::{Connections, Granted};
use crate::effects::{Bounds, Clock, Egress, Handles, OpenSinks, OpenStreams, Parking, Progress, Signals};
use crate::egress::names_for;
use crate::entropy::nonce;
use crate::files::MemoryFiles;
use crate::key_values::MemoryValues;
use crate::run_host::HostServices;
use crate::secrets::{Secrets, Vault};
use heddle_sandbox::clock::monotonic;
use heddle_sandbox::{EffectCode, EffectError};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// What the effect may use.
pub(crate) struct Given {
    pub connections: Arc<dyn Connections>,
    /// The connections and hosts that are allowed.
    pub names: Arc<[String]>,
    pub hosts: Arc<[String]>,
    /// Time for all of it.
    pub time_max: Duration,
    /// Largest answer, in bytes.
    pub answer_bytes_max: usize,
    /// What is done, for messages: "The test".
    pub called: &'static str,
}

/// Does it. Neither the result nor messages of errors hold anything of a connection's secrets. Dropping the future ends
/// the work.
pub(crate) async fn perform(
    services: &HostServices,
    (kind, request): (&str, Value),
    given: Given,
) -> Result<Value, EffectError> {
    let Some(effect) = services.effects.get(kind) else {
        let message = format!("This heddle has no effect `{kind}`.");
        return Err(EffectError::new(EffectCode::NotPermitted, message));
    };
    let vault = Arc::new(Vault::new(Secrets::new(), Arc::new([]), nonce()));
    let (time_max, called) = (given.time_max, given.called);
    let owner = given.connections.owner();
    let handles = handles(given, &vault);
    let work = effect.start(request, &handles);
    // Sessions and clients that are kept belong to these threads. The set ends what nobody waits for any more: whoever
    // goes away gives their place back, and must not leave work without one.
    let mut tasks = JoinSet::new();
    tasks.spawn_on(
        names_for(owner, tokio::time::timeout(time_max, work)),
        &services.io,
    );
    let late = || {
        let message = format!("There was no answer within {} ms.", time_max.as_millis());
        EffectError::new(EffectCode::Timeout, message)
    };
    let bug = || {
        let message = format!("{called} failed because of a bug in heddle.");
        EffectError::new(EffectCode::Internal, message)
    };
    match tasks.join_next().await {
        Some(Ok(Ok(Ok(Progress::Done(value))))) => {
            // Answers may be large.
            aside(owner, move || vault.mask_value(value))
                .await
                .ok_or_else(bug)
        }
        Some(Ok(Ok(Err(error)))) => Err(EffectError {
            message: vault.mask_message(&error.message).into_owned(),
            ..error
        }),
        Some(Ok(Ok(Ok(Progress::Parked(_))) | Err(_))) => Err(late()),
        Some(Err(_)) | None => Err(bug()),
    }
}

fn handles(given: Given, vault: &Arc<Vault>) -> Handles {
    let now = monotonic();
    Handles {
        key: "outside".to_owned(),
        idempotency_key: nonce(),
        attempt: 1,
        bounds: Bounds {
            result_bytes_max: given.answer_bytes_max,
            deadline: now.checked_add(given.time_max).unwrap_or(now),
        },
        hosts: given.hosts,
        patterns: Vec::new().into(),
        vault: vault.clone(),
        connections: Arc::new(Granted::new(given.connections, given.names, vault.clone())),
        key_values: Arc::new(MemoryValues::default()),
        files: Arc::new(MemoryFiles::default()),
        response: None,
        sinks: OpenSinks::default(),
        streams: OpenStreams::default(),
        egress: Egress::default(),
        calls: None,
        signals: Signals::of(None),
        clock: Clock::of(None),
        parking: Parking {
            is_possible: false,
            state: None,
        },
        place: None,
    }
}
