//! Expressions that the JavaScript engine evaluates: the same meaning as in Node.js, one value for each name, nothing
//! that one evaluation leaves to the next.

use crate::{Sandbox, assert_as_in_javascript, output_of};
use heddle_compiler::ExpressionRoute;
use serde_json::{Value, json};

/// The value that a source gives.
fn value(sandbox: &Sandbox, source: &str, input: &Value) -> Value {
    let outcome = sandbox
        .evaluate(source, input)
        .unwrap_or_else(|refused| panic!("{source}: {refused}"));
    match &outcome.error {
        None => output_of(&outcome),
        Some(error) => panic!("{source}: {}", error.message),
    }
}

/// The message with which it fails.
fn message(sandbox: &Sandbox, source: &str, input: &Value) -> String {
    let outcome = sandbox
        .evaluate(source, input)
        .unwrap_or_else(|refused| panic!("{source}: {refused}"));
    let error = outcome.error.unwrap_or_else(|| panic!("{source} gave a value"));
    assert_eq!(error.code, "EXPRESSION", "{source}: {}", error.message);
    error.message
}

#[test]
fn texts_are_spread_into_objects_by_their_characters() {
    assert_as_in_javascript(
        &json!({"text": "ab", "none": null, "o": {"x": 1}}),
        &[
            "[/a/.test($input.text), { ...$input.text, ...$input.none, ...$input.o, ...(1, 'cd'), b: { ...'e' } }]",
            "(s => ({ ...s /* here */ }))('éa')",
        ],
    );
}

#[test]
fn regular_expressions() {
    assert_as_in_javascript(
        &json!({"text": "Ann Lee <ann@example.org>, Bob <bob@example.com>", "lines": "a1\nb22\nc333", "n": 5}),
        &[
            r"/\d+/.test($input.lines)",
            r"/(\w)(\d+)/.exec($input.lines).slice()",
            r"$input.lines.match(/\d+/g)",
            r"$input.lines.match(/x/)",
            r"$input.lines.match(/^b(?<digits>\d+)$/m).groups.digits",
            r"[...$input.text.matchAll(/<(?<user>[^@]+)@(?<host>[^>]+)>/g)].map(m => ({...m.groups, at: m.index}))",
            r"$input.text.replace(/(\w+) (\w+)/, '$2, $1')",
            r"$input.text.replace(/<(?<u>.*?)>/g, (all, user, at, whole, groups) => `[${groups.u}|${at}|${whole.length}]`)",
            r"$input.text.replaceAll(/[aeiou]/gi, v => v.toUpperCase())",
            r"$input.text.split(/\s*,\s*/)",
            r"$input.lines.split(/(\d)/, 4)",
            r"$input.text.search(/bob/i)",
            r"((r) => [r.test('aXbX'), r.lastIndex, r.test('aXbX'), r.lastIndex, r.test('aXbX'), r.lastIndex])(/x/gi)",
            r"(r => { r.lastIndex = 2; return [r.exec('aaaa')?.index, r.lastIndex]; })(/a/y)",
            r"/\p{Lu}\u{1F600}/u.test('É😀')",
            r"/a.b/s.test('a\nb')",
            r"'2024-05-06'.replace(/(\d+)-(\d+)-(\d+)/, '$3/$2/$1 $& $$')",
            r"/(?<=\$)\d+/.exec('cost $42')[0]",
            r"new RegExp('(' + ['a', 'b'].join('|') + ')', 'g')[Symbol.replace]('cab', '<$1>')",
            r"RegExp('^' + $input.n + '$').test('5')",
            r"[/x/.source, /x/gimsuy.flags, String(/a\/b/)]",
            r"/(a)|(b)/.exec('b')[1] === undefined",
            r"/}}/.test('a}}b')",
        ],
    );
}

