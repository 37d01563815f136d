//! What is new in an answer, as events. Answers may be large, so this is done aside.

use crate::blocking::computing;
use heddle_model::clock::Timestamp;
use heddle_model::error::ServiceError;
use heddle_model::poll::{AnswerProblem, Poll, Seen};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use std::collections::HashSet;

/// What is in an answer.
pub(super) struct Picked {
    /// Of all things.
    pub keys: Vec<String>,
    /// Keys and events of those that are new.
    pub new: Vec<(String, Box<RawValue>)>,
    /// What the next request says; `None`: what this one said.
    pub cursor: Option<String>,
}

/// The event of a thing.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Event<'a> {
    item: &'a RawValue,
    id: Option<&'a RawValue>,
    polled_at: Timestamp,
    /// What the request said, if it said a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<&'a str>,
}

pub(super) async fn pick(
    poll: Poll,
    answer: String,
    seen: Seen,
    (now, since): (Timestamp, Option<String>),
) -> Result<Result<Picked, AnswerProblem>, ServiceError> {
    computing(move || picked(&poll, &answer, &seen, (now, since.as_deref()))).await
}

fn picked(
    poll: &Poll,
    answer: &str,
    seen: &Seen,
    (now, since): (Timestamp, Option<&str>),
) -> Result<Picked, AnswerProblem> {
    let found = poll.found(answer)?;
    let mut names = HashSet::new();
    let mut new = Vec::new();
    for thing in &found.things {
        if seen.has(&thing.identity) || !names.insert(thing.identity.as_str()) {
            continue;
        }
        let event = Event {
            item: &thing.json,
            id: thing.id.as_deref(),
            polled_at: now,
            since,
        };
        // What was read as JSON is written as JSON.
        let event = to_raw_value(&event).unwrap_or_else(|_| RawValue::NULL.to_owned());
        new.push((thing.identity.clone(), event));
    }
    Ok(Picked {
        keys: found.things.into_iter().map(|thing| thing.identity).collect(),
        new,
        cursor: found.cursor,
    })
}
