//! What a module's code finds around it, and how its value and its failures come out.

#![expect(clippy::unwrap_used, reason = "a failed test may panic")]

mod support;

use heddle_javascript::names;
use heddle_javascript::protocol::{SourceKind, Status};
use serde_json::{Value, json};
use support::{Guest, Limits, body, run, run_with};

#[test]
fn module_gets_input_and_gives_a_value() {
    let source =
        "export default ({input}) => input.items.filter(i => i.qty > 1).map(({sku}) => sku).join(', ')";
    let input = json!({"items": [{"sku": "a", "qty": 2}, {"sku": "b", "qty": 1}, {"sku": "c", "qty": 3}]});
    assert_eq!(run(source, input), Ok(json!("a, c")));
}

#[test]
fn values_cross_unchanged() {
    let identity = "export default ({input}) => input";
    let values = json!([
        null, true, false, 0, 1, -1, 2147483647, 2147483648i64, -2147483648i64, 1.5, 1e300, -1e-300, 9007199254740991i64,
        "", "text", "größe 🎉 \u{0}", [], [[], [[]]], {}, {"b": 1, "a": {"c": [1, "x"]}},
        {"__proto__": 1, "constructor": 2, "toString": 3}, {"length": 1}
    ]);
    assert_eq!(run(identity, values.clone()), Ok(values));
}

#[test]
fn integer_like_keys_come_first_as_in_javascript() {
    let found = body("return {b: 1, 10: 2, a: 3, 2: 4, '-1': 5}");
    let keys: Vec<&String> = found
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, _)| key)
        .collect();
    assert_eq!(keys, ["2", "10", "b", "a", "-1"]);
}

#[test]
fn what_json_has_not_is_kept_or_left_out() {
    for (code, expected) in [
        ("undefined", json!({"$undefined": true})),
        ("NaN", json!({"$number": "NaN"})),
        ("-Infinity", json!({"$number": "-inf"})),
        ("-0", json!(-0.0)),
        ("new Date(5)", json!({"$date": 5})),
        ("new Date(NaN)", json!({"$date": {"$number": "NaN"}})),
        ("'\\ud800x'", json!({"$units": [0xd800, 0x78]})),
        (
            "{f() {}, s: Symbol(), u: undefined, n: 1}",
            json!({"u": {"$undefined": true}, "n": 1}),
        ),
        ("[() => 1]", json!([{"$undefined": true}])),
        ("[1,,3]", json!([1, {"$undefined": true}, 3])),
        (
            "{toJSON() { return {a: 1, toJSON() { return 2; }}; }}",
            json!({"a": 1}),
        ),
        (
            "[new Number(1), new String('s'), new Boolean(false)]",
            json!([1, "s", false]),
        ),
        ("new Map([[1, 2]])", json!({})),
        (
            "new (class P { x = 1; #y = 2; get z() { return 3; } })",
            json!({"x": 1}),
        ),
        ("new URL('http://a/b')", json!("http://a/b")),
        (
            "Object.create({inherited: 1}, {own: {value: 2, enumerable: true}, hidden: {value: 3}})",
            json!({"own": 2}),
        ),
    ] {
        assert_eq!(body(&format!("return {code}")), expected, "{code}");
    }
}

#[test]
fn what_can_not_be_handed_on_is_an_error() {
    for (code, message) in [
        (
            "const a = []; a.push(a); return a;",
            "nested more than 520 deep, or contains itself",
        ),
        (
            "let a = 1; for (let i = 0; i < 600; i++) a = {a}; return a;",
            "nested more than 520 deep",
        ),
        ("return 1n;", "BigInt can't be handed on"),
        (
            "let a = 'x'.repeat(1 << 20), b = []; while (b.length < 20) b.push(a); return b;",
            "more than 16 MiB",
        ),
        (
            "return {get a() { throw new Error('from a getter'); }};",
            "from a getter",
        ),
        (
            "return new Proxy({}, {ownKeys() { throw new Error('from a proxy'); }});",
            "from a proxy",
        ),
    ] {
        let failure = run(&format!("export default () => {{ {code} }}"), Value::Null).unwrap_err();
        let found = failure["message"].as_str().unwrap_or_default();
        assert!(found.contains(message), "{code}: {found}");
    }
}

