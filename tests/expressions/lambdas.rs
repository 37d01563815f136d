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
            "$input.rows.map(({ [$input.rows[1].k]: b = 1, [`k`]: k = b, [1 + 1]: c = k }) => [b, k, c])",
            "$input.pairs.map(({ [[0].map(({ [0 + 0]: x = 1 }) => x)[0]]: y = 2 }) => y)",
            "$input.pairs.map(([a, b = 5]) => [a, b])",
            "$input.pairs.map(([, second, ...rest]) => [second, rest])",
            "$input.pairs.map(({ length }) => length)",
            "$input.pairs.map((x, i, all, d = 4) => d)",
            "$input.rows.map((x = 1, y = x) => y)",
            "$input.none.map(({ k }) => 1)",
            "$input.none.map(([k]) => 1)",
            "$input.none.map(({}) => 1)",
            "$input.rows.map(({}) => 1)",
            "$input.rows.map(([k]) => 1)",
            "$input.rows.map(({ k }) => $input.pairs.map(([a]) => a + k))",
        ],
    );
}

#[test]
fn calls_see_nothing_of_the_one_before() {
    assert_as_in_javascript(
        &json!({"list": [3, 1, 2, 0], "none": []}),
        &[
            "$input.list.toSorted((a, b, c = 5, d = c) => { const e = c + d; return e === 10 ? a - b : 0; })",
            "$input.list.map((x, i, all, d = x) => { const y = d; return [y, all.length]; })",
            "$input.list.map((x, i, all, d, e) => { const y = e ?? x; return [y, d]; })",
            "$input.list.map(x => $input.list.reduce((sum, y) => sum + y * x, x))",
            "$input.list.map(x => [$input.list.filter((y, i, all) => y > x && all.length > i), x])",
            "$input.list.map((x, i, all) => [$input.none.map(y => y), $input.list.find(y => y < x), all[i]])",
            "$input.list.reduce((sum, x, i, all) => [...[sum].flat(), x, i, all.length])",
            "$input.list.reduceRight((found, x, i) => found.concat([[x, i]]), [])",
            "$input.list.reduceRight((a, b) => a - b)",
            "$input.list.some((x, i) => { const y = x > 2; return y && i === 0; })",
            "$input.list.every(x => $input.list.some(y => y === x))",
            "'a-b-c'.replace(/-/g, (found, at) => $input.list.map(x => x + at).join(''))",
        ],
    );
}

#[test]
fn functions_of_numbers_called_with_numbers_and_with_others() {
    assert_as_in_javascript(
        &json!({"numbers": [3, -0.5, 0, 1e300, 7], "mixed": [1, "2", null, true, [4], {}, -3]}),
        &[
            "$input.numbers.map((x, i) => x * 2 + i)",
            "$input.mixed.map((x, i) => x * 2 + i)",
            "$input.mixed.map((x, i) => x + i)",
            "$input.numbers.map(x => x)",
            "$input.mixed.map(x => +x)",
            "$input.numbers.map((x, i) => i)",
            "$input.numbers.map(x => 1)",
            "$input.numbers.map(x => x / 0)",
            "$input.numbers.map(x => x * 1e300)",
            "$input.numbers.map(x => x > 1 ? Math.max(x, 4) : -x)",
            "$input.numbers.map(x => Math.round(x) ** 2 % 5 - Math.sqrt(x))",
            "$input.numbers.map(x => x > 1 || x === 0)",
            "$input.mixed.map(x => x > 1 || x === 0)",
            "$input.numbers.map(x => x && x > 1)",
            "$input.numbers.map(x => !x)",
            "$input.numbers.map(x => !(x > 1 && x != 7))",
            "$input.numbers.map((x, i) => Number(x) >= i)",
            "$input.numbers.map(x => $input.numbers.map(y => x + y))",
            "$input.numbers.map(x => $input.numbers.map(y => y * y)[0] + x)",
            "$input.numbers.reduce((a, b) => a + b)",
            "$input.numbers.reduce((a, b) => a + b, '')",
            "$input.mixed.reduce((a, b) => a + b)",
            "$input.mixed.reduce((a, b) => a + b, 0)",
            "$input.numbers.reduce((a, b, i) => a + b * i, 0)",
            "$input.numbers.reduceRight((a, b) => a - b)",
            "$input.numbers.reduce((a, b) => a > b ? a : b)",
            "$input.numbers.reduce((a, b) => a > b, 0)",
            "$input.numbers.filter(x => x % 2)",
            "$input.mixed.filter(x => x > 0)",
            "[$input.numbers.some(x => x < 0), $input.numbers.every(x => x < 5), $input.mixed.some(x => x < -5)]",
            "[$input.numbers.find(x => x > 3), $input.numbers.findIndex(x => x > 1e301), $input.numbers.findLast(x => x)]",
            "$input.numbers.flatMap((x, i) => x - i)",
            "$input.numbers.toSorted((a, b) => b - a)",
            "$input.mixed.toSorted((a, b) => a - b).length",
            "$input.numbers.toSorted((a, b) => a > b)",
            "Array.from({ length: 3 }, (x, i) => i * 2)",
            "Array.from([1, 2], x => x * 2)",
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
fn names_are_those_of_javascript_wherever_they_stand() {
    assert_as_in_javascript(
        &json!({"list": [3, 1, 2, 0]}),
        &[
            "$input.list.map(x => { var x; return x; })",
            "$input.list.map(x => { if (x > 1) { var Math = 0; return 1; } return Math.max(x, 2); })",
            "$input.list.map(x => { if (x < 9) { var Math = 0; return 1; } return Math.max(x, 2); })",
            "$input.list.map(x => [1].map(() => { const x = x + 1; return x; }))",
            "$input.list.map(x => { const y = Math.max(x, 2); const Math = 1; return y; })",
            "$input.list.map(x => [[]].map(([x = x]) => x))",
            "$input.list.map(function Number(x) { return x > 1 ? Number(x - 1) : x; })",
            "$input.list.map(({ length, size = length }) => size)",
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
