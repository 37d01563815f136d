//! Methods, global functions, and the functions of an expression that they call.
//!
//! Such a function ends before the call that it is an argument of, so its parameters live on a stack of frames.

use super::handles::{make, read, value};
use super::with_run;
use heddle_contract::abi::FUNCTION_NUMBER;
use heddle_values::date_time::Clock;
use heddle_values::methods::{
    self, CALLBACK_ARGUMENTS_MAX, Caller, Exception, Global, Kind, Method, Outcome,
};
use heddle_values::{Array, Value};
use std::cell::RefCell;

thread_local! {
    static FRAMES: RefCell<Frames> = const {
        RefCell::new(Frames {
            starts: Vec::new(),
            innermost: 0,
            values: Vec::new(),
        })
    };
}

/// Parameters of the functions being called.
struct Frames {
    /// Where each function's parameters begin.
    starts: Vec<usize>,
    /// The last of these.
    innermost: usize,
    values: Vec<Value>,
}

impl Frames {
    fn open(&mut self) {
        self.innermost = self.values.len();
        self.starts.push(self.innermost);
        self.values
            .resize(self.innermost + CALLBACK_ARGUMENTS_MAX, Value::Undefined);
    }

    fn close(&mut self) {
        let start = self.starts.pop().unwrap_or_default();
        self.values.truncate(start);
        self.innermost = self.starts.last().copied().unwrap_or_default();
    }

    /// The innermost function's parameters as the call before has left them, without what its body has named.
    #[inline]
    fn parameters(&mut self) -> Option<&mut [Value; CALLBACK_ARGUMENTS_MAX]> {
        let end = self.innermost + CALLBACK_ARGUMENTS_MAX;
        if self.values.len() > end {
            self.values.truncate(end);
        }
        self.values.get_mut(self.innermost..)?.first_chunk_mut()
    }

    #[inline]
    fn get(&self, up: usize, index: usize) -> Option<&Value> {
        if up == 0 && !self.starts.is_empty() {
            return self.values.get(self.innermost.checked_add(index)?);
        }
        self.get_outer(up, index)
    }

    fn get_outer(&self, up: usize, index: usize) -> Option<&Value> {
        let frame = self.starts.len().checked_sub(up)?.checked_sub(1)?;
        let start = *self.starts.get(frame)?;
        let end = self.starts.get(frame + 1).copied().unwrap_or(self.values.len());
        self.values.get(start..end)?.get(index)
    }

    fn set(&mut self, index: usize, value: Value) {
        // What an expression may be long keeps indices far below.
        const INDEX_MAX: usize = 1 << 16;
        let start = self.innermost;
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

/// Calls functions through the module's table, all of them with one frame: one call of a method calls one after the other.
#[derive(Default)]
struct Table {
    is_open: bool,
}

impl Table {
    /// Writes the parameters of the next call, which are those of the call before until then.
    #[inline]
    fn write(&mut self, write: impl FnOnce(&mut [Value; CALLBACK_ARGUMENTS_MAX])) {
        FRAMES.with_borrow_mut(|frames| {
            if !self.is_open {
                self.is_open = true;
                frames.open();
            }
            if let Some(parameters) = frames.parameters() {
                write(parameters);
            }
        });
    }

    #[inline]
    fn write_element(&mut self, element: &Value, index: usize, array: &Array) {
        self.write(|[first, second, third, fourth]| {
            first.clone_from(element);
            *second = Value::Number(index as f64);
            hold(third, array);
            *fourth = Value::Undefined;
        });
    }
}

/// Puts an array where it nearly always is already.
#[inline]
fn hold(place: &mut Value, array: &Array) {
    if !matches!(place, Value::Array(held) if held.is_same(array)) {
        *place = Value::Array(array.clone());
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        if self.is_open {
            FRAMES.with_borrow_mut(Frames::close);
        }
    }
}

/// What a function's form for numbers gives, if it has one and these are numbers.
#[inline]
fn of_numbers(function: u32, first: &Value, second: &Value) -> Option<Value> {
    match function > FUNCTION_NUMBER {
        true => with_run(|run| run.call_numbers(function, first, second)),
        false => None,
    }
}

#[inline]
fn evaluated(function: u32) -> Outcome {
    with_run(|run| run.call_expression(function)).ok_or_else(Exception::kept)
}

impl Caller for Table {
    fn call(&mut self, function: u32, arguments: &mut [Value]) -> Outcome {
        self.write(|parameters| {
            let mut arguments = arguments.iter_mut();
            for parameter in parameters {
                *parameter = arguments.next().map(std::mem::take).unwrap_or_default();
            }
        });
        evaluated(function)
    }

    fn call_element(&mut self, function: u32, element: &Value, index: usize, array: &Array) -> Outcome {
        if let Some(value) = of_numbers(function, element, &Value::Number(index as f64)) {
            return Ok(value);
        }
        self.write_element(element, index, array);
        evaluated(function)
    }

    fn holds(
        &mut self,
        function: u32,
        element: &Value,
        index: usize,
        array: &Array,
    ) -> Result<bool, Exception> {
        if let Some(value) = of_numbers(function, element, &Value::Number(index as f64)) {
            return Ok(value.truthy());
        }
        self.write_element(element, index, array);
        with_run(|run| run.expression_holds(function)).ok_or_else(Exception::kept)
    }

    fn call_step(
        &mut self,
        function: u32,
        so_far: Value,
        element: &Value,
        index: usize,
        array: &Array,
    ) -> Outcome {
        if let Some(value) = of_numbers(function, &so_far, element) {
            return Ok(value);
        }
        self.write(|[first, second, third, fourth]| {
            *first = so_far;
            second.clone_from(element);
            *third = Value::Number(index as f64);
            hold(fourth, array);
        });
        evaluated(function)
    }

    fn call_pair(&mut self, function: u32, first: &Value, second: &Value) -> Outcome {
        if let Some(value) = of_numbers(function, first, second) {
            return Ok(value);
        }
        self.write(|parameters| {
            *parameters = [first.clone(), second.clone(), Value::Undefined, Value::Undefined];
        });
        evaluated(function)
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
    make(call(&mut Table::default()).unwrap_or_else(|exception| {
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
