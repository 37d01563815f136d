//! Nodes that shape data.

use crate::node_type::{
    Category, Example, IN, ITEMS, NodeType, OUT, Outputs, Parameter, Port, Schema, ValueType,
};

/// A list on the only input, unless `items` names another.
const LIST_OUT: Port = Port::new("out", ValueType::Array, "The resulting list.");
const LEFT: Port = Port::new("left", ValueType::Array, "The first list.").required();
const RIGHT: Port = Port::new("right", ValueType::Array, "The second list.").required();
const OBJECT_OUT: Port = Port::new(
    "out",
    ValueType::Any,
    "The object; of a list, the list of its objects.",
);
/// A dotted path into an item, or an expression evaluated for it.
const SELECTOR: Schema = Schema::PerItem(&Schema::Any);

const fn node(
    name: &'static str,
    description: &'static str,
    inputs: &'static [Port],
    outputs: &'static [Port],
    parameters: &'static [Parameter],
    examples: &'static [Example],
) -> NodeType {
    let outputs = Outputs::Fixed(outputs);
    NodeType {
        name,
        category: Category::Data,
        description,
        inputs,
        outputs,
        parameters,
        effects: &[],
        examples,
    }
}

/// In the order in which lists show them.
pub const TYPES: &[NodeType] = &[
    node(
        "SetFields",
        "Sets fields of the input object and keeps the others. A dotted name such as `customer.city` sets a nested \
         field. A list is worked on item by item.",
        &[IN],
        &[OBJECT_OUT],
        &[
            Parameter::required("fields", Schema::Map(&Schema::Any), "The fields to set, by name."),
            Parameter::optional("keepInput", Schema::Boolean, "Keep the fields of the input.").or("true"),
        ],
        &[
            Example {
                title: "Add a field and a nested one",
                parameters: r#"{"fields": {"status": "new", "customer.vip": true}}"#,
                input: r#"{"id": 7, "customer": {"name": "Ada"}}"#,
                output: r#"{"out": {"id": 7, "customer": {"name": "Ada", "vip": true}, "status": "new"}}"#,
            },
            Example {
                title: "Compute, and keep nothing else",
                parameters: r#"{"fields": {"total": "{{ $input.price * $input.qty }}"}, "keepInput": false}"#,
                input: r#"{"price": 2.5, "qty": 4}"#,
                output: r#"{"out": {"total": 10}}"#,
            },
        ],
    ),
    node(
        "PickFields",
        "Keeps only the named fields, in the order named. Dotted names pick nested fields and keep their nesting. A \
         list is worked on item by item.",
        &[IN],
        &[OBJECT_OUT],
        &[Parameter::required("fields", Schema::Array(&Schema::String), "Names of the fields to keep.")],
        &[Example {
            title: "Keep two fields",
            parameters: r#"{"fields": ["id", "customer.name"]}"#,
            input: r#"{"id": 7, "note": "x", "customer": {"name": "Ada", "tier": "gold"}}"#,
            output: r#"{"out": {"id": 7, "customer": {"name": "Ada"}}}"#,
        }],
    ),
    node(
        "RenameFields",
        "Renames fields of an object and leaves the others as they are. A renamed field keeps its place. A list is \
         worked on item by item.",
        &[IN],
        &[OBJECT_OUT],
        &[Parameter::required("mapping", Schema::Map(&Schema::String), "New names by old name.")],
        &[Example {
            title: "Rename one field",
            parameters: r#"{"mapping": {"mail": "email"}}"#,
            input: r#"{"id": 1, "mail": "ada@example.com"}"#,
            output: r#"{"out": {"id": 1, "email": "ada@example.com"}}"#,
        }],
    ),
    node(
        "Transform",
        "Replaces the input by a value: usually an expression that builds it.",
        &[IN],
        &[OUT],
        &[Parameter::required("value", Schema::Any, "The value that leaves.")],
        &[Example {
            title: "Build a new object",
            parameters: r#"{"value": {"id": "{{ $input.order.id }}", "large": "{{ $input.order.total > 100 }}"}}"#,
            input: r#"{"order": {"id": "o-1", "total": 120}}"#,
            output: r#"{"out": {"id": "o-1", "large": true}}"#,
        }],
    ),
    node(
        "Filter",
        "Splits a list: items for which the condition holds leave by `out`, the others by `rejected`. Both ports \
         always fire.",
        &[IN],
        &[
            LIST_OUT,
            Port::new("rejected", ValueType::Array, "Items for which it does not hold."),
        ],
        &[
            Parameter::required("condition", SELECTOR, "Evaluated for each item, as `$item` and `$index`."),
            ITEMS,
        ],
        &[Example {
            title: "Keep what is in stock",
            parameters: r#"{"condition": "{{ $item.stock > 0 }}"}"#,
            input: r#"[{"sku": "a", "stock": 3}, {"sku": "b", "stock": 0}]"#,
            output: r#"{"out": [{"sku": "a", "stock": 3}], "rejected": [{"sku": "b", "stock": 0}]}"#,
        }],
    ),
    node(
        "Sort",
        "Sorts a list, stably. Numbers come by size, text by its characters, then the other kinds; null and missing \
         values come last.",
        &[IN],
        &[LIST_OUT],
        &[
            Parameter::required(
                "by",
                Schema::OneOf(&[
                    Schema::Array(&Schema::Object(&[
                        Parameter::required("value", SELECTOR, "A dotted path, or an expression with `$item`."),
                        Parameter::optional("order", Schema::Enum(&["asc", "desc"]), "Direction.").or("\"asc\""),
                    ])),
                    Schema::PerPair(&Schema::Any),
                ]),
                "What to sort by, most important first: a list of values and directions, or one expression that \
                 compares `$a` with `$b` and gives a negative number, zero or a positive one.",
            ),
            ITEMS,
        ],
        &[
            Example {
                title: "By a field, largest first",
                parameters: r#"{"by": [{"value": "total", "order": "desc"}]}"#,
                input: r#"[{"id": 1, "total": 5}, {"id": 2, "total": 9}]"#,
                output: r#"{"out": [{"id": 2, "total": 9}, {"id": 1, "total": 5}]}"#,
            },
            Example {
                title: "By comparing two items",
                parameters: r#"{"by": "{{ $a - $b }}"}"#,
                input: "[3, 1, 2]",
                output: r#"{"out": [1, 2, 3]}"#,
            },
        ],
    ),
    node(
        "Limit",
        "Keeps the first items of a list, or those from an offset on.",
        &[IN],
        &[LIST_OUT],
        &[
            Parameter::required("count", Schema::Integer { min: 0, max: 1_000_000_000 }, "How many items to keep."),
            Parameter::optional("offset", Schema::Integer { min: 0, max: 1_000_000_000 }, "How many to skip first.")
                .or("0"),
            ITEMS,
        ],
        &[Example {
            title: "The second page of two",
            parameters: r#"{"count": 2, "offset": 2}"#,
            input: "[1, 2, 3, 4, 5]",
            output: r#"{"out": [3, 4]}"#,
        }],
    ),
    node(
        "Unique",
        "Keeps the first of the items that are equal, or that are equal in what `by` picks.",
        &[IN],
        &[LIST_OUT],
        &[
            Parameter::optional(
                "by",
                SELECTOR,
                "A dotted path, or an expression with `$item`. Default: the whole item.",
            ),
            ITEMS,
        ],
        &[Example {
            title: "One item for each address",
            parameters: r#"{"by": "email"}"#,
            input: r#"[{"email": "a@x.org", "n": 1}, {"email": "b@x.org", "n": 2}, {"email": "a@x.org", "n": 3}]"#,
            output: r#"{"out": [{"email": "a@x.org", "n": 1}, {"email": "b@x.org", "n": 2}]}"#,
        }],
    ),
    node(
        "Aggregate",
        "Sums up a list: without `groupBy` one object for the whole list, with it a list of one object for each \
         group, in the order of first appearance. A group's keys are fields named by the last part of their path \
         (`customer.city` gives `city`); a key that is an expression adds no field of its own.",
        &[IN],
        &[Port::new("out", ValueType::Any, "The sums.")],
        &[
            Parameter::optional(
                "groupBy",
                Schema::Array(&SELECTOR),
                "Dotted paths, or expressions with `$item`, that make up a group's key.",
            ),
            Parameter::required(
                "values",
                Schema::Map(&Schema::Object(&[
                    Parameter::required(
                        "op",
                        Schema::Enum(&["sum", "avg", "min", "max", "count", "first", "last", "collect", "distinct"]),
                        "What to compute. `sum` and `avg` need numbers and pass over null and missing values; \
                         `count` counts values that are neither, or all items without `value`.",
                    ),
                    Parameter::optional(
                        "value",
                        SELECTOR,
                        "A dotted path, or an expression with `$item`. Default: the item.",
                    ),
                ])),
                "The fields to compute, by name.",
            ),
            ITEMS,
        ],
        &[Example {
            title: "Turnover by city",
            parameters: r#"{"groupBy": ["city"], "values": {"orders": {"op": "count"}, "turnover": {"op": "sum", "value": "total"}}}"#,
            input: r#"[{"city": "Oslo", "total": 5}, {"city": "Bern", "total": 7}, {"city": "Oslo", "total": 1}]"#,
            output: r#"{"out": [{"city": "Oslo", "orders": 2, "turnover": 6}, {"city": "Bern", "orders": 1, "turnover": 7}]}"#,
        }],
    ),
    node(
        "Join",
        "Joins two lists of objects where their keys are equal. A row has the fields of both sides; where both have \
         one, the right side's value counts.",
        &[LEFT, RIGHT],
        &[LIST_OUT],
        &[
            Parameter::required("leftKey", SELECTOR, "Key of a left item: a dotted path, or an expression with `$item`."),
            Parameter::required("rightKey", SELECTOR, "Key of a right item, likewise."),
            Parameter::optional(
                "type",
                Schema::Enum(&["inner", "left", "right", "full"]),
                "Whether items without a partner are kept: none, those of the left, of the right, or of both.",
            )
            .or("\"inner\""),
        ],
        &[Example {
            title: "Orders with their customers",
            parameters: r#"{"leftKey": "customerId", "rightKey": "id", "type": "left"}"#,
            input: r#"{"left": [{"order": 1, "customerId": 7}, {"order": 2, "customerId": 9}], "right": [{"id": 7, "name": "Ada"}]}"#,
            output: r#"{"out": [{"order": 1, "customerId": 7, "id": 7, "name": "Ada"}, {"order": 2, "customerId": 9}]}"#,
        }],
    ),
    node(
        "Flatten",
        "Takes nested lists apart, one level by default.",
        &[IN],
        &[LIST_OUT],
        &[
            Parameter::optional("depth", Schema::Integer { min: 1, max: 1_000 }, "How many levels.").or("1"),
            ITEMS,
        ],
        &[Example {
            title: "One level",
            parameters: "{}",
            input: "[[1, 2], [3, [4]], 5]",
            output: r#"{"out": [1, 2, 3, [4], 5]}"#,
        }],
    ),
    node(
        "Compare",
        "Finds what changed from the left list to the right one, by a key. All four ports always fire.",
        &[LEFT, RIGHT],
        &[
            Port::new("added", ValueType::Array, "Items only on the right."),
            Port::new("removed", ValueType::Array, "Items only on the left."),
            Port::new("changed", ValueType::Array, "For items that differ: {key, before, after}."),
            Port::new("same", ValueType::Array, "Items equal on both sides."),
        ],
        &[Parameter::required("key", SELECTOR, "Key of an item: a dotted path, or an expression with `$item`.")],
        &[Example {
            title: "What a sync has to do",
            parameters: r#"{"key": "id"}"#,
            input: r#"{"left": [{"id": 1, "v": "a"}, {"id": 2, "v": "b"}], "right": [{"id": 2, "v": "c"}, {"id": 3, "v": "d"}]}"#,
            output: r#"{"added": [{"id": 3, "v": "d"}], "removed": [{"id": 1, "v": "a"}], "changed": [{"key": 2, "before": {"id": 2, "v": "b"}, "after": {"id": 2, "v": "c"}}], "same": []}"#,
        }],
    ),
];
