//! Nodes that decide where values go.

use crate::node_type::{
    Category, Example, IN, ITEMS, NodeType, OUT, Outputs, Parameter, Port, Schema, ValueType,
};
use heddle_contract::parameters::{OPERATORS, WAIT_MS_MAX};

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
const PASSED: Port = Port::new("out", ValueType::Any, "The input, as it came.");

const fn node(
    name: &'static str,
    description: &'static str,
    inputs: &'static [Port],
    outputs: &'static [Port],
    parameters: &'static [Parameter],
    examples: &'static [Example],
) -> NodeType {
    NodeType {
        name,
        category: Category::Flow,
        description,
        inputs,
        outputs: Outputs::Fixed(outputs),
        parameters,
        effects: &[],
        examples,
    }
}

/// In the order in which lists show them.
pub const TYPES: &[NodeType] = &[
    IF,
    SWITCH,
    MERGE,
    node(
        "ForEach",
        "Runs its body once for every element of a list: the nodes between `item` and `next`, each time with their own \
         state. `done` then gives what came back, in the order of the elements; an iteration from which nothing came \
         back is left out.",
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
                "How many iterations may be under way at a time.",
            )
            .or("1")
            .literal(),
            Parameter::optional(
                "batchSize",
                Schema::Integer {
                    min: 1,
                    max: 1_000_000,
                },
                "Gives the body slices of so many elements, as arrays, instead of single elements.",
            )
            .literal(),
        ],
        &[Example {
            title: "Work on each line of an order; here the body gives its item back",
            parameters: r#"{"items": "{{ $input.lines }}", "concurrency": 4}"#,
            input: r#"{"lines": [{"sku": "a"}, {"sku": "b"}]}"#,
            output: r#"{"done": [{"sku": "a"}, {"sku": "b"}]}"#,
        }],
    ),
    node(
        "Loop",
        "Repeats its body, the nodes between `item` and `next`, while the condition holds. It carries a value: first \
         the input, then whatever came back; `done` gives the last one.",
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
                "The loop ends after so many iterations, even if the condition still holds.",
            )
            .literal(),
        ],
        &[Example {
            title: "Repeat three times; here the body gives its item back",
            parameters: r#"{"condition": "{{ $index < 3 }}", "maxIterations": 10}"#,
            input: r#"{"page": 1}"#,
            output: r#"{"done": {"page": 1}}"#,
        }],
    ),
    WAIT,
    WAIT_FOR_CALLBACK,
    node(
        "Throw",
        "Fails, with a message and a code of your own. `onError` and `retry` treat it like any other failure.",
        &[IN],
        &[],
        &[
            Parameter::required("message", Schema::String, "What is wrong, for a person."),
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
    ),
    node(
        "Return",
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
    ),
    RESPOND_TO_WEBHOOK,
    CALL_PATTERN,
    node(
        "NoOp",
        "Does nothing: passes its input through. Of use as a place where branches meet.",
        &[IN],
        &[PASSED],
        &[],
        &[Example {
            title: "Pass a value through",
            parameters: "{}",
            input: r#"{"id": 7}"#,
            output: r#"{"out": {"id": 7}}"#,
        }],
    ),
];

