//! A whole expression as a script for the JavaScript engine: heddle's names in it become parameters, whose values are
//! compiled as usual and passed in.
//!
//! They are all evaluated before the script begins, even those that it would not reach: such a part has no side
//! effects, and if it can fail it is an [`Expression::Attempt`], whose error is thrown at the part's place. What only
//! compiled code supports (what n8n adds to values) is compiled in pieces as large as possible, and so are date-times and
//! functions that depend on a language, which the engine has too.

mod changes;
mod parts;
mod refusals;
mod rewriting;

use super::hoisting;
use super::lowering::{Lowering, PROBLEMS_MAX};
use super::syntax::{called_method, range};
use super::unsupported::Times;
use super::{Expression, Name, Names, Problem, Reason, Script, names, unsupported};
use oxc_ast::AstKind;
use oxc_ast::ast;
use oxc_semantic::{NodeId, Semantic};
use oxc_span::{GetSpan, Span};
use rewriting::{Edits, Helper, Rewriting};
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Code of the problem that only compiled code knows something.
const NOT_IN_ENGINE: &str = "not-in-engine";

/// Turns an expression into a call of the engine. All problems at once.
pub(super) fn script(
    source: &str,
    semantic: &Semantic<'_>,
    names: &dyn Names,
    reasons: &[Reason],
) -> Result<Expression, Vec<Problem>> {
    let elsewhere = hoisting::used_elsewhere(semantic);
    let mut rewriting = Rewriting {
        source,
        semantic,
        names,
        because: reasons.first().map(|reason| reason.what.as_str()),
        prefix: prefix(source, semantic),
        times: Times::of(source),
        changes: changes::may_change_values(semantic),
        elsewhere: elsewhere.into_iter().map(|reason| reason.span).collect(),
        parameters: Vec::new(),
        known: HashMap::new(),
        helpers: Vec::new(),
        edits: Edits::default(),
        work_left: Cell::new(WORK_LEAST + WORK_FACTOR * source.len()),
        problems: refusals::constructs(semantic),
    };
    for reference in references(semantic) {
        if rewriting.problems.len() >= PROBLEMS_MAX {
            break;
        }
        rewriting.reference(&reference);
    }
    rewriting.compiled_calls();
    rewriting.methods();
    rewriting.comments();
    rewriting.spreads();
    if rewriting.work_left.get() == 0 {
        return Err(vec![too_much(source, reasons)]);
    }
    rewriting.finish()
}

/// Looking for the parts that can be compiled may take so much for each byte of the source, and so much in any case.
/// A byte of a part that is read is worth [`rewriting::WORK_OF_BYTE`], a name that is looked at 1.
const WORK_FACTOR: usize = 1_000;
const WORK_LEAST: usize = 2_000_000;

fn too_much(source: &str, reasons: &[Reason]) -> Problem {
    let because = reasons
        .first()
        .map(|reason| format!(" (because of {})", reason.what));
    let because = because.unwrap_or_default();
    Problem {
        code: "too-large",
        message: format!("the expression has too many names for the JavaScript engine{because}"),
        help: Some("split it across several nodes, or use a JavaScript node".to_owned()),
        span: reasons
            .first()
            .map_or(0..source.len(), |reason| reason.span.clone()),
    }
}

/// A name that the expression itself does not declare.
struct Reference<'a> {
    name: &'a str,
    span: Span,
    node: NodeId,
    is_write: bool,
}

/// All of them, in the order of the source.
fn references<'s>(semantic: &'s Semantic<'_>) -> Vec<Reference<'s>> {
    let scoping = semantic.scoping();
    let mut found = Vec::new();
    for (name, references) in scoping.root_unresolved_references() {
        found.extend(references.iter().map(|id| {
            let reference = scoping.get_reference(*id);
            Reference {
                name: name.as_str(),
                span: semantic.reference_span(reference),
                node: reference.node_id(),
                is_write: reference.is_write(),
            }
        }));
    }
    found.sort_by_key(|reference| reference.span.start);
    found
}

/// Dollar signs that names of ours begin with at most: all of them have these, and there may be one at every few bytes.
const SIGNS_MAX: usize = 16;

