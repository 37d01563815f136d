//! Arguments of a call, with the conversions that methods make of them.

use super::{Caller, Exception, Kind, Outcome};
use crate::{Text, Value, ops};

/// Arguments as they were given.
#[derive(Clone, Copy)]
pub(super) struct Arguments<'a>(&'a [Value]);

impl<'a> Arguments<'a> {
    pub(super) fn new(values: &'a [Value]) -> Self {
        Arguments(values)
    }

    pub(super) fn all(self) -> &'a [Value] {
        self.0
    }

    pub(super) fn len(self) -> usize {
        self.0.len()
    }

    /// The argument, `undefined` when it was not given.
    pub(super) fn get(self, at: usize) -> &'a Value {
        self.0.get(at).unwrap_or(&Value::Undefined)
    }

    /// The argument unless it is `undefined`.
    pub(super) fn defined(self, at: usize) -> Option<&'a Value> {
        Some(self.get(at)).filter(|value| !matches!(value, Value::Undefined))
    }

    /// ToString of the argument.
    pub(super) fn text(self, at: usize) -> Result<Text, Exception> {
        Ok(ops::to_string(self.get(at))?)
    }

    /// ToNumber of the argument.
    pub(super) fn number(self, at: usize) -> Result<f64, Exception> {
        Ok(ops::to_number(self.get(at))?)
    }

    /// ToIntegerOrInfinity of the argument.
    pub(super) fn integer(self, at: usize) -> Result<f64, Exception> {
        self.number(at).map(to_integer)
    }

    /// The argument as a position in something of this length: negative ones count from the end; `undefined` is
    /// `otherwise`.
    pub(super) fn position(self, at: usize, len: usize, otherwise: usize) -> Result<usize, Exception> {
        match self.defined(at) {
            None => Ok(otherwise),
            Some(_) => Ok(relative(self.integer(at)?, len)),
        }
    }

    /// The argument cut to 0 up to `len`; `undefined` is 0.
    pub(super) fn clamped(self, at: usize, len: usize) -> Result<usize, Exception> {
        Ok(self.integer(at)?.clamp(0.0, len as f64) as usize)
    }

    /// The argument as a function to call.
    pub(super) fn function(self, at: usize) -> Result<u32, Exception> {
        match self.get(at) {
            Value::Function(function) => Ok(*function),
            other => Err(Exception::new(
                Kind::Type,
                format!(
                    "{} is not a function: one like `x => x.name` belongs here",
                    other.shape()
                ),
            )),
        }
    }
}

/// ToIntegerOrInfinity.
pub(super) fn to_integer(number: f64) -> f64 {
    // `+ 0.0` makes 0 of -0.
    if number.is_nan() {
        0.0
    } else {
        number.trunc() + 0.0
    }
}

/// A position that counts from the end when it is negative, cut to 0 up to `len`.
pub(super) fn relative(position: f64, len: usize) -> usize {
    let len = len as f64;
    let from_start = if position < 0.0 { len + position } else { position };
    from_start.clamp(0.0, len) as usize
}

/// A function being called for each element of something.
pub(super) struct Function<'c> {
    pub(super) function: u32,
    pub(super) caller: &'c mut dyn Caller,
}

impl Function<'_> {
    pub(super) fn call(&mut self, arguments: &mut [Value]) -> Outcome {
        self.caller.call(self.function, arguments)
    }
}
