//! Assembles the module's sections.

use super::constants::Constants;
use super::imports::Imports;
use heddle_contract::abi::{self, Type};
use heddle_contract::manifest::{self, Manifest};
use heddle_contract::plan::{Plan, Site};
use std::borrow::Cow;
use std::sync::Arc;
use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, CustomSection, DataCountSection, DataSection, ElementSection,
    Elements, EntityType, ExportKind, ExportSection, Function, FunctionSection, GlobalSection, GlobalType,
    HeapType, ImportSection, IndirectNameMap, MemoryType, NameMap, NameSection, RefType, TableType, ValType,
};

/// Global that holds the address at which the site being evaluated is kept.
pub(super) const SITE_GLOBAL: u32 = 0;

/// Names in the name section are for people; a parameter path can be as long as a graph.
const NAME_BYTES_MAX: usize = 200;

/// A module under construction.
#[derive(Default)]
pub(super) struct Module {
    pub(super) imports: Imports,
    pub(super) constants: Constants,
    /// By number.
    pub(super) functions: Vec<Compiled>,
    /// Forms of these for numbers.
    pub(super) of_numbers: Vec<OfNumbers>,
    pub(super) sites: Vec<Site>,
    /// Whether an expression that fails is `undefined`.
    pub(super) is_lenient: bool,
}

/// A compiled function.
pub(super) struct Compiled {
    /// What it was compiled from; without a parameter it is a node's own function.
    pub(super) origin: manifest::Function,
    pub(super) locals: Vec<ValType>,
    /// Instructions, the final `end` included.
    pub(super) code: Vec<u8>,
}

/// What the two numbers are that a form is called with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operands {
    /// The first arguments of a function of an expression.
    Parameters,
    /// `$item` and `$index`.
    Item,
    /// `$input`, which is `$item` as well, and `$index`, of a node that executes for each.
    Input,
}

/// A function's form for numbers.
pub(super) struct OfNumbers {
    /// The function's number.
    pub(super) function: u32,
    /// Instructions, the final `end` included. Parameters are all its locals.
    pub(super) code: Vec<u8>,
}

impl Module {
    /// The module's bytes.
    pub(super) fn encode(mut self, plan: &Plan, manifest: &Manifest, components: &[Arc<[u8]>]) -> Vec<u8> {
        let run_type = self.imports.type_index((&[Type::I32], &[]));
        let node_type = self.imports.type_index(abi::NODE_BODY);
        let value_type = self.imports.type_index(abi::FUNCTION_BODY);
        let dispatchers = [
            self.imports.type_index(abi::NODE_DISPATCHER),
            self.imports.type_index(abi::FUNCTION_DISPATCHER),
        ];
        let data_bytes = plan.encode();
        let run_code = self.run_function(data_bytes.len());
        let first = self.imports.functions().len() as u32;
        let run = first + self.functions.len() as u32;

        let mut functions = FunctionSection::new();
        let mut code = CodeSection::new();
        for function in &self.functions {
            functions.function(if function.origin.parameter.is_none() {
                node_type
            } else {
                value_type
            });
            let mut body = Function::new_with_locals_types(function.locals.iter().copied());
            body.raw(function.code.iter().copied());
            code.function(&body);
        }
        functions.function(run_type);
        code.function(&run_code);
        for (type_index, values) in dispatchers.into_iter().zip([false, true]) {
            functions.function(type_index);
            code.function(&self.dispatcher(first, values));
        }
        let mut dispatchers = vec![run + 1, run + 2];
        if !self.of_numbers.is_empty() {
            dispatchers.push(run + 3);
            functions.function(self.imports.type_index(abi::NUMBERS_DISPATCHER));
            code.function(&self.dispatcher_of_numbers(run + 4));
            let body_type = self.imports.type_index(abi::NUMBERS_BODY);
            for of_numbers in &self.of_numbers {
                functions.function(body_type);
                let mut body = Function::new([]);
                body.raw(of_numbers.code.iter().copied());
                code.function(&body);
            }
        }

        let mut globals = GlobalSection::new();
        let global_type = GlobalType {
            val_type: ValType::I32,
            mutable: true,
            shared: false,
        };
        globals.global(global_type, &ConstExpr::i32_const(0));
        let mut exports = ExportSection::new();
        exports.export(abi::RUN_EXPORT, ExportKind::Func, run);
        let mut elements = ElementSection::new();
        elements.passive(Elements::Functions(Cow::Owned(dispatchers)));
        let mut data = DataSection::new();
        data.passive(data_bytes);

        let mut module = wasm_encoder::Module::new();
        module.section(&self.imports.types());
        module.section(&self.import_section());
        module
            .section(&functions)
            .section(&globals)
            .section(&exports)
            .section(&elements);
        module.section(&DataCountSection { count: 1 });
        module.section(&code).section(&data);
        module.section(&self.names(plan, first, run));
        // A manifest is strings, numbers and lists with string keys: always JSON.
        let json = serde_json::to_vec(manifest).expect("a manifest is always JSON");
        module.section(&CustomSection {
            name: Cow::Borrowed(abi::MANIFEST_SECTION),
            data: Cow::Borrowed(&json),
        });
        for component in components {
            module.section(&CustomSection {
                name: Cow::Borrowed(abi::COMPONENT_SECTION),
                data: Cow::Borrowed(component),
            });
        }
        module.finish()
    }

