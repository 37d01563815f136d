//! Methods and global functions: how calls look, whatever they call.

use crate::{Sandbox, assert_as_in_javascript};
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

#[test]
fn everyday_expressions() {
    assert_as_in_javascript(
        &json!({
            "name": "  Ann Lee ", "email": "ann@example.org", "n": 1234.567, "tags": ["b", "a", "c"], "flag": true,
            "items": [{"id": 1, "price": "2.50", "ok": true}, {"id": 2, "price": "10", "ok": false}, {"id": 3, "price": 4, "ok": true}],
            "text": "{\"a\": [1, 2]}", "url": "https://example.org/a b?q=é", "none": null, "groups": {"x": [2, 1], "y": []},
        }),
        &[
            "$input.name.trim().split(' ').map(part => part[0]).join('')",
            "$input.email.split('@').pop().toUpperCase()",
            "$input.email.split('@')[0].replace('n', 'N').replaceAll('n', '-')",
            "$input.items.filter(item => item.ok).map(item => item.id)",
            "$input.items.reduce((sum, item) => sum + Number(item.price), 0).toFixed(2)",
            "$input.items.map(({ id, price }) => `${id}: ${parseFloat(price)}`).join('\\n')",
            "$input.items.find(item => item.id === 2)?.price ?? 'none'",
            "$input.items.find(item => item.id === 9)?.price ?? 'none'",
            "$input.items.some(i => i.ok) && !$input.items.every(i => i.ok)",
            "[...$input.items].sort((a, b) => b.id - a.id)[0].id",
            "$input.items.sort((a, b) => b.price - a.price).map(i => i.id)",
            "($input.tags || []).sort().reverse().join()",
            "$input.tags.includes('a') ? $input.tags.indexOf('c') : -1",
            "$input.tags.slice(-2).concat('z', ['y'])",
            "$input.tags.map(String).filter(Boolean).map(Number)",
            "['1', '2', '3'].map(parseInt)",
            "['1', '2', '3'].map(Number.parseFloat)",
            "[0, 1, '', null, 'x'].filter(Boolean)",
            "Object.keys($input).length + Object.values($input.groups).flat().length",
            "Object.entries($input.groups).map(([name, list]) => name + list.length)",
            "Object.fromEntries($input.items.map(i => [i.id, i.price]))",
            "Object.fromEntries(Object.entries($input.groups).filter(([k, v]) => v.length))",
            "Object.assign({}, $input.groups, { z: 1 })",
            "JSON.parse($input.text).a[1]",
            "JSON.parse($input.text).a.sort((a, b) => b - a)",
            "JSON.stringify($input.items, null, 2).length",
            "JSON.stringify(undefined)",
            "JSON.parse($input.name)",
            "encodeURIComponent($input.url) + encodeURI($input.url)",
            "decodeURIComponent('%E0%A4%A')",
            "Math.round($input.n * 100) / 100 + Math.floor(-1.5) + Math.max(...$input.items.map(i => i.id))",
            "$input.n.toLocaleString() + $input.n.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })",
            "(255).toString(16).padStart(4, '0')",
            "$input.flag.toString() + String(null) + [1, [2, 3]].toString() + {}.toString()",
            "Number.isInteger($input.items.length) && isNaN('x') && Array.isArray([])",
            "Array.from({ length: 3 }, (_, i) => i * 2)",
            "Array.from('a😀')",
            "[...'ab'].map((c, i) => c.charCodeAt(0) + i)",
            "String.fromCharCode(65, 66) + btoa('hi') + atob('aGk=')",
            "$input.hasOwnProperty('name') && !$input.hasOwnProperty('x') && 'name'.hasOwnProperty('length')",
            "$input.items.flatMap(i => [i.id, i.ok]).lastIndexOf(true)",
            "[3, 1, 2].toSorted((a, b) => a > b)",
            "['é', 'a', 'Z'].toSorted()",
            "['b', 'A', 'a', 'B'].sort((a, b) => a.localeCompare(b))",
            "'a-b-c'.replace('-', match => `<${match}>`).replaceAll('-', (m, at) => at)",
            "'x'.repeat(3).at(-1).codePointAt().toString(2)",
            "'abc'.repeat(-1)",
            "(1.5).toFixed(200)",
            "[123456, 1000, -0, 1e21, 5e-324, 2 ** 50 + 0.25, 2 ** 50 + 0.75, 0 / 0].map(n => n.toExponential())",
            "(0.5).toExponential(0) + (1.25).toExponential(1) + (25).toExponential(0) + (-0).toExponential(2)",
            "(1.5).toExponential(101)",
            "[].reduce((a, b) => a)",
            "$input.items.map(i => i.missing.x)",
            "$input.items.map(i => i.price.trim())",
            "$input.none.length.toString()",
            "Object.keys($input.none)",
        ],
    );
}

#[test]
fn what_is_seen_to_change_is_seen() {
    assert_as_in_javascript(
        &json!({"a": [3, 1, 2], "b": [5, 4], "rows": [{"list": [2, 1]}], "lists": {"x": [9, 8]}}),
        &[
            "$input.a.sort()[0] + $input.a[0]",
            "$input.a.push(1) && $input",
            "$input.rows.map(row => row.list.sort())",
            "[$input.a].map(x => x.reverse())",
            "Object.assign($input.a, { b: 1 }) === $input.a",
            "Object.values($input.lists)[0].sort()",
            "($input.a || $input.b).sort().concat($input.b)",
            "$input.a.sort()[0] + $input.b[0]",
            "$input.a.push(1)",
            "$input.rows.map(row => row.list.slice().sort())",
            "$input.rows.map(row => [...row.list, 1].reverse())",
            "($input.a || $input.b || []).sort()",
            "Object.assign({}, $input.a, $input.a)",
        ],
    );
}

#[test]
fn what_is_too_large_ends_cleanly() {
    let sandbox = Sandbox::new();
    let error = |source: &str| {
        sandbox
            .evaluate(source, &json!({"n": 1e9}))
            .unwrap()
            .error
            .unwrap()
    };
    for source in [
        "'ab'.repeat(1e9)",
        "'x'.padEnd($input.n)",
        "Array.from({ length: $input.n })",
        "Array.from({ length: $input.n * 9 }, (_, i) => i)",
    ] {
        let error = error(source);
        assert_eq!(error.code, "EXPRESSION", "{source}: {}", error.message);
        assert!(
            error.message.starts_with("Invalid "),
            "{source}: {}",
            error.message
        );
    }
    for source in [
        "'x'.repeat(4e8)",
        "'x'.padStart(3e8).split('')",
        "Array.from({ length: 6e7 })",
        "Array.from({ length: 1e4 }).fill('x'.repeat(1e4)).join('-').repeat(10)",
        "[1, 2].reduce(text => text + text.repeat(1e4), 'x'.repeat(1e4))",
    ] {
        let error = error(source);
        assert_eq!(error.code, "OUT_OF_MEMORY", "{source}: {}", error.message);
    }
    // Arrays inside arrays, until something that walks them has no stack left.
    let error = error("Array.from({ length: 1e5 }).reduce(inner => [inner], 0)");
    assert_eq!(error.code, "STACK_OVERFLOW", "{}", error.message);
}