#[test]
fn statements_and_functions() {
    assert_as_in_javascript(
        &json!({"list": [3, 1, 2], "rows": [{"k": "a", "v": 1}, {"k": "b", "v": 2}, {"k": "a", "v": 3}], "o": {"a": {"b": 1}}}),
        &[
            "$input.rows.reduce((sums, {k, v}) => { sums[k] = (sums[k] || 0) + v; return sums; }, {})",
            "$input.rows.reduce((groups, row) => { (groups[row.k] ??= []).push(row.v); return groups; }, {})",
            "(() => { let sum = 0; for (const x of $input.list) sum += x; return sum; })()",
            "(() => { let s = ''; for (let i = 0; i < 3; i++) { if (i === 1) continue; s += i; } return s; })()",
            "(function fact(n) { return n < 2 ? 1 : n * fact(n - 1); })(10)",
            "((a, ...rest) => [a, rest.length])(...$input.list)",
            "(({a: {b}, ...others}) => [b, others])({...$input.o, c: 2})",
            "(() => { const [x, , y = 7] = $input.list; return [y, x]; })()",
            "(() => { let a = 1, b = 2; [a, b] = [b, a]; return [a, b]; })()",
            "(() => { const o = {}; ({x: o.y, z: o['w'] = 3} = {x: 1}); return o; })()",
            "(() => { switch ($input.list.length) { case 3: return 'three'; default: return 'other'; } })()",
            "(() => { try { null.x; } catch (e) { return e instanceof TypeError; } finally { } })()",
            "(() => { try { throw {code: 5}; } catch ({code}) { return code; } })()",
            "(() => { label: for (const a of [1, 2]) { for (const b of [1, 2]) { if (b === 2) continue label; if (a === 2) break label; } } return 'done'; })()",
            "(() => { let $json = 7; return $json + $input.list[0]; })()",
            "$input.list.map($json => { let $now = $json; $now += 1; return $now; })",
            "(($nodes, $secrets) => $nodes.x + $secrets.y + /x/.source)({x: 1}, {y: 2})",
            "(() => { const f = ($input) => { $input++; return $input; }; return f(1); })()",
            "(() => { function $(x) { return x + '!'; } return $('Label'); })()",
            "((x) => { { let x = 2; x++; } return x; })(1)",
            "[...(function* () { let n = 0; while (n < 3) yield n++; })()]",
            "(function () { return arguments.length; })(1, 2, 3)",
            "(() => { var x = 1; { var x = 2; } return x; })()",
            "(x => { do { x--; } while (x > 0); return x; })(3)",
            "(() => { for (const k in {a: 1, b: 2}) if (k === 'b') return k; })()",
            "$input.list.sort().join() + $input.list.join()",
            "((list) => { list.sort(); return list; })([...$input.list]).concat($input.list)",
            "(() => { delete $input.o.a; return $input.o; })()",
            "($input.o.a = 5, $input.o)",
            "{ a: 1, $input }.a",
            "{ $input }.$input.list.findLast(x => { const y = x; return y > 1; })",
        ],
    );
}

#[test]
fn classes_this_and_accessors() {
    assert_as_in_javascript(
        &json!({"list": [1, 2]}),
        &[
            "new (class A { #n = 1; static s = 2; get n() { return this.#n; } set n(v) { this.#n = v * 2; } m() { this.n = A.s; return this.n; } })().m()",
            "new (class extends Array { total() { return this.reduce((a, b) => a + b); } })(1, 2, 3).total()",
            "({ get x() { return this.y + 1; }, y: 2 }).x",
            "({ m() { return this.k; }, k: 3 }).m()",
            "(function () { return this.k; }).call({k: 4})",
            "[1, 2].map(function (x) { return x * this.f; }, {f: 10})",
            "new Error('boom').message",
            "(() => { const e = new Error('x'); e.name = 'Mine'; e.message += '!'; return String(e); })()",
            "(() => { class E extends Error { constructor(m) { super(m); this.name = 'E'; } } try { throw new E('m'); } catch (e) { return `${e}`; } })()",
            "({ __proto__: { inherited: 1 } }).inherited",
            "Object.getPrototypeOf([]) === Array.prototype",
            "[] instanceof Array",
            "$input.list.constructor === Array",
            "$input.list.constructor.name + $input.constructor.name",
            "({}).toString()",
            "`${{ toString: () => 'text' }}`",
            "+{ valueOf: () => 42 }",
            "Symbol('s').description",
            "({ [Symbol.toPrimitive]: () => 7 }) * 2",
            "[...{ *[Symbol.iterator]() { yield 1; yield 2; } }]",
        ],
    );
}

#[test]
fn code_is_strict_and_belongs_to_no_object() {
    let sandbox = Sandbox::new();
    let input = json!({"list": ["b", "a", "b"]});
    for (source, expected) in [
        ("(function () { return typeof this; })()", json!("undefined")),
        ("typeof this", json!("undefined")),
        ("(() => this === undefined)()", json!(true)),
        (
            "Object.groupBy($input.list, x => x)",
            json!({"b": ["b", "b"], "a": ["a"]}),
        ),
    ] {
        assert_eq!(value(&sandbox, source, &input), expected, "{source}");
    }
}

