//! The part of a JavaScript node's code that is compiled where not all of it can be: what it computes first.
//!
//! Code often makes a list by `filter`, `map` and `sort` and then does with it what only the engine can. The list is
//! compiled if the rest of the code uses nothing else that the node is given: then the engine gets the list and not
//! the whole input, and executes the module with that name instead of what was compiled, every line and column where it
//! was. Nobody can tell: no object of the list is in it twice ([`super::single`]), and none can be reached in another way.

use super::Expression;
use super::built_ins;
use super::code::{ARGUMENT, NoNames, called};
use super::hoisting;
use super::lowering::{Lowering, Scope};
use super::mutation;
use super::single::Origins;
use super::syntax::without_parentheses;
use super::tree::with_program_names;
use oxc_ast::{AstKind, ast};
use oxc_semantic::Semantic;
use oxc_span::{GetSpan, Span};
use std::collections::HashSet;
use std::ops::Range;

/// Names that are compiled at most, and levels of the tree that they take.
const DECLARED_MAX: usize = 100;
/// Values that are tried at most, from the last to the first.
const TRIED_MAX: usize = 8;
/// Calls at the end of a chain that are left to the engine at most.
const CALLS_LEFT_MAX: usize = 8;

/// What is compiled of a module, and what is not.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    /// What the engine is given as `input` and as `item`, with the node's `params` as `$a`.
    pub(crate) expression: Expression,
    /// The module that the engine executes then.
    pub(crate) rest: String,
    /// Where what is compiled stands: bytes of the source.
    pub(crate) span: Range<usize>,
}

/// The part of a module that can be compiled, if there is one that is worth it.
pub(super) fn part(source: &str, program: &ast::Program<'_>) -> Option<Part> {
    let function = exported(program)?;
    let semantic = with_program_names(source, program)?;
    if uses_names_of_functions(&semantic, &function) || built_ins::may_change(&semantic) {
        return None;
    }
    let mut lowering = Lowering::new(&NoNames);
    lowering.is_code = true;
    lowering.is_part = true;
    lowering.height = DECLARED_MAX;
    lowering.scopes.push(Scope::default());
    let mut declared = Vec::new();
    let constants = lowering.constants(program, &mut declared);
    let given = lowering.given_to(function.parameters, &mut declared)?;
    let candidates = lowering.candidates(function.body, &mut declared);
    let names = Names {
        semantic: &semantic,
        given: &given.names,
        constants: constants.iter().map(|name| name.start).collect(),
    };
    let free = candidates.into_iter().rev();
    let mut free = free.filter(|candidate| names.are_free(candidate)).take(TRIED_MAX);
    let found = free.find_map(|candidate| {
        let expression = lowering.whole_of(&candidate, &declared)?;
        Some((candidate, expression))
    });
    let (candidate, expression) = found?;
    let span = candidate.value_span;
    Some(Part {
        expression,
        rest: rest(source, &candidate, &given.input),
        span: span.start as usize..span.end as usize,
    })
}

/// The function that a module exports.
struct Exported<'p, 'a> {
    parameters: &'p ast::FormalParameters<'a>,
    body: &'p ast::FunctionBody<'a>,
    /// The name that it has for itself, and for its module.
    name: Option<Span>,
}

fn exported<'p, 'a>(program: &'p ast::Program<'a>) -> Option<Exported<'p, 'a>> {
    let mut statements = program.body.iter();
    let export = statements.find_map(|statement| match statement {
        ast::Statement::ExportDefaultDeclaration(export) => Some(&export.declaration),
        _ => None,
    })?;
    let of_function = |function: &'p ast::Function<'a>| {
        Some(Exported {
            parameters: &function.params,
            body: function.body.as_ref().filter(|_| !function.generator)?,
            name: function.id.as_ref().map(|name| name.span),
        })
    };
    let found = match export {
        ast::ExportDefaultDeclarationKind::FunctionDeclaration(function) => of_function(function),
        other => match without_parentheses(other.as_expression()?) {
            ast::Expression::FunctionExpression(function) => of_function(function),
            ast::Expression::ArrowFunctionExpression(arrow) => match &arrow.body {
                ast::ArrowFunctionBody::FunctionBody(body) => Some(Exported {
                    parameters: &arrow.params,
                    body,
                    name: None,
                }),
                _ => None,
            },
            _ => None,
        },
    }?;
    found.body.directives.is_empty().then_some(found)
}

/// Whether the function may be called again or its arguments be reached by other names than its parameters'.
fn uses_names_of_functions(semantic: &Semantic<'_>, function: &Exported<'_, '_>) -> bool {
    let scoping = semantic.scoping();
    let mut symbols = scoping.symbol_ids();
    let is_named = symbols.any(|symbol| {
        let is_own = function.name == Some(scoping.symbol_span(symbol));
        let is_twice = !scoping.symbol_redeclarations(symbol).is_empty();
        is_twice || (is_own && scoping.get_resolved_references(symbol).next().is_some())
    });
    let mut nodes = semantic.nodes().iter();
    let is_hidden = nodes.any(|node| {
        matches!(node.kind(), AstKind::IdentifierReference(name) if matches!(name.name.as_str(), "eval" | "arguments"))
    });
    is_named || is_hidden
}

