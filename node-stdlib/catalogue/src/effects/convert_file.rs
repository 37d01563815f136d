//! ConvertFile.

use super::encoding::FILE_ENCODING;
use crate::face::{Face, Group};
use crate::icon::Icon;
use crate::node_type::{Category, Example, NodeType, Outputs, Parameter, Port, Schema, ValueType};

const FORMATS: &[&str] = &["csv", "jsonLines", "json", "xlsx"];

/// ConvertFile.
pub const TYPE: NodeType = NodeType {
    description: "Reads the records of a file (CSV, JSON lines, a JSON array or a sheet of an Excel workbook), and writes them to another file or gives them as a \
        list; a list can be written to a file as well. The file is read and written piece by piece, so that files which are \
        larger than the run's memory can be converted, filtered and mapped: in memory are one piece of 1 MiB, what becomes of \
        it, one record (up to 4 MiB), and a list that is given or made. A run reads and writes up to 1,000 pieces of 1 MiB. \
        Of a workbook, the texts that its sheets share are in memory as well. Cells of CSV are read as text, those of a workbook as Xlsx \
        reads them; the columns of what is written are those of the first record, unless `columns` names them. Anything that is not a record fails the node with `PARSE`, and the error says where.",
    outputs: Outputs::Fixed(&[Port::new(
        "out",
        ValueType::Any,
        "The file that was written, or the list of records.",
    )]),
    parameters: &[
        Parameter::optional(
            "value",
            Schema::Any,
            "The file to read, or a list of records. Default: the input.",
        ),
        Parameter::optional(
            "from",
            Schema::Enum(FORMATS),
            "How the records are written in the file. Default: what its name or its type says.",
        ),
        Parameter::optional(
            "to",
            Schema::Enum(&["list", "csv", "jsonLines", "json", "xlsx"]),
            "`list` gives the records; the others write a file.",
        )
        .or("\"list\""),
        Parameter::optional(
            "condition",
            Schema::PerItem(&Schema::Any),
            "Evaluated for each record, as `$item` and `$index`: only records for which it is true are kept.",
        ),
        Parameter::optional(
            "record",
            Schema::PerItem(&Schema::Any),
            "What to make of each record: an expression with `$item`. Default: the record as it is.",
        ),
        Parameter::optional(
            "limit",
            Schema::Integer {
                min: 0,
                max: 1_000_000_000,
            },
            "The largest number of records to take. The rest of the file is not read.",
        ),
        Parameter::optional(
            "name",
            Schema::String,
            "Name of the file that is written. Default: that of the file that is read, with another ending.",
        ),
        Parameter::optional(
            "delimiter",
            Schema::String,
            "The one ASCII character between cells of CSV: `,`, `;`, a tab, ….",
        )
        .advanced()
        .or(r#"",""#),
        Parameter::optional(
            "header",
            Schema::Boolean,
            "The first line of CSV, or row of a workbook, names the columns. Without it, rows are read as arrays, and written without names.",
        )
        .advanced()
        .or("true"),
        Parameter::optional(
            "columns",
            Schema::Array(&Schema::String),
            "The columns of CSV or of a workbook that is written, in order.",
        )
        .advanced(),
        FILE_ENCODING,
        Parameter::optional(
            "sheet",
            Schema::Any,
            "Of a workbook that is read: the name of the sheet, or its number from 1; the first that is not hidden if it is left out. Otherwise \
             the name of the sheet that is written, `Sheet1` if it is left out.",
        )
        .advanced(),
    ],
    effects: &["file", "file-piece"],
    examples: &[Example {
        title: "Large orders of a CSV, as JSON lines",
        parameters: r#"{"to": "jsonLines", "condition": "{{ Number($item.total) > 100 }}", "record": "{{ {id: $item.id, total: Number($item.total)} }}", "name": "large.jsonl"}"#,
        input: r#"[{"id": "a", "total": "250"}, {"id": "b", "total": "20"}]"#,
        output: r#"{"out": {"$file": "…", "name": "large.jsonl", "type": "application/x-ndjson", "size": 23, "sha256": "…"}}"#,
    }],
    ..NodeType::plain(
        "ConvertFile",
        Category::Effect,
        Face::new(
            "Convert file",
            Icon::Table,
            Group::Formats,
            &[
                "csv", "excel", "xlsx", "json lines", "ndjson", "jsonl", "stream", "large file", "spreadsheet", "extract from file",
                "convert to file", "records", "rows",
            ],
        ),
    )
};
