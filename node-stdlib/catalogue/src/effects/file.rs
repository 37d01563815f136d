//! File.

use super::encoding::FILE_ENCODING;
use crate::face::{Face, Group};
use crate::icon::Icon;
use crate::node_type::{Category, Example, NodeType, Outputs, Parameter, Port, Schema, ValueType};

/// File.
pub const TYPE: NodeType = NodeType {
    description: "Reads what a file holds, or makes a file. A file is a value that refers to its bytes, `{\"$file\", name, \
        type, size, sha256}`, as webhooks, HttpRequest and this node give it; its bytes take no memory of the run. Reading \
        takes memory: up to 8 MiB at once, more in parts by `offset` and `limit`; what is too large fails the node with \
        `FILE_LIMIT`. A file that this run may not read fails it with `FILE_NOT_FOUND`.",
    outputs: Outputs::Fixed(&[Port::new(
        "out",
        ValueType::Any,
        "`read`: what the file holds. `make`: the file.",
    )]),
    parameters: &[
        Parameter::optional("operation", Schema::Enum(&["read", "make"]), "What to do.").or("\"read\""),
        Parameter::optional("file", Schema::Any, "`read`: the file. Default: the input."),
        Parameter::optional(
            "content",
            Schema::Any,
            "`make`: the file's content. Default: the input.",
        ),
        Parameter::optional(
            "format",
            Schema::Enum(&["text", "json", "base64", "lines", "jsonLines"]),
            "How the content is read or written: text, a value as JSON, or bytes in base64. What is written is UTF-8. `lines` and `jsonLines` are \
             for reading: the whole lines from `offset` on, as texts or each parsed as JSON, `{items, next}`; `next` is where \
             the next line begins, null at the end. So a Loop goes through a large file.",
        )
        .or("\"text\""),
        Parameter::optional(
            "name",
            Schema::String,
            "`make`: the file's name. Default: `file.txt`, `file.json` or `file`.",
        ),
        Parameter::optional(
            "type",
            Schema::String,
            "`make`: the media type. Default: that of the format.",
        )
        .advanced(),
        FILE_ENCODING,
        Parameter::optional(
            "offset",
            Schema::Integer { min: 0, max: 1 << 50 },
            "`read`: where to begin, in bytes.",
        )
        .advanced(),
        Parameter::optional(
            "limit",
            Schema::Integer { min: 1, max: 1 << 50 },
            "`read`: how many bytes to read at most. Characters that are cut at the edges are left out. Default: all of it; of \
             lines, 256 KiB.",
        )
        .advanced(),
    ],
    effects: &["file"],
    examples: &[Example {
        title: "Make a file of a report",
        parameters: r#"{"operation": "make", "content": "{{ $input.lines.join('\\n') }}", "name": "report.txt"}"#,
        input: r#"{"lines": ["one", "two"]}"#,
        output: r#"{"out": {"$file": "…", "name": "report.txt", "type": "text/plain; charset=utf-8", "size": 7, "sha256": "…"}}"#,
    }],
    ..NodeType::plain(
        "File",
        Category::Effect,
        Face::new(
            "File",
            Icon::FileText,
            Group::Services,
            &[
                "read file",
                "write file",
                "binary",
                "attachment",
                "convert to file",
                "extract from file",
                "download",
            ],
        ),
    )
};