#[test]
fn what_is_built_in() {
    assert_as_in_javascript(
        &json!({"list": ["b", "a", "b"], "n": 12}),
        &[
            "new Set($input.list).size",
            "[...new Set($input.list)]",
            "new Map([['a', 1]]).get('a')",
            "Object.fromEntries(new Map($input.list.map((x, i) => [x, i])))",
            "String.raw`a\\n${$input.n}`",
            "(parts => parts.raw.join('|'))`x\\t${1}y`",
            "String(2n ** 64n)",
            "(10n * BigInt($input.n)).toString()",
            "typeof 1n",
            "BigInt.asUintN(8, 257n) === 1n",
            "new URL('https://user@example.org:8080/a/b?x=1&y=2#z').searchParams.get('y')",
            "new URLSearchParams({a: '1 2', b: 'ü'}).toString()",
            "encodeURI('ü x') + unescape('%20') + escape('ü')",
            "Array.from({length: 3}, (_, i) => i ** 2)",
            "[1, , 3].length",
            "[1, [2, [3]]].flat(Infinity).copyWithin(0, 1)",
            "[..._].length".replace("_", "'a😀'").as_str(),
            "[...$input.list.entries()]",
            "[...$input.list.keys()]",
            "Reflect.ownKeys({b: 1, a: 2, 1: 3})",
            "Object.getOwnPropertyNames('ab')",
            "Number.prototype.toFixed.call(1.005, 2)",
            "new Uint8Array([1, 2, 300]).join()",
            "new TextDecoder().decode(new TextEncoder().encode('größe'))",
            "JSON.stringify({a: [1, {b: 2}]}, (k, v) => typeof v === 'number' ? v + 1 : v, 2)",
            "JSON.parse('{\"a\": 1}', (k, v) => k === 'a' ? v * 2 : v)",
            "structuredClone(new Map([[1, {a: 2}]])).get(1)",
            "Math.hypot(3, 4) + Math.clz32(1) + Math.fround(5.5)",
            "new Date(Date.UTC(2024, 0, 31)).toISOString().replace(/T.*/, '')",
            "(d => { d.setUTCDate(1); return d.toJSON(); })(new Date('2024-03-31T10:00:00Z'))",
            "'abc'.at(-1) + 'x'.padStart(3, '_').replace(/_/g, '-')",
            "isNaN(parseFloat('x')) && /x/.test('x')",
            "Object.entries(Object.getOwnPropertyDescriptor({a: 1}, 'a'))",
            "eval('1 + 1')",
            "new Function('a', 'b', 'return a * b')(6, 7)",
            "(1, eval)('typeof $input')",
            "new Proxy({}, { get: (t, k) => k + '!' }).hello",
            "new WeakMap([[Array, 1]]).get(Array)",
            "void 0 ?? /x/.source",
            "`${$input.list.push} ${Math.max} ${Date}`",
            "String($input.list[Symbol.iterator])",
            "String(Object.getOwnPropertyDescriptor(Map.prototype, 'size').get)",
            "String(Math.max.bind(null, 1))",
            "String((a) =>\n a + 1)",
            "(f => [String(f), f.name, f.length])(Function.prototype.toString)",
            "Function.prototype.toString.call({})",
            "'x' in { x: /x/ }",
        ],
    );
}

#[test]
fn values_that_json_has_not() {
    let sandbox = Sandbox::new();
    for (source, expected) in [
        ("(() => { let x; return x; })()", Value::Null),
        (
            "[/x/.lastIndex / 0, undefined, () => {}, Symbol('s')]",
            json!([null, null, null, null]),
        ),
        (
            "({ f() {}, n: NaN, u: undefined, m: new Map([[1, 2]]), d: new Date(0), r: /x/ })",
            json!({"n": null, "m": {}, "d": "1970-01-01T00:00:00.000Z", "r": {}}),
        ),
        ("/x/", json!({})),
        ("new Date(0)[/x/.test('x') ? 'getTime' : 'x']()", json!(0)),
        (
            "new (class { constructor() { this.a = 1; } toJSON() { return 'json'; } })()",
            json!("json"),
        ),
        ("'\\ud83d' + /x/.source", json!("\u{fffd}x")),
        ("Object(5)[/y/.test('y') ? 'valueOf' : '']()", json!(5)),
    ] {
        let expected = if source.starts_with("'\\ud83d") {
            None
        } else {
            Some(expected)
        };
        let found = sandbox.evaluate(source, &Value::Null).unwrap();
        match expected {
            Some(expected) => assert_eq!(output_of(&found), expected, "{source}"),
            // A lone surrogate is kept as such, as for compiled expressions.
            None => assert!(found.output.unwrap().get().contains("\\ud83d")),
        }
    }
    assert!(message(&sandbox, "5n", &Value::Null).starts_with("A BigInt can't be handed on"));
    assert!(
        message(&sandbox, "(a => { a[0] = a; return a; })([])", &Value::Null).contains("contains itself")
    );
}