#[test]
fn failures_name_line_and_column() {
    let source = "const helper = (x) => {\n  return x.y.z;\n};\nexport default () =>\n  helper({});\n";
    let failure = run(source, Value::Null).unwrap_err();
    assert_eq!(failure["name"], "TypeError");
    assert_eq!(
        (&failure["line"], &failure["column"]),
        (&json!(2), &json!(10)),
        "{failure}"
    );

    let failure = run("export default () => {\n  let a = ;\n}", Value::Null).unwrap_err();
    assert_eq!(
        (&failure["name"], &failure["line"]),
        (&json!("SyntaxError"), &json!(2)),
        "{failure}"
    );

    let source = "export default async () => {\n  await null;\n  throw Object.assign(new RangeError('no'), {code: 'MINE'});\n}";
    let failure = run(source, Value::Null).unwrap_err();
    assert_eq!(failure["line"], 3);
    assert_eq!(
        (&failure["name"], &failure["message"], &failure["code"]),
        (&json!("RangeError"), &json!("no"), &json!("MINE"))
    );

    // From within the prelude: the place is the user's.
    let failure = run("\nexport default () => new URL('nonsense')", Value::Null).unwrap_err();
    assert_eq!(
        (&failure["message"], &failure["line"]),
        (&json!("Invalid URL: nonsense"), &json!(2)),
        "{failure}"
    );
}

#[test]
fn whatever_is_thrown_is_told() {
    for (thrown, message) in [
        ("'text'", "text"),
        ("undefined", "undefined"),
        ("{a: 1}", "{\"a\":1}"),
        ("{message: 'm', code: 'C'}", "m"),
        ("Symbol('s')", "Something was thrown that has no text"),
        (
            "new Proxy({}, {get() { throw 1; }})",
            "Something was thrown that has no text",
        ),
        (
            "Object.defineProperty(new Error('x'), 'message', {get() { throw 1; }})",
            "",
        ),
    ] {
        let failure = run(
            &format!("export default () => {{ throw {thrown}; }}"),
            Value::Null,
        )
        .unwrap_err();
        assert_eq!(failure["message"], message, "{thrown}");
    }
}

#[test]
fn sources_without_a_function_are_refused() {
    for (source, message) in [
        ("const a = 1;", "no function as its default export"),
        ("export default 5;", "no function as its default export"),
        (
            "import fs from 'fs'; export default () => 1;",
            "could not load module 'fs'",
        ),
        ("import { Info } from 'luxon'; export default () => 1;", "Info"),
        ("throw new Error('at the top');", "at the top"),
        (
            "await new Promise(() => {}); export default () => 1;",
            "top level waits",
        ),
    ] {
        let failure = run(source, Value::Null).unwrap_err();
        let found = failure["message"].as_str().unwrap_or_default();
        assert!(found.contains(message), "{source}: {failure}");
    }
}

#[test]
fn imports_within_the_function_fail() {
    let failure = run(
        "export default async () => (await import('node:fs')).readFileSync('/etc/passwd')",
        Value::Null,
    );
    assert!(
        failure.unwrap_err()["message"]
            .as_str()
            .is_some_and(|message| message.contains("node:fs"))
    );
}

