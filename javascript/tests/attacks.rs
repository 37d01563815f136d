//! Code that means harm ends in an error, within the limits, and takes nothing with it.
//!
//! Where a published escape is replayed, its class is named; none of them can reach further than this realm,
//! since there is nothing else in the instance.

mod support;

use heddle_javascript::protocol::{SourceKind, Status};
use serde_json::{Value, json};
use support::{Guest, Limits, body, run_with};
use wasmtime::Trap;

const SMALL: Limits = Limits {
    fuel: 500_000_000,
    memory_bytes: 32 << 20,
};

/// Why a run was stopped.
fn trap(result: wasmtime::Result<Result<Value, Value>>) -> String {
    match result {
        Ok(result) => panic!("was not stopped: {result:?}"),
        Err(error) => match error.downcast_ref::<Trap>() {
            Some(trap) => format!("{trap:?}"),
            None => error.root_cause().to_string(),
        },
    }
}

/// Why the body is stopped from outside.
fn stopped(body: &str) -> String {
    trap(
        run_with(
            &format!("export default async () => {{ {body} }}"),
            Value::Null,
            SMALL,
            |_, _| Ok(Value::Null),
        )
        .1,
    )
}

#[test]
fn endless_loops_run_out_of_fuel() {
    for body in [
        "for (;;);",
        "while (true) { try { throw 1; } catch {} finally { continue; } }",
        "const spin = () => Promise.resolve().then(spin); await spin();",
        "for (let s = 'a'; ; s = s.split('').reverse().join('')) ;",
        "[...{[Symbol.iterator]: () => ({next: () => ({done: false, get value() { return 1; }})}), }].length",
        "setInterval(() => {}, 0); await new Promise(() => {});",
        "const end = Date.now() + 1000; while (Date.now() < end);",
        "(function f() { try { f(); } finally { f(); } })();",
    ] {
        let why = stopped(body);
        // The iterator keeps what it has seen, so it may use up its memory first.
        assert!(why == "OutOfFuel" || why == "out of memory", "{body}: {why}");
    }
}

#[test]
fn regular_expressions_that_backtrack_run_out_of_fuel() {
    for body in [
        "/^(a+)+$/.test('a'.repeat(40) + '!')",
        "/^([a-z]+)*$/u.test('a'.repeat(50) + '1')",
        "/(?=(a+))*b/.test('a'.repeat(1e5)); /(x+x+)+y/.test('x'.repeat(60))",
        "/(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)[^a]$/s.test('a'.repeat(200))",
    ] {
        assert_eq!(stopped(body), "OutOfFuel", "{body}");
    }
}

#[test]
fn recursion_is_an_error_that_code_can_catch() {
    for body in [
        "const f = () => f() + 1; f();",
        "const f = async () => { await f(); }; await f();",
        "const a = []; a[0] = a; const g = (x) => x.map(g); g(a);",
        "const o = {toString() { return `${o}`; }}; return `${o}`;",
        "const p = new Proxy({}, {get: (t, k, r) => r[k]}); return p.x;",
        "new RegExp('(?:'.repeat(1e5) + ')'.repeat(1e5));",
        "eval('['.repeat(1e5));",
        "JSON.parse('['.repeat(1e6));",
        "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; JSON.stringify(a);",
        "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; a.flat(Infinity);",
        "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; structuredClone(a);",
        "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; String(a);",
        "const g = function* () { yield* g(); }; [...g()];",
        "class A { constructor() { return Reflect.construct(A, [], new.target); } } new A();",
        "const e = new Error(); Object.defineProperty(e, 'stack', {get() { return this.stack; }}); return e.stack;",
    ] {
        // Either the engine finds it first and the code can catch it, or the run ends.
        let code = format!("export default async () => {{ {body} }}");
        match run_with(&code, Value::Null, Limits::default(), |_, _| Ok(Value::Null)).1 {
            Ok(failure) => {
                let failure = failure.expect_err(body);
                let message = failure["message"].as_str().unwrap_or_default();
                let known = ["call stack", "stack overflow", "too deep", "nested", "nesting"];
                assert!(
                    known.iter().any(|word| message.contains(word)),
                    "{body}: {failure}"
                );
            }
            stopped => assert_eq!(trap(stopped), "StackOverflow", "{body}"),
        }
    }
    let depth = body(
        "let n = 0; const f = (a, b) => { n++; return f(b, a) + 1; }; try { f(1, 2); } catch { return n; }",
    );
    assert!(depth.as_i64().is_some_and(|depth| depth > 1_200), "{depth}");
    assert_eq!(
        body("const f = () => f(); try { f(); } catch (error) { return error.name; }"),
        "RangeError"
    );
}