#[test]
fn failures_read_like_those_of_compiled_expressions() {
    let sandbox = Sandbox::new();
    let input = json!({"n": 3, "o": {}});
    let both = |source: &str| {
        let by = |route| {
            let outcome = sandbox.evaluate_by(source, &input, route).unwrap();
            let error = outcome.error.unwrap();
            assert_eq!(error.code, "EXPRESSION");
            error.message
        };
        assert_eq!(by(ExpressionRoute::Cheapest), by(ExpressionRoute::EngineOnly));
    };
    both("$input.missing.field");
    both("$input.o.a.b.c");
    both("null.x");
    both("$input.missing.map(x => x)");
    assert_eq!(
        message(&sandbox, "$input.o.a.replace(/x/, '')", &input),
        "Cannot read properties of undefined (reading 'replace') in `$input.o.a.replace(/x/, '')` (parameter `value`; \
         `$input` is an object with n, o)"
    );
    assert!(
        message(&sandbox, "(() => { throw new RangeError('too far'); })()", &input)
            .starts_with("too far in `")
    );
    assert!(
        message(
            &sandbox,
            "(() => { class Own extends Error { name = 'Own' } throw new Own('why'); })()",
            &input
        )
        .starts_with("Own: why in `")
    );
    assert!(message(&sandbox, "(() => { throw 'text'; })()", &input).starts_with("text in `"));
    assert!(message(&sandbox, "(function f() { return f() + 1; })()", &input).contains("call stack"));
    assert!(
        message(&sandbox, "new Function('return process')()", &input).starts_with("process is not defined")
    );
    assert!(message(&sandbox, "eval('let a; let a')", &input).contains("redefinition"));
}

#[test]
fn parts_that_are_not_needed_do_not_fail() {
    assert_as_in_javascript(
        &json!({"o": null, "text": "x"}),
        &[
            "/x/.test($input.text) ? 'fine' : $input.o.a.b",
            "/y/.test($input.text) && $input.o.a.b",
            "(() => { try { return $input.o.a; } catch { return 'caught'; } })()",
            "$input.text.match(/y/)?.[$input.o.a]",
            "/x/.test($input.text) ? $input.o.a.b : 'fails'",
            "$input.o?.a.b.c ?? $input.text.replace(/x/, 'y')",
            "($input.o?.a)?.b ?? /z/.source",
        ],
    );
}

#[test]
fn names_are_one_value() {
    let sandbox = Sandbox::new();
    let input = json!({"list": [{"a": 1}, {"a": 2}], "o": {"n": 1}});
    for (source, expected) in [
        ("$input === $json && /x/.test('x')", json!(true)),
        ("$trigger === $json && /x/.test('x')", json!(true)),
        ("$input.list.indexOf($json.list[1]) + /x/.source", json!("1x")),
        (
            "new Set([$input.list[0], $trigger.list[0], $input.list[1]]).size",
            json!(2),
        ),
        ("(() => { $json.o.n = 5; return $input.o.n; })()", json!(5)),
        (
            "(() => { $json.list[0].a = 7; return $trigger.list.map(x => x.a); })()",
            json!([7, 2]),
        ),
    ] {
        assert_eq!(value(&sandbox, source, &input), expected, "{source}");
    }
}