#[test]
fn logs_go_to_the_host_with_their_levels() {
    let source = "export default ({log}) => {
        log('plain', 1, {a: [undefined, 2n, () => 1]});
        log.warn('careful');
        console.error(new TypeError('bad').message);
        console.debug('d'); console.log(); console.info(Symbol('s'), null, undefined, '\\ud800');
        const loop = {name: 'loop'}; loop.self = loop; console.log(loop);
        console.log(new Map([['a', 1]]), /x/g, '');
    }";
    let (guest, result) = run_with(source, Value::Null, Limits::default(), |_, _| panic!());
    assert!(matches!(result, Ok(Ok(_))));
    let expected = [
        (1, "plain 1 {\"a\":[null,\"2n\",\"[Function anonymous]\"]}"),
        (2, "careful"),
        (3, "bad"),
        (0, "d"),
        (1, ""),
        (1, "Symbol(s) null undefined \u{fffd}"),
        (1, "{\"name\":\"loop\",\"self\":\"[Circular]\"}"),
        (1, "{\"Map\":[[\"a\",1]]} /x/g "),
    ];
    let found: Vec<(i32, &str)> = guest
        .store
        .data()
        .logs
        .iter()
        .map(|(level, text)| (*level, text.as_str()))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn time_and_chance_are_the_runs() {
    assert_eq!(
        body("return [Date.now(), new Date().toISOString(), new Date(0).getHours()]"),
        json!([1_700_000_000_000i64, "2023-11-14T22:13:20.000Z", 0])
    );
    let source = "export default () => [Math.random(), crypto.randomUUID(), ...crypto.getRandomValues(new Uint8Array(3))]";
    let with_seed = |seed| {
        let mut guest = Guest::new();
        let function = guest.load(SourceKind::Module, source);
        guest
            .call(function, seed, json!([{}]))
            .map(|(_, value)| value)
            .ok()
    };
    assert_eq!(with_seed(1), with_seed(1));
    assert_ne!(with_seed(1), with_seed(2));
    let uuid = with_seed(3)
        .and_then(|value| value[1].as_str().map(str::to_owned))
        .unwrap_or_default();
    assert_eq!((uuid.len(), &uuid[14..15]), (36, "4"));
}

#[test]
fn web_interfaces_behave_as_specified() {
    for (code, expected) in [
        ("btoa('hä')", json!("aOQ=")),
        ("atob('aGk=')", json!("hi")),
        (
            "[...new TextEncoder().encode('ü€')]",
            json!([195, 188, 226, 130, 172]),
        ),
        (
            "new TextDecoder().decode(new Uint8Array([0xef, 0xbb, 0xbf, 104, 105]))",
            json!("hi"),
        ),
        (
            "new TextDecoder('utf-16le').decode(new Uint8Array([104, 0, 105, 0]))",
            json!("hi"),
        ),
        (
            "[...new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode('abc')))].slice(0, 4)",
            json!([0xba, 0x78, 0x16, 0xbf]),
        ),
        (
            "(await crypto.subtle.digest('sha-512', new ArrayBuffer(0))).byteLength",
            json!(64),
        ),
        (
            "structuredClone({d: new Date(3), m: new Map([[1, {a: 2}]]), a: [1, , 3]}).m.get(1).a",
            json!(2),
        ),
        (
            "(() => { const a = {}; a.a = a; const b = structuredClone(a); return b !== a && b.a === b; })()",
            json!(true),
        ),
        (
            "(() => { try { structuredClone(() => 1); } catch (error) { return error.name; } })()",
            json!("DataCloneError"),
        ),
        (
            "new URL('../x?q=1#h', 'https://user:pw@Example.com:8443/a/b/').href",
            json!("https://user:pw@example.com:8443/a/x?q=1#h"),
        ),
        ("new URL('http://münchen.de/').host", json!("xn--mnchen-3ya.de")),
        (
            "(() => { const u = new URL('http://a/?x=1'); u.searchParams.append('y', 'ü &'); u.hash = 'z'; return u.href; })()",
            json!("http://a/?x=1&y=%C3%BC+%26#z"),
        ),
        (
            "(() => { const u = new URL('http://a/?x=1'); const p = u.searchParams; u.search = '?z=2'; return p.get('z'); })()",
            json!("2"),
        ),
        (
            "[...new URLSearchParams('a=1&b=%20+&a=2')]",
            json!([["a", "1"], ["b", "  "], ["a", "2"]]),
        ),
        (
            "new URLSearchParams({a: 'x y', b: 'ß'}).toString()",
            json!("a=x+y&b=%C3%9F"),
        ),
        ("URL.canParse('nope')", json!(false)),
        (
            "[typeof process, typeof module, typeof std, typeof os, typeof WebAssembly]",
            json!(["undefined", "undefined", "undefined", "undefined", "undefined"]),
        ),
        (
            "Object.keys(globalThis).filter(name => !name.startsWith('_'))",
            json!([]),
        ),
        (
            "[performance.now(), performance.timeOrigin]",
            json!([0, 1_700_000_000_000i64]),
        ),
        (
            "[3, 1, 2].toSorted().at(-1) + Object.groupBy([1, 2], x => x % 2 ? 'odd' : 'even').odd[0]",
            json!(4),
        ),
        ("'a-b-c'.replaceAll(/-(?<x>.)/gu, '$<x>')", json!("abc")),
    ] {
        assert_eq!(body(&format!("return {code}")), expected, "{code}");
    }
}

