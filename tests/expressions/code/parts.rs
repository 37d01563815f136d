//! Code whose beginning is compiled: the same as by the engine alone.

use super::{differences, module, pattern, run};
use crate::Sandbox;
use heddle_compiler::{ExpressionRoute, Options, explain};
use serde_json::json;

/// Bodies and what of each is compiled.
const PARTS: &[(&str, &str)] = &[
    (
        "{ const rows = input.rows.filter(r => r.id); for (const r of rows) r.seen = true; return rows; }",
        "input.rows.filter(r => r.id)",
    ),
    (
        "{ const rows = input.rows.map(r => ({ ...r, price: Number(r.price) })); let sum = 0; for (const r of rows) sum += r.price; return [sum, rows]; }",
        "input.rows.map(r => ({ ...r, price: Number(r.price) }))",
    ),
    // What comes before goes, in one statement or several.
    (
        "{ const all = input.rows; const ids = all.map(r => r.id), some = ids.filter(id => id != null);\n const seen = new Set(some); return [...seen]; }",
        "ids.filter(id => id != null)",
    ),
    (
        "{ const { rows, list: numbers = [] } = input; const both = numbers.filter(n => n > 1).concat(rows.map(r => r.price)); both.push('end'); return both; }",
        "numbers.filter(n => n > 1).concat(rows.map(r => r.price))",
    ),
    // What follows in a chain.
    (
        "{ const words = input.words\n  .map(word => word.toLowerCase())\n  .sort((a, b) => a.localeCompare(b));\n return words.join(); }",
        "input.words\n  .map(word => word.toLowerCase())",
    ),
    (
        "{ const parts = input.text.split(' ').map(part => part.trim()).map(part => part.replace(/[a-c]/g, '')); return parts; }",
        "input.text.split(' ').map(part => part.trim())",
    ),
    // Other names.
    (
        "export default function ({ input: data, log, params: { length } = {} }) { const list = data.list.filter(x => x); log(list.length); return list; }",
        "",
    ),
    (
        "export default function ({ input: data, log }) { const list = data.list.filter(x => x); log(list.length); return list; }",
        "data.list.filter(x => x)",
    ),
    (
        "export default (context) => { const list = context.input.list.map(x => [x]); list[0].push(1); return list; }",
        "context.input.list.map(x => [x])",
    ),
    (
        "const LEAST = 2, TEXT = 'x';\nexport default ({ item, params }) => { const list = item.list.filter(x => x >= LEAST && params.by); list.push(TEXT); return list; }",
        "item.list.filter(x => x >= LEAST && params.by)",
    ),
    (
        "export default async ({ input }) => { const list = input.list.flatMap(x => [x, 'and']); await null; return list; }",
        "input.list.flatMap(x => [x, 'and'])",
    ),
    // Names that are declared again within.
    (
        "{ const list = input.list.map(x => x); { const input = 5; list.push(input); } return list.map(input => [input]).concat(function () { return 1; }()); }",
        "input.list.map(x => x)",
    ),
    (
        "{ let list = input.list.filter(x => x); list = list.concat([1]); list[0] = 5; return list; }",
        "input.list.filter(x => x)",
    ),
    (
        "{ const [first, ...others] = input.list.map(x => x); others.push(first); return others; }",
        "input.list.map(x => x)",
    ),
    // What fails afterwards is told with its line and column.
    (
        "{ const one = 1;\n  const list = input.list\n    .filter(x => '😀é' && x)\n    .map(x => x);  list.nothing.more; }",
        "input.list\n    .filter(x => '😀é' && x)\n    .map(x => x)",
    ),
    (
        "{ const list = input.list.map(x => x); return (() => { throw new TypeError('late ' + list.length); })(); }",
        "input.list.map(x => x)",
    ),
    // Objects that are the same stay the same.
    (
        "{ const rows = input.rows.filter(r => r); const first = rows[0]; first.changed = 1; const by = new Map(rows.map(r => [r, r.id])); return [rows, by.get(first)]; }",
        "input.rows.filter(r => r)",
    ),
    (
        "{ const list = Object.entries(input.object).map(([name, value]) => ({ name, value })); list.forEach(e => { e.name += '!'; }); return list; }",
        "Object.entries(input.object).map(([name, value]) => ({ name, value }))",
    ),
    (
        "{ const rows = input.rows.map((r, at) => { const { id, price: p = 0 } = r; return { at, id, p }; }); rows.reverse(); rows[0].x = rows; return rows.length; }",
        "input.rows.map((r, at) => { const { id, price: p = 0 } = r; return { at, id, p }; })",
    ),
    // What is built in is used in many ways.
    (
        "const { max } = Math;\nexport default ({ input }) => { const list = input.list.map(x => Math.min(x, 2)); list.push(max(1, 2), Math['abs'](-1)); return list; }",
        "input.list.map(x => Math.min(x, 2))",
    ),
    (
        "class Row { constructor(id) { this.id = id; } }\nexport default ({ input }) => { const ids = input.rows.map(r => r.id); return ids.map(id => new Row(id)); }",
        "input.rows.map(r => r.id)",
    ),
    (
        "{ const list = input.list.filter(Boolean).map(String); list.push(typeof Math, list instanceof Array, ...['1'].map(Number)); return list; }",
        "input.list.filter(Boolean).map(String)",
    ),
    // Values that JSON does not have.
    (
        "{ const list = input.list.map(x => ({ x: undefined, y: -0, z: x / 0, n: NaN, t: '\\ud800' })); return list.map(e => ['x' in e, 1 / e.y, String(e.z), e.n, e.t.length, /y/.test('y')]); }",
        "input.list.map(x => ({ x: undefined, y: -0, z: x / 0, n: NaN, t: '\\ud800' }))",
    ),
];

