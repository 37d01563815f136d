//! SqlQuery.

use super::connection::CONNECTION;
use crate::node_type::{Category, Example, IN, NodeType, Outputs, Parameter, Port, Schema, ValueType};

/// SqlQuery.
pub const TYPE: NodeType = NodeType {
    name: "SqlQuery",
    category: Category::Effect,
    description: "Executes one statement on PostgreSQL, MySQL or SQLite. Its parameters are bound, never spliced into the \
                  text: `$1` in PostgreSQL, `?` in MySQL and SQLite. A statement that the database refuses fails the node \
                  with `SQL_FAILED`.",
    inputs: &[IN],
    outputs: Outputs::Fixed(&[Port::new(
        "out",
        ValueType::Array,
        "The rows as objects, or [{affectedRows, lastInsertId}] of a statement without rows. Whole numbers beyond 2^53 and \
         decimals of more than 15 digits are texts, dates ISO 8601, bytes base64.",
    )]),
    parameters: &[
        CONNECTION,
        Parameter::required("query", Schema::String, "The statement.").literal(),
        Parameter::optional(
            "parameters",
            Schema::Array(&Schema::Any),
            "Values of the statement's parameters, in order. Objects and arrays are JSON where the parameter is no array.",
        ),
        Parameter::optional(
            "maxRows",
            Schema::Integer { min: 1, max: 100_000 },
            "More rows fail the node with `SQL_ROW_LIMIT`.",
        )
        .or("10000"),
    ],
    effects: &["sql"],
    examples: &[Example {
        title: "Open orders of a customer",
        parameters: r#"{"connection": "orders", "query": "select id, total from orders where customer = ? and total > ? order by id",
            "parameters": ["{{ $input.customer }}", 10]}"#,
        input: r#"{"customer": "c-1"}"#,
        output: r#"{"out": [{"id": 1, "total": 12.5}, {"id": 3, "total": 99}]}"#,
    }],
};
