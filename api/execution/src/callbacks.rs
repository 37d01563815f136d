//! URLs that parked runs wait for: who may call them, and what a call means for the run. Knows nothing of HTTP.

use crate::poller::Wakeup;
use heddle_model::clock::Clock;
use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::RunId;
use heddle_store::runs::journal::{self, Kept};
use heddle_store::{Db, Store, StoreError};
use hmac::digest::{Key, KeyInit};
use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Bytes of a token; the rest of the HMAC is left out.
const TOKEN_BYTES: usize = 16;

/// Makes the keys of runs' callbacks. They need not be stored: they follow from the service's own secret.
pub(crate) struct Callbacks {
    store: Store,
    clock: Clock,
    parked: Wakeup,
    base_url: String,
    secret: [u8; 32],
}

/// With a key of at most 64 bytes, the algorithm's block (RFC 2104): shorter ones are filled up with zeros.
fn hmac(key: &[u8], text: &[u8]) -> Hmac<Sha256> {
    let mut block = Key::<Hmac<Sha256>>::default();
    for (byte, of_key) in block.iter_mut().zip(key) {
        *byte = *of_key;
    }
    <Hmac<Sha256> as KeyInit>::new(&block).chain_update(text)
}

impl Callbacks {
    pub fn new((base_url, secret): (String, &str), store: Store, clock: Clock, parked: Wakeup) -> Self {
        let secret = Sha256::digest(secret.as_bytes());
        let secret = hmac(&secret, b"heddle callback urls");
        Callbacks {
            store,
            clock,
            parked,
            base_url,
            secret: secret.finalize().into_bytes().into(),
        }
    }

    fn key(&self, run: RunId) -> String {
        let key = hmac(&self.secret, run.to_string().as_bytes());
        hex::encode(key.finalize().into_bytes())
    }

    /// How a run makes its URLs.
    pub fn of(&self, run: RunId) -> heddle_runtime::Callbacks {
        heddle_runtime::Callbacks {
            base: format!("{}/callbacks/{run}", self.base_url),
            key: self.key(run),
        }
    }

    /// Whether the token is the one of this place of the run, in constant time.
    pub fn is_valid(&self, run: RunId, place: &str, token: &str) -> bool {
        let Ok(token) = hex::decode(token) else {
            return false;
        };
        let mac = hmac(self.key(run).as_bytes(), place.as_bytes());
        token.len() == TOKEN_BYTES && mac.verify_truncated_left(&token).is_ok()
    }

    /// Lets the run go on that waits at this place, with a request as the event, and gives what the sender gets. It
    /// may come before the run is there; then it waits for the run.
    pub async fn call_back(&self, run: RunId, place: String, event: String) -> Result<Value, ServiceError> {
        let now_ms = self.clock.now().millis();
        let found = self
            .store
            .write(move |db| Box::pin(async move { call_back(db, run, &place, &event, now_ms).await }))
            .await?;
        match found {
            Found::First(body) => {
                self.parked.wake();
                Ok(body.unwrap_or_else(|| json!({ "status": "accepted" })))
            }
            Found::Again => Err(Code::Conflict.with("This URL has been called before; it works once.")),
            Found::Over => Err(Code::Gone.with("Nobody waits for this call any more.")),
            Found::Nothing => Err(Code::NotFound.into()),
        }
    }
}

/// What a call found.
enum Found {
    /// It is the first: what its sender gets, if the run has said so by now.
    First(Option<Value>),
    Again,
    Over,
    Nothing,
}

async fn call_back(
    db: &mut Db<'_>,
    run: RunId,
    place: &str,
    event: &str,
    now_ms: i64,
) -> Result<Found, StoreError> {
    match journal::is_running(db, run).await? {
        None => return Ok(Found::Nothing),
        Some(false) => return Ok(Found::Over),
        Some(true) => {}
    }
    // The wait's effect is the first of its execution; outside of loops the execution's path is empty.
    let keys = [format!("{place}/1.0"), format!("{place}//1.0")];
    let entry = journal::entry_of(db, run, keys).await?;
    let state = entry.as_ref().map(state);
    let until_ms = state.as_ref().and_then(|state| state["untilMs"].as_i64());
    let is_over = match &entry {
        Some(entry) => entry.number.is_some() || until_ms.is_some_and(|until_ms| until_ms <= now_ms),
        None => false,
    };
    if is_over {
        let signals = journal::signals(db, run).await?;
        let called = signals.iter().any(|(key, _)| key == place);
        return Ok(if called { Found::Again } else { Found::Over });
    }
    if !journal::signal(db, run, place, event).await? {
        return Ok(Found::Again);
    }
    let body = state.and_then(|mut state| state.get_mut("respondBody").map(Value::take));
    Ok(Found::First(body.filter(|body| !body.is_null())))
}

fn state(entry: &Kept) -> Value {
    serde_json::from_str(&entry.entry).unwrap_or_default()
}
