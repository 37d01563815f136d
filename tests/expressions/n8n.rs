//! What people bring along from n8n: its ways of naming items, and the methods that it adds to values.

use crate::{Sandbox, output_of, same};
use serde_json::{Value, json};

/// Checks the values of expressions; `None` where one fails.
fn assert_values(input: &Value, cases: &[(&str, Option<Value>)]) {
    let sandbox = Sandbox::new();
    for (source, expected) in cases {
        let outcome = sandbox.evaluate(source, input).unwrap();
        match expected {
            None => assert!(outcome.error.is_some(), "{source}: {}", output_of(&outcome)),
            Some(expected) => {
                assert!(outcome.error.is_none(), "{source}: {:?}", outcome.error);
                let value = output_of(&outcome);
                assert!(same(&value, expected), "{source}: {value}");
            }
        }
    }
}

#[test]
fn items_of_a_list() {
    assert_values(
        &json!([{"n": 1, "name": "a"}, {"n": 2}, {"json": {"n": 3}}]),
        &[
            ("$input.first()", Some(json!({"n": 1, "name": "a"}))),
            ("$input.first().json.name", Some(json!("a"))),
            ("$input.last().json.n", Some(json!(3))),
            ("$input.all().length", Some(json!(3))),
            ("$input.all()[1].json.n", Some(json!(2))),
            ("$input.all().map(item => item.json.n)", Some(json!([1, 2, 3]))),
            ("$input.all().map(({ json }) => json.n)", Some(json!([1, 2, 3]))),
            (
                "$input.all().map(item => { const { n } = item.json; return n; })",
                Some(json!([1, 2, 3])),
            ),
            (
                "$input.all().filter(i => i.json.n > 1).sort((a, b) => b.json.n - a.json.n).map(i => i.json.n)",
                Some(json!([3, 2])),
            ),
            (
                "$input.all().reduce((sum, item) => sum + item.json.n, 0)",
                Some(json!(6)),
            ),
            (
                "$input.all().find(i => i.json.n === 2).json",
                Some(json!({"n": 2})),
            ),
            ("[...$input.all()].at(-1).json.n", Some(json!(3))),
            ("$items().length + $items()[0].json.n", Some(json!(4))),
            ("$('start').first().json.n", Some(json!(1))),
            ("$('start').all().map(i => i.json?.n)", Some(json!([1, 2, 3]))),
            ("$items('start', 0, 0)[0].json.n", Some(json!(1))),
            ("$item(0).$node['start'].json.n", Some(json!(1))),
            ("$item('1').$node.start.json.n", Some(json!(2))),
            ("$input.all()[9]?.json.n", Some(json!(null))),
            ("$input.all()[9].json", None),
            ("$node['start'].json.n", None),
        ],
    );
}

#[test]
fn one_value_is_one_item() {
    assert_values(
        &json!({"n": 1, "data": {"x": 2}}),
        &[
            ("$node['start'].json.n", Some(json!(1))),
            ("$node.start.json['n']", Some(json!(1))),
            ("$node['start'].data.x", Some(json!(2))),
            ("$('start').item.json.n", Some(json!(1))),
            ("$('start').item?.json?.n", Some(json!(1))),
            ("$('start').last().json.n", Some(json!(1))),
            ("$('start').all()", Some(json!([{"n": 1, "data": {"x": 2}}]))),
            ("$input.item.json.n", Some(json!(1))),
            ("$input.first().json.data.x + $json.n", Some(json!(3))),
            ("$('start').isExecuted", Some(json!(true))),
            (
                "$node['start'].isExecuted && $if($json.n, 'yes', 'no')",
                Some(json!("yes")),
            ),
            ("[$execution.id, $workflow.id]", Some(json!(["run", "pattern"]))),
        ],
    );
    assert_values(
        &json!({"json": {"n": 1}, "item": {"json": 5}, "isExecuted": 7}),
        &[
            ("$input.first().json.n", Some(json!(1))),
            ("$('start').item.json", Some(json!({"n": 1}))),
            ("$input.item.json", Some(json!(5))),
            ("$('start').isExecuted", Some(json!(7))),
        ],
    );
}

#[test]
fn methods_of_texts() {
    assert_values(
        &json!({"json": "{\"a\": [1]}", "html": "<p>a <b>b</b><br", "at": "2026-03-28T12:00:00.000Z", "none": null}),
        &[
            ("$input.json.parseJson().a[0]", Some(json!(1))),
            ("'{'.parseJson()", None),
            (
                "$input.toJsonString() === JSON.stringify($input)",
                Some(json!(true)),
            ),
            ("'é😀'.base64Encode()", Some(json!("w6nwn5iA"))),
            ("'w6nwn5iA'.base64Decode()", Some(json!("é😀"))),
            (
                "'a b&c/'.urlEncode() + 'a b&c/'.urlEncode(true)",
                Some(json!("a%20b%26c%2Fa%20b&c/")),
            ),
            ("'a%20b'.urlDecode()", Some(json!("a b"))),
            (
                "''.isEmpty() && $input.none.isEmpty() && $input.nothing.isEmpty() && [].isEmpty()",
                Some(json!(true)),
            ),
            (
                "'x'.isNotEmpty() && !{}.isNotEmpty() && (0).isNotEmpty()",
                Some(json!(true)),
            ),
            (
                "'$1.5'.toNumber() + '2.9 kg'.toInt() + '2.5 kg'.toFloat()",
                Some(json!(6.0)),
            ),
            ("'x'.toNumber()", None),
            (
                "['true', 'No', '0', 'x'].map(x => x.toBoolean())",
                Some(json!([true, false, false, true])),
            ),
            ("$input.html.removeTags()", Some(json!("a b"))),
            ("'a'.hash()", Some(json!("0cc175b9c0f1b6a831c399e269772661"))),
            ("'a'.hash('sha256').length", Some(json!(64))),
            ("'1e3'.isNumeric() && !'1 '.isNumeric()", Some(json!(true))),
            (
                "$input.at.format('yyyy') + $input.at.toDateTime().plus(1, 'day').format('dd')",
                Some(json!("202629")),
            ),
            (
                "'Sat, 28 Mar 2026 12:00:00 GMT'.toDateTime().toISO()",
                Some(json!("2026-03-28T12:00:00.000Z")),
            ),
            (
                "'28/03/2026'.toDateTime('dd/MM/yyyy').toISODate()",
                Some(json!("2026-03-28")),
            ),
            (
                "(1774699200).toDateTime('s').toISODate()",
                Some(json!("2026-03-28")),
            ),
            ("'soon'.toDateTime()", None),
            ("$input.none.toNumber()", None),
            // n8n leaves out what has no letter behind it, and ends of lines.
            (
                "'one. 2'.toSentenceCase() + 'a\\nb'.toTitleCase()",
                Some(json!("One. 2A\nB")),
            ),
            (
                "['a@b.example', 'https://b.example/x', 'none'].map(x => x.extractDomain() ?? x.isEmail())",
                Some(json!(["b.example", "b.example", false])),
            ),
            ("'x'.merge()", None),
        ],
    );
}

