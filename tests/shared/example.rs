//! Holding what a run gave against the output of an example of the catalogue. Knows nothing of how it was executed.

use serde_json::Value;

/// Whether this is what the example says. `…` in one of its texts stands for any text.
pub fn fits(expected: &Value, given: &Value) -> bool {
    match (expected, given) {
        (Value::String(expected), Value::String(given)) => text_fits(expected, given),
        (Value::Array(expected), Value::Array(given)) => {
            expected.len() == given.len()
                && expected
                    .iter()
                    .zip(given)
                    .all(|(expected, given)| fits(expected, given))
        }
        (Value::Object(expected), Value::Object(given)) => {
            expected.len() == given.len()
                && expected
                    .iter()
                    .all(|(name, expected)| given.get(name).is_some_and(|given| fits(expected, given)))
        }
        _ => expected == given,
    }
}

fn text_fits(expected: &str, given: &str) -> bool {
    let Some((start, rest)) = expected.split_once('…') else {
        return expected == given;
    };
    let Some(given) = given.strip_prefix(start) else {
        return false;
    };
    let places = given.char_indices().map(|(at, _)| at).chain([given.len()]);
    places.into_iter().any(|at| text_fits(rest, &given[at..]))
}

#[test]
fn an_ellipsis_stands_for_any_text() {
    assert!(text_fits("<…@example.com>", "<1@example.com>"));
    assert!(text_fits("…-…-7…", "019a-9f3a-7b6e"));
    assert!(!text_fits("…-…-7…", "019a-9f3a-8b6e"));
    assert!(!text_fits("…b", "abc"));
}
