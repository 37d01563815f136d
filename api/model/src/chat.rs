//! What an OnChat node's parameters say of its page, and which messages it takes. Knows nothing about requests and pages.

use serde_json::{Map, Value};

/// Characters of a message.
const MESSAGE_CHARS_MAX: usize = 16_000;
/// Characters of a session's id.
const SESSION_CHARS_MAX: usize = 64;

/// A page with messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chat {
    pub title: String,
    pub description: String,
    /// What stands there first.
    pub greeting: String,
    pub placeholder: String,
    /// What the button says.
    pub button: String,
}

/// What somebody has sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub text: String,
    /// None if it begins a conversation.
    pub session: Option<String>,
}

impl Chat {
    /// From a node's parameters.
    pub fn of(parameters: &Map<String, Value>) -> Self {
        let text = |name: &str| parameters.get(name).and_then(Value::as_str);
        let owned = |name: &str| text(name).unwrap_or_default().to_owned();
        Chat {
            title: owned("title"),
            description: owned("description"),
            greeting: owned("greeting"),
            placeholder: owned("placeholder"),
            button: text("button").unwrap_or("Send").to_owned(),
        }
    }
}

impl Message {
    /// From what was sent; the error says of which field what is wrong.
    pub fn of(given: &Map<String, Value>) -> Result<Self, (&'static str, String)> {
        let text = match given.get("message") {
            Some(Value::String(text)) if !text.trim().is_empty() => text.trim(),
            Some(Value::String(_)) => return Err(("message", "Write a message.".to_owned())),
            // Pages always send it.
            None => {
                let why = "The field `message` is missing: it is the text that is said.";
                return Err(("message", why.to_owned()));
            }
            Some(_) => return Err(("message", "A message must be text.".to_owned())),
        };
        if text.chars().count() > MESSAGE_CHARS_MAX {
            let why = format!("A message can have at most {MESSAGE_CHARS_MAX} characters.");
            return Err(("message", why));
        }
        let session = match given.get("sessionId") {
            None | Some(Value::Null) => None,
            Some(Value::String(session)) if is_session(session) => Some(session.clone()),
            Some(_) => {
                let why = format!(
                    "A session's id has 1 to {SESSION_CHARS_MAX} letters, digits, hyphens and underscores."
                );
                return Err(("sessionId", why));
            }
        };
        Ok(Message {
            text: text.to_owned(),
            session,
        })
    }
}

/// The session that was sent, if it is one.
pub fn session(given: &Map<String, Value>) -> Option<String> {
    let session = given.get("sessionId").and_then(Value::as_str);
    session.filter(|session| is_session(session)).map(str::to_owned)
}

fn is_session(text: &str) -> bool {
    (1..=SESSION_CHARS_MAX).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}
