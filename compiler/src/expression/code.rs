//! The code of a JavaScript node as an expression: a module that is one function, all of which can be compiled.
//!
//! The engine executes everything else, and also what has failed when it was compiled, so that errors are the engine's. That
//! is why only what can be done twice is compiled, and only what is certain to give the engine's value: no names and
//! methods of heddle's or n8n's, no `Date`, nothing of `Math` whose last digit is up to the implementation.

use super::exact::{self, fails, text};
use super::hoisting;
use super::lowering::{Lowering, Scope};
use super::order::order_in_code;
use super::syntax::without_parentheses;
use super::tree::with_program_names;
use super::unsupported;
use super::{
    Binary, Element, Expression, Literal, MethodCall, Name, Names, NodeName, Problem, Reason, Unary,
};
use heddle_values::methods::{Global, Method};
use oxc_ast::ast;
use oxc_span::{GetSpan, Span};

/// Index of the parameter that is all that the function is given.
pub(super) const ARGUMENT: u32 = u32::MAX;
/// Arguments of a call that spreads a list: far fewer than the engine takes.
const ARGUMENTS_MAX: f64 = 10_000.0;
/// What values that refer to files inherit in code, besides what all objects do.
const OF_FILES: &[&str] = &["arrayBuffer", "bytes", "json", "slice", "text"];
/// The property by which a value refers to a file.
pub(super) const FILE_MARK: &str = "$file";

/// A module's function, if all of it can be compiled; else why not, in the order of the source, or nothing if it is not valid. Its
/// `params` are read as `$a`.
pub(super) fn code(source: &str, program: &ast::Program<'_>) -> Result<Expression, Vec<Reason>> {
    let mut lowering = Lowering::new(&NoNames);
    lowering.is_code = true;
    let mut expression = lowering.module(program);
    lowering.note_seen_changes(&mut expression);
    let Lowering {
        mut reasons,
        problems,
        ..
    } = lowering;
    reasons.extend(problems.into_iter().map(|problem| Reason {
        what: problem.message,
        span: problem.span,
    }));
    if reasons.is_empty() {
        let semantic = with_program_names(source, program).ok_or_else(Vec::new)?;
        reasons.extend(hoisting::used_elsewhere(&semantic));
    }
    reasons.sort_by_key(|reason| (reason.span.start, reason.span.end));
    match reasons.is_empty() {
        true => Ok(expression),
        false => Err(reasons),
    }
}

/// What the function gives whose value this is: its `params` need a call, `[params].map(params => …)[0]`.
pub(super) fn called(value: Expression) -> Expression {
    let call = MethodCall {
        receiver: Expression::Array(vec![Element::Item(Expression::Name(Name::First))]),
        method: Method::Map,
        optional: false,
        arguments: vec![Element::Item(Expression::Lambda(Box::new(value)))],
    };
    let called = Box::new(Expression::Method(Box::new(call)));
    Expression::Index(called, Box::new(Expression::Number(0.0)))
}

/// What code sees of heddle's names: none.
pub(super) struct NoNames;

impl Names for NoNames {
    fn node(&self, _: NodeName<'_>) -> Result<u32, Problem> {
        Err(Problem {
            code: "unknown-name",
            message: "code sees no other nodes".to_owned(),
            help: None,
            span: 0..0,
        })
    }

