//! Methods, global functions, and the functions of an expression that they call.
//!
//! Such a function ends before the call that it is an argument of, so its parameters live on a stack of frames.

use super::handles::{make, read, value};
use super::with_run;
use heddle_values::Value;
use heddle_values::date_time::Clock;
use heddle_values::methods::{
    self, CALLBACK_ARGUMENTS_MAX, Caller, Exception, Global, Kind, Method, Outcome,
};
use std::cell::RefCell;

thread_local! {
    static FRAMES: RefCell<Frames> = const {
        RefCell::new(Frames {
            starts: Vec::new(),
            values: Vec::new(),
        })
    };
}

/// Parameters of the functions being called.
struct Frames {
    /// Where each function's parameters begin.
    starts: Vec<usize>,
    values: Vec<Value>,
}

impl Frames {
    fn push(&mut self, arguments: &mut [Value]) {
        let start = self.values.len();
        self.starts.push(start);
        self.values.extend(arguments.iter_mut().map(std::mem::take));
        self.values
            .resize(start + CALLBACK_ARGUMENTS_MAX, Value::Undefined);
    }

    fn pop(&mut self) {
        let start = self.starts.pop().unwrap_or_default();
        self.values.truncate(start);
    }

    fn get(&self, up: usize, index: usize) -> Option<&Value> {
        let frame = self.starts.len().checked_sub(up)?.checked_sub(1)?;
        let start = *self.starts.get(frame)?;
        let end = self.starts.get(frame + 1).copied().unwrap_or(self.values.len());
        self.values.get(start..end)?.get(index)
    }

    fn set(&mut self, index: usize, value: Value) {
        // What an expression may be long keeps indices far below.
        const INDEX_MAX: usize = 1 << 16;
        let start = self.starts.last().copied().unwrap_or_default();
        if index > INDEX_MAX {
            return;
        }
        let at = start + index;
        if self.values.len() <= at {
            self.values.resize(at + 1, Value::Undefined);
        }
        self.values[at] = value;
    }
}

/// Calls functions through the module's table.
struct Table;

impl Caller for Table {
    fn call(&mut self, function: u32, arguments: &mut [Value]) -> Outcome {
        FRAMES.with_borrow_mut(|frames| frames.push(arguments));
        let result = with_run(|run| run.call_expression(function));
        FRAMES.with_borrow_mut(Frames::pop);
        result.ok_or_else(Exception::kept)
    }

    fn clock(&self) -> Clock {
        Clock::utc(with_run(|run| run.started_at_ms()))
    }
}

/// Handle of what a call gave. After a failure nothing is called any more.
fn called(call: impl FnOnce(&mut Table) -> Outcome) -> i32 {
    if with_run(|run| run.has_failed()) {
        return heddle_contract::abi::UNDEFINED;
    }
    make(call(&mut Table).unwrap_or_else(|exception| {
        if exception.kind != Kind::Kept {
            with_run(|run| run.expression_failed(&exception.message));
        }
        Value::Undefined
    }))
}

fn method(receiver: i32, method: i32, arguments: &[Value]) -> i32 {
    let Some(method) = Method::from_number(method as u32) else {
        return heddle_contract::abi::UNDEFINED;
    };
    called(|table| match method.callback() {
        Some(_) => methods::call_method(&value(receiver), method, arguments, table),
        // It calls nothing that makes handles, so that its receiver is read in place.
        None => read(receiver, |receiver| {
            methods::call_method(receiver, method, arguments, table)
        }),
    })
}

fn global(global: i32, arguments: &[Value]) -> i32 {
    match Global::from_number(global as u32) {
        Some(global) => called(|table| methods::call_global(global, arguments, table)),
        None => heddle_contract::abi::UNDEFINED,
    }
}

/// Calls `body` with the arguments that are given.
fn with_arguments(count: i32, [a, b, c]: [i32; 3], body: impl Fn(&[Value]) -> i32) -> i32 {
    match count {
        0 => body(&[]),
        1 => body(&[value(a)]),
        2 => body(&[value(a), value(b)]),
        _ => body(&[value(a), value(b), value(c)]),
    }
}

fn elements(array: i32) -> Vec<Value> {
    match value(array) {
        Value::Array(array) => array.to_vec(),
        _ => Vec::new(),
    }
}

#[unsafe(export_name = "call_method")]
extern "C" fn call_method(receiver: i32, number: i32, count: i32, a: i32, b: i32, c: i32) -> i32 {
    with_arguments(count, [a, b, c], |arguments| method(receiver, number, arguments))
}

#[unsafe(export_name = "call_method_with")]
extern "C" fn call_method_with(receiver: i32, number: i32, arguments: i32) -> i32 {
    method(receiver, number, &elements(arguments))
}

#[unsafe(export_name = "call_global")]
extern "C" fn call_global(number: i32, count: i32, a: i32, b: i32, c: i32) -> i32 {
    with_arguments(count, [a, b, c], |arguments| global(number, arguments))
}

#[unsafe(export_name = "call_global_with")]
extern "C" fn call_global_with(number: i32, arguments: i32) -> i32 {
    global(number, &elements(arguments))
}

#[unsafe(export_name = "lacks_method")]
extern "C" fn lacks_method(of: i32, number: i32) -> i32 {
    let lacks = |method| methods::lacks_method(&value(of), method);
    Method::from_number(number as u32).is_some_and(lacks).into()
}

#[unsafe(export_name = "parameter")]
extern "C" fn parameter(up: i32, index: i32) -> i32 {
    make(parameter_of(up, index, Value::clone))
}

/// Reads a parameter in place. `reader` must not call functions of the expression.
pub(super) fn parameter_of<T>(up: i32, index: i32, reader: impl FnOnce(&Value) -> T) -> T {
    let (up, index) = (up as u32 as usize, index as u32 as usize);
    FRAMES.with_borrow(|frames| reader(frames.get(up, index).unwrap_or(&Value::Undefined)))
}

#[unsafe(export_name = "let")]
extern "C" fn bind(index: i32, of: i32) {
    let of = value(of);
    FRAMES.with_borrow_mut(|frames| frames.set(index as u32 as usize, of));
}