/// What a function is given.
struct Given {
    /// Text by which its `input` is read, or its `item`.
    input: String,
    /// Names of parameters, whose values are known.
    names: Vec<Span>,
}

/// A value that could be compiled.
struct Candidate {
    /// So many names are declared before it.
    declared: usize,
    /// So many changes are made up to it.
    changes: usize,
    value: Expression,
    value_span: Span,
    /// What goes: declarations before it, in their order.
    gone: Vec<Span>,
}

impl Candidate {
    /// Whether a place is in what is compiled.
    fn contains(&self, span: Span) -> bool {
        let last = self.gone.partition_point(|outer| outer.start <= span.start);
        let before = last.checked_sub(1).and_then(|last| self.gone.get(last));
        let mut spans = before.into_iter().chain([&self.value_span]);
        spans.any(|outer| outer.start <= span.start && span.end <= outer.end)
    }
}

impl Lowering<'_> {
    /// Numbers, texts and the like that the module gives names; of other values another call could see a change.
    fn constants(&mut self, program: &ast::Program<'_>, declared: &mut Vec<(u32, Expression)>) -> Vec<Span> {
        let mut known = Vec::new();
        for statement in &program.body {
            let ast::Statement::VariableDeclaration(declaration) = statement else {
                continue;
            };
            if declaration.kind != ast::VariableDeclarationKind::Const {
                continue;
            }
            for declarator in &declaration.declarations {
                let ast::BindingPattern::BindingIdentifier(name) = &declarator.id else {
                    continue;
                };
                let is_plain = matches!(
                    declarator.init,
                    Some(
                        ast::Expression::NumericLiteral(_)
                            | ast::Expression::StringLiteral(_)
                            | ast::Expression::BooleanLiteral(_)
                    )
                );
                if let Some(value) = declarator.init.as_ref().filter(|_| is_plain)
                    && declared.len() < DECLARED_MAX
                {
                    let value = self.expression(value);
                    self.declare(&declarator.id, value, declared);
                    known.push(name.span);
                }
            }
        }
        known
    }

    /// What the function is given; none if that is not by a plain name.
    fn given_to(
        &mut self,
        parameters: &ast::FormalParameters<'_>,
        declared: &mut Vec<(u32, Expression)>,
    ) -> Option<Given> {
        let ([only], None) = (parameters.items.as_slice(), &parameters.rest) else {
            return None;
        };
        if only.initializer.is_some() {
            return None;
        }
        match &only.pattern {
            ast::BindingPattern::BindingIdentifier(name) => {
                let scope = self.scopes.last_mut()?;
                scope.names.push((name.name.to_string(), ARGUMENT));
                Some(Given {
                    input: format!("{}.input", name.name),
                    names: vec![name.span],
                })
            }
            ast::BindingPattern::ObjectPattern(object) if object.rest.is_none() => {
                let (mut names, mut input) = (Vec::new(), None);
                for property in &object.properties {
                    let ast::PropertyKey::StaticIdentifier(key) = &property.key else {
                        return None;
                    };
                    // What else there is, such as `log`, is the engine's.
                    if !matches!(key.name.as_str(), "input" | "params" | "item") {
                        continue;
                    }
                    let ast::BindingPattern::BindingIdentifier(name) = &property.value else {
                        return None;
                    };
                    let value = self.given(Some(&key.name), key.span);
                    self.declare(&property.value, value, declared);
                    names.push(name.span);
                    if key.name != "params" {
                        input.get_or_insert_with(|| name.name.to_string());
                    }
                }
                Some(Given { input: input?, names })
            }
            _ => None,
        }
    }

    /// Values of the declarations at the beginning of a function that could be compiled, and are worth it.
    fn candidates(
        &mut self,
        body: &ast::FunctionBody<'_>,
        declared: &mut Vec<(u32, Expression)>,
    ) -> Vec<Candidate> {
        let mut found = Vec::new();
        let mut origins = Origins::default();
        let mut gone: Vec<Span> = Vec::new();
        for statement in &body.statements {
            let declaration = match statement {
                ast::Statement::EmptyStatement(_) => continue,
                ast::Statement::VariableDeclaration(declaration) => declaration,
                _ => return found,
            };
            if !matches!(
                declaration.kind,
                ast::VariableDeclarationKind::Const | ast::VariableDeclarationKind::Let
            ) {
                return found;
            }
            for (at, declarator) in declaration.declarations.iter().enumerate() {
                let Some(init) = &declarator.init else {
                    return found;
                };
                if declared.len() >= DECLARED_MAX {
                    return found;
                }
                if let ast::BindingPattern::ObjectPattern(_) = &declarator.id
                    && self.is_argument(init)
                {
                    self.argument_as(&declarator.id, declared);
                    if !self.is_compiled() {
                        return found;
                    }
                    continue;
                }
                let Some((value, value_span)) = self.longest(init) else {
                    return found;
                };
                let is_list = has_function(&value) && origins.is_single(declared, &value);
                if is_list {
                    let before = declaration.declarations.first().filter(|_| at > 0);
                    let before = before.map(|first| Span::new(first.span.start, declarator.span.start));
                    found.push(Candidate {
                        declared: declared.len(),
                        changes: self.changes.len(),
                        value: value.clone(),
                        value_span,
                        gone: gone.iter().copied().chain(before).collect(),
                    });
                }
                if value_span != init.span() {
                    return found;
                }
                self.declare(&declarator.id, value, declared);
                if !self.is_compiled() {
                    return found;
                }
            }
            gone.push(declaration.span);
        }
        found
    }

    fn is_compiled(&self) -> bool {
        self.reasons.is_empty() && self.problems.is_empty()
    }

    /// The value, or what methods that can't be compiled are called on, and where it stands.
    fn longest(&mut self, node: &ast::Expression<'_>) -> Option<(Expression, Span)> {
        let mut node = node;
        for _ in 0..=CALLS_LEFT_MAX {
            let changes = self.changes.len();
            let value = self.expression(node);
            if self.is_compiled() {
                return Some((value, node.span()));
            }
            self.reasons.clear();
            self.problems.clear();
            self.changes.truncate(changes);
            node = match without_parentheses(node) {
                ast::Expression::CallExpression(call) if !call.optional => match &call.callee {
                    ast::Expression::StaticMemberExpression(member) if !member.optional => &member.object,
                    _ => return None,
                },
                _ => return None,
            };
        }
        None
    }

    /// The candidate with the names before it; none if it changes what it reads elsewhere.
    fn whole_of(&mut self, candidate: &Candidate, declared: &[(u32, Expression)]) -> Option<Expression> {
        let before = declared.iter().take(candidate.declared).rev();
        let value = before.fold(candidate.value.clone(), |body, (index, value)| {
            Expression::Let(*index, Box::new(value.clone()), Box::new(body))
        });
        let mut whole = called(value);
        self.changes.truncate(candidate.changes);
        let seen = mutation::seen(&self.changes, &mut whole);
        seen.is_empty().then_some(whole)
    }
}

