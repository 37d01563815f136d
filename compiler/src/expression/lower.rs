//! Lowers the parser's tree to heddle's own: names are resolved, and constructs that are not compiled are recorded.

use super::lowering::{Lowering, PROBLEMS_MAX, STACK_GROWTH_BYTES, STACK_LEFT_BYTES};
use super::names;
use super::syntax::{gives_iterator, is_node_call, without_parentheses};
use super::unsupported;
use super::{
    Binary, Element, Expression, Literal, Logical, Name, Names, NodeName, Problem, Property, Reason, Unary,
};
use heddle_values::{date_time, methods};
use oxc_ast::ast;
use oxc_span::{GetSpan, Span};
use oxc_syntax::operator::{BinaryOperator, LogicalOperator, UnaryOperator};

/// Height of the tree, and so the length of a chain such as `a + b + c + …`.
const HEIGHT_MAX: usize = 1_000;

impl<'n> Lowering<'n> {
    /// A whole expression: the tree, why there is none if something is not compiled, and what is wrong, each in the
    /// order of the source.
    pub(super) fn whole(
        node: &ast::Expression<'_>,
        names: &'n dyn Names,
    ) -> (Expression, Vec<Reason>, Vec<Problem>) {
        let mut lowering = Lowering::new(names);
        let mut expression = lowering.expression(node);
        lowering.note_seen_changes(&mut expression);
        let Lowering {
            mut reasons,
            mut problems,
            ..
        } = lowering;
        reasons.sort_by_key(|reason| (reason.span.start, reason.span.end));
        problems.sort_by_key(|problem| (problem.span.start, problem.span.end));
        (expression, reasons, problems)
    }

    /// Any expression.
    pub(super) fn expression(&mut self, node: &ast::Expression<'_>) -> Expression {
        self.nested(1, node.span(), |lowering| lowering.node(node))
    }

    /// What `lower` gives, so many levels further in.
    pub(super) fn nested(
        &mut self,
        levels: usize,
        span: Span,
        lower: impl FnOnce(&mut Self) -> Expression,
    ) -> Expression {
        if self.problems.len() >= PROBLEMS_MAX {
            return Expression::Undefined;
        }
        if self.height + levels > HEIGHT_MAX {
            if !self.problems.iter().any(|problem| problem.code == "too-deep") {
                let message = format!("the expression has more than {HEIGHT_MAX} nested operators");
                self.refuse(span, "too-deep", message, Some("split it across several nodes"));
            }
            return Expression::Undefined;
        }
        self.height += levels;
        let expression = stacker::maybe_grow(STACK_LEFT_BYTES, STACK_GROWTH_BYTES, || lower(self));
        self.height -= levels;
        expression
    }

    fn node(&mut self, node: &ast::Expression<'_>) -> Expression {
        match node {
            ast::Expression::NullLiteral(_) => Expression::Null,
            ast::Expression::BooleanLiteral(literal) => Expression::Bool(literal.value),
            ast::Expression::NumericLiteral(literal) => Expression::Number(literal.value),
            ast::Expression::StringLiteral(text) => {
                Expression::String(literal(&text.value, text.lone_surrogates))
            }
            ast::Expression::TemplateLiteral(template) => self.template(template),
            ast::Expression::Identifier(identifier) => self.identifier(identifier.span, &identifier.name),
            ast::Expression::ArrayExpression(array) => self.array(array),
            ast::Expression::ObjectExpression(object) => self.object(object),
            ast::Expression::UnaryExpression(unary) => self.unary(unary),
            ast::Expression::BinaryExpression(binary) => self.binary(binary),
            ast::Expression::LogicalExpression(logical) => {
                let operator = match logical.operator {
                    LogicalOperator::And => Logical::And,
                    LogicalOperator::Or => Logical::Or,
                    LogicalOperator::Coalesce => Logical::Nullish,
                };
                Expression::Logical(operator, self.boxed(&logical.left), self.boxed(&logical.right))
            }
            ast::Expression::ConditionalExpression(conditional) => Expression::Conditional(
                self.boxed(&conditional.test),
                self.boxed(&conditional.consequent),
                self.boxed(&conditional.alternate),
            ),
            ast::Expression::SequenceExpression(sequence) => {
                Expression::Sequence(self.expressions(&sequence.expressions))
            }
            ast::Expression::ParenthesizedExpression(inner) => self.expression(&inner.expression),
            ast::Expression::ChainExpression(chain) => Expression::Chain(Box::new(self.chain(chain))),
            ast::Expression::StaticMemberExpression(member) => self.static_member(member),
            ast::Expression::ComputedMemberExpression(member) => self.computed_member(member),
            ast::Expression::CallExpression(call) => self.call(call),
            ast::Expression::NewExpression(new) => self.new_object(new),
            _ => self.unsupported(node.span(), unsupported::construct(node)),
        }
    }

