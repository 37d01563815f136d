//! Emits expressions: operators are calls of guest functions unless they are worked out without handles, short-circuiting
//! operators are blocks.

use super::body::{FunctionBuilder, TEXT_PARTS_MIN};
use crate::expression::{Binary, Element, Expression, Literal, Logical, Name, Property, Script, Unary};
use heddle_contract::abi;
use wasm_encoder::{BlockType, ValType};

/// Stack that one level of the tree needs at most, and how much more is taken when less is left.
pub(super) const STACK_LEFT_BYTES: usize = 64 * 1024;
pub(super) const STACK_GROWTH_BYTES: usize = 1024 * 1024;

/// The type of a handle.
const HANDLE: ValType = ValType::I32;

impl FunctionBuilder<'_> {
    /// An expression's value.
    pub(super) fn expression(&mut self, expression: &Expression) {
        stacker::maybe_grow(STACK_LEFT_BYTES, STACK_GROWTH_BYTES, || {
            self.expression_tree(expression)
        });
    }

    fn expression_tree(&mut self, expression: &Expression) {
        if self.computed(expression) {
            return;
        }
        match expression {
            Expression::Undefined => self.handle(abi::UNDEFINED),
            Expression::Null => self.handle(abi::NULL),
            Expression::Bool(value) => self.boolean(*value),
            Expression::Number(number) => self.number(*number),
            Expression::String(literal) => self.literal(literal),
            Expression::Array(elements) => self.array_literal(elements),
            Expression::Object(properties) => self.object_literal(properties),
            Expression::Name(name) => self.name(name),
            Expression::Member(object, name) => self.member(object, name),
            Expression::Index(object, key) => {
                self.expression(object);
                self.expression(key);
                self.call("get");
            }
            Expression::Optional(object) => self.optional(object),
            Expression::Chain(chain) => self.chain(chain),
            Expression::Unary(operator, operand) => self.unary(*operator, operand),
            Expression::Binary(operator, left, right) => {
                self.expression(left);
                self.expression(right);
                self.call(binary_function(*operator));
            }
            Expression::Logical(operator, left, right) => self.logical(*operator, left, right),
            Expression::Conditional(test, consequent, alternate) => {
                self.truth(test);
                self.branches(
                    HANDLE,
                    |this| this.expression(consequent),
                    |this| this.expression(alternate),
                );
            }
            Expression::Template(quasis, expressions) => self.template(quasis, expressions),
            Expression::Text(value) => {
                self.expression(value);
                self.call("text");
            }
            Expression::Sequence(expressions) => self.sequence(expressions),
            Expression::Method(call) => self.method(call),
            Expression::Global(global, arguments) => self.global(*global, arguments),
            Expression::Lambda(body) => self.lambda(body),
            Expression::Parameter { up, index } => {
                self.integer(*up);
                self.integer(*index);
                self.call("parameter");
            }
            Expression::Let(index, value, body) => {
                self.integer(*index);
                self.expression(value);
                self.call("let");
                self.expression(body);
            }
            Expression::Script(script) => self.script(script),
            Expression::Attempt(part) => {
                self.call("has_failed");
                self.expression(part);
                self.call("attempted");
            }
        }
    }

    fn script(&mut self, script: &Script) {
        self.string(&script.source);
        self.call("array");
        if !script.arguments.is_empty() {
            let array = self.local();
            self.instructions().local_set(array);
            for argument in &script.arguments {
                self.instructions().local_get(array);
                self.expression(argument);
                self.call("push");
            }
            self.take(array);
        }
        self.call("script");
    }

    pub(super) fn array_literal(&mut self, elements: &[Element]) {
        self.call("array");
        if elements.is_empty() {
            return;
        }
        let array = self.local();
        self.instructions().local_set(array);
        for element in elements {
            self.instructions().local_get(array);
            match element {
                Element::Item(item) => {
                    self.expression(item);
                    self.call("push");
                }
                Element::Spread(items) => {
                    self.expression(items);
                    self.call("push_spread");
                }
            }
        }
        self.take(array);
    }

    /// `a.b.c` as one path.
    fn member(&mut self, object: &Expression, name: &str) {
        let mut names = vec![name];
        let mut root = object;
        while let Expression::Member(object, name) = root {
            names.push(name);
            root = object;
        }
        names.reverse();
        match root {
            Expression::Name(Name::Input) => self.path("input_path", &names),
            Expression::Name(Name::Item) => self.path("item_path", &names),
            Expression::Parameter { up, index } => {
                self.integer(*up);
                self.integer(*index);
                self.path("parameter_path", &names);
            }
            _ => {
                self.expression(root);
                match names[..] {
                    [name] => {
                        self.string(name);
                        self.call("get");
                    }
                    _ => self.path("path", &names),
                }
            }
        }
    }

    fn object_literal(&mut self, properties: &[Property]) {
        if let Some((names, values)) = named_only(properties) {
            return self.object_of(&names, |function, index| {
                if let Some(value) = values.get(index) {
                    function.expression(value);
                }
            });
        }
        self.call("object");
        if properties.is_empty() {
            return;
        }
        let object = self.local();
        self.instructions().local_set(object);
        for property in properties {
            self.instructions().local_get(object);
            match property {
                Property::Named(name, value) => {
                    self.string(name);
                    self.expression(value);
                    self.call("set");
                }
                Property::Computed(key, value) => {
                    self.expression(key);
                    self.expression(value);
                    self.call("set");
                }
                Property::Spread(value) => {
                    self.expression(value);
                    self.call("set_spread");
                }
            }
        }
        self.take(object);
    }

    fn name(&mut self, name: &Name) {
        match name {
            Name::Input => self.call("input"),
            Name::InputList => self.call("input_list"),
            Name::Item => self.call("item"),
            Name::Index => self.call("index"),
            Name::First => self.call("first"),
            Name::Second => self.call("second"),
            Name::Trigger => self.call("trigger"),
            Name::Run => self.call("run"),
            Name::Vars => self.call("vars"),
            Name::Error => self.call("error"),
            Name::Random => self.call("random"),
            Name::Uuid => self.call("uuid"),
            Name::Secret(secret) => {
                self.string(secret);
                self.call("secret");
            }
            Name::NodeOutput(node) => {
                self.integer(*node);
                self.call("node_output");
            }
            Name::NodeItem(node) => {
                self.integer(*node);
                self.call("node_item");
            }
        }
    }

    /// Leaves the enclosing chain with `undefined` when the object is nullish.
    fn optional(&mut self, object: &Expression) {
        self.expression(object);
        let value = self.local();
        self.instructions().local_set(value);
        self.leave_chain(|builder| {
            builder.instructions().local_get(value);
            builder.call("is_nullish");
        });
        self.take(value);
    }

    /// Leaves the enclosing chain with `undefined` when `condition` gives 1.
    pub(super) fn leave_chain(&mut self, condition: impl FnOnce(&mut Self)) {
        let Some(chain) = self.chains.last().copied() else {
            return;
        };
        self.handle(abi::UNDEFINED);
        condition(self);
        let label = self.blocks - chain;
        self.instructions().br_if(label).drop();
    }

    fn chain(&mut self, chain: &Expression) {
        self.open_block();
        self.chains.push(self.blocks);
        self.expression(chain);
        self.chains.pop();
        self.close();
    }

    fn unary(&mut self, operator: Unary, operand: &Expression) {
        if let (Unary::Negate, Expression::Number(number)) = (operator, operand) {
            return self.number(-number);
        }
        self.expression(operand);
        match operator {
            Unary::Not => self.call("not"),
            Unary::Negate => self.call("negate"),
            Unary::Plus => self.call("plus"),
            Unary::BitNot => self.call("bit_not"),
            Unary::TypeOf => self.call("type_of"),
            Unary::Void => {
                self.instructions().drop();
                self.handle(abi::UNDEFINED);
            }
        }
    }

    fn logical(&mut self, operator: Logical, left: &Expression, right: &Expression) {
        self.expression(left);
        let value = self.local();
        self.instructions().local_tee(value);
        self.call(if operator == Logical::Nullish {
            "is_nullish"
        } else {
            "truthy"
        });
        self.open_if(HANDLE);
        if operator == Logical::Or {
            self.instructions().local_get(value).else_();
            self.release(value);
            self.expression(right);
        } else {
            self.expression(right);
            self.instructions().else_();
            self.take(value);
        }
        self.close();
    }

    fn template(&mut self, quasis: &[Literal], expressions: &[Expression]) {
        let empty = Literal::Utf8(String::new());
        let count = quasis.iter().filter(|quasi| **quasi != empty).count() + expressions.len();
        if count >= TEXT_PARTS_MIN {
            return self.long_template(quasis, expressions);
        }
        let mut parts = 0;
        let mut expressions = expressions.iter();
        for quasi in quasis {
            if *quasi != empty {
                self.literal(quasi);
                parts += 1;
                self.join(parts);
            }
            if let Some(expression) = expressions.next() {
                self.expression(expression);
                self.call("to_string");
                parts += 1;
                self.join(parts);
            }
        }
        if parts == 0 {
            self.literal(&empty);
        }
    }

    /// A text that the guest puts together in one go.
    fn long_template(&mut self, quasis: &[Literal], expressions: &[Expression]) {
        self.call("text_begin");
        let mut expressions = expressions.iter();
        for quasi in quasis {
            if *quasi != Literal::Utf8(String::new()) {
                self.literal(quasi);
                self.call("text_append");
            }
            if let Some(expression) = expressions.next() {
                self.expression(expression);
                self.call("text_append");
            }
        }
        self.call("text_end");
    }

    /// Concatenates the part just emitted with those before it.
    fn join(&mut self, parts: usize) {
        if parts > 1 {
            self.call("concat");
        }
    }

    fn sequence(&mut self, expressions: &[Expression]) {
        let Some((last, others)) = expressions.split_last() else {
            return self.handle(abi::UNDEFINED);
        };
        for expression in others {
            self.expression(expression);
            self.instructions().drop();
        }
        self.expression(last);
    }

    fn open_block(&mut self) {
        self.instructions().block(BlockType::Result(HANDLE));
        self.blocks += 1;
    }

    /// What one or the other gives, by the truth value on the operand stack.
    pub(super) fn branches(
        &mut self,
        leaves: ValType,
        first: impl FnOnce(&mut Self),
        second: impl FnOnce(&mut Self),
    ) {
        self.open_if(leaves);
        first(self);
        self.instructions().else_();
        second(self);
        self.close();
    }

    /// `&&` or `||` of the truth value on the operand stack and of a second one, which is worked out if it is needed.
    pub(super) fn both_or_either(&mut self, operator: Logical, second: impl FnOnce(&mut Self)) {
        match operator {
            Logical::And => self.branches(ValType::I32, second, |this| this.integer(0)),
            _ => self.branches(ValType::I32, |this| this.integer(1), second),
        }
    }

    /// Opens an `if` that leaves a value of this type.
    fn open_if(&mut self, leaves: ValType) {
        self.instructions().if_(BlockType::Result(leaves));
        self.blocks += 1;
    }

    fn close(&mut self) {
        self.instructions().end();
        self.blocks -= 1;
    }
}