/// Names of a module and what is known of them.
struct Names<'n, 'a> {
    semantic: &'n Semantic<'a>,
    given: &'n [Span],
    /// Where they begin: every candidate asks for every name.
    constants: HashSet<u32>,
}

impl Names<'_, '_> {
    /// Whether the candidate reads only names whose values are known, and nothing else reads what goes with it or what
    /// the function is given.
    fn are_free(&self, candidate: &Candidate) -> bool {
        let scoping = self.semantic.scoping();
        scoping.symbol_ids().all(|symbol| {
            let name = scoping.symbol_span(symbol);
            let goes = candidate.contains(name);
            let is_given = self.given.contains(&name);
            let is_known = goes || is_given || self.constants.contains(&name.start);
            let nodes = self.semantic.nodes();
            let declared = nodes.kind(scoping.symbol_declaration(symbol)).span();
            let block = hoisting::block_of_var(self.semantic, symbol);
            let mut references = scoping.get_resolved_references(symbol);
            references.all(|reference| {
                let span = self.semantic.reference_span(reference);
                match candidate.contains(span) {
                    // Not within or before its own declaration either, nor beyond the block of a `var`.
                    true => {
                        let is_there = block.is_none_or(|block| block.contains_inclusive(span));
                        is_known && is_there && (is_given || span.start >= declared.end)
                    }
                    false => !goes && !is_given,
                }
            })
        })
    }
}

/// Whether a function is called for each element of something.
fn has_function(value: &Expression) -> bool {
    let mut has_function = false;
    value
        .clone()
        .visit_mut(&mut |inner| has_function |= matches!(inner, Expression::Lambda(_)));
    has_function
}

/// The module without what is compiled, whose value is read as `input`; all else is where it was.
fn rest(source: &str, candidate: &Candidate, input: &str) -> String {
    let mut spans: Vec<(Span, &str)> = candidate.gone.iter().map(|span| (*span, "")).collect();
    spans.push((candidate.value_span, input));
    spans.sort_by_key(|(span, _)| span.start);
    let (mut rest, mut at) = (String::with_capacity(source.len()), 0);
    for (span, text) in spans {
        let (start, end) = (span.start as usize, span.end as usize);
        rest.push_str(source.get(at..start).unwrap_or_default());
        rest.push_str(text);
        blank(source.get(start..end).unwrap_or_default(), text.len(), &mut rest);
        at = end;
    }
    rest.push_str(source.get(at..).unwrap_or_default());
    rest
}

/// As many columns and lines as `text` takes, `taken` columns of which are taken, if there are so many in its first line.
fn blank(text: &str, mut taken: usize, blanks: &mut String) {
    for character in text.chars() {
        match character {
            '\n' | '\r' | '\u{2028}' | '\u{2029}' => {
                taken = 0;
                blanks.push(character);
            }
            other => {
                for _ in 0..other.len_utf16() {
                    match taken.checked_sub(1) {
                        Some(left) => taken = left,
                        None => blanks.push(' '),
                    }
                }
            }
        }
    }
}
