//! Pdf.

use crate::face::{Face, Group};
use crate::icon::Icon;
use crate::node_type::{Category, Example, NodeType, Outputs, Parameter, Port, Schema, ValueType};

/// Pdf.
pub const TYPE: NodeType = NodeType {
    description: "Gives the text of a PDF, with the lines and spaces that are seen on its pages, and what the file says of itself: title, \
        author and the like. Pages that were scanned are pictures and have no text; neither has a font that does not tell its \
        characters. The file, of up to 64 MiB, is in the run's memory whole. What isn't a PDF, or is encrypted, fails the node with \
        `PARSE`; more than 16 MiB of text with `FILE_LIMIT`.",
    outputs: Outputs::Fixed(&[Port::new(
        "out",
        ValueType::Object,
        "`{text, pageCount, version, info}`; with `perPage`, `pages` in place of `text`, a list of texts.",
    )]),
    parameters: &[
        Parameter::optional("value", Schema::Any, "The PDF, a file. Default: the input."),
        Parameter::optional(
            "perPage",
            Schema::Boolean,
            "Each page has a text of its own, in the list `pages`. Without it, an empty line is between pages.",
        )
        .or("false"),
        Parameter::optional(
            "limit",
            Schema::Integer { min: 1, max: 50_000 },
            "How many pages to read at most, from the first.",
        ),
    ],
    effects: &["file-piece"],
    examples: &[Example {
        title: "The text of a letter",
        parameters: "{}",
        input: r#"{"$file": "…", "name": "letter.pdf", "type": "application/pdf", "size": 778, "sha256": "…"}"#,
        output: r#"{"out": {"text": "Dear Ann,\nyour order of 12 € is on its way.", "pageCount": 1, "version": "1.4", "info": {"Title": "Letter"}}}"#,
    }],
    ..NodeType::plain(
        "Pdf",
        Category::Effect,
        Face::new(
            "PDF",
            Icon::FileText,
            Group::Formats,
            &["pdf", "document", "extract text", "extract from file", "pages", "read pdf"],
        ),
    )
};