const IF: NodeType = node(
    "If",
    "Sends its input one of two ways: by `true` when the condition holds, else by `false`. With `each`, every element of \
     a list goes its own way.",
    &[IN],
    &[
        Port::new("true", ValueType::Any, "The input, when the condition holds."),
        Port::new("false", ValueType::Any, "The input, when it does not."),
    ],
    &[
        Parameter::optional(
            "condition",
            Schema::Boolean,
            "What must hold: an expression, whose value counts as JavaScript's `if` counts it. Give this or \
             `conditions`.",
        ),
        Parameter::optional(
            "conditions",
            Schema::Array(&Schema::Object(&[
                Parameter::optional("left", Schema::Any, "What is looked at."),
                Parameter::required(
                    "operator",
                    Schema::Enum(OPERATORS),
                    "How. `equals` compares content and never converts (null and missing are equal); `greater` and \
                     its kind compare as JavaScript does. `contains` looks into a text, a list or the names of an \
                     object, and `in` does so the other way round. `exists` means neither missing nor null; \
                     `isEmpty` means that or an empty text, list or object.",
                ),
                Parameter::optional(
                    "right",
                    Schema::Any,
                    "What it is compared with, if the operator needs it.",
                ),
            ])),
            "Comparisons, instead of `condition`.",
        ),
        Parameter::optional(
            "combine",
            Schema::Enum(&["all", "any"]),
            "Whether all of `conditions` must hold, or any one. Of none at all, all hold and not any.",
        )
        .or("\"all\""),
    ],
    &[
        Example {
            title: "Choose by an expression",
            parameters: r#"{"condition": "{{ $input.total > 40 }}"}"#,
            input: r#"{"total": 59.9}"#,
            output: r#"{"true": {"total": 59.9}}"#,
        },
        Example {
            title: "Choose by comparisons, of which one is enough",
            parameters: r#"{"combine": "any", "conditions": [
                {"left": "{{ $input.tier }}", "operator": "in", "right": ["gold", "platinum"]},
                {"left": "{{ $input.email }}", "operator": "endsWith", "right": "@example.com"}]}"#,
            input: r#"{"tier": "basic", "email": "ada@example.org"}"#,
            output: r#"{"false": {"tier": "basic", "email": "ada@example.org"}}"#,
        },
        Example {
            title: "A condition that is always so",
            parameters: r#"{"condition": true}"#,
            input: "[1, 2]",
            output: r#"{"true": [1, 2]}"#,
        },
    ],
);

const SWITCH: NodeType = NodeType {
    name: "Switch",
    category: Category::Flow,
    description: "Sends its input by the port of the first case that fits, or of every case with `all`; by `default` \
                  when none fits.",
    inputs: &[IN],
    outputs: Outputs::SwitchCases,
    parameters: &[
        Parameter::optional(
            "value",
            Schema::Any,
            "What the cases' `equals` are compared with. Default: the input.",
        ),
        Parameter::required(
            "cases",
            Schema::Array(&Schema::Object(&[
                Parameter::required("name", Schema::String, "Name of the case's output port.").literal(),
                Parameter::optional(
                    "equals",
                    Schema::Any,
                    "Fits when `value` has this content; nothing is converted, null and missing are equal.",
                ),
                Parameter::optional(
                    "when",
                    Schema::Deferred(&Schema::Boolean),
                    "Fits when this holds; evaluated only if no case before it fitted. With `equals` too, both must \
                     hold.",
                ),
            ])),
            "The cases, in the order in which they are tried. They are written out, since their names are the ports; \
             what they compare can be expressions.",
        ),
        Parameter::optional(
            "all",
            Schema::Boolean,
            "Leave by every case that fits, not only by the first.",
        )
        .or("false"),
    ],
    effects: &[],
    examples: &[
        Example {
            title: "Choose by a value",
            parameters: r#"{"value": "{{ $input.status }}", "cases": [
                {"name": "paid", "equals": "paid"}, {"name": "open", "equals": "open"}]}"#,
            input: r#"{"status": "open"}"#,
            output: r#"{"open": {"status": "open"}}"#,
        },
        Example {
            title: "Choose by conditions",
            parameters: r#"{"cases": [
                {"name": "large", "when": "{{ $input.total >= 1000 }}"},
                {"name": "medium", "when": "{{ $input.total >= 100 }}"}]}"#,
            input: r#"{"total": 20}"#,
            output: r#"{"default": {"total": 20}}"#,
        },
        Example {
            title: "Compare the input itself",
            parameters: r#"{"cases": [{"name": "yes", "equals": "y"}, {"name": "no", "equals": "n"}]}"#,
            input: r#""n""#,
            output: r#"{"no": "n"}"#,
        },
    ],
};