#[test]
fn memory_is_limited() {
    for body in [
        "const all = []; for (;;) all.push(new Array(1e6).fill(7));",
        "let s = 'x'; for (;;) s += s;",
        "return 'x'.repeat(2 ** 29);",
        "return 'x'.padEnd(2 ** 29, 'yz').length;",
        "return new Uint8Array(100 * 2 ** 20);",
        "return new ArrayBuffer(2 ** 31);",
        "return Array.from({length: 100e6}, (_, i) => i);",
        "return new Array(2 ** 32 - 1).fill(0);",
        "return new Array(2 ** 31).join('abc');",
        "return 'ab'.repeat(2 ** 20).split('').map((c) => c.repeat(2 ** 10));",
        "const m = new Map(); for (let i = 0; ; i++) m.set(i, {i});",
        "return JSON.stringify(Array(1e4).fill('x'.repeat(1e4)));",
        "return 'a'.repeat(2 ** 24).replace(/a/g, '$`$`$`');",
        "return 2n ** (2n ** 40n);",
        "const r = []; for (;;) r.push(new RegExp('[' + 'a-z'.repeat(1e4) + r.length + ']', 'i'));",
        "const s = []; for (;;) s.push(Symbol('x'.repeat(1000)));",
    ] {
        let code = format!("export default async () => {{ {body} }}");
        match run_with(&code, Value::Null, SMALL, |_, _| Ok(Value::Null)) {
            (mut guest, Ok(failure)) => {
                let failure = failure.expect_err(body);
                let message = failure["message"].as_str().unwrap_or_default();
                let known = [
                    "out of memory",
                    "invalid",
                    "too large",
                    "more than 16 MiB",
                    "length",
                    "too long",
                ];
                assert!(
                    known.iter().any(|word| message.contains(word)),
                    "{body}: {failure}"
                );
                // It goes on working.
                guest.load(SourceKind::Expression, "() => 1");
            }
            (_, stopped) => {
                let why = trap(stopped);
                assert!(
                    ["out of memory", "OutOfFuel"].contains(&why.as_str()),
                    "{body}: {why}"
                );
            }
        }
    }
}

#[test]
fn promises_that_never_settle_are_an_error() {
    for body in [
        "await new Promise(() => {});",
        "return new Promise(() => {});",
        "return {then() {}};",
        "await Promise.race([]);",
        "await fetch('http://a/'); await new Promise(() => {});",
        "for await (const x of {[Symbol.asyncIterator]: () => ({next: () => new Promise(() => {})})});",
    ] {
        let code = format!("export default async () => {{ {body} }}");
        let answer = json!({"status": 200, "headers": {}, "text": ""});
        let (_, result) = run_with(&code, Value::Null, SMALL, |_, _| Ok(answer.clone()));
        let failure = result
            .map_err(|error| error.to_string())
            .expect(body)
            .expect_err(body);
        let message = failure["message"].as_str().unwrap_or_default();
        assert!(
            message.contains("waits for a promise that nothing is left to settle"),
            "{body}: {message}"
        );
    }
}

