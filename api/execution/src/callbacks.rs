//! URLs that parked runs wait for: who may call them, and what a call means for the run. Knows nothing of HTTP.

pub(crate) mod steps;

use crate::blocking::computing_if_large;
use crate::poller::Wakeup;
use heddle_compiler::text::values_at_most;
use heddle_model::access::{Editor, Scope};
use heddle_model::clock::{Clock, Timestamp};
use heddle_model::error::{Code, ServiceError};
use heddle_model::form::{Form, VALUES_MAX};
use heddle_model::ids::{DeploymentId, RunId, UserId};
use heddle_store::archive;
use heddle_store::runs::journal::{self, Kept, Payload, StoredEntry};
use heddle_store::runs::listing;
use heddle_store::runs::waiting::{self, Filter, WaitingRow};
use heddle_store::vault::Vault;
use heddle_store::{Db, Load, Store, StoreError};
use hmac::digest::{Key, KeyInit};
use hmac::{Hmac, Mac};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// Bytes of a token; the rest of the HMAC is left out.
const TOKEN_BYTES: usize = 16;

/// Bytes of all that comes for one run: whatever it takes of that is a result of its effects, which have no more either. How many
/// places it has nobody knows but itself.
const SIGNAL_BYTES_MAX: i64 = 32 << 20;

/// What is before the place in what a token is made of. No place has a line break, so that no token is one of another kind.
const STEP: &str = "step\n";
const FORM: &str = "form\n";
const STEPS: &str = "steps\n";

/// What a callback URL is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallbackKind {
    /// A call of any kind.
    Call,
    /// A form for whoever has sent the one before.
    Step,
    /// A form for others.
    Form,
    /// Where the run's forms for one person are, one after another.
    Steps,
}

