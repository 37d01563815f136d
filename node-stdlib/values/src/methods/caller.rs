//! What methods need of whoever evaluates an expression.

use super::exception::{Exception, Outcome};
use crate::date_time::Clock;
use crate::{Array, Value};

/// Calls the functions of an expression.
pub trait Caller {
    /// Calls a compiled function with arguments, which are taken from where they are; those that are missing are `undefined`.
    /// An [`Exception`] of the kind [`Kind::Kept`](super::Kind::Kept) says that a failure is already known.
    fn call(&mut self, function: u32, arguments: &mut [Value]) -> Outcome;

    /// `function(element, index, array)`. This and what follows are for functions that are called for one element after the
    /// other, where making a list of arguments for each call is most of what a call takes.
    fn call_element(&mut self, function: u32, element: &Value, index: usize, array: &Array) -> Outcome {
        self.call(
            function,
            &mut [element.clone(), (index as f64).into(), array.clone().into()],
        )
    }

    /// Whether `function(element, index, array)` is truthy.
    fn holds(
        &mut self,
        function: u32,
        element: &Value,
        index: usize,
        array: &Array,
    ) -> Result<bool, Exception> {
        Ok(self.call_element(function, element, index, array)?.truthy())
    }

    /// `function(so_far, element, index, array)`
    fn call_step(
        &mut self,
        function: u32,
        so_far: Value,
        element: &Value,
        index: usize,
        array: &Array,
    ) -> Outcome {
        self.call(
            function,
            &mut [
                so_far,
                element.clone(),
                (index as f64).into(),
                array.clone().into(),
            ],
        )
    }

    /// `function(first, second)`
    fn call_pair(&mut self, function: u32, first: &Value, second: &Value) -> Outcome {
        self.call(function, &mut [first.clone(), second.clone()])
    }

    /// What now is and where, for times.
    fn clock(&self) -> Clock;
}
