//! Nodes that end a run, answer for it, or start others.

use super::node::{PASSED, node};
use crate::content::Content;
use crate::face::{Face, Group};
use crate::icon::Icon;
use crate::node_type::{Emits, Example, IN, NodeType, Parameter, Port, Schema, ValueType};
use crate::role::Role;

/// What compiled code itself fails a node by.
pub const THROW: NodeType = node(
    "Throw",
    Face::new(
        "Throw",
        Icon::OctagonX,
        Group::Runs,
        &["error", "fail", "stop", "abort", "exception", "reject"],
    ),
    "Fails with your own message and code. `onError` and `retry` treat it like any other failure.",
    &[IN],
    &[],
    &[
        Parameter::required("message", Schema::String, "What is wrong, for people to read.")
            .content(Content::Multiline),
        Parameter::optional(
            "code",
            Schema::String,
            "The error's code, by which a Switch can choose.",
        )
        .or("\"THROWN\""),
    ],
    &[Example {
        title: "Refuse an order without lines",
        parameters: r#"{"message": "Order {{ $input.id }} has no lines", "code": "EMPTY_ORDER"}"#,
        input: r#"{"id": "o-1"}"#,
        output: r#"{"error": {"error": {"code": "EMPTY_ORDER", "message": "Order o-1 has no lines"}}}"#,
    }],
)
.role(Role::Throw);

pub(super) const RETURN: NodeType = node(
        "Return",
        Face::new(
            "Return",
            Icon::CornerDownLeft,
            Group::Runs,
            &["output", "result", "end", "response", "finish"],
        ),
        "Sets the output of the run. The first Return wins and later ones only log a warning; other branches still run \
         to their end.",
        &[IN],
        &[],
        &[Parameter::optional(
            "value",
            Schema::Any,
            "The output. Default: the input.",
        )],
        &[Example {
            title: "Answer with the sum",
            parameters: r#"{"value": "{{ { id: $input.id, total: $input.net * 1.2 } }}"}"#,
            input: r#"{"id": "o-1", "net": 50}"#,
            output: r#"{"return": {"id": "o-1", "total": 60}}"#,
        }],
    )
    .role(Role::Return);

pub(super) const RESPOND_TO_WEBHOOK: NodeType = node(
    "RespondToWebhook",
    Face::new(
        "Respond to webhook",
        Icon::Reply,
        Group::Runs,
        &["http response", "answer", "reply", "status code", "redirect"],
    ),
    "Answers the webhook request that started the run, and passes its input through. The first answer counts; later \
     ones only log a warning. What StreamResponse has begun to send is the response instead.",
    &[IN],
    &[PASSED],
    &[
        Parameter::optional("status", Schema::Integer { min: 200, max: 599 }, "HTTP status.").or("200"),
        Parameter::optional("headers", Schema::Map(&Schema::String), "Headers by name.").advanced(),
        Parameter::optional("body", Schema::Any, "The body. Default: the input."),
        Parameter::optional(
            "bodyType",
            Schema::Enum(&["json", "text", "base64", "file"]),
            "How the body is sent: as JSON, as text, as the bytes that it encodes in base64, or as the file that it is.",
        )
        .or("\"json\""),
    ],
    &[Example {
        title: "Answer in text",
        parameters: r#"{"status": 202, "headers": {"x-state": "queued"}, "body": "Thanks.", "bodyType": "text"}"#,
        input: r#"{"id": 7}"#,
        output: r#"{"out": {"id": 7}}"#,
    }],
)
.role(Role::Respond)
.emitting(Emits::Input);

