//! Methods and global functions: how calls look, whatever they call.

use crate::assert_as_in_javascript;
use serde_json::json;

#[test]
fn calls_look_as_in_javascript() {
    assert_as_in_javascript(
        &json!({"name": "ann", "none": null, "list": [3, 1, 2], "n": 7}),
        &[
            "$input.name.toUpperCase()",
            "$input['name']['toUpperCase']()",
            "$input.none?.toUpperCase()",
            "$input.none?.a.b.toUpperCase()",
            "$input.none.toUpperCase()",
            "$input.name.toUpperCase?.()",
            "$input.n.toUpperCase?.()",
            "$input.n.toUpperCase()",
            "$input.none.toUpperCase?.()",
            "$input.none?.toUpperCase?.()",
            "$input.toUpperCase()",
            "$input.toUpperCase?.()",
            "Math.max(1, 2)",
            "Math.max()",
            "Math.max(...$input.list)",
            "Math.max(1, ...$input.list, 2, 9)",
            "Math.max(1, 2, 3, 4, 5)",
            "Math.max(...$input.n)",
            "Math.PI + Number.MAX_SAFE_INTEGER",
        ],
    );
}
