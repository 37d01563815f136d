//! OnForm: a page with fields, and what becomes of what people send from it.

use super::node::{event, trigger};
use crate::content::{Content, TimeUnit};
use crate::face::{Face, Group};
use crate::icon::Icon;
use crate::node_type::{Example, NodeType, Parameter, Schema};
use crate::role::Start;

const TEXT: Schema = Schema::String;

/// What is written into a field when the page opens.
const DEFAULT: Schema = Schema::OneOf(&[
    Schema::String,
    Schema::Number,
    Schema::Boolean,
    Schema::Array(&Schema::String),
]);

/// One that can be chosen.
const OPTION: Schema = Schema::OneOf(&[
    Schema::String,
    Schema::Object(&[
        Parameter::required("value", TEXT, "What the event has.").literal(),
        Parameter::optional("label", TEXT, "What people read. Default: the value.").literal(),
    ]),
]);

const FIELD: &[Parameter] = &[
    Parameter::required(
        "name",
        TEXT,
        "The value's name in the event's `body`: a letter, then letters, digits and `_`.",
    )
    .literal(),
    Parameter::optional(
        "type",
        Schema::Enum(&[
            "text",
            "textarea",
            "number",
            "email",
            "url",
            "tel",
            "date",
            "time",
            "select",
            "radio",
            "checkboxes",
            "checkbox",
            "file",
            "hidden",
        ]),
        "What is asked for. `select` and `radio` let people choose one of `options`, `checkboxes` several; `checkbox` is yes \
         or no; `hidden` is not shown, and takes its value from the address or the default.",
    )
    .or("\"text\"")
    .literal(),
    Parameter::optional("label", TEXT, "What people read at the field. Default: the name.").literal(),
    Parameter::optional(
        "required",
        Schema::Boolean,
        "Whether it must be filled in; a `checkbox` must be ticked.",
    )
    .or("false")
    .literal(),
    Parameter::optional("help", TEXT, "A sentence below the label.").literal(),
    Parameter::optional("placeholder", TEXT, "What an empty field shows.")
        .advanced()
        .literal(),
    Parameter::optional(
        "default",
        DEFAULT,
        "What the field has when the page opens, unless the address says something else: `?name=value`.",
    )
    .literal(),
    Parameter::optional("options", Schema::Array(&OPTION), "What can be chosen.").literal(),
    Parameter::optional(
        "multiple",
        Schema::Boolean,
        "Whether a `select` or `file` takes several, which the event has as an array.",
    )
    .or("false")
    .literal(),
    Parameter::optional(
        "min",
        Schema::OneOf(&[Schema::Number, Schema::String]),
        "The smallest `number`, the first `date` or `time`, or how many must be chosen at least.",
    )
    .literal(),
    Parameter::optional(
        "max",
        Schema::OneOf(&[Schema::Number, Schema::String]),
        "The largest `number`, the last `date` or `time`, or how many can be chosen at most.",
    )
    .literal(),
    Parameter::optional("integer", Schema::Boolean, "Whether a `number` must be whole.")
        .or("false")
        .literal(),
    Parameter::optional(
        "minLength",
        Schema::Integer {
            min: 1,
            max: 1_000_000,
        },
        "Characters of a text at least.",
    )
    .advanced()
    .literal(),
    Parameter::optional(
        "maxLength",
        Schema::Integer {
            min: 1,
            max: 1_000_000,
        },
        "Characters of a text at most.",
    )
    .advanced()
    .literal(),
    Parameter::optional(
        "pattern",
        TEXT,
        "A regular expression that all of a text must match, such as `[A-Z]{2}\\d{4}`, in the syntax of Rust's crate `regex`.",
    )
    .advanced()
    .literal(),
    Parameter::optional(
        "patternMessage",
        TEXT,
        "What people read whose text does not match the pattern.",
    )
    .advanced()
    .literal(),
    Parameter::optional(
        "accept",
        Schema::Array(&TEXT),
        "Which files are taken: endings such as `.pdf`, and types such as `image/png` and `image/*`.",
    )
    .literal(),
];

const PARAMETERS: &[Parameter] = &[
    Parameter::required("title", TEXT, "The heading of the page.").literal(),
    Parameter::optional("description", TEXT, "What stands below it.")
        .content(Content::Multiline)
        .literal(),
    Parameter::required(
        "fields",
        Schema::Array(&Schema::Object(FIELD)),
        "What people fill in, in this order; at most 100.",
    )
    .literal(),
    Parameter::optional("button", TEXT, "What the button says.")
        .or("\"Send\"")
        .literal(),
    Parameter::optional(
        "thanks",
        TEXT,
        "What people read once their answers have arrived, unless a RespondToWebhook answers.",
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
        "What becomes of the form while the deployment is paused: it is closed, or each answer gets a run that starts when \
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
    "Serves a page with fields, and starts a run when somebody sends it. Whoever knows the address can. The server checks \
     every field; RespondToWebhook can answer.",
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