#[test]
fn words_next_to_a_value_stay_words() {
    assert_as_in_javascript(
        &json!({"text": "x", "n": 5, "list": [3, 1, 2]}),
        &[
            "[/x/.test('x'), typeof($input.text), void($input.text), (() => { return($input.n) })()]",
            "[($input)in{ '[object Object]': /x/ }, ($input.n)in{ 5: 1 }, 'text'in($input)]",
            "(() => { for (const x of($input.list)) return(x); })() + /x/.source",
            "(() => { switch (5) { case($input.n): return(`${$input.n}`); default: throw($input.text); } })()",
        ],
    );
    let sandbox = Sandbox::new();
    for (source, expected) in [
        ("String.raw`a\\n${$now.year}`", json!("a\\n1970")),
        ("(pieces => pieces.length)`${$now.year}|${$max(1, 2)}`", json!(3)),
        (
            "[/x/.test('x'), typeof[$now.year], typeof($now.year), (() => { return[$now.year] })()]",
            json!([true, "object", "number", [1970]]),
        ),
    ] {
        assert_eq!(value(&sandbox, source, &Value::Null), expected, "{source}");
    }
}

#[test]
fn what_is_made_is_another_one_each_time() {
    let sandbox = Sandbox::new();
    let input = json!({"list": ["a", "b"]});
    for (source, expected) in [
        (
            "$input.list.map(x => { const o = { at: $now.year }; o.x = x; return o; })",
            json!([{"at": 1970, "x": "a"}, {"at": 1970, "x": "b"}]),
        ),
        (
            "$input.list.map((x, i) => { const d = new Date($now); d.setUTCDate(d.getUTCDate() + i); return d; })",
            json!(["1970-01-01T00:00:00.000Z", "1970-01-02T00:00:00.000Z"]),
        ),
        (
            "((a, b) => { a.push(1); return [a.length, b.length, a === b]; })([$now], [$now])",
            json!([2, 1, false]),
        ),
        (
            "new Set($input.list.map(x => { let y = [$now]; y = y; return y; })).size",
            json!(2),
        ),
    ] {
        assert_eq!(value(&sandbox, source, &input), expected, "{source}");
    }
}

#[test]
fn changes_are_seen_whatever_they_are_called() {
    assert_as_in_javascript(
        &json!({"list": [3, 1, 2], "o": {"n": 1}}),
        &[
            "[(({ assign }) => assign($input.o, { x: 1 }))(Object), $input.o.x]",
            "[(({ push: more }) => more.call($input.list, 4))([]), $input.list.length]",
            "(() => { let sort; ({ sort } = []); return [sort.call($input.list)[0], $input.list[0]]; })()",
            "(() => { let f; ({ ['sort']: f } = []); return [f.call($input.list)[0], $input.list[0]]; })()",
            "[(function () { this.x = 5; }).call($input.o), $input.o.x]",
            "[[1].forEach(function () { this.x = 5; }, $input.o), $input.o.x]",
            "[$input.o.__defineGetter__('x', () => 7), $input.o.x]",
        ],
    );
}

#[test]
fn an_evaluation_leaves_nothing_to_the_next() {
    let sandbox = Sandbox::new();
    let twice = |first: &str, second: &str, input: Value| {
        let source = format!("[(() => {{ try {{ {first} }} catch {{}} }})(), 0][1]");
        let graph_value = format!("{{{{ {source} }}}}|{{{{ {second} }}}}");
        sandbox.text(&graph_value, &input)
    };
    // What an expression does to the values that it is given is its own.
    assert_eq!(
        twice(
            "$input.list.push(3); $input.o = 1;",
            "JSON.stringify($input) + /x/.source",
            json!({"list": [1]})
        ),
        "0|{\"list\":[1]}x"
    );
    // What is inherited is nobody's: lists can't hide it by an assignment, as they could in JavaScript; objects can.
    let input = json!({"list": [], "o": {}});
    let refused = message(&sandbox, "(() => { $input.list.at = 1; })()", &input);
    assert!(refused.starts_with("'at' is read-only"), "{refused}");
    let own = "(() => { $input.o.toString = 1; return $input.o.toString; })()";
    assert_eq!(value(&sandbox, own, &input), 1);
    for spoil in [
        "globalThis.leak = 1;",
        "Object.prototype.leak = 1;",
        "Array.prototype.leak = 1;",
        "Function('leak = 1')();",
        "(0, eval)('var leak = 1');",
        "(0, eval)('function leak() {}');",
        "Object.defineProperty(globalThis, 'leak', {value: 1});",
        "Math.leak = 1; console.leak = 1; URL.leak = 1; String.prototype.leak = 1; RegExp.prototype.leak = 1;",
        "Object.getPrototypeOf(function* () {}).leak = 1; (function* () {}).constructor.leak = 1;",
        "Object.getPrototypeOf([][Symbol.iterator]()).leak = 1; Object.getPrototypeOf(Int8Array).leak = 1;",
        "Array.prototype.map = () => 'spoilt'; [].__proto__.map = 1;",
        "RegExp.prototype.exec = () => null; Object.setPrototypeOf(Array.prototype, {leak: 1});",
        "delete Array.prototype.map; delete globalThis.Array;",
        "crypto.randomUUID = () => 1; console.log = null; globalThis.Date = null;",
    ] {
        let look = "[typeof leak_, ({}).leak_, [].leak_, Math.leak_, console.leak_, URL.leak_, /x/.leak_, ''.leak_, \
                    (function* () {}).leak_, (function* () {}).constructor.leak_, [][Symbol.iterator]().leak_, \
                    Int8Array.__proto__.leak_, [1].map(x => x + 1), /1/.test('1'), typeof Array, typeof Date, \
                    typeof console.log, typeof crypto.randomUUID].join()";
        let look = look
            .replace("typeof leak_", "typeof globalThis.leak_")
            .replace("leak_", "leak");
        assert_eq!(
            twice(spoil, &look, Value::Null),
            "0|undefined,,,,,,,,,,,,2,true,function,function,function,function",
            "{spoil}"
        );
    }
}

