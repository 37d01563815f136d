//! ChatCompletion.

use super::connection::CONNECTION;
use crate::node_type::{Category, Example, IN, NodeType, Outputs, Parameter, Port, Schema, ValueType};

/// ChatCompletion.
pub const TYPE: NodeType = NodeType {
    name: "ChatCompletion",
    category: Category::Effect,
    description: "Asks a language model, by any service that speaks OpenAI's chat API. The connection has `apiKey`, and \
                  `baseUrl` when it is not OpenAI's own. An error status fails the node with `HTTP_<status>`, a refusal \
                  with `CHAT_REFUSED`, an answer that should be JSON and is not with `CHAT_JSON`.",
    inputs: &[IN],
    outputs: Outputs::Fixed(&[Port::new(
        "out",
        ValueType::Object,
        "{text, json, usage}; `json` is null without `jsonSchema`.",
    )]),
    parameters: &[
        CONNECTION,
        Parameter::required("model", Schema::String, "Name of the model."),
        Parameter::optional("prompt", Schema::String, "What to ask."),
        Parameter::optional(
            "messages",
            Schema::Array(&Schema::Any),
            "A whole conversation, instead of `prompt`: [{role, content}].",
        ),
        Parameter::optional("system", Schema::String, "Instructions that go before."),
        Parameter::optional(
            "temperature",
            Schema::Number,
            "How much chance there is in the answer: 0 to 2.",
        ),
        Parameter::optional(
            "maxTokens",
            Schema::Integer {
                min: 1,
                max: 1_000_000,
            },
            "Longest answer, in tokens.",
        ),
        Parameter::optional(
            "jsonSchema",
            Schema::Map(&Schema::Any),
            "A JSON Schema that the answer is to follow.",
        ),
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
};
