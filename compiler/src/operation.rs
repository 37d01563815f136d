//! Operations of services: the request that the catalogue has of them becomes HttpRequest's parameters, in which what
//! the node was given stands at its places.
//!
//! The catalogue's expressions are heddle's own: a test compiles all of them. So nothing here reports anything.

use crate::expression::{self, Expression, Literal, Name, Names, NodeName, Problem, Property, split};
use crate::expression::{Binary, Element, Logical, Piece};
use crate::lowered::{Argument, Need, Site, TextPart};
use heddle_catalogue::{HTTP_REQUEST, Operation, Parameter, Schema};
use serde_json::{Map, Value};

/// No function is so far out: what stands for a parameter until its value takes the place.
const MARK: u32 = u32::MAX;

/// What the first of two requests has given, among the names of parameters.
const FOUND: &str = "found";

/// HttpRequest's parameters for a request of an operation, in the catalogue's order.
pub(crate) fn request(
    request: &Map<String, Value>,
    known: &'static [Parameter],
    given: &[(String, Argument)],
) -> Vec<(String, Argument)> {
    let given = Given { known, given };
    let value = |parameter: &Parameter| {
        if parameter.name == "connection" {
            return given.argument(parameter.name);
        }
        let value = request.get(parameter.name)?;
        let argument = given.filled(value, parameter.name)?;
        let is_later = matches!(parameter.schema, Schema::PerItem(_)) && !is_constant(&argument);
        Some(match is_later {
            true => Argument::Function(parameter.name.to_owned(), Box::new(argument)),
            false => argument,
        })
    };
    HTTP_REQUEST
        .parameters
        .iter()
        .filter_map(|parameter| Some((parameter.name.to_owned(), value(parameter)?)))
        .collect()
}

/// What the node was given and only a run knows, as an object.
pub(crate) fn evaluated(given: Vec<(String, Argument)>) -> Argument {
    whole(
        given
            .into_iter()
            .filter(|(_, argument)| !is_constant(argument))
            .collect(),
    )
}

/// What a node was given, for requests whose input is another one: `node` has evaluated it, where the input was the node's.
pub(crate) fn referred(given: &[(String, Argument)], node: u32) -> Vec<(String, Argument)> {
    let reference = |(name, argument): &(String, Argument)| {
        let argument = match argument {
            Argument::Constant(_) => argument.clone(),
            _ => {
                let object = Box::new(Expression::Name(Name::NodeOutput(node)));
                Argument::Expression(own_site(name, Expression::Member(object, name.clone())))
            }
        };
        (name.clone(), argument)
    };
    given.iter().map(reference).collect()
}

/// What the first of two requests has given, for the second, to which it leads.
pub(crate) fn found() -> (String, Argument) {
    let site = own_site(FOUND, Expression::Name(Name::Input));
    (FOUND.to_owned(), Argument::Expression(site))
}

fn own_site(name: &str, expression: Expression) -> Site {
    Site {
        parameter: name.to_owned(),
        source: format!("$input.{name}"),
        utf16: 0..0,
        expression,
        reasons: Vec::new(),
    }
}

/// What a run has to give before the request is made. An expression can be empty there, and a request without what says
/// which one, or which rows, may be about all there are.
pub(crate) fn needs(
    operation: &Operation,
    known: &'static [Parameter],
    given: &[(String, Argument)],
) -> Vec<Need> {
    let given = Given { known, given };
    let need = |parameter: &Parameter| given.need(operation, parameter);
    known.iter().filter_map(need).collect()
}

/// Whether the address of an operation's requests has a parameter in it.
fn is_in_address(operation: &Operation, name: &str) -> bool {
    let requests = [Some(&operation.request), operation.find.as_ref()];
    requests.into_iter().flatten().any(|request| {
        let address = request.get("url").and_then(Value::as_str);
        let mut places = address.unwrap_or_default().split("$input.").skip(1);
        places.any(|rest| rest.split(|c: char| !c.is_ascii_alphanumeric()).next() == Some(name))
    })
}

