//! Xlsx.

use crate::face::{Face, Group};
use crate::icon::Icon;
use crate::node_type::{Category, Example, NodeType, Outputs, Parameter, Port, Schema, ValueType};

/// Xlsx.
pub const TYPE: NodeType = NodeType {
    description: "Reads the rows of a sheet in an Excel workbook (.xlsx, .xlsm). Numbers with the format of a date or time are \
        ISO 8601 texts, formulas have the value that was last computed, empty rows are left out. The sheet is in the run's memory \
        whole, up to 64 MiB of it unpacked. What is no workbook fails the node with `PARSE`.",
    outputs: Outputs::Fixed(&[Port::new(
        "out",
        ValueType::Array,
        "The rows, as objects or arrays.",
    )]),
    parameters: &[
        Parameter::optional("value", Schema::Any, "The workbook, a file. Default: the input."),
        Parameter::optional(
            "sheet",
            Schema::Any,
            "The name of the sheet, or its number from 1. Default: the first that is not hidden.",
        ),
        Parameter::optional(
            "header",
            Schema::Boolean,
            "The first row names the columns. Without it, rows are arrays.",
        )
        .or("true"),
        Parameter::optional(
            "skip",
            Schema::Integer {
                min: 0,
                max: 1_048_576,
            },
            "How many rows to leave out at the beginning; empty ones do not count.",
        )
        .advanced()
        .or("0"),
        Parameter::optional(
            "limit",
            Schema::Integer {
                min: 0,
                max: 1_048_576,
            },
            "How many rows to give at most.",
        )
        .advanced(),
    ],
    effects: &["file-piece"],
    examples: &[Example {
        title: "The orders in a workbook",
        parameters: r#"{"sheet": "Orders"}"#,
        input: r#"{"$file": "…", "name": "orders.xlsx", "type": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "size": 4934, "sha256": "…"}"#,
        output: r#"{"out": [{"id": 1, "name": "Lee, Ann", "total": 12.5, "day": "2026-11-26"}]}"#,
    }],
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
                "rows",
            ],
        ),
    )
};
