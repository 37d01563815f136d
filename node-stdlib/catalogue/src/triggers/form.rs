//! OnForm: a page with fields, and what becomes of what people send from it.

use super::node::{event, trigger};
use crate::content::{Content, TimeUnit};
use crate::face::{Face, Group};
use crate::form_fields::FIELDS;
use crate::icon::Icon;
use crate::node_type::{Example, NodeType, Parameter, Schema};
use crate::role::Start;

const TEXT: Schema = Schema::String;

const PARAMETERS: &[Parameter] = &[
    Parameter::required("title", TEXT, "The heading of the page.").literal(),
    Parameter::optional("description", TEXT, "What stands below it.")
        .content(Content::Multiline)
        .literal(),
    FIELDS,
    Parameter::optional("button", TEXT, "What the button says.")
        .or("\"Send\"")
        .literal(),
    Parameter::optional(
        "thanks",
        TEXT,
        "What people read once their answers have arrived, those of its further pages as well, unless a RespondToWebhook answers.",
    )
    .content(Content::Multiline)
    .or("\"Your answers have arrived.\"")
    .literal(),
    Parameter::optional(
        "redirect",
        TEXT,
        "A page, such as `https://example.com/thanks`, to which people are taken instead.",
    )
    .literal(),
    Parameter::optional(
        "alias",
        TEXT,
        "A readable name of the form, for lists; its address does not change.",
    )
    .advanced()
    .literal(),
    Parameter::optional(
        "allowIps",
        Schema::Array(&TEXT),
        "Addresses and networks of people, such as `192.0.2.0/24`, who see the form; all others are refused.",
    )
    .advanced()
    .literal(),
    Parameter::optional(
        "requestsPerMinute",
        Schema::Integer {
            min: 1,
            max: 100_000,
        },
        "Answers within a minute, from all people together; further ones are refused.",
    )
    .advanced()
    .literal(),
    Parameter::optional(
        "maxBytes",
        Schema::Integer {
            min: 1,
            max: 1_000_000_000,
        },
        "Size of all that one person sends, files included, in bytes, if it is below the server's limit.",
    )
    .advanced()
    .literal(),
    Parameter::optional(
        "whenPaused",
        Schema::Enum(&["close", "queue"]),
        "What happens to the form while the deployment is paused: it is closed, or each answer gets a run that starts when \
         the deployment is resumed.",
    )
    .advanced()
    .or("\"close\"")
    .literal(),
    Parameter::optional(
        "responseMode",
        Schema::Enum(&["auto", "sync", "async"]),
        "Whether people wait for the run (`sync`) or are thanked at once (`async`); `auto` waits if a RespondToWebhook can \
         be reached from here.",
    )
    .advanced()
    .or("\"auto\"")
    .literal(),
    Parameter::optional(
        "timeoutMs",
        Schema::Integer { min: 1, max: 600_000 },
        "How long people wait at most, in milliseconds.",
    )
    .content(Content::Duration(TimeUnit::Milliseconds))
    .advanced()
    .literal(),
];

pub(super) const ON_FORM: NodeType = trigger(
    Start::Form,
    Face::new(
        "Form",
        Icon::PanelTop,
        Group::Triggers,
        &["page", "survey", "questionnaire", "upload", "input", "people"],
    ),
    "Serves a page with fields, and starts a run when somebody sends it. Anyone who knows the address can do so. The server checks \
     every field; RespondToWebhook can answer. A WaitForCallback with `form` is the next page for whoever has sent it.",
    &[event(
        "The event: `{headers, body, method, query}`. `body` has the fields by name: numbers as numbers, a checkbox as true \
         or false, several choices as an array, files as values that refer to them, and null for what was left empty.",
    )],
    PARAMETERS,
    &[Example {
        title: "The event of a form that somebody has sent",
        parameters: r#"{"title": "Order a visit", "fields": [
                {"name": "name", "label": "Your name", "required": true},
                {"name": "guests", "type": "number", "label": "How many are you?", "integer": true, "min": 1, "max": 8},
                {"name": "days", "type": "checkboxes", "label": "When could you come?", "options": ["Monday", "Friday"]},
                {"name": "terms", "type": "checkbox", "label": "I agree to the terms", "required": true}]}"#,
        input: r#"{"method": "POST", "query": {}, "headers": {"content-type": "application/x-www-form-urlencoded"},
                "body": {"name": "Ann", "guests": 2, "days": ["Friday"], "terms": true}}"#,
        output: r#"{"out": {"method": "POST", "query": {}, "headers": {"content-type": "application/x-www-form-urlencoded"},
                "body": {"name": "Ann", "guests": 2, "days": ["Friday"], "terms": true}}}"#,
    }],
);