#[test]
fn there_is_only_the_realm_of_its_own() {
    let sandbox = Sandbox::new();
    let input = json!({"a": 1});
    for source in [
        "$json.constructor.constructor('return process')()",
        "(() => {}).constructor('return require')()('fs')",
        "$json['const' + 'ructor'].constructor('return this')().process.mainModule",
        "new Function('return import.meta')()",
        "this.constructor.constructor('return process')()",
    ] {
        message(&sandbox, source, &input);
    }
    assert_eq!(
        value(
            &sandbox,
            "$json.constructor.constructor('return Object.keys(globalThis).length')()",
            &input
        ),
        value(&sandbox, "Object.keys(globalThis).length", &input)
    );
    assert_eq!(
        value(
            &sandbox,
            "typeof $json.constructor.constructor('return fetch')",
            &input
        ),
        "function"
    );
    assert!(message(&sandbox, "Function('return fetch(1)')()", &input).starts_with("fetch is not defined"));
    assert!(
        message(&sandbox, "Function('return (async () => 1)()')()", &input)
            .starts_with("An expression can't wait for a promise")
    );
}

#[test]
fn dates_are_calculated_before() {
    let sandbox = Sandbox::new();
    let input = json!({"d": "2024-05-06T07:08:09Z", "list": ["a", "b"], "text": "on DATE"});
    for (source, expected) in [
        (
            "$input.text.replace(/DATE/, DateTime.fromISO($input.d).toFormat('dd.MM.yyyy'))",
            json!("on 06.05.2024"),
        ),
        ("/^1970/.test($now.toISO())", json!(true)),
        ("$now.toFormat('yyyy').replace(/\\d$/, 'X')", json!("197X")),
        ("`${$today}`.replace(/T.*/, '')", json!("1970-01-01")),
        ("$now + /x/.source", json!("0x")),
        (
            "[$now, DateTime.fromISO($input.d), /x/.source]",
            json!(["1970-01-01T00:00:00.000Z", "2024-05-06T07:08:09.000Z", "x"]),
        ),
        (
            "(() => { const later = DateTime.fromISO($input.d); return later > $now && later - $now; })()",
            json!(1_714_979_289_000_i64),
        ),
        (
            "$input.list.map(x => { let y = x; return y + $now.year; })",
            json!(["a1970", "b1970"]),
        ),
        (
            "$input.list.map(x => /a/.test(x) ? $now.plus({days: 1}).toISODate() : x)",
            json!(["1970-01-02", "b"]),
        ),
        (
            "(() => { const parts = [$now.diff(DateTime.fromISO($input.d), 'days').days]; return /x/.test(parts[0]); })()",
            json!(false),
        ),
        (
            "/5/.test($input.d) ? DateTime.fromISO($input.d).setZone('Europe/Berlin').hour : 0",
            json!(9),
        ),
        (
            "new Date($input.d).getTime() + Number(/x/.test('y'))",
            json!(1_714_979_289_000_i64),
        ),
        ("(1234.5).toLocaleString('en-US') + /x/.source", json!("1,234.5x")),
    ] {
        assert_eq!(value(&sandbox, source, &input), expected, "{source}");
    }
}

