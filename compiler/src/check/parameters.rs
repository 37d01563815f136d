//! Checks parameters: every literal is validated against its schema, every expression is parsed. The result is the
//! node's input for lowering.

mod path;
mod shape;

use self::path::{element, join};
use self::shape::{best, expected, takes_null};
use super::names::{DefinitionNames, NodeNames};
use crate::code;
use crate::diagnostic::{Diagnostic, Severity, Utf16Units, list, unsentenced};
use crate::expression::{Cost, ExpressionRoute, Names, Piece, cost, route, split};
use crate::findings::Findings;
use crate::graph::described;
use crate::lowered::{Argument, COMPILED_CODE, Code, REST_OF_CODE, Site, TextPart};
use crate::options::Options;
use heddle_catalogue::{Content, Parameter, Schema};
use serde_json::{Map, Value};

/// Values nested deeper than this are refused, so that every later pass may recurse.
const DEPTH_MAX: usize = 64;
/// What is written where expressions are not evaluated.
const PATH: &str =
    "write a path without `{{ }}`: names of fields with dots between them, such as `id` or `meta.id`";

/// Checks the parameters of one node, or the output values of one definition.
pub(crate) struct Parameters<'f, 'a, 'l> {
    /// The node and what its expressions see; none for a definition.
    pub names: Option<NodeNames<'a, 'l>>,
    pub options: &'f Options,
    pub found: &'f mut Findings,
}

