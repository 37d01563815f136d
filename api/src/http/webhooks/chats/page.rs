//! What people see at a chat's address: what was said, and a field for what they say. It works without script, by a form; a
//! small script shows answers while they come. Every text is escaped.

use crate::http::error::ApiError;
use crate::http::pages::{self, Page, Refusals, STYLE, escaped};
use axum::body::Body;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use heddle_model::chat::Chat;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::sync::LazyLock;

/// The hidden field that tells one message from another, so that none counts twice.
pub const TOKEN: &str = "_token";
/// The hidden field with what was said before, which a page without script shows again.
const BEFORE: &str = "_before";
/// Bytes of that; the oldest goes first.
const BEFORE_BYTES_MAX: usize = 32 << 10;
/// Bytes of an answer that a page shows. All that was said is shown again with the next one, and takes up to six times as much.
const ANSWER_BYTES_MAX: usize = 128 << 10;
const REST: &str = "[The rest of this answer is too long to be shown here.]";
/// Messages of it, of both sides.
const TURNS_MAX: usize = 100;
/// Characters of the title beside each message of the chat's; all of it is the heading.
const NAME_CHARS_MAX: usize = 60;

const SCRIPT: &str = include_str!("chat.js");
const CHAT_STYLE: &str = "body{padding:2rem 1rem;box-sizing:border-box}main{width:min(44rem,100%);padding:2rem;\
    box-shadow:0 1px 3px light-dark(#1c243018,#0006)}h1{font-size:1.5rem;line-height:1.25;margin-bottom:.75rem}\
    .log{margin:1.5rem 0}.turn{margin:0 0 1rem;padding:.7rem 1rem;border-radius:10px;max-width:34rem}\
    .turn p{margin:0}.who{font-weight:600;font-size:.875rem;color:light-dark(#4a5563,#a9b4c2)}\
    .them{background:light-dark(#eef2f4,#262e37)}.you{background:light-dark(#dff0ef,#17393a);margin-left:auto}\
    label{display:block;font-weight:600;margin-bottom:.3rem}\
    textarea{box-sizing:border-box;font:inherit;color:inherit;background:light-dark(#fff,#12171c);width:100%;resize:vertical;\
    border:1px solid light-dark(#7d8896,#6b7684);border-radius:6px;padding:.55rem .7rem;margin-bottom:.75rem}\
    ::placeholder{color:light-dark(#667180,#8b97a5);opacity:1}\
    textarea:focus-visible{outline:3px solid light-dark(#0b7f7f,#5cc8c0);outline-offset:2px}\
    .state{margin:.75rem 0 0;min-height:1.5em}.mistake{margin:0 0 .4rem;font-weight:600;color:light-dark(#b3261e,#ff8a80)}\
    @media(max-width:30rem){body{padding:0;place-items:start stretch}main{border-radius:0;min-height:100vh;padding:1.25rem}}";

/// This style, this script, which may send to the service itself, and nothing else.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text));
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; connect-src 'self'; form-action 'self'; \
         base-uri 'none'; frame-ancestors 'none'",
        hash(&format!("{STYLE}{CHAT_STYLE}")),
        hash(SCRIPT)
    )
});

/// What was said before on a page without script. The page brings it itself, so nothing of it is certain: it may say anything, in
/// the chat's name as well. It is shown to whoever sends it and to nobody else, and taken from no form of another site's page.
#[derive(Default)]
pub struct Transcript(Vec<(bool, String)>);

impl Transcript {
    /// As a page has sent it; none of what is not one.
    pub fn of(given: &Map<String, Value>) -> Self {
        let text = given.get(BEFORE).and_then(Value::as_str).unwrap_or_default();
        if text.len() > 2 * BEFORE_BYTES_MAX {
            return Transcript::default();
        }
        Transcript::newest(serde_json::from_str(text).unwrap_or_default())
    }

    /// With a message and its answer, or the beginning of that.
    pub fn with(&self, message: &str, answer: &str) -> Self {
        let mut turns = self.0.clone();
        let mut shown = answer.to_owned();
        if shown.len() > ANSWER_BYTES_MAX {
            shown.truncate(shown.floor_char_boundary(ANSWER_BYTES_MAX));
            shown.push_str("…\n\n");
            shown.push_str(REST);
        }
        turns.extend([(true, message.to_owned()), (false, shown)]);
        Transcript::newest(turns)
    }

    /// How much was said.
    pub fn bytes(&self) -> usize {
        self.0.iter().map(|(_, text)| text.len()).sum()
    }

    /// As many as a page shows: short ones are many even where the bytes are limited, and each has a name beside it.
    fn newest(mut turns: Vec<(bool, String)>) -> Self {
        turns.drain(..turns.len().saturating_sub(TURNS_MAX));
        Transcript(turns)
    }

    /// As the page brings it again.
    fn kept(&self) -> String {
        let mut bytes = 0;
        let fits = |(_, text): &&(bool, String)| {
            bytes += text.len() + 16;
            bytes <= BEFORE_BYTES_MAX
        };
        let mut kept: Vec<_> = self.0.iter().rev().take_while(fits).collect();
        kept.reverse();
        serde_json::to_string(&kept).unwrap_or_default()
    }
}