#[test]
fn date_times_are_in_the_engine_as_well() {
    let sandbox = Sandbox::new();
    let input = json!({"d": "2024-05-06T07:08:09Z", "list": ["2024-05-06a", "b"], "text": "on DATE"});
    for (source, expected) in [
        (
            "$input.list.map(x => DateTime.fromISO(x.replace(/a/, '')).plus({days: 1}).toISODate())",
            json!(["2024-05-07", null]),
        ),
        (
            "(d => d['pl' + 'us']({days: 1}).toISODate())($now) + /x/.source",
            json!("1970-01-02x"),
        ),
        (
            "(d => [d.zoneName, d.hour, d.isWeekend, `${d}`, d > 0, /x/.test(d)])($now.setZone('Asia/Tokyo').plus({days: 2}))",
            json!([
                "Asia/Tokyo",
                9,
                true,
                "1970-01-03T09:00:00.000+09:00",
                true,
                false
            ]),
        ),
        (
            "(d => d.as('minutes') + /x/.source)(Duration.fromObject({hours: 2}))",
            json!("120x"),
        ),
        ("new Map([[1, $now]]).get(1)", json!("1970-01-01T00:00:00.000Z")),
        (
            "Interval.fromDateTimes($now, DateTime.fromISO($input.d)).length('years') > 54",
            json!(true),
        ),
        (
            "$input.list.sort((a, b) => { let c = a; c += ''; return b.localeCompare(c); })[0]",
            json!("b"),
        ),
        ("'a'['locale' + 'Compare']('b')", json!(-1)),
        (
            "new Intl.NumberFormat('de-DE', {style: 'currency', currency: 'EUR'}).format(1234.5)",
            json!("1.234,50\u{a0}€"),
        ),
        (
            "Intl.DateTimeFormat('en-GB', {dateStyle: 'long'}).format(new Date($input.d))",
            json!("6 May 2024"),
        ),
    ] {
        assert_eq!(value(&sandbox, source, &input), expected, "{source}");
    }
    let refused = |source: &str| sandbox.evaluate(source, &input).unwrap_err();
    // In the engine it is a property.
    assert!(
        refused("$input.list.map(x => { let d = DateTime.fromISO(x); d = d; return d.isWeekend(); })")
            .starts_with("`.isWeekend(…)` can't be used in a part of an expression")
    );
    assert_eq!(
        refused("$input.text.contains('x') && /x/"),
        "there is no method `.contains(…)`"
    );
    assert!(
        message(&sandbox, "new Date(0).toLocaleDateString('ko-KR') + /x/", &input)
            .contains("The locale `ko-KR` is")
    );
    assert!(message(&sandbox, "Intl.DateTimeFormat('ko')", &input).contains("isn't available for dates"));
}

#[test]
fn what_waits_and_what_is_unknown_is_refused() {
    let sandbox = Sandbox::new();
    for (source, expected) in [
        ("await 1", "an expression can't wait"),
        ("(async () => 1)()", "an expression can't wait"),
        ("(async function* () {})()", "an expression can't wait"),
        ("import('x')", "nothing can be imported"),
        ("import.meta.url", "an expression is not a module"),
        ("Promise.resolve(1)", "expressions have no `Promise`"),
        ("fetch('http://x/')", "expressions have no `fetch`"),
        ("setTimeout(() => {}, 1)", "expressions have no `setTimeout`"),
        ("require('fs') + /x/", "expressions have no `require`"),
        ("Buffer.from('x')", "expressions have no `Buffer`"),
        ("$env.X + /x/", "`$env` exists only in n8n"),
        ("/x/.test(process.env.X)", "`process` exists only in Node.js"),
        ("/x/.test(text)", "there is no `text`"),
        ("(() => { $json = 1; })()", "`$json` can't be assigned to"),
        ("(() => { counter++; })()", "there is no `counter`"),
        ("(() => { Array = 1; })()", "`Array` can't be assigned to"),
        ("arguments[0] + /x/", "there is no `arguments`"),
        (
            "$nodes.missing.x.replace(/x/, '')",
            "there is no node with the id `missing`",
        ),
        (
            "$('Missing').x.replace(/x/, '')",
            "there is no node with the label `Missing`",
        ),
        ("$nodes[$json.x] + /x/", "the id of a node can't be computed"),
        ("$secrets + /x/", "`$secrets` is not a value by itself"),
        ("$item + /x/", "there is no `$item` here"),
        ("$random(5) + /x/", "`$random()` takes no arguments"),
        (
            "$json.names.randomItem().replace(/x/, '')",
            "`.randomItem(…)` exists only in n8n",
        ),
        (
            "$json.name.frobnicate().replace(/x/, '')",
            "there is no method `.frobnicate(…)`",
        ),
        ("/(/", "this is not a JavaScript expression: "),
        ("/x/gg", "this is not a JavaScript expression: "),
        ("/(?<a>x)(?<a>y)/", "this is not a JavaScript expression: "),
        (
            "(() => { let a; let a; })()",
            "this is not a JavaScript expression: ",
        ),
        ("((a, a) => a)(1, 2)", "this is not a JavaScript expression: "),
        ("(() => { break; })()", "this is not a JavaScript expression: "),
        ("(() => { const x; })()", "this is not a JavaScript expression: "),
        (
            "(() => { with ({}) {} })()",
            "this is not a JavaScript expression: ",
        ),
        ("super.x", "this is not a JavaScript expression: "),
        ("new.target", "this is not a JavaScript expression: "),
        ("delete x", "this is not a JavaScript expression: "),
        (
            "(class { #a; m() { return this.#b; } })",
            "this is not a JavaScript expression: ",
        ),
    ] {
        let refused = sandbox.evaluate(source, &Value::Null).map(|_| "nothing");
        let refused = refused.unwrap_err();
        assert!(refused.starts_with(expected), "{source}: {refused}");
    }
}