impl Parameters<'_, '_, '_> {
    /// The given fields by the catalogue's parameters, in the catalogue's order.
    pub fn fields(
        &mut self,
        given: &Map<String, Value>,
        known: &'static [Parameter],
        path: &str,
        depth: usize,
    ) -> Vec<(String, Argument)> {
        for name in given
            .keys()
            .filter(|name| !known.iter().any(|parameter| parameter.name == **name))
        {
            let node_id = self.node_id();
            let similar = self.found.similar();
            self.found.report(Severity::Warning, || {
                let names = known.iter().map(|parameter| parameter.name);
                let help = elsewhere(name, known)
                    .or_else(|| similar.did_you_mean(name, names.clone()))
                    .unwrap_or_else(|| format!("known are {}", list(names)));
                let message = format!("`{name}` is unknown here and ignored");
                let diagnostic = Diagnostic::warning("unknown-parameter", message).with_help(help);
                Diagnostic {
                    node_id,
                    ..diagnostic.at_parameter(join(path, name))
                }
            });
        }
        let mut arguments = Vec::new();
        for parameter in known {
            let path = join(path, parameter.name);
            let value = given
                .get(parameter.name)
                .filter(|value| !value.is_null() || takes_null(&parameter.schema));
            match value {
                Some(value)
                    if parameter.literal && parameter.schema != Schema::Module && has_expression(value) =>
                {
                    let message = "must be a literal: it is needed before the run and can't be an expression";
                    let is_path = matches!(parameter.content, Content::Path);
                    let help = is_path.then(|| PATH.to_owned());
                    self.report(Diagnostic::error("literal-only", message).with_help(help), &path);
                }
                Some(value) => {
                    let argument = self.argument(&parameter.schema, value, &path, depth);
                    arguments.push((parameter.name.to_owned(), argument));
                    if let (Schema::Module, Value::String(source)) = (&parameter.schema, value) {
                        arguments.extend(compiled_code(source, self.options, self.found));
                    }
                }
                None if parameter.required => {
                    let help = parameter.description.split(". ").next().map(unsentenced);
                    let message = format!("`{}` is required", parameter.name);
                    self.report(
                        Diagnostic::error("missing-parameter", message).with_help(help),
                        &path,
                    );
                }
                None => {}
            }
        }
        arguments
    }

    /// The given fields, whatever they are called: what code of the user's own is given.
    pub fn open(&mut self, given: &Map<String, Value>) -> Vec<(String, Argument)> {
        given
            .iter()
            .map(|(name, value)| (name.clone(), self.argument(&Schema::Any, value, name, 0)))
            .collect()
    }

    /// One value against its schema. What is wrong is reported; the argument is then of no use.
    pub fn argument(&mut self, schema: &'static Schema, value: &Value, path: &str, depth: usize) -> Argument {
        if depth > DEPTH_MAX {
            self.fail(
                "too-deep",
                &format!("is nested more than {DEPTH_MAX} levels deep"),
                path,
            );
            return Argument::Constant(Value::Null);
        }
        if let (Schema::Module, Value::String(source)) = (schema, value) {
            for diagnostic in code::check(source, self.found) {
                self.report(diagnostic, path);
            }
            return Argument::Constant(value.clone());
        }
        if let Value::String(text) = value
            && text.contains("{{")
        {
            return self.templated(schema, text, path);
        }
        match (schema, value) {
            (Schema::OneOf(choices), _) => match best(choices, value) {
                Some(choice) => self.argument(choice, value, path, depth),
                None => {
                    self.mismatch(schema, value, path);
                    Argument::Constant(Value::Null)
                }
            },
            (Schema::PerItem(inner) | Schema::PerPair(inner) | Schema::Deferred(inner), _) => {
                let outer = self.names;
                self.names = outer.map(|names| within(names, schema));
                let argument = self.argument(inner, value, path, depth + 1);
                self.names = outer;
                match argument {
                    Argument::Constant(_) => argument,
                    other => Argument::Function(path.to_owned(), Box::new(other)),
                }
            }
            (Schema::Any, Value::Array(items)) => self.array(&Schema::Any, items, path, depth),
            (Schema::Any, Value::Object(fields)) => self.map(&Schema::Any, fields, path, depth),
            (Schema::Array(inner), Value::Array(items)) => self.array(inner, items, path, depth),
            (Schema::Map(inner), Value::Object(fields)) => self.map(inner, fields, path, depth),
            (Schema::Object(known), Value::Object(fields)) => {
                object(self.fields(fields, known, path, depth + 1))
            }
            _ => {
                if !schema.fits(value) {
                    self.mismatch(schema, value, path);
                }
                Argument::Constant(value.clone())
            }
        }
    }

    fn array(&mut self, inner: &'static Schema, items: &[Value], path: &str, depth: usize) -> Argument {
        let items = items.iter().enumerate();
        let arguments: Vec<Argument> = items
            .map(|(index, item)| self.argument(inner, item, &element(path, index), depth + 1))
            .collect();
        if !arguments
            .iter()
            .all(|argument| matches!(argument, Argument::Constant(_)))
        {
            return Argument::Array(arguments);
        }
        let constant = |argument| match argument {
            Argument::Constant(value) => value,
            _ => Value::Null,
        };
        Argument::Constant(arguments.into_iter().map(constant).collect())
    }

    fn map(
        &mut self,
        inner: &'static Schema,
        fields: &Map<String, Value>,
        path: &str,
        depth: usize,
    ) -> Argument {
        let fields = fields.iter();
        object(
            fields
                .map(|(name, value)| {
                    (
                        name.clone(),
                        self.argument(inner, value, &join(path, name), depth + 1),
                    )
                })
                .collect(),
        )
    }

    /// A text with expressions in it.
    fn templated(&mut self, schema: &'static Schema, text: &str, path: &str) -> Argument {
        let Some((schema, names)) = self.evaluated(schema) else {
            self.mismatch(schema, &Value::String(text.to_owned()), path);
            return Argument::Constant(Value::Null);
        };
        let pieces = match split(text) {
            Ok(pieces) => pieces,
            Err(at) => {
                let help = "close it with `}}`".to_owned();
                let diagnostic = Diagnostic::error("syntax", "`{{` is never closed").with_help(help);
                self.report(diagnostic.with_excerpt(text, at..(at + 2).min(text.len())), path);
                return Argument::Constant(Value::Null);
            }
        };
        let mut units = Utf16Units::new(text);
        let mut parts: Vec<TextPart> = pieces
            .into_iter()
            .filter_map(|piece| match piece {
                Piece::Literal(literal) => Some(TextPart::Literal(literal)),
                Piece::Expression(range) => self
                    .expression((text, &mut units), range, path, names)
                    .map(TextPart::Expression),
            })
            .collect();
        let argument = match parts.pop() {
            Some(TextPart::Expression(site)) if parts.is_empty() => Argument::Expression(site),
            Some(last) => {
                parts.push(last);
                if !schema.value.fits(&Value::String(String::new()))
                    && !matches!(schema.value, Schema::Enum(_))
                {
                    let help = "write only `{{ … }}`, without anything around it".to_owned();
                    let message = format!(
                        "text around an expression makes it a string, but {} is expected",
                        expected(schema.value)
                    );
                    self.report(Diagnostic::error("parameter-type", message).with_help(help), path);
                }
                Argument::Text(parts)
            }
            None => Argument::Constant(Value::Null),
        };
        if schema.later && !matches!(argument, Argument::Constant(_)) {
            return Argument::Function(path.to_owned(), Box::new(argument));
        }
        argument
    }

    /// The alternative of a schema for which an expression stands.
    fn evaluated(&self, schema: &'static Schema) -> Option<(Evaluated, Scope)> {
        let scope = |schema: &Schema| match schema {
            Schema::PerItem(_) => Scope {
                per_item: true,
                per_pair: false,
            },
            Schema::PerPair(_) => Scope {
                per_item: false,
                per_pair: true,
            },
            _ => Scope::default(),
        };
        match schema {
            Schema::PerItem(inner) | Schema::PerPair(inner) | Schema::Deferred(inner) => Some((
                Evaluated {
                    value: inner,
                    later: true,
                },
                scope(schema),
            )),
            Schema::OneOf(choices) => {
                let later = |schema: &&&Schema| {
                    matches!(
                        schema,
                        Schema::PerItem(_) | Schema::PerPair(_) | Schema::Deferred(_)
                    )
                };
                let texts = |schema: &&Schema| schema.fits(&Value::String(String::new()));
                let choices: Vec<&'static Schema> = choices.iter().collect();
                let choice = choices.iter().find(later).copied();
                let choice = choice
                    .or_else(|| choices.iter().copied().find(texts))
                    .or(choices.first().copied())?;
                self.evaluated(choice)
            }
            other => Some((
                Evaluated {
                    value: other,
                    later: false,
                },
                Scope::default(),
            )),
        }
    }

    fn expression(
        &mut self,
        (text, units): (&str, &mut Utf16Units<'_>),
        range: std::ops::Range<usize>,
        path: &str,
        scope: Scope,
    ) -> Option<Site> {
        let source = text.get(range.clone())?;
        let bytes_max = self.options.limits.expression_bytes_max;
        if source.len() > bytes_max {
            let message = format!(
                "is an expression of {} bytes; {bytes_max} are allowed",
                source.len(),
            );
            self.fail("expression-too-long", &message, path);
            return None;
        }
        let cost = cost(source);
        if cost.is_excessive(source) {
            let diagnostic = Diagnostic::error("too-deep", Cost::MESSAGE).with_help(Cost::HELP.to_owned());
            self.report(diagnostic, path);
            return None;
        }
        if let Err(refused) = self.found.take_source(source.len(), cost) {
            if let Some(diagnostic) = refused {
                self.report(*diagnostic, path);
            }
            return None;
        }
        let similar = self.found.has_room(Severity::Error).then(|| self.found.similar());
        let names = self.names.map(|names| NodeNames {
            suggests: similar.as_ref(),
            per_item: names.per_item || scope.per_item,
            per_pair: names.per_pair || scope.per_pair,
            ..names
        });
        let names: &dyn Names = names.as_ref().map_or(&DefinitionNames, |names| names);
        match route(source, names, self.options.expressions) {
            Ok(mut routed) => {
                let blanks = source.len() - source.trim_start().len();
                let trimmed = source.trim();
                let start = range.start + blanks;
                for reason in &mut routed.reasons {
                    reason.span = reason.span.start - blanks..reason.span.end - blanks;
                }
                Some(Site {
                    parameter: path.to_owned(),
                    source: trimmed.to_owned(),
                    utf16: units.before(start)..units.before(start + trimmed.len()),
                    expression: routed.expression,
                    reasons: routed.reasons,
                })
            }
            Err(problems) => {
                let node_id = self.node_id();
                for problem in problems {
                    self.found.report(Severity::Error, || {
                        let span = range.start + problem.span.start..range.start + problem.span.end;
                        let diagnostic =
                            Diagnostic::error(problem.code, problem.message).with_help(problem.help);
                        Diagnostic {
                            node_id: node_id.clone(),
                            ..diagnostic.at_parameter(path).with_excerpt(text, span)
                        }
                    });
                }
                None
            }
        }
    }

    fn mismatch(&mut self, schema: &Schema, value: &Value, path: &str) {
        let message = format!("must be {}, not {}", expected(schema), described(value));
        let help = match (schema, value) {
            _ if !self.found.has_room(Severity::Error) => None,
            (Schema::Enum(names), Value::String(text)) => {
                self.found
                    .did_you_mean(Severity::Error, text, names.iter().copied())
            }
            (Schema::Number | Schema::Integer { .. }, Value::String(text))
                if text.trim().parse::<f64>().is_ok() =>
            {
                Some(format!("write it without quotes: {}", text.trim()))
            }
            (Schema::Boolean, Value::String(text)) if text == "true" || text == "false" => {
                Some(format!("write it without quotes: {text}"))
            }
            _ => None,
        };
        self.report(Diagnostic::error("parameter-type", message).with_help(help), path);
    }

    fn fail(&mut self, code: &'static str, message: &str, path: &str) {
        self.report(Diagnostic::error(code, message), path);
    }

    fn report(&mut self, diagnostic: Diagnostic, path: &str) {
        let diagnostic = diagnostic.at_parameter(path);
        let node_id = self.node_id();
        self.found.push(Diagnostic {
            node_id,
            ..diagnostic
        });
    }

    fn node_id(&self) -> Option<String> {
        self.names.map(|names| names.level.name(names.node).to_owned())
    }
}