/// Whether the whole query of an operation's requests is a parameter, which thus says what they are about.
fn is_query(operation: &Operation, name: &str) -> bool {
    let query = operation.request.get("query").and_then(Value::as_str);
    let query = query.and_then(|text| text.strip_prefix("{{")?.strip_suffix("}}"));
    query.and_then(named) == Some(name)
}

/// Tells whether an argument is neither nullish nor empty; none if it can't be. What becomes text is looked at as such: that of
/// an empty list is empty.
fn is_filled(argument: &Argument, is_text: bool) -> Option<Argument> {
    match argument {
        Argument::Constant(value) => {
            (value.is_null() || value == "").then(|| Argument::Constant(false.into()))
        }
        Argument::Text(parts) => {
            let is_literal = |part: &TextPart| matches!(part, TextPart::Literal(text) if !text.is_empty());
            (!parts.iter().any(is_literal)).then(|| argument.clone())
        }
        Argument::Expression(site) => {
            let empty = || Literal::Utf8(String::new());
            let nothing = || Box::new(Expression::String(empty()));
            let given = Box::new(site.expression.clone());
            let mut value = Expression::Logical(Logical::Nullish, given, nothing());
            if is_text {
                value = Expression::Template(vec![empty(), empty()], vec![value]);
            }
            Some(Argument::Expression(Site {
                expression: Expression::Binary(Binary::StrictNotEqual, Box::new(value), nothing()),
                ..site.clone()
            }))
        }
        _ => None,
    }
}

/// Whether what a parameter has becomes conditions among others of an operation's query.
fn is_part_of_query(operation: &Operation, name: &str) -> bool {
    let query = operation.request.get("query").and_then(Value::as_str);
    query.is_some_and(|query| query.contains(&format!("...$input.{name} ")))
}

/// Whether a value in a query narrows it: what is null is left out, and so is a list without elements.
fn is_condition(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty() && items.iter().all(|item| !item.is_null()),
        _ => true,
    }
}

fn is_constant(argument: &Argument) -> bool {
    matches!(argument, Argument::Constant(_))
}

/// What a node of an operation was given.
struct Given<'g> {
    known: &'static [Parameter],
    given: &'g [(String, Argument)],
}

