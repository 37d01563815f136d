//! Numbers and truth values that stay on WebAssembly's operand stack within an expression, without a handle of the guest.
//!
//! What they are is known from the expression alone: `a * b` is a number whatever `a` and `b` are. Operands are converted
//! in JavaScript's order, all of them after the last is evaluated, since the first failure is the one that is told.

use super::body::FunctionBuilder;
use crate::expression::{Binary, Element, Expression, Logical, Name, Unary};
use heddle_contract::abi;
use heddle_values::methods::{Global, function_of_number};
use wasm_encoder::ValType;

/// What an expression is, whatever it is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A value behind a handle.
    Any,
    /// WebAssembly's own `f64`.
    Number,
    /// `true` or `false`.
    Truth,
}

/// Levels of an expression that are looked at for its kind, so that this takes time in proportion to its size.
const LEVELS_MAX: u32 = 16;

/// The kind of an expression.
pub(super) fn kind(expression: &Expression) -> Kind {
    kind_within(expression, LEVELS_MAX)
}

fn kind_within(expression: &Expression, levels: u32) -> Kind {
    let Some(levels) = levels.checked_sub(1) else {
        return Kind::Any;
    };
    let both =
        |first, second, wanted| kind_within(first, levels) == wanted && kind_within(second, levels) == wanted;
    let is = |kind, holds| if holds { kind } else { Kind::Any };
    match expression {
        Expression::Number(_) => Kind::Number,
        Expression::Bool(_) => Kind::Truth,
        Expression::Unary(Unary::Negate | Unary::Plus, _) => Kind::Number,
        Expression::Unary(Unary::Not, _) => Kind::Truth,
        Expression::Binary(Binary::Add, left, right) => is(Kind::Number, both(left, right, Kind::Number)),
        Expression::Binary(operator, ..) if is_arithmetic(*operator) => Kind::Number,
        Expression::Binary(operator, ..) => is(Kind::Truth, is_comparison(*operator)),
        Expression::Logical(Logical::And | Logical::Or, left, right) => {
            is(Kind::Truth, both(left, right, Kind::Truth))
        }
        Expression::Conditional(_, first, second) => match kind_within(first, levels) {
            kind if kind == kind_within(second, levels) => kind,
            _ => Kind::Any,
        },
        Expression::Global(global, arguments) => is(Kind::Number, function(*global, arguments).is_some()),
        _ => Kind::Any,
    }
}

pub(super) fn is_arithmetic(operator: Binary) -> bool {
    matches!(
        operator,
        Binary::Subtract | Binary::Multiply | Binary::Divide | Binary::Remainder | Binary::Power
    )
}

pub(super) fn is_comparison(operator: Binary) -> bool {
    is_relation(operator)
        || matches!(
            operator,
            Binary::Equal | Binary::NotEqual | Binary::StrictEqual | Binary::StrictNotEqual | Binary::In
        )
}

fn is_relation(operator: Binary) -> bool {
    matches!(
        operator,
        Binary::Less | Binary::LessEqual | Binary::Greater | Binary::GreaterEqual
    )
}

/// A global function of numbers, by its arguments.
pub(super) enum Function<'e> {
    /// `Number(a)`
    Number(&'e Expression),
    /// Of one number.
    Unary(Global, &'e Expression),
    /// `Math.max(a, b)`, `Math.min(a, b)`
    Extreme(Global, &'e Expression, &'e Expression),
}

pub(super) fn function(global: Global, arguments: &[Element]) -> Option<Function<'_>> {
    match arguments {
        [Element::Item(argument)] if global == Global::Number => Some(Function::Number(argument)),
        [Element::Item(argument)] if function_of_number(global).is_some() => {
            Some(Function::Unary(global, argument))
        }
        [Element::Item(first), Element::Item(second)]
            if matches!(global, Global::MathMax | Global::MathMin) =>
        {
            Some(Function::Extreme(global, first, second))
        }
        _ => None,
    }
}

/// Whether evaluating it can't fail, so that it may be done after something before it is converted.
fn never_fails(expression: &Expression) -> bool {
    matches!(
        expression,
        Expression::Number(_)
            | Expression::Undefined
            | Expression::Null
            | Expression::Bool(_)
            | Expression::Parameter { .. }
            | Expression::Name(Name::Input | Name::Item | Name::Index | Name::First | Name::Second)
    )
}

fn is_literal(expression: &Expression) -> bool {
    matches!(expression, Expression::Number(_) | Expression::Bool(_))
}

