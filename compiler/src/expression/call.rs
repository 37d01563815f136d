//! Calls: of methods, of global functions, and of heddle's own names.

use super::exact;
use super::lowering::Lowering;
use super::mutation::{self, Change};
use super::names;
use super::syntax::{Callee, callee_of, gives_iterator, without_parentheses};
use super::unsupported;
use super::{Element, Expression, MethodCall, Name, NodeName};
use heddle_values::methods::{Callback, Global, Method};
use heddle_values::query;
use oxc_ast::ast;
use oxc_span::{GetSpan, Span};

impl Lowering<'_> {
    pub(super) fn call(&mut self, call: &ast::CallExpression<'_>) -> Expression {
        match without_parentheses(&call.callee) {
            ast::Expression::Identifier(callee) => self.call_of_name(call, callee),
            callee => match callee_of(callee) {
                Some(callee) => self.call_of_member(call, &callee),
                None => self.unsupported(call.span, "calling a function"),
            },
        }
    }

    fn call_of_name(
        &mut self,
        call: &ast::CallExpression<'_>,
        callee: &ast::IdentifierReference<'_>,
    ) -> Expression {
        let name = callee.name.as_str();
        if self.parameter(name).is_some() {
            let what = format!("calling `{name}`, which the expression itself defines");
            return self.unsupported(callee.span, &what);
        }
        if self.is_code {
            return match Global::from_name(name).filter(|global| exact::is_global(*global)) {
                Some(global) => self.call_of_global(call, global),
                None => self.unsupported(callee.span, &format!("`{name}(…)`")),
            };
        }
        match name {
            "$" if self.names.definition_only() => self.identifier(callee.span, name),
            "$" => match node_label(call) {
                Some(label) => self.node_output(NodeName::Label(&label), call.span),
                None => {
                    let message = "`$(…)` takes a node's label as a literal string".to_owned();
                    self.refuse(call.span, "computed-name", message, Some("write `$(\"Label\")`"))
                }
            },
            "$items" if !self.names.definition_only() || call.arguments.is_empty() => self.items(call),
            "$if" => self.conditional_call(call),
            "$random" | "$uuid" if !self.names.definition_only() => {
                if let Some(argument) = call.arguments.first() {
                    let message = format!("`{name}()` takes no arguments");
                    let help = Some("for ranges and versions use the Random and Uuid nodes");
                    return self.refuse(argument.span(), "arguments", message, help);
                }
                Expression::Name(if name == "$random" {
                    Name::Random
                } else {
                    Name::Uuid
                })
            }
            _ => {
                if let Some(global) = Global::from_name(name) {
                    return self.call_of_global(call, global);
                }
                if unsupported::is_global(name) {
                    return self.unsupported(call.span, &format!("`{name}(…)`"));
                }
                let before = self.problems.len();
                self.identifier(callee.span, name);
                if self.problems.len() == before {
                    let message = format!("`{name}` is a value, not a function");
                    self.refuse(callee.span, "unsupported", message, None);
                }
                Expression::Undefined
            }
        }
    }

    /// What is wrong with a query of `$jmespath` that is written out.
    fn check_query(&mut self, call: &ast::CallExpression<'_>) {
        let query = call.arguments.get(1).and_then(ast::Argument::as_expression);
        let Some(node) = query.map(without_parentheses) else {
            let message = "`$jmespath` takes a value and a query".to_owned();
            self.refuse(
                call.span,
                "arguments",
                message,
                Some("write `$jmespath($input, \"items[].id\")`"),
            );
            return;
        };
        let text = match node {
            ast::Expression::StringLiteral(text) if !text.lone_surrogates => text.value.as_str(),
            ast::Expression::TemplateLiteral(template) => match template.single_quasi() {
                Some(text) => text.as_str(),
                None => return,
            },
            _ => return,
        };
        if let Err(error) = query::check(text) {
            // With escapes in the literal, its places are not those of the query.
            let span = node.span();
            let is_plain = span.size() as usize == text.len() + 2;
            let start = span.start + 1 + error.offset as u32;
            let span = match is_plain && start < span.end - 1 {
                true => Span::new(start, span.end - 1),
                false => span,
            };
            self.refuse(
                span,
                "syntax",
                format!("the query is not valid JMESPath: {}", error.message),
                None,
            );
        }
    }

    /// n8n's `$if(condition, then, otherwise)`.
    fn conditional_call(&mut self, call: &ast::CallExpression<'_>) -> Expression {
        let arguments: Vec<_> = call
            .arguments
            .iter()
            .filter_map(ast::Argument::as_expression)
            .collect();
        let ([condition, then] | [condition, then, _], true) =
            (arguments.as_slice(), arguments.len() == call.arguments.len())
        else {
            let message =
                "`$if(…)` takes a condition, a value if it is true, and one if it is false".to_owned();
            return self.refuse(call.span, "arguments", message, Some("write `condition ? a : b`"));
        };
        let otherwise = match arguments.get(2) {
            Some(otherwise) => self.expression(otherwise),
            None => Expression::Undefined,
        };
        let condition = Box::new(self.expression(condition));
        let then = Box::new(self.expression(then));
        Expression::Conditional(condition, then, Box::new(otherwise))
    }

    fn call_of_global(&mut self, call: &ast::CallExpression<'_>, global: Global) -> Expression {
        if let (Global::ArrayFrom, Some(first)) = (
            global,
            call.arguments.first().and_then(ast::Argument::as_expression),
        ) && gives_iterator(first)
        {
            return self.unsupported(first.span(), "an iterator");
        }
        if global == Global::Jmespath {
            self.check_query(call);
        }
        let arguments = self.arguments(&call.arguments, global.callback(), &[]);
        if let Some(changed) = mutation::changed_argument(global, &arguments) {
            let what = format!("`{}(…)` on a value", global.name());
            self.change(what, changed, call.span);
        }
        if self.is_code && global == Global::JSONParse {
            return self.json_in_code(arguments, call.span);
        }
        if self.is_code && !Self::has_global_in_code(global, &arguments) {
            return self.unsupported(call.span, &format!("`{}(…)` with these arguments", global.name()));
        }
        match self.is_code {
            true => self.call_in_code(arguments, |arguments| Expression::Global(global, arguments)),
            false => Expression::Global(global, arguments),
        }
    }

    /// Keeps in mind that something is changed; whether anybody would see it shows at the end.
    fn change(&mut self, what: String, changed: &Expression, span: Span) {
        let places = mutation::places_of(changed);
        let places = places.filter(|places| places.is_empty() || self.scopes.is_empty());
        if places.as_ref().is_none_or(|places| !places.is_empty()) {
            self.changes.push(Change { what, span, places });
        }
    }

    /// Notes what changes something that the expression reads elsewhere.
    pub(super) fn note_seen_changes(&mut self, expression: &mut Expression) {
        let changes = std::mem::take(&mut self.changes);
        for change in mutation::seen(&changes, expression) {
            let what = format!("{} that may be read again, which it changes", change.what);
            self.unsupported(change.span, &what);
        }
    }

    fn call_of_member(&mut self, call: &ast::CallExpression<'_>, callee: &Callee<'_, '_>) -> Expression {
        let object = without_parentheses(callee.object);
        if let ast::Expression::Identifier(global) = object
            && self.parameter(&global.name).is_none()
            && unsupported::is_global(&global.name)
        {
            let name = format!("{}.{}", global.name, callee.name);
            if name == "Math.random" && !self.is_code {
                return Expression::Name(Name::Random);
            }
            let known = |global: &Global| !self.is_code || exact::is_global(*global);
            if let Some(global) = Global::from_name(&name).filter(known) {
                return self.call_of_global(call, global);
            }
            let span = Span::new(global.span.start, callee.name_span.end);
            return self.unsupported(span, &format!("`{name}(…)`"));
        }
        let before = (self.problems.len(), self.reasons.len());
        let receiver = *self.object_of(object, callee.optional);
        if let Some(items) = self.items_call(&receiver, callee.name, call) {
            return items;
        }
        let known = |method: &Method| !self.is_code || exact::is_method(*method);
        let Some(method) = Method::from_name(callee.name).filter(known) else {
            if before == (self.problems.len(), self.reasons.len()) {
                self.no_method(callee);
            }
            return Expression::Undefined;
        };
        if method.changes_receiver() {
            let what = format!("`.{}(…)` on a value", callee.name);
            self.change(what, &receiver, callee.name_span);
        }
        let items = self.item_parameters(&receiver, method);
        let arguments = self.arguments(&call.arguments, method.callback(), items);
        let called = MethodCall {
            receiver,
            method,
            optional: call.optional,
            arguments,
        };
        match self.is_code {
            true => self.method_in_code(called, callee.name_span),
            false => Expression::Method(Box::new(called)),
        }
    }

    /// `new Date(…)`; other classes are not compiled.
    pub(super) fn new_object(&mut self, new: &ast::NewExpression<'_>) -> Expression {
        let ast::Expression::Identifier(callee) = without_parentheses(&new.callee) else {
            return self.unsupported(new.span, "`new`");
        };
        match Global::from_name(&format!("new {}", callee.name)) {
            Some(global) if !self.is_code && self.parameter(&callee.name).is_none() => {
                Expression::Global(global, self.arguments(&new.arguments, None, &[]))
            }
            _ => {
                let what = format!("`new {}(…)`", callee.name);
                self.unsupported(new.span, &what)
            }
        }
    }

    fn no_method(&mut self, callee: &Callee<'_, '_>) {
        match names::foreign_method(callee.name).filter(|_| !self.is_code) {
            Some((message, help)) => {
                self.refuse(callee.name_span, "foreign-name", message, Some(help));
            }
            None => {
                let what = format!("the method `.{}(…)`", callee.name);
                self.unsupported(callee.name_span, &what);
            }
        }
    }

    /// Arguments of a call; only where `callback` says may one be a function.
    /// `items` are those of its parameters that are items of a node.
    fn arguments(
        &mut self,
        given: &[ast::Argument<'_>],
        callback: Option<Callback>,
        items: &[u32],
    ) -> Vec<Element> {
        let mut arguments = Vec::with_capacity(given.len());
        for (at, argument) in given.iter().enumerate() {
            let callback = callback.filter(|callback| callback.position == at);
            arguments.push(match argument.as_expression() {
                Some(argument) => Element::Item(self.argument(argument, callback, items)),
                None => match argument {
                    ast::Argument::SpreadElement(spread) => Element::Spread(self.spread(&spread.argument)),
                    _ => continue,
                },
            });
        }
        arguments
    }

    fn argument(
        &mut self,
        argument: &ast::Expression<'_>,
        callback: Option<Callback>,
        items: &[u32],
    ) -> Expression {
        let Some(callback) = callback else {
            return self.expression(argument);
        };
        match without_parentheses(argument) {
            ast::Expression::ArrowFunctionExpression(arrow) => self.arrow(arrow, items),
            ast::Expression::FunctionExpression(function) => self.function(function, items),
            other => match self.global_named(other) {
                Some(global) if !self.is_code || exact::is_passed_on(global) => passed_on(global, callback),
                Some(global) => self.unsupported(other.span(), &format!("`{}` as a value", global.name())),
                None => self.expression(other),
            },
        }
    }

    /// The global function that stands here by its name.
    fn global_named(&self, node: &ast::Expression<'_>) -> Option<Global> {
        match node {
            ast::Expression::Identifier(name) if self.parameter(&name.name).is_none() => {
                Global::from_name(&name.name)
            }
            ast::Expression::StaticMemberExpression(member) => match &member.object {
                ast::Expression::Identifier(object) if self.parameter(&object.name).is_none() => {
                    Global::from_name(&format!("{}.{}", object.name, member.property.name))
                }
                _ => None,
            },
            _ => None,
        }
    }
}

/// `(a, b, c) => global(a, b, c)`
fn passed_on(global: Global, callback: Callback) -> Expression {
    let parameter = |index| Element::Item(Expression::Parameter { up: 0, index });
    let arguments = (0..callback.arguments).map(parameter).collect();
    Expression::Lambda(Box::new(Expression::Global(global, arguments)))
}

/// `array.slice(start)`
pub(super) fn slice(array: Expression, start: Element) -> Expression {
    Expression::Method(Box::new(MethodCall {
        receiver: array,
        method: Method::Slice,
        optional: false,
        arguments: vec![start],
    }))
}

/// The only argument of `$("Label")`, if it is text without anything computed.
fn node_label(call: &ast::CallExpression<'_>) -> Option<String> {
    let [argument] = call.arguments.as_slice() else {
        return None;
    };
    match without_parentheses(argument.as_expression()?) {
        ast::Expression::StringLiteral(text) if !text.lone_surrogates => Some(text.value.to_string()),
        ast::Expression::TemplateLiteral(template) => template.single_quasi().map(|text| text.to_string()),
        _ => None,
    }
}
