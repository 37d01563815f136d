//! n8n's ways of naming the items of nodes: `$node["Label"].json`, `$("Label").first()`, `$input.all()`, `$items()`.
//!
//! There a node gives a list of items `{ json }`; here it gives one value. The elements of an array are its items, any
//! other value is the only one. `json` of an item is the item itself, unless it has a field of that name.

use super::lowering::Lowering;
use super::syntax::{is_node_call, without_parentheses};
use super::{Element, Expression, Literal, Name, NodeName};
use heddle_values::methods::{Global, Method};
use oxc_ast::ast;
use oxc_span::{GetSpan, Span};

/// What follows a node's name that only n8n has.
const AFTER_NODE_HELP: &str =
    "the name must be followed by `.json`; `$(\"Label\")` by itself is everything that the node emitted";

impl Lowering<'_> {
    /// A member of `$node["Label"]`, of `$node` itself, of `$execution` or `$workflow`, or `$("Label").isExecuted`.
    pub(super) fn item_member(
        &mut self,
        object: &ast::Expression<'_>,
        name: Option<&str>,
        optional: bool,
        span: Span,
    ) -> Option<Expression> {
        if self.names.definition_only() {
            return None;
        }
        let run = |field: &str| {
            let run = Box::new(Expression::Name(Name::Run));
            Some(Expression::Member(run, field.to_owned()))
        };
        match without_parentheses(object) {
            ast::Expression::Identifier(identifier) if self.parameter(&identifier.name).is_none() => {
                match (identifier.name.as_str(), name) {
                    ("$execution", Some("id")) => run("id"),
                    ("$workflow", Some("id")) => run("patternId"),
                    ("$node", Some(label)) => {
                        let message = format!("`$node[\"{label}\"]` is not a value by itself");
                        Some(self.refuse(span, "foreign-name", message, Some(AFTER_NODE_HELP)))
                    }
                    ("$node", None) => {
                        let message = "the label of a node can't be computed".to_owned();
                        Some(self.refuse(
                            span,
                            "computed-name",
                            message,
                            Some("write `$node[\"Label\"].json`"),
                        ))
                    }
                    _ => None,
                }
            }
            ast::Expression::CallExpression(call) if name == Some("isExecuted") && is_node_call(call) => {
                let output = self.call(call);
                Some(is_executed(output))
            }
            other => {
                let named = self.node_named(other)?;
                Some(self.member_of_node(&named, name, optional, span))
            }
        }
    }

    fn member_of_node(
        &mut self,
        named: &NodeNamed<'_, '_>,
        name: Option<&str>,
        optional: bool,
        span: Span,
    ) -> Expression {
        let output = self.node_output(NodeName::Label(named.label), named.span);
        match name {
            Some(field @ ("json" | "data")) => {
                let item = match (&named.position, output) {
                    (Some(position), output) => {
                        let position = self.expression(position);
                        nth(output, position)
                    }
                    (None, Expression::Name(Name::NodeOutput(node))) => {
                        Expression::Name(Name::NodeItem(node))
                    }
                    (None, output) => output,
                };
                field_of_item(maybe_optional(item, optional), field)
            }
            Some("isExecuted") => is_executed(output),
            other => {
                let what = other.map_or("what is computed".to_owned(), |other| format!("`{other}`"));
                let message = format!("{what} of `$node[\"{}\"]` exists only in n8n", named.label);
                self.refuse(span, "foreign-name", message, Some(AFTER_NODE_HELP))
            }
        }
    }

    /// `$node["Label"]`, `$node.Label`, `$item(0).$node["Label"]`.
    fn node_named<'e, 'a>(&self, node: &'e ast::Expression<'a>) -> Option<NodeNamed<'e, 'a>> {
        let (object, label) = match node {
            ast::Expression::StaticMemberExpression(member) => {
                (&member.object, member.property.name.as_str())
            }
            ast::Expression::ComputedMemberExpression(member) => {
                match without_parentheses(&member.expression) {
                    ast::Expression::StringLiteral(text) if !text.lone_surrogates => {
                        (&member.object, text.value.as_str())
                    }
                    _ => return None,
                }
            }
            _ => return None,
        };
        let position = match without_parentheses(object) {
            ast::Expression::Identifier(identifier) if identifier.name == "$node" => None,
            ast::Expression::StaticMemberExpression(member) if member.property.name == "$node" => {
                Some(item_call(&member.object)?)
            }
            _ => return None,
        };
        let names = ["$node", "$item"];
        names
            .iter()
            .all(|name| self.parameter(name).is_none())
            .then(|| NodeNamed {
                label,
                position,
                span: node.span(),
            })
    }

    /// `.first()`, `.last()` and `.all()` of a node's items, as far as the receiver is one's value.
    pub(super) fn items_call(
        &mut self,
        receiver: &Expression,
        method: &str,
        call: &ast::CallExpression<'_>,
    ) -> Option<Expression> {
        let global = match method {
            "first" => Global::ItemFirst,
            "last" => Global::ItemLast,
            "all" => Global::ItemsAll,
            _ => return None,
        };
        let mut value = receiver;
        while let Expression::Optional(inner) | Expression::Chain(inner) = value {
            value = inner;
        }
        if !matches!(value, Expression::Name(Name::Input | Name::NodeOutput(_))) {
            return None;
        }
        self.only_zeros(&call.arguments, &format!(".{method}(…)"));
        Some(of_items(global, receiver.clone()))
    }

    /// `$items()`, `$items("Label")`
    pub(super) fn items(&mut self, call: &ast::CallExpression<'_>) -> Expression {
        let Some(label) = call.arguments.first() else {
            return of_items(Global::ItemsAll, Expression::Name(Name::Input));
        };
        let Some(ast::Expression::StringLiteral(text)) = label.as_expression().map(without_parentheses)
        else {
            let message = "`$items(…)` takes a node's label as a literal string".to_owned();
            return self.refuse(
                call.span,
                "computed-name",
                message,
                Some("write `$items(\"Label\")`"),
            );
        };
        let output = self.node_output(NodeName::Label(&text.value), call.span);
        self.only_zeros(&call.arguments[1..], "$items(…)");
        of_items(Global::ItemsAll, output)
    }

    /// n8n can choose another output or an earlier round of the node.
    fn only_zeros(&mut self, arguments: &[ast::Argument<'_>], call: &str) {
        let other = arguments.iter().find(|argument| {
            !matches!(argument.as_expression().map(without_parentheses),
                Some(ast::Expression::NumericLiteral(number)) if number.value == 0.0)
        });
        if let Some(other) = other {
            let message = format!("in n8n, an argument of `{call}` selects an output or a run of a node");
            let help = "here a node has one value: join the branches of its outputs where you need both";
            self.refuse(other.span(), "foreign-name", message, Some(help));
        }
    }

    /// `object.json` where the object is an item, or `$input.item.json`.
    pub(super) fn json_member(&self, object: &Expression, name: &str) -> Option<Expression> {
        if name == "json" && self.is_item(object) {
            return Some(field_of_item(object.clone(), name));
        }
        if name == "json" {
            let mut item = object;
            while let Expression::Optional(inner) = item {
                item = inner;
            }
            if let Expression::Member(input, member) = item
                && member == "item"
                && **input == Expression::Name(Name::Input)
            {
                let item = Expression::Global(
                    Global::ItemField,
                    vec![Element::Item((**input).clone()), text("item")],
                );
                return Some(field_of_item(item, name));
            }
        }
        None
    }

    /// Whether the value is an item of a node.
    pub(super) fn is_item(&self, expression: &Expression) -> bool {
        match expression {
            Expression::Name(Name::NodeItem(_)) => true,
            Expression::Global(Global::ItemFirst | Global::ItemLast, _) => true,
            Expression::Index(list, _) => self.is_items(list),
            Expression::Method(call) => {
                let gives_one = matches!(
                    call.method,
                    Method::At
                        | Method::Find
                        | Method::FindLast
                        | Method::First
                        | Method::Last
                        | Method::Pop
                        | Method::Shift
                );
                gives_one && self.is_items(&call.receiver)
            }
            Expression::Parameter { up, index } => {
                let scope = self.scopes.iter().rev().nth(*up as usize);
                scope.is_some_and(|scope| scope.is_item(*index))
            }
            Expression::Optional(inner) | Expression::Chain(inner) => self.is_item(inner),
            _ => false,
        }
    }

    /// Whether the value is an array of items of a node.
    pub(super) fn is_items(&self, expression: &Expression) -> bool {
        match expression {
            Expression::Global(Global::ItemsAll, _) => true,
            Expression::Method(call) => {
                let gives_some = matches!(
                    call.method,
                    Method::Concat
                        | Method::Filter
                        | Method::Reverse
                        | Method::Slice
                        | Method::Sort
                        | Method::Splice
                        | Method::ToReversed
                        | Method::ToSorted
                        | Method::ToSpliced
                );
                gives_some && self.is_items(&call.receiver)
            }
            Expression::Array(elements) => match elements.as_slice() {
                [Element::Spread(items)] => self.is_items(items),
                _ => false,
            },
            Expression::Optional(inner) | Expression::Chain(inner) => self.is_items(inner),
            _ => false,
        }
    }

    /// Which parameters of a method's function are items when it is called on items.
    pub(super) fn item_parameters(&self, receiver: &Expression, method: Method) -> &'static [u32] {
        if !self.is_items(receiver) {
            return &[];
        }
        match method {
            Method::Sort | Method::ToSorted => &[0, 1],
            Method::Reduce | Method::ReduceRight => &[1],
            _ if method.callback().is_some() => &[0],
            _ => &[],
        }
    }
}

