//! Explains for each expression and each module of a graph whether it is compiled or evaluated by the engine, and why.

use crate::check::level::Level;
use crate::checked::{Checked, Inside};
use crate::definitions::Definitions;
use crate::expression::Reason;
use crate::findings::cut_name;
use crate::lowered::{Argument, Site, TextPart};
use serde::Serialize;
use std::ops::Range;

/// An expression of a graph, or a module of code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explained {
    /// The node; of a definition's inner graph if `definition` is given. `None`: an output of a definition.
    pub node_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
    /// Parameter path such as `cases[0].when`.
    pub parameter: String,
    /// As written, without braces.
    pub expression: String,
    /// Where that stands in the parameter's text, in UTF-16 code units.
    #[serde(skip)]
    pub utf16: Range<usize>,
    /// How it is evaluated.
    pub route: Route,
    /// Why the engine evaluates it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Why>,
    /// If the engine executes a module: what of it is compiled all the same, bytes of the module.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compiled_part: Option<Range<usize>>,
    /// Whether it is the module of a JavaScript node or of a definition, which the engine executes also where its compiled
    /// form fails.
    #[serde(skip)]
    pub is_code: bool,
}

/// A way of evaluating expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Route {
    /// Compiled to WebAssembly.
    Compiled,
    /// The JavaScript engine evaluates it.
    Engine,
}

/// Something in an expression that is not compiled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Why {
    /// The construct, function or method, such as `a regular expression`.
    pub what: String,
    /// Bytes of the expression.
    pub span: Range<usize>,
}

/// All expressions and modules: the graph's own by node, then the definitions'.
pub(crate) fn explain(checked: &Checked<'_>, definitions: &Definitions) -> Vec<Explained> {
    let mut found = Vec::new();
    level(&checked.main, None, &mut found);
    for (definition, inside) in definitions.all().iter().zip(&checked.definitions) {
        // Each of its expressions has it.
        let name = cut_name(&definition.name);
        let name = Some(name.as_str());
        match inside {
            Inside::Composite(inner) => level(inner, name, &mut found),
            Inside::Outputs(outputs) => {
                for (_, value) in outputs {
                    argument(value, &mut |site| found.push(explained(None, name, site)));
                }
            }
            Inside::JavaScript(parameters) => {
                found.extend(parameters.iter().filter_map(|(_, value)| code(None, name, value)));
            }
            Inside::Component(..) | Inside::Refused => {}
        }
    }
    found
}

/// Visits the texts of all expressions, but for modules.
pub(crate) fn sources(checked: &Checked<'_>, visit: &mut dyn FnMut(&str)) {
    let mut of = |value: &Argument| argument(value, &mut |site| visit(&site.source));
    let main = checked.main.arguments.iter().flatten();
    main.for_each(|(_, value)| of(value));
    for inside in &checked.definitions {
        match inside {
            Inside::Composite(inner) => {
                let inner = inner.arguments.iter().flatten();
                inner.for_each(|(_, value)| of(value));
            }
            Inside::Outputs(outputs) => outputs.iter().for_each(|(_, value)| of(value)),
            Inside::JavaScript(_) | Inside::Component(..) | Inside::Refused => {}
        }
    }
}

fn level(level: &Level<'_>, definition: Option<&str>, found: &mut Vec<Explained>) {
    for (node, arguments) in level.arguments.iter().enumerate() {
        for (_, value) in arguments {
            argument(value, &mut |site| {
                found.push(explained(Some(level.name(node)), definition, site));
            });
            found.extend(code(Some(level.name(node)), definition, value));
        }
    }
}

fn explained(node: Option<&str>, definition: Option<&str>, site: &Site) -> Explained {
    Explained {
        node_id: node.map(str::to_owned),
        definition: definition.map(str::to_owned),
        parameter: site.parameter.clone(),
        expression: site.source.clone(),
        utf16: site.utf16.clone(),
        route: match site.expression.is_script() {
            true => Route::Engine,
            false => Route::Compiled,
        },
        reasons: site.reasons.iter().map(why).collect(),
        compiled_part: None,
        is_code: false,
    }
}

/// The module of a JavaScript node or of a definition.
fn code(node: Option<&str>, definition: Option<&str>, value: &Argument) -> Option<Explained> {
    let Argument::Code(code) = value else {
        return None;
    };
    Some(Explained {
        node_id: node.map(str::to_owned),
        definition: definition.map(str::to_owned),
        parameter: "code".to_owned(),
        expression: code.source.clone(),
        utf16: 0..code.source.encode_utf16().count(),
        route: match (&code.expression, &code.part) {
            (Some(_), None) => Route::Compiled,
            _ => Route::Engine,
        },
        reasons: code.reasons.iter().map(why).collect(),
        compiled_part: code.part.clone(),
        is_code: true,
    })
}

fn why(reason: &Reason) -> Why {
    Why {
        what: reason.what.clone(),
        span: reason.span.clone(),
    }
}

/// Visits the expressions of a value, in the order of the text.
fn argument(value: &Argument, visit: &mut dyn FnMut(&Site)) {
    match value {
        Argument::Constant(_) => {}
        Argument::Expression(site) => visit(site),
        Argument::Text(parts) => {
            for part in parts {
                if let TextPart::Expression(site) = part {
                    visit(site);
                }
            }
        }
        Argument::Object(fields) => fields.iter().for_each(|(_, inner)| argument(inner, visit)),
        Argument::Array(items) => items.iter().for_each(|inner| argument(inner, visit)),
        Argument::Function(_, inner) => argument(inner, visit),
        // It is not an expression.
        Argument::Code(_) => {}
    }
}