/// Names and values of an object literal that has names only, at least one.
fn named_only(properties: &[Property]) -> Option<(Vec<&str>, Vec<&Expression>)> {
    let mut named = Vec::with_capacity(properties.len());
    for property in properties {
        match property {
            Property::Named(name, value) => named.push((name.as_str(), value)),
            Property::Computed(..) | Property::Spread(_) => return None,
        }
    }
    (!named.is_empty()).then(|| named.into_iter().unzip())
}

fn binary_function(operator: Binary) -> &'static str {
    match operator {
        Binary::Add => "add",
        Binary::Subtract => "subtract",
        Binary::Multiply => "multiply",
        Binary::Divide => "divide",
        Binary::Remainder => "remainder",
        Binary::Power => "power",
        Binary::BitAnd => "bit_and",
        Binary::BitOr => "bit_or",
        Binary::BitXor => "bit_xor",
        Binary::ShiftLeft => "shift_left",
        Binary::ShiftRight => "shift_right",
        Binary::ShiftRightUnsigned => "shift_right_unsigned",
        Binary::Less => "less",
        Binary::LessEqual => "less_equal",
        Binary::Greater => "greater",
        Binary::GreaterEqual => "greater_equal",
        Binary::Equal => "equal",
        Binary::NotEqual => "not_equal",
        Binary::StrictEqual => "strict_equal",
        Binary::StrictNotEqual => "strict_not_equal",
        Binary::In => "in",
    }
}
