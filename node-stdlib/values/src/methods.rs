//! JavaScript's methods and global functions on values.
//!
//! Source: ECMAScript 2025, sections 19 to 25. The compiler names them by [`Method`] and [`Global`]; what a method
//! does depends on the value that it is called on. Values do not change: a method that changes its receiver in
//! JavaScript only gives its result here, and the compiler sees to it that nobody could tell. Knows nothing of
//! handles and of how an expression was compiled; a function among the arguments is called by [`Caller`].

mod arguments;
mod array;
mod base64;
mod caller;
mod collate;
mod exception;
mod extension;
mod global;
mod items;
mod iterate;
mod json;
mod length;
mod locale;
mod math;
mod names;
mod number;
mod object;
mod replace;
mod search;
mod sort;
mod string;
mod uri;

pub use caller::Caller;
pub use exception::{Exception, Kind, Outcome};
pub use math::function_of_number;
pub use names::{Global, Method};

use crate::{Text, Value, date_time, ops};
use arguments::Arguments;

/// How many arguments a function gets at most from the method that calls it (`reduce`).
pub const CALLBACK_ARGUMENTS_MAX: usize = 4;

/// `receiver.method(...arguments)`
pub fn call_method(
    receiver: &Value,
    method: Method,
    arguments: &[Value],
    caller: &mut dyn Caller,
) -> Outcome {
    let arguments = Arguments::new(arguments);
    let found = match receiver {
        Value::Undefined | Value::Null if matches!(method, Method::IsEmpty | Method::IsNotEmpty) => None,
        Value::Undefined | Value::Null => {
            let name = method.name();
            let message = format!(
                "Cannot read properties of {} (reading '{name}')",
                receiver.type_name()
            );
            return Err(Exception::new(Kind::Type, message));
        }
        Value::String(text) => string::call(text, method, arguments, caller),
        Value::Array(array) => array::call(array, method, arguments, caller),
        Value::Number(number) => number::call(*number, method, arguments),
        Value::Temporal(temporal) => {
            date_time::call_method(temporal, method.name(), arguments.all(), &caller.clock())
                .map(|outcome| outcome.map_err(Exception::from))
        }
        _ => None,
    };
    let found = match receiver {
        Value::Object(object) if object.contains(method.name()) => None,
        _ => found
            .or_else(|| object::call(receiver, method, arguments))
            .or_else(|| extension::call(receiver, method, arguments, caller)),
    };
    found.unwrap_or_else(|| Err(no_function(receiver, method)))
}

/// Whether `receiver.method` is null or undefined, for `receiver.method?.()`.
pub fn lacks_method(receiver: &Value, method: Method) -> bool {
    match receiver {
        // Reading it fails, which calling it will tell.
        Value::Undefined | Value::Null => false,
        Value::Object(object) => match object.get(method.name()) {
            Some(own) => own.is_nullish(),
            None => !has_method(receiver, method),
        },
        _ => !has_method(receiver, method),
    }
}

fn has_method(receiver: &Value, method: Method) -> bool {
    ops::is_inherited(receiver, method.name()) || extension::has(receiver, method)
}

/// A global function, such as `Math.max(...arguments)`.
pub fn call_global(global: Global, arguments: &[Value], caller: &mut dyn Caller) -> Outcome {
    global::call(global, Arguments::new(arguments), caller)
}

/// `number.toLocaleString(...arguments)`
pub fn number_to_locale(number: f64, arguments: &[Value]) -> Outcome {
    locale::to_locale_string(number, Arguments::new(arguments))
}

/// `text.localeCompare(...arguments)`
pub fn text_to_locale_order(text: &Text, arguments: &[Value]) -> Outcome {
    collate::compare(text, Arguments::new(arguments))
}

fn no_function(receiver: &Value, method: Method) -> Exception {
    let name = method.name();
    let message = match receiver {
        Value::Object(object) => match object.get(name) {
            Some(value) => format!("`.{name}` is not a function: it is {}", value.shape()),
            None => format!("`.{name}` is not a function of {}", receiver.shape()),
        },
        _ => format!("`.{name}` is not a function of {}", receiver.shape()),
    };
    Exception::new(Kind::Type, message)
}

/// Where a call takes a function, and how many arguments it calls it with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Callback {
    /// Index among the call's arguments.
    pub position: usize,
    /// Number of arguments, at most [`CALLBACK_ARGUMENTS_MAX`].
    pub arguments: u32,
}

impl Method {
    /// The function that this method calls, if it does.
    pub fn callback(self) -> Option<Callback> {
        let (position, arguments) = match self {
            Method::Every
            | Method::Filter
            | Method::Find
            | Method::FindIndex
            | Method::FindLast
            | Method::FindLastIndex
            | Method::FlatMap
            | Method::ForEach
            | Method::Map
            | Method::Some => (0, 3),
            Method::Reduce | Method::ReduceRight => (0, 4),
            Method::Sort | Method::ToSorted => (0, 2),
            Method::Replace | Method::ReplaceAll => (1, 3),
            _ => return None,
        };
        Some(Callback { position, arguments })
    }

    /// Whether the method changes what it is called on.
    pub fn changes_receiver(self) -> bool {
        matches!(
            self,
            Method::Fill
                | Method::Pop
                | Method::Push
                | Method::Reverse
                | Method::Shift
                | Method::Sort
                | Method::Splice
                | Method::Unshift
        )
    }
}

impl Global {
    /// The function that this one calls, if it does.
    pub fn callback(self) -> Option<Callback> {
        (self == Global::ArrayFrom).then_some(Callback {
            position: 1,
            arguments: 2,
        })
    }
}

/// A global number, such as `Math.PI`.
pub fn constant(name: &str) -> Option<f64> {
    Some(match name {
        "Math.E" => std::f64::consts::E,
        "Math.LN10" => std::f64::consts::LN_10,
        "Math.LN2" => std::f64::consts::LN_2,
        "Math.LOG10E" => std::f64::consts::LOG10_E,
        "Math.LOG2E" => std::f64::consts::LOG2_E,
        "Math.PI" => std::f64::consts::PI,
        "Math.SQRT1_2" => std::f64::consts::FRAC_1_SQRT_2,
        "Math.SQRT2" => std::f64::consts::SQRT_2,
        "Number.EPSILON" => f64::EPSILON,
        "Number.MAX_SAFE_INTEGER" => 9_007_199_254_740_991.0,
        "Number.MAX_VALUE" => f64::MAX,
        "Number.MIN_SAFE_INTEGER" => -9_007_199_254_740_991.0,
        "Number.MIN_VALUE" => 5e-324,
        "Number.NEGATIVE_INFINITY" => f64::NEG_INFINITY,
        "Number.NaN" => f64::NAN,
        "Number.POSITIVE_INFINITY" => f64::INFINITY,
        _ => return None,
    })
}