#[test]
fn there_is_nothing_to_escape_to() {
    for (class, body) in [
        // vm2 GHSA-ch3r-j5x3-6q2m and kin; n8n CVE-2025-68613: a host's Function by way of a constructor.
        (
            "constructor chains",
            "this.constructor.constructor('return process')().exit()",
        ),
        (
            "constructor chains",
            "(function(){}).constructor('return process.mainModule.require(\"fs\")')()",
        ),
        (
            "constructor chains",
            "(async () => {}).constructor('return process')().then((p) => p.exit())",
        ),
        // vm2 CVE-2023-29017 and CVE-2023-30547: exceptions and stack traces made by the host.
        (
            "prepareStackTrace",
            "Error.prepareStackTrace = (e, frames) => frames[0].getThis().process.exit(); new Error().stack.x.y",
        ),
        (
            "host exceptions",
            "try { (function f() { f(); })(); } catch (e) { e.constructor.constructor('return process')().exit(); }",
        ),
        // vm2 CVE-2023-37466: handlers on promises of the host.
        (
            "promise species",
            "const p = fetch('http://a/'); p.constructor = {[Symbol.species]: class { constructor(f) { f(() => {}, () => {}); process.exit(); } }}; p.then(() => {})",
        ),
        // vm2 CVE-2023-32314: Proxy handed to the host.
        (
            "proxies",
            "throw new Proxy(new Error('x'), {get(t, k) { return process; }})",
        ),
        // Pyodide in n8n (CVE-2025-68668): the interpreter's own way out to the host's JavaScript.
        ("interpreter internals", "globalThis.Module.ccall('system')"),
        ("interpreter internals", "std.loadFile('/etc/passwd')"),
        ("interpreter internals", "os.exec(['id'])"),
        ("interpreter internals", "bjson.read(new ArrayBuffer(8), 0, 8)"),
        ("module loading", "require('child_process').execSync('id')"),
        ("module loading", "(await import('std')).loadFile('/etc/passwd')"),
        ("module loading", "(await import('/etc/passwd')).default"),
        ("global objects", "globalThis.process.env.HOME"),
        ("global objects", "Deno.readTextFileSync('/etc/passwd')"),
        (
            "global objects",
            "arguments.callee.caller.caller.constructor('return process')()",
        ),
    ] {
        let code = format!(
            "export default async function () {{ return {}; }}",
            body.replace("; ", "; return ")
        );
        let code = match body.contains(';') || body.starts_with("throw") {
            true => format!("export default async function () {{ {body} }}"),
            false => code,
        };
        let (_, result) = run_with(&code, Value::Null, SMALL, |_, _| {
            Ok(json!({"status": 200, "headers": {}}))
        });
        let failure = result
            .map_err(|error| error.to_string())
            .expect(body)
            .expect_err(body);
        assert!(
            !failure["message"].as_str().unwrap_or_default().contains("root:"),
            "{class}: {body}: {failure}"
        );
    }
}

#[test]
fn prototype_games_harm_only_their_own_run() {
    let spoil = "export default () => {
        Object.prototype.polluted = 1;
        Object.prototype.toJSON = () => 'spoilt';
        Object.defineProperty(Object.prototype, 'then', {get() { throw new Error('then'); }, configurable: true});
        for (const name of Object.getOwnPropertyNames(globalThis)) { try { delete globalThis[name]; } catch {} }
        return 1;
    }";
    let mut guest = Guest::new();
    let function = guest.load(SourceKind::Module, spoil);
    let _ = guest.call(function, 0, json!([{}]));
    let later = guest.load(SourceKind::Module, "export default () => { return {fine: 1}; }");
    // Whatever this gives, the engine still answers, and the next instance knows nothing of it.
    assert!(guest.call(later, 0, json!([{}])).is_ok());
    assert_eq!(
        body("return [({}).polluted === undefined, JSON.stringify({a: 1})]"),
        json!([true, "{\"a\":1}"])
    );
}