/// Makes the keys of runs' callbacks. They need not be stored: they follow from the service's own secret. Only those of runs
/// that were moved here from another service are.
pub(crate) struct Callbacks {
    store: Store,
    vault: Arc<Vault>,
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
    pub fn new(
        (base_url, secret): (String, &str),
        (store, vault): (Store, Arc<Vault>),
        clock: Clock,
        parked: Wakeup,
    ) -> Self {
        let secret = Sha256::digest(secret.as_bytes());
        let secret = hmac(&secret, b"heddle callback urls");
        Callbacks {
            store,
            vault,
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

    /// How a run makes its URLs that has made none before.
    pub fn of(&self, run: RunId) -> heddle_runtime::Callbacks {
        self.with(run, self.key(run).into())
    }

    /// How a run makes its URLs that may have made some before, here or where it was moved from.
    pub async fn of_continued(&self, run: RunId) -> Result<heddle_runtime::Callbacks, ServiceError> {
        Ok(self.with(run, self.any_key(run).await?))
    }

    fn with(&self, run: RunId, key: SecretString) -> heddle_runtime::Callbacks {
        heddle_runtime::Callbacks {
            base: format!("{}/callbacks/{run}", self.base_url),
            key,
        }
    }

    /// The key of a run's URLs, for whoever moves it.
    pub async fn any_key(&self, run: RunId) -> Result<SecretString, ServiceError> {
        Ok(match self.moved_key(run).await? {
            Some(key) => key,
            None => self.key(run).into(),
        })
    }

    async fn moved_key(&self, run: RunId) -> Result<Option<SecretString>, ServiceError> {
        let mut reader = self.store.reader().await?;
        Ok(archive::callback_key(&mut reader.db(), &self.vault, run).await?)
    }

    /// What the URL is for that has this place of the run and this token, compared in constant time; `None`: the run has made
    /// no such URL.
    pub async fn kind(
        &self,
        run: RunId,
        place: &str,
        token: &str,
    ) -> Result<Option<CallbackKind>, ServiceError> {
        let Ok(token) = hex::decode(token) else {
            return Ok(None);
        };
        if token.len() != TOKEN_BYTES || place.contains('\n') {
            return Ok(None);
        }
        let kinds = [
            (CallbackKind::Call, place.to_owned()),
            (CallbackKind::Step, format!("{STEP}{place}")),
            (CallbackKind::Form, format!("{FORM}{place}")),
            (CallbackKind::Steps, STEPS.to_owned()),
        ];
        let kind_by = |key: &str| {
            let is_of = |text: &str| {
                let mac = hmac(key.as_bytes(), text.as_bytes());
                mac.verify_truncated_left(&token).is_ok()
            };
            let found = kinds.iter().find(|(_, text)| is_of(text));
            found.map(|(kind, _)| *kind)
        };
        if let Some(kind) = kind_by(&self.key(run)) {
            return Ok(Some(kind));
        }
        let moved = self.moved_key(run).await?;
        Ok(moved.and_then(|key| kind_by(key.expose_secret())))
    }

    /// Lets the run go on that waits at this place, with a request as the event, and gives what the sender gets. It
    /// may come before the run is there; then it waits for the run.
    pub async fn call_back(
        &self,
        run: RunId,
        place: String,
        event: String,
    ) -> Result<CallbackResponse, ServiceError> {
        let now_ms = self.clock.now().millis();
        // Whoever sends it, it is done in the turn of the run's owner: nobody else waits for what comes for that one.
        let payer = self.payer(run, event.len()).await?;
        let load = Load::of(payer, event.len());
        let seen = self.see(payer, run, &place).await?;
        let payload = computing_if_large(payer, event.len(), move || Payload::new(event)).await?;
        let found = self
            .store
            .write_sized(load, move |db| {
                Box::pin(async move {
                    let at = (run, place.as_str(), now_ms);
                    call_back(db, at, &payload, seen.as_ref()).await
                })
            })
            .await?;
        self.response(found)
    }

    /// Calls back on behalf of somebody who may see the run; only once the run waits, since nothing else tells which places it has.
    pub async fn answer(
        &self,
        editor: Editor,
        (deployment, run): (DeploymentId, RunId),
        place: String,
        event: String,
    ) -> Result<CallbackResponse, ServiceError> {
        let now_ms = self.clock.now().millis();
        let mut reader = self.store.reader().await?;
        let run_row = listing::visible(&mut reader.db(), &editor, deployment, run).await?;
        drop(reader);
        run_row.ok_or(Code::NotFound)?;
        let user = Some(editor.user());
        let seen = self.see(user, run, &place).await?;
        let mut reader = self.store.reader().await?;
        let at = (run, place.as_str(), now_ms);
        let found = waits_as_seen(&mut reader.db(), at, seen.as_ref()).await?;
        drop(reader);
        let state = match found {
            Ok(state) => state,
            Err(instead) => return self.response(instead),
        };
        let load = Load::of(user, event.len());
        // Before the transaction, since events may have megabytes, and forms many choices.
        let of_state = seen.as_ref().map_or(0, |seen| seen.entry.bytes());
        let bytes = event.len().saturating_add(of_state);
        let fitted = move || checked(&state, event).map(Payload::new);
        let fitted = computing_if_large(user, bytes, fitted).await?;
        let payload = fitted.map_err(|refused| Code::Validation.with(refused))?;
        let write = self.store.write_sized(load, move |db| {
            Box::pin(async move {
                if listing::visible(db, &editor, deployment, run).await?.is_none() {
                    return Ok(Found::Nothing);
                }
                let at = (run, place.as_str(), now_ms);
                match waits_as_seen(db, at, seen.as_ref()).await? {
                    Ok(state) => take(db, (run, place.as_str()), &payload, state).await,
                    Err(instead) => Ok(instead),
                }
            })
        });
        let found: Result<Found, StoreError> = write.await;
        self.response(found?)
    }

    /// In whose turn so many bytes for a run are dealt with, or of it: its owner's. Few need none. What is large is not dealt with for a
    /// run that is not there: it would be in nobody's turn, and comes to nobody.
    async fn payer(&self, run: RunId, bytes: usize) -> Result<Option<UserId>, ServiceError> {
        match Load::of(None, bytes).is_large() {
            false => Ok(None),
            true => Ok(Some(self.asking(run).await?.owner)),
        }
    }

    /// Reads in what state a run waits at a place, so that a transaction, for which others wait, need not. `payer`: in whose turn, if not
    /// in that of the run's owner.
    async fn see(
        &self,
        payer: Option<UserId>,
        run: RunId,
        place: &str,
    ) -> Result<Option<Seen>, ServiceError> {
        let mut reader = self.store.reader().await?;
        let entry = journal::entry_of(&mut reader.db(), run, keys_of(place)).await?;
        drop(reader);
        // That of one that is over is its result, which nobody wants.
        let Some(entry) = entry.filter(|entry| entry.number.is_none()) else {
            return Ok(None);
        };
        let payer = match payer {
            Some(payer) => Some(payer),
            None => self.payer(run, entry.bytes()).await?,
        };
        let seen = computing_if_large(payer, entry.bytes(), move || Seen::of(entry)).await?;
        Ok(Some(seen?))
    }

    fn response(&self, found: Found) -> Result<CallbackResponse, ServiceError> {
        match found {
            Found::First(state) => {
                self.parked.wake();
                let body = state.get("respondBody").filter(|body| !body.is_null());
                Ok(CallbackResponse {
                    body: body.cloned().unwrap_or_else(|| json!({ "status": "accepted" })),
                    page: html(&state, "respondPage"),
                })
            }
            Found::Full => Err(Code::PayloadTooLarge.with(format!(
                "The run can't take this: it was sent {} MiB, which is all that a run can hold.",
                SIGNAL_BYTES_MAX >> 20
            ))),
            Found::Again => Err(called_before()),
            Found::Over => Err(over()),
            Found::Nothing => Err(Code::NotFound.into()),
        }
    }

    /// What the node asks by; an error unless a call would be the one that counts. Changes nothing.
    pub async fn look(&self, run: RunId, place: &str) -> Result<CallbackForm, ServiceError> {
        let now_ms = self.clock.now().millis();
        let seen = self.see(None, run, place).await?;
        let mut reader = self.store.reader().await?;
        match look(&mut reader.db(), (run, place, now_ms), seen.as_ref()).await? {
            Look::Early => Ok(CallbackForm::default()),
            Look::Waiting(state) => Ok(CallbackForm {
                page: html(&state, "page"),
                form: form(&state),
            }),
            Look::Called => Err(called_before()),
            Look::Over => Err(over()),
            Look::Nothing => Err(Code::NotFound.into()),
        }
    }

    /// A page of what runs wait for, and where the next one begins.
    pub async fn waiting(&self, scope: &Scope, filter: Filter) -> Result<WaitingPage, ServiceError> {
        let now = self.clock.now();
        let size = usize::try_from(filter.limit).unwrap_or(1);
        let more = Filter {
            // One more tells whether there is a next page.
            limit: filter.limit.saturating_add(1),
            ..filter
        };
        let mut rows = waiting::page(&mut self.store.reader().await?.db(), scope, &more).await?;
        let has_more = rows.len() > size;
        rows.truncate(size);
        let last = rows.last().filter(|_| has_more);
        let next = last.map(|row| (row.run_id, row.key.clone()));
        // What runs wait in may be large.
        let bytes = rows.iter().map(WaitingRow::state_bytes).sum();
        let read = computing_if_large(Some(scope.user()), bytes, move || {
            let callbacks = rows.into_iter().filter_map(WaitingCallback::read);
            callbacks.filter(|callback| callback.until > now).collect()
        });
        let callbacks: Vec<WaitingCallback> = read.await?;
        Ok(WaitingPage { callbacks, next })
    }
}

/// The form that the state of a wait has.
fn form(state: &Value) -> Option<Form> {
    state.get("form")?.as_object().map(Form::of)
}

/// An answer by a member, with the values that the form makes of its body, if the wait has one, or why it does not fit.
fn checked(state: &Value, event: String) -> Result<String, String> {
    let Some(form) = form(state) else {
        return Ok(event);
    };
    if values_at_most(&event) > VALUES_MAX {
        return Err(format!("The body has more than {VALUES_MAX} values."));
    }
    let mut event: Value = serde_json::from_str(&event).unwrap_or_default();
    let given = event.get("body").and_then(Value::as_object).cloned();
    let given = given.unwrap_or_default();
    if let Some(told) = form.unknown(&given) {
        return Err(told);
    }
    let values = form.check_json(&given).map_err(|mistakes| {
        format!(
            "The body must have the form's fields. {}",
            form.summary(&mistakes)
        )
    })?;
    if let Some(event) = event.as_object_mut() {
        event.insert("body".to_owned(), Value::Object(values));
    }
    Ok(event.to_string())
}

/// HTML that the state of a wait has.
fn html(state: &Value, name: &str) -> Option<String> {
    state.get(name).and_then(Value::as_str).map(str::to_owned)
}

fn called_before() -> ServiceError {
    Code::Conflict.with("This URL has already been called; it works only once.")
}

fn over() -> ServiceError {
    Code::Gone.with("Nothing is waiting for this call any longer.")
}

/// What a place of a run asks by; nothing as long as the run has not come there.
#[derive(Clone, Debug, Default)]
pub struct CallbackForm {
    /// The pattern's own page.
    pub page: Option<String>,
    /// The page with fields.
    pub form: Option<Form>,
}

/// What the sender of a call gets.
#[derive(Clone, Debug)]
pub struct CallbackResponse {
    /// Text, or any other JSON.
    pub body: Value,
    /// HTML for a browser, in place of the body.
    pub page: Option<String>,
}

/// A page of the callbacks that runs wait for.
#[derive(Clone, Debug)]
pub struct WaitingPage {
    /// The callbacks, of the newest run first.
    pub callbacks: Vec<WaitingCallback>,
    /// After which the next page begins.
    pub next: Option<(RunId, String)>,
}

/// A callback that a run waits for.
#[derive(Clone, Debug)]
pub struct WaitingCallback {
    /// The run and its deployment.
    pub row: WaitingRow,
    /// The node, with the composites that it is in, and its iteration in loops.
    pub place: String,
    /// When the run goes on without.
    pub until: Timestamp,
    /// The names of the form's fields, if it asks by one.
    pub fields: Option<Vec<String>>,
}

impl WaitingCallback {
    /// `None`: it is an effect of another kind.
    fn read(row: WaitingRow) -> Option<Self> {
        let state: Value = serde_json::from_str(&row.unpacked_state().ok()?).ok()?;
        state.get("respondBody")?;
        let until = Timestamp::from_millis(state.get("untilMs")?.as_i64()?);
        let place = place_of(&row.key)?.to_owned();
        let fields = form(&state).map(|form| form.fields.into_iter().map(|field| field.name).collect());
        Some(WaitingCallback {
            row,
            place,
            until,
            fields,
        })
    }
}

/// How the keys end of the first effect of an execution.
const FIRST_EFFECT: &str = "/1.0";

/// What a call found.
enum Found {
    /// It is the first: the state of the run's wait, null if the run is not there yet.
    First(Arc<Value>),
    /// The run was sent as much as it can hold.
    Full,
    Again,
    Over,
    Nothing,
}

impl Found {
    /// What there is in place of a wait.
    fn instead(look: &Look) -> Self {
        match look {
            Look::Nothing | Look::Early | Look::Waiting(_) => Found::Nothing,
            Look::Over => Found::Over,
            Look::Called => Found::Again,
        }
    }
}

async fn call_back(
    db: &mut Db<'_>,
    (run, place, now_ms): (RunId, &str, i64),
    payload: &Payload,
    seen: Option<&Seen>,
) -> Result<Found, StoreError> {
    let state = match look(db, (run, place, now_ms), seen).await? {
        Look::Early => Arc::default(),
        Look::Waiting(state) => state,
        other => return Ok(Found::instead(&other)),
    };
    take(db, (run, place), payload, state).await
}

/// Keeps what has come for a place of a run.
async fn take(
    db: &mut Db<'_>,
    (run, place): (RunId, &str),
    payload: &Payload,
    state: Arc<Value>,
) -> Result<Found, StoreError> {
    if journal::signal_bytes(db, run).await? >= SIGNAL_BYTES_MAX {
        return Ok(Found::Full);
    }
    if !journal::signal(db, run, place, payload).await? {
        return Ok(Found::Again);
    }
    Ok(Found::First(state))
}

/// How a place of a run is.
enum Look {
    /// There is no such run.
    Nothing,
    /// It has ended, or has gone on without.
    Over,
    Called,
    /// The run has not come there yet.
    Early,
    /// It waits, in this state.
    Waiting(Arc<Value>),
}

/// The state in which a run was seen to wait.
struct Seen {
    entry: StoredEntry,
    state: Arc<Value>,
}

impl Seen {
    fn of(entry: StoredEntry) -> Result<Self, StoreError> {
        let state = state(&entry.clone().unpacked()?);
        Ok(Seen {
            entry,
            state: Arc::new(state),
        })
    }

    /// Whether a state is the one that was read here.
    fn is_of(&self, state: &Arc<Value>) -> bool {
        Arc::ptr_eq(&self.state, state)
    }
}

/// Looks how a place of a run is. What was seen before is not read again if it is the same still.
async fn look(
    db: &mut Db<'_>,
    (run, place, now_ms): (RunId, &str, i64),
    seen: Option<&Seen>,
) -> Result<Look, StoreError> {
    match journal::is_running(db, run).await? {
        None => return Ok(Look::Nothing),
        Some(false) => return Ok(Look::Over),
        Some(true) => {}
    }
    let entry = journal::entry_of(db, run, keys_of(place)).await?;
    if journal::signalled(db, run).await?.contains(place) {
        return Ok(Look::Called);
    }
    let Some(entry) = entry else {
        return Ok(Look::Early);
    };
    if entry.number.is_some() {
        return Ok(Look::Over);
    }
    let state = match seen.filter(|seen| seen.entry == entry) {
        Some(seen) => seen.state.clone(),
        None => Seen::of(entry)?.state,
    };
    let until_ms = state.get("untilMs").and_then(Value::as_i64);
    let is_over = until_ms.is_some_and(|until_ms| until_ms <= now_ms);
    Ok(match is_over {
        true => Look::Over,
        false if state.get("respondBody").is_none() => Look::Early,
        false => Look::Waiting(state),
    })
}

/// The state in which a run waits at a place, if it still waits as it was seen before; otherwise what is there now. That seldom differs, so
/// whoever answers may ask again.
async fn waits_as_seen(
    db: &mut Db<'_>,
    at: (RunId, &str, i64),
    seen: Option<&Seen>,
) -> Result<Result<Arc<Value>, Found>, StoreError> {
    Ok(match look(db, at, seen).await? {
        Look::Waiting(state) if seen.is_some_and(|seen| seen.is_of(&state)) => Ok(state),
        other => Err(Found::instead(&other)),
    })
}

/// The keys that the effect of a wait at a place may have: it is the first of its execution, whose path is empty outside of loops.
fn keys_of(place: &str) -> [String; 2] {
    [
        format!("{place}{FIRST_EFFECT}"),
        format!("{place}/{FIRST_EFFECT}"),
    ]
}

/// The place of an effect that a callback's URL names.
fn place_of(key: &str) -> Option<&str> {
    Some(key.strip_suffix(FIRST_EFFECT)?.trim_end_matches('/'))
}

fn state(entry: &Kept) -> Value {
    serde_json::from_str(&entry.entry).unwrap_or_default()
}
