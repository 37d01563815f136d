//! One compiled function: parameters and constants. Expressions are in `expression`.

use super::module::{Compiled, Module, OfNumbers, Operands, SITE_GLOBAL};
use crate::expression::{Expression, Literal};
use crate::lowered::{Argument, Code, Need, Site, TextPart};
use heddle_catalogue::THROW;
use heddle_contract::{abi, manifest, plan};
use serde_json::Value;
use wasm_encoder::{BlockType, InstructionSink, MemArg, ValType};

/// From so many parts on, a text is put together in one go.
pub(super) const TEXT_PARTS_MIN: usize = 4;

/// The parameter that has a module.
const CODE: &str = "code";

/// Builds a function. Every method that emits a value leaves one handle on the operand stack.
pub(super) struct FunctionBuilder<'m> {
    module: &'m mut Module,
    node: u32,
    /// Path of the parameter that is being compiled.
    parameter: String,
    code: Vec<u8>,
    locals: Vec<ValType>,
    free_locals: Vec<u32>,
    free_numbers: Vec<u32>,
    /// Blocks that are open, and for each optional chain that is, their number inside it.
    pub(super) blocks: u32,
    pub(super) chains: Vec<u32>,
}

impl<'m> FunctionBuilder<'m> {
    /// A function of the node with this plan index.
    pub(super) fn new(module: &'m mut Module, node: u32) -> Self {
        FunctionBuilder {
            module,
            node,
            parameter: String::new(),
            code: Vec::new(),
            locals: Vec::new(),
            free_locals: Vec::new(),
            free_numbers: Vec::new(),
            blocks: 0,
            chains: Vec::new(),
        }
    }

    /// Ends a function's form for numbers, which has no locals but its parameters.
    pub(super) fn finish_of_numbers(mut self, function: u32) {
        self.instructions().end();
        let code = self.code;
        self.module.of_numbers.push(OfNumbers { function, code });
    }

    /// Ends the function and gives its number.
    pub(super) fn finish(mut self, parameter: Option<String>) -> u32 {
        self.instructions().end();
        self.module.functions.push(Compiled {
            origin: manifest::Function {
                node: self.node,
                parameter,
            },
            locals: self.locals,
            code: self.code,
        });
        self.module.functions.len() as u32 - 1
    }

    /// A parameter's value.
    pub(super) fn argument(&mut self, argument: &Argument) {
        match argument {
            Argument::Constant(value) => self.constant(value),
            Argument::Expression(site) => self.site(site),
            Argument::Text(parts) => self.text(parts),
            Argument::Object(fields) => self.object(fields),
            Argument::Array(items) => self.array(items),
            Argument::Function(parameter, body) => {
                let mut function = FunctionBuilder::new(self.module, self.node);
                function.argument(body);
                let index = function.finish(Some(parameter.clone()));
                let form = self
                    .module
                    .form_of_numbers(self.node, index, body, Operands::Item);
                self.integer(index | form);
                self.call("function");
            }
            Argument::Code(Code {
                expression: Some(expression),
                ..
            }) => self.code(expression),
            Argument::Code(_) => self.handle(abi::UNDEFINED),
        }
    }

    /// A function value of a module; no failure of it is forgiven, since the engine executes what fails.
    fn code(&mut self, expression: &Expression) {
        let mut function = FunctionBuilder::new(self.module, self.node);
        CODE.clone_into(&mut function.parameter);
        function.expression(expression);
        let index = function.finish(Some(CODE.to_owned()));
        self.integer(index);
        self.call("function");
    }

    /// A function of an expression; leaves its value.
    pub(super) fn lambda(&mut self, body: &Expression) {
        let mut function = FunctionBuilder::new(self.module, self.node);
        function.parameter.clone_from(&self.parameter);
        function.expression(body);
        let index = function.finish(Some(self.parameter.clone()));
        let form = self
            .module
            .form_of_expression(self.node, index, body, Operands::Parameters);
        self.integer(index | form);
        self.call("function");
    }