/// A node as n8n names it.
struct NodeNamed<'e, 'a> {
    label: &'e str,
    /// `$item(position)`
    position: Option<&'e ast::Expression<'a>>,
    span: Span,
}

/// The argument of `$item(…)`.
fn item_call<'e, 'a>(node: &'e ast::Expression<'a>) -> Option<&'e ast::Expression<'a>> {
    let ast::Expression::CallExpression(call) = without_parentheses(node) else {
        return None;
    };
    match (without_parentheses(&call.callee), call.arguments.as_slice()) {
        (ast::Expression::Identifier(callee), [position]) if callee.name == "$item" => {
            position.as_expression().map(without_parentheses)
        }
        _ => None,
    }
}

/// An item by its position, which may be a text of digits.
fn nth(output: Expression, position: Expression) -> Expression {
    let is_first = match &position {
        Expression::Number(number) => *number == 0.0,
        Expression::String(Literal::Utf8(text)) => text == "0",
        _ => false,
    };
    if is_first {
        return of_items(Global::ItemFirst, output);
    }
    Expression::Index(Box::new(of_items(Global::ItemsAll, output)), Box::new(position))
}

fn of_items(global: Global, value: Expression) -> Expression {
    Expression::Global(global, vec![Element::Item(value)])
}

/// `item.json`: the item itself, unless it has such a field.
fn field_of_item(item: Expression, name: &str) -> Expression {
    Expression::Global(Global::ItemField, vec![Element::Item(item), text(name)])
}

/// Whether a node has run, unless its value has a field `isExecuted`.
fn is_executed(output: Expression) -> Expression {
    let has_run = Expression::Binary(
        super::Binary::StrictNotEqual,
        Box::new(output.clone()),
        Box::new(Expression::Undefined),
    );
    let arguments = vec![Element::Item(output), text("isExecuted"), Element::Item(has_run)];
    Expression::Global(Global::ItemField, arguments)
}

fn text(text: &str) -> Element {
    Element::Item(Expression::String(Literal::Utf8(text.to_owned())))
}

fn maybe_optional(expression: Expression, optional: bool) -> Expression {
    match optional {
        true => Expression::Optional(Box::new(expression)),
        false => expression,
    }
}
