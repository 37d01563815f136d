//! Xml: XML 1.0 documents to values and back.
//!
//! An element is the text that it holds; with attributes or elements in it, it is an object of them, in which its
//! text is `#text`. Namespaces are not resolved: names keep their prefixes. Source: Extensible Markup Language 1.0,
//! fifth edition.

mod characters;
mod read;
mod write;

use super::text::{position, text_or_input, value_or_input};
use super::{Context, Emission, Failure, NodeResult, Outcome, parameters};
use crate::abi::code;
use crate::machine::JSON_DEPTH_MAX;
use crate::value::{Object, Text, Value};
use std::collections::HashSet;

/// Name of the text beside attributes and elements.
const TEXT: &str = "#text";

struct Options {
    attribute_prefix: String,
    /// Names of elements that are arrays even if there is only one.
    arrays: HashSet<Text>,
    trim: bool,
    indent: usize,
    declaration: bool,
}

/// `parse` or `stringify`.
pub fn xml(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let options = options(parameters)?;
    let value = match parameters::choice(parameters, "operation", &["parse", "stringify"], "parse")? {
        "parse" => {
            let text = text_or_input(parameters, context)?;
            let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
            read::parse(text, &options).map_err(|wrong| refused(text, wrong))?
        }
        _ => write::stringify(&value_or_input(parameters, context).into_json(), &options)?.into(),
    };
    Ok(Outcome::Emit(Emission::one(0, value)))
}

fn options(parameters: &Object) -> Result<Options, Failure> {
    let attribute_prefix = parameters::text(parameters, "attributePrefix")?;
    let arrays = parameters::array(parameters, "array")?;
    let indent = parameters::integer(parameters, "indent", 0, 10)?.unwrap_or(0);
    Ok(Options {
        attribute_prefix: attribute_prefix.unwrap_or_else(|| "@".into()),
        arrays: arrays
            .into_iter()
            .flat_map(|names| names.iter().map(Value::to_text))
            .collect(),
        trim: parameters::boolean(parameters, "trim", true)?,
        indent: indent.unsigned_abs() as usize,
        declaration: parameters::boolean(parameters, "declaration", true)?,
    })
}

/// What is wrong with a text, and at which byte.
struct Wrong {
    code: &'static str,
    message: String,
    offset: usize,
}

impl Wrong {
    fn new(offset: usize, message: impl Into<String>) -> Self {
        let message = message.into();
        Wrong {
            code: code::PARSE,
            message: format!("is no XML: {message}"),
            offset,
        }
    }

    fn too_deep(offset: usize) -> Self {
        Wrong {
            code: code::DEPTH_LIMIT,
            message: format!("is nested more than {JSON_DEPTH_MAX} levels deep"),
            offset,
        }
    }
}

fn refused(text: &str, wrong: Wrong) -> Failure {
    let (line, column) = position(text, wrong.offset);
    let message = format!("The text {}, in line {line}, column {column}.", wrong.message);
    Failure::new(wrong.code, message)
}
