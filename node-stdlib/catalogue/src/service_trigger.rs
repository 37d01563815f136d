//! A trigger of a service: how what happens there starts runs, as settings of an OnWebhook or OnPoll node.

use crate::role::Start;
use serde_json::{Map, Value};

/// What a node takes besides its own parameters: those of OnWebhook and of OnPoll that have the same meaning for any service.
pub(crate) const OF_WEBHOOK: &[&str] = &["alias", "whenPaused", "requestsPerMinute", "maxBytes", "allowIps"];
pub(crate) const OF_POLL: &[&str] = &["connection", "cron", "as", "startFrom", "timezone"];
/// How a parameter is written in a setting.
const OPENING: &str = "{{ $input.";
const CLOSING: &str = " }}";

/// The requests of a subscription.
pub(crate) const STEPS: &[&str] = &["first", "find", "create", "renew", "remove"];

/// What a node of the type stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceTrigger {
    /// Whose it is: `GitHub`.
    pub service: String,
    /// The page on which the service describes it.
    pub reference: String,
    /// A request of the service's, or a poll.
    pub start: Start,
    /// Parameters of OnWebhook or OnPoll. `{{ $input.name }}` is the node's parameter; a value that is nothing but one of them
    /// is left out where that is not given.
    pub settings: Map<String, Value>,
    /// More settings, by a parameter that is a choice and what is chosen.
    pub cases: Map<String, Value>,
    /// What parameters are that are not given.
    pub defaults: Map<String, Value>,
    /// How the service is told of the webhook, if it can be: fields of a subscription, with parameters in them as in `settings`.
    pub requests: Option<Map<String, Value>>,
    /// Parameters that this needs.
    pub needs: Vec<&'static str>,
    /// What is left to do at the service, for people.
    pub setup: String,
    pub recorded: RecordedStart,
}

/// A start that tests hold the trigger to.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedStart {
    /// The node's parameters, but for `connection`.
    pub parameters: Map<String, Value>,
    /// What the service sends to the webhook (`secret`, `headers`, `body`), or what it is asked (`method`, `url`, `headers`, `body`).
    pub request: Value,
    /// What the service answers when it is asked.
    pub response: Value,
    /// The ids of what is in the answer.
    pub ids: Value,
    /// What the service is told of the webhook, and answers: `parameters`, and of each request `request` and `response`.
    pub subscription: Value,
}

impl ServiceTrigger {
    /// The requests by which a node has its service told of the webhook; none without a connection for them.
    pub fn subscription(&self, given: &Map<String, Value>) -> Option<Map<String, Value>> {
        let (requests, connection) = (self.requests.as_ref()?, connection(given)?);
        let value = |name: &str| self.value(given, name);
        let mut told = Map::from_iter([
            ("service".to_owned(), self.service.as_str().into()),
            ("connection".to_owned(), connection.into()),
        ]);
        for (name, part) in requests {
            let part = match part {
                Value::Object(fields) if STEPS.contains(&name.as_str()) => {
                    let fields = fields.iter();
                    let filled = fields.filter_map(|(name, field)| {
                        Some((name.clone(), filled(field, name == "url", &value)?))
                    });
                    Some(Value::Object(filled.collect()))
                }
                part => filled(part, false, &value),
            };
            told.extend(part.map(|part| (name.clone(), part)));
        }
        Some(told)
    }

    /// Parameters that this needs and a node was not given.
    pub fn lacks(&self, given: &Map<String, Value>) -> Vec<&'static str> {
        let is_lacking = |name: &&str| connection(given).is_some() && self.value(given, name).is_none();
        self.needs.iter().copied().filter(is_lacking).collect()
    }

    /// What a node was given, or else the default.
    fn value(&self, given: &Map<String, Value>, name: &str) -> Option<Value> {
        let there = given.get(name).filter(|value| !value.is_null());
        there.or_else(|| self.defaults.get(name)).cloned()
    }

    /// The parameters of OnWebhook or OnPoll that stand for what a node was given.
    pub fn settings(&self, given: &Map<String, Value>) -> Map<String, Value> {
        let there = |name: &str| given.get(name).filter(|value| !value.is_null()).cloned();
        let value = |name: &str| self.value(given, name);
        let mut settings = Map::new();
        add(&mut settings, &self.settings, &value);
        for (name, options) in &self.cases {
            let chosen = value(name);
            let chosen = chosen.as_ref().and_then(Value::as_str);
            let more = chosen.and_then(|chosen| options.get(chosen)?.as_object());
            if let Some(more) = more {
                add(&mut settings, more, &value);
            }
        }
        let passed = match self.start {
            Start::Poll => OF_POLL,
            _ => OF_WEBHOOK,
        };
        for name in passed.iter().copied() {
            if let Some(value) = there(name) {
                settings.insert(name.to_owned(), value);
            }
        }
        settings
    }
}

fn connection(given: &Map<String, Value>) -> Option<&str> {
    let connection = given.get("connection").and_then(Value::as_str);
    connection.filter(|connection| !connection.is_empty())
}

/// Adds settings with the parameters in them; objects are put together.
fn add(settings: &mut Map<String, Value>, more: &Map<String, Value>, value: &dyn Fn(&str) -> Option<Value>) {
    for (name, setting) in more {
        let Some(filled) = filled(setting, name == "url", value) else {
            continue;
        };
        if let Value::Object(more) = &filled
            && let Some(Value::Object(known)) = settings.get_mut(name)
        {
            known.extend(more.clone());
            continue;
        }
        settings.insert(name.clone(), filled);
    }
}

/// A setting with the parameters in it; none if it is but one that was not given.
fn filled(setting: &Value, is_address: bool, value: &dyn Fn(&str) -> Option<Value>) -> Option<Value> {
    Some(match setting {
        Value::String(text) => match whole(text) {
            Some(name) => value(name)?,
            None => text_with(text, is_address, value).into(),
        },
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .filter_map(|(name, field)| Some((name.clone(), filled(field, is_address, value)?)));
            Value::Object(fields.collect())
        }
        Value::Array(items) => {
            let items = items.iter();
            items.filter_map(|item| filled(item, is_address, value)).collect()
        }
        other => other.clone(),
    })
}

/// The parameter that a text is, if it is nothing else.
fn whole(text: &str) -> Option<&str> {
    let name = text.strip_prefix(OPENING)?.strip_suffix(CLOSING)?;
    name.chars().all(|c| c.is_ascii_alphanumeric()).then_some(name)
}

fn text_with(text: &str, is_address: bool, value: &dyn Fn(&str) -> Option<Value>) -> String {
    let mut written = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(OPENING) {
        written.push_str(before);
        let (name, behind) = after.split_once(CLOSING).unwrap_or((after, ""));
        let part = match value(name) {
            Some(Value::String(text)) => text,
            Some(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
            _ => String::new(),
        };
        match is_address {
            true => written.push_str(&encoded(&part)),
            false => written.push_str(&part),
        }
        rest = behind;
    }
    written.push_str(rest);
    written
}

/// A text as a part of an address.
fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(byte).collect()
}
