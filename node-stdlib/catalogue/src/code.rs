//! Nodes for code of one's own.

use crate::node_type::{Category, Example, IN, NodeType, OUT, Outputs, Parameter, Schema};

/// In the order in which lists show them.
pub const TYPES: &[NodeType] = &[NodeType {
    name: "JavaScript",
    category: Category::Code,
    description: "Executes a JavaScript module inside the sandbox. Its default export is called with `{input, params, \
                  item, log}`, and what it returns, or what its promise becomes, leaves the node as JSON would carry \
                  it. It may `await fetch(…)`, which the host sends as HttpRequest does. It has no files, no modules \
                  to import and no clock: `Date` shows when the run started. What it throws fails the node with \
                  line and column; a `code` on the error becomes the failure's.",
    inputs: &[IN],
    outputs: Outputs::Fixed(&[OUT]),
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
    effects: &[],
    examples: &[Example {
        title: "Count the lines of an order by article",
        parameters: r#"{"code": "export default ({ input, params }) => input.lines.filter(line => line.sku.startsWith(params.prefix)).length",
            "params": {"prefix": "DESK"}}"#,
        input: r#"{"lines": [{"sku": "DESK-140"}, {"sku": "LAMP-2"}, {"sku": "DESK-160"}]}"#,
        output: r#"{"out": 2}"#,
    }],
}];
