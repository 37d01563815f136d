//! Of which code the report says that it does the same as in n8n.

use crate::drawn::{imported, node, node_of, workflow};
use serde_json::json;

/// Whether code for all items, or for each of them, is exact.
fn is_exact(mode: &str, code: &str) -> bool {
    let nodes = [
        node("Start", "manualTrigger", json!({})),
        node("Code", "code", json!({"mode": mode, "jsCode": code})),
    ];
    imported(&workflow(&nodes, &[("Start", "Code")]))
        .report
        .summary
        .exact
        == 2
}

fn exact(codes: &[&str]) {
    for code in codes {
        assert!(is_exact("runOnceForAllItems", code), "{code}");
    }
}

fn approximate(codes: &[&str]) {
    for code in codes {
        assert!(!is_exact("runOnceForAllItems", code), "{code}");
    }
}

#[test]
fn code_is_exact_where_it_knows_its_items_and_what_it_declares() {
    exact(&[
        "const items = $input.all();\nreturn items.map(({ json }) => ({ json: { n: json.n ?? 0 } }));",
        "let n = 0, all = [];\nfor (const item of items) { n += 1; all.push(...item.json.list); }\nreturn [{ json: { n, all } }];",
        "function f(x) { return x > 1 ? x * f(x - 1) : 1; }\ntry { return { f: f(3) }; } catch (error) { return { failed: true }; }",
        "const f = ({ a = 1, b: [c] = [] }, d = a) => a + c + d;\ntry { return [{ json: { n: f(items[0].json) } }]; } catch { return []; }",
        "return $('Start').all().concat($(\"Start\").first());",
        "// `this` is no name here\nreturn [{ json: { text: 'new Date()', is: /Date/gi.test(items[0].json.a), [`x${items.length}`]: 1 } }];",
    ]);
    approximate(&[
        "total = 0;\nreturn [{ json: { total } }];",
        "return [{ json: { at: new Date() } }];",
        "const f = (at = new Date()) => at;\nreturn [{ json: { at: f() } }];",
        "try { return items; } catch { return [{ json: { at: new Date() } }]; }",
        "try { return JSON.parse(items[0].json.a); } catch (error) { return [{ json: { why: error.message } }]; }",
        "return this.x;",
        "return items.sort((a, b) => a.json.n.localeCompare(b.json.n));",
        "return [$('Start').item];",
        "return $('Nowhere').all();",
        "return [$input.item];",
        "if (items) { function f() { return []; } }\nreturn f();",
        "return [{ json: { n: 010 } }];",
    ]);
}

// A text or number takes no properties: in a module that throws, and n8n, whose code is no module, overlooks it.
#[test]
fn code_is_exact_where_it_sets_properties_of_objects_only() {
    exact(&[
        "for (const item of items) { item.json.a = 1; delete item.json.b; item.json.n++; }\nreturn items;",
        "for (const { json } of $input.all()) json['a b'] ??= 1;\nreturn $input.all();",
        "const all = $input.all();\nall.forEach((item, at) => { item.json.at = at; });\nall[0].json.first = true;\nreturn all;",
        "return items.map(function (item) { item.json = { a: item.json.a }; return item; });",
        "const result = {};\nfor (const item of items) result[item.json.key] = item.json;\nreturn [{ json: result }];",
        "const { json } = $input.first();\njson.a = 1; // here\nconst first = items[0];\nfirst.json.b = 2;\nreturn items;",
        "const content = items[0].json;\ncontent.a /* its own */ = 1;\nreturn [{ json: content }];",
        "let [a, b] = [1, 2];\n[a, b] = [b, a];\nreturn [{ json: { a, b, is: a >= b, n: a << b } }];",
    ]);
    approximate(&[
        "items[0].json.name.first = 'A';\nreturn items;",
        "const name = items[0].json.name;\nname.first = 'A';\nreturn items;",
        "const result = {}.a;\nresult.b = 1;\nreturn [];",
        "let result = {};\nresult = items[0].json.a;\nresult.b = 1;\nreturn [];",
        "const set = (o) => { o.a = 1; };\nset(items[0].json.name);\nreturn items;",
        "for (const item of items) item.json.n.m++;\nreturn items;",
        "for (const item of items) --item.json.n.m;\nreturn items;",
        "for (const item of items) delete item.json.name[0];\nreturn items;",
        "for (const item of items) item.json.n.m <<= 1;\nreturn items;",
        "const a = items[0].json.a;\nfor (a.b of [1, 2]) {}\nreturn items;",
        "const a = items[0].json.a;\n[a.b] = [1];\nreturn items;",
        "const a = items[0].json.a;\n({ b: a.b } = { b: 1 });\nreturn items;",
        "for (const item of items) { item.json = item.json.text; item.json.a = 1; }\nreturn items;",
        "const o = {};\nconst f = (o) => { o.a = 1; };\nf('');\nreturn [{ json: o }];",
        "const o = {};\nconst p = { f(o) { o.a = 1; } };\nreturn [{ json: o }];",
        "undefined = 1;\nreturn items;",
        "const f = function g() { g = 1; return 1; };\nreturn [{ json: { f: f() } }];",
        "Math.twice = 2;\nreturn items;",
    ]);
    let each = |code: &str| is_exact("runOnceForEachItem", code);
    assert!(each("$input.item.json.twice = 2;\nreturn $input.item;"));
    assert!(!each("$input.item.json.text.twice = 2;\nreturn $input.item;"));
}

