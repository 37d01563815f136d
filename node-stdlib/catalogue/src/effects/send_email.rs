//! SendEmail.

use super::connection::connection;
use crate::content::{ConnectionKind, Content, Language};
use crate::face::{Face, Group};
use crate::icon::Icon;
use crate::node_type::{Category, Example, NodeType, Outputs, Parameter, Port, Schema, ValueType};

const ADDRESSES: Schema = Schema::OneOf(&[Schema::String, Schema::Array(&Schema::String)]);

/// SendEmail.
pub const TYPE: NodeType = NodeType {
    description: "Sends an email through an SMTP server. The message id stays the same when the node is \
        retried, so that a mailbox can recognise a duplicate. If the server does not accept the message, \
        the node fails with `MAIL_FAILED`.",
    outputs: Outputs::Fixed(&[Port::new(
        "out",
        ValueType::Object,
        "`{messageId}` of the message.",
    )]),
    parameters: &[
        connection(&[ConnectionKind::Smtp]),
        Parameter::required(
            "from",
            Schema::String,
            "Sender: `ann@example.com` or `Ann <ann@example.com>`.",
        ),
        Parameter::required(
            "to",
            ADDRESSES,
            "Recipients: text separated by commas, or a list.",
        ),
        Parameter::required("subject", Schema::String, "Subject."),
        Parameter::optional("text", Schema::String, "The message as plain text.").content(Content::Multiline),
        Parameter::optional(
            "html",
            Schema::String,
            "The message as HTML; with `text` too, mail programs choose.",
        )
        .content(Content::Source(Language::Html)),
        Parameter::optional("cc", ADDRESSES, "Recipients of copies.").advanced(),
        Parameter::optional("bcc", ADDRESSES, "Hidden recipients of copies.").advanced(),
        Parameter::optional(
            "replyTo",
            Schema::String,
            "Where replies go, if not to the sender.",
        )
        .advanced(),
        Parameter::optional(
            "attachments",
            Schema::Array(&Schema::Object(&[
                Parameter::required("filename", Schema::String, "Name of the file."),
                Parameter::optional("contentType", Schema::String, "MIME type.")
                    .or("\"application/octet-stream\""),
                Parameter::required("base64", Schema::String, "The file's content, in base64."),
            ])),
            "Files, as webhooks, HttpRequest and File give them (together up to 25 MiB), or such objects.",
        )
        .advanced(),
    ],
    effects: &["mail"],
    examples: &[Example {
        title: "Tell the shop of an order",
        parameters: r#"{"connection": "mail", "from": "Shop <shop@example.com>", "to": "{{ $input.email }}",
            "subject": "Order {{ $input.id }}", "text": "Thank you!"}"#,
        input: r#"{"id": "o-1", "email": "ann@example.com"}"#,
        output: r#"{"out": {"messageId": "<…@example.com>"}}"#,
    }],
    ..NodeType::plain(
        "SendEmail",
        Category::Effect,
        Face::new(
            "Send email",
            Icon::Send,
            Group::Services,
            &["mail", "smtp", "message", "notify", "notification"],
        ),
    )
};
