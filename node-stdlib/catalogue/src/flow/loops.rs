//! Nodes that repeat a body.

use super::node::node;
use crate::face::{Face, Group};
use crate::icon::Icon;
use crate::node_type::{Example, IN, ITEMS, NodeType, Parameter, Port, Schema, ValueType};
use crate::role::{Iteration, Role};

const NEXT: Port = Port::new(
    "next",
    ValueType::Any,
    "Where the body ends: what comes back is the iteration's value, an array of them if several edges \
                  bring one.",
);
const ITEM: Port = Port::new(
    "item",
    ValueType::Any,
    "Starts the body, once for each iteration.",
);

/// Repeats its body for each element of a list.
pub const FOR_EACH: NodeType = node(
    "ForEach",
    Face::new(
        "For each",
        Icon::Repeat,
        Group::Loops,
        &[
            "loop",
            "iterate",
            "map",
            "split in batches",
            "every item",
            "iterator",
        ],
    ),
    "Runs its body once for every element of a list: the nodes between `item` and `next`, each time with \
        their own state. `done` then emits what came back, in the order of the elements; iterations from \
        which nothing came back are omitted.",
    &[IN, NEXT],
    &[
        ITEM,
        Port::new(
            "done",
            ValueType::Array,
            "What came back to `next`, in the order of the elements.",
        ),
    ],
    &[
        ITEMS,
        Parameter::optional(
            "concurrency",
            Schema::Integer { min: 1, max: 1_000 },
            "How many iterations may be in progress at a time.",
        )
        .advanced()
        .or("1")
        .literal(),
        Parameter::optional(
            "batchSize",
            Schema::Integer {
                min: 1,
                max: 1_000_000,
            },
            "Passes slices of this many elements to the body, as arrays, instead of single elements.",
        )
        .advanced()
        .literal(),
    ],
    &[Example {
        title: "Work on each line of an order; here the body gives its item back",
        parameters: r#"{"items": "{{ $input.lines }}", "concurrency": 4}"#,
        input: r#"{"lines": [{"sku": "a"}, {"sku": "b"}]}"#,
        output: r#"{"done": [{"sku": "a"}, {"sku": "b"}]}"#,
    }],
)
.role(Role::Iterate(Iteration::ForEach));

pub(super) const LOOP: NodeType = node(
        "Loop",
        Face::new(
            "Loop",
            Icon::RefreshCw,
            Group::Loops,
            &["while", "repeat", "until", "poll", "iterate", "recursion"],
        ),
        "Repeats its body, the nodes between `item` and `next`, while the condition is true. It carries a \
            value: first the input, then whatever came back; `done` emits the last one.",
        &[IN, NEXT],
        &[ITEM, Port::new("done", ValueType::Any, "The last value.")],
        &[
            Parameter::required(
                "condition",
                Schema::Deferred(&Schema::Boolean),
                "Checked before each iteration; the value is `$input` and `$item`, the iterations so far `$index`.",
            ),
            Parameter::required(
                "maxIterations",
                Schema::Integer {
                    min: 1,
                    max: 1_000_000,
                },
                "The loop ends after this many iterations, even if the condition is still true.",
            )
            .literal(),
        ],
        &[Example {
            title: "Repeat three times; here the body gives its item back",
            parameters: r#"{"condition": "{{ $index < 3 }}", "maxIterations": 10}"#,
            input: r#"{"page": 1}"#,
            output: r#"{"done": {"page": 1}}"#,
        }],
    )
    .role(Role::Iterate(Iteration::While {
        at_most: "maxIterations",
    }));