#[test]
fn fetch_asks_the_host_and_goes_on_with_its_answer() {
    let source = "export default async ({input}) => {
        const response = await fetch('https://example.com/a?b=1', {
            method: 'post', headers: {'X-Key': 'k'}, body: JSON.stringify(input), signal: AbortSignal.timeout(500),
        });
        const data = await response.json();
        return {status: response.status, ok: response.ok, type: response.headers.get('Content-Type'), data};
    }";
    let (_, result) = run_with(source, json!({"q": 1}), Limits::default(), |kind, request| {
        assert_eq!(kind, "http");
        assert_eq!(
            request,
            &json!({
                "method": "POST", "url": "https://example.com/a?b=1",
                "headers": [["content-type", "text/plain;charset=UTF-8"], ["x-key", "k"]],
                "followRedirects": true, "body": {"text": "{\"q\":1}"}, "timeoutMs": 500
            })
        );
        Ok(json!({"status": 201, "headers": {"content-type": "application/json"}, "text": "{\"r\": 2}"}))
    });
    assert_eq!(
        result.ok(),
        Some(Ok(
            json!({"status": 201, "ok": true, "type": "application/json", "data": {"r": 2}})
        ))
    );
}

#[test]
fn several_requests_wait_together() {
    let source = "export default async () => {
        const urls = ['http://a/', 'http://b/', 'http://c/'];
        const texts = await Promise.all(urls.map(async (url) => (await fetch(url)).text()));
        return texts.concat(await (await fetch('http://d/')).text());
    }";
    let mut guest = Guest::new();
    let function = guest.load(SourceKind::Module, source);
    let (status, pending) = guest.call(function, 0, json!([{}])).ok().unzip();
    assert_eq!(status, Some(Status::Pending));
    let requests = pending.map(|pending| pending["requests"].as_array().map(Vec::len));
    assert_eq!(requests, Some(Some(3)));
    let answer = |text: &str| Ok(json!({"status": 200, "headers": {}, "text": text}));
    // In another order than they were made.
    for (request, text) in [(2, "C"), (0, "A")] {
        let (status, pending) = guest.resume(0, request, &answer(text)).ok().unzip();
        assert_eq!(
            (status, pending),
            (Some(Status::Pending), Some(json!({"call": 0, "requests": []})))
        );
    }
    assert!(matches!(
        guest.resume(0, 1, &answer("B")),
        Ok((Status::Pending, _))
    ));
    let (status, value) = guest.resume(0, 3, &answer("D")).ok().unzip();
    assert_eq!(
        (status, value),
        (Some(Status::Done), Some(json!(["A", "B", "C", "D"])))
    );
}

