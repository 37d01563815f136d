//! Nodes that wait for a time or for somebody.

use super::node::{PASSED, node};
use crate::content::{Content, Language, TimeUnit};
use crate::face::{Face, Group};
use crate::form_fields::FIELDS;
use crate::icon::Icon;
use crate::node_type::{Emits, Example, IN, NodeType, Parameter, Port, Schema, ValueType};
use heddle_contract::parameters::WAIT_MS_MAX;

pub(super) const WAIT: NodeType = NodeType {
    effects: &["wait"],
    emits: Emits::Input,
    takes_lists: true,
    ..node(
        "Wait",
        Face::new(
            "Wait",
            Icon::Timer,
            Group::Waiting,
            &["delay", "sleep", "pause", "timer", "until"],
        ),
        "Waits for a duration, or until a time, and passes its input through; if that time has passed, it \
            does not wait. For up to a minute the run stays in memory. For longer waits, a run of a \
            deployed pattern is parked: only a row in the database is kept, and the run continues even if \
            the server was stopped in between.",
        &[IN],
        &[PASSED],
        &[
            Parameter::optional(
                "durationMs",
                Schema::Integer {
                    min: 0,
                    max: WAIT_MS_MAX,
                },
                "How long, in milliseconds; at most 366 days. Give this or `until`.",
            )
            .content(Content::Duration(TimeUnit::Milliseconds)),
            Parameter::optional(
                "until",
                Schema::Any,
                "Until when: ISO 8601, in UTC unless it has an offset, or milliseconds since 1970.",
            )
            .content(Content::Expression),
        ],
        &[
            Example {
                title: "Wait for a moment",
                parameters: r#"{"durationMs": 20}"#,
                input: r#"{"id": 7}"#,
                output: r#"{"out": {"id": 7}}"#,
            },
            Example {
                title: "Wait until a time that the input names",
                parameters: r#"{"until": "{{ $input.publishAt }}"}"#,
                input: r#"{"publishAt": "2020-02-29T08:00:00+01:00"}"#,
                output: r#"{"out": {"publishAt": "2020-02-29T08:00:00+01:00"}}"#,
            },
        ],
    )
};

/// A page with fields, of the types that OnForm has.
const FORM: &[Parameter] = &[
    Parameter::required("title", Schema::String, "The heading of the page."),
    Parameter::optional("description", Schema::String, "What stands below it.").content(Content::Multiline),
    FIELDS,
    Parameter::optional("button", Schema::String, "What the button says.")
        .or("\"Send\"")
        .literal(),
    Parameter::optional(
        "follows",
        Schema::Boolean,
        "Whether it is the next page for whoever has sent the form before. With `false` only those see it who are given its \
         URL, such as somebody who approves.",
    )
    .or("true")
    .literal(),
];

/// `$run.callbackUrls` has the URLs of its executions.
pub const WAIT_FOR_CALLBACK: NodeType = NodeType {
    effects: &["callback"],
    takes_lists: true,
    ..node(
        "WaitForCallback",
        Face::new(
            "Wait for callback",
            Icon::Hand,
            Group::Waiting,
            &[
                "approval",
                "human in the loop",
                "resume",
                "webhook",
                "confirm",
                "form",
            ],
        ),
        "Parks the run until its URL is called by POST, and emits that request. Each execution has its own \
            URL, which works once and can't be guessed: `$run.callbackUrls[\"id of this node\"]`, in a loop \
            that of the iteration; if the pattern has only one such node, also `$run.callbackUrl`. Send the \
            URL before this node, in an email or a request; a call that arrives before the run gets here \
            counts as well. Whoever opens the URL as a link sees a page that asks before it calls: add what \
            is decided, as in `?decision=yes`, or make the page yourself (`page`). Members of the workspace \
            can also approve or reject in the console, with `{approved, comment?}` as the body. Needs a \
            deployed pattern.",
        &[IN],
        &[
            Port::new(
                "out",
                ValueType::Object,
                "The request: `{headers, body, method, query}`; if a member has answered in the console or \
                    through the API, with `by`: `{id, name, email}`.",
            ),
            Port::new("timeout", ValueType::Any, "The input, if nobody called in time."),
        ],
        &[
            Parameter::optional(
                "timeoutMs",
                Schema::Integer {
                    min: 1,
                    max: WAIT_MS_MAX,
                },
                "How long to wait, in milliseconds; at most 366 days.",
            )
            .content(Content::Duration(TimeUnit::Milliseconds))
            .or("2592000000"),
            Parameter::optional(
                "respondBody",
                Schema::Any,
                "The response to the caller: text as text, anything else as JSON.",
            )
            .advanced()
            .or("{\"status\": \"accepted\"}"),
            Parameter::optional(
                "form",
                Schema::Object(FORM),
                "A page with fields instead of the built-in one, as OnForm has it: the server checks every field, and `body` has \
                    them by name. Whoever has sent the OnForm before is led here, and on from here. Not together with `page`.",
            ),
            Parameter::optional(
                "page",
                Schema::String,
                "HTML of the page shown to whoever opens the URL, instead of the built-in one; at most 16 KiB. \
                    Its `<form method=\"post\">` makes the call, with the values of its fields by name as the body. \
                    Escape text from others; scripts don't run, and nothing is loaded from elsewhere.",
            )
            .content(Content::Source(Language::Html))
            .advanced(),
            Parameter::optional(
                "respondPage",
                Schema::String,
                "HTML of the page that a browser shows after its call, instead of `respondBody`; at most 16 KiB.",
            )
            .content(Content::Source(Language::Html))
            .advanced(),
        ],
        &[
            Example {
                title: "Somebody has called the URL",
                parameters: r#"{"respondBody": "Thank you."}"#,
                input: r#"{"id": 7}"#,
                output: r#"{"out": {"method": "POST", "query": {"by": "ann"}, "headers": {"content-type": "application/json"},
                    "body": {"approved": true}}}"#,
            },
            Example {
                title: "A page with a form has asked",
                parameters: r#"{"page": "<form method=\"post\"><p>Order {{ $input.id }}?</p><input name=\"comment\"><button name=\"decision\" value=\"yes\">Approve</button></form>",
                    "respondPage": "<p>Thank you.</p>"}"#,
                input: r#"{"id": 7}"#,
                output: r#"{"out": {"method": "POST", "query": {}, "headers": {"content-type": "application/json"},
                    "body": {"comment": "soon, please", "decision": "yes"}}}"#,
            },
            Example {
                title: "The second page of a form",
                parameters: r#"{"form": {"title": "Thank you, {{ $input.name }}", "fields": [{"name": "guests", "type": "number", "required": true}]},
                    "respondBody": "Thank you."}"#,
                input: r#"{"name": "Ann"}"#,
                output: r#"{"out": {"method": "POST", "query": {}, "headers": {"content-type": "application/json"},
                    "body": {"guests": 2}}}"#,
            },
            Example {
                title: "Nobody has called in time",
                parameters: r#"{"timeoutMs": 3600000}"#,
                input: r#"{"id": 7}"#,
                output: r#"{"timeout": {"id": 7}}"#,
            },
        ],
    )
};
