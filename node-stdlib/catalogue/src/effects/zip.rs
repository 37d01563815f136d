//! Zip.

use crate::face::{Face, Group};
use crate::icon::Icon;
use crate::node_type::{Category, Example, NodeType, Outputs, Parameter, Port, Schema, ValueType};

/// Zip.
pub const TYPE: NodeType = NodeType {
    description: "Unpacks a ZIP archive to files, lists what is in it, or makes an archive of files. Archives and files are read and \
        written piece by piece, and may be larger than the run's memory. Each MiB that is read or written is one of a run's \
        effects, and so is each file that is unpacked: `maxEffects` in the pattern's settings allows more than 1,000. An archive that \
        is damaged or encrypted, whose files overlap, have other sizes than it says, or names that lead out of it, fails the node with `PARSE`; one with more than `maxBytes` or 10,000 files with \
        `FILE_LIMIT`, before anything is unpacked.",
    outputs: Outputs::Fixed(&[Port::new(
        "out",
        ValueType::Any,
        "`extract`: the files, each with its `path` in the archive. `list`: `[{path, isFolder, size, packedSize, modified}]`. `make`: \
         the archive.",
    )]),
    parameters: &[
        Parameter::optional(
            "operation",
            Schema::Enum(&["extract", "list", "make"]),
            "What to do.",
        )
        .or("\"extract\""),
        Parameter::optional(
            "value",
            Schema::Any,
            "`extract`, `list`: the archive. Default: the input.",
        ),
        Parameter::optional(
            "only",
            Schema::Array(&Schema::String),
            "`extract`: paths of the files to unpack. Default: all.",
        ),
        Parameter::optional(
            "files",
            Schema::Any,
            "`make`: a list of files, and of `{path, content}`: a text, or a value that is written as JSON. A file is called by its \
             `path`, or else its `name`. Default: the input.",
        ),
        Parameter::optional(
            "name",
            Schema::String,
            "`make`: the archive's name. Default: `archive.zip`.",
        ),
        Parameter::optional(
            "maxBytes",
            Schema::Integer { min: 1, max: 1 << 40 },
            "`extract`: how many bytes all files together may have.",
        )
        .advanced()
        .or("1073741824"),
    ],
    effects: &["file", "file-piece"],
    examples: &[Example {
        title: "An archive of a report and its data",
        parameters: r#"{"operation": "make", "name": "report.zip"}"#,
        input: r#"[{"path": "report.txt", "content": "12 orders"}, {"path": "data/orders.json", "content": [1, 2]}]"#,
        output: r#"{"out": {"$file": "…", "name": "report.zip", "type": "application/zip", "size": 276, "sha256": "…"}}"#,
    }],
    ..NodeType::plain(
        "Zip",
        Category::Effect,
        Face::new(
            "Zip",
            Icon::FileText,
            Group::Formats,
            &[
                "archive",
                "compress",
                "decompress",
                "unzip",
                "extract",
                "compression",
                "pack",
            ],
        ),
    )
};
