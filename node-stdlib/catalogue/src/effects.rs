//! Nodes that reach the outside world.

mod chat_completion;
mod connection;
mod convert_file;
mod encoding;
mod file;
mod http_request;
mod image;
mod key_value;
mod pdf;
mod read_stream;
mod send_email;
mod sql_query;
mod xlsx;
mod zip;

pub use http_request::TYPE as HTTP_REQUEST;

use crate::content::Content;
use crate::face::{Face, Group};
use crate::icon::Icon;
use crate::node_type::{Category, Emits, Example, NodeType, Outputs, Parameter, Port, Schema, ValueType};

/// In the order in which lists show them.
pub const TYPES: &[NodeType] = &[
    http_request::TYPE,
    read_stream::TYPE,
    sql_query::TYPE,
    send_email::TYPE,
    key_value::TYPE,
    file::TYPE,
    convert_file::TYPE,
    zip::TYPE,
    xlsx::TYPE,
    pdf::TYPE,
    image::TYPE,
    chat_completion::TYPE,
    NodeType {
        description: "Writes a line to the run's log and passes its input through.",
        outputs: Outputs::Fixed(&[Port::new("out", ValueType::Any, "The input, unchanged.")]),
        emits: Emits::Input,
        parameters: &[
            Parameter::optional(
                "level",
                Schema::Enum(&["debug", "info", "warn", "error"]),
                "Severity.",
            )
            .or("\"info\""),
            Parameter::required(
                "message",
                Schema::Any,
                "The text; other values are written as JSON.",
            )
            .content(Content::Multiline),
        ],
        examples: &[Example {
            title: "Note an order",
            parameters: r#"{"message": "Order {{ $input.id }} came in"}"#,
            input: r#"{"id": "o-1"}"#,
            output: r#"{"out": {"id": "o-1"}}"#,
        }],
        ..NodeType::plain(
            "Log",
            Category::Effect,
            Face::new(
                "Log",
                Icon::ScrollText,
                Group::Services,
                &["print", "debug", "console", "note", "trace"],
            ),
        )
    },
];
