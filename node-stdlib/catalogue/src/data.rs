//! Nodes that shape data.

use crate::content::Content;
use crate::face::{Face, Group};
use crate::icon::Icon;
use crate::node_type::{
    Category, Emits, Example, IN, ITEMS, NodeType, OUT, Outputs, Parameter, Port, Schema, ValueType,
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
    face: Face,
    description: &'static str,
    inputs: &'static [Port],
    outputs: &'static [Port],
    parameters: &'static [Parameter],
    examples: &'static [Example],
) -> NodeType {
    NodeType {
        description,
        inputs,
        outputs: Outputs::Fixed(outputs),
        // Where there are several, the items are divided among them.
        sends_several: outputs.len() > 1,
        parameters,
        examples,
        ..NodeType::plain(name, Category::Data, face)
    }
}

/// A Return of a composite is lowered to it.
pub const TRANSFORM: NodeType = node(
    "Transform",
    Face::new(
        "Transform",
        Icon::Shuffle,
        Group::Fields,
        &[
            "expression",
            "map",
            "compute",
            "convert",
            "build object",
            "evaluate",
        ],
    ),
    "Replaces the input with a value, usually built by an expression.",
    &[IN],
    &[OUT],
    &[Parameter::required("value", Schema::Any, "The value to emit.")],
    &[Example {
        title: "Build a new object",
        parameters: r#"{"value": {"id": "{{ $input.order.id }}", "large": "{{ $input.order.total > 100 }}"}}"#,
        input: r#"{"order": {"id": "o-1", "total": 120}}"#,
        output: r#"{"out": {"id": "o-1", "large": true}}"#,
    }],
)
.emitting(Emits::Parameter("value"));