/// What takes the place of a parameter that other nodes have.
fn elsewhere(name: &str, known: &[Parameter]) -> Option<String> {
    let is_poll = known.iter().any(|parameter| parameter.name == "cursorParameter");
    (name == "pagination" && is_poll).then(|| {
        "each poll asks for one page: ask for the newest first, or for what has come since the last one by `cursor` or \
         `sinceParameter`"
            .to_owned()
    })
}

/// What an expression must give, and whether it is evaluated later.
#[derive(Clone, Copy)]
struct Evaluated {
    value: &'static Schema,
    later: bool,
}

/// Names that a parameter adds.
#[derive(Clone, Copy, Default)]
struct Scope {
    per_item: bool,
    per_pair: bool,
}

fn within<'a, 'l>(names: NodeNames<'a, 'l>, schema: &Schema) -> NodeNames<'a, 'l> {
    NodeNames {
        per_item: names.per_item || matches!(schema, Schema::PerItem(_)),
        per_pair: names.per_pair || matches!(schema, Schema::PerPair(_)),
        ..names
    }
}

fn object(fields: Vec<(String, Argument)>) -> Argument {
    if !fields
        .iter()
        .all(|(_, argument)| matches!(argument, Argument::Constant(_)))
    {
        return Argument::Object(fields);
    }
    let constant = |(name, argument)| match argument {
        Argument::Constant(value) => (name, value),
        _ => (name, Value::Null),
    };
    Argument::Constant(Value::Object(fields.into_iter().map(constant).collect()))
}

