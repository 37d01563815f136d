//! JavaScript: code of the user's own, executed by the engine in the run's sandbox.
//!
//! The node's function gives the code one object, `{input, params, item}` (the engine adds `log`), and carries what
//! the code waits for (`fetch`, files, kept values, timers) to the run loop. Knows nothing of how the engine is reached.

use super::component::by_ports;
use super::parameters::required;
use crate::failure::Failure;
use crate::node::{Context, NodeResult, Outcome, Request, Script, Scripted};
use heddle_contract::abi::code;
use heddle_values::{JSON_DEPTH_MAX, Object, Text, Value};

/// What is nested more deeply can reach the end of the engine's stack, in `JSON.stringify` for example.
const COMPILED_DEPTH_MAX: usize = 100;

/// JavaScript: calls the default function of the module `code`. `ports` is set by the compiler for a definition
/// with several outputs: the function's result is then an object of their values. So is `compiled`, for code that can be,
/// and `rest`, if `compiled` is only what the code computes first: the module to be executed with that value.
pub fn javascript(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let Value::String(source) = required(parameters, "code", "the text of a module")? else {
        return Err(Failure::new(
            code::PARAMETER,
            "Parameter `code` takes the text of a module.",
        ));
    };
    let params = match parameters.get("params") {
        None | Some(Value::Undefined | Value::Null) => Value::Object(Object::new()),
        Some(params) => params.clone(),
    };
    let (input, item) = (context.input(), context.item());
    if let Some(value) = compiled(parameters, [&input, &params, &item], context) {
        let Some(Value::String(rest)) = parameters.get("rest") else {
            return by_ports(parameters, value, code::JAVASCRIPT, "code").map(Outcome::Emit);
        };
        let none = Value::Object(Object::new());
        match call(rest, [value.clone(), none, value], context)? {
            // All that the code is given may be less.
            Scripted::TooLarge(_) => {}
            scripted => return carry(parameters, scripted, context),
        }
    }
    let scripted = call(source, [input, params, item], context)?;
    carry(parameters, scripted, context)
}

/// Calls a module's function, which is given `input`, `params` and `item`.
fn call(
    source: &Text,
    [input, params, item]: [Value; 3],
    context: &mut dyn Context,
) -> Result<Scripted, Failure> {
    let argument = Object::from_iter([("input", input), ("params", params), ("item", item)]);
    context.javascript(Script::Call {
        source,
        argument: Value::Object(argument),
    })
}

/// What the code gives, or computes first, where the compiler has compiled it, with `compiled` as a function value. What fails there
/// is executed by the engine: it has done nothing yet, and its errors are then the engine's. So is what has values that the
/// engine sees otherwise, such as times, or deeper than it takes.
fn compiled(parameters: &Object, given: [&Value; 3], context: &mut dyn Context) -> Option<Value> {
    let Some(Value::Function(function)) = parameters.get("compiled") else {
        return None;
    };
    let is_plain = |value: &&Value| {
        matches!(value, Value::Undefined) || (value.is_json() && !value.deeper_than(COMPILED_DEPTH_MAX))
    };
    let [_, params, _] = given;
    if !given.iter().all(is_plain) {
        return None;
    }
    let value = context.call_pair(*function, params, &Value::Undefined).ok()?;
    (!value.deeper_than(JSON_DEPTH_MAX)).then_some(value)
}

/// Goes on when something that the code waits for is there.
fn resume(
    parameters: &Object,
    call: u32,
    request: u32,
    result: Result<Value, Failure>,
    context: &mut dyn Context,
) -> NodeResult {
    let scripted = context.javascript(Script::Resume {
        call,
        request,
        result,
    })?;
    carry(parameters, scripted, context)
}

fn carry(parameters: &Object, scripted: Scripted, context: &mut dyn Context) -> NodeResult {
    let (call, requests) = match scripted {
        Scripted::Value(value) => {
            return by_ports(parameters, value, code::JAVASCRIPT, "code").map(Outcome::Emit);
        }
        Scripted::Waits { call, requests } => (call, requests),
        Scripted::TooLarge(failure) => return Err(failure),
    };
    let Value::Array(requests) = requests else {
        return Err(broken());
    };
    let requests = requests.iter().map(|request| wanted(request, context));
    Ok(Outcome::Wait {
        call,
        requests: requests.collect::<Result<_, _>>()?,
        resume,
    })
}

/// A request as the engine has written it, as an effect.
fn wanted(request: &Value, context: &dyn Context) -> Result<Request, Failure> {
    let Value::Object(request) = request else {
        return Err(broken());
    };
    let (Some(Value::Number(id)), Some(Value::String(kind))) = (request.get("id"), request.get("kind"))
    else {
        return Err(broken());
    };
    let id = *id as u32;
    let mut content = request.get("request").cloned().unwrap_or_default();
    let kind = match kind.as_str() {
        Some("http") => "http",
        Some("file") => "file",
        Some("file-piece") => "file-piece",
        Some("key-value") => "key-value",
        Some("sleep") => "sleep",
        _ => return Err(broken()),
    };
    if let ("http", Value::Object(content)) = (kind, &mut content) {
        // The same in every attempt: code that does the same again asks in the same order.
        let key = format!("{}/{id}", context.execution_key());
        content.insert("idempotencyKey", Value::from(key));
    }
    Ok(Request {
        id,
        kind,
        request: content,
    })
}

fn broken() -> Failure {
    Failure::new(code::INTERNAL, "The JavaScript engine's answer can't be read.")
}