/// A page as it is shown once.
pub struct Shown<'s> {
    session: &'s str,
    token: &'s str,
    mistake: Option<&'s str>,
}

impl<'s> Shown<'s> {
    pub fn new(session: &'s str, token: &'s str) -> Self {
        Shown {
            session,
            token,
            mistake: None,
        }
    }

    /// What is wrong with what was sent.
    pub fn with_mistake(self, mistake: &'s str) -> Self {
        Shown {
            mistake: Some(mistake),
            ..self
        }
    }
}

fn all(text: &str) -> String {
    escaped(text, usize::MAX)
}

/// The chat with what was said in it.
pub fn chat(chat: &Chat, shown: &Shown<'_>, transcript: &Transcript) -> Response {
    let title = all(&chat.title);
    let name = match chat.title.chars().nth(NAME_CHARS_MAX) {
        Some(_) => escaped(&chat.title, NAME_CHARS_MAX) + "…",
        None => title.clone(),
    };
    let mut body = format!("<h1>{title}</h1>");
    // Writing to a String can't fail.
    if !chat.description.is_empty() {
        let _ = write!(body, "<p class=\"text\">{}</p>", all(&chat.description));
    }
    let _ = write!(
        body,
        "<div class=\"log\" id=\"log\" role=\"log\" aria-label=\"Conversation\" data-name=\"{name}\">"
    );
    let greeting = (!chat.greeting.is_empty()).then_some((false, chat.greeting.as_str()));
    let said = transcript.0.iter().map(|(by_you, text)| (*by_you, text.as_str()));
    for (by_you, text) in greeting.into_iter().chain(said) {
        let (kind, who) = if by_you {
            ("you", "You")
        } else {
            ("them", name.as_str())
        };
        let text = all(text);
        let _ = write!(
            body,
            "<div class=\"turn {kind}\"><p class=\"who\">{who}</p><p class=\"text\">{text}</p></div>"
        );
    }
    let (mistake, described) = match shown.mistake {
        Some(mistake) => (
            format!("<p class=\"mistake\" id=\"mistake\">{}</p>", all(mistake)),
            " aria-describedby=\"mistake\" aria-invalid=\"true\"",
        ),
        None => (String::new(), ""),
    };
    let _ = write!(
        body,
        "</div><form method=\"post\"><input type=\"hidden\" name=\"sessionId\" value=\"{}\">\
         <input type=\"hidden\" name=\"{TOKEN}\" value=\"{}\"><input type=\"hidden\" name=\"{BEFORE}\" value=\"{}\">\
         <label for=\"message\">Your message</label>{mistake}<textarea id=\"message\" name=\"message\" rows=\"3\" \
         maxlength=\"16000\" required autofocus placeholder=\"{}\"{described}></textarea><button>{}</button>\
         <p class=\"state\" id=\"state\" role=\"status\"></p></form><script>{SCRIPT}</script>",
        all(shown.session),
        all(shown.token),
        all(&transcript.kept()),
        all(&chat.placeholder),
        all(&chat.button)
    );
    page(Response::new(Body::empty()), &title, &body)
}

/// The same message came again: the page was reloaded, or the button pressed twice.
pub fn sent_before() -> Response {
    let text =
        "<p>You have already sent this message, and it arrived the first time. Go back to continue.</p>";
    message_page(Response::new(Body::empty()), "Your message has arrived", text)
}

/// The message has arrived, but there is no answer.
pub fn failed() -> Response {
    let text =
        "<p>Your message has arrived, but something went wrong with it. Go back and try again later.</p>";
    let status = StatusCode::INTERNAL_SERVER_ERROR;
    message_page(status.into_response(), "There is no answer", text)
}

/// The message was sent by a form on a page of another site.
pub fn from_elsewhere() -> Response {
    let text = "<p>It was sent from a page of another site. Open the chat at its own address, and write it there.</p>";
    message_page(
        StatusCode::FORBIDDEN.into_response(),
        "Your message was not accepted",
        text,
    )
}

/// How it is said that there is no chat, or that a message was not taken.
const REFUSALS: Refusals = Refusals {
    missing: "There is no chat here",
    forbidden: (
        "You can't use this chat",
        "It takes no messages from your network.",
    ),
    closed: (
        "This chat is closed for now",
        "It can't take messages right now. Please try again later.",
    ),
    too_much: "Your message was not accepted. Please wait a minute and try again.",
    too_large: "Your message was not accepted. Go back and write less.",
    longer: "Your message has arrived; its answer takes longer than usual.",
    not_taken: "Your message was not accepted",
};

/// Says why there is no chat, or why a message was not taken.
pub fn refusal(error: ApiError) -> Response {
    let (title, text) = REFUSALS.of(&error);
    message_page(error.into_response(), title, &format!("<p>{text}</p>"))
}

fn message_page(response: Response, title: &str, text: &str) -> Response {
    page(response, title, &format!("<h1>{title}</h1>{text}"))
}

fn page(response: Response, title: &str, body: &str) -> Response {
    // Base64 is a header's text.
    let policy = HeaderValue::from_str(&POLICY).unwrap_or(HeaderValue::from_static("default-src 'none'"));
    let page = Page {
        title,
        style: CHAT_STYLE,
        body,
        policy,
    };
    pages::put(response, page)
}