#[test]
fn methods_of_lists_and_objects() {
    assert_values(
        &json!({"list": [3, "1", 2], "rows": [{"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1, "b": 3}], "o": {"x": 1, "y": null, "z": {}}}),
        &[
            ("$input.list.first() + $input.list.last()", Some(json!(5))),
            ("[].first() ?? [].last() ?? 'none'", Some(json!("none"))),
            (
                "[$input.list.sum(), $input.list.average(), $input.list.min(), $input.list.max()]",
                Some(json!([6, 2, 1, 3])),
            ),
            (
                "$input.rows.unique().length + $input.rows.removeDuplicates('a').length",
                Some(json!(3)),
            ),
            (
                "[0, null, '', 'x', {}, { a: '' }].compact()",
                Some(json!([0, "x", {}])),
            ),
            ("$input.o.compact()", Some(json!({"x": 1}))),
            ("$input.rows.pluck('b')", Some(json!([2, 2, 3]))),
            (
                "[{ a: 1, b: 2 }, { b: 3 }, { c: 1 }, null, 7, 'x', { b: 4, a: 5 }].pluck('a', 'b')",
                Some(json!([[1, 2], 3, [4, 5]])),
            ),
            (
                "[{ a: 1 }, { b: 3 }, { a: null }, [8, 9]].pluck('a')",
                Some(json!([1, null])),
            ),
            ("[[8, 9], [7], { '0': 1 }].pluck('0')", Some(json!([8, 7, 1]))),
            (
                "[{ a: 1, '2': 2, '1': 3 }].pluck('a', '1', '2')",
                Some(json!([[3, 2, 1]])),
            ),
            ("[{ a: 1 }].pluck('a', 'a')", Some(json!([[1, 1]]))),
            ("[[8, 9]].pluck(0)", Some(json!([]))),
            ("[{ a: 1 }, 5].pluck()", Some(json!([{"a": 1}, 5]))),
            ("[1, 2, 3].chunk(2)", Some(json!([[1, 2], [3]]))),
            (
                "$input.o.keys().join() + $input.o.values().length",
                Some(json!("x,y,z3")),
            ),
            (
                "$input.o.hasField('y') && $input.o.removeField('y')",
                Some(json!({"x": 1, "z": {}})),
            ),
            ("[1].union(2)", None),
            (
                "[null, { a: 1 }, { b: 1 }].merge([{ c: 1 }, null, { b: 2, d: 1 }, { e: 1 }])",
                Some(json!({"c": 1, "a": 1, "b": 1, "d": 1})),
            ),
            (
                "[[5, 6], 7].merge([{ '1': 0, '2': 8 }, { x: 1 }])",
                Some(json!({"0": 5, "1": 6, "2": 8})),
            ),
            (
                "[{ a: 1 }, null, { a: 2, b: 3 }].merge(undefined)",
                Some(json!({"a": 1, "b": 3})),
            ),
            ("[{ a: 1 }].merge(null)", None),
            ("[{ a: 1 }].merge({ b: 1 })", None),
            ("(1.5).isEven()", None),
            ("({ a: 1, b: 'x y' }).urlEncode()", Some(json!("a=1&b=x+y"))),
            (
                "(1.255).round(1) + (1.5).floor() + (1.5).ceil() + (-1).abs()",
                Some(json!(5.3)),
            ),
            (
                "[$min(3, 1), $max(3, 1), $ifEmpty('', 'e'), $ifEmpty(0, 1)]",
                Some(json!([1, 3, "e", 0])),
            ),
            ("$input.list.sum?.() + ($input.list.nothing ?? 1)", Some(json!(7))),
            ("'x'.sum?.() ?? 'none'", Some(json!("none"))),
            ("$jmespath($input, 'rows[?b > `2`].a | [0]')", Some(json!(1))),
            (
                "$jmespath($input.rows, '[].{z: b, a: a}')[0]",
                Some(json!({"z": 2, "a": 1})),
            ),
            ("$jmespath($input.rows, `[].${'b'}`)", Some(json!([2, 2, 3]))),
            ("$jmespath($input.rows, '[' + '?')", None),
            ("$jmespath($input.nothing, 'a')", None),
            // An own field goes first.
            ("({ sum: 1 }).sum()", None),
        ],
    );
}
