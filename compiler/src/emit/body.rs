//! One compiled function: parameters and constants. Expressions are in `expression`.

use super::module::{Compiled, Module, TEXTS_GLOBAL};
use crate::expression::Literal;
use crate::lowered::{Argument, Site, TextPart};
use heddle_node_stdlib::{abi, manifest, plan};
use serde_json::Value;
use wasm_encoder::InstructionSink;

/// Builds a function. Every method that emits a value leaves one handle on the operand stack.
pub(super) struct FunctionBuilder<'m> {
    module: &'m mut Module,
    node: u32,
    code: Vec<u8>,
    locals: u32,
    free_locals: Vec<u32>,
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
            code: Vec::new(),
            locals: 0,
            free_locals: Vec::new(),
            blocks: 0,
            chains: Vec::new(),
        }
    }

    /// Ends the function and gives its element-segment index.
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
                self.integer(index);
                self.call("function");
            }
        }
    }

    /// An object of parameters.
    pub(super) fn object(&mut self, fields: &[(String, Argument)]) {
        self.call("object");
        if fields.is_empty() {
            return;
        }
        let object = self.local();
        self.instructions().local_set(object);
        for (name, value) in fields {
            self.instructions().local_get(object);
            self.address(name);
            self.argument(value);
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
            Value::Array(items) if items.is_empty() => self.call("array"),
            Value::Object(fields) if fields.is_empty() => self.call("object"),
            Value::Array(_) | Value::Object(_) => self.json(&value.to_string()),
        }
    }

    /// An expression where it stands; a failure in it is reported there.
    fn site(&mut self, site: &Site) {
        let index = self.module.sites.len() as u32;
        self.module.sites.push(plan::Site {
            node: self.node,
            parameter: site.parameter.clone(),
            source: site.source.clone(),
        });
        self.integer(index);
        self.call("site");
        self.expression(&site.expression);
    }

    fn text(&mut self, parts: &[TextPart]) {
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

    /// A string constant.
    pub(super) fn literal(&mut self, literal: &Literal) {
        match literal {
            Literal::Utf8(text) => self.string(text),
            Literal::Json(json) => self.json(json),
        }
    }

    fn string(&mut self, text: &str) {
        self.address(text);
        self.call("string");
    }

    fn json(&mut self, json: &str) {
        self.address(json);
        self.call("json");
    }

    /// A number.
    pub(super) fn number(&mut self, number: f64) {
        self.instructions().f64_const(number.into());
        self.call("number");
    }

    /// `true` or `false`.
    pub(super) fn boolean(&mut self, value: bool) {
        self.handle(if value { abi::TRUE } else { abi::FALSE });
    }

    /// One of the fixed handles.
    pub(super) fn handle(&mut self, handle: i32) {
        self.instructions().i32_const(handle);
    }

    /// An index, as an operand of a guest function.
    pub(super) fn integer(&mut self, value: u32) {
        self.instructions().i32_const(value as i32);
    }

    /// Address and length of a text: the operands `ptr, len`.
    pub(super) fn address(&mut self, text: &str) {
        let offset = self.module.constants.intern(text) as i32;
        let mut code = self.instructions();
        code.global_get(TEXTS_GLOBAL);
        if offset != 0 {
            code.i32_const(offset).i32_add();
        }
        code.i32_const(text.len() as i32);
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

    /// A local that is in use until [`Self::release`].
    pub(super) fn local(&mut self) -> u32 {
        self.free_locals.pop().unwrap_or_else(|| {
            self.locals += 1;
            self.locals - 1
        })
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