/// Bodies of which nothing is compiled.
const WHOLE: &[&str] = &[
    // The rest uses what the function is given, or what was computed before.
    "{ const rows = input.rows.filter(r => r.id); rows.push(input.text); return rows; }",
    "{ const rows = input.rows.filter(r => r.id); rows.push(params.by); return rows; }",
    "{ const all = input.rows; const rows = all.filter(r => r.id); all.push(1); return rows; }",
    "{ const rows = input.rows.filter(r => r.id); const f = () => input.rows; for (const r of f()) r.x = 1; return rows; }",
    "export default function f({ input }) { const list = input.list.filter(x => x > 1); list.push(1); return list.length > 2 ? f({ input: { list: [] } }) : list; }",
    "export default function ({ input }) { const list = input.list.filter(x => x > 1); list.push(arguments.length); return list; }",
    "{ const list = input.list.filter(x => x > 1); list.push(eval('input.text')); return list; }",
    // An object would be in two places.
    "{ const rows = input.rows.map(r => ({ a: r, b: r })); rows[0].a.x = 1; return rows; }",
    "{ const rows = input.rows.map(r => ({ a: r.deep, b: r })); rows[0].b.x = 1; return rows; }",
    "{ const rows = input.rows.flatMap(r => [r, r]); rows[0].x = 1; return rows; }",
    "{ const rows = input.rows.map(r => ({ all: input.rows })); rows[0].all.push(1); return rows; }",
    "{ const rows = input.rows.map(r => input.object); rows[0].x = 1; return rows; }",
    "{ const one = input.object; const rows = input.rows.map(r => [one]); rows[0][0].x = 1; return rows; }",
    "{ const rows = input.rows.map((r, at, all) => all); rows[0].push(1); return rows.length; }",
    "{ const rows = input.rows.filter(r => r).concat(input.rows.map(r => r)); rows[0].x = 1; return rows; }",
    // No function, or none that is compiled.
    "{ const rows = input.rows; for (const r of rows) r.x = 1; return rows; }",
    "{ const rows = input.rows.map(r => /x/.test(r.id)); rows.push(1); return rows; }",
    "{ if (!input) return []; const rows = input.rows.map(r => r.id); rows.push(1); return rows; }",
    "const seen = {};\nexport default ({ input }) => { const list = input.list.filter(x => !seen[x]); seen[list[0]] = true; return list; }",
    "const Number = { isInteger: () => true };\nexport default ({ input }) => { const list = input.list.filter(x => Number.isInteger(x)); list.push(1); return list; }",
    "export default ({ input = { list: [1, 2] } }) => { const list = input.list.filter(x => x > 1); list.push(1); return list; }",
    "export default function* ({ input }) { const list = input.list.filter(x => x > 1); yield list; }",
    "export default ({ input }) => { 'use strict'; const list = input.list.filter(x => x > 1); list.push(1); return list; }",
    // What is built in has another meaning.
    "String.prototype.padEnd = () => 'x';\nexport default ({ input }) => { const list = input.list.map(x => String(x).padEnd(9)); list.push(1); return list; }",
    "Number.isInteger = () => true;\nexport default ({ input }) => { const list = input.list.filter(x => Number.isInteger(x)); list.push(1); return list; }",
    "const M = Math;\nM.sign = () => 7;\nexport default ({ input }) => { const list = input.list.map(x => Math.sign(x)); list.push(1); return list; }",
    "[Math.sign] = [() => 7];\nexport default ({ input }) => { const list = input.list.map(x => Math.sign(x)); list.push(1); return list; }",
    "({ sign: Math.sign } = { sign: () => 7 });\nexport default ({ input }) => { const list = input.list.map(x => Math.sign(x)); list.push(1); return list; }",
    "for ((Math).sign of [() => 7]);\nexport default ({ input }) => { const list = input.list.map(x => Math.sign(x)); list.push(1); return list; }",
    "delete Math?.clz32;\nexport default ({ input }) => { const list = input.list.map(x => Math.clz32(x)); list.push(1); return list; }",
    "(it => { it.sign = () => 7; })(Math);\nexport default ({ input }) => { const list = input.list.map(x => Math.sign(x)); list.push(1); return list; }",
    "const { assign } = Object;\nassign(Math, { sign: () => 7 });\nexport default ({ input }) => { const list = input.list.map(x => Math.sign(x)); list.push(1); return list; }",
    "[1].forEach(function () { this.sign = () => 7; }, Math);\nexport default ({ input }) => { const list = input.list.map(x => Math.sign(x)); list.push(1); return list; }",
    "const all = { Math };\nall.Math.sign = () => 7;\nexport default ({ input }) => { const list = input.list.map(x => Math.sign(x)); list.push(1); return list; }",
    "Function('Math.sign = () => 7')();\nexport default ({ input }) => { const list = input.list.map(x => Math.sign(x)); list.push(1); return list; }",
    "Number.pr\\u006ftotype.toPrecision = () => 'x';\nexport default ({ input }) => { const list = input.list.map(x => Number(x).toPrecision(1)); list.push(1); return list; }",
    "{ const list = input.list.map(x => Object.is(x, -0)); ({}).constructor.is = () => 7; list.push(1); return list; }",
    // A name means something else than where it stands.
    "{ const list = input.list.map(x => { if (x === 1) { var Math = 0; return x; } return Math.max(x, 2); }); list.push(1); return list; }",
    "Object.assign(Math, { sign: () => 7 });\nexport default ({ input }) => { const list = input.list.map(x => Math.sign(x)); list.push(1); return list; }",
];

