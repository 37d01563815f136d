//! Nodes that send values one way or another.

use super::node::{PASSED, node};
use crate::content::Content;
use crate::face::{Face, Group};
use crate::icon::Icon;
use crate::node_type::{
    Category, Either, Emits, Example, IN, NodeType, OUT, Outputs, Parameter, Port, Schema, ValueType,
};
use crate::role::Role;
use heddle_contract::parameters::OPERATORS;

/// Chooses by a condition.
pub const IF: NodeType = NodeType {
    role: Role::Choose { unless: None },
    emits: Emits::Input,
    either: Some(Either {
        usual: "condition",
        other: "conditions",
        help: "write a condition, for example `{{ $input.total > 40 }}`",
    }),
    ..node(
        "If",
        Face::new(
            "If",
            Icon::Split,
            Group::Branching,
            &["condition", "branch", "else", "decision", "boolean"],
        ),
        "Sends its input one of two ways: through `true` if the condition is true, otherwise through \
            `false`. With `each`, every element of a list is sent separately.",
        &[IN],
        &[
            Port::new("true", ValueType::Any, "The input, if the condition is true."),
            Port::new("false", ValueType::Any, "The input, if it is false."),
        ],
        &[
            Parameter::optional(
                "condition",
                Schema::Boolean,
                "An expression whose value counts as true or false as in JavaScript's `if`. Give this or \
                    `conditions`.",
            )
            .content(Content::Expression),
            Parameter::optional(
                "conditions",
                Schema::Array(&Schema::Object(&[
                    Parameter::optional("left", Schema::Any, "The value to check."),
                    Parameter::required(
                        "operator",
                        Schema::Enum(OPERATORS),
                        "How. `equals` compares content and never converts (null and missing are equal); \
                            `greater` and the like compare as JavaScript does. `contains` searches text, a \
                            list or the names of an object, and `in` is the reverse. `exists` means neither \
                            missing nor null; `isEmpty` means missing, null, or empty text, list or object.",
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
                "Whether all of `conditions` must be true, or any one. An empty list is true for `all` and \
                    false for `any`.",
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
    )
};

pub(super) const SWITCH: NodeType = NodeType {
    emits: Emits::Input,
    role: Role::Choose { unless: Some("all") },
    description: "Sends its input through the port of the first case that matches, or of every matching \
        case with `all`; through `default` if none matches.",
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
                    "Matches if `value` has this content; nothing is converted, null and missing are equal.",
                ),
                Parameter::optional(
                    "when",
                    Schema::Deferred(&Schema::Boolean),
                    "Matches if this is true; evaluated only if no earlier case matched. With `equals` too, \
                        both must match.",
                ),
            ])),
            "The cases, in the order in which they are tried. They must be literal, because their names are \
                the ports; what they compare can be expressions.",
        )
        .content(Content::Cases),
        Parameter::optional(
            "all",
            Schema::Boolean,
            "Send through every case that matches, not only the first.",
        )
        .advanced()
        .or("false"),
    ],
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
    ..NodeType::plain(
        "Switch",
        Category::Flow,
        Face::new(
            "Switch",
            Icon::Route,
            Group::Branching,
            &["case", "router", "branch", "condition", "match", "paths"],
        ),
    )
};

pub(super) const MERGE: NodeType = node(
    "Merge",
    Face::new(
        "Merge",
        Icon::Merge,
        Group::Branching,
        &["join branches", "combine", "wait for all", "append", "union"],
    ),
    "Merges the values of several edges into one, in the order of the edges; edges that deliver nothing \
        don't count. Waits for all of them, except in the mode `first`, which runs once, at the first \
        value.",
    &[Port::new("in", ValueType::Any, "The values to merge; any number of edges.").required()],
    &[OUT],
    &[
        Parameter::optional(
            "mode",
            Schema::Enum(&["first", "append", "combine", "zip", "join"]),
            "`first`: the first value. `append`: one list of all elements; what is not a list counts as one \
                element. `combine`: one object with all fields, where later ones win. `zip`: the first \
                elements of all lists together, then the second ones, up to the end of the shortest list; \
                objects become one object, anything else a list. `join`: the rows of two lists that have \
                the same key, each pair as one object.",
        )
        .or("\"append\"")
        .literal(),
        Parameter::optional(
            "key",
            Schema::PerItem(&Schema::Any),
            "For `join`: the key of a row, as a dotted path or an expression with `$item`.",
        )
        .content(Content::Path),
        Parameter::optional(
            "rightKey",
            Schema::PerItem(&Schema::Any),
            "For `join`: the key of the second list's rows. Default: `key`.",
        )
        .content(Content::Path),
        Parameter::optional(
            "deep",
            Schema::Boolean,
            "For `combine`, `zip` and `join`: objects and lists that are a field of both are merged as well, lists element \
                by element. By default the later one counts as a whole.",
        )
        .or("false")
        .advanced(),
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
            title: "One object of several, and of what is in them",
            parameters: r#"{"mode": "combine", "deep": true}"#,
            input: r#"[{"user": {"id": 7}, "tags": ["a", "b"]}, {"user": {"name": "Ada"}, "tags": ["c"]}]"#,
            output: r#"{"out": {"user": {"id": 7, "name": "Ada"}, "tags": ["c", "b"]}}"#,
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
)
.role(Role::Merge { mode: "mode" });

/// Passes its input through.
pub const NO_OP: NodeType = node(
    "NoOp",
    Face::new(
        "No operation",
        Icon::Circle,
        Group::Branching,
        &["do nothing", "pass through", "placeholder", "noop", "join point"],
    ),
    "Does nothing: passes its input through. Useful as a place where branches meet.",
    &[IN],
    &[PASSED],
    &[],
    &[Example {
        title: "Pass a value through",
        parameters: "{}",
        input: r#"{"id": 7}"#,
        output: r#"{"out": {"id": 7}}"#,
    }],
)
.emitting(Emits::Input)
.taking_lists();