    fn has_item(&self) -> bool {
        false
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

impl Lowering<'_> {
    fn module(&mut self, program: &ast::Program<'_>) -> Expression {
        self.scopes.push(Scope::default());
        let mut declared = Vec::new();
        let mut value = None;
        if let Some(hashbang) = &program.hashbang {
            self.unsupported(hashbang.span, "a line for a shell");
        }
        for statement in &program.body {
            match statement {
                ast::Statement::VariableDeclaration(declaration) if value.is_none() => {
                    self.variables(declaration, &mut declared);
                }
                ast::Statement::ExportDefaultDeclaration(export) => {
                    value = Some(self.exported(&export.declaration, std::mem::take(&mut declared)));
                }
                ast::Statement::ImportDeclaration(import) => {
                    self.unsupported(import.span, "an import");
                }
                ast::Statement::EmptyStatement(_) => {}
                other => {
                    self.unsupported(other.span(), "a statement beside the exported function");
                }
            }
        }
        self.scopes.pop();
        called(value.unwrap_or(Expression::Undefined))
    }

    fn exported(
        &mut self,
        declaration: &ast::ExportDefaultDeclarationKind<'_>,
        declared: Vec<(u32, Expression)>,
    ) -> Expression {
        if let ast::ExportDefaultDeclarationKind::FunctionDeclaration(function) = declaration {
            return self.exported_function(function, declared);
        }
        match declaration.as_expression().map(without_parentheses) {
            Some(ast::Expression::FunctionExpression(function)) => self.exported_function(function, declared),
            Some(ast::Expression::ArrowFunctionExpression(arrow)) => {
                self.body_of(&arrow.params, declared, |lowering| match &arrow.body {
                    ast::ArrowFunctionBody::FunctionBody(body) => lowering.function_body(body),
                    body => match body.as_expression() {
                        Some(value) => lowering.expression(value),
                        None => Expression::Undefined,
                    },
                })
            }
            _ => self.unsupported(
                declaration.span(),
                "a default export that is not a function where it is exported",
            ),
        }
    }

    fn exported_function(
        &mut self,
        function: &ast::Function<'_>,
        declared: Vec<(u32, Expression)>,
    ) -> Expression {
        if function.generator {
            return self.unsupported(function.span, "a generator");
        }
        self.body_of(&function.params, declared, |lowering| match &function.body {
            Some(body) => lowering.function_body(body),
            None => Expression::Undefined,
        })
    }

    fn function_body(&mut self, body: &ast::FunctionBody<'_>) -> Expression {
        if let Some(directive) = body.directives.first() {
            return self.unsupported(directive.span, "a directive");
        }
        self.statements(&body.statements, None)
    }

    fn body_of(
        &mut self,
        parameters: &ast::FormalParameters<'_>,
        mut declared: Vec<(u32, Expression)>,
        body: impl FnOnce(&mut Self) -> Expression,
    ) -> Expression {
        if let Some(rest) = &parameters.rest {
            self.unsupported(rest.span, "a rest parameter");
        }
        if let Some(second) = parameters.items.get(1) {
            self.unsupported(second.span, "a second parameter");
        }
        if let Some(first) = parameters.items.first() {
            // A default is of no account: there always is an argument.
            self.argument_as(&first.pattern, &mut declared);
        }
        self.within(declared, parameters.span, body)
    }

    /// Names of what the function is given.
    pub(super) fn argument_as(
        &mut self,
        pattern: &ast::BindingPattern<'_>,
        declared: &mut Vec<(u32, Expression)>,
    ) {
        match pattern {
            ast::BindingPattern::BindingIdentifier(name) => {
                if let Some(scope) = self.scopes.last_mut() {
                    scope.names.push((name.name.to_string(), ARGUMENT));
                }
            }
            ast::BindingPattern::ObjectPattern(object) => {
                for property in &object.properties {
                    let name = match &property.key {
                        ast::PropertyKey::StaticIdentifier(name) => Some(name.name.as_str()),
                        _ => None,
                    };
                    let value = self.given(name, property.key.span());
                    self.declare(&property.value, value, declared);
                }
                if let Some(rest) = &object.rest {
                    self.unsupported(rest.span, "the rest of an object");
                }
            }
            other => {
                self.unsupported(other.span(), "such a parameter");
            }
        }
    }

    /// What the function is given under this name.
    pub(super) fn given(&mut self, name: Option<&str>, span: Span) -> Expression {
        match name {
            Some("input") => Expression::Name(Name::Input),
            Some("params") => Expression::Parameter {
                up: (self.scopes.len() as u32).saturating_sub(1),
                index: 0,
            },
            Some("item") => Expression::Name(Name::Item),
            Some(name) => self.unsupported(span, &format!("`{name}`")),
            None => self.unsupported(span, "a computed name"),
        }
    }

    /// Names of a declaration with their values; `declared` takes them in order.
    pub(super) fn variables(
        &mut self,
        declaration: &ast::VariableDeclaration<'_>,
        declared: &mut Vec<(u32, Expression)>,
    ) {
        for declarator in &declaration.declarations {
            if let (Some(init), ast::BindingPattern::ObjectPattern(_)) = (&declarator.init, &declarator.id)
                && self.is_argument(init)
            {
                self.argument_as(&declarator.id, declared);
                continue;
            }
            let value = match &declarator.init {
                Some(value) => self.expression(value),
                None => Expression::Undefined,
            };
            self.declare(&declarator.id, value, declared);
        }
        if matches!(
            declaration.kind,
            ast::VariableDeclarationKind::Using | ast::VariableDeclarationKind::AwaitUsing
        ) {
            self.unsupported(declaration.span, "`using`");
        }
    }

    /// Whether it is the name of all that the function is given.
    pub(super) fn is_argument(&self, node: &ast::Expression<'_>) -> bool {
        match without_parentheses(node) {
            ast::Expression::Identifier(name) => {
                matches!(
                    self.parameter(&name.name),
                    Some(Expression::Parameter { index: ARGUMENT, .. })
                )
            }
            _ => false,
        }
    }

    /// A member of a name in code that is not a value: of all that the function is given, or of a global.
    pub(super) fn member_in_code(
        &mut self,
        object: &ast::Expression<'_>,
        name: Option<&str>,
        span: Span,
    ) -> Option<Expression> {
        if self.is_argument(object) {
            return Some(self.given(name, span));
        }
        let ast::Expression::Identifier(identifier) = without_parentheses(object) else {
            return None;
        };
        if self.parameter(&identifier.name).is_some() {
            return None;
        }
        let global = &identifier.name;
        let constant = name.and_then(|name| heddle_values::methods::constant(&format!("{global}.{name}")));
        Some(match (constant, name) {
            (Some(number), _) => Expression::Number(number),
            (None, Some(name)) => self.unsupported(span, &format!("`{global}.{name}`")),
            (None, None) => self.unsupported(span, &format!("`{global}`")),
        })
    }

    /// A name in code that stands alone.
    pub(super) fn name_in_code(&mut self, span: Span, name: &str) -> Expression {
        match self.parameter(name) {
            Some(Expression::Parameter { index: ARGUMENT, .. }) => {
                self.unsupported(span, &format!("`{name}` as a whole"))
            }
            Some(parameter) => parameter,
            None => match name {
                "undefined" => Expression::Undefined,
                "NaN" => Expression::Number(f64::NAN),
                "Infinity" => Expression::Number(f64::INFINITY),
                _ => self.unsupported(span, &format!("`{name}`")),
            },
        }
    }

    /// `object.name` in code, where values that refer to files inherit some names.
    pub(super) fn field_in_code(&mut self, object: Box<Expression>, name: &str) -> Expression {
        if !OF_FILES.contains(&name) {
            return Expression::Member(object, name.to_owned());
        }
        self.once(*object, |object| {
            let member = |name: &str| Expression::Member(Box::new(object.clone()), name.to_owned());
            let mark = Expression::Unary(Unary::TypeOf, Box::new(member(FILE_MARK)));
            let is_file = Expression::Binary(Binary::StrictEqual, Box::new(mark), Box::new(text("string")));
            Expression::Conditional(Box::new(is_file), Box::new(fails()), Box::new(member(name)))
        })
    }

    /// A property of a pattern in code.
    pub(super) fn property_in_code(
        &mut self,
        whole: Box<Expression>,
        property: &ast::BindingProperty<'_>,
    ) -> Expression {
        let name = match &property.key {
            ast::PropertyKey::StaticIdentifier(name) => Some(name.name.as_str()),
            ast::PropertyKey::StringLiteral(name) if !name.lone_surrogates => Some(name.value.as_str()),
            _ => None,
        };
        match (name, property.key.as_expression()) {
            (Some(name), _) if unsupported::INHERITED.contains(&name) => {
                self.unsupported(property.span, &format!("`.{name}` as a value"))
            }
            (Some(name), _) => self.field_in_code(whole, name),
            (None, Some(key)) => Expression::Index(whole, Box::new(self.expression(key))),
            (None, None) => self.unsupported(property.span, "a private name"),
        }
    }

    /// `JSON.parse(…)` in code: of a text with lone surrogates the engine keeps them.
    pub(super) fn json_in_code(&mut self, mut arguments: Vec<Element>, span: Span) -> Expression {
        let Some(Element::Item(source)) = arguments.pop().filter(|_| arguments.is_empty()) else {
            return self.unsupported(span, "`JSON.parse(…)` with more than a text");
        };
        self.once(source, |source| {
            let well_formed = Expression::Method(Box::new(MethodCall {
                receiver: source.clone(),
                method: Method::IsWellFormed,
                optional: false,
                arguments: Vec::new(),
            }));
            let parsed = Expression::Global(Global::JSONParse, vec![Element::Item(source)]);
            Expression::Conditional(Box::new(well_formed), Box::new(parsed), Box::new(fails()))
        })
    }

    /// A value whose properties an object in code gets: of a text the engine copies no characters.
    pub(super) fn spread_in_code(&mut self, value: Expression) -> Expression {
        let is_part = self.is_part;
        self.once(value, |value| {
            let kind = Expression::Unary(Unary::TypeOf, Box::new(value.clone()));
            let is_text = Expression::Binary(Binary::StrictEqual, Box::new(kind), Box::new(text("string")));
            let copied = match is_part {
                true => unless_file(value),
                false => value,
            };
            Expression::Conditional(Box::new(is_text), Box::new(fails()), Box::new(copied))
        })
    }

    /// What is made of a value that is evaluated once.
    fn once(&mut self, value: Expression, made: impl FnOnce(Expression) -> Expression) -> Expression {
        let Some(scope) = self.scopes.last_mut() else {
            return made(value);
        };
        // No name in JavaScript is empty.
        let index = scope.declare("");
        let body = made(Expression::Parameter { up: 0, index });
        Expression::Let(index, Box::new(value), Box::new(body))
    }

    /// A call in code with these arguments: not too many where there is a spread.
    pub(super) fn call_in_code(
        &mut self,
        arguments: Vec<Element>,
        call: impl FnOnce(Vec<Element>) -> Expression,
    ) -> Expression {
        if !arguments.iter().any(is_spread) {
            return call(arguments);
        }
        self.once(Expression::Array(arguments), |all| {
            let length = Expression::Member(Box::new(all.clone()), "length".to_owned());
            let most = Expression::Number(ARGUMENTS_MAX);
            let are_few = Expression::Binary(Binary::Less, Box::new(length), Box::new(most));
            let called = call(vec![Element::Spread(all)]);
            Expression::Conditional(Box::new(are_few), Box::new(called), Box::new(fails()))
        })
    }

    /// What a method does otherwise in code, or only if the engine does it in the same way.
    pub(super) fn method_in_code(&mut self, call: MethodCall, span: Span) -> Expression {
        let name = call.method.name();
        let given = call.arguments.as_slice();
        match (call.method, given) {
            // Digits of fractions are up to the implementation, and so is the language's.
            (Method::ToString, [_, ..]) => self.unsupported(span, &format!("`.{name}(…)` with an argument")),
            // In a text with pairs of surrogates, it overlooks what is before a pair that the position divides.
            (Method::LastIndexOf, [Element::Spread(_), ..] | [_, _, ..]) => {
                self.unsupported(span, &format!("`.{name}(…)` from a position"))
            }
            (Method::Sort | Method::ToSorted, []) => Expression::Method(Box::new(call)),
            (Method::Sort | Method::ToSorted, [Element::Item(Expression::Lambda(order))]) => {
                match order_in_code(order) {
                    Some(order) => Expression::Method(Box::new(MethodCall {
                        arguments: vec![Element::Item(Expression::Lambda(Box::new(order)))],
                        ..call
                    })),
                    None => {
                        let what = format!(
                            "`.{name}(…)` by anything but `a.x - b.x`, `a.x < b.x ? -1 : 1` and the like"
                        );
                        self.unsupported(span, &what)
                    }
                }
            }
            (Method::Sort | Method::ToSorted, _) => {
                self.unsupported(span, &format!("`.{name}(…)` by anything but a function"))
            }
            _ => {
                let MethodCall {
                    receiver,
                    method,
                    optional,
                    arguments,
                } = call;
                self.call_in_code(arguments, |arguments| {
                    Expression::Method(Box::new(MethodCall {
                        receiver,
                        method,
                        optional,
                        arguments,
                    }))
                })
            }
        }
    }

    /// Whether the function can be called with these arguments in code.
    pub(super) fn has_global_in_code(global: Global, arguments: &[Element]) -> bool {
        match (global, arguments) {
            (Global::ParseInt | Global::NumberParseInt, [_, radix, ..]) => {
                *radix == Element::Item(Expression::Number(10.0))
            }
            (Global::ParseInt | Global::NumberParseInt, [Element::Spread(_)]) => false,
            (Global::JSONStringify, given) if given.iter().any(is_spread) => false,
            (Global::JSONStringify, [_, _, Element::Item(indent), ..]) => is_plain_indent(indent),
            _ => exact::is_global(global),
        }
    }
}

fn is_spread(argument: &Element) -> bool {
    matches!(argument, Element::Spread(_))
}

/// Whether JSON is indented by a number of spaces or by a text that can't be cut within a character.
fn is_plain_indent(indent: &Expression) -> bool {
    match indent {
        Expression::Undefined | Expression::Null | Expression::Number(_) => true,
        Expression::String(Literal::Utf8(text)) => text.is_ascii(),
        _ => false,
    }
}

/// The value, of which the engine would make no file if only its properties were copied.
fn unless_file(value: Expression) -> Expression {
    let object = Box::new(Expression::Optional(Box::new(value.clone())));
    let mark = Expression::Chain(Box::new(Expression::Member(object, FILE_MARK.to_owned())));
    let is_missing = Expression::Binary(
        Binary::StrictEqual,
        Box::new(mark),
        Box::new(Expression::Undefined),
    );
    Expression::Conditional(Box::new(is_missing), Box::new(value), Box::new(fails()))
}