/// What is compiled of each module that isn't compiled as a whole.
fn parts(modules: &[String]) -> Vec<Option<String>> {
    let (explained, _) = explain(&pattern(modules), &json!({}), &Options::default());
    let code = explained.into_iter().filter(|it| it.is_code);
    code.map(|it| it.compiled_part.map(|part| it.expression[part].to_owned()))
        .collect()
}

#[test]
fn what_code_computes_first_is_compiled_and_the_rest_can_not_tell() {
    let modules: Vec<String> = PARTS.iter().map(|(body, _)| module(body)).collect();
    let parts = parts(&modules);
    assert_eq!(parts.len(), modules.len());
    for ((module, (_, part)), found) in modules.iter().zip(PARTS).zip(parts) {
        assert_eq!(found.unwrap_or_default(), *part, "{module}");
    }
    let (cases, found) = differences(&Sandbox::new(), &modules);
    assert!(found.is_empty(), "{found}");
    assert!(cases >= 8 * PARTS.len(), "{cases}");
}

#[test]
fn what_the_rest_could_tell_is_executed_by_the_engine() {
    let modules: Vec<String> = WHOLE.iter().map(|body| module(body)).collect();
    for (module, part) in modules.iter().zip(parts(&modules)) {
        assert_eq!(part, None, "{module}");
    }
    let (_, found) = differences(&Sandbox::new(), &modules);
    assert!(found.is_empty(), "{found}");
}

/// Sixteen MiB are all that the engine takes.
#[test]
fn the_engine_gets_what_was_computed_and_not_the_input() {
    let sandbox = Sandbox::new();
    let long = "x".repeat(9 << 20);
    let event = json!([{ "rows": [{ "id": 1, "text": long }, { "id": 2, "text": long }] }]).to_string();
    let given = |code: &str| {
        let pattern = pattern(&[module(code)]);
        let outcome = run(&sandbox, &pattern, &event, ExpressionRoute::Cheapest);
        let output = outcome.output;
        output
            .unwrap_or_else(|| panic!("{:?}", outcome.error))
            .get()
            .to_owned()
    };
    let answer = given("{ const ids = input.rows.map(r => r.id); ids.push('end'); return ids; }");
    assert_eq!(answer, r#"[[1,2,"end"]]"#);
    // The other way round, all of it is given.
    let answer = given("{ const ids = input.rows; ids.push('end'); return ids.length; }");
    assert!(answer.contains("MiB"), "{answer}");
}

/// A list that is too long for the engine is made there, if it can be made there.
#[test]
fn what_is_too_large_for_the_engine_is_computed_there() {
    let sandbox = Sandbox::new();
    let code = "{ const all = input.list.map(x => x.repeat(9 << 20)); all.push('end'); return all.length; }";
    let pattern = pattern(&[module(code)]);
    let outcome = run(
        &sandbox,
        &pattern,
        r#"[{"list": ["a", "b"]}]"#,
        ExpressionRoute::Cheapest,
    );
    assert_eq!(outcome.output.unwrap().get(), "[3]");
}
