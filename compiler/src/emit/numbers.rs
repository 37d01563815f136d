//! Forms of functions for numbers: what only computes with numbers takes and gives them as such.
//!
//! Where all operands are numbers, an operator of JavaScript is WebAssembly's own, and nothing can fail. So the guest calls this
//! form without a handle, a list of arguments or a look for failures, whenever it has numbers.

use super::body::FunctionBuilder;
use super::module::{Module, Operands};
use super::unboxed::{Function, Kind, function, is_arithmetic, is_comparison, is_instruction};
use crate::expression::{Binary, Expression, Logical, Name, Unary};
use crate::lowered::Argument;
use heddle_contract::abi;
use wasm_encoder::ValType;

/// Levels of an expression that has such a form.
const LEVELS_MAX: u32 = 32;

impl Module {
    /// Compiles the form of a function whose body is this argument, if it can have one; says what the form gives, or 0.
    pub(super) fn form_of_numbers(
        &mut self,
        node: u32,
        function: u32,
        body: &Argument,
        operands: Operands,
    ) -> u32 {
        match body {
            Argument::Expression(site) => self.form_of_expression(node, function, &site.expression, operands),
            _ => 0,
        }
    }

    /// Compiles the form of a function whose body is this expression, if it can have one; says what the form gives (`abi::GIVES_NUMBER` or
    /// `abi::GIVES_TRUTH`), or 0.
    pub(super) fn form_of_expression(
        &mut self,
        node: u32,
        function: u32,
        body: &Expression,
        operands: Operands,
    ) -> u32 {
        if function > abi::FUNCTION_NUMBER {
            return 0;
        }
        let gives = match operands.kind(body, LEVELS_MAX) {
            Kind::Number => abi::GIVES_NUMBER,
            Kind::Truth => abi::GIVES_TRUTH,
            Kind::Any => return 0,
        };
        let mut form = FunctionBuilder::new(self, node);
        if gives == abi::GIVES_NUMBER {
            form.form_number(body, operands);
        } else {
            form.form_truth(body, operands);
            form.instructions().f64_convert_i32_u();
        }
        form.finish_of_numbers(function);
        gives
    }
}

impl Operands {
    /// The parameter of the form that an expression is.
    fn local(self, expression: &Expression) -> Option<u32> {
        match (self, expression) {
            (
                Operands::Parameters,
                Expression::Parameter {
                    up: 0,
                    index: index @ 0..=1,
                },
            ) => Some(*index),
            (Operands::Item | Operands::Input, Expression::Name(Name::Item)) => Some(0),
            (Operands::Input, Expression::Name(Name::Input)) => Some(0),
            (Operands::Item | Operands::Input, Expression::Name(Name::Index)) => Some(1),
            _ => None,
        }
    }

    /// What an expression is if it is made of numbers and of what can be computed from them.
    fn kind(self, expression: &Expression, levels: u32) -> Kind {
        let Some(levels) = levels.checked_sub(1) else {
            return Kind::Any;
        };
        let kind = |expression: &Expression| self.kind(expression, levels);
        let if_numbers = |kinds: &[Kind], given: Kind| match kinds.iter().all(|kind| *kind == Kind::Number) {
            true => given,
            false => Kind::Any,
        };
        match expression {
            Expression::Number(_) => Kind::Number,
            Expression::Bool(_) => Kind::Truth,
            Expression::Unary(Unary::Negate | Unary::Plus, operand) => {
                if_numbers(&[kind(operand)], Kind::Number)
            }
            Expression::Unary(Unary::Not, operand) if kind(operand) != Kind::Any => Kind::Truth,
            Expression::Binary(operator, left, right) => {
                if_numbers(&[kind(left), kind(right)], of_two_numbers(*operator))
            }
            Expression::Logical(Logical::And | Logical::Or, left, right)
                if kind(left) == Kind::Truth && kind(right) == Kind::Truth =>
            {
                Kind::Truth
            }
            Expression::Conditional(test, first, second) if kind(test) != Kind::Any => {
                let (first, second) = (kind(first), kind(second));
                if first == second { first } else { Kind::Any }
            }
            Expression::Global(global, arguments) => match function(*global, arguments) {
                Some(Function::Number(argument) | Function::Unary(_, argument)) => {
                    if_numbers(&[kind(argument)], Kind::Number)
                }
                Some(Function::Extreme(_, first, second)) => {
                    if_numbers(&[kind(first), kind(second)], Kind::Number)
                }
                None => Kind::Any,
            },
            other if self.local(other).is_some() => Kind::Number,
            _ => Kind::Any,
        }
    }
}

/// What an operator gives of two numbers.
fn of_two_numbers(operator: Binary) -> Kind {
    match operator {
        // It looks into objects.
        Binary::In => Kind::Any,
        Binary::Add => Kind::Number,
        _ if is_arithmetic(operator) => Kind::Number,
        _ if is_comparison(operator) => Kind::Truth,
        _ => Kind::Any,
    }
}

impl FunctionBuilder<'_> {
    /// The value of an expression that is a number.
    fn form_number(&mut self, expression: &Expression, operands: Operands) {
        if let Some(local) = operands.local(expression) {
            self.instructions().local_get(local);
            return;
        }
        match expression {
            Expression::Number(number) => {
                self.instructions().f64_const((*number).into());
            }
            Expression::Unary(operator, operand) => {
                self.form_number(operand, operands);
                if *operator == Unary::Negate {
                    self.instructions().f64_neg();
                }
            }
            Expression::Binary(operator, left, right) => {
                self.form_number(left, operands);
                self.form_number(right, operands);
                self.arithmetic(*operator);
            }
            Expression::Conditional(test, first, second) => {
                self.form_truth(test, operands);
                self.branches(
                    ValType::F64,
                    |this| this.form_number(first, operands),
                    |this| this.form_number(second, operands),
                );
            }
            Expression::Global(global, arguments) => match function(*global, arguments) {
                Some(Function::Number(argument)) => self.form_number(argument, operands),
                Some(Function::Unary(global, argument)) => {
                    if !is_instruction(global) {
                        self.integer(global.number());
                    }
                    self.form_number(argument, operands);
                    self.function_of_number(global);
                }
                Some(Function::Extreme(global, first, second)) => {
                    self.form_number(first, operands);
                    self.form_number(second, operands);
                    self.extreme(global);
                }
                None => {}
            },
            _ => {}
        }
    }

    /// Whether an expression that is a number or a truth value is truthy, as 0 or 1.
    fn form_truth(&mut self, expression: &Expression, operands: Operands) {
        match expression {
            Expression::Bool(value) => self.integer(u32::from(*value)),
            Expression::Unary(Unary::Not, operand) => {
                self.form_truth(operand, operands);
                self.instructions().i32_eqz();
            }
            Expression::Binary(operator, left, right) if of_two_numbers(*operator) == Kind::Truth => {
                self.form_number(left, operands);
                self.form_number(right, operands);
                self.comparison(*operator);
            }
            Expression::Logical(operator, left, right) => {
                self.form_truth(left, operands);
                self.both_or_either(*operator, |this| this.form_truth(right, operands));
            }
            Expression::Conditional(test, first, second) => {
                self.form_truth(test, operands);
                self.branches(
                    ValType::I32,
                    |this| this.form_truth(first, operands),
                    |this| this.form_truth(second, operands),
                );
            }
            _ => {
                self.form_number(expression, operands);
                self.truth_of_number();
            }
        }
    }
}