/// What no name in the source begins with.
fn prefix(source: &str, semantic: &Semantic<'_>) -> String {
    let written = source.split(|c| c != '$').map(str::len).max().unwrap_or(0);
    let symbols = || semantic.scoping().symbol_names();
    let named = symbols()
        .map(|name| name.len() - name.trim_start_matches('$').len())
        .max();
    let signs = (written.max(named.unwrap_or(0)) + 1).max(2);
    if signs <= SIGNS_MAX {
        return "$".repeat(signs);
    }
    let taken: HashSet<usize> = std::iter::once(source)
        .chain(symbols())
        .flat_map(numbers)
        .collect();
    let free = (0..).find(|number| !taken.contains(number));
    format!("$h{}_", free.unwrap_or(usize::MAX))
}

/// The numbers in `$h1_`, wherever that stands.
fn numbers(text: &str) -> impl Iterator<Item = usize> {
    let behind = text.split("$h").skip(1);
    behind.filter_map(|text| text.split_once('_')?.0.parse().ok())
}

impl Rewriting<'_, '_, '_> {
    fn reference(&mut self, reference: &Reference<'_>) {
        let Reference { name, span, .. } = *reference;
        if self.is_replaced(span) {
            return;
        }
        if reference.is_write {
            return self.written(reference);
        }
        if name == "arguments" && refusals::is_in_function(self.semantic, reference.node) {
            return;
        }
        match name {
            "$random" | "$uuid" if !self.names.definition_only() => self.drawn(reference),
            "$if" => self.conditional_call(reference),
            _ if is_time(name) || unsupported::is_compiled_first(name) => self.compiled_first(reference),
            _ if unsupported::in_engine(name) => {}
            _ => self.value(reference),
        }
    }

    /// Something is assigned to a name that the expression has not declared.
    fn written(&mut self, reference: &Reference<'_>) {
        let Reference { name, span, .. } = *reference;
        let known = names::resolve(name, self.names).is_ok() || unsupported::is_global(name);
        if known || name.starts_with('$') {
            let message = format!("`{name}` can't be assigned to");
            return self.refuse(
                span,
                "assignment",
                message,
                Some("to compare, write `==` or `===`"),
            );
        }
        if let Err(problem) = names::resolve(name, self.names) {
            self.problems.push(Problem {
                span: range(span),
                ..problem
            });
        }
    }

    /// `$random()` and `$uuid()`, which give something else at every call.
    fn drawn(&mut self, reference: &Reference<'_>) {
        let call = match self.semantic.nodes().parent_kind(reference.node) {
            AstKind::CallExpression(call) if call.callee.span() == reference.span => call,
            _ => return self.value(reference),
        };
        if let Some(argument) = call.arguments.first() {
            let message = format!("`{}()` takes no arguments", reference.name);
            let help = Some("for ranges and versions use the Random and Uuid nodes");
            return self.refuse(argument.span(), "arguments", message, help);
        }
        let helper = if reference.name == "$random" {
            Helper::Random
        } else {
            Helper::Uuid
        };
        let text = self.helper(helper);
        self.replace(reference.span, reference.node, text);
    }

    /// `$if(condition, then, otherwise)`, of which only one is evaluated.
    fn conditional_call(&mut self, reference: &Reference<'_>) {
        let call = match self.semantic.nodes().parent_kind(reference.node) {
            AstKind::CallExpression(call) if call.callee.span() == reference.span => call,
            _ => return self.value(reference),
        };
        let arguments: Vec<Span> = call
            .arguments
            .iter()
            .filter_map(ast::Argument::as_expression)
            .map(GetSpan::span)
            .collect();
        let end = call.span.end;
        let (condition, then, otherwise) = match (arguments.as_slice(), call.arguments.len()) {
            ([condition, then], 2) => (condition, then, None),
            ([condition, then, otherwise], 3) => (condition, then, Some(otherwise)),
            _ => return self.value(reference),
        };
        let mut between = |start: u32, end: u32, text: &str| {
            self.edits.add(start as usize..end as usize, text);
        };
        between(call.span.start, condition.start, "((");
        between(condition.end, then.start, ") ? (");
        match otherwise {
            Some(otherwise) => {
                between(then.end, otherwise.start, ") : (");
                between(otherwise.end, end, "))");
            }
            None => between(then.end, end, ") : void 0)"),
        }
    }

    /// A name of heddle's with a value.
    fn value(&mut self, reference: &Reference<'_>) {
        match self.value_part(reference.node, self.changes) {
            Ok((node, part)) => self.hand_over(node, part),
            Err(problems) => self.problems.extend(problems),
        }
    }

    /// A name that means nothing to the engine, or whose part is better compiled.
    fn compiled_first(&mut self, reference: &Reference<'_>) {
        match self.compiled_part(reference.node, self.changes) {
            Some((node, part)) => self.hand_over(node, part),
            None => match Helper::of_function(reference.name) {
                Some(helper) if self.is_callee(reference.node) => {
                    let text = self.helper(helper);
                    self.replace(reference.span, reference.node, text);
                }
                // It says itself that it is to be called.
                Some(_) => self.value(reference),
                None if unsupported::in_engine(reference.name) => {}
                None => self.not_in_engine(reference.span, &format!("`{}`", reference.name)),
            },
        }
    }

    fn not_in_engine(&mut self, span: Span, what: &str) {
        let because = match self.because {
            Some(reason) => format!(" (because of {reason})"),
            None => String::new(),
        };
        let message = format!(
            "{what} can't be used in a part of an expression that the JavaScript engine evaluates{because}"
        );
        let help = "compute it where it doesn't use a function's variables, or in an earlier node";
        self.refuse(span, NOT_IN_ENGINE, message, Some(help));
    }

    /// Calls of methods that only compiled code has, or that mean something else there.
    fn compiled_calls(&mut self) {
        for node in self.semantic.nodes().iter() {
            let AstKind::CallExpression(call) = node.kind() else {
                continue;
            };
            let Some((name, span)) = called_method(call) else {
                continue;
            };
            if self.problems.len() >= PROBLEMS_MAX {
                return;
            }
            if !unsupported::is_compiled_method(name) || self.is_replaced(span) {
                continue;
            }
            match self.compiled_part(node.id(), self.changes) {
                Some((node, part)) => self.hand_over(node, part),
                // Of a name that the engine has too it is known only when it is called.
                None if unsupported::may_be_method(name) => {}
                None if self.times.may_have(name) => {}
                None => self.not_in_engine(span, &format!("`.{name}(…)`")),
            }
        }
    }

    /// Methods that no value can have.
    fn methods(&mut self) {
        for (name, span) in refusals::methods(self.semantic, &self.times) {
            if self.problems.len() >= PROBLEMS_MAX {
                return;
            }
            if !self.is_replaced(span) {
                self.problems.push(refusals::no_method(name, span));
            }
        }
    }

    /// `a<!--b` begins a comment in a script.
    fn comments(&mut self) {
        for node in self.semantic.nodes().iter() {
            let AstKind::UnaryExpression(unary) = node.kind() else {
                continue;
            };
            let start = unary.span.start as usize;
            let before = self.source.get(..start).unwrap_or_default();
            let rest = self.source.get(start..).unwrap_or_default();
            if before.ends_with('<') && rest.starts_with("!--") && !self.is_replaced(unary.span) {
                self.edits.add(start..start, " ");
            }
        }
    }

    /// `{ ...text }`
    fn spreads(&mut self) {
        let semantic = self.semantic;
        for node in semantic.nodes().iter() {
            let AstKind::SpreadElement(spread) = node.kind() else {
                continue;
            };
            let is_in_object = matches!(
                semantic.nodes().parent_kind(node.id()),
                AstKind::ObjectExpression(_)
            );
            if !is_in_object || self.is_replaced(spread.span) {
                continue;
            }
            let Range { start, end } = range(spread.span);
            let text = format!("...{}(", self.helper(Helper::Spread));
            self.edits.add(start..start + "...".len(), &text);
            self.edits.add(end..end, ")");
        }
    }

    /// Puts a compiled part in the place of a node.
    fn hand_over(&mut self, node: NodeId, part: Expression) {
        let can_fail = !matches!(&part, Expression::Name(name) if !matches!(name, Name::NodeItem(_)));
        let lowering = Lowering::new(self.names);
        let items = match (lowering.is_items(&part), lowering.is_item(&part)) {
            (true, _) => Some(Helper::Items),
            (_, true) => Some(Helper::Item),
            _ => None,
        };
        let argument = if can_fail {
            Expression::Attempt(Box::new(part))
        } else {
            part
        };
        let next = self.parameters.len();
        let index = *self.known.entry(format!("{argument:?}")).or_insert(next);
        if index == next {
            self.parameters.push(argument);
        }
        let parameter = format!("{}{index}", self.prefix);
        let text = if can_fail {
            format!("{}({parameter})", self.helper(Helper::Part))
        } else {
            parameter
        };
        let text = match items {
            Some(helper) => format!("{}({text})", self.helper(helper)),
            None => text,
        };
        let span = self.semantic.nodes().kind(node).span();
        self.replace(span, node, text);
    }

    fn helper(&mut self, helper: Helper) -> String {
        if !self.helpers.contains(&helper) {
            self.helpers.push(helper);
        }
        format!("{}{}", self.prefix, helper.name())
    }

    fn replace(&mut self, span: Span, node: NodeId, text: String) {
        let text = match self.semantic.nodes().parent_kind(node) {
            // `{ $json }`
            AstKind::ObjectProperty(property) if property.shorthand => {
                let name = self.source.get(range(span)).unwrap_or_default();
                format!("{name}: {text}")
            }
            _ => text,
        };
        let Range { start, end } = range(span);
        let before = self.source.get(..start).and_then(|text| text.chars().next_back());
        let after = self.source.get(end..).and_then(|text| text.chars().next());
        // `typeof(x)`, `(x)in y`: a name of ours would be one word with these.
        let space = |next_to: Option<char>| if next_to.is_some_and(is_of_word) { " " } else { "" };
        let text = format!("{}{text}{}", space(before), space(after));
        self.edits.put(start..end, &text);
    }

    /// Whether the place is in a part that is compiled.
    fn is_replaced(&self, span: Span) -> bool {
        self.edits.cover(&range(span))
    }

    fn refuse(&mut self, span: Span, code: &'static str, message: String, help: Option<&str>) {
        self.problems.push(Problem {
            code,
            message,
            help: help.map(str::to_owned),
            span: range(span),
        });
    }

    /// The source of a function of the parameters, and their values.
    fn finish(mut self) -> Result<Expression, Vec<Problem>> {
        if !self.problems.is_empty() {
            // Where something is misspelt, what only the engine lacks says nothing.
            let not_there = ["unknown-method", "unknown-name", "foreign-name"];
            let is_misspelt = |problem: &Problem| not_there.contains(&problem.code);
            if self.problems.iter().any(is_misspelt) {
                self.problems.retain(|problem| problem.code != NOT_IN_ENGINE);
            }
            self.problems
                .sort_by_key(|problem| (problem.span.start, problem.span.end));
            return Err(self.problems);
        }
        let body = self.edits.applied(self.source);
        let prefix = &self.prefix;
        let list = |items: Vec<String>| items.join(", ");
        let parameters = list(
            (0..self.parameters.len())
                .map(|index| format!("{prefix}{index}"))
                .collect(),
        );
        // The lines keep a comment at the end from reaching further.
        let function = format!("function ({parameters}) {{ return (\n{body}\n); }}");
        let source = if self.helpers.is_empty() {
            format!("({function})")
        } else {
            let helpers = self.helpers.iter();
            let names = list(
                helpers
                    .clone()
                    .map(|helper| format!("{prefix}{}", helper.name()))
                    .collect(),
            );
            let sources = list(helpers.map(|helper| helper.source().to_owned()).collect());
            format!("(({names}) => {function})({sources})")
        };
        Ok(Expression::Script(Box::new(Script {
            source,
            arguments: self.parameters,
        })))
    }
}

/// Whether a character may be part of a name.
fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '$')
}

/// Heddle's names of times.
fn is_time(name: &str) -> bool {
    name == "$now" || name == "$today"
}
