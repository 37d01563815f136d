//! Emits calls of methods and global functions.

use super::body::FunctionBuilder;
use crate::expression::{Element, MethodCall};
use heddle_contract::abi;
use heddle_values::methods::Global;

/// Arguments that go over as handles.
const ARGUMENTS_MAX: usize = 3;

impl FunctionBuilder<'_> {
    /// A method call's value.
    pub(super) fn method(&mut self, call: &MethodCall) {
        self.expression(&call.receiver);
        if call.optional {
            let receiver = self.local();
            self.instructions().local_set(receiver);
            self.leave_chain(|builder| {
                builder.instructions().local_get(receiver);
                builder.integer(call.method.number());
                builder.call("lacks_method");
            });
            self.take(receiver);
        }
        self.integer(call.method.number());
        let few = self.arguments(&call.arguments);
        self.call(if few { "call_method" } else { "call_method_with" });
    }

    /// The value of a call of a global function.
    pub(super) fn global(&mut self, global: Global, arguments: &[Element]) {
        self.integer(global.number());
        let few = self.arguments(arguments);
        self.call(if few { "call_global" } else { "call_global_with" });
    }

    /// Arguments as a count and handles, or else (false) as an array.
    fn arguments(&mut self, arguments: &[Element]) -> bool {
        let item = |argument: &'_ Element| matches!(argument, Element::Item(_));
        if arguments.len() > ARGUMENTS_MAX || !arguments.iter().all(item) {
            self.array_literal(arguments);
            return false;
        }
        self.integer(arguments.len() as u32);
        for argument in arguments {
            if let Element::Item(argument) = argument {
                self.expression(argument);
            }
        }
        for _ in arguments.len()..ARGUMENTS_MAX {
            self.handle(abi::UNDEFINED);
        }
        true
    }
}
