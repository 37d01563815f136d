//! What is new in an answer, as events. Answers may be large, so this is done aside.

use crate::blocking::computing;
use heddle_model::clock::Timestamp;
use heddle_model::error::ServiceError;
use heddle_model::ids::UserId;
use heddle_model::poll::{AnswerProblem, Element, Pending, Poll, Seen};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use std::collections::HashSet;

/// Bytes of the elements in the event of a list; one that is larger has an event of its own.
const LIST_BYTES_MAX: usize = 8 << 20;

/// What is in an answer.
pub(super) struct Picked {
    /// What identifies each element of the list.
    pub keys: Vec<String>,
    /// What is there of a run that was noted.
    pub noted: Option<Batch>,
    /// What else is new, in the answer's order.
    pub batches: Vec<Batch>,
    /// What the next request says; `None`: what this one said.
    pub cursor: Option<String>,
}

/// What one run is started for.
pub(super) struct Batch {
    /// What identifies each of its elements.
    pub keys: Vec<String>,
    pub event: Box<RawValue>,
}

/// The event of an element.
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

/// The event of several elements.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ListEvent<'a> {
    items: Vec<&'a RawValue>,
    polled_at: Timestamp,
    /// As in the event of an element.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<&'a str>,
}

pub(super) async fn pick(
    owner: UserId,
    poll: Poll,
    answer: String,
    (seen, pending): (Seen, Option<Pending>),
    (now, since): (Timestamp, Option<String>),
) -> Result<Result<Picked, AnswerProblem>, ServiceError> {
    computing(Some(owner), move || {
        picked(&poll, &answer, (&seen, pending.as_ref()), (now, since.as_deref()))
    })
    .await
}

fn picked(
    poll: &Poll,
    answer: &str,
    (seen, pending): (&Seen, Option<&Pending>),
    told: (Timestamp, Option<&str>),
) -> Result<Picked, AnswerProblem> {
    let found = poll.found(answer)?;
    let mut names = HashSet::new();
    let (mut noted, mut new) = (Vec::new(), Vec::new());
    for element in &found.elements {
        if seen.has(&element.identity) || !names.insert(element.identity.as_str()) {
            continue;
        }
        match pending.is_some_and(|pending| pending.elements().has(&element.identity)) {
            true => noted.push(element),
            false => new.push(element),
        }
    }
    let batches = match poll.is_list {
        true => lists(new).iter().map(|elements| list(elements, told)).collect(),
        false => new.into_iter().map(|element| alone(element, told)).collect(),
    };
    let noted = (!noted.is_empty()).then(|| list(&noted, told));
    Ok(Picked {
        keys: found
            .elements
            .into_iter()
            .map(|element| element.identity)
            .collect(),
        noted,
        batches,
        cursor: found.cursor,
    })
}

/// The elements of each event, in order.
fn lists<'t, 'a>(elements: Vec<&'t Element<'a>>) -> Vec<Vec<&'t Element<'a>>> {
    let mut lists: Vec<Vec<&Element<'_>>> = Vec::new();
    let mut bytes = 0_usize;
    for element in elements {
        let more = element.json.get().len().saturating_add(1);
        bytes = bytes.saturating_add(more);
        match lists.last_mut() {
            Some(list) if bytes <= LIST_BYTES_MAX => list.push(element),
            _ => {
                bytes = more;
                lists.push(vec![element]);
            }
        }
    }
    lists
}

fn list(elements: &[&Element<'_>], (polled_at, since): (Timestamp, Option<&str>)) -> Batch {
    let event = ListEvent {
        items: elements.iter().map(|element| &*element.json).collect(),
        polled_at,
        since,
    };
    Batch {
        keys: elements.iter().map(|element| element.identity.clone()).collect(),
        event: written(&event),
    }
}

fn alone(element: &Element<'_>, (polled_at, since): (Timestamp, Option<&str>)) -> Batch {
    let event = Event {
        item: &element.json,
        id: element.id.as_deref(),
        polled_at,
        since,
    };
    Batch {
        keys: vec![element.identity.clone()],
        event: written(&event),
    }
}

/// What was read as JSON is written as JSON.
fn written(event: &impl Serialize) -> Box<RawValue> {
    to_raw_value(event).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

#[cfg(test)]
mod tests {
    use super::picked;
    use heddle_model::clock::Timestamp;
    use heddle_model::poll::{Poll, Seen};
    use serde_json::{Value, json};

    #[test]
    fn a_list_has_so_many_bytes() {
        let parameters = json!({"url": "https://shop.example.com", "as": "list"});
        let poll = Poll::of(parameters.as_object().unwrap());
        // In MiB.
        let elements: Vec<String> = [3, 3, 3, 9, 1]
            .into_iter()
            .zip('a'..)
            .map(|(size, name)| format!("{name}{}", "x".repeat(size << 20)))
            .collect();
        let told = (Timestamp::from_millis(0), None);
        let found = picked(
            &poll,
            &json!(elements).to_string(),
            (&Seen::default(), None),
            told,
        )
        .unwrap();
        let lists: Vec<String> = found
            .batches
            .iter()
            .map(|batch| {
                let event: Value = serde_json::from_str(batch.event.get()).unwrap();
                let items = event["items"].as_array().unwrap();
                items.iter().map(|item| &item.as_str().unwrap()[..1]).collect()
            })
            .collect();
        assert_eq!(lists, ["ab", "c", "d", "e"]);
    }
}
