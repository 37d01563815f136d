//! Html: what CSS selectors find in a page, and a page as text.
//!
//! Pages are read as browsers read them (WHATWG HTML, section 13), so there is no such thing as malformed HTML.

mod readable;
#[cfg(test)]
mod tests;

use super::file_value::{READ_FIRST, is_file_value};
use super::parameters::{boolean, choice, given, mismatch, required, text};
use crate::failure::Failure;
use crate::node::{Context, Emission, NodeResult, Outcome};
use ego_tree::iter::Edge;
use heddle_contract::abi::code;
use heddle_values::{Object, Text, Value};
use scraper::{ElementRef, Html, Selector};

/// Elements of a page in one another; browsers stop at half of it. `:has()` calls itself for each level.
const PAGE_DEPTH_MAX: usize = 1_000;
/// Bytes of a selector: what matches it calls itself for each of its parts.
const SELECTOR_BYTES_MAX: usize = 1_000;
/// Brackets of a selector in one another.
const SELECTOR_DEPTH_MAX: usize = 8;

/// `extract` or `text`.
pub fn html(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let value = match choice(parameters, "operation", &["extract", "text"], "extract")? {
        "extract" => {
            let wanted = wanted(parameters)?;
            let page = page(parameters, context)?;
            let found = wanted
                .iter()
                .map(|wanted| (wanted.name.clone(), wanted.find(&page)));
            Value::Object(found.collect())
        }
        _ => {
            let page = page(parameters, context)?;
            readable::text(*page.root_element()).into()
        }
    };
    Ok(Outcome::Emit(Emission::one(0, value)))
}

fn page(parameters: &Object, context: &dyn Context) -> Result<Html, Failure> {
    let page = Html::parse_document(&source(parameters, context)?);
    let mut depth = 0_usize;
    for edge in page.tree.root().traverse() {
        match edge {
            Edge::Open(_) => depth += 1,
            Edge::Close(_) => depth = depth.saturating_sub(1),
        }
        if depth > PAGE_DEPTH_MAX {
            let message = format!("The page is nested more than {PAGE_DEPTH_MAX} levels deep.");
            return Err(Failure::new(code::DEPTH_LIMIT, message));
        }
    }
    Ok(page)
}

fn source(parameters: &Object, context: &dyn Context) -> Result<String, Failure> {
    if let Some(page) = text(parameters, "html")? {
        return Ok(page);
    }
    match context.input() {
        Value::String(page) => Ok(page.to_utf8().into_owned()),
        input if is_file_value(&input) => {
            let message = format!("This node works on text, but its input is a file. {READ_FIRST}");
            Err(Failure::new(code::PARAMETER, message))
        }
        input => {
            let message = format!(
                "This node works on text, but its input is {}. Give it the page by the parameter `html`, for \
                 example `{{{{ $input.body }}}}`.",
                input.shape()
            );
            Err(Failure::new(code::PARAMETER, message))
        }
    }
}

/// A field of the result.
struct Wanted {
    name: Text,
    selector: Selector,
    from: Part,
    all: bool,
}

/// What of an element is wanted.
enum Part {
    Text,
    Attribute(String),
    Html,
}

fn wanted(parameters: &Object) -> Result<Vec<Wanted>, Failure> {
    let takes = "an object whose fields have a `selector`";
    let Value::Object(selectors) = required(parameters, "selectors", takes)? else {
        let value = parameters.get("selectors").cloned().unwrap_or_default();
        return Err(mismatch("selectors", takes, &value));
    };
    selectors
        .iter()
        .map(|(name, field)| field_wanted(name, field))
        .collect()
}

fn field_wanted(name: &Text, field: &Value) -> Result<Wanted, Failure> {
    let at = format!("selectors.{name}");
    let Value::Object(field) = field else {
        return Err(mismatch(&at, "an object with a `selector`", field));
    };
    let failed = |failure: Failure| Failure {
        message: failure
            .message
            .replacen("Parameter `", &format!("Parameter `{at}."), 1),
        ..failure
    };
    let selector = required(field, "selector", "a CSS selector").map_err(failed)?;
    let selector = selector.to_text().to_utf8().into_owned();
    let from = match text(field, "attribute").map_err(failed)? {
        Some(attribute) => Part::Attribute(attribute.to_ascii_lowercase()),
        None if boolean(field, "html", false).map_err(failed)? => Part::Html,
        None => Part::Text,
    };
    if given(field, "attribute").is_some() && boolean(field, "html", false).map_err(failed)? {
        let message = format!("Parameter `{at}` has both `attribute` and `html`; an attribute has no HTML.");
        return Err(Failure::new(code::PARAMETER, message));
    }
    Ok(Wanted {
        name: name.clone(),
        selector: parsed(&selector, &at)?,
        from,
        all: boolean(field, "all", false).map_err(failed)?,
    })
}

fn parsed(selector: &str, at: &str) -> Result<Selector, Failure> {
    let refused = |why: &str| {
        let message = format!("Parameter `{at}.selector` takes a CSS selector, but {why}.");
        Failure::new(code::PARAMETER, message)
    };
    if selector.len() > SELECTOR_BYTES_MAX {
        return Err(refused(&format!("it has more than {SELECTOR_BYTES_MAX} bytes")));
    }
    let mut depth = 0_usize;
    for character in selector.chars() {
        match character {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > SELECTOR_DEPTH_MAX {
            return Err(refused(&format!(
                "it has brackets more than {SELECTOR_DEPTH_MAX} deep"
            )));
        }
    }
    Selector::parse(selector).map_err(|_| refused(&format!("`{selector}` is not a valid one")))
}

impl Wanted {
    fn find(&self, page: &Html) -> Value {
        // In the order of the page; `Html::select` has the order in which the parser made the elements, which is another
        // where it moved some, and finds those as well that it dropped.
        let root = page.root_element();
        let itself = self.selector.matches(&root).then_some(root);
        let elements = itself.into_iter().chain(root.select(&self.selector));
        let mut found = elements.map(|element| self.from.of(element));
        match self.all {
            // An element without the attribute gives nothing.
            true => found.flatten().collect::<Vec<_>>().into(),
            false => found.next().flatten().unwrap_or(Value::Null),
        }
    }
}

impl Part {
    fn of(&self, element: ElementRef<'_>) -> Option<Value> {
        match self {
            Part::Text => Some(readable::text(*element).into()),
            Part::Attribute(name) => element.attr(name).map(Value::from),
            Part::Html => Some(element.inner_html().into()),
        }
    }
}