#[test]
fn code_is_exact_where_it_sorts_by_differences() {
    exact(&[
        "return items.sort((a, b) => a.json.n - b.json.n);",
        "return items.sort((a, b) => (a.json?.n ?? 0) - b.json.n || a.json.m - b.json.m);",
        "return [{ json: { sorted: items.map((item) => item.json.text).sort(), by: items[0].json.sort } }];",
    ]);
    approximate(&[
        "return items.sort((a, b) => a.json.n > b.json.n);",
        "return items.sort((a, b) => a.json.n > b.json.n ? 1 : -1);",
        "return items.sort((a, b) => !a.json.done);",
        "return items.sort((a, b) => -1);",
        "return items.sort((a, b) => Math.random() - 0.5);",
        "const by = (a, b) => a.json.n - b.json.n;\nreturn items.sort(by);",
        "return items.sort((a, b) => { return a.json.n < b.json.n; });",
        "return [].sort.call(items, (a, b) => a.json.n > b.json.n);",
        "return items['sort']((a, b) => a.json.n > b.json.n);",
        "return items.toSorted((a, b) => a.json.n > b.json.n);",
    ]);
}

#[test]
fn code_is_exact_where_it_leaves_what_is_built_in_as_it_is() {
    exact(&[
        "return [{ json: { has: Object.prototype.hasOwnProperty.call(items[0].json, 'a') } }];",
        "return [{ json: { is: new RegExp('a').test(items[0].json.text) } }];",
    ]);
    approximate(&[
        "/(a)/.test(items[0].json.text);\nreturn [{ json: { a: RegExp.$1 } }];",
        "const R = RegExp;\n/(a)/.test('a');\nreturn [{ json: { a: R.$1 } }];",
        "/(a)/.test('a');\nreturn [{ json: { a: RegExp['$1'] } }];",
        "/(a)/.test('a');\nreturn [{ json: { a: RegExp.lastMatch } }];",
        "Array.prototype.last = (() => 1);\nreturn [{ json: { n: items.last() } }];",
        "Object.assign(Array.prototype, { last: () => 1 });\nreturn [{ json: { n: items.last() } }];",
        "Object.setPrototypeOf(items[0].json, {});\nreturn items;",
        "return [{ json: { a: Object.getPrototypeOf(items) === null } }];",
        "Object.defineProperty(Math, 'one', { value: 1 });\nreturn [{ json: { one: Math.one } }];",
        "items[0].json.__proto__ = {};\nreturn items;",
        "return [{ json: { ['__proto__']: 1, a: items[0].json['constructor'] } }];",
    ]);
}

#[test]
fn a_slash_behind_what_is_counted_divides() {
    exact(&[
        "let i = 4;\nconst n = i++ / 2;\nreturn [{ json: { i, n, is: /Date/.test('') } }];",
        "let i = 4;\nconst n = i + +/new Date/.test('');\nreturn [{ json: { i, n } }];",
        "const f = () => { return /new Date/g.test(''); };\nreturn [{ json: { f: f() } }];",
        "const is = (1, // what (\n  /new Date/.test(''));\nreturn [{ json: { is } }];",
    ]);
    approximate(&[
        "let i = 4;\nconst n = i++ / new Date() / 2;\nreturn [{ json: { n } }];",
        "let i = [4];\nconst n = i[0]-- / new Date() / 2;\nreturn [{ json: { n } }];",
        "const myreturn = 4;\nconst n = myreturn / new Date() / 2;\nreturn [{ json: { n } }];",
        "const n = 4 /* of ( */ / new Date() / 2;\nreturn [{ json: { n } }];",
        "const n = 4 // of (\n / new Date() / 2;\nreturn [{ json: { n } }];",
    ]);
}