impl Given<'_> {
    /// A parameter's value, or else its default.
    fn argument(&self, name: &str) -> Option<Argument> {
        let given = self.given.iter().find(|(known, _)| known == name);
        given.map(|(_, argument)| argument.clone()).or_else(|| {
            let known = self.known.iter().find(|known| known.name == name)?;
            serde_json::from_str(known.default).ok().map(Argument::Constant)
        })
    }

    /// What a parameter needs: to be there, if it is a part of the address. That is so even if it is not required, as a range of
    /// cells that is empty at run time is not all of them. What is empty anywhere else, the service itself judges: a message
    /// may be.
    fn need(&self, operation: &Operation, parameter: &Parameter) -> Option<Need> {
        let name = parameter.name;
        let (_, argument) = self.given.iter().find(|(given, _)| given == name)?;
        if parameter.required && is_query(operation, name) {
            return Some(Need {
                test: self.has_conditions(name, argument, true)?,
                message: format!("Parameter `{name}` takes at least one condition, and none that is null."),
            });
        }
        if is_part_of_query(operation, name) {
            return Some(Need {
                test: self.has_conditions(name, argument, false)?,
                message: format!("Parameter `{name}` takes no condition that is null."),
            });
        }
        if !is_in_address(operation, name) || !parameter.required && is_constant(argument) {
            return None;
        }
        let is_text = !matches!(parameter.schema, Schema::Any | Schema::Array(_) | Schema::Map(_));
        Some(Need {
            test: is_filled(argument, is_text)?,
            message: format!("Parameter `{name}` takes a value, but it is empty."),
        })
    }

    /// Tells whether all conditions in an object for a query are there; none if they can't but be. One that is null would be
    /// left out, and the request be about more than was meant.
    fn has_conditions(&self, name: &str, argument: &Argument, is_needed: bool) -> Option<Argument> {
        match argument {
            Argument::Constant(value) => {
                let holds = |fields: &Map<String, Value>| {
                    !(is_needed && fields.is_empty()) && fields.values().all(is_condition)
                };
                let fails = value.as_object().is_some_and(|fields| !holds(fields));
                return fails.then(|| Argument::Constant(false.into()));
            }
            Argument::Object(fields) => {
                let is_there = |(_, value): &(String, Argument)| match value {
                    Argument::Constant(value) => is_condition(value),
                    Argument::Text(_) => true,
                    _ => false,
                };
                if !fields.is_empty() && fields.iter().all(is_there) {
                    return None;
                }
            }
            _ => {}
        }
        let all = format!("Object.values($input.{name} ?? {{}})");
        // A list without elements is sent as nothing, too.
        let is_there = "[it].flat().length > 0 && [it].flat().every(one => one != null)";
        let mut source = format!("{all}.every(it => {is_there})");
        if is_needed {
            source = format!("{all}.length > 0 && {source}");
        }
        let mut site = self.site(&source, name);
        if let Argument::Expression(given) = argument {
            // A failure in it is told of what was written.
            site.source.clone_from(&given.source);
            site.utf16 = given.utf16.clone();
        }
        Some(Argument::Expression(site))
    }

    /// A value of the request with the parameters in it; none if it is but a parameter that was not given.
    fn filled(&self, value: &Value, path: &str) -> Option<Argument> {
        match value {
            Value::String(text) if text.contains("{{") => self.text(text, path),
            Value::Object(fields) => {
                let fields: Vec<(String, Argument)> = fields
                    .iter()
                    .filter_map(|(name, value)| {
                        Some((name.clone(), self.filled(value, &format!("{path}.{name}"))?))
                    })
                    .collect();
                Some(whole(fields))
            }
            Value::Array(items) => {
                let items: Vec<Argument> = items.iter().filter_map(|item| self.filled(item, path)).collect();
                let constant = items.iter().all(is_constant);
                Some(match constant {
                    true => Argument::Constant(items.into_iter().map(value_of).collect()),
                    false => Argument::Array(items),
                })
            }
            constant => Some(Argument::Constant(constant.clone())),
        }
    }

    fn text(&self, text: &str, path: &str) -> Option<Argument> {
        let pieces = split(text).unwrap_or_default();
        if let [Piece::Expression(range)] = pieces.as_slice() {
            let source = text.get(range.clone()).unwrap_or_default();
            return match named(source) {
                Some(name) => self.argument(name),
                None => Some(Argument::Expression(self.site(source, path))),
            };
        }
        let parts = pieces.into_iter().map(|piece| match piece {
            Piece::Literal(text) => TextPart::Literal(text),
            Piece::Expression(range) => {
                TextPart::Expression(self.site(text.get(range).unwrap_or_default(), path))
            }
        });
        Some(Argument::Text(parts.collect()))
    }

    /// An expression of the catalogue's, with what was given in the place of `$input`'s fields. Failures in it are told
    /// of the parameter that it is about.
    fn site(&self, source: &str, path: &str) -> Site {
        let mut names: Vec<String> = Vec::new();
        let mut expression = expression::parse(source, &OwnNames).unwrap_or(Expression::Undefined);
        // First the places, since what takes them may have an `$input` of its own.
        expression.visit_mut(&mut |part| {
            if let Expression::Member(object, name) = part
                && **object == Expression::Name(Name::Input)
            {
                let index = names.iter().position(|known| known == name);
                let index = index.unwrap_or_else(|| {
                    names.push(name.clone());
                    names.len() - 1
                });
                *part = Expression::Parameter {
                    up: MARK,
                    index: index as u32,
                };
            }
        });
        let values: Vec<Expression> = names
            .iter()
            .map(|name| self.argument(name).map_or(Expression::Undefined, expression_of))
            .collect();
        expression.visit_mut(&mut |part| {
            if let Expression::Parameter { up: MARK, index } = part
                && let Some(value) = values.get(*index as usize)
            {
                *part = value.clone();
            }
        });
        let parameter = names.first().map_or(path, String::as_str);
        Site {
            parameter: parameter.to_owned(),
            source: source.trim().to_owned(),
            utf16: 0..0,
            expression,
            reasons: Vec::new(),
        }
    }
}