#[test]
fn broken_messages_are_refused() {
    let mut guest = Guest::new();
    let function = guest.load(SourceKind::Expression, "a => a");
    for message in [
        &[][..],
        &[8, 5],
        &[9, 7],
        &[6, 4, b'a'],
        &[6, 1, 0xff],
        &[3, 3],
        &[99],
        &[0],
        // Shared without an array or object, and again before it has ended.
        &[8, 1, 12, 1],
        &[8, 1, 13, 0],
        &[8, 1, 12, 8, 1, 13, 0],
        &[8, 1, 11, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    ] {
        let failure = guest
            .call_raw(function, 0, message)
            .map(|(status, _)| status as i32);
        assert_eq!(failure.ok(), Some(1), "{message:?}");
    }
    let mut deep = [8, 1].repeat(600);
    deep.push(0);
    assert_eq!(
        guest
            .call_raw(function, 0, &deep)
            .map(|(status, _)| status as i32)
            .ok(),
        Some(1)
    );
    for (call, request) in [(0, 0), (-1, 5)] {
        assert!(
            guest
                .resume(call, request, &Ok(Value::Null))
                .is_ok_and(|(status, _)| status as i32 == 1)
        );
    }
    assert!(
        guest
            .call(12_345, 0, json!([]))
            .is_ok_and(|(status, _)| status as i32 == 1)
    );
    assert!(
        guest
            .call(-1, 0, json!([]))
            .is_ok_and(|(status, _)| status as i32 == 1)
    );
}

#[test]
fn epochs_stop_what_does_not_end() {
    let mut guest = Guest::with(Limits {
        fuel: u64::MAX,
        ..SMALL
    });
    let function = guest.load(
        SourceKind::Expression,
        "() => /^(a+)+$/.test('a'.repeat(60) + '!')",
    );
    guest.store.set_epoch_deadline(0);
    let stopped = guest
        .call(function, 0, json!([]))
        .map(|(status, _)| Ok(json!(status as i32)));
    assert_eq!(trap(stopped), "Interrupt");
}

/// What an expression gives, or its failure.
fn expression(guest: &mut Guest, source: &str) -> Result<Value, Value> {
    let function = match guest.load_raw(
        SourceKind::Expression,
        &format!("(function ($json) {{ return (\n{source}\n); }})"),
    ) {
        Ok((Status::Done, function)) => function.as_i64().unwrap_or_default() as i32,
        Ok((_, failure)) => return Err(failure),
        Err(error) => panic!("{source}: {error}"),
    };
    match guest.call(function, 0, json!([{"a": 1, "list": [1, 2]}])) {
        Ok((Status::Done, value)) => Ok(value),
        Ok((_, failure)) => Err(failure),
        Err(error) => panic!("{source}: {error}"),
    }
}

#[test]
fn expressions_reach_nothing_and_leave_nothing() {
    let attacks = [
        // n8n CVE-2025-68613: `this` and a constructor lead to the host's global object.
        (
            "n8n expression injection",
            "(function () { return this.process.mainModule.require('child_process'); })()",
        ),
        (
            "n8n expression injection",
            "$json.constructor.constructor('return this.process.env')().HOME.length",
        ),
        (
            "n8n expression injection",
            "[]['filter']['constructor']('return process.binding')()('spawn_sync')",
        ),
        // n8n CVE-2026-1470: `with` and a local `constructor` hide the name from checks of the syntax tree.
        (
            "n8n with statement",
            "new Function('with (Object.create({constructor: Function})) { return constructor(\"return process\")(); }')()",
        ),
        (
            "n8n with statement",
            "Function('constructor', 'return constructor(\"return process.env\")()')($json.list.at.constructor)",
        ),
        // n8n CVE-2026-25049: names that checks of the syntax tree do not see: destructuring, template texts, types.
        (
            "n8n destructuring",
            "(({constructor: {constructor: F}}) => F('return process')())($json)",
        ),
        (
            "n8n computed names",
            "$json[`constr${'uctor'}`][['constructor']]('return process')()",
        ),
        (
            "n8n computed names",
            "$json[{toString: () => 'constructor'}].constructor('return global.process')().pid.x",
        ),
        // n8n CVE-2026-27577: an identifier that the rewriting of expressions overlooks.
        ("n8n rewriting", "((process) => process.env)(globalThis.process)"),
        (
            "n8n rewriting",
            "(() => { var {process} = globalThis; return process.env; })()",
        ),
        // n8n CVE-2026-27495: the JavaScript task runner's own objects.
        (
            "n8n task runner",
            "Object.getOwnPropertySymbols(globalThis).map((s) => globalThis[s])[0].process",
        ),
        (
            "n8n task runner",
            "(() => { Error.prepareStackTrace = (e, s) => s; return new Error().stack[0].getFunction().constructor('return process')(); })()",
        ),
        // n8n CVE-2026-0863 (Python): the exception's objects lead to the frames of the interpreter.
        (
            "exceptions' frames",
            "(() => { try { null.x; } catch (e) { return e.constructor.constructor('return process')().mainModule; } })()",
        ),
        (
            "exceptions' frames",
            "(function f() { return f.caller.caller.arguments[0].process; })()",
        ),
        // Pyodide, n8n CVE-2025-68668: the bridge between interpreter and host.
        (
            "interpreter's bridge",
            "globalThis.pyodide.globals.get('js').process",
        ),
        ("interpreter's bridge", "native.request('http', {})"),
        // vm2 CVE-2022-36067: the call site objects of a stack trace.
        (
            "vm2 call sites",
            "(() => { globalThis.Error = class { static prepareStackTrace(_, s) { return s[0].getThis(); } }; return new Error().stack.process; })()",
        ),
        // vm2 CVE-2023-29199: an exception that is handled before it is cleaned.
        (
            "vm2 exceptions",
            "(() => { const e = {}; e.name = {toString: new Proxy(() => '', {apply(t, self, args) { return args.constructor.constructor('return process')().mainModule; }})}; throw e; })()",
        ),
        // vm2 CVE-2023-32314 and CVE-2023-37903: Proxy and the inspection of values by the host.
        (
            "vm2 inspection",
            "console.log({[Symbol.for('nodejs.util.inspect.custom')]: (d, o, inspect) => inspect.constructor('return process')().exit()}) ?? process",
        ),
        // vm2 CVE-2023-37466: handlers on promises of the host.
        (
            "vm2 promises",
            "(async () => {})().constructor[Symbol.species].process.x",
        ),
        // vm2 CVE-2021-23449: an import inside of code that is made at run time.
        (
            "vm2 import",
            "new Function('return import(\"fs\")')().readFileSync('/etc/passwd')",
        ),
        ("vm2 import", "eval('import(\"std\")').loadFile('/etc/passwd')"),
    ];
    let mut guest = Guest::new();
    let unchanged = "[Object.getOwnPropertyNames(globalThis).length, typeof globalThis.process, ({}).polluted, [].polluted, \
                     Object.keys(Object.prototype).length, [1, 2].map((x) => x + 1).join(), /1/.test('1')]";
    let before = expression(&mut guest, unchanged);
    assert!(before.is_ok(), "{before:?}");
    for (class, source) in attacks {
        match expression(&mut guest, source) {
            Ok(value) => assert_eq!(value, json!({"$undefined": true}), "{class}: {source}"),
            Err(failure) => assert!(
                !failure.to_string().contains("root:"),
                "{class}: {source}: {failure}"
            ),
        }
        assert_eq!(expression(&mut guest, unchanged), before, "{class}: {source}");
    }
    // Prototype pollution does not reach the next evaluation, whether it says so or not.
    for source in [
        "Object.prototype.polluted = 1",
        "$json.__proto__.polluted = 1",
        "$json.constructor.prototype.polluted = 1",
        "[].__proto__.polluted = 1",
        "Object.setPrototypeOf(Object.prototype, {polluted: 1})",
        "Object.defineProperty(Array.prototype, 'map', {value: () => ({join: () => 'spoilt'})})",
        "RegExp.prototype.test = () => false",
        "RegExp.prototype.exec = () => null",
        "Function.prototype.call = Function.prototype.apply = () => 'spoilt'",
        "globalThis.polluted = 1",
        "delete globalThis.Object",
        "JSON.parse('{\"__proto__\": {\"polluted\": 1}}').polluted ?? Object.assign({}, JSON.parse('{\"__proto__\": {\"polluted\": 1}}')).x.y",
        "Object.freeze(globalThis) && (globalThis.polluted = 1)",
        "Function('polluted = 1; return undefined.x')()",
        "(0, eval)('var polluted = 1; undefined.x')",
        "Reflect.set(Object.prototype, 'polluted', 1) || undefined.x",
        "Symbol.prototype.description.x.y",
        // n8n CVE-2026-85165: state that a setter of the host keeps.
        "Error.prepareStackTrace = () => 'kept'",
        "Error.stackTraceLimit = 0",
    ] {
        assert!(expression(&mut guest, source).is_err(), "{source}");
        assert_eq!(expression(&mut guest, unchanged), before, "{source}");
    }
    // What people do with objects of their own is not in the way.
    for (source, expected) in [
        (
            "(() => { const e = new TypeError('a'); e.name = 'B'; e.message = 'c'; return String(e); })()",
            json!("B: c"),
        ),
        (
            "['constructor', 'x', 'toString'].reduce((n, w) => { n[w] = (Object.hasOwn(n, w) ? n[w] : 0) + 1; return n; }, {})",
            json!({"constructor": 1, "x": 1, "toString": 1}),
        ),
        (
            "(() => { class A { toString() { return 'A'; } } const a = new A(); a.valueOf = () => 1; return [`${a}`, a + 1]; })()",
            json!(["A", 2]),
        ),
        (
            "Object.assign(Object.create({toString: () => 'p'}), {toString: () => 'o'}).toString()",
            json!("o"),
        ),
    ] {
        assert_eq!(expression(&mut guest, source), Ok(expected), "{source}");
    }
}