#[test]
fn code_that_may_change_its_items_gets_copies() {
    let copies = |code: &str| {
        let nodes = [
            node("Start", "manualTrigger", json!({})),
            node("Code", "code", json!({ "jsCode": code })),
        ];
        let imported = imported(&workflow(&nodes, &[("Start", "Code")]));
        let module = &node_of(&imported, "code")["data"]["parameters"]["code"];
        module.as_str().unwrap().contains("{ ...value }")
    };
    for code in [
        "items[0].json.n <<= 1;\nreturn items;",
        "items[0].json.n /* its */ = 1;\nreturn items;",
        "for (items[0].json.n of [1]) {}\nreturn items;",
        "({ n: items[0].json.n } = { n: 1 });\nreturn items;",
        "items['push']({});\nreturn items;",
        "const how = 'pu' + 'sh';\nitems[how]({});\nreturn items;",
        "Reflect.set(items[0].json, 'n', 1);\nreturn items;",
        "delete items[0].json.n;\nreturn items;",
    ] {
        assert!(copies(code), "{code}");
    }
    for code in [
        "const [a] = items;\nlet n = 0;\nn += 1;\nn++;\nreturn [{ json: { n, is: a.json.n >= 1 } }];",
        "const seen = new Map();\nseen.delete(items[0].json.n);\nreturn [{ json: { n: seen.size } }];",
    ] {
        assert!(!copies(code), "{code}");
    }
}

#[test]
fn code_is_a_stub_for_what_it_uses_and_not_for_what_it_only_speaks_of() {
    let is_stub = |code: &str| {
        let nodes = [
            node("Start", "manualTrigger", json!({})),
            node("Code", "code", json!({"jsCode": code})),
        ];
        imported(&workflow(&nodes, &[("Start", "Code")]))
            .report
            .summary
            .stub
            == 1
    };
    for code in [
        "return [{ json: { a: $env.A } }];",
        "return [{ json: { a: `${$env.A}` } }];",
        "const moment = require ('moment');\nreturn [];",
        "import luxon from \"luxon\";\nreturn [];",
        "return [{ json: { at: luxon.DateTime.now() } }];",
        "const { DateTime, Settings } = require('luxon');\nreturn [];",
        "const { Settings: settings } = require('luxon');\nreturn [];",
        "const luxon = require('luxon');\nreturn [{ json: { zone: luxon.Settings.defaultZone } }];",
        "const luxon = require('luxon'), l = luxon;\nreturn [{ json: { zones: l?.Info['features']() } }];",
        "const luxon = require('luxon');\nreturn [{ json: { zone: luxon['IANAZone'].create('x') } }];",
        "const luxon = require('luxon');\nconst { DateTime, Info } = luxon;\nreturn [];",
        "require('luxon').Settings.defaultLocale = 'de';\nreturn [];",
        "const { DateTime } = require('luxon');\nreturn [{ json: { at: new SystemZone() } }];",
    ] {
        assert!(is_stub(code), "{code}");
    }
    for code in [
        "// $env is set, and moment( is not needed\nreturn [];",
        "/* process.env */ return [{ json: { a: 'see $env or require(', b: `luxon's` } }];",
        "const { DateTime } = require('luxon'); // without Settings\nreturn [{ json: { at: DateTime.now() } }];",
        "const { DateTime } = require('luxon');\nreturn items.map(({ json }) => ({ json: { Info: json.Info, is: 'Settings' } }));",
        "const { DateTime } = require('luxon');\nconst Info = items[0].json;\nreturn [{ json: { a: Info.a } }];",
        "const { DateTime } = require('luxon');\nconst { Settings } = items[0].json;\nreturn [{ json: { a: Settings.a } }];",
        "const luxon = require('luxon'), now = luxon.DateTime;\nreturn [{ json: { a: now.Settings } }];",
    ] {
        assert!(!is_stub(code), "{code}");
    }
}