pub(super) const STREAM_RESPONSE: NodeType = NodeType {
    effects: &["stream"],
    ..node(
        "StreamResponse",
        Face::new(
            "Stream response",
            Icon::Send,
            Group::Runs,
            &["sse", "server-sent events", "chunk", "progress", "json lines", "live"],
        ),
        "Sends a piece of the webhook's response at once, while the run goes on. The first piece begins the response and \
         decides its status and headers; it ends with the run. A sender who reads slowly slows the run down; when none \
         reads any more, `sent` is false and the run goes on. A piece has at most 256 KiB.",
        &[IN],
        &[Port::new(
            "out",
            ValueType::Object,
            "`{sent}`: false if nobody is waiting for the response, or no longer.",
        )],
        &[
            Parameter::optional(
                "format",
                Schema::Enum(&["sse", "json-lines", "text"]),
                "How pieces are sent: as server-sent events, as lines of JSON, or as text, one directly after the other. \
                 The same for all pieces of a response.",
            )
            .or("\"sse\""),
            Parameter::optional("data", Schema::Any, "The piece. Default: the input."),
            Parameter::optional("event", Schema::String, "Name of the server-sent event. `end` is the last one's."),
            Parameter::optional("id", Schema::String, "Id of the server-sent event.").advanced(),
            Parameter::optional(
                "status",
                Schema::Integer { min: 200, max: 599 },
                "HTTP status, of the first piece.",
            )
            .advanced()
            .or("200"),
            Parameter::optional(
                "headers",
                Schema::Map(&Schema::String),
                "Headers by name, of the first piece.",
            )
            .advanced(),
        ],
        &[Example {
            title: "Tell of progress, to a sender who has gone",
            parameters: r#"{"event": "progress", "data": {"done": "{{ $input.done }}", "of": 10}}"#,
            input: r#"{"done": 3}"#,
            output: r#"{"out": {"sent": false}}"#,
        }],
    )
    .role(Role::Stream)
};

pub(super) const CALL_PATTERN: NodeType = NodeType {
    effects: &["call"],
    ..node(
        "CallPattern",
        Face::new(
            "Call pattern",
            Icon::Workflow,
            Group::Runs,
            &["sub-workflow", "execute workflow", "subflow", "function", "reuse"],
        ),
        "Runs another pattern of the workspace, which must be deployed and have an OnCall node, and emits \
         what it returns. It is a run of its own, with its own limits and record. When it fails, this node \
         fails with its code; when this run ends, it is cancelled. Calls can be nested at most 16 deep. \
         Secrets can't be passed on.",
        &[IN],
        &[Port::new(
            "out",
            ValueType::Any,
            "What the called pattern returned; `{runId}` without `wait`.",
        )],
        &[
            Parameter::required("patternId", Schema::String, "Id of the pattern.").content(Content::Pattern),
            Parameter::optional(
                "inputs",
                Schema::Map(&Schema::Any),
                "What its OnCall emits; checked against its call interface, if it has one. Default: the input, which may also \
                 be a list.",
            ),
            Parameter::optional(
                "wait",
                Schema::Boolean,
                "Wait for it to end. Otherwise it continues on its own, whatever happens to this run.",
            )
            .or("true"),
            Parameter::optional(
                "version",
                Schema::Enum(&["deployed", "latest"]),
                "`latest` runs the latest saved version instead of the deployed one, with its own node \
                 definitions.",
            )
            .advanced()
            .or("\"deployed\""),
        ],
        &[
            Example {
                title: "A pattern that returns `{gross}` for `{net}`",
                parameters: r#"{"patternId": "019a9f3a-02d4-7b6e-8f10-4c5e9d3a2b11", "inputs": {"net": "{{ $input.total }}"}}"#,
                input: r#"{"id": "o-1", "total": 100}"#,
                output: r#"{"out": {"gross": 119}}"#,
            },
            Example {
                title: "Start it and go on",
                parameters: r#"{"patternId": "019a9f3a-02d4-7b6e-8f10-4c5e9d3a2b11", "wait": false}"#,
                input: r#"{"net": 100}"#,
                output: r#"{"out": {"runId": "…-…-7…"}}"#,
            },
        ],
    )
};
