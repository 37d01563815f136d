//! What a failing call says.

use crate::Sandbox;
use serde_json::json;

#[test]
fn failures_say_what_was_called_on_what() {
    let sandbox = Sandbox::new();
    let message = |source| {
        let outcome = sandbox.evaluate(source, &json!({"n": 3, "map": "m", "list": [1, 0, 2]}));
        outcome.unwrap().error.unwrap().message
    };
    assert_eq!(
        message("$input.n.toUpperCase()"),
        "`.toUpperCase` is not a function of the number 3 in `$input.n.toUpperCase()` (parameter `value`; `$input` is an object with n, map, list)"
    );
    assert!(message("$input.map(1)").starts_with("`.map` is not a function: it is the string \"m\""));
    assert!(message("$input.x.map(1)").starts_with("Cannot read properties of undefined (reading 'map')"));
    assert!(message("$input.list.map(3)").starts_with("the number 3 is not a function"));
}

#[test]
fn a_failing_function_ends_the_method() {
    let sandbox = Sandbox::new();
    // The second element fails; the third one would never end in time.
    let source =
        "$input.map(x => x === 0 ? null.x : x < 2 || $input.map(a => $input.map(b => $input.map(c => c))))";
    let mut list = vec![1, 0];
    list.extend(vec![2; 1_000]);
    let outcome = sandbox.evaluate(source, &json!(list)).unwrap();
    let message = outcome.error.unwrap().message;
    assert!(
        message.starts_with("Cannot read properties of null (reading 'x')"),
        "{message}"
    );
}
