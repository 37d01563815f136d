//! ChatCompletion.

use super::connection::connection;
use crate::content::{ConnectionKind, Content};
use crate::face::{Face, Group};
use crate::icon::Icon;
use crate::node_type::{Category, Example, NodeType, Outputs, Parameter, Port, Schema, ValueType};

/// ChatCompletion.
pub const TYPE: NodeType = NodeType {
    description: "Asks a language model, through any service with OpenAI's chat API. The connection has \
        `apiKey`, and `baseUrl` unless the service is OpenAI's own. An error status fails the node with \
        `HTTP_<status>`, a refusal with `CHAT_REFUSED`, an answer that should be JSON and is not with \
        `CHAT_JSON`.",
    outputs: Outputs::Fixed(&[Port::new(
        "out",
        ValueType::Object,
        "{text, json, usage}; `json` is null without `jsonSchema`.",
    )]),
    parameters: &[
        connection(&[ConnectionKind::Chat]),
        Parameter::required("model", Schema::String, "Name of the model."),
        Parameter::optional("prompt", Schema::String, "What to ask.").content(Content::Multiline),
        Parameter::optional(
            "messages",
            Schema::Array(&Schema::Any),
            "A whole conversation, instead of `prompt`: [{role, content}].",
        )
        .advanced(),
        Parameter::optional("system", Schema::String, "Instructions that come first.")
            .content(Content::Multiline),
        Parameter::optional("temperature", Schema::Number, "How random the answer is: 0 to 2.").advanced(),
        Parameter::optional(
            "maxTokens",
            Schema::Integer {
                min: 1,
                max: 1_000_000,
            },
            "Longest answer, in tokens.",
        )
        .advanced(),
        Parameter::optional(
            "jsonSchema",
            Schema::Map(&Schema::Any),
            "A JSON Schema that the answer must follow.",
        )
        .content(Content::Json)
        .advanced(),
    ],
    effects: &["chat"],
    examples: &[Example {
        title: "Classify a message",
        parameters: r#"{"connection": "openai", "model": "gpt-4o-mini", "system": "Is the message a complaint?",
            "prompt": "{{ $input.text }}", "jsonSchema": {"type": "object", "properties": {"complaint": {"type": "boolean"}},
            "required": ["complaint"], "additionalProperties": false}}"#,
        input: r#"{"text": "My order never came."}"#,
        output: r#"{"out": {"text": "{\"complaint\":true}", "json": {"complaint": true}, "usage": {"total_tokens": 42}}}"#,
    }],
    ..NodeType::plain(
        "ChatCompletion",
        Category::Effect,
        Face::new(
            "Chat completion",
            Icon::Bot,
            Group::Services,
            &[
                "ai",
                "llm",
                "openai",
                "gpt",
                "language model",
                "prompt",
                "classify",
                "summarize",
            ],
        ),
    )
};
