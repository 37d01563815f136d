//! The reference page of the node types, `docs/nodes.md`, made from the catalogue.

use crate::catalogue::{category_name, type_name};
use heddle_catalogue::{NodeType, Outputs, Parameter, Role, Schema, node_types};
use std::fmt::Write;

const INTRODUCTION: &str = "\
# Node types

<!-- Made by `heddle nodes --markdown > docs/nodes.md`. A test compares the two: change the catalogue, not this page. -->

Every node with `onError: \"branch\"` has one more output, `error`. A parameter takes an expression, `{{ … }}`, unless
it is marked *literal*. *Per item* means that the expression is evaluated for each item, with `$item` and `$index`.
A star marks what is required. With `settings.items`, nodes execute once for each item, but for those that say that they execute for the list.
";

/// A line of a parameter table; fields of structured parameters have lines of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// `cases[].name`
    pub path: String,
    /// For a reader.
    pub value_type: String,
    /// Must be present.
    pub required: bool,
    /// May not be an expression.
    pub literal: bool,
    /// JSON, or empty.
    pub default: &'static str,
    /// What it does.
    pub description: &'static str,
}

/// The whole page.
pub fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    let mut category = None;
    for node_type in node_types() {
        if category != Some(node_type.category) {
            category = Some(node_type.category);
            let _ = writeln!(page, "\n## {}", capitalised(category_name(node_type.category)));
        }
        section(&mut page, node_type);
    }
    page
}

fn section(page: &mut String, node_type: &NodeType) {
    let _ = writeln!(page, "\n### {}\n\n{}\n", node_type.name, node_type.description);
    for port in node_type.inputs {
        let mark = if port.required { "\\*" } else { "" };
        let _ = writeln!(
            page,
            "- input `{}`{mark} ({}): {}",
            port.name,
            type_name(port.value_type),
            port.description
        );
    }
    match node_type.outputs {
        Outputs::Fixed(ports) => {
            for port in ports {
                let _ = writeln!(
                    page,
                    "- output `{}` ({}): {}",
                    port.name,
                    type_name(port.value_type),
                    port.description
                );
            }
        }
        Outputs::SwitchCases => page.push_str("- one output for each case, by its name, and `default`\n"),
    }
    if node_type.works_on_lists() && !matches!(node_type.role, Role::Trigger(_)) {
        page.push_str("- with `settings.items`: executes once for the list\n");
    }
    let rows = rows(node_type);
    if !rows.is_empty() {
        page.push_str("\n| parameter | value | default | |\n| --- | --- | --- | --- |\n");
    }
    for row in rows {
        let mark = if row.required { "\\*" } else { "" };
        let literal = if row.literal { " *Literal.*" } else { "" };
        let default = if row.default.is_empty() {
            String::new()
        } else {
            format!("`{}`", cell(row.default))
        };
        let (value_type, description) = (cell(&row.value_type), cell(row.description));
        let _ = writeln!(
            page,
            "| `{}`{mark} | {value_type} | {default} | {description}{literal} |",
            row.path
        );
    }
    for example in node_type.examples {
        let _ = writeln!(page, "\n{}:\n\n```jsonc", example.title.trim_end_matches('.'));
        let _ = writeln!(
            page,
            "// parameters\n{}\n// input\n{}",
            indented(example.parameters),
            indented(example.input)
        );
        let _ = writeln!(page, "// leaves, by port\n{}\n```", indented(example.output));
    }
}

/// JSON with its further lines indented by themselves, not as they stand in the source.
fn indented(json: &str) -> String {
    json.lines().map(str::trim).collect::<Vec<_>>().join("\n  ")
}

/// All parameters of a type, structured ones followed by their fields.
pub fn rows(node_type: &NodeType) -> Vec<Row> {
    let mut rows = Vec::new();
    add_rows(&mut rows, "", node_type.parameters);
    rows
}

fn add_rows(rows: &mut Vec<Row>, prefix: &str, parameters: &[Parameter]) {
    for parameter in parameters {
        let path = format!("{prefix}{}", parameter.name);
        rows.push(Row {
            path: path.clone(),
            value_type: describe(&parameter.schema),
            required: parameter.required,
            literal: parameter.literal,
            default: parameter.default,
            description: parameter.description,
        });
        add_fields(rows, &path, &parameter.schema);
    }
}

fn add_fields(rows: &mut Vec<Row>, path: &str, schema: &Schema) {
    match schema {
        Schema::Object(fields) => add_rows(rows, &format!("{path}."), fields),
        Schema::Array(items) => add_fields(rows, &format!("{path}[]"), items),
        Schema::Map(values) => add_fields(rows, &format!("{path}.<name>"), values),
        Schema::PerItem(inner) | Schema::PerPair(inner) | Schema::Deferred(inner) => {
            add_fields(rows, path, inner)
        }
        Schema::OneOf(shapes) => shapes.iter().for_each(|shape| add_fields(rows, path, shape)),
        Schema::Any
        | Schema::String
        | Schema::Module
        | Schema::Number
        | Schema::Integer { .. }
        | Schema::Boolean
        | Schema::Enum(_) => {}
    }
}

/// The shape of a value in words.
fn describe(schema: &Schema) -> String {
    match schema {
        Schema::Any => "any".to_owned(),
        Schema::String => "string".to_owned(),
        Schema::Module => "JavaScript module".to_owned(),
        Schema::Number => "number".to_owned(),
        Schema::Integer {
            min: i64::MIN,
            max: i64::MAX,
        } => "integer".to_owned(),
        Schema::Integer { min, max: i64::MAX } => format!("integer from {min}"),
        Schema::Integer { min, max } => format!("integer from {min} to {max}"),
        Schema::Boolean => "boolean".to_owned(),
        Schema::Enum(values) => values.join(", "),
        Schema::Array(items) => format!("array of {}", describe(items)),
        Schema::Object(_) => "object".to_owned(),
        Schema::Map(values) => format!("object of {} by name", describe(values)),
        Schema::PerItem(inner) => format!("{}, per item", describe(inner)),
        Schema::PerPair(inner) => format!("{}, for `$a` and `$b`", describe(inner)),
        Schema::Deferred(inner) => format!("{}, evaluated each time", describe(inner)),
        Schema::OneOf(shapes) => shapes.iter().map(describe).collect::<Vec<_>>().join(" or "),
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(characters).collect()
    })
}