const MERGE: NodeType = node(
    "Merge",
    "Makes one value of those that several edges bring, in the order of the edges; edges that bring nothing don't \
     count. Waits for all of them, except in the mode `first`, which runs once at the first value.",
    &[Port::new("in", ValueType::Any, "The values to merge; any number of edges.").required()],
    &[OUT],
    &[
        Parameter::optional(
            "mode",
            Schema::Enum(&["first", "append", "combine", "zip", "join"]),
            "`first`: the first value. `append`: one list of all elements; what is no list counts as one element. \
             `combine`: one object of all fields, of which later ones win. `zip`: the first elements of all lists \
             together, then the second ones, up to the end of the shortest; objects become one object, anything else \
             a list. `join`: the rows of two lists that have the same key, each pair as one object.",
        )
        .or("\"append\"")
        .literal(),
        Parameter::optional(
            "key",
            Schema::PerItem(&Schema::Any),
            "For `join`: the key of a row, as a dotted path or an expression with `$item`.",
        ),
        Parameter::optional(
            "rightKey",
            Schema::PerItem(&Schema::Any),
            "For `join`: the key of the second list's rows. Default: `key`.",
        ),
    ],
    &[
        Example {
            title: "One list of several",
            parameters: r#"{"mode": "append"}"#,
            input: "[[1, 2], [3], 4]",
            output: r#"{"out": [1, 2, 3, 4]}"#,
        },
        Example {
            title: "One object of several",
            parameters: r#"{"mode": "combine"}"#,
            input: r#"[{"id": 7, "status": "new"}, {"status": "paid"}]"#,
            output: r#"{"out": {"id": 7, "status": "paid"}}"#,
        },
        Example {
            title: "Elements side by side",
            parameters: r#"{"mode": "zip"}"#,
            input: r#"[[{"id": 1}, {"id": 2}], [{"price": 5}, {"price": 8}]]"#,
            output: r#"{"out": [{"id": 1, "price": 5}, {"id": 2, "price": 8}]}"#,
        },
        Example {
            title: "Rows joined by a key",
            parameters: r#"{"mode": "join", "key": "customer", "rightKey": "id"}"#,
            input: r#"[[{"order": 1, "customer": "a"}, {"order": 2, "customer": "z"}], [{"id": "a", "name": "Ada"}]]"#,
            output: r#"{"out": [{"order": 1, "customer": "a", "id": "a", "name": "Ada"}]}"#,
        },
    ],
);

const RESPOND_TO_WEBHOOK: NodeType = node(
    "RespondToWebhook",
    "Answers the webhook request that started the run, and passes its input through. The first answer counts; later \
     ones only log a warning.",
    &[IN],
    &[PASSED],
    &[
        Parameter::optional("status", Schema::Integer { min: 200, max: 599 }, "HTTP status.").or("200"),
        Parameter::optional("headers", Schema::Map(&Schema::String), "Headers by name."),
        Parameter::optional("body", Schema::Any, "The body. Default: the input."),
        Parameter::optional(
            "bodyType",
            Schema::Enum(&["json", "text", "base64"]),
            "How the body is sent: as JSON, as text, or as the bytes that its base64 says.",
        )
        .or("\"json\""),
    ],
    &[Example {
        title: "Answer in text",
        parameters: r#"{"status": 202, "headers": {"x-state": "queued"}, "body": "Thanks.", "bodyType": "text"}"#,
        input: r#"{"id": 7}"#,
        output: r#"{"out": {"id": 7}}"#,
    }],
);

