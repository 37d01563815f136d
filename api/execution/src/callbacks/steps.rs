//! The forms of a run that one person fills in, one after another: which are open, and how the run has ended. Knows nothing of
//! HTTP and pages.

use super::{Callbacks, STEP, STEPS, TOKEN_BYTES, form, hmac, place_of, state};
use crate::deployment::tenant_of;
use heddle_model::clock::monotonic;
use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::{RunId, UserId};
use heddle_model::slot::Slot;
use heddle_model::status::RunStatus;
use heddle_model::tenant::Tenant;
use heddle_runtime::aside_if_large;
use heddle_store::runs::journal::{self, StoredEntry};
use heddle_store::runs::{responses, upkeep};
use heddle_store::{StoreError, deployments};
use hmac::Mac;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::fmt::Write;
use std::time::Duration;

/// Between two looks at a run, at first and later.
const PAUSE_MIN: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_millis(500);
/// The longest pause between two looks while the run waits for something else, which may take days.
const WAITING_PAUSE_MAX: Duration = Duration::from_secs(2);

/// Where a run is, for whoever fills in its forms.
#[derive(Clone, Debug)]
pub enum Step {
    /// It asks for these, of which there are several if branches ask at the same time.
    Asks(Vec<OpenStep>),
    /// It has not come to the next one yet.
    Works,
    /// It waits for something else first, such as a time or somebody who approves.
    Waits,
    /// It has ended.
    Ended {
        status: RunStatus,
        /// What RespondToWebhook gave, if that was kept.
        response: Option<Box<RawValue>>,
    },
}

/// A form that a run waits for.
#[derive(Clone, Debug)]
pub struct OpenStep {
    pub title: String,
    /// What follows `/callbacks/` in its URL.
    pub path: String,
}

/// Whose a run is that asks.
#[derive(Clone, Debug)]
pub struct RunAsking {
    pub tenant: Tenant,
    /// Who owns what it executes.
    pub owner: UserId,
    /// Which of the pattern's deployments it executes.
    pub slot: Slot,
    /// The trigger at which it began.
    pub trigger: Option<String>,
}

impl Callbacks {
    pub async fn steps_path(&self, run: RunId) -> Result<String, ServiceError> {
        let key = self.any_key(run).await?;
        Ok(path(run, key.expose_secret(), STEPS, "steps"))
    }

    pub async fn asking(&self, run: RunId) -> Result<RunAsking, ServiceError> {
        let mut reader = self.store.reader().await?;
        let row = upkeep::asking(&mut reader.db(), run).await?;
        let row = row.ok_or(Code::NotFound)?;
        let deployment = deployments::by_id_for_system(&mut reader.db(), row.deployment_id).await?;
        let deployment = deployment.ok_or(Code::NotFound)?;
        Ok(RunAsking {
            tenant: tenant_of(&deployment),
            owner: deployment.owner_id,
            slot: deployment.slot(),
            trigger: row.node_id,
        })
    }

    pub async fn next_step(&self, run: RunId, patience: Duration) -> Result<Step, ServiceError> {
        let key = self.any_key(run).await?;
        let until = monotonic() + patience;
        let mut pause = PAUSE_MIN;
        let mut asked_before = 0;
        loop {
            let step = self.step(run, key.expose_secret()).await?;
            let pause_max = match &step {
                Step::Works => PAUSE_MAX,
                Step::Waits => WAITING_PAUSE_MAX,
                // Branches that ask at the same time are stored one after the other: they are all there if no other has come.
                Step::Asks(open) if open.len() != asked_before => {
                    asked_before = open.len();
                    PAUSE_MIN
                }
                Step::Asks(_) | Step::Ended { .. } => return Ok(step),
            };
            if monotonic() >= until {
                return Ok(step);
            }
            tokio::time::sleep(pause.min(pause_max)).await;
            pause = (pause * 2).min(pause_max);
        }
    }

    async fn step(&self, run: RunId, key: &str) -> Result<Step, ServiceError> {
        let mut reader = self.store.reader().await?;
        let row = upkeep::asking(&mut reader.db(), run).await?;
        let status = row.ok_or(Code::NotFound)?.status;
        if status != RunStatus::Running {
            let response = responses::of(&mut reader.db(), run).await?;
            return Ok(Step::Ended {
                status,
                response: response.and_then(|response| RawValue::from_string(response).ok()),
            });
        }
        let parked = journal::parked(&mut reader.db(), run).await?;
        if parked.is_empty() {
            return Ok(Step::Works);
        }
        let signalled = journal::signalled(&mut reader.db(), run).await?;
        drop(reader);
        let (now_ms, key) = (self.clock.now().millis(), SecretString::from(key));
        // It may be parked at many places, in states that are large.
        let bytes = parked.iter().map(StoredEntry::bytes).sum();
        let payer = self.payer(run, bytes).await?.map(UserId::as_u128);
        let read = aside_if_large(payer, bytes, move || {
            asks((run, key.expose_secret()), parked, &signalled, now_ms)
        });
        let step = read.await.ok_or(Code::Internal)?;
        Ok(step?)
    }
}

/// What a run asks for that is parked at these places, of which some have been called.
fn asks(
    (run, key): (RunId, &str),
    parked: Vec<StoredEntry>,
    signalled: &HashSet<String>,
    now_ms: i64,
) -> Result<Step, StoreError> {
    let mut open = Vec::new();
    let mut goes_on = false;
    for entry in parked {
        let entry = entry.unpacked()?;
        let state = state(&entry);
        let Some(place) = place_of(&entry.key) else {
            continue;
        };
        let is_over = state["untilMs"].as_i64().is_some_and(|until| until <= now_ms);
        if is_over || signalled.contains(place) {
            goes_on = true;
            continue;
        }
        let follows = state["form"]["follows"] != Value::Bool(false);
        let Some(form) = form(&state).filter(|_| follows) else {
            continue;
        };
        open.push(OpenStep {
            title: form.title,
            path: path(run, key, &format!("{STEP}{place}"), place),
        });
    }
    Ok(match (open.is_empty(), goes_on) {
        (false, _) => Step::Asks(open),
        (true, true) => Step::Works,
        (true, false) => Step::Waits,
    })
}

/// What follows `/callbacks/` in a URL, as the guest makes it.
fn path(run: RunId, key: &str, text: &str, place: &str) -> String {
    let mac = hmac(key.as_bytes(), text.as_bytes()).finalize().into_bytes();
    let token = hex::encode(mac.get(..TOKEN_BYTES).unwrap_or_default());
    let mut path = format!("{run}/{token}/");
    for byte in place.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                path.push(char::from(byte))
            }
            // Writing to a String can't fail.
            _ => drop(write!(path, "%{byte:02X}")),
        }
    }
    path
}
