//! SendEmail.

use super::connection::CONNECTION;
use crate::node_type::{Category, Example, IN, NodeType, Outputs, Parameter, Port, Schema, ValueType};

const ADDRESSES: Schema = Schema::OneOf(&[Schema::String, Schema::Array(&Schema::String)]);

/// SendEmail.
pub const TYPE: NodeType = NodeType {
    name: "SendEmail",
    category: Category::Effect,
    description: "Sends an email by an SMTP server. The message id stays the same when the node is tried again, so that a \
                  mailbox can tell a repetition. What the server does not take fails the node with `MAIL_FAILED`.",
    inputs: &[IN],
    outputs: Outputs::Fixed(&[Port::new(
        "out",
        ValueType::Object,
        "`{messageId}` of the message.",
    )]),
    parameters: &[
        CONNECTION,
        Parameter::required(
            "from",
            Schema::String,
            "Sender: `ann@example.com` or `Ann <ann@example.com>`.",
        ),
        Parameter::required(
            "to",
            ADDRESSES,
            "Recipients: a text with commas between them, or a list.",
        ),
        Parameter::required("subject", Schema::String, "Subject."),
        Parameter::optional("text", Schema::String, "The message as plain text."),
        Parameter::optional(
            "html",
            Schema::String,
            "The message as HTML; with `text` too, readers choose.",
        ),
        Parameter::optional("cc", ADDRESSES, "Recipients of copies."),
        Parameter::optional("bcc", ADDRESSES, "Recipients of copies whom nobody sees."),
        Parameter::optional(
            "replyTo",
            Schema::String,
            "Where answers go, if not to the sender.",
        ),
        Parameter::optional(
            "attachments",
            Schema::Array(&Schema::Object(&[
                Parameter::required("filename", Schema::String, "Name of the file."),
                Parameter::optional("contentType", Schema::String, "MIME type.")
                    .or("\"application/octet-stream\""),
                Parameter::required("base64", Schema::String, "The file's content, in base64."),
            ])),
            "Files.",
        ),
    ],
    effects: &["mail"],
    examples: &[Example {
        title: "Tell the shop of an order",
        parameters: r#"{"connection": "mail", "from": "Shop <shop@example.com>", "to": "{{ $input.email }}",
            "subject": "Order {{ $input.id }}", "text": "Thank you!"}"#,
        input: r#"{"id": "o-1", "email": "ann@example.com"}"#,
        output: r#"{"out": {"messageId": "<…@example.com>"}}"#,
    }],
};