/// The parameters with what is compiled of a module, beside its text; none if it is not valid, or if there is too much code.
pub(crate) fn compiled_code(source: &str, options: &Options, found: &Findings) -> Vec<(String, Argument)> {
    let is_wanted = options.expressions != ExpressionRoute::EngineOnly && !found.has_too_much_source();
    if !is_wanted || !code::is_readable(source) {
        return Vec::new();
    }
    let mut code = Code {
        source: source.to_owned(),
        expression: None,
        part: None,
        reasons: Vec::new(),
    };
    let mut rest = None;
    match crate::expression::code(source) {
        Ok(expression) => code.expression = Some(expression),
        Err((reasons, _)) if reasons.is_empty() => return Vec::new(),
        Err((reasons, part)) => {
            code.reasons = reasons;
            if let Some(part) = part {
                rest = Some((REST_OF_CODE.to_owned(), Argument::Constant(part.rest.into())));
                code.expression = Some(part.expression);
                code.part = Some(part.span);
            }
        }
    }
    let compiled = (COMPILED_CODE.to_owned(), Argument::Code(code));
    [compiled].into_iter().chain(rest).collect()
}

/// Whether an expression stands anywhere in a value.
fn has_expression(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("{{"),
        Value::Array(items) => items.iter().any(has_expression),
        Value::Object(fields) => fields.values().any(has_expression),
        _ => false,
    }
}
