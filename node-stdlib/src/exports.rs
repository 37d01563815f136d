//! The guest's face: what a pattern's module imports, over one [`Run`] and one stack of handles.
//!
//! Knows nothing of what nodes and operators do. Arguments come from a module that may be hostile: handles out of
//! range read as `undefined`, addresses outside memory as empty text.
#![expect(
    unsafe_code,
    reason = "exported names, the module's memory and its function table"
)]

mod calls;
mod engine;
mod handles;
mod host;
mod numbers;
mod paths;
mod registers;
mod texts;

use crate::failure::Failure;
use crate::machine::Run;
use crate::node::{Resume, Run as RunNode};
use handles::{array, change, make, object, object_of, read, read_both, value};
use heddle_contract::abi::code;
use heddle_contract::plan::View;
use heddle_values::ops;
use heddle_values::{Array, Object, TypeError, Value};
use host::Host;
use registers::SITE;
use std::cell::{Cell, OnceCell, RefCell};

type GuestRun = Run<'static, Host>;

thread_local! {
    /// The run, from `start` on.
    static RUN: Cell<Option<&'static GuestRun>> = const { Cell::new(None) };
    /// Memory that was given out: (address, bytes).
    static RESERVED: RefCell<Vec<(usize, usize)>> = const { RefCell::new(Vec::new()) };
}

/// Calls `body` with the run; nothing happens before `start`.
fn with_run<T: Default>(body: impl FnOnce(&'static GuestRun) -> T) -> T {
    RUN.get().map(body).unwrap_or_default()
}

/// Handle of what an operation gave; a failure is kept by the run and reads as `undefined`.
fn settled(result: Result<Value, TypeError>) -> i32 {
    make(result.unwrap_or_else(|error| {
        with_run(|run| run.expression_failed(&error.0));
        Value::Undefined
    }))
}

#[unsafe(export_name = "reserve")]
extern "C" fn reserve(bytes: i32) -> i32 {
    // As u64s, which are 8-aligned. Kept for the run.
    let block = vec![0u64; (bytes as u32 as usize).div_ceil(8)].leak();
    let address = block.as_ptr().addr();
    RESERVED.with_borrow_mut(|reserved| reserved.push((address, block.len() * 8)));
    address as i32
}

#[unsafe(export_name = "site_address")]
extern "C" fn site_address() -> i32 {
    SITE.as_ptr().addr() as i32
}

#[unsafe(export_name = "start")]
extern "C" fn start(base: i32, length: i32, table_base: i32, trigger: i32) {
    if RUN.get().is_some() {
        return;
    }
    let host = Host {
        table_base: table_base as u32,
        engine: OnceCell::new(),
    };
    let plan = reserved_bytes(base as u32 as usize, length as u32 as usize).and_then(View::new);
    let plan_or_none = plan.unwrap_or_default();
    handles::begin(plan_or_none);
    let mut run = Run::new(plan_or_none, host);
    let readable = match plan {
        Some(_) => run.read_event(),
        None => {
            let message = "The module's data does not begin with a plan: it was not made by this heddle. Compile the \
                           pattern again.";
            Err(Failure::new(code::TRAP, message))
        }
    };
    let run: &'static GuestRun = Box::leak(Box::new(run));
    RUN.set(Some(run));
    match readable {
        Ok(()) => run.drive(trigger as u32),
        Err(failure) => run.refuse(&failure),
    }
}

/// The bytes of a block that `reserve` gave.
fn reserved_bytes(base: usize, length: usize) -> Option<&'static [u8]> {
    let end = base.checked_add(length)?;
    RESERVED.with_borrow(|reserved| {
        let mut blocks = reserved
            .iter()
            .filter(|(at, bytes)| *at <= base && end <= at.saturating_add(*bytes));
        blocks.next()?;
        // SAFETY: the range lies within one leaked, initialised allocation. The pattern has copied its data there
        // before calling `start` and does not write to it again; a module that does reads other numbers, which
        // `View` takes as it takes any.
        Some(unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance(base), length) })
    })
}

