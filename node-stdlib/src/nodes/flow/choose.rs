//! If and Switch: by which way the input leaves.

use super::super::parameters::{array, boolean, choice, given, mismatch, required};
use super::comparison::{compare, same};
use crate::failure::Failure;
use crate::node::{Context, Emission, NodeResult, Outcome};
use heddle_contract::abi::code;
use heddle_values::{Object, Value};

const TRUE_PORT: u32 = 0;
const FALSE_PORT: u32 = 1;

/// If: outputs 0 `true`, 1 `false`.
pub fn if_node(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let port = if condition(parameters)? {
        TRUE_PORT
    } else {
        FALSE_PORT
    };
    Ok(Outcome::Emit(Emission::one(port, context.through())))
}

/// `condition`, which may well be undefined, or else `conditions`.
fn condition(parameters: &Object) -> Result<bool, Failure> {
    match (parameters.get("condition"), array(parameters, "conditions")?) {
        (Some(_), Some(_)) => {
            let message = "Both `condition` and `conditions` are given; leave one of them out.";
            Err(Failure::new(code::PARAMETER, message))
        }
        (Some(condition), None) => Ok(condition.truthy()),
        (None, Some(conditions)) => combined(parameters, conditions),
        (None, None) => {
            let message = "Neither `condition` nor `conditions` is given; there is nothing to decide by.";
            Err(Failure::new(code::PARAMETER, message))
        }
    }
}

fn combined(parameters: &Object, conditions: &[Value]) -> Result<bool, Failure> {
    let any = choice(parameters, "combine", &["all", "any"], "all")? == "any";
    for (index, condition) in conditions.iter().enumerate() {
        let at = format!("conditions[{index}]");
        if comparison(condition, &at)? == any {
            return Ok(any);
        }
    }
    Ok(!any)
}

fn comparison(condition: &Value, at: &str) -> Result<bool, Failure> {
    let Value::Object(condition) = condition else {
        return Err(mismatch(at, "an object {left, operator, right}", condition));
    };
    let side = |name: &str| condition.get(name).cloned().unwrap_or_default();
    let operator = match given(condition, "operator") {
        Some(Value::String(operator)) => operator.to_utf8(),
        other => {
            let operator = other.cloned().unwrap_or_default();
            return Err(mismatch(
                &format!("{at}.operator"),
                "the name of a comparison",
                &operator,
            ));
        }
    };
    compare(&side("left"), &operator, &side("right"), at)
}

/// Switch: case `i` leaves by output `i`; `default` is the last output.
pub fn switch(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    required(parameters, "cases", "an array")?;
    let cases = array(parameters, "cases")?.map_or(&[][..], |cases| cases);
    let all = boolean(parameters, "all", false)?;
    let own = parameters.get("value").cloned();
    let value = own.unwrap_or_else(|| context.input());
    let mut ports = Vec::new();
    for (port, case) in (0..).zip(cases) {
        if fits(case, &value, &format!("cases[{port}]"), context)? {
            ports.push(port);
            if !all {
                break;
            }
        }
    }
    if ports.is_empty() {
        ports.push(u32::try_from(cases.len()).unwrap_or(u32::MAX));
    }
    let passed = context.through();
    let emission = ports.into_iter().map(|port| (port, passed.clone())).collect();
    Ok(Outcome::Emit(Emission(emission)))
}

fn fits(case: &Value, value: &Value, at: &str, context: &mut dyn Context) -> Result<bool, Failure> {
    let Value::Object(case) = case else {
        return Err(mismatch(at, "an object {name, equals} or {name, when}", case));
    };
    let (equals, when) = (case.get("equals"), case.get("when"));
    if equals.is_none() && when.is_none() {
        let message =
            format!("Parameter `{at}` has neither `equals` nor `when`; there is nothing to choose by.");
        return Err(Failure::new(code::PARAMETER, message));
    }
    if equals.is_some_and(|equals| !same(value, equals)) {
        return Ok(false);
    }
    match when {
        Some(Value::Function(function)) => Ok(context.call_plain(*function)?.truthy()),
        Some(constant) => Ok(constant.truthy()),
        None => Ok(true),
    }
}
