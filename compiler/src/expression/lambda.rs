//! Functions among the arguments of a call: parameters, destructuring, and bodies that are one value.

use super::call::slice;
use super::lowering::{Lowering, STACK_GROWTH_BYTES, STACK_LEFT_BYTES, Scope};
use super::{Element, Expression};
use heddle_values::methods::CALLBACK_ARGUMENTS_MAX;
use oxc_ast::ast;
use oxc_span::{GetSpan, Span};

impl Lowering<'_> {
    /// The parameter of this name of a function around.
    pub(super) fn parameter(&self, name: &str) -> Option<Expression> {
        self.scopes.iter().rev().zip(0..).find_map(|(scope, up)| {
            let (_, index) = scope.names.iter().rev().find(|(known, _)| known == name)?;
            Some(Expression::Parameter { up, index: *index })
        })
    }

    /// `x => body`, with those of its parameters that are items of a node.
    pub(super) fn arrow(&mut self, arrow: &ast::ArrowFunctionExpression<'_>, items: &[u32]) -> Expression {
        if arrow.r#async {
            return self.unsupported(arrow.span, "an asynchronous function");
        }
        self.lambda(&arrow.params, items, |lowering| match &arrow.body {
            ast::ArrowFunctionBody::FunctionBody(body) => lowering.statements(&body.statements, None),
            body => match body.as_expression() {
                Some(value) => lowering.expression(value),
                None => Expression::Undefined,
            },
        })
    }

    /// `function (x) { return … }`
    pub(super) fn function(&mut self, function: &ast::Function<'_>, items: &[u32]) -> Expression {
        if function.r#async || function.generator {
            return self.unsupported(function.span, "an asynchronous function");
        }
        if let Some(name) = function.id.as_ref().filter(|_| self.is_code) {
            return self.unsupported(name.span, "a function's name for itself");
        }
        self.lambda(&function.params, items, |lowering| match &function.body {
            Some(body) => lowering.statements(&body.statements, None),
            None => Expression::Undefined,
        })
    }

    fn lambda(
        &mut self,
        parameters: &ast::FormalParameters<'_>,
        items: &[u32],
        body: impl FnOnce(&mut Self) -> Expression,
    ) -> Expression {
        self.scopes.push(Scope {
            items: items.to_vec(),
            ..Scope::default()
        });
        let mut declared = Vec::new();
        for (parameter, index) in parameters.items.iter().zip(0..) {
            let mut value = match (index as usize) < CALLBACK_ARGUMENTS_MAX {
                true => Expression::Parameter { up: 0, index },
                false => Expression::Undefined,
            };
            if let Some(initializer) = &parameter.initializer {
                value = self.or_default(value, initializer);
            } else if let (ast::BindingPattern::BindingIdentifier(name), Some(scope), true) = (
                &parameter.pattern,
                self.scopes.last_mut(),
                (index as usize) < CALLBACK_ARGUMENTS_MAX,
            ) {
                scope.names.push((name.name.to_string(), index));
                continue;
            }
            self.declare(&parameter.pattern, value, &mut declared);
        }
        if let Some(rest) = &parameters.rest {
            self.unsupported(rest.span, "a rest parameter");
            self.declare(&rest.rest.argument, Expression::Undefined, &mut declared);
        }
        let body = self.within(declared, parameters.span, body);
        self.scopes.pop();
        Expression::Lambda(Box::new(body))
    }

    /// The names of a pattern, each with its value; `declared` takes them in order.
    pub(super) fn declare(
        &mut self,
        pattern: &ast::BindingPattern<'_>,
        value: Expression,
        declared: &mut Vec<(u32, Expression)>,
    ) {
        match pattern {
            ast::BindingPattern::BindingIdentifier(name) => {
                let is_item = self.is_item(&value);
                if let Some(scope) = self.scopes.last_mut() {
                    let index = scope.declare(&name.name);
                    scope.items.extend(is_item.then_some(index));
                    declared.push((index, value));
                }
            }
            ast::BindingPattern::AssignmentPattern(assignment) => {
                let value = match has_computed_key(&value) {
                    true => self.hidden(value, declared),
                    false => value,
                };
                let value = self.or_default(value, &assignment.right);
                self.declare(&assignment.left, value, declared);
            }
            ast::BindingPattern::ObjectPattern(object) => {
                // Nothing is read of it, so nothing fails if it is null.
                if object.properties.is_empty() {
                    self.unsupported(object.span, "a pattern without names");
                }
                let whole = self.hidden(value, declared);
                for property in &object.properties {
                    let value = self.property_of(&whole, property);
                    self.declare(&property.value, value, declared);
                }
                if let Some(rest) = &object.rest {
                    self.unsupported(rest.span, "the rest of an object");
                    self.declare(&rest.argument, Expression::Undefined, declared);
                }
            }
            ast::BindingPattern::ArrayPattern(array) => {
                // An array or a string's characters; anything else can't be taken apart.
                let elements = Expression::Array(vec![Element::Spread(value)]);
                let whole = self.hidden(elements, declared);
                for (element, index) in array.elements.iter().zip(0..) {
                    if let Some(element) = element {
                        let index = Box::new(Expression::Number(f64::from(index)));
                        let value = Expression::Index(Box::new(whole.clone()), index);
                        self.declare(element, value, declared);
                    }
                }
                if let Some(rest) = &array.rest {
                    let start = Element::Item(Expression::Number(array.elements.len() as f64));
                    let value = slice(whole, start);
                    self.declare(&rest.argument, value, declared);
                }
            }
        }
    }

    /// Gives a value a place of its own, so that it is computed once.
    fn hidden(&mut self, value: Expression, declared: &mut Vec<(u32, Expression)>) -> Expression {
        let is_item = self.is_item(&value);
        let Some(scope) = self.scopes.last_mut() else {
            return value;
        };
        // No name in JavaScript is empty.
        let index = scope.declare("");
        scope.items.extend(is_item.then_some(index));
        declared.push((index, value));
        Expression::Parameter { up: 0, index }
    }

    fn property_of(&mut self, whole: &Expression, property: &ast::BindingProperty<'_>) -> Expression {
        let whole = Box::new(whole.clone());
        if self.is_code {
            return self.property_in_code(whole, property);
        }
        match &property.key {
            ast::PropertyKey::StaticIdentifier(name) => self
                .json_member(&whole, &name.name)
                .unwrap_or_else(|| Expression::Member(whole, name.name.to_string())),
            ast::PropertyKey::StringLiteral(name) if !name.lone_surrogates => {
                Expression::Member(whole, name.value.to_string())
            }
            key => match key.as_expression() {
                Some(key) => Expression::Index(whole, Box::new(self.expression(key))),
                None => self.unsupported(property.span, "a private name"),
            },
        }
    }

    /// `value === undefined ? otherwise : value`; only used for values that are read without effort.
    fn or_default(&mut self, value: Expression, otherwise: &ast::Expression<'_>) -> Expression {
        let otherwise = self.expression(otherwise);
        let missing = Expression::Binary(
            super::Binary::StrictEqual,
            Box::new(value.clone()),
            Box::new(Expression::Undefined),
        );
        Expression::Conditional(Box::new(missing), Box::new(otherwise), Box::new(value))
    }

    /// The body with the values that were declared before it.
    pub(super) fn within(
        &mut self,
        declared: Vec<(u32, Expression)>,
        span: Span,
        body: impl FnOnce(&mut Self) -> Expression,
    ) -> Expression {
        self.nested(declared.len() + 1, span, |lowering| {
            let body = body(lowering);
            declared.into_iter().rev().fold(body, |body, (index, value)| {
                Expression::Let(index, Box::new(value), Box::new(body))
            })
        })
    }

    /// What a list of statements returns, `rest` being those that follow it.
    pub(super) fn statements(
        &mut self,
        mut statements: &[ast::Statement<'_>],
        rest: Option<&Rest<'_, '_>>,
    ) -> Expression {
        while let [ast::Statement::EmptyStatement(_), others @ ..] = statements {
            statements = others;
        }
        match (statements.split_first(), rest) {
            (Some((first, others)), _) => self.nested(1, first.span(), |lowering| {
                lowering.statement(first, others, rest)
            }),
            (None, Some(rest)) => self.statements(rest.statements, rest.outer),
            (None, None) => Expression::Undefined,
        }
    }

    fn statement(
        &mut self,
        first: &ast::Statement<'_>,
        others: &[ast::Statement<'_>],
        rest: Option<&Rest<'_, '_>>,
    ) -> Expression {
        match first {
            ast::Statement::ReturnStatement(statement) => match &statement.argument {
                Some(value) => self.expression(value),
                None => Expression::Undefined,
            },
            ast::Statement::BlockStatement(block) => {
                let known = self.scopes.last().map_or(0, |scope| scope.names.len());
                // Names of the block would hide those of what follows it.
                if !always_returns(&block.body) && block.body.iter().any(is_declaration) {
                    return self.unsupported(block.span, "a block with names of its own");
                }
                let follows = Rest {
                    statements: others,
                    outer: rest,
                };
                let value = self.statements(&block.body, Some(&follows));
                if let Some(scope) = self.scopes.last_mut() {
                    scope.names.truncate(known);
                }
                value
            }
            ast::Statement::IfStatement(statement) => self.if_statement(statement, others, rest),
            ast::Statement::VariableDeclaration(declaration) => {
                let mut declared = Vec::new();
                self.variables(declaration, &mut declared);
                self.within(declared, declaration.span, |lowering| {
                    lowering.statements(others, rest)
                })
            }
            other => {
                let what = "a statement that is neither `const`, `if` nor `return`";
                self.unsupported(other.span(), what)
            }
        }
    }

    fn if_statement(
        &mut self,
        statement: &ast::IfStatement<'_>,
        others: &[ast::Statement<'_>],
        rest: Option<&Rest<'_, '_>>,
    ) -> Expression {
        let consequent = std::slice::from_ref(&statement.consequent);
        let alternate = alternate_of(statement);
        // What follows is compiled once, so it may follow only one of the two.
        if !always_returns(consequent) && !always_returns(alternate) {
            let what = "an `if` after which the function continues from both branches";
            return self.unsupported(statement.span, what);
        }
        let follows = Rest {
            statements: others,
            outer: rest,
        };
        let test = self.expression(&statement.test);
        let known = self.scopes.last().map_or(0, |scope| scope.names.len());
        let branch = |lowering: &mut Self, branch| {
            let value = lowering.statements(branch, Some(&follows));
            if let Some(scope) = lowering.scopes.last_mut() {
                scope.names.truncate(known);
            }
            Box::new(value)
        };
        let consequent = branch(self, consequent);
        let alternate = branch(self, alternate);
        Expression::Conditional(Box::new(test), consequent, alternate)
    }
}

/// Whether to read the value takes what its key takes. Such keys can be within each other, so that to write each twice doubles the
/// tree at each level.
fn has_computed_key(value: &Expression) -> bool {
    matches!(value, Expression::Index(_, key) if !matches!(**key, Expression::Number(_)))
}

/// Statements that follow others.
pub(super) struct Rest<'r, 'a> {
    statements: &'r [ast::Statement<'a>],
    outer: Option<&'r Rest<'r, 'a>>,
}

/// Whether no statement after these is reached.
fn always_returns(statements: &[ast::Statement<'_>]) -> bool {
    let returns = |statement: &ast::Statement<'_>| match statement {
        ast::Statement::ReturnStatement(_) => true,
        ast::Statement::BlockStatement(block) => always_returns(&block.body),
        ast::Statement::IfStatement(statement) => {
            always_returns(std::slice::from_ref(&statement.consequent))
                && always_returns(alternate_of(statement))
        }
        _ => false,
    };
    // Chains of `else if` nest as often as they are long.
    stacker::maybe_grow(STACK_LEFT_BYTES, STACK_GROWTH_BYTES, || {
        statements.iter().any(returns)
    })
}

fn is_declaration(statement: &ast::Statement<'_>) -> bool {
    matches!(statement, ast::Statement::VariableDeclaration(_))
}

fn alternate_of<'s, 'a>(statement: &'s ast::IfStatement<'a>) -> &'s [ast::Statement<'a>] {
    statement.alternate.as_slice()
}