/// The parameter that an expression is, if it is nothing else.
fn named(source: &str) -> Option<&str> {
    let name = source.trim().strip_prefix("$input.")?;
    name.chars().all(|c| c.is_ascii_alphanumeric()).then_some(name)
}

fn whole(fields: Vec<(String, Argument)>) -> Argument {
    match fields.iter().all(|(_, argument)| is_constant(argument)) {
        true => {
            let fields = fields
                .into_iter()
                .map(|(name, argument)| (name, value_of(argument)));
            Argument::Constant(Value::Object(fields.collect()))
        }
        false => Argument::Object(fields),
    }
}

fn value_of(argument: Argument) -> Value {
    match argument {
        Argument::Constant(value) => value,
        _ => Value::Null,
    }
}

/// An argument as a part of an expression. Its nesting is bounded by what was checked.
fn expression_of(argument: Argument) -> Expression {
    match argument {
        Argument::Constant(value) => literal(&value),
        Argument::Expression(site) => site.expression,
        Argument::Text(parts) => {
            let (mut texts, mut values) = (vec![Literal::Utf8(String::new())], Vec::new());
            for part in parts {
                match (part, texts.last_mut()) {
                    (TextPart::Literal(text), Some(Literal::Utf8(last))) => last.push_str(&text),
                    (TextPart::Literal(text), _) => texts.push(Literal::Utf8(text)),
                    (TextPart::Expression(site), _) => {
                        values.push(Expression::Text(Box::new(site.expression)));
                        texts.push(Literal::Utf8(String::new()));
                    }
                }
            }
            Expression::Template(texts, values)
        }
        Argument::Object(fields) => {
            let fields = fields.into_iter();
            Expression::Object(
                fields
                    .map(|(name, value)| Property::Named(name, expression_of(value)))
                    .collect(),
            )
        }
        Argument::Array(items) => {
            let items = items.into_iter();
            Expression::Array(items.map(|item| Element::Item(expression_of(item))).collect())
        }
        // No parameter of an operation is evaluated later.
        Argument::Function(..) | Argument::Code(_) => Expression::Undefined,
    }
}

fn literal(value: &Value) -> Expression {
    match value {
        Value::Null => Expression::Null,
        Value::Bool(value) => Expression::Bool(*value),
        Value::Number(number) => Expression::Number(number.as_f64().unwrap_or(f64::NAN)),
        Value::String(text) => Expression::String(Literal::Utf8(text.clone())),
        Value::Array(items) => {
            Expression::Array(items.iter().map(|item| Element::Item(literal(item))).collect())
        }
        Value::Object(fields) => Expression::Object(
            fields
                .iter()
                .map(|(name, value)| Property::Named(name.clone(), literal(value)))
                .collect(),
        ),
    }
}

/// Names in the catalogue's expressions: the node's parameters as `$input`, and the body of a response as `$item`.
struct OwnNames;

impl Names for OwnNames {
    fn node(&self, _: NodeName<'_>) -> Result<u32, Problem> {
        Err(Problem {
            code: "unknown-node",
            message: "an operation knows no nodes".to_owned(),
            help: None,
            span: 0..0,
        })
    }

    fn has_item(&self) -> bool {
        true
    }

    fn has_pair(&self) -> bool {
        false
    }

    fn has_error(&self) -> bool {
        false
    }

    fn definition_only(&self) -> bool {
        true
    }
}
