//! Xml: XML 1.0 documents to values and back.
//!
//! An element is the text that it holds; with attributes or elements in it, it is an object of them, in which its
//! text is `#text`. Namespaces are not resolved: names keep their prefixes. Source: Extensible Markup Language 1.0,
//! fifth edition.

mod characters;
mod options;
mod read;
mod write;

use super::parameters;
use super::text::{position, text_or_input, value_or_input};
use crate::failure::Failure;
use crate::node::{Context, Emission, NodeResult, Outcome};
use heddle_values::Object;
use options::Options;
use read::Wrong;

/// `parse` or `stringify`.
pub fn xml(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let options = Options::read(parameters)?;
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

fn refused(text: &str, wrong: Wrong) -> Failure {
    let (line, column) = position(text, wrong.offset);
    let message = format!("The text {}, in line {line}, column {column}.", wrong.message);
    Failure::new(wrong.code, message)
}
