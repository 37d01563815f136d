//! KeyValue.

use crate::content::{Content, TimeUnit};
use crate::face::{Face, Group};
use crate::icon::Icon;
use crate::node_type::{Category, Example, NodeType, Outputs, Parameter, Port, Schema, ValueType};

/// KeyValue.
pub const TYPE: NodeType = NodeType {
    description: "Keeps values from run to run. Changes to a key are made one after the other, so a counter \
        counts every run. A stored value of the wrong type for the operation fails the node with \
        `KEY_VALUE_TYPE`; a key of more than 512 bytes, a value of more than 256 KiB or more than 10,000 \
        keys fail it with `KEY_VALUE_LIMIT`.",
    outputs: Outputs::Fixed(&[Port::new(
        "out",
        ValueType::Any,
        "The value after the operation; `get` gives null for a key that does not exist, `delete` the value \
            that was deleted.",
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
            "How long the value is kept, in milliseconds. Without it, `set` keeps it forever, and \
                `increment` and `append` leave its expiry as it was.",
        )
        .content(Content::Duration(TimeUnit::Milliseconds))
        .advanced(),
        Parameter::optional(
            "scope",
            Schema::Enum(&["pattern", "workspace"]),
            "Whose value it is: the pattern's own, or shared by all patterns of the workspace.",
        )
        .advanced()
        .or("\"pattern\""),
    ],
    effects: &["key-value"],
    examples: &[Example {
        title: "Count",
        parameters: r#"{"operation": "increment", "key": "orders of {{ $input.customer }}", "value": 2}"#,
        input: r#"{"customer": "c-1"}"#,
        output: r#"{"out": 2}"#,
    }],
    ..NodeType::plain(
        "KeyValue",
        Category::Effect,
        Face::new(
            "Key-value store",
            Icon::HardDrive,
            Group::Services,
            &[
                "storage",
                "state",
                "counter",
                "cache",
                "remember",
                "static data",
                "variable",
            ],
        ),
    )
};