#[test]
fn failed_request_can_be_caught() {
    let source = "export default async () => {
        try { await fetch('http://x/'); } catch (error) { return [error instanceof Error, error.code, error.message]; }
    }";
    let (_, result) = run_with(source, Value::Null, Limits::default(), |_, _| {
        Err(("HTTP_FAILED", "No such host."))
    });
    assert_eq!(
        result.ok(),
        Some(Ok(json!([true, "HTTP_FAILED", "No such host."])))
    );
}

#[test]
fn requests_that_nobody_awaits_are_made_before_the_call_ends() {
    let mut urls = Vec::new();
    let source = "export default () => { fetch('http://a/'); setTimeout(() => {}, 9e9); return 5; }";
    let (_, result) = run_with(source, Value::Null, Limits::default(), |kind, request| {
        assert_eq!(kind, "http");
        urls.push(request["url"].clone());
        Ok(json!({"status": 204, "headers": {}, "text": ""}))
    });
    assert_eq!(result.ok(), Some(Ok(json!(5))));
    assert_eq!(urls, ["http://a/"]);
}

#[test]
fn timers_wait_at_the_host() {
    let source = "export default async () => {
        const seen = [];
        const never = setTimeout(() => seen.push('never'), 1);
        clearTimeout(never);
        await new Promise((resolve) => setTimeout(resolve, 250));
        return seen;
    }";
    let mut waits = Vec::new();
    let (_, result) = run_with(source, Value::Null, Limits::default(), |kind, request| {
        waits.push((kind.to_owned(), request["ms"].clone()));
        Ok(Value::Null)
    });
    assert_eq!(result.ok(), Some(Ok(json!([]))));
    assert_eq!(waits, [("sleep".into(), json!(1)), ("sleep".into(), json!(250))]);
}

#[test]
fn bad_requests_fail_before_they_are_made() {
    for (call, message) in [
        ("fetch('file:///etc/passwd')", "fetch takes an http or https URL"),
        ("fetch('/relative')", "fetch takes an http or https URL"),
        (
            "fetch('http://a/', {method: 'CONNECT'})",
            "The method CONNECT is not supported",
        ),
        (
            "fetch('http://a/', {body: 'x'})",
            "A GET request can't have a body",
        ),
        (
            "fetch('http://a/', {headers: {'a\\nb': '1'}})",
            "Invalid header name",
        ),
        (
            "fetch('http://a/', {headers: {a: '1\\r\\nb: 2'}})",
            "Invalid value of the header a",
        ),
        ("fetch('http://a/', {signal: AbortSignal.abort()})", "aborted"),
        ("keyValue.get(7)", "keyValue.get takes the name of the value"),
        ("keyValue.set('a')", "keyValue.set takes a value behind the name"),
        (
            "keyValue.increment('a', 'x')",
            "keyValue.increment takes a number",
        ),
        ("keyValue.get('a', {ttlMs: 0})", "ttlMs takes whole milliseconds"),
    ] {
        let failure = run(&format!("export default () => {call}"), Value::Null).unwrap_err();
        let found = failure["message"].as_str().unwrap_or_default();
        assert!(found.contains(message), "{call}: {found}");
    }
}

#[test]
fn thenables_are_awaited() {
    assert_eq!(
        run(
            "export default () => ({then(resolve) { resolve(3); }})",
            Value::Null
        ),
        Ok(json!(3))
    );
}

#[test]
fn expressions_have_a_realm_of_their_own() {
    let mut guest = Guest::new();
    let spoil = guest.load(
        SourceKind::Module,
        "export default () => { Array.prototype.map = () => 'spoilt'; globalThis.x = 1; JSON.parse = null; }",
    );
    let expression = guest.load(
        SourceKind::Expression,
        "(a, b) => [a.map(x => x * b), typeof x, typeof JSON.parse, typeof fetch]",
    );
    assert!(matches!(guest.call(spoil, 0, json!([{}])), Ok((Status::Done, _))));
    let found = guest
        .call(expression, 0, json!([[1, 2], 10]))
        .map(|(_, value)| value)
        .ok();
    assert_eq!(
        found,
        Some(json!([[10, 20], "undefined", "function", "undefined"]))
    );
}

