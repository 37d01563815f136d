//! Nodes for code of one's own.

use crate::face::{Face, Group};
use crate::icon::Icon;
use crate::node_type::{Category, Example, NodeType, Parameter, Schema};

/// In the order in which lists show them.
pub const TYPES: &[NodeType] = &[JAVASCRIPT];

/// The kinds of effects by which code reads files and makes them.
pub const FILES_IN_CODE: &[&str] = &["file", "file-piece"];
/// The kind of effects by which code reads and changes what is kept from run to run.
pub const VALUES_IN_CODE: &str = "key-value";

/// Definitions of kind `javascript` execute it too.
pub const JAVASCRIPT: NodeType = NodeType {
    needs_engine: true,
    takes_lists: true,
    description: "Executes a JavaScript module inside the sandbox. Its default export is called with \
        `{input, params, item, log}`; what it returns, or what its promise resolves to, leaves the node as \
        JSON. It may `await fetch(…)`, which is sent like the requests of HttpRequest. Values of files have `text()`, \
        `json()`, `arrayBuffer()` and `bytes()`, and `new File([…], name, {type})` that it returns is stored. \
        `await keyValue.get(name)`, `set(name, value)`, `delete`, `increment` and `append` are the operations of KeyValue; \
        `{ttlMs, scope}` may follow. It has no modules to import and no clock: `Date` shows when the run started. An \
        exception fails the node, with line and column; a `code` on the error becomes the failure's code.",
    parameters: &[
        Parameter::required(
            "code",
            Schema::Module,
            "The module, for example `export default ({input}) => input.items.length`.",
        )
        .literal(),
        Parameter::optional(
            "params",
            Schema::Map(&Schema::Any),
            "Values for the code: its `params`.",
        ),
    ],
    examples: &[Example {
        title: "Count the lines of an order by article",
        parameters: r#"{"code": "export default ({ input, params }) => input.lines.filter(line => line.sku.startsWith(params.prefix)).length",
            "params": {"prefix": "DESK"}}"#,
        input: r#"{"lines": [{"sku": "DESK-140"}, {"sku": "LAMP-2"}, {"sku": "DESK-160"}]}"#,
        output: r#"{"out": 2}"#,
    }],
    ..NodeType::plain(
        "JavaScript",
        Category::Code,
        Face::new(
            "JavaScript",
            Icon::Code,
            Group::Code,
            &["code", "script", "function", "js", "custom", "program"],
        ),
    )
};
