//! The interface through which the owner of the runtime starts runs of other patterns.

use super::handles::{Clock, Parking};
use super::progress::EffectFuture;
use super::result_place::ResultPlace;
use heddle_sandbox::EffectError;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::fmt;

/// Runs other patterns for one run.
pub trait Calls: fmt::Debug + Send + Sync + 'static {
    /// Runs a pattern. Dropping the future cancels that run, if its end is waited for.
    fn call(&self, call: Call, context: CallContext) -> EffectFuture;

    /// The process that executes the run has ended: if the run begins again, it finds what it has called, which dropping the futures does
    /// not cancel from now on.
    fn interrupted(&self);
}

/// A call of another pattern.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Call {
    pub pattern_id: String,
    /// The inputs that the called pattern's OnCall emits: as text, since a call may wait for long, and values take many times as much.
    #[serde(default)]
    pub inputs: Box<RawValue>,
    /// Whether its end is waited for.
    pub wait: bool,
    /// Its newest version rather than the deployed one.
    pub latest: bool,
    /// Until when its end is waited for, in milliseconds since 1970 UTC.
    #[serde(skip)]
    pub until_ms: Option<i64>,
    #[serde(default)]
    pub(super) timeout_ms: Option<f64>,
}

/// Where in its run a call stands, and whether it may park.
#[derive(Clone, Debug)]
pub struct CallContext {
    /// Which effect of the run it is, see the run loop in `node-stdlib`.
    pub key: String,
    /// The run's attempt, from 1.
    pub attempt: u32,
    pub(super) clock: Clock,
    pub(super) parking: Parking,
    pub(super) place: ResultPlace,
}

impl CallContext {
    /// Whether the run can continue from a journal, so that the call may park.
    pub fn can_park(&self) -> bool {
        self.parking.is_possible
    }

    /// The state that the call left when it parked in a former execution of the run. Its `signal` is [`CallContext::signal_key`], if that
    /// is not the effect's own.
    pub fn parked(&self) -> Option<&Value> {
        self.parking.state.as_ref()
    }

    /// Under which key the called run leaves its end for the run that calls. The effect's own would not do for every attempt: what a former
    /// attempt has called may end, or be cancelled, after this one has called again.
    pub fn signal_key(&self) -> String {
        match (self.parked(), self.attempt) {
            // Of the attempt that has called.
            (Some(state), _) => state["signal"].as_str().unwrap_or(&self.key).to_owned(),
            (None, ..=1) => self.key.clone(),
            (None, attempt) => format!("{}@{attempt}", self.key),
        }
    }

    /// Takes the place of the called run's result, unless the run that calls has left as many untaken as it may. Only once that run has
    /// ended: with a place nobody waits for what others do.
    pub fn try_take_place(&self) -> bool {
        self.place.try_take()
    }

    /// Waits for a place, and for room for what a result may have, and takes both. Nothing of the called run's result may be in memory
    /// meanwhile.
    pub async fn take_place(&self) {
        self.place.take_with_room().await;
    }

    /// Reads the JSON that the called run has given, once its owner has room for so many values; with a place.
    pub async fn read(&self, json: String) -> Result<Value, EffectError> {
        self.place.read(json).await
    }

    /// Milliseconds since 1970 UTC, by the clock by which waits are measured.
    pub fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }
}