    /// `run`: puts data and functions in place and hands over to the guest.
    fn run_function(&mut self, data_len: usize) -> Function {
        const TRIGGER: u32 = 0;
        const BASE: u32 = 1;
        const TABLE_BASE: u32 = 2;
        let dispatchers = if self.of_numbers.is_empty() { 2 } else { 3 };
        let reserve = self.imports.guest_function("reserve");
        let start = self.imports.guest_function("start");
        let site_address = self.imports.guest_function("site_address");
        let data_len = data_len as i32;
        let mut function = Function::new([(2, ValType::I32)]);
        let mut code = function.instructions();
        code.call(site_address).global_set(SITE_GLOBAL);
        code.i32_const(data_len)
            .call(reserve)
            .local_tee(BASE)
            .i32_const(0)
            .i32_const(data_len)
            .memory_init(0, 0)
            .data_drop(0);
        code.ref_null(HeapType::FUNC)
            .i32_const(dispatchers)
            .table_grow(0)
            .local_tee(TABLE_BASE);
        // The table's limit is reached.
        code.i32_const(-1)
            .i32_eq()
            .if_(BlockType::Empty)
            .unreachable()
            .end();
        code.local_get(TABLE_BASE)
            .i32_const(0)
            .i32_const(dispatchers)
            .table_init(0, 0)
            .elem_drop(0);
        code.local_get(BASE)
            .i32_const(data_len)
            .local_get(TABLE_BASE)
            .local_get(TRIGGER)
            .call(start)
            .end();
        function
    }

    /// Calls the node function, or the function value, whose number it is given.
    fn dispatcher(&self, first: u32, values: bool) -> Function {
        const NUMBER: u32 = 0;
        let is_value = |function: &Compiled| function.origin.parameter.is_some();
        let wanted = |function: &&Compiled| is_value(function) == values;
        let count = self.functions.iter().filter(wanted).count() as u32;
        let mut function = Function::new([]);
        let mut code = function.instructions();
        // Branching out of `n` blocks leads to the call of the `n`th function, out of all to the trap.
        for _ in 0..=count {
            code.block(BlockType::Empty);
        }
        let mut depths = 0..count;
        let targets: Vec<u32> = self
            .functions
            .iter()
            .map(|function| {
                wanted(&function)
                    .then(|| depths.next())
                    .flatten()
                    .unwrap_or(count)
            })
            .collect();
        code.local_get(NUMBER).br_table(targets, count);
        for (index, function) in (first..).zip(&self.functions) {
            if wanted(&function) {
                code.end().call(index).return_();
            }
        }
        code.end().unreachable().end();
        function
    }

    /// Calls the form for numbers of the function whose number it is given. `first` is the function index of the first of them.
    fn dispatcher_of_numbers(&self, first: u32) -> Function {
        const NUMBER: u32 = 0;
        let count = self.of_numbers.len() as u32;
        let mut targets = vec![count; self.functions.len()];
        for (of_numbers, target) in self.of_numbers.iter().zip(0..) {
            if let Some(slot) = targets.get_mut(of_numbers.function as usize) {
                *slot = target;
            }
        }
        let mut function = Function::new([]);
        let mut code = function.instructions();
        for _ in 0..=count {
            code.block(BlockType::Empty);
        }
        code.local_get(NUMBER).br_table(targets, count);
        for index in (first..).take(count as usize) {
            code.end().local_get(1).local_get(2).call(index).return_();
        }
        code.end().unreachable().end();
        function
    }

    fn import_section(&self) -> ImportSection {
        let mut section = ImportSection::new();
        for (name, type_index) in self.imports.functions() {
            section.import(abi::GUEST, name, EntityType::Function(*type_index));
        }
        let memory = MemoryType {
            minimum: 0,
            maximum: None,
            memory64: false,
            shared: false,
            page_size_log2: None,
        };
        section.import(abi::GUEST, abi::MEMORY, memory);
        let table = TableType {
            element_type: RefType::FUNCREF,
            table64: false,
            minimum: 0,
            maximum: None,
            shared: false,
        };
        section.import(abi::GUEST, abi::TABLE, table);
        section
    }

    fn names(&self, plan: &Plan, first: u32, run: u32) -> NameSection {
        let mut functions = NameMap::new();
        let mut locals = IndirectNameMap::new();
        for (index, (name, _)) in self.imports.functions().iter().enumerate() {
            functions.append(index as u32, name);
        }
        for (index, function) in (first..).zip(&self.functions) {
            let id = plan
                .nodes
                .get(function.origin.node as usize)
                .map_or("", |node| &node.id);
            let name = match &function.origin.parameter {
                None => format!("node:{id}"),
                Some(parameter) => format!("function:{id}.{parameter}"),
            };
            functions.append(index, truncated(&name));
            let mut names = NameMap::new();
            (0..function.locals.len() as u32).for_each(|local| names.append(local, &format!("value{local}")));
            locals.append(index, &names);
        }
        functions.append(run, abi::RUN_EXPORT);
        functions.append(run + 1, "dispatch:node");
        functions.append(run + 2, "dispatch:function");
        if !self.of_numbers.is_empty() {
            functions.append(run + 3, "dispatch:numbers");
        }
        let mut names = NameMap::new();
        ["trigger", "base", "table_base"]
            .iter()
            .zip(0..)
            .for_each(|(name, local)| names.append(local, name));
        locals.append(run, &names);
        let mut globals = NameMap::new();
        globals.append(SITE_GLOBAL, "site");

        let mut section = NameSection::new();
        section.functions(&functions);
        section.locals(&locals);
        section.globals(&globals);
        section
    }
}

fn truncated(name: &str) -> &str {
    &name[..name.floor_char_boundary(NAME_BYTES_MAX)]
}