    /// An object of parameters.
    pub(super) fn object(&mut self, fields: &[(String, Argument)]) {
        if let Some(constant) = constant_object(fields) {
            return self.constant(&constant);
        }
        let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
        self.object_of(&names, |function, index| {
            if let Some((_, value)) = fields.get(index) {
                function.argument(value);
            }
        });
    }

    /// An object with these properties, at least one; `value` emits the one at an index.
    pub(super) fn object_of(&mut self, names: &[&str], mut value: impl FnMut(&mut Self, usize)) {
        const FUNCTIONS: [&str; 4] = ["object_1", "object_2", "object_3", "object_4"];
        const MANY: usize = 8;
        let (first, rest) = names.split_at(names.len().min(MANY));
        let list = self.module.constants.names(first.iter().copied());
        self.integer(list);
        for index in 0..first.len() {
            value(self, index);
        }
        match FUNCTIONS.get(first.len() - 1) {
            Some(function) => self.call(function),
            None => {
                for _ in first.len()..MANY {
                    self.handle(abi::UNDEFINED);
                }
                self.call("object_8");
            }
        }
        if rest.is_empty() {
            return;
        }
        let object = self.local();
        self.instructions().local_set(object);
        for (index, name) in (first.len()..).zip(rest) {
            self.instructions().local_get(object);
            self.string(name);
            value(self, index);
            self.call("set");
        }
        self.take(object);
    }

    fn array(&mut self, items: &[Argument]) {
        self.call("array");
        if items.is_empty() {
            return;
        }
        let array = self.local();
        self.instructions().local_set(array);
        for item in items {
            self.instructions().local_get(array);
            self.argument(item);
            self.call("push");
        }
        self.take(array);
    }

    fn constant(&mut self, value: &Value) {
        match value {
            Value::Null => self.handle(abi::NULL),
            Value::Bool(value) => self.boolean(*value),
            Value::Number(number) => self.number(number.as_f64().unwrap_or(f64::NAN)),
            Value::String(text) => self.string(text),
            Value::Array(_) | Value::Object(_) => self.json(&value.to_string()),
        }
    }

    /// An expression where it stands; a failure in it is reported there.
    fn site(&mut self, site: &Site) {
        let index = self.module.sites.len() as u32;
        self.parameter.clone_from(&site.parameter);
        self.module.sites.push(plan::Site {
            node: self.node,
            parameter: site.parameter.clone(),
            source: site.source.clone(),
        });
        let word = MemArg {
            offset: 0,
            align: 2,
            memory_index: 0,
        };
        self.instructions().global_get(SITE_GLOBAL);
        self.integer(index);
        self.instructions().i32_store(word);
        self.expression(&site.expression);
        if self.module.is_lenient {
            self.call("lenient");
        }
    }

    fn text(&mut self, parts: &[TextPart]) {
        if parts.len() >= TEXT_PARTS_MIN {
            return self.long_text(parts);
        }
        for (index, part) in parts.iter().enumerate() {
            match part {
                TextPart::Literal(text) => self.string(text),
                TextPart::Expression(site) => {
                    self.site(site);
                    self.call("text");
                }
            }
            if index > 0 {
                self.call("concat");
            }
        }
        if parts.is_empty() {
            self.string("");
        }
    }

    /// A text that the guest puts together in one go.
    fn long_text(&mut self, parts: &[TextPart]) {
        self.call("text_begin");
        for part in parts {
            match part {
                TextPart::Literal(text) => {
                    self.string(text);
                    self.call("text_append");
                }
                TextPart::Expression(site) => {
                    self.site(site);
                    self.call("text_show");
                }
            }
        }
        self.call("text_end");
    }

    /// A string constant.
    pub(super) fn literal(&mut self, literal: &Literal) {
        match literal {
            Literal::Utf8(text) => self.string(text),
            Literal::Json(json) => self.json(json),
        }
    }