const WAIT: NodeType = NodeType {
    effects: &["wait"],
    ..node(
        "Wait",
        "Waits for a duration, or until a time, and passes its input through; a time that is over does not wait. Up to \
         a minute the run stays in memory. For longer waits of a deployed pattern it is parked: nothing of it is kept \
         but a row in the database, and it goes on although the server was stopped in between.",
        &[IN],
        &[PASSED],
        &[
            Parameter::optional(
                "durationMs",
                Schema::Integer {
                    min: 0,
                    max: WAIT_MS_MAX,
                },
                "How long, in milliseconds; at most 366 days. Give this or `until`.",
            ),
            Parameter::optional(
                "until",
                Schema::Any,
                "Until when: ISO 8601, in UTC unless it has an offset, or milliseconds since 1970.",
            ),
        ],
        &[
            Example {
                title: "Wait for a moment",
                parameters: r#"{"durationMs": 20}"#,
                input: r#"{"id": 7}"#,
                output: r#"{"out": {"id": 7}}"#,
            },
            Example {
                title: "Wait until a time that the input names",
                parameters: r#"{"until": "{{ $input.publishAt }}"}"#,
                input: r#"{"publishAt": "2020-02-29T08:00:00+01:00"}"#,
                output: r#"{"out": {"publishAt": "2020-02-29T08:00:00+01:00"}}"#,
            },
        ],
    )
};

const WAIT_FOR_CALLBACK: NodeType = NodeType {
    effects: &["callback"],
    ..node(
        "WaitForCallback",
        "Parks the run until its URL is called, by GET or POST, and emits that request. Each execution has a URL of its \
         own, which works once and can't be guessed: `$run.callbackUrls[\"id of this node\"]`, in a loop that of the \
         iteration; `$run.callbackUrl` is the one of a pattern's only such node. Give it away before this node, by an \
         e-mail or a request; a call that comes before the run is here counts as well. Mind that some mail programs open \
         links by themselves. Needs a deployed pattern.",
        &[IN],
        &[
            Port::new(
                "out",
                ValueType::Object,
                "The request: `{headers, body, method, query}`.",
            ),
            Port::new(
                "timeout",
                ValueType::Any,
                "The input, if nobody has called in time.",
            ),
        ],
        &[
            Parameter::optional(
                "timeoutMs",
                Schema::Integer {
                    min: 1,
                    max: WAIT_MS_MAX,
                },
                "How long to wait, in milliseconds; at most 366 days.",
            )
            .or("2592000000"),
            Parameter::optional(
                "respondBody",
                Schema::Any,
                "What the caller gets: text as text, anything else as JSON.",
            )
            .or("{\"status\": \"accepted\"}"),
        ],
        &[
            Example {
                title: "Somebody has called the URL",
                parameters: r#"{"respondBody": "Thank you."}"#,
                input: r#"{"id": 7}"#,
                output: r#"{"out": {"method": "POST", "query": {"by": "ann"}, "headers": {"content-type": "application/json"},
                    "body": {"approved": true}}}"#,
            },
            Example {
                title: "Nobody has called in time",
                parameters: r#"{"timeoutMs": 3600000}"#,
                input: r#"{"id": 7}"#,
                output: r#"{"timeout": {"id": 7}}"#,
            },
        ],
    )
};

const CALL_PATTERN: NodeType = NodeType {
    effects: &["call"],
    ..node(
        "CallPattern",
        "Runs another pattern of the workspace, which must be deployed and have an OnCall node, and emits what it \
         returns. It is a run of its own, with its own limits and record. When it fails, this node fails with its code; \
         when this run ends, it is cancelled. Calls go at most 16 deep. Secrets can't be handed over.",
        &[IN],
        &[Port::new(
            "out",
            ValueType::Any,
            "What the called pattern returned; `{runId}` without `wait`.",
        )],
        &[
            Parameter::required("patternId", Schema::String, "Id of the pattern."),
            Parameter::optional(
                "inputs",
                Schema::Map(&Schema::Any),
                "What its OnCall emits; checked against its call interface, if it has one. Default: the input.",
            ),
            Parameter::optional(
                "wait",
                Schema::Boolean,
                "Wait for its end. Otherwise it goes on by itself, whatever becomes of this run.",
            )
            .or("true"),
            Parameter::optional(
                "version",
                Schema::Enum(&["deployed", "latest"]),
                "`latest` runs the version that was saved last instead of the deployed one, if it needs no node \
                 definitions.",
            )
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