macro_rules! node_exports {
    ($($(#[$cfg:meta])? ($name:ident, $run:path, $($resume:tt)+)),* $(,)?) => {
        $(
            $(#[$cfg])?
            const _: () = {
                #[unsafe(export_name = concat!("node_", stringify!($name)))]
                extern "C" fn node(parameters: i32) {
                    execute(parameters, $run, resume!($($resume)+));
                }
            };
        )*
    };
}
macro_rules! resume {
    (none) => {
        None
    };
    ($resume:path) => {
        Some($resume)
    };
}
crate::for_each_node!(node_exports);

fn execute(parameters: i32, node: RunNode, resume: Option<Resume>) {
    let parameters = match value(parameters) {
        Value::Object(parameters) => parameters,
        _ => Object::new(),
    };
    with_run(|run| run.execute_node(parameters, node, resume));
}

// Making values.

#[unsafe(export_name = "function")]
extern "C" fn function(index: i32) -> i32 {
    make(Value::Function(index as u32))
}

#[unsafe(export_name = "array")]
extern "C" fn new_array() -> i32 {
    make(Value::Array(Array::default()))
}

#[unsafe(export_name = "push")]
extern "C" fn push(to: i32, item: i32) {
    let item = value(item);
    change(to, |to| array(to).push(item));
}

#[unsafe(export_name = "push_spread")]
extern "C" fn push_spread(to: i32, items: i32) {
    let items = value(items);
    let result = change(to, |to| {
        let mut target = std::mem::take(array(to));
        let result = ops::push_spread(&mut target, &items);
        *array(to) = target;
        result
    });
    if let Some(Err(error)) = result {
        with_run(|run| run.expression_failed(&error.0));
    }
}

#[unsafe(export_name = "object")]
extern "C" fn new_object() -> i32 {
    make(Value::Object(Object::new()))
}

macro_rules! objects {
    ($($export:literal $name:ident ($($item:ident)*))*) => {
        $(
            #[unsafe(export_name = $export)]
            extern "C" fn $name(names: i32 $(, $item: i32)*) -> i32 {
                make(Value::Object(object_of(names, &[$($item),*])))
            }
        )*
    };
}
objects! {
    "object_1" object_1 (a)
    "object_2" object_2 (a b)
    "object_3" object_3 (a b c)
    "object_4" object_4 (a b c d)
}

#[unsafe(export_name = "object_8")]
#[expect(
    clippy::too_many_arguments,
    reason = "a call for an object instead of one for each property"
)]
extern "C" fn object_8(names: i32, a: i32, b: i32, c: i32, d: i32, e: i32, f: i32, g: i32, h: i32) -> i32 {
    make(Value::Object(object_of(names, &[a, b, c, d, e, f, g, h])))
}

#[unsafe(export_name = "set")]
extern "C" fn set(to: i32, name: i32, item: i32) {
    let item = value(item);
    match read(name, ops::to_property_key) {
        Ok(name) => {
            change(to, |to| object(to).insert(name, item));
        }
        Err(error) => with_run(|run| run.expression_failed(&error.0)),
    }
}

#[unsafe(export_name = "set_spread")]
extern "C" fn set_spread(to: i32, from: i32) {
    let from = value(from);
    change(to, |to| ops::set_spread(object(to), &from));
}

// Reading values.

#[unsafe(export_name = "get")]
extern "C" fn get(from: i32, name: i32) -> i32 {
    settled(read_both(from, name, ops::get_index))
}

#[unsafe(export_name = "is_nullish")]
extern "C" fn is_nullish(of: i32) -> i32 {
    read(of, |of| matches!(of, Value::Undefined | Value::Null)).into()
}

#[unsafe(export_name = "truthy")]
extern "C" fn truthy(of: i32) -> i32 {
    handles::is_truthy(of).into()
}

// Operators.

macro_rules! operators {
    ($($name:ident)*) => {
        $(
            #[unsafe(export_name = stringify!($name))]
            extern "C" fn $name(a: i32, b: i32) -> i32 {
                settled(read_both(a, b, ops::$name))
            }
        )*
    };
}
operators! {
    add subtract multiply divide remainder power
    bit_and bit_or bit_xor shift_left shift_right shift_right_unsigned
    less less_equal greater greater_equal equal not_equal
}

macro_rules! unary_operators {
    ($($name:ident)*) => {
        $(
            #[unsafe(export_name = stringify!($name))]
            extern "C" fn $name(a: i32) -> i32 {
                settled(read(a, ops::$name))
            }
        )*
    };
}
unary_operators! { negate plus bit_not }

#[unsafe(export_name = "not")]
extern "C" fn not(a: i32) -> i32 {
    make(read(a, ops::not))
}

#[unsafe(export_name = "type_of")]
extern "C" fn type_of(a: i32) -> i32 {
    make(read(a, ops::type_of))
}

#[unsafe(export_name = "strict_equal")]
extern "C" fn strict_equal(a: i32, b: i32) -> i32 {
    make(read_both(a, b, ops::strict_equal))
}

#[unsafe(export_name = "strict_not_equal")]
extern "C" fn strict_not_equal(a: i32, b: i32) -> i32 {
    make(read_both(a, b, ops::strict_not_equal))
}

#[unsafe(export_name = "in")]
extern "C" fn has(key: i32, of: i32) -> i32 {
    settled(read_both(key, of, ops::has))
}

#[unsafe(export_name = "to_string")]
extern "C" fn to_string(of: i32) -> i32 {
    settled(read(of, ops::to_string).map(Value::String))
}

#[unsafe(export_name = "text")]
extern "C" fn text(of: i32) -> i32 {
    make(Value::String(read(of, Value::to_text)))
}

#[unsafe(export_name = "concat")]
extern "C" fn concat(a: i32, b: i32) -> i32 {
    settled(read_both(a, b, ops::concat).map(Value::String))
}

// Names.

macro_rules! names {
    ($($export:literal $name:ident $method:ident)*) => {
        $(
            #[unsafe(export_name = $export)]
            extern "C" fn $name() -> i32 {
                make(with_run(Run::$method))
            }
        )*
    };
}
names! {
    "input" input input
    "input_list" input_list input_list
    "item" item item
    "index" index index
    "first" first first
    "second" second second
    "trigger" trigger trigger
    "run" run facts
    "vars" vars variables
    "error" error error
    "random" random random
    "uuid" uuid uuid
}

#[unsafe(export_name = "secret")]
extern "C" fn secret(name: i32) -> i32 {
    let name = read(name, Value::to_text);
    make(with_run(|run| run.secret(&name.to_utf8())))
}

#[unsafe(export_name = "node_output")]
extern "C" fn node_output(node: i32) -> i32 {
    make(with_run(|run| run.node_output(node as u32)))
}

#[unsafe(export_name = "node_item")]
extern "C" fn node_item(node: i32) -> i32 {
    make(with_run(|run| {
        run.node_item(node as u32).unwrap_or_else(|failure| {
            run.pairing_failed(&failure.message);
            Value::Undefined
        })
    }))
}

// The JavaScript engine.

#[unsafe(export_name = "script")]
extern "C" fn script(source: i32, arguments: i32) -> i32 {
    let (source, arguments) = (read(source, Value::to_text), value(arguments));
    make(with_run(|run| run.evaluate_script(&source, &arguments)))
}

#[unsafe(export_name = "has_failed")]
extern "C" fn has_failed() -> i32 {
    with_run(Run::has_failed).into()
}

#[unsafe(export_name = "attempted")]
extern "C" fn attempted(failed_before: i32, part: i32) -> i32 {
    let part = value(part);
    make(with_run(|run| run.attempted(failed_before != 0, part)))
}

#[unsafe(export_name = "lenient")]
extern "C" fn lenient(whole: i32) -> i32 {
    match with_run(Run::forgive) {
        true => heddle_contract::abi::UNDEFINED,
        false => whole,
    }
}

// Bookkeeping.

#[unsafe(export_name = "emit")]
extern "C" fn emit(port: i32, of: i32) {
    let of = value(of);
    with_run(|run| run.emit(port as u32, of));
}
