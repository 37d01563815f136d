//! Functions among arguments: parameters, captures, destructuring, bodies, failures, memory.

use crate::{Sandbox, assert_as_in_javascript, output_of};
use serde_json::json;

#[test]
fn parameters_and_captures() {
    assert_as_in_javascript(
        &json!({"list": [3, 1, 2], "rows": [{"k": "a", "v": [1, 2]}, {"k": "b", "v": [3]}]}),
        &[
            "$input.list.map(x => x * 2)",
            "$input.list.map((x, i) => [i, x])",
            "$input.list.map((x, i, all) => all.length + x + i)",
            "$input.list.map(() => 1)",
            "$input.list.map((x, i, all, more, evenMore) => [more, evenMore])",
            "$input.rows.map(row => row.v.map(v => row.k + v))",
            "$input.rows.map((row, i) => row.v.map((v, j) => $input.list.map(x => [i, j, x, v, row.k])))",
            "$input.list.map(Math => Math.PI)",
            "$input.list.map($input => $input)",
            "$input.list.map(undefined => undefined)",
            "$input.list.map(x => $input.list.map(x => x)[0] + x)",
            "$input.list.map(function (x) { return x + 1; })",
            "$input.list.map(Math.max)",
            "$input.nothing?.map(x => x.y.z)",
        ],
    );
}

#[test]
fn destructuring_and_defaults() {
    assert_as_in_javascript(
        &json!({"rows": [{"k": "a", "v": [1, 2]}, {"k": "b"}], "pairs": [["x", 1], "yz", ["w"]], "none": [null]}),
        &[
            "$input.rows.map(({ k }) => k)",
            "$input.rows.map(({ k: name, v: [first] = [9] }) => [name, first])",
            "$input.rows.map(({ ['k']: name, 'v': v = name }, i) => [name, v, i])",
            "$input.pairs.map(([a, b = 5]) => [a, b])",
            "$input.pairs.map(([, second, ...rest]) => [second, rest])",
            "$input.pairs.map(({ length }) => length)",
            "$input.pairs.map((x, i, all, d = 4) => d)",
            "$input.rows.map((x = 1, y = x) => y)",
            "$input.none.map(({ k }) => 1)",
            "$input.none.map(([k]) => 1)",
            "$input.rows.map(([k]) => 1)",
            "$input.rows.map(({ k }) => $input.pairs.map(([a]) => a + k))",
        ],
    );
}

#[test]
fn bodies_that_are_one_value() {
    assert_as_in_javascript(
        &json!({"list": [3, 1, 2, 0]}),
        &[
            "$input.list.map(x => { return x; })",
            "$input.list.map(x => {})",
            "$input.list.map(x => { return; })",
            "$input.list.map(x => { const y = x + 1, z = y * 2; return { x, y, z }; })",
            "$input.list.map(x => { if (x > 1) return 'big'; return 'small'; })",
            "$input.list.map(x => { if (x > 1) { const a = x; return a; } else if (x) { return 'one' } const b = 'none'; return b; })",
            "$input.list.map(x => { if (x > 1) {} else return 0; return x; })",
            "$input.list.map(x => { const { length } = 'abc'; const y = $input.list.map(z => z + length + x); return y; })",
            "$input.list.map(x => { { const y = x; return y } })",
        ],
    );
}

#[test]
fn memory_does_not_grow_with_the_number_of_calls() {
    let sandbox = Sandbox::new();
    let list: Vec<u32> = (0..100_000).collect();
    let source = "$input.map(x => ({ a: [x, x, x], b: 'text ' + x }).b.toUpperCase() === '' || x + 1)";
    let outcome = sandbox.evaluate(source, &json!(list)).unwrap();
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    assert_eq!(output_of(&outcome)[99_999], json!(100_000));
}