    /// A string constant, or a property's name.
    pub(super) fn string(&mut self, text: &str) {
        let index = self.module.constants.text(text);
        self.constant_handle(index);
    }

    fn json(&mut self, json: &str) {
        let index = self.module.constants.json(json);
        self.constant_handle(index);
    }

    pub(super) fn number(&mut self, number: f64) {
        let index = self.module.constants.number(number);
        self.constant_handle(index);
    }

    fn constant_handle(&mut self, index: u32) {
        self.handle(!index.cast_signed());
    }

    /// Calls a guest function whose last operand is a list of names.
    pub(super) fn path(&mut self, function: &'static str, names: &[&str]) {
        let list = self.module.constants.names(names.iter().copied());
        self.integer(list);
        self.call(function);
    }

    /// `true` or `false`.
    pub(super) fn boolean(&mut self, value: bool) {
        self.handle(if value { abi::TRUE } else { abi::FALSE });
    }

    /// A handle that is known.
    pub(super) fn handle(&mut self, handle: i32) {
        self.instructions().i32_const(handle);
    }

    /// An index, as an operand of a guest function.
    pub(super) fn integer(&mut self, value: u32) {
        self.instructions().i32_const(value as i32);
    }

    /// Calls a guest function.
    pub(super) fn call(&mut self, name: &'static str) {
        let function = self.module.imports.guest_function(name);
        self.instructions().call(function);
    }

    /// Calls a standard node with the parameters object on the operand stack.
    pub(super) fn call_node(&mut self, node_type: &'static str) {
        let function = self.module.imports.node_function(node_type);
        self.instructions().call(function);
    }

    /// Fails the node, and leaves its function, unless what is needed is there. If the test itself has failed, that is kept.
    pub(super) fn need(&mut self, need: &Need) {
        self.argument(&need.test);
        self.call("truthy");
        self.instructions().i32_eqz().if_(BlockType::Empty);
        let failure = [("message", need.message.as_str()), ("code", abi::code::PARAMETER)];
        let failure = failure.map(|(name, text)| (name.to_owned(), Argument::Constant(text.into())));
        self.object(&failure);
        self.call_node(THROW.name);
        self.instructions().return_().end();
    }

    /// A local that is in use until [`Self::release`].
    pub(super) fn local(&mut self) -> u32 {
        self.free_locals
            .pop()
            .unwrap_or_else(|| self.new_local(ValType::I32))
    }

    /// A local for a number, in use until [`Self::take_number`].
    pub(super) fn number_local(&mut self) -> u32 {
        self.free_numbers
            .pop()
            .unwrap_or_else(|| self.new_local(ValType::F64))
    }

    fn new_local(&mut self, of: ValType) -> u32 {
        self.locals.push(of);
        self.locals.len() as u32 - 1
    }

    /// The number in a local, for the last time.
    pub(super) fn take_number(&mut self, local: u32) {
        self.instructions().local_get(local);
        self.free_numbers.push(local);
    }

    /// Gives a local back.
    pub(super) fn release(&mut self, local: u32) {
        self.free_locals.push(local);
    }

    /// The local's value, for the last time.
    pub(super) fn take(&mut self, local: u32) {
        self.instructions().local_get(local);
        self.release(local);
    }

    /// Where instructions go.
    pub(super) fn instructions(&mut self) -> InstructionSink<'_> {
        InstructionSink::new(&mut self.code)
    }
}

/// The object of parameters, if nothing in it has to be evaluated.
fn constant_object(fields: &[(String, Argument)]) -> Option<Value> {
    let field = |(name, value): &(String, Argument)| match value {
        Argument::Constant(value) => Some((name.clone(), value.clone())),
        _ => None,
    };
    fields.iter().map(field).collect::<Option<_>>().map(Value::Object)
}