#[test]
fn random_numbers_differ_from_call_to_call() {
    let sandbox = Sandbox::new();
    let source = "(() => { const all = []; for (let i = 0; i < 5; i++) all.push($random(), $uuid(), Math.random()); \
                  return new Set(all).size; })()";
    assert_eq!(value(&sandbox, source, &Value::Null), json!(15));
    let drawn = |seed| {
        let _ = seed;
        value(&sandbox, "[/x/.source, $random(), $uuid()]", &Value::Null)
    };
    assert_eq!(drawn(1), drawn(2));
    assert!(drawn(1)[1].as_f64().is_some_and(|n| (0.0..1.0).contains(&n)));
}

#[test]
fn text_takes_the_text_of_a_value() {
    let sandbox = Sandbox::new();
    let input = json!({"s": "a-b"});
    for (text, expected) in [
        ("<{{ $input.s.replace(/-/, '+') }}>", "<a+b>"),
        ("<{{ $input.s.match(/x/) }}>", "<>"),
        ("<{{ /x/.exec('y')?.[0] }}>", "<>"),
        ("<{{ $input.s.split(/-/) }}>", "<[\"a\",\"b\"]>"),
        (
            "<{{ new Set([1]).size }}|{{ 1 }}|{{ /b/.test($input.s) }}>",
            "<1|1|true>",
        ),
        ("<{{ new Date(0) && /x/.source }}>", "<x>"),
        (
            "<{{ (() => { return new Date(0); })() }}>",
            "<1970-01-01T00:00:00.000Z>",
        ),
        ("{{ $input.s.replace(/}}/, '') }} // }}", "a-b // }}"),
        ("{{ $input.s.replace(/-/, '') // a comment\n }}!", "ab!"),
        ("{{ 'a<!--b'.replace(/a/, '') }}!", "<!--b!"),
        ("{{ ((a, b) => { return a<!--b; })(0, 1) }}!", "true!"),
    ] {
        assert_eq!(sandbox.text(text, &input), expected, "{text}");
    }
}

#[test]
fn deep_and_large_values_end_clearly() {
    let sandbox = Sandbox::new();
    for (source, expected) in [
        (
            "(() => { let a = []; for (let i = 0; i < 600; i++) a = [a]; return a; })()",
            "nested more than",
        ),
        ("'x'.repeat(2 ** 28).replace(/y/, '') && 'x'.repeat(2 ** 25)", ""),
    ] {
        let outcome = sandbox.evaluate(source, &Value::Null).unwrap();
        let error = outcome.error.unwrap();
        assert!(
            error.message.contains(expected),
            "{source}: {} {}",
            error.code,
            error.message
        );
    }
    let nested = format!("{}/x/.source{}", "(".repeat(200), ")".repeat(200));
    assert_eq!(value(&sandbox, &nested, &Value::Null), "x");
    let chain = format!("/x/.source{}", " + 'y'".repeat(900));
    assert_eq!(
        value(&sandbox, &chain, &Value::Null).as_str().map(str::len),
        Some(901)
    );
}
