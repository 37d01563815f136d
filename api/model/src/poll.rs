//! What an OnPoll node's parameters say: what a service is asked, and where in its answer the elements are that runs are started
//! for. Knows nothing of requests' ways, runs and times.

mod answer;
mod pending;
mod seen;

pub use answer::{AnswerProblem, Element, Found};
pub use pending::Pending;
pub use seen::Seen;

use crate::clock::Timestamp;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// When it asks if the node does not say.
pub const EVERY_FIVE_MINUTES: &str = "*/5 * * * *";
/// Time for an answer, unless the node has another; none may have more than the last.
const TIMEOUT_MS: f64 = 30_000.0;
const TIMEOUT_MS_MAX: f64 = 60_000.0;
/// What came before the last answer's time is asked for once more: clocks differ, and services list some elements late.
const OVERLAP_MS: i64 = 60_000;

/// What a service is asked again and again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Poll {
    url: String,
    connection: Option<String>,
    method: String,
    query: Map<String, Value>,
    headers: Map<String, Value>,
    body: Option<Value>,
    timeout_ms: f64,
    /// Where the list is; none: the answer is the list.
    items: Option<String>,
    /// Where in an element its id is; none: the whole element tells it from others.
    id: Option<String>,
    /// Whether the list is a table, whose first element has the names of its columns.
    is_table: bool,
    /// Where in the answer the next request's cursor is.
    cursor: Option<String>,
    /// The query parameter that has it.
    cursor_parameter: Option<String>,
    /// The query parameter that has the time of the last answer.
    since_parameter: Option<String>,
    /// Whether runs are started for what is there at the first time.
    pub from_beginning: bool,
    /// Whether all that is new in an answer becomes one run.
    pub is_list: bool,
}

impl Poll {
    /// From a node's parameters.
    pub fn of(parameters: &Map<String, Value>) -> Self {
        let text = |name: &str| parameters.get(name).and_then(Value::as_str).map(str::to_owned);
        let object = |name: &str| {
            let given = parameters.get(name).and_then(Value::as_object);
            given.cloned().unwrap_or_default()
        };
        let timeout_ms = parameters.get("timeoutMs").and_then(Value::as_f64);
        Poll {
            url: text("url").unwrap_or_default(),
            connection: text("connection"),
            method: text("method").unwrap_or_else(|| "GET".to_owned()),
            query: object("query"),
            headers: object("headers"),
            body: parameters.get("body").filter(|body| !body.is_null()).cloned(),
            timeout_ms: timeout_ms.unwrap_or(TIMEOUT_MS).min(TIMEOUT_MS_MAX),
            items: text("items"),
            id: text("id"),
            is_table: parameters.get("table") == Some(&Value::Bool(true)),
            cursor: text("cursor"),
            cursor_parameter: text("cursorParameter"),
            since_parameter: text("sinceParameter"),
            from_beginning: text("startFrom").as_deref() == Some("beginning"),
            is_list: text("as").as_deref() == Some("list"),
        }
    }

    /// Tells what is asked from what was asked before: what was seen of another list says nothing of this one.
    pub fn fingerprint(&self) -> String {
        let mut said = json!([
            self.url,
            self.connection,
            self.method,
            self.query,
            self.body,
            self.items,
            self.id,
            self.cursor,
            self.cursor_parameter,
        ]);
        // What was known of lists before there were tables is still.
        if let (true, Value::Array(said)) = (self.is_table, &mut said) {
            said.push("table".into());
        }
        if let (Some(name), Value::Array(said)) = (&self.since_parameter, &mut said) {
            said.push(json!({ "since": name }));
        }
        hex::encode(Sha256::digest(said.to_string()))
    }

    /// The request, as the effect `http` takes it.
    pub fn request(&self, cursor: Option<&str>) -> Value {
        let mut pairs = texts(&self.query);
        let name = self.cursor_parameter.as_ref().or(self.since_parameter.as_ref());
        if let (Some(name), Some(cursor)) = (name, cursor) {
            pairs.retain(|(other, _)| other != name);
            pairs.push((name.clone(), cursor.to_owned()));
        }
        let mut headers = texts(&self.headers);
        let mut says = |name: &str, value: &str| {
            if !headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)) {
                headers.push((name.to_owned(), value.to_owned()));
            }
        };
        says("Accept", "application/json");
        if self.body.is_some() {
            says("Content-Type", "application/json");
        }
        let mut request = json!({
            "method": self.method,
            "url": with_query(&self.url, &pairs),
            "headers": headers,
            "timeoutMs": self.timeout_ms,
        });
        if let Some(connection) = &self.connection {
            request["connection"] = connection.clone().into();
        }
        if let Some(body) = &self.body {
            request["body"] = json!({ "text": body.to_string() });
        }
        request
    }

    /// What a request says that asks for what has come since this time, if it says a time.
    pub fn since(&self, time: Timestamp) -> Option<String> {
        let from = Timestamp::from_millis(time.millis().saturating_sub(OVERLAP_MS));
        self.since_parameter.as_ref().map(|_| from.to_string())
    }

    /// Whether requests say a time.
    pub fn says_since(&self) -> bool {
        self.since_parameter.is_some()
    }

    /// What is in an answer.
    pub fn found<'a>(&self, answer: &'a str) -> Result<Found<'a>, AnswerProblem> {
        answer::found(
            answer,
            (self.items.as_deref(), self.id.as_deref(), self.is_table),
            self.cursor.as_deref(),
        )
    }
}

/// Names with their values as texts; of a list, each.
pub(crate) fn texts(given: &Map<String, Value>) -> Vec<(String, String)> {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let pairs = |(name, value): (&String, &Value)| -> Vec<(String, String)> {
        match value {
            Value::Null => Vec::new(),
            Value::Array(several) => several.iter().map(|one| (name.clone(), text(one))).collect(),
            one => vec![(name.clone(), text(one))],
        }
    };
    given.iter().flat_map(pairs).collect()
}

/// The address with more in its query. It may be a path, so it is changed as text.
pub(crate) fn with_query(url: &str, pairs: &[(String, String)]) -> String {
    if pairs.is_empty() {
        return url.to_owned();
    }
    let (url, fragment) = url.split_at(url.find('#').unwrap_or(url.len()));
    let separator = match url.split_once('?') {
        None => "?",
        Some((_, query)) if query.is_empty() || query.ends_with('&') => "",
        Some(_) => "&",
    };
    let query = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(pairs)
        .finish();
    format!("{url}{separator}{query}{fragment}")
}