    fn boxed(&mut self, node: &ast::Expression<'_>) -> Box<Expression> {
        Box::new(self.expression(node))
    }

    fn expressions(&mut self, nodes: &[ast::Expression<'_>]) -> Vec<Expression> {
        nodes.iter().map(|node| self.expression(node)).collect()
    }

    fn template(&mut self, template: &ast::TemplateLiteral<'_>) -> Expression {
        let quasi = |quasi: &ast::TemplateElement<'_>| {
            literal(
                quasi.value.cooked.as_deref().unwrap_or_default(),
                quasi.lone_surrogates,
            )
        };
        let quasis = template.quasis.iter().map(quasi).collect();
        Expression::Template(quasis, self.expressions(&template.expressions))
    }

    fn array(&mut self, array: &ast::ArrayExpression<'_>) -> Expression {
        let mut elements = Vec::with_capacity(array.elements.len());
        for element in &array.elements {
            elements.push(match element {
                ast::ArrayExpressionElement::SpreadElement(spread) => {
                    Element::Spread(self.spread(&spread.argument))
                }
                ast::ArrayExpressionElement::Elision(hole) => {
                    Element::Item(self.unsupported(hole.span, "a hole in an array"))
                }
                other => match other.as_expression() {
                    Some(item) => Element::Item(self.expression(item)),
                    None => continue,
                },
            });
        }
        Expression::Array(elements)
    }

    /// `...node` among elements or arguments.
    pub(super) fn spread(&mut self, node: &ast::Expression<'_>) -> Expression {
        match gives_iterator(node) {
            true => self.unsupported(node.span(), "an iterator"),
            false => self.expression(node),
        }
    }

    fn object(&mut self, object: &ast::ObjectExpression<'_>) -> Expression {
        let mut properties = Vec::with_capacity(object.properties.len());
        for property in &object.properties {
            match property {
                ast::ObjectPropertyKind::SpreadProperty(spread) => {
                    let value = self.expression(&spread.argument);
                    let value = if self.is_code {
                        self.spread_in_code(value)
                    } else {
                        value
                    };
                    properties.push(Property::Spread(value));
                }
                ast::ObjectPropertyKind::ObjectProperty(property) => {
                    properties.extend(self.property(property));
                }
            }
        }
        Expression::Object(properties)
    }

    fn property(&mut self, property: &ast::ObjectProperty<'_>) -> Option<Property> {
        if property.method || property.kind != ast::PropertyKind::Init {
            self.unsupported(property.span, "a method in an object");
            return None;
        }
        let name = match &property.key {
            ast::PropertyKey::StaticIdentifier(name) => Some(name.name.as_str()),
            ast::PropertyKey::StringLiteral(name) if !name.lone_surrogates => Some(name.value.as_str()),
            _ => None,
        };
        if name == Some("__proto__") && !property.computed && !property.shorthand {
            self.unsupported(property.span, "setting an object's prototype");
        }
        Some(match (name, property.key.as_expression()) {
            (Some(name), _) => Property::Named(name.to_owned(), self.expression(&property.value)),
            (None, Some(key)) => {
                let key = self.expression(key);
                Property::Computed(key, self.expression(&property.value))
            }
            (None, None) => {
                self.unsupported(property.span, "a private name");
                return None;
            }
        })
    }

    fn unary(&mut self, unary: &ast::UnaryExpression<'_>) -> Expression {
        let operator = match unary.operator {
            UnaryOperator::UnaryPlus => Unary::Plus,
            UnaryOperator::UnaryNegation => Unary::Negate,
            UnaryOperator::LogicalNot => Unary::Not,
            UnaryOperator::BitwiseNot => Unary::BitNot,
            UnaryOperator::Typeof => Unary::TypeOf,
            UnaryOperator::Void => Unary::Void,
            UnaryOperator::Delete => {
                return self.unsupported(unary.span, "`delete`");
            }
        };
        Expression::Unary(operator, self.boxed(&unary.argument))
    }

