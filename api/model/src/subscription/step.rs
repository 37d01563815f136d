//! A request of a subscription, and what services answer to it: what is there already, what was made, and why it was refused.

use crate::clock::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What is there at the service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remote {
    /// What the service calls it; empty: nothing.
    pub id: String,
    /// Until when it is there; none: for good.
    pub expires_at: Option<i64>,
}

/// Characters that an id or a secret may have.
const TEXT_CHARS_MAX: usize = 500;
/// From which number on a time is one in milliseconds, as it would be the year 5138 in seconds.
const MILLIS_MIN: i64 = 100_000_000_000;
/// Where services say what was wrong.
const MESSAGES: &[&str] = &[
    "error.message",
    "errors.0.message",
    "message",
    "errorMessages.0",
    "description",
    "details.0.message",
    "detail",
    "err",
    "error_info",
    "error",
    "errors.0",
    "errors",
];
/// Characters of that which are told.
const SAID_CHARS_MAX: usize = 300;

/// What is at a path of names and numbers with dots between them.
pub(super) fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    let mut names = path.split('.').filter(|name| !name.is_empty());
    names.try_fold(value, |value, name| match value {
        Value::Array(items) => items.get(name.parse::<usize>().ok()?),
        other => other.get(name),
    })
}

/// A text or a number as a text.
fn text(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    (!text.is_empty() && text.chars().count() <= TEXT_CHARS_MAX).then_some(text)
}

/// An id, of which an address has it as its last part.
fn id(value: &Value) -> Option<String> {
    let text = text(value)?;
    Some(match text.contains("://") {
        true => text.trim_end_matches('/').rsplit('/').next()?.to_owned(),
        false => text,
    })
}

/// A time as a date, or as a number of seconds or milliseconds since 1970.
fn time(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => Timestamp::parse(text).map(Timestamp::millis),
        other => {
            let number = other.as_i64()?;
            Some(match number < MILLIS_MIN {
                true => number.saturating_mul(1_000),
                false => number,
            })
        }
    }
}

/// A request, and where in its answer is what matters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Step {
    pub(super) method: Option<String>,
    pub(super) url: String,
    pub(super) query: Map<String, Value>,
    pub(super) body: Option<Value>,
    pub(super) form: Map<String, Value>,
    /// The list of what is there; none: the answer itself.
    items: Option<String>,
    id: Option<String>,
    /// Where in an element of the list it sends to.
    address: Option<String>,
    secret: Option<String>,
    /// Until when it is there.
    expires: Option<String>,
    /// What is there only if the request has failed, whatever its status.
    error: Option<String>,
}

impl Step {
    /// What in a list sends to this address; `None`: the answer has no list where it should be.
    pub fn found(&self, answer: &Value, address: &str) -> Option<Vec<Remote>> {
        let items = at(answer, self.items.as_deref().unwrap_or_default())?;
        let items = match items {
            Value::Array(items) => items.as_slice(),
            // Where there can be but one.
            Value::Object(_) => std::slice::from_ref(items),
            Value::Null => &[],
            _ => return None,
        };
        let place = self.address.as_deref().unwrap_or_default();
        let sends = |item: &&Value| at(item, place).and_then(Value::as_str) == Some(address);
        items.iter().filter(sends).map(|item| self.remote(item)).collect()
    }

    /// What was made; `None`: the answer doesn't say what it is called.
    pub fn remote(&self, answer: &Value) -> Option<Remote> {
        let id = match &self.id {
            Some(path) => id(at(answer, path)?)?,
            None => String::new(),
        };
        Some(Remote {
            id,
            expires_at: self.expires_at(answer),
        })
    }

    /// Until when it is there, if the answer says so.
    pub fn expires_at(&self, answer: &Value) -> Option<i64> {
        let path = self.expires.as_deref()?;
        at(answer, path).and_then(time)
    }

    /// The secret in the answer.
    pub fn secret(&self, answer: &Value) -> Option<String> {
        let path = self.secret.as_deref()?;
        at(answer, path).and_then(text)
    }

    /// Why it has failed, although its status is one of success.
    pub fn error(&self, answer: &Value) -> Option<String> {
        let path = self.error.as_deref()?;
        at(answer, path).filter(|error| !error.is_null()).map(short)
    }
}

fn short(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    text.trim().chars().take(SAID_CHARS_MAX).collect()
}

/// What an answer says of what was wrong; empty if it says nothing.
pub fn said(answer: &Value) -> String {
    let messages = MESSAGES.iter().filter_map(|path| at(answer, path));
    let mut messages = messages.filter(|message| !message.is_null());
    match (messages.next(), answer) {
        (Some(message), _) => short(message),
        (None, Value::Null) => String::new(),
        (None, other) => short(other),
    }
}
