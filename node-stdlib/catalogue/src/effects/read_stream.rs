//! ReadStream.

use crate::content::{Content, TimeUnit};
use crate::face::{Face, Group};
use crate::icon::Icon;
use crate::node_type::{Category, Example, NodeType, Outputs, Parameter, Port, Schema, ValueType};

/// ReadStream.
pub const TYPE: NodeType = NodeType {
    description: "Reads the next entries of a response while it arrives: lines, lines of JSON or server-sent events, as the \
        `responseType` of the HttpRequest says that opened it. In a Loop it follows a response that is slow or never ends, such \
        as a language model's. A stream belongs to its run, and closes when the run ends, waits for long or goes on after a stop \
        of the server: then the node fails with `STREAM_GONE`.",
    outputs: Outputs::Fixed(&[Port::new(
        "out",
        ValueType::Object,
        "`{items, done}`: the entries that have come, none if there were none in time; `done` once nothing more comes. A line is \
         a text, one of JSON a value, an event `{event, data, id?}` with `data` as text.",
    )]),
    parameters: &[
        Parameter::optional("operation", Schema::Enum(&["read", "close"]), "What to do.").or("\"read\""),
        Parameter::optional(
            "stream",
            Schema::Any,
            "The stream, which is the body that HttpRequest gives. Default: the input.",
        ),
        Parameter::optional(
            "limit",
            Schema::Integer { min: 1, max: 1_000 },
            "How many entries to read at most. After 1 MiB the rest is left for the next time as well.",
        )
        .or("100"),
        Parameter::optional(
            "waitMs",
            Schema::Integer { min: 0, max: 3_600_000 },
            "How long to wait for the first entry.",
        )
        .content(Content::Duration(TimeUnit::Milliseconds))
        .or("30000"),
        Parameter::optional(
            "gatherMs",
            Schema::Integer { min: 0, max: 60_000 },
            "How long to collect more once the first entry is there. Longer is fewer effects, of which a run has 1,000 unless \
                `maxEffects` says otherwise.",
        )
        .content(Content::Duration(TimeUnit::Milliseconds))
        .advanced()
        .or("100"),
    ],
    effects: &["stream-read"],
    examples: &[Example {
        title: "The next events of a model's answer",
        parameters: r#"{"limit": 20, "gatherMs": 250}"#,
        input: r#"{"$stream": "…", "format": "events"}"#,
        output: r#"{"out": {"items": [{"event": "message", "data": "{\"text\": \"Hel\"}"}, {"event": "message", "data": "{\"text\": \"lo\"}"}], "done": false}}"#,
    }],
    ..NodeType::plain(
        "ReadStream",
        Category::Effect,
        Face::new(
            "Read stream",
            Icon::ListEnd,
            Group::Services,
            &["sse", "server-sent events", "json lines", "live", "streaming response", "event source", "chunk"],
        ),
    )
};