/// Whether a function of one number is an instruction.
pub(super) fn is_instruction(global: Global) -> bool {
    matches!(
        global,
        Global::MathAbs | Global::MathCeil | Global::MathFloor | Global::MathSqrt | Global::MathTrunc
    )
}

/// Whether it is a number, or truth, that is worked out without a handle.
fn is_computed(expression: &Expression) -> bool {
    kind(expression) != Kind::Any && !is_literal(expression)
}

impl FunctionBuilder<'_> {
    /// The handle of an expression that is a number or a truth value; whether it is worked out here. What is one call of the
    /// guest as it stands is better off as that.
    pub(super) fn computed(&mut self, expression: &Expression) -> bool {
        let worth = match expression {
            Expression::Unary(Unary::Negate, operand) if matches!(**operand, Expression::Number(_)) => false,
            Expression::Unary(_, operand) => is_computed(operand),
            Expression::Binary(operator, left, right) if is_relation(*operator) => {
                kind(left) == Kind::Number || kind(right) == Kind::Number
            }
            Expression::Binary(_, left, right) => is_computed(left) || is_computed(right),
            Expression::Conditional(_, first, second) => is_computed(first) || is_computed(second),
            Expression::Global(..) | Expression::Logical(..) => true,
            _ => false,
        };
        match kind(expression) {
            Kind::Number if worth => {
                self.number_of(expression);
                self.call("from_number");
            }
            Kind::Truth if worth && self.truth_is_computed(expression) => {
                self.truth(expression);
                self.instructions().i32_const(abi::FALSE).i32_add();
            }
            _ => return false,
        }
        true
    }

    /// Whether there is more to a truth value than a call of the guest that gives its handle.
    fn truth_is_computed(&self, expression: &Expression) -> bool {
        match expression {
            Expression::Binary(operator, left, right) => is_unboxed_comparison(*operator, left, right),
            _ => true,
        }
    }

    /// ToNumber of an expression.
    pub(super) fn number_of(&mut self, expression: &Expression) {
        stacker::maybe_grow(
            super::expression::STACK_LEFT_BYTES,
            super::expression::STACK_GROWTH_BYTES,
            || self.number_tree(expression),
        );
    }

    fn number_tree(&mut self, expression: &Expression) {
        match expression {
            Expression::Number(number) => self.float(*number),
            Expression::Undefined => self.float(f64::NAN),
            Expression::Null => self.float(0.0),
            Expression::Bool(value) => self.float(f64::from(u8::from(*value))),
            Expression::Unary(Unary::Negate, operand) => {
                self.number_of(operand);
                self.instructions().f64_neg();
            }
            Expression::Unary(Unary::Plus, operand) => self.number_of(operand),
            Expression::Parameter { up, index } => {
                self.integer(*up);
                self.integer(*index);
                self.call("parameter_number");
            }
            Expression::Name(Name::Input) => self.call("input_number"),
            Expression::Name(Name::Item) => self.call("item_number"),
            Expression::Binary(operator, left, right) if kind(expression) == Kind::Number => {
                self.operands(left, right);
                self.arithmetic(*operator);
            }
            Expression::Conditional(test, first, second) if kind(expression) == Kind::Number => {
                self.truth(test);
                self.branches(
                    ValType::F64,
                    |this| this.number_of(first),
                    |this| this.number_of(second),
                );
            }
            Expression::Global(global, arguments) => match function(*global, arguments) {
                Some(function) => self.number_function(&function),
                None => self.converted(expression),
            },
            _ if kind(expression) == Kind::Truth => {
                self.truth(expression);
                self.instructions().f64_convert_i32_u();
            }
            _ => self.converted(expression),
        }
    }

    fn converted(&mut self, expression: &Expression) {
        self.expression(expression);
        self.call("number_of");
    }

    fn number_function(&mut self, function: &Function<'_>) {
        match function {
            Function::Number(argument) => self.number_of(argument),
            Function::Extreme(global, first, second) => {
                self.operands(first, second);
                self.extreme(*global);
            }
            Function::Unary(global, argument) => {
                if !is_instruction(*global) {
                    self.integer(global.number());
                }
                self.number_of(argument);
                self.function_of_number(*global);
            }
        }
    }

    /// An operator on the two numbers on the operand stack.
    pub(super) fn arithmetic(&mut self, operator: Binary) {
        match operator {
            Binary::Add => {
                self.instructions().f64_add();
            }
            Binary::Subtract => {
                self.instructions().f64_sub();
            }
            Binary::Multiply => {
                self.instructions().f64_mul();
            }
            Binary::Divide => {
                self.instructions().f64_div();
            }
            Binary::Remainder => self.call("remainder_of"),
            _ => self.call("power_of"),
        }
    }

    /// A comparison of the two numbers on the operand stack.
    pub(super) fn comparison(&mut self, operator: Binary) {
        let mut code = self.instructions();
        match operator {
            Binary::Less => code.f64_lt(),
            Binary::LessEqual => code.f64_le(),
            Binary::Greater => code.f64_gt(),
            Binary::GreaterEqual => code.f64_ge(),
            Binary::NotEqual | Binary::StrictNotEqual => code.f64_ne(),
            _ => code.f64_eq(),
        };
    }

    /// `Math.max` or `Math.min` of the two numbers on the operand stack.
    pub(super) fn extreme(&mut self, global: Global) {
        match global {
            Global::MathMax => self.instructions().f64_max(),
            _ => self.instructions().f64_min(),
        };
    }

    /// A function of the number on the operand stack, below which is the function's own number unless it is an instruction.
    pub(super) fn function_of_number(&mut self, global: Global) {
        match global {
            Global::MathAbs => {
                self.instructions().f64_abs();
            }
            Global::MathCeil => {
                self.instructions().f64_ceil();
            }
            Global::MathFloor => {
                self.instructions().f64_floor();
            }
            Global::MathSqrt => {
                self.instructions().f64_sqrt();
            }
            Global::MathTrunc => {
                self.instructions().f64_trunc();
            }
            _ => self.call("math"),
        }
    }

    /// Whether the number on the operand stack is neither 0 nor NaN.
    pub(super) fn truth_of_number(&mut self) {
        self.instructions().f64_abs().f64_const(0.0.into()).f64_gt();
    }

    /// ToNumber of both operands, after both are evaluated.
    fn operands(&mut self, left: &Expression, right: &Expression) {
        if kind(left) != Kind::Any || never_fails(right) {
            self.number_of(left);
            return self.number_of(right);
        }
        self.expression(left);
        if kind(right) == Kind::Any {
            self.expression(right);
            let value = self.local();
            self.instructions().local_set(value);
            self.call("number_of");
            self.take(value);
            return self.call("number_of");
        }
        self.number_of(right);
        let number = self.number_local();
        self.instructions().local_set(number);
        self.call("number_of");
        self.take_number(number);
    }

    /// Whether the expression is truthy, as 0 or 1.
    pub(super) fn truth(&mut self, expression: &Expression) {
        stacker::maybe_grow(
            super::expression::STACK_LEFT_BYTES,
            super::expression::STACK_GROWTH_BYTES,
            || self.truth_tree(expression),
        );
    }

    fn truth_tree(&mut self, expression: &Expression) {
        match expression {
            Expression::Bool(value) => self.integer(u32::from(*value)),
            Expression::Unary(Unary::Not, operand) => {
                self.truth(operand);
                self.instructions().i32_eqz();
            }
            Expression::Binary(operator, left, right) if is_unboxed_comparison(*operator, left, right) => {
                self.operands(left, right);
                self.comparison(*operator);
            }
            Expression::Binary(operator, ..) if is_comparison(*operator) => {
                // Of the handles that there can be, `undefined` after a failure, `false` and `true`, only the last is odd.
                self.expression(expression);
                self.instructions().i32_const(abi::TRUE & !abi::FALSE).i32_and();
            }
            Expression::Logical(operator @ (Logical::And | Logical::Or), left, right) => {
                self.truth(left);
                self.both_or_either(*operator, |this| this.truth(right));
            }
            Expression::Conditional(test, first, second) => {
                self.truth(test);
                self.branches(ValType::I32, |this| this.truth(first), |this| this.truth(second));
            }
            _ if kind(expression) == Kind::Number => {
                self.number_of(expression);
                self.truth_of_number();
            }
            _ => {
                self.expression(expression);
                self.call("truthy");
            }
        }
    }

    fn float(&mut self, number: f64) {
        self.instructions().f64_const(number.into());
    }
}

/// Whether numbers are compared. A relation with one number compares numbers, whatever the other one is; equality needs two.
fn is_unboxed_comparison(operator: Binary, left: &Expression, right: &Expression) -> bool {
    let (left, right) = (kind(left) == Kind::Number, kind(right) == Kind::Number);
    match operator {
        Binary::In => false,
        _ if is_relation(operator) => left || right,
        _ => is_comparison(operator) && left && right,
    }
}