/// In the order in which lists show them.
pub const TYPES: &[NodeType] = &[
    node(
        "SetFields",
        Face::new(
            "Set fields",
            Icon::Pencil,
            Group::Fields,
            &[
                "edit fields",
                "assign",
                "add field",
                "set variable",
                "change",
                "map",
            ],
        ),
        "Sets fields of the input object and keeps the others. A dotted name such as `customer.city` sets a \
         nested field. A list is processed item by item.",
        &[IN],
        &[OBJECT_OUT],
        &[
            Parameter::required("fields", Schema::Map(&Schema::Any), "The fields to set, by name."),
            Parameter::optional("keepInput", Schema::Boolean, "Keep the fields of the input.").or("true"),
            Parameter::optional(
                "types",
                Schema::Map(&Schema::Enum(&["string", "number", "boolean", "array", "object"])),
                "Types of fields, by name: their values are converted, and the node fails for those that can't be. Missing \
                 ones become null.",
            )
            .advanced()
            .literal(),
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
            Example {
                title: "Convert values to types",
                parameters: r#"{"fields": {"sku": "{{ $input.sku }}", "qty": "{{ $input.qty }}", "paid": "{{ $input.paid }}", "tags": "{{ $input.tags }}",
                    "note": "{{ $input.note }}"}, "types": {"sku": "string", "qty": "number", "paid": "boolean", "tags": "array", "note": "string"},
                    "keepInput": false}"#,
                input: r#"{"sku": 140, "qty": "4", "paid": "True", "tags": "['a', 'b']"}"#,
                output: r#"{"out": {"sku": "140", "qty": 4, "paid": true, "tags": ["a", "b"], "note": null}}"#,
            },
            Example {
                title: "A value that can't be converted",
                parameters: r#"{"fields": {"qty": "{{ $input.qty }}"}, "types": {"qty": "number"}}"#,
                input: r#"{"qty": "four"}"#,
                output: r#"{"error": {"error": {"code": "PARAMETER", "message": "Field `qty` must be of the type number, but it is the string \"four\"."}}}"#,
            },
        ],
    ),
    node(
        "PickFields",
        Face::new(
            "Pick fields",
            Icon::ListChecks,
            Group::Fields,
            &[
                "select columns",
                "keep fields",
                "project",
                "remove fields",
                "omit",
            ],
        ),
        "Keeps only the named fields, in the order in which they are named. Dotted names pick nested fields \
            and keep their nesting. A list is processed item by item.",
        &[IN],
        &[OBJECT_OUT],
        &[Parameter::required(
            "fields",
            Schema::Array(&Schema::String),
            "Names of the fields to keep.",
        )],
        &[Example {
            title: "Keep two fields",
            parameters: r#"{"fields": ["id", "customer.name"]}"#,
            input: r#"{"id": 7, "note": "x", "customer": {"name": "Ada", "tier": "gold"}}"#,
            output: r#"{"out": {"id": 7, "customer": {"name": "Ada"}}}"#,
        }],
    ),
    node(
        "RenameFields",
        Face::new(
            "Rename fields",
            Icon::Tag,
            Group::Fields,
            &["rename keys", "columns", "mapping", "alias"],
        ),
        "Renames fields of an object and leaves the others as they are. A renamed field keeps its place. A \
            list is processed item by item.",
        &[IN],
        &[OBJECT_OUT],
        &[Parameter::required(
            "mapping",
            Schema::Map(&Schema::String),
            "New names by old name.",
        )],
        &[Example {
            title: "Rename one field",
            parameters: r#"{"mapping": {"mail": "email"}}"#,
            input: r#"{"id": 1, "mail": "ada@example.com"}"#,
            output: r#"{"out": {"id": 1, "email": "ada@example.com"}}"#,
        }],
    ),
    TRANSFORM,
    node(
        "Filter",
        Face::new(
            "Filter",
            Icon::Funnel,
            Group::Lists,
            &["where", "condition", "keep", "exclude", "remove items", "search"],
        ),
        "Splits a list: items for which the condition is true leave through `out`, the others through \
            `rejected`. Both ports always fire.",
        &[IN],
        &[
            LIST_OUT,
            Port::new("rejected", ValueType::Array, "Items for which it is false."),
        ],
        &[
            Parameter::required(
                "condition",
                SELECTOR,
                "Evaluated for each item, as `$item` and `$index`.",
            ),
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
        Face::new(
            "Sort",
            Icon::ArrowUpDown,
            Group::Lists,
            &["order by", "rank", "ascending", "descending"],
        ),
        "Sorts a list, stably. Numbers are ordered by size, then text by its characters, then other kinds; \
            null and missing values come last.",
        &[IN],
        &[LIST_OUT],
        &[
            Parameter::required(
                "by",
                Schema::OneOf(&[
                    Schema::Array(&Schema::Object(&[
                        Parameter::required(
                            "value",
                            SELECTOR,
                            "A dotted path, or an expression with `$item`.",
                        )
                        .content(Content::Path),
                        Parameter::optional("order", Schema::Enum(&["asc", "desc"]), "Direction.")
                            .or("\"asc\""),
                    ])),
                    Schema::PerPair(&Schema::Any),
                ]),
                "What to sort by, most important first: a list of values and directions, or one expression \
                 that compares `$a` with `$b` and returns a negative number, zero or a positive number.",
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
        Face::new(
            "Limit",
            Icon::ListEnd,
            Group::Lists,
            &["first", "top", "slice", "page", "offset", "take"],
        ),
        "Keeps the first items of a list, or those from an offset on.",
        &[IN],
        &[LIST_OUT],
        &[
            Parameter::required(
                "count",
                Schema::Integer {
                    min: 0,
                    max: 1_000_000_000,
                },
                "How many items to keep.",
            ),
            Parameter::optional(
                "offset",
                Schema::Integer {
                    min: 0,
                    max: 1_000_000_000,
                },
                "How many to skip first.",
            )
            .or("0"),
            ITEMS,
        ],
        &[
            Example {
                title: "The second page of two",
                parameters: r#"{"count": 2, "offset": 2}"#,
                input: "[1, 2, 3, 4, 5]",
                output: r#"{"out": [3, 4]}"#,
            },
            Example {
                title: "The list is within the input, and nothing says where",
                parameters: r#"{"count": 2}"#,
                input: r#"{"items": [1, 2, 3]}"#,
                output: r#"{"error": {"error": {"code": "PARAMETER", "message": "This node works on an array, but its input is an object with items. Give it the array by the parameter `items`, for example `{{ $input.items }}`."}}}"#,
            },
        ],
    ),
    node(
        "Unique",
        Face::new(
            "Unique",
            Icon::Fingerprint,
            Group::Lists,
            &["remove duplicates", "distinct", "dedupe"],
        ),
        "Of items that are equal, or equal in what `by` selects, keeps the first.",
        &[IN],
        &[LIST_OUT],
        &[
            Parameter::optional(
                "by",
                SELECTOR,
                "A dotted path, or an expression with `$item`. Default: the whole item.",
            )
            .content(Content::Path),
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
        Face::new(
            "Aggregate",
            Icon::Sigma,
            Group::Lists,
            &[
                "group by",
                "sum",
                "count",
                "average",
                "summarize",
                "pivot",
                "statistics",
            ],
        ),
        "Summarises a list: without `groupBy`, one object for the whole list; with it, a list with one \
            object for each group, in order of first appearance. A group's keys are fields named by the \
            last part of their path (`customer.city` gives `city`); a key that is an expression adds no \
            field of its own.",
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
                        Schema::Enum(&[
                            "sum", "avg", "min", "max", "count", "first", "last", "collect", "distinct",
                        ]),
                        "What to compute. `sum` and `avg` need numbers and skip null and missing values; \
                         `count` counts values that are neither, or all items without `value`.",
                    ),
                    Parameter::optional(
                        "value",
                        SELECTOR,
                        "A dotted path, or an expression with `$item`. Default: the item.",
                    )
                    .content(Content::Path),
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
        Face::new(
            "Join",
            Icon::Combine,
            Group::Lists,
            &["sql join", "lookup", "match", "enrich", "merge by key", "vlookup"],
        ),
        "Joins two lists of objects where their keys are equal. A row has the fields of both sides; where both have \
         one, the right side's value counts.",
        &[LEFT, RIGHT],
        &[LIST_OUT],
        &[
            Parameter::required(
                "leftKey",
                SELECTOR,
                "Key of a left item: a dotted path, or an expression with `$item`.",
            )
            .content(Content::Path),
            Parameter::required("rightKey", SELECTOR, "Key of a right item, likewise.")
                .content(Content::Path),
            Parameter::optional(
                "type",
                Schema::Enum(&["inner", "left", "right", "full"]),
                "Whether items without a match are kept: none, those on the left, on the right, or on both \
                    sides.",
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
        Face::new(
            "Flatten",
            Icon::FoldVertical,
            Group::Lists,
            &["nested lists", "split out", "unnest", "explode", "concat"],
        ),
        "Flattens nested lists, by one level by default.",
        &[IN],
        &[LIST_OUT],
        &[
            Parameter::optional(
                "depth",
                Schema::Integer { min: 1, max: 1_000 },
                "How many levels.",
            )
            .or("1"),
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
        Face::new(
            "Compare",
            Icon::Diff,
            Group::Lists,
            &["difference", "changes", "sync", "datasets", "added", "removed"],
        ),
        "Finds what changed between the left list and the right one, by a key. All four ports always fire.",
        &[LEFT, RIGHT],
        &[
            Port::new("added", ValueType::Array, "Items only on the right."),
            Port::new("removed", ValueType::Array, "Items only on the left."),
            Port::new(
                "changed",
                ValueType::Array,
                "For items that differ: {key, before, after}.",
            ),
            Port::new("same", ValueType::Array, "Items equal on both sides."),
        ],
        &[Parameter::required(
            "key",
            SELECTOR,
            "Key of an item: a dotted path, or an expression with `$item`.",
        )
        .content(Content::Path)],
        &[Example {
            title: "What a sync has to do",
            parameters: r#"{"key": "id"}"#,
            input: r#"{"left": [{"id": 1, "v": "a"}, {"id": 2, "v": "b"}], "right": [{"id": 2, "v": "c"}, {"id": 3, "v": "d"}]}"#,
            output: r#"{"added": [{"id": 3, "v": "d"}], "removed": [{"id": 1, "v": "a"}], "changed": [{"key": 2, "before": {"id": 2, "v": "b"}, "after": {"id": 2, "v": "c"}}], "same": []}"#,
        }],
    ),
];
