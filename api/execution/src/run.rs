//! A run on its way from its acceptance to its record. One value travels all the way; the event's bytes are in it until
//! the run executes, or until memory is better used otherwise.

use crate::answer_stream::Beginning;
use crate::deployment::ActiveDeployment;
use crate::live::Live;
use crate::queue::Class;
use heddle_model::clock::Timestamp;
use heddle_model::ids::{EndpointId, RunId};
use heddle_model::status::TriggeredBy;
use serde_json::value::RawValue;
use std::sync::Arc;

/// Largest event of a run, as JSON.
pub const EVENT_BYTES_MAX: usize = 16 << 20;

/// A run to be accepted.
#[derive(Debug)]
pub struct NewRun {
    pub deployment: Arc<ActiveDeployment>,
    /// What starts it.
    pub triggered_by: TriggeredBy,
    /// Trigger at which it starts; `None`: OnManual, or else the first one.
    pub node_id: Option<String>,
    /// eventData as JSON; `null` counts as none.
    pub event: Box<RawValue>,
    /// The event's text, if the caller shares it with others: it is stored without another copy.
    pub text: Option<Arc<str>>,
    /// Under which it may be accepted only once within 24 hours.
    pub idempotency: Option<IdempotencyKey>,
    /// Whether somebody waits for its end.
    pub wait: bool,
    /// The run that calls it, if one does.
    pub caller: Option<Caller>,
    /// Its id, if it has one before it is accepted: it holds files.
    pub id: Option<RunId>,
}

/// What makes an event that comes twice one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyKey {
    pub(crate) scope: String,
    pub(crate) key: String,
}

impl IdempotencyKey {
    /// A key within those of an endpoint.
    pub fn of_endpoint(endpoint: EndpointId, key: String) -> Self {
        IdempotencyKey {
            scope: endpoint.to_string(),
            key,
        }
    }

    /// A key within those of a run that starts another one.
    pub(crate) fn of_run(run: RunId, key: String) -> Self {
        IdempotencyKey {
            scope: run.to_string(),
            key,
        }
    }
}

/// The CallPattern that starts a run.
#[derive(Debug)]
pub struct Caller {
    /// The run that waits for the called one's end, and the key of its effect; `None`: none waits.
    pub(crate) parent: Option<(RunId, String)>,
    /// How many runs call each other above the called one.
    pub(crate) depth: u32,
}

/// A run's event.
#[derive(Debug)]
pub(crate) enum Event {
    /// In memory.
    Here(Box<RawValue>),
    /// In the database only.
    Stored,
}

impl Event {
    /// The event as the database has it: what was stored as JSON is JSON.
    pub fn of_stored(event: Option<String>) -> Box<RawValue> {
        let event = event.and_then(|event| RawValue::from_string(event).ok());
        event.unwrap_or_else(|| RawValue::NULL.to_owned())
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        self.here().map_or(0, |event| event.get().len())
    }

    /// Its JSON, `null` if there is none; `None`: it is not in memory.
    pub fn here(&self) -> Option<&RawValue> {
        match self {
            Event::Here(event) => Some(event),
            Event::Stored => None,
        }
    }

    /// The text of its JSON, if there is an event and it is in memory.
    pub fn text(&self) -> Option<&str> {
        self.here().map(RawValue::get).filter(|text| *text != "null")
    }

    /// Leaves it to the database from now on.
    pub fn leave(&mut self) {
        if self.text().is_some() {
            *self = Event::Stored;
        }
    }

    /// Takes it out of memory; `None`: it is not there. Afterwards only the database has it.
    pub fn take(&mut self) -> Option<Box<RawValue>> {
        match self {
            Event::Stored => None,
            Event::Here(event) if event.get() == "null" => Some(event.clone()),
            Event::Here(_) => match std::mem::replace(self, Event::Stored) {
                Event::Here(event) => Some(event),
                Event::Stored => None,
            },
        }
    }
}

/// An accepted run, or one that is about to be.
#[derive(Debug)]
pub(crate) struct Run {
    pub id: RunId,
    /// The server that has it. What is done about the run counts only for as long as that is so.
    pub owner: Arc<str>,
    pub deployment: Arc<ActiveDeployment>,
    pub triggered_by: TriggeredBy,
    pub node_id: Option<String>,
    pub event: Event,
    /// Bytes of its event, wherever that is.
    pub event_bytes: usize,
    /// From 1.
    pub attempt: u32,
    /// Whether somebody waits for its end.
    pub wait: bool,
    pub accepted_at: Timestamp,
    /// The run that waits for this one's end, and the key of its effect.
    pub parent: Option<(RunId, String)>,
    /// How many runs call each other above it.
    pub depth: u32,
    /// Whether it may have a journal from before.
    pub has_history: bool,
    /// Whether it was taken up or woken here, so that another server may have had it before.
    pub was_taken: bool,
    /// Whether it may have waited before as a row only.
    pub has_parked: bool,
    /// What its executions before have used.
    pub fuel_before: i64,
    /// Bytes of its event and of the results of its effects, as far as it has executed here.
    pub kept_bytes: usize,
    /// Whether it may have brought a server down.
    pub is_suspect: bool,
    pub live: Arc<Live>,
}

impl Run {
    /// A new one, and the scope and the key of its idempotency.
    pub fn accepted(
        id: RunId,
        owner: Arc<str>,
        now: Timestamp,
        new: NewRun,
    ) -> (Self, Option<(String, String)>) {
        let (parent, depth) = new.caller.map_or((None, 0), |it| (it.parent, it.depth));
        let run = Run {
            id,
            owner,
            live: Live::new(new.deployment.id, new.deployment.share()),
            deployment: new.deployment,
            triggered_by: new.triggered_by,
            node_id: new.node_id,
            event_bytes: new.event.get().len(),
            event: Event::Here(new.event),
            attempt: 1,
            wait: new.wait,
            accepted_at: now,
            parent,
            depth,
            has_history: false,
            was_taken: false,
            has_parked: false,
            fuel_before: 0,
            kept_bytes: 0,
            is_suspect: false,
        };
        (run, new.idempotency.map(|it| (it.scope, it.key)))
    }

    /// By which whoever waits for it hears of a response that it streams, if it may.
    pub fn offer_stream(&self) -> Option<Beginning> {
        let effects = &self.deployment.manifest().rights.effects;
        // By hand nobody reads it, though they wait for the end.
        let is_read = self.wait && self.triggered_by == TriggeredBy::Webhook;
        let may_stream = is_read && effects.iter().any(|kind| kind == "stream");
        may_stream.then(|| self.live.offer_stream())
    }

    /// By which it waits for its turn.
    pub fn class(&self) -> Class {
        Class::of(self.wait)
    }

    /// What others see of it while it executes.
    pub fn without_event(&self) -> Run {
        Run {
            owner: self.owner.clone(),
            deployment: self.deployment.clone(),
            node_id: self.node_id.clone(),
            event: Event::Stored,
            parent: self.parent.clone(),
            live: self.live.clone(),
            ..*self
        }
    }
}