#[test]
fn arguments_can_not_change_prototypes() {
    let mut guest = Guest::new();
    let function = guest.load(
        SourceKind::Expression,
        "a => [a.polluted, ({}).polluted, Object.keys(a).join()]",
    );
    let found = guest
        .call(function, 0, json!([{"__proto__": {"polluted": 1}}]))
        .map(|(_, value)| value)
        .ok();
    let undefined = json!({"$undefined": true});
    assert_eq!(found, Some(json!([undefined, undefined, "__proto__"])));
}

/// Names that the realm of expressions has: its globals, and the properties of all that is built in.
fn built_in_names() -> (Vec<String>, Vec<String>) {
    let mut guest = Guest::new();
    let source = "() => {
        const globals = Object.getOwnPropertyNames(globalThis);
        const found = new Set(), names = new Set();
        const add = (value) => {
            if (typeof value === 'function' || (typeof value === 'object' && value !== null)) found.add(value);
        };
        for (const value of [
            [][Symbol.iterator](), ''[Symbol.iterator](), new Map().keys(), new Set().keys(), 'x'.matchAll(/x/g),
            [].values().map((x) => x), function* () {}, (function* () {})(),
        ]) add(Object.getPrototypeOf(value));
        for (const name of globals) add(globalThis[name]);
        found.delete(globalThis);
        for (const value of found) {
            if (value !== globalThis) add(Object.getPrototypeOf(value));
            for (const key of Reflect.ownKeys(value)) {
                if (typeof key === 'string') names.add(key);
                const property = Object.getOwnPropertyDescriptor(value, key);
                for (const item of [property.value, property.get, property.set]) if (item !== globalThis) add(item);
            }
        }
        return [globals.sort(), [...names].sort()];
    }";
    let function = guest.load(SourceKind::Expression, source);
    let (status, names) = guest.call(function, 0, json!([])).unwrap();
    assert_eq!(status, Status::Done, "{names}");
    serde_json::from_value(names).unwrap()
}

#[test]
fn the_names_that_are_known_elsewhere_are_those_of_the_engine() {
    let (globals, properties) = built_in_names();
    assert_eq!(globals, names::GLOBALS, "print: {globals:?}");
    let mut known = [names::PROPERTIES, names::TIMES].concat();
    known.sort_unstable();
    assert_eq!(properties, known, "print: {properties:?}");
}

#[test]
fn what_is_kept_is_asked_of_the_host() {
    let source = "export default async () => {
        const before = await keyValue.get('a');
        await keyValue.set('a', {n: 1}, {ttlMs: 5, scope: 'workspace'});
        return [before, await keyValue.append('l', 2), await keyValue.increment('n'), await keyValue.delete('a')];
    }";
    let mut asked = Vec::new();
    let (_, result) = run_with(source, json!({}), Limits::default(), |kind, request| {
        assert_eq!(kind, "key-value");
        asked.push(request.clone());
        Ok(request["operation"].clone())
    });
    assert_eq!(
        result.ok(),
        Some(Ok(json!(["get", "append", "increment", "delete"])))
    );
    let of = |operation: &str, key: &str| json!({"operation": operation, "key": key, "scope": "pattern"});
    let with_value = |mut request: Value, value: Value| {
        request["value"] = value;
        request
    };
    let mut set = with_value(of("set", "a"), json!({"n": 1}));
    set["scope"] = "workspace".into();
    set["ttlMs"] = 5.into();
    let expected = [
        of("get", "a"),
        set,
        with_value(of("append", "l"), json!(2)),
        with_value(of("increment", "n"), json!(1)),
        of("delete", "a"),
    ];
    assert_eq!(asked, expected);
}
