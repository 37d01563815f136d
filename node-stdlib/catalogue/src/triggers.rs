//! Nodes that start a run.

use crate::content::{Content, TimeUnit};
use crate::face::{Face, Group};
use crate::icon::Icon;
use crate::node_type::{Category, Example, NodeType, Outputs, Parameter, Port, Schema, ValueType};
use crate::role::{Role, Start};

const fn event(description: &'static str) -> Port {
    Port::new("out", ValueType::Any, description)
}

const fn trigger(
    start: Start,
    face: Face,
    description: &'static str,
    outputs: &'static [Port],
    parameters: &'static [Parameter],
    examples: &'static [Example],
) -> NodeType {
    NodeType {
        description,
        inputs: &[],
        outputs: Outputs::Fixed(outputs),
        parameters,
        role: Role::Trigger(start),
        examples,
        ..NodeType::plain(start.type_name(), Category::Trigger, face)
    }
}

/// In the order in which lists show them.
pub const TYPES: &[NodeType] = &[
    trigger(
        Start::Webhook,
        Face::new(
            "Webhook",
            Icon::Webhook,
            Group::Triggers,
            &["http request", "api", "url", "callback", "event", "endpoint"],
        ),
        "Starts a run when an HTTP request arrives at the pattern's webhook. Emits the request, which \
         RespondToWebhook can answer.",
        &[event("The event: `{headers, body, method, query}`.")],
        &[
            Parameter::optional(
                "alias",
                Schema::String,
                "A readable name of the webhook, for lists; its URL does not change.",
            )
            .advanced()
            .literal(),
            Parameter::optional(
                "scheme",
                Schema::Enum(&[
                    "heddle",
                    "github",
                    "stripe",
                    "slack",
                    "shopify",
                    "standard-webhooks",
                ]),
                "How the sender signs its requests; the signature is checked before a run starts.",
            )
            .or("\"heddle\"")
            .literal(),
            Parameter::optional(
                "responseMode",
                Schema::Enum(&["auto", "sync", "async"]),
                "Whether the sender waits for the run (`sync`) or gets a response at once (`async`); `auto` \
                    waits if a RespondToWebhook can be reached from here.",
            )
            .advanced()
            .or("\"auto\"")
            .literal(),
            Parameter::optional(
                "timeoutMs",
                Schema::Integer { min: 1, max: 600_000 },
                "How long the sender waits at most, in milliseconds.",
            )
            .content(Content::Duration(TimeUnit::Milliseconds))
            .advanced()
            .literal(),
            Parameter::optional(
                "errorDetails",
                Schema::Boolean,
                "Whether a sender that waits for the run is told all of the error when it fails. By default it is told \
                 the error's code and node, and the message only of a Throw: other messages can contain addresses \
                 and what services have answered.",
            )
            .advanced()
            .or("false")
            .literal(),
        ],
        &[Example {
            title: "The event of a request",
            parameters: r#"{"alias": "orders"}"#,
            input: r#"{"method": "POST", "query": {"source": "shop"}, "headers": {"content-type": "application/json"},
                "body": {"id": "o-1", "total": 12.5}}"#,
            output: r#"{"out": {"method": "POST", "query": {"source": "shop"}, "headers": {"content-type": "application/json"},
                "body": {"id": "o-1", "total": 12.5}}}"#,
        }],
    ),
    trigger(
        Start::Schedule,
        Face::new(
            "Schedule",
            Icon::Clock,
            Group::Triggers,
            &["cron", "timer", "interval", "every day", "nightly", "recurring"],
        ),
        "Starts a run at the times given by a cron expression.",
        &[event("The event: `{scheduledAt, firedAt}`, both ISO times.")],
        &[
            Parameter::required(
                "cron",
                Schema::String,
                "Minute, hour, day of the month, month and day of the week, such as `0 9 * * 1-5`.",
            )
            .content(Content::Cron)
            .literal(),
            Parameter::optional(
                "timezone",
                Schema::String,
                "Time zone of the expression, such as `Europe/Berlin`.",
            )
            .content(Content::TimeZone { offsets: false })
            .or("\"UTC\"")
            .literal(),
            Parameter::optional(
                "catchUp",
                Schema::Enum(&["one", "none", "all"]),
                "What to do about times that were missed while the service was down: one run for all of \
                    them, none, or one for each.",
            )
            .advanced()
            .or("\"one\"")
            .literal(),
        ],
        &[Example {
            title: "The event of Monday morning",
            parameters: r#"{"cron": "0 9 * * 1-5", "timezone": "Europe/Berlin"}"#,
            input: r#"{"scheduledAt": "2026-03-30T07:00:00.000Z", "firedAt": "2026-03-30T07:00:00.412Z"}"#,
            output: r#"{"out": {"scheduledAt": "2026-03-30T07:00:00.000Z", "firedAt": "2026-03-30T07:00:00.412Z"}}"#,
        }],
    ),
    trigger(
        Start::Manual,
        Face::new(
            "Manual start",
            Icon::Play,
            Group::Triggers,
            &["button", "by hand", "test", "click", "start"],
        ),
        "Starts a run by hand: from the command line, the API or an editor.",
        &[event("The event given at the start.")],
        &[],
        &[Example {
            title: "The event is what was given",
            parameters: r#"{}"#,
            input: r#"{"orderId": "o-1"}"#,
            output: r#"{"out": {"orderId": "o-1"}}"#,
        }],
    ),
    trigger(
        Start::Call,
        Face::new(
            "Called by a pattern",
            Icon::CornerDownRight,
            Group::Triggers,
            &[
                "sub-workflow",
                "subflow",
                "function",
                "input",
                "execute workflow trigger",
            ],
        ),
        "Starts a run when another pattern calls this one. Return gives the caller its value. In a \
            composite node, this is where the input enters.",
        &[event("The caller's inputs, an object by name.")],
        &[],
        &[Example {
            title: "The event is the caller's inputs",
            parameters: r#"{}"#,
            input: r#"{"net": 100}"#,
            output: r#"{"out": {"net": 100}}"#,
        }],
    ),
    trigger(
        Start::Email,
        Face::new(
            "Email received",
            Icon::Mail,
            Group::Triggers,
            &["mail", "inbox", "imap", "message", "inbound"],
        ),
        "Starts a run when an email arrives at the pattern's address.",
        &[event(
            "The e-mail: `{from, to, cc, replyTo, subject, date, messageId, text, html, headers, attachments}`.",
        )],
        &[Parameter::optional(
            "alias",
            Schema::String,
            "A readable name of the address, for lists; the address itself does not change.",
        )
        .advanced()
        .literal()],
        &[Example {
            title: "The event of a message",
            parameters: r#"{"alias": "support"}"#,
            input: r#"{"from": {"name": "Ann", "address": "ann@example.com"},
                "to": [{"name": null, "address": "support@mail.example.com"}], "cc": [], "replyTo": [],
                "subject": "My order", "date": "2026-03-30T09:00:00+02:00", "messageId": "one@example.com",
                "text": "Where is it?", "html": "<p>Where is it?</p>", "headers": {"subject": "My order"},
                "attachments": [{"filename": "bill.txt", "contentType": "text/plain", "contentId": null, "size": 3,
                    "content": "aGV5"}]}"#,
            output: r#"{"out": {"from": {"name": "Ann", "address": "ann@example.com"},
                "to": [{"name": null, "address": "support@mail.example.com"}], "cc": [], "replyTo": [],
                "subject": "My order", "date": "2026-03-30T09:00:00+02:00", "messageId": "one@example.com",
                "text": "Where is it?", "html": "<p>Where is it?</p>", "headers": {"subject": "My order"},
                "attachments": [{"filename": "bill.txt", "contentType": "text/plain", "contentId": null, "size": 3,
                    "content": "aGV5"}]}}"#,
        }],
    ),
    trigger(
        Start::Error,
        Face::new(
            "Run failed",
            Icon::TriangleAlert,
            Group::Triggers,
            &["error trigger", "failure", "exception", "alert", "catch"],
        ),
        "Starts a run when a run of a pattern that names this one as its `errorPatternId` has failed.",
        &[event(
            "What failed: `{runId, patternId, nodeId, error, eventData}`.",
        )],
        &[],
        &[Example {
            title: "The event of a run that a shop's answer has ended",
            parameters: r#"{}"#,
            input: r#"{"runId": "019a9f3c-5b1e-7c3a-9a64-0d2f6c1b7e55", "patternId": "019a9f3a-02d4-7b6e-8f10-4c5e9d3a2b11",
                "nodeId": "pay", "error": {"message": "The server answered 500", "code": "HTTP_500", "nodeId": "pay"},
                "eventData": {"orderId": "o-1"}}"#,
            output: r#"{"out": {"runId": "019a9f3c-5b1e-7c3a-9a64-0d2f6c1b7e55", "patternId": "019a9f3a-02d4-7b6e-8f10-4c5e9d3a2b11",
                "nodeId": "pay", "error": {"message": "The server answered 500", "code": "HTTP_500", "nodeId": "pay"},
                "eventData": {"orderId": "o-1"}}}"#,
        }],
    ),
];
