//! KeyValue.

use crate::node_type::{Category, Example, IN, NodeType, Outputs, Parameter, Port, Schema, ValueType};

/// KeyValue.
pub const TYPE: NodeType = NodeType {
    name: "KeyValue",
    category: Category::Effect,
    description: "Keeps values from run to run. Changes of one key come one after the other, so a counter counts every run. \
                  A value that an operation does not fit fails the node with `KEY_VALUE_TYPE`; a key of more than 512 bytes, a \
                  value of more than 256 KiB or more than 10,000 keys with `KEY_VALUE_LIMIT`.",
    inputs: &[IN],
    outputs: Outputs::Fixed(&[Port::new(
        "out",
        ValueType::Any,
        "The value as it is then; `get` gives null for a key that is not there, `delete` what was there.",
    )]),
    parameters: &[
        Parameter::required(
            "operation",
            Schema::Enum(&["get", "set", "delete", "increment", "append"]),
            "What to do. `increment` adds to a number (from 0), `append` to an array (from empty).",
        ),
        Parameter::required("key", Schema::String, "Name of the value."),
        Parameter::optional(
            "value",
            Schema::Any,
            "What to set or append, or how much to add (default 1).",
        ),
        Parameter::optional(
            "ttlMs",
            Schema::Integer {
                min: 1,
                max: 10 * 366 * 86_400_000,
            },
            "How long what is written is kept, in milliseconds. Without it `set` keeps it for good, and `increment` and \
             `append` leave the time as it was.",
        ),
        Parameter::optional(
            "scope",
            Schema::Enum(&["pattern", "workspace"]),
            "Whose value it is: the pattern's own, or shared by all patterns of the workspace.",
        )
        .or("\"pattern\""),
    ],
    effects: &["key-value"],
    examples: &[Example {
        title: "Count",
        parameters: r#"{"operation": "increment", "key": "orders of {{ $input.customer }}", "value": 2}"#,
        input: r#"{"customer": "c-1"}"#,
        output: r#"{"out": 2}"#,
    }],
};