    fn binary(&mut self, binary: &ast::BinaryExpression<'_>) -> Expression {
        if self.is_code && matches!(binary.operator, BinaryOperator::Exponential | BinaryOperator::In) {
            return self.unsupported(binary.span, &format!("`{}`", binary.operator.as_str()));
        }
        let operator = match binary.operator {
            BinaryOperator::Addition => Binary::Add,
            BinaryOperator::Subtraction => Binary::Subtract,
            BinaryOperator::Multiplication => Binary::Multiply,
            BinaryOperator::Division => Binary::Divide,
            BinaryOperator::Remainder => Binary::Remainder,
            BinaryOperator::Exponential => Binary::Power,
            BinaryOperator::BitwiseAnd => Binary::BitAnd,
            BinaryOperator::BitwiseOR => Binary::BitOr,
            BinaryOperator::BitwiseXOR => Binary::BitXor,
            BinaryOperator::ShiftLeft => Binary::ShiftLeft,
            BinaryOperator::ShiftRight => Binary::ShiftRight,
            BinaryOperator::ShiftRightZeroFill => Binary::ShiftRightUnsigned,
            BinaryOperator::LessThan => Binary::Less,
            BinaryOperator::LessEqualThan => Binary::LessEqual,
            BinaryOperator::GreaterThan => Binary::Greater,
            BinaryOperator::GreaterEqualThan => Binary::GreaterEqual,
            BinaryOperator::Equality => Binary::Equal,
            BinaryOperator::Inequality => Binary::NotEqual,
            BinaryOperator::StrictEquality => Binary::StrictEqual,
            BinaryOperator::StrictInequality => Binary::StrictNotEqual,
            BinaryOperator::In => Binary::In,
            BinaryOperator::Instanceof => {
                return self.unsupported(binary.span, "`instanceof`");
            }
        };
        Expression::Binary(operator, self.boxed(&binary.left), self.boxed(&binary.right))
    }

    fn chain(&mut self, chain: &ast::ChainExpression<'_>) -> Expression {
        match &chain.expression {
            ast::ChainElement::CallExpression(call) => self.call(call),
            ast::ChainElement::StaticMemberExpression(member) => self.static_member(member),
            ast::ChainElement::ComputedMemberExpression(member) => self.computed_member(member),
            ast::ChainElement::PrivateFieldExpression(_) | ast::ChainElement::TSNonNullExpression(_) => {
                self.unsupported(chain.span, "a private name")
            }
        }
    }

    fn static_member(&mut self, member: &ast::StaticMemberExpression<'_>) -> Expression {
        let name = member.property.name.as_str();
        if let Some(expression) =
            self.special_member(&member.object, Some(name), member.optional, member.span)
        {
            return expression;
        }
        self.named_member(&member.object, member.optional, name, member.property.span)
    }

    fn computed_member(&mut self, member: &ast::ComputedMemberExpression<'_>) -> Expression {
        let name = match without_parentheses(&member.expression) {
            ast::Expression::StringLiteral(text) if !text.lone_surrogates => Some(text.value.as_str()),
            ast::Expression::TemplateLiteral(template)
                if !template.quasis.iter().any(|quasi| quasi.lone_surrogates) =>
            {
                template.single_quasi().map(|quasi| quasi.as_str())
            }
            _ => None,
        };
        if let Some(expression) = self.special_member(&member.object, name, member.optional, member.span) {
            return expression;
        }
        match name {
            Some(name) => {
                let span = member.expression.span();
                self.named_member(&member.object, member.optional, name, span)
            }
            None => {
                let object = self.object_of(&member.object, member.optional);
                Expression::Index(object, self.boxed(&member.expression))
            }
        }
    }

    /// `object.name`; what every object inherits is not a value here.
    fn named_member(
        &mut self,
        object: &ast::Expression<'_>,
        optional: bool,
        name: &str,
        span: Span,
    ) -> Expression {
        let object = self.object_of(object, optional);
        if unsupported::INHERITED.contains(&name) {
            return self.unsupported(span, &format!("`.{name}` as a value"));
        }
        if self.is_code {
            return self.field_in_code(object, name);
        }
        self.json_member(&object, name)
            .unwrap_or_else(|| Expression::Member(object, name.to_owned()))
    }

    pub(super) fn object_of(&mut self, object: &ast::Expression<'_>, optional: bool) -> Box<Expression> {
        let object = self.boxed(object);
        if optional {
            Box::new(Expression::Optional(object))
        } else {
            object
        }
    }

