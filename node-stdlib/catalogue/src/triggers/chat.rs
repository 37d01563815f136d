//! OnChat: a page where people write messages, the same for programs, and what answers them.

use super::node::{event, trigger};
use crate::content::{Content, TimeUnit};
use crate::face::{Face, Group};
use crate::icon::Icon;
use crate::node_type::{Example, NodeType, Parameter, Schema};
use crate::role::Start;

const TEXT: Schema = Schema::String;

const PARAMETERS: &[Parameter] = &[
    Parameter::required("title", TEXT, "Heading of the page, and who answers.").literal(),
    Parameter::optional("description", TEXT, "What people read below it.")
        .content(Content::Multiline)
        .literal(),
    Parameter::optional("greeting", TEXT, "What stands there as the first message.")
        .content(Content::Multiline)
        .literal(),
    Parameter::optional("placeholder", TEXT, "An example of a message, in the empty field.").literal(),
    Parameter::optional("button", TEXT, "What the button says.")
        .or("\"Send\"")
        .literal(),
    Parameter::optional(
        "alias",
        TEXT,
        "A readable name of the chat, for lists; its address does not change.",
    )
    .advanced()
    .literal(),
    Parameter::optional(
        "allowIps",
        Schema::Array(&TEXT),
        "Addresses and networks of people, such as `192.0.2.0/24`, who may chat; all others are refused.",
    )
    .advanced()
    .literal(),
    Parameter::optional(
        "cors",
        Schema::Array(&TEXT),
        "Origins of other pages that may send messages from a browser, such as `https://shop.example.com`; `*` is any.",
    )
    .advanced()
    .literal(),
    Parameter::optional(
        "requestsPerMinute",
        Schema::Integer {
            min: 1,
            max: 100_000,
        },
        "Messages within a minute, from all people together; further ones are refused.",
    )
    .advanced()
    .literal(),
    Parameter::optional(
        "timeoutMs",
        Schema::Integer { min: 1, max: 600_000 },
        "How long people wait for an answer at most, in milliseconds.",
    )
    .content(Content::Duration(TimeUnit::Milliseconds))
    .advanced()
    .literal(),
];

pub(super) const ON_CHAT: NodeType = trigger(
    Start::Chat,
    Face::new(
        "Chat",
        Icon::Bot,
        Group::Triggers,
        &["conversation", "message", "assistant", "page", "talk", "people"],
    ),
    "Serves a page where people write messages, and starts a run for each; programs send them as JSON. Whoever knows the \
     address can. The answer is what StreamResponse sends, or RespondToWebhook, or Return.",
    &[event(
        "The event: `{headers, body, method, query}`. `body` is `{message, sessionId}`: the text, and what all messages of a \
         conversation have in common, by which KeyValue can keep it.",
    )],
    PARAMETERS,
    &[Example {
        title: "A message",
        parameters: r#"{"title": "Opening hours", "greeting": "Which day do you want to come?"}"#,
        input: r#"{"method": "POST", "query": {}, "headers": {"content-type": "application/json"},
                "body": {"message": "On Friday", "sessionId": "5f0c2a"}}"#,
        output: r#"{"out": {"method": "POST", "query": {}, "headers": {"content-type": "application/json"},
                "body": {"message": "On Friday", "sessionId": "5f0c2a"}}}"#,
    }],
);
