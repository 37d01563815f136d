//! SqlQuery.

use super::connection::connection;
use crate::content::{ConnectionKind, Content, Language};
use crate::face::{Face, Group};
use crate::icon::Icon;
use crate::node_type::{Category, Example, NodeType, Outputs, Parameter, Port, Schema, ValueType};

/// SqlQuery.
pub const TYPE: NodeType = NodeType {
    description: "Executes one statement on PostgreSQL, MySQL or SQLite. Its parameters are bound, never spliced into the \
                  text: `$1` in PostgreSQL, `?` in MySQL and SQLite. A statement that the database refuses fails the node \
                  with `SQL_FAILED`.",
    outputs: Outputs::Fixed(&[Port::new(
        "out",
        ValueType::Array,
        "The rows as objects, or [{affectedRows, lastInsertId}] for a statement without rows. Whole numbers \
            beyond 2^53 and decimals of more than 15 digits are texts, dates ISO 8601, bytes base64 or files.",
    )]),
    parameters: &[
        connection(&[ConnectionKind::Sql]),
        Parameter::required("query", Schema::String, "The statement.")
            .content(Content::Source(Language::Sql))
            .literal(),
        Parameter::optional(
            "parameters",
            Schema::Array(&Schema::Any),
            "Values of the statement's parameters, in order. Objects and arrays are sent as JSON, unless \
                the parameter is an array.",
        ),
        Parameter::optional(
            "maxRows",
            Schema::Integer { min: 1, max: 100_000 },
            "More rows fail the node with `SQL_ROW_LIMIT`.",
        )
        .advanced()
        .or("10000"),
        Parameter::optional(
            "files",
            Schema::Boolean,
            "Whether bytes (`bytea`, `blob`, …) become files, named after their column, instead of base64: at most 1,000 of \
             them, and rows and bytes of a statement together up to 8 MiB in base64.",
        )
        .advanced()
        .or("false"),
    ],
    effects: &["sql"],
    examples: &[Example {
        title: "Open orders of a customer",
        parameters: r#"{"connection": "orders", "query": "select id, total from orders where customer = ? and total > ? order by id",
            "parameters": ["{{ $input.customer }}", 10]}"#,
        input: r#"{"customer": "c-1"}"#,
        output: r#"{"out": [{"id": 1, "total": 12.5}, {"id": 3, "total": 99}]}"#,
    }],
    ..NodeType::plain(
        "SqlQuery",
        Category::Effect,
        Face::new(
            "SQL query",
            Icon::Database,
            Group::Services,
            &[
                "database", "postgres", "mysql", "mariadb", "sqlite", "select", "insert",
            ],
        ),
    )
};