    /// `$secrets.NAME`, `$nodes.id`, `$("Label").item`, and members of names that are not values here.
    fn special_member(
        &mut self,
        object: &ast::Expression<'_>,
        name: Option<&str>,
        optional: bool,
        span: Span,
    ) -> Option<Expression> {
        if self.is_code {
            return self.member_in_code(object, name, span);
        }
        if let Some(expression) = self.item_member(object, name, optional, span) {
            return Some(expression);
        }
        match without_parentheses(object) {
            ast::Expression::Identifier(identifier) if self.parameter(&identifier.name).is_some() => None,
            ast::Expression::Identifier(identifier) => match (identifier.name.as_str(), name) {
                ("$secrets", _) if self.names.definition_only() => None,
                ("$secrets", Some(name)) => Some(Expression::Name(Name::Secret(name.to_owned()))),
                ("$nodes", _) if self.names.definition_only() => None,
                ("$nodes", Some(id)) => Some(self.node_output(NodeName::Id(id), span)),
                ("$secrets", None) => {
                    let message = "the name of a secret can't be computed".to_owned();
                    let help = Some("a pattern must declare its secrets: write `$secrets.NAME`");
                    Some(self.refuse(span, "computed-name", message, help))
                }
                ("$nodes", None) => {
                    let message = "the id of a node can't be computed".to_owned();
                    Some(self.refuse(span, "computed-name", message, Some("write `$nodes[\"id\"]`")))
                }
                (global, Some(name)) if unsupported::is_global(global) => {
                    let constant = methods::constant(&format!("{global}.{name}"));
                    if let Some(number) = constant {
                        return Some(Expression::Number(number));
                    }
                    if let Some(options) = date_time::preset(name).filter(|_| global == "DateTime") {
                        let text = |text: &str| Expression::String(Literal::Utf8(text.to_owned()));
                        let properties = options
                            .iter()
                            .map(|(key, value)| Property::Named((*key).to_owned(), text(value)));
                        return Some(Expression::Object(properties.collect()));
                    }
                    Some(self.unsupported(span, &format!("`{global}.{name}`")))
                }
                _ => None,
            },
            ast::Expression::CallExpression(call) if name == Some("item") && is_node_call(call) => {
                Some(match self.call(call) {
                    Expression::Name(Name::NodeOutput(node)) => Expression::Name(Name::NodeItem(node)),
                    other => other,
                })
            }
            _ => None,
        }
    }

    pub(super) fn node_output(&mut self, name: NodeName<'_>, span: Span) -> Expression {
        match self.names.node(name) {
            Ok(node) => Expression::Name(Name::NodeOutput(node)),
            Err(problem) => {
                self.problems.push(Problem {
                    span: span.start as usize..span.end as usize,
                    ..problem
                });
                Expression::Undefined
            }
        }
    }

    pub(super) fn identifier(&mut self, span: Span, name: &str) -> Expression {
        if self.is_code {
            return self.name_in_code(span, name);
        }
        if let Some(parameter) = self.parameter(name) {
            return parameter;
        }
        if unsupported::is_global(name) && !name.starts_with('$') {
            return self.unsupported(span, &format!("`{name}` as a value"));
        }
        names::resolve(name, self.names).unwrap_or_else(|refusal| {
            self.problems.push(Problem {
                span: span.start as usize..span.end as usize,
                ..refusal
            });
            Expression::Undefined
        })
    }

    /// Notes what is not compiled.
    pub(super) fn unsupported(&mut self, span: Span, what: &str) -> Expression {
        self.reasons.push(Reason {
            what: what.to_owned(),
            span: span.start as usize..span.end as usize,
        });
        Expression::Undefined
    }

    pub(super) fn refuse(
        &mut self,
        span: Span,
        code: &'static str,
        message: String,
        help: Option<&str>,
    ) -> Expression {
        let span = span.start as usize..span.end as usize;
        self.problems.push(Problem {
            code,
            message,
            help: help.map(str::to_owned),
            span,
        });
        Expression::Undefined
    }
}

/// A string constant. The parser writes lone surrogates as U+FFFD and four hexadecimal digits, and U+FFFD itself
/// as U+FFFD and `fffd`.
fn literal(value: &str, lone_surrogates: bool) -> Literal {
    if !lone_surrogates {
        return Literal::Utf8(value.to_owned());
    }
    let mut json = String::from("\"");
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '\u{fffd}' => {
                json.push_str("\\u");
                json.extend(characters.by_ref().take(4));
            }
            '"' | '\\' => json.extend(['\\', character]),
            _ if character < ' ' => json.push_str(&format!("\\u{:04x}", character as u32)),
            _ => json.push(character),
        }
    }
    json.push('"');
    Literal::Json(json)
}
