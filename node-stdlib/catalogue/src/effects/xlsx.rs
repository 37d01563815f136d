//! Xlsx.

use crate::face::{Face, Group};
use crate::icon::Icon;
use crate::node_type::{Category, Example, NodeType, Outputs, Parameter, Port, Schema, ValueType};

/// Xlsx.
pub const TYPE: NodeType = NodeType {
    description: "Reads the rows of a sheet in an Excel workbook (.xlsx, .xlsm), or writes rows to a workbook of one or several sheets. \
        When it reads, numbers with the format of a date or time are ISO 8601 texts, formulas have the value that was last computed, \
        and empty rows are left out. All rows are in the run's memory; ConvertFile passes them on one after the other. A file that is not a workbook fails the \
        node with `PARSE`. When it writes, texts are never formulas, and the workbook is written piece by piece. What Excel has no room \
        for fails the node with `FILE_LIMIT`: more than 1,048,576 rows or 16,384 columns in a sheet, or 32,767 characters in a cell.",
    outputs: Outputs::Fixed(&[Port::new(
        "out",
        ValueType::Any,
        "`read`: the rows, as objects or arrays. `write`: the workbook, a file.",
    )]),
    parameters: &[
        Parameter::optional("operation", Schema::Enum(&["read", "write"]), "What to do.").or("\"read\""),
        Parameter::optional(
            "value",
            Schema::Any,
            "`read`: the workbook, a file. `write`: the rows of its one sheet, a list of objects or arrays. Default: the input.",
        ),
        Parameter::optional(
            "sheet",
            Schema::Any,
            "`read`: the name of the sheet, or its number from 1; the first that is not hidden if it is left out. `write`: the name of \
             the sheet; `Sheet1` if it is left out.",
        ),
        Parameter::optional(
            "sheets",
            Schema::Array(&Schema::Object(&[
                Parameter::optional("name", Schema::String, "The sheet's name, up to 31 characters."),
                Parameter::required("rows", Schema::Array(&Schema::Any), "Its rows, as objects or arrays."),
                Parameter::optional(
                    "columns",
                    Schema::Array(&Schema::String),
                    "Which fields are its columns, in order. Default: all, as they come first.",
                ),
            ])),
            "`write`: several sheets, instead of `value` and `sheet`.",
        ),
        Parameter::optional(
            "header",
            Schema::Boolean,
            "The first row names the columns. Without it, rows are read as arrays, and objects are written without their names.",
        )
        .or("true"),
        Parameter::optional(
            "name",
            Schema::String,
            "`write`: the workbook's name. Default: `workbook.xlsx`.",
        ),
        Parameter::optional(
            "columns",
            Schema::Array(&Schema::String),
            "`write`: which fields of objects are columns, in order. Default: all, as they come first.",
        )
        .advanced(),
        Parameter::optional(
            "dates",
            Schema::Boolean,
            "`write`: texts that are a date or time in ISO 8601 become dates that Excel can calculate with. Workbooks have no time zones: \
             the time is as it is written.",
        )
        .advanced()
        .or("true"),
        Parameter::optional(
            "flatten",
            Schema::Boolean,
            "`write`: what is in objects and lists gets columns of its own, such as `customer.name` or `tags.0`. Without it, their cells \
             have JSON.",
        )
        .advanced()
        .or("false"),
        Parameter::optional(
            "skip",
            Schema::Integer {
                min: 0,
                max: 1_048_576,
            },
            "`read`: how many rows to skip at the beginning; empty ones do not count.",
        )
        .advanced()
        .or("0"),
        Parameter::optional(
            "limit",
            Schema::Integer {
                min: 0,
                max: 1_048_576,
            },
            "`read`: the largest number of rows to give.",
        )
        .advanced(),
    ],
    effects: &["file", "file-piece"],
    examples: &[
        Example {
            title: "The orders in a workbook",
            parameters: r#"{"sheet": "Orders"}"#,
            input: r#"{"$file": "…", "name": "orders.xlsx", "type": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "size": 4934, "sha256": "…"}"#,
            output: r#"{"out": [{"id": 1, "name": "Lee, Ann", "total": 12.5, "day": "2026-11-26"}]}"#,
        },
        Example {
            title: "A workbook of orders",
            parameters: r#"{"operation": "write", "sheet": "Orders", "name": "orders.xlsx"}"#,
            input: r#"[{"id": 1, "name": "Lee, Ann", "day": "2026-11-26"}, {"id": 2, "name": "Ray", "day": "2026-11-27"}]"#,
            output: r#"{"out": {"$file": "…", "name": "orders.xlsx", "type": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "size": 2390, "sha256": "…"}}"#,
        },
        Example {
            title: "A name that Excel does not take",
            parameters: r#"{"operation": "write", "sheet": "2026/11"}"#,
            input: "[]",
            output: r#"{"error": {"error": {"code": "PARAMETER", "message": "A sheet can't be called \"2026/11\": a name has none of the characters : \\ / ? * [ ], and no control characters."}}}"#,
        },
    ],
    ..NodeType::plain(
        "Xlsx",
        Category::Effect,
        Face::new(
            "Excel workbook",
            Icon::Table,
            Group::Formats,
            &[
                "excel",
                "spreadsheet",
                "xls",
                "workbook",
                "sheet",
                "extract from file",
                "convert to file",
                "export",
                "rows",
            ],
        ),
    )
};
