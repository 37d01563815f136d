//! Expressions: what parses, into what, and how the rest is refused.

use crate::corpus::{Outcome, Tally};
use heddle_compiler::expression::{
    Expression, ExpressionRoute, Names, NodeName, Piece, Problem, parse, route, split,
};
use insta::assert_snapshot;
use proptest::prelude::*;
use std::fmt::Write;

/// Names that are in scope, besides those that always are.
#[derive(Clone, Copy)]
pub struct Scope {
    /// Every node exists; else the graph has `first` (0, labelled "First step") and `a-b` (1).
    any_node: bool,
    item: bool,
    pair: bool,
    error: bool,
    definition: bool,
}

pub const EVERYTHING: Scope = Scope {
    any_node: false,
    item: true,
    pair: true,
    error: true,
    definition: false,
};

impl Names for Scope {
    fn node(&self, name: NodeName<'_>) -> Result<u32, Problem> {
        match name {
            NodeName::Id("first") | NodeName::Label("First step") => Ok(0),
            NodeName::Id("a-b") => Ok(1),
            NodeName::Id(_) | NodeName::Label(_) if self.any_node => Ok(2),
            NodeName::Id(name) | NodeName::Label(name) => Err(Problem {
                code: "unknown-node",
                message: format!("there is no node {name}"),
                help: None,
                span: 0..0,
            }),
        }
    }

    fn has_item(&self) -> bool {
        self.item
    }

    fn has_pair(&self) -> bool {
        self.pair
    }

    fn has_error(&self) -> bool {
        self.error
    }

    fn definition_only(&self) -> bool {
        self.definition
    }
}

fn trees(sources: &[&str]) -> String {
    let mut out = String::new();
    for source in sources {
        match parse(source, &EVERYTHING) {
            Ok(tree) => writeln!(out, "{source}\n    {tree:?}").unwrap(),
            Err(problems) => writeln!(out, "{source}\n    {problems:?}").unwrap(),
        }
    }
    out
}

/// Each problem under the source that it is about.
fn problems_of(source: &str, names: &dyn Names) -> String {
    let problems = match parse(source, names) {
        Ok(tree) => return format!("{source}\n    {tree:?}\n"),
        Err(problems) => problems,
    };
    let mut out = format!("{source}\n");
    for Problem {
        code,
        message,
        help,
        span,
    } in problems
    {
        let before = source[..span.start].chars().count();
        let carets = source[span.clone()].chars().count().max(1);
        writeln!(
            out,
            "{}{} {code}: {message}",
            " ".repeat(before),
            "^".repeat(carets)
        )
        .unwrap();
        if let Some(help) = help {
            writeln!(out, "    help: {help}").unwrap();
        }
    }
    out
}

fn problems(sources: &[&str]) -> String {
    sources
        .iter()
        .map(|source| problems_of(source, &EVERYTHING))
        .collect()
}

#[test]
fn what_would_be_done_to_a_reference_to_a_secret_is_refused() {
    for source in [
        "$secrets.K.toUpperCase()",
        "$secrets['K'].length",
        "($secrets.K)[0]",
        "'x' + $secrets.K?.trim()",
        "/x/.test($secrets.K.slice(1))",
    ] {
        let told = problems(&[source]);
        assert!(told.contains("^ secret: `$secrets"), "{told}");
    }
    for source in [
        "`Bearer ${$secrets.K}`",
        "$secrets.K.concat('x')",
        "$secrets.K.toString()",
        "'$secrets.K.length'",
        "$input.map(x => x + $secrets.K).length",
        "($secrets => $secrets.K.length + /x/.source)({K: 'x'})",
    ] {
        let told = problems(&[source]);
        assert!(!told.contains("secret:"), "{told}");
    }
}

#[test]
fn literals_have_javascript_values() {
    assert_snapshot!(trees(&[
        "0x1F", "0o17", "0b101", "1_000.5e-1", "'a\\u{1F600}\\n\"'", r#""\uD83D""#, r#""\uD83D\uDE00""#,
        r#""\uFFFD\uDC00\"\u0001""#, "undefined", "null", "[NaN, -Infinity, true]", "`a${$input}b\\u0041`",
    ]), @r#"
    0x1F
        Number(31.0)
    0o17
        Number(15.0)
    0b101
        Number(5.0)
    1_000.5e-1
        Number(100.05)
    'a\u{1F600}\n"'
        String(Utf8("a😀\n\""))
    "\uD83D"
        String(Json("\"\\ud83d\""))
    "\uD83D\uDE00"
        String(Utf8("😀"))
    "\uFFFD\uDC00\"\u0001"
        String(Json("\"\\ufffd\\udc00\\\"\\u0001\""))
    undefined
        Undefined
    null
        Null
    [NaN, -Infinity, true]
        Array([Item(Number(NaN)), Item(Unary(Negate, Number(inf))), Item(Bool(true))])
    `a${$input}b\u0041`
        Template([Utf8("a"), Utf8("bA")], [Name(Input)])
    "#);
}

#[test]
fn names_are_resolved() {
    assert_snapshot!(trees(&[
        "$json", "$nodes.first", "$nodes[\"a-b\"].x", "$nodes?.first", "$('First step').item.name",
        "$(\"First step\")[0]", "$(`First step`)", "$secrets.API_KEY", "$secrets['a b']", "[$a, $b, $item, $index]",
        "[$random(), $uuid()]", "[$trigger, $run, $vars, $error]",
    ]), @r#"
    $json
        Name(Input)
    $nodes.first
        Name(NodeOutput(0))
    $nodes["a-b"].x
        Member(Name(NodeOutput(1)), "x")
    $nodes?.first
        Chain(Name(NodeOutput(0)))
    $('First step').item.name
        Member(Name(NodeItem(0)), "name")
    $("First step")[0]
        Index(Name(NodeOutput(0)), Number(0.0))
    $(`First step`)
        Name(NodeOutput(0))
    $secrets.API_KEY
        Name(Secret("API_KEY"))
    $secrets['a b']
        Name(Secret("a b"))
    [$a, $b, $item, $index]
        Array([Item(Name(First)), Item(Name(Second)), Item(Name(Item)), Item(Name(Index))])
    [$random(), $uuid()]
        Array([Item(Name(Random)), Item(Name(Uuid))])
    [$trigger, $run, $vars, $error]
        Array([Item(Name(Trigger)), Item(Name(Run)), Item(Name(Vars)), Item(Name(Error))])
    "#);
}

#[test]
fn members_and_optional_chains_keep_their_extent() {
    assert_snapshot!(trees(&[
        "$input.a['b'][0][$index]", "$input?.a.b", "($input?.a).b", "$input.a?.[$item?.x].c", "$input.constructor",
    ]), @r#"
    $input.a['b'][0][$index]
        Index(Index(Member(Member(Name(Input), "a"), "b"), Number(0.0)), Name(Index))
    $input?.a.b
        Chain(Member(Member(Optional(Name(Input)), "a"), "b"))
    ($input?.a).b
        Member(Chain(Member(Optional(Name(Input)), "a")), "b")
    $input.a?.[$item?.x].c
        Chain(Member(Index(Optional(Member(Name(Input), "a")), Chain(Member(Optional(Name(Item)), "x"))), "c"))
    $input.constructor
        Script(Script { source: "(function ($$0) { return (\n$$0.constructor\n); })", arguments: [Name(Input)] })
    "#);
}

#[test]
fn operators_bind_as_in_javascript() {
    assert_snapshot!(trees(&[
        "1 + 2 * 3 ** 2 ** -1", "$a ?? ($b || 1 && 2)", "!$a ? void 0 : typeof $b, ~1", "'x' in $input",
        "1 >>> 2 !== 3 & 4", "$input; ",
    ]), @r#"
    1 + 2 * 3 ** 2 ** -1
        Binary(Add, Number(1.0), Binary(Multiply, Number(2.0), Binary(Power, Number(3.0), Binary(Power, Number(2.0), Unary(Negate, Number(1.0))))))
    $a ?? ($b || 1 && 2)
        Logical(Nullish, Name(First), Logical(Or, Name(Second), Logical(And, Number(1.0), Number(2.0))))
    !$a ? void 0 : typeof $b, ~1
        Sequence([Conditional(Unary(Not, Name(First)), Unary(Void, Number(0.0)), Unary(TypeOf, Name(Second))), Unary(BitNot, Number(1.0))])
    'x' in $input
        Binary(In, String(Utf8("x")), Name(Input))
    1 >>> 2 !== 3 & 4
        Binary(BitAnd, Binary(StrictNotEqual, Binary(ShiftRightUnsigned, Number(1.0), Number(2.0)), Number(3.0)), Number(4.0))
    $input; 
        Name(Input)
    "#);
}

#[test]
fn array_and_object_literals() {
    assert_snapshot!(trees(&[
        "[1, ...$input, [],]", "{ $json, a: 1, 'b c': 2, 3: 4, [$index]: 5, ...$item, ['k']: 6 }", "{}",
    ]), @r#"
    [1, ...$input, [],]
        Array([Item(Number(1.0)), Spread(Name(Input)), Item(Array([]))])
    { $json, a: 1, 'b c': 2, 3: 4, [$index]: 5, ...$item, ['k']: 6 }
        Object([Named("$json", Name(Input)), Named("a", Number(1.0)), Named("b c", Number(2.0)), Computed(Number(3.0), Number(4.0)), Computed(Name(Index), Number(5.0)), Spread(Name(Item)), Named("k", Number(6.0))])
    {}
        Object([])
    "#);
}

#[test]
fn problems_say_where_and_what_to_do() {
    assert_snapshot!(problems(&[
        " ", "$input.", "1 +", "const x = 1", "$input.x; 1", "'abc", "a as string", "$inptu.x + $jsn", "total",
        "$nodes.nowhere", "$('Nope').item.x", "$nodes", "$nodes[$index]", "$($input)", "$secrets", "$secrets[$index]",
        "$random(5)", "$input()", "é + x",
    ]), @r#"
 
^ syntax: the braces are empty
    help: write an expression between the braces, for example `{{ $input }}`
$input.
       ^ syntax: this is not a JavaScript expression: unexpected token
1 +
   ^ syntax: this is not a JavaScript expression: unexpected token
const x = 1
^^^^^ syntax: this is not a JavaScript expression: unexpected token
    help: an expression is one value, not a statement
$input.x; 1
        ^ syntax: this is not a JavaScript expression: unexpected token
    help: an expression has no `;`: remove it, and use a node for each step
'abc
^^^^ syntax: this is not a JavaScript expression: unterminated string
a as string
^^^^^^^^^^^ syntax: this is not a JavaScript expression: type assertion expressions can only be used in TypeScript files
$inptu.x + $jsn
^^^^^^ unknown-name: there is no `$inptu`
    help: did you mean `$input`?
           ^^^^ unknown-name: there is no `$jsn`
    help: did you mean `$json`?
total
^^^^^ unknown-name: there is no `total`
    help: for a field of the input write `$input.total`; put text in quotes: "total"
$nodes.nowhere
^^^^^^^^^^^^^^ unknown-node: there is no node nowhere
$('Nope').item.x
^^^^^^^^^ unknown-node: there is no node Nope
$nodes
^^^^^^ unknown-name: `$nodes` is not a value by itself
    help: name the node: `$nodes["id"]`
$nodes[$index]
^^^^^^^^^^^^^^ computed-name: the id of a node can't be computed
    help: write `$nodes["id"]`
$($input)
^^^^^^^^^ computed-name: `$(…)` takes a node's label as a literal string
    help: write `$("Label")`
$secrets
^^^^^^^^ unknown-name: `$secrets` is not a value by itself
    help: name the secret: `$secrets.NAME`
$secrets[$index]
^^^^^^^^^^^^^^^^ computed-name: the name of a secret can't be computed
    help: a pattern must declare its secrets: write `$secrets.NAME`
$random(5)
        ^ arguments: `$random()` takes no arguments
    help: for ranges and versions use the Random and Uuid nodes
$input()
^^^^^^ unsupported: `$input` is a value, not a function
é + x
^ unknown-name: there is no `é`
    help: for a field of the input write `$input.é`; put text in quotes: "é"
    ^ unknown-name: there is no `x`
    help: for a field of the input write `$input.x`; put text in quotes: "x"
"#);
}

#[test]
fn calls_and_functions() {
    assert_snapshot!(trees(&[
        "$a.trim()", "$a?.b.at(-1)", "$a['trim']?.()", "Math.max(1, ...$a)", "Math.random()", "$a.map(Number)",
        "$a.map((x, i) => x + i)", "$a.map(({ b, c: [d = 1] }) => d)", "$a.map(x => $b.filter(y => x === y))",
        "$a.map(x => { const y = x; if (y) return 1; return 2; })", "(x => x)",
    ]), @r#"
    $a.trim()
        Method(MethodCall { receiver: Name(First), method: Trim, optional: false, arguments: [] })
    $a?.b.at(-1)
        Chain(Method(MethodCall { receiver: Member(Optional(Name(First)), "b"), method: At, optional: false, arguments: [Item(Unary(Negate, Number(1.0)))] }))
    $a['trim']?.()
        Chain(Method(MethodCall { receiver: Name(First), method: Trim, optional: true, arguments: [] }))
    Math.max(1, ...$a)
        Global(MathMax, [Item(Number(1.0)), Spread(Name(First))])
    Math.random()
        Name(Random)
    $a.map(Number)
        Method(MethodCall { receiver: Name(First), method: Map, optional: false, arguments: [Item(Lambda(Global(Number, [Item(Parameter { up: 0, index: 0 }), Item(Parameter { up: 0, index: 1 }), Item(Parameter { up: 0, index: 2 })])))] })
    $a.map((x, i) => x + i)
        Method(MethodCall { receiver: Name(First), method: Map, optional: false, arguments: [Item(Lambda(Binary(Add, Parameter { up: 0, index: 0 }, Parameter { up: 0, index: 1 })))] })
    $a.map(({ b, c: [d = 1] }) => d)
        Method(MethodCall { receiver: Name(First), method: Map, optional: false, arguments: [Item(Lambda(Let(4, Parameter { up: 0, index: 0 }, Let(5, Member(Parameter { up: 0, index: 4 }, "b"), Let(6, Array([Spread(Member(Parameter { up: 0, index: 4 }, "c"))]), Let(7, Conditional(Binary(StrictEqual, Index(Parameter { up: 0, index: 6 }, Number(0.0)), Undefined), Number(1.0), Index(Parameter { up: 0, index: 6 }, Number(0.0))), Parameter { up: 0, index: 7 }))))))] })
    $a.map(x => $b.filter(y => x === y))
        Method(MethodCall { receiver: Name(First), method: Map, optional: false, arguments: [Item(Lambda(Method(MethodCall { receiver: Name(Second), method: Filter, optional: false, arguments: [Item(Lambda(Binary(StrictEqual, Parameter { up: 1, index: 0 }, Parameter { up: 0, index: 0 })))] })))] })
    $a.map(x => { const y = x; if (y) return 1; return 2; })
        Method(MethodCall { receiver: Name(First), method: Map, optional: false, arguments: [Item(Lambda(Let(4, Parameter { up: 0, index: 0 }, Conditional(Parameter { up: 0, index: 4 }, Number(1.0), Number(2.0)))))] })
    (x => x)
        Script(Script { source: "(function () { return (\n(x => x)\n); })", arguments: [] })
    "#);
}

/// Why the engine evaluates a source: what, and the piece that it is about.
fn reasons(source: &str) -> Vec<(String, &str)> {
    let routed = route(source, &EVERYTHING, ExpressionRoute::Cheapest);
    let routed = routed.unwrap_or_else(|problems| panic!("{source}: {problems:?}"));
    assert_eq!(
        routed.reasons.is_empty(),
        !routed.expression.is_script(),
        "{source}"
    );
    let reasons = routed.reasons.into_iter();
    reasons
        .map(|reason| (reason.what, &source[reason.span]))
        .collect()
}

#[test]
fn what_is_not_compiled_is_told_with_its_place() {
    for (source, what, piece) in [
        ("$input.items.entries()", "the method `.entries(…)`", "entries"),
        ("Math.f16round($input.a)", "`Math.f16round(…)`", "Math.f16round"),
        ("new Map($input.at)", "`new Map(…)`", "new Map($input.at)"),
        ("$input.x?.matchAll('a')", "the method `.matchAll(…)`", "matchAll"),
        ("/a/.test($a)", "a regular expression", "/a/"),
        (
            "$a.sort() + $a",
            "`.sort(…)` on a value that may be read again, which it changes",
            "sort",
        ),
        ("Math", "`Math` as a value", "Math"),
        ("10n", "a BigInt", "10n"),
        ("x => x", "a function", "x => x"),
        ("$input.a = 1", "an assignment", "$input.a = 1"),
        ("this.x", "`this`", "this"),
        ("`a` `b`", "a tagged template literal", "`a` `b`"),
        (
            "$input instanceof Array",
            "`instanceof`",
            "$input instanceof Array",
        ),
        ("delete $a.b", "`delete`", "delete $a.b"),
        ("[1,,2]", "a hole in an array", ""),
        (
            "{ __proto__: null }",
            "setting an object's prototype",
            "__proto__: null",
        ),
        ("{ f() {} }", "a method in an object", "f() {}"),
        ("escape($a)", "`escape(…)`", "escape($a)"),
        (
            "[1].map(x => x())",
            "calling `x`, which the expression itself defines",
            "x",
        ),
        ("[1].map((...x) => x)", "a rest parameter", "...x"),
        (
            "[1].map(x => { for (;;) {} })",
            "a statement that is neither `const`, `if` nor `return`",
            "for (;;) {}",
        ),
        ("(function () {})()", "calling a function", "(function () {})()"),
        ("$input.constructor", "`.constructor` as a value", "constructor"),
    ] {
        let found = reasons(source);
        let (found_what, found_piece) = &found[0];
        assert_eq!(found_what, what, "{source}");
        assert!(
            piece.is_empty() || piece == *found_piece,
            "{source}: {found_piece}"
        );
    }
    assert!(reasons("$input.a.map(x => x.trim())").is_empty());
}

#[test]
fn a_script_gets_what_it_reads() {
    let script = |source: &str| match parse(source, &EVERYTHING) {
        Ok(Expression::Script(script)) => (script.source, format!("{:?}", script.arguments)),
        other => panic!("{source}: {other:?}"),
    };
    let body = |source: &str| {
        let source = script(source).0;
        source.lines().nth(1).unwrap_or_default().to_owned()
    };
    // The path that is read, once; the name as such where the expression changes it.
    assert_eq!(
        body("/x/.test($input.a.b) || $json.a.b.trim()"),
        "/x/.test($$part($$0)) || $$part($$0).trim()"
    );
    assert_eq!(
        script("/x/.test($input.a.b)").1,
        r#"[Attempt(Member(Member(Name(Input), "a"), "b"))]"#
    );
    assert_eq!(script("($input.a.b = 1, $json)").1, "[Name(Input)]");
    assert_eq!(body("[/x/, $nodes.first, $('First step')]"), "[/x/, $$0, $$0]");
    assert_eq!(
        body("$item.map(x => { let y = x; y++; return { y, $index }; })"),
        "$$0.map(x => { let y = x; y++; return { y, $index: $$1 }; })"
    );
    // Names that the expression declares are its own.
    assert_eq!(
        body("(($json, $input) => $json + $input)(1, $item)"),
        "(($json, $input) => $json + $input)(1, $$0)"
    );
    assert_eq!(body("[/$$/, $item]"), "[/$$/, $$$0]");
    // Dates are compiled in one piece.
    assert_eq!(
        body("/x/.test($now.plus({ days: $index }).toISO())"),
        "/x/.test($$part($$0))"
    );
    assert_eq!(
        body("[/x/, $random(), $random()]"),
        "[/x/, $$random(), $$random()]"
    );
    assert_eq!(
        body("$if(/x/.test($item), 1, 2)"),
        "((/x/.test($$0)) ? (1) : (2))"
    );
}

#[test]
fn names_of_other_systems_are_recognised() {
    assert_snapshot!(problems(&[
        "$env.HOME", "$node['First step'].parameter.y", "$node['First step']", "$node[$a].json", "$node", "$workflow.name",
        "$input.first(1)", "$items($a)", "$input.x.randomItem()", "$if($a)", "$ifEmpty", "items[0]", "msg.payload", "$fromAI('x')",
        "flow_input.x", "$jmespath($input, 'a[?b == `1`] | nope(@)')", "$jmespath($input)",
    ]), @r#"
$env.HOME
^^^^ foreign-name: `$env` exists only in n8n
    help: settings are `$vars.NAME`, secrets `$secrets.NAME`
$node['First step'].parameter.y
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ foreign-name: `parameter` of `$node["First step"]` exists only in n8n
    help: the name must be followed by `.json`; `$("Label")` by itself is everything that the node emitted
$node['First step']
^^^^^^^^^^^^^^^^^^^ foreign-name: `$node["First step"]` is not a value by itself
    help: the name must be followed by `.json`; `$("Label")` by itself is everything that the node emitted
$node[$a].json
^^^^^^^^^ computed-name: the label of a node can't be computed
    help: write `$node["Label"].json`
$node
^^^^^ unknown-name: `$node` is not a value by itself
    help: name the node: `$node["Label"].json`
$workflow.name
^^^^^^^^^ foreign-name: `$workflow` exists only in n8n
    help: the pattern's id is `$run.patternId`
$input.first(1)
             ^ foreign-name: in n8n, an argument of `.first(…)` selects an output or a run of a node
    help: here a node has one value: join the branches of its outputs where you need both
$items($a)
^^^^^^^^^^ computed-name: `$items(…)` takes a node's label as a literal string
    help: write `$items("Label")`
$input.x.randomItem()
         ^^^^^^^^^^ foreign-name: `.randomItem(…)` exists only in n8n
    help: write `list[Math.floor($random() * list.length)]`
$if($a)
^^^^^^^ arguments: `$if(…)` takes a condition, a value if it is true, and one if it is false
    help: write `condition ? a : b`
$ifEmpty
^^^^^^^^ unknown-name: `$ifEmpty` is a function
    help: call it: `$ifEmpty(…)`
items[0]
^^^^^ foreign-name: `items` exists only in n8n
    help: the node's input is `$input`, the current item `$item`
msg.payload
^^^ foreign-name: `msg` exists only in Node-RED
    help: the node's input is `$input`
$fromAI('x')
^^^^^^^ foreign-name: `$fromAI` exists only in n8n
    help: use a ChatCompletion node with `jsonSchema` and read its output
flow_input.x
^^^^^^^^^^ foreign-name: `flow_input` exists only in Windmill
    help: the event that started the run is `$trigger`
$jmespath($input, 'a[?b == `1`] | nope(@)')
                                  ^^^^^^^ syntax: the query is not valid JMESPath: there is no function `nope()`
$jmespath($input)
^^^^^^^^^^^^^^^^^ arguments: `$jmespath` takes a value and a query
    help: write `$jmespath($input, "items[].id")`
"#);
}

#[test]
fn names_that_are_out_of_scope() {
    let few = |definition| {
        let scope = Scope {
            item: definition,
            pair: false,
            error: false,
            definition,
            ..EVERYTHING
        };
        let sources = [
            "$item",
            "$a",
            "$error",
            "$vars.x",
            "$nodes.first",
            "$secrets.X",
            "$('First step')",
            "$uuid()",
        ];
        sources
            .iter()
            .map(|source| problems_of(source, &scope))
            .collect::<String>()
    };
    assert_snapshot!(few(false), @r#"
$item
^^^^^ unknown-name: there is no `$item` here
    help: it has a value inside a ForEach, with `each`, and in parameters that are evaluated for each item
$a
^^ unknown-name: there is no `$a` here
    help: `$a` and `$b` are the two items that a Sort node compares
$error
^^^^^^ unknown-name: there is no `$error` here
    help: it has a value after a node with `onError` "branch" or "continue"
$vars.x
    Member(Name(Vars), "x")
$nodes.first
    Name(NodeOutput(0))
$secrets.X
    Name(Secret("X"))
$('First step')
    Name(NodeOutput(0))
$uuid()
    Name(Uuid)
"#);
    assert_snapshot!(few(true), @r#"
$item
    Name(Item)
$a
^^ unknown-name: `$a` is not available in a definition
    help: expressions in a definition see only `$input`, `$item` and `$index`: pass everything else in through a port
$error
^^^^^^ unknown-name: `$error` is not available in a definition
    help: expressions in a definition see only `$input`, `$item` and `$index`: pass everything else in through a port
$vars.x
^^^^^ unknown-name: `$vars` is not available in a definition
    help: expressions in a definition see only `$input`, `$item` and `$index`: pass everything else in through a port
$nodes.first
^^^^^^ unknown-name: `$nodes` is not available in a definition
    help: expressions in a definition see only `$input`, `$item` and `$index`: pass everything else in through a port
$secrets.X
^^^^^^^^ unknown-name: `$secrets` is not available in a definition
    help: expressions in a definition see only `$input`, `$item` and `$index`: pass everything else in through a port
$('First step')
^ unknown-name: `$` is not available in a definition
    help: expressions in a definition see only `$input`, `$item` and `$index`: pass everything else in through a port
$uuid()
^^^^^ unknown-name: `$uuid` is not available in a definition
    help: expressions in a definition see only `$input`, `$item` and `$index`: pass everything else in through a port
"#);
}

fn pieces(text: &str) -> String {
    match split(text) {
        Err(offset) => format!("unclosed at {offset}"),
        Ok(pieces) => pieces
            .iter()
            .map(|piece| match piece {
                Piece::Literal(text) => format!("{text:?}"),
                Piece::Expression(range) => format!("<{}>", &text[range.clone()]),
            })
            .collect::<Vec<_>>()
            .join(" "),
    }
}

#[test]
fn templates_split_at_the_right_braces() {
    let texts = [
        "",
        "plain } {",
        "a {{ x }} b {{y}}",
        "{{ {a: {b: 1}} }}",
        "{{{a: {b: 1}}}}",
        "{{ '}}' }}",
        "{{ `}}${ {a: '}}'} }}` }}",
        "{{ /}}[/}}]/ }}",
        "{{ a / b }} / {{ c }}",
        "{{ 1 /* }} */ }}",
        "{{ 1 // note }} x",
        "{{ {a: 1 // }}\n} }}",
        "{{ it's }} x",
        "{{ f( }} x",
        "{{ a",
        "x {{ `a }}",
        "{{}}",
        "{{ a }}}",
        "é{{ 'é' }}é",
        "{{ x.in / 2 }} / {{ 3 }}",
    ];
    let table: String = texts
        .iter()
        .map(|text| format!("{text:?} -> {}\n", pieces(text)))
        .collect();
    assert_snapshot!(table, @r#"
    "" -> ""
    "plain } {" -> "plain } {"
    "a {{ x }} b {{y}}" -> "a " < x > " b " <y>
    "{{ {a: {b: 1}} }}" -> < {a: {b: 1}} >
    "{{{a: {b: 1}}}}" -> <{a: {b: 1}}>
    "{{ '}}' }}" -> < '}}' >
    "{{ `}}${ {a: '}}'} }}` }}" -> < `}}${ {a: '}}'} }}` >
    "{{ /}}[/}}]/ }}" -> < /}}[/}}]/ >
    "{{ a / b }} / {{ c }}" -> < a / b > " / " < c >
    "{{ 1 /* }} */ }}" -> < 1 /* }} */ >
    "{{ 1 // note }} x" -> < 1 // note > " x"
    "{{ {a: 1 // }}\n} }}" -> < {a: 1 // }}
    } >
    "{{ it's }} x" -> < it's > " x"
    "{{ f( }} x" -> < f( > " x"
    "{{ a" -> unclosed at 0
    "x {{ `a }}" -> unclosed at 2
    "{{}}" -> <>
    "{{ a }}}" -> < a > "}"
    "é{{ 'é' }}é" -> "é" < 'é' > "é"
    "{{ x.in / 2 }} / {{ 3 }}" -> < x.in / 2 > " / " < 3 >
    "#);
}

/// Source texts that nest as often as an expression may be long.
fn deep_sources() -> Vec<String> {
    // Only a parser knows that this `/` opens a regular expression, and so that the rest is no string.
    let contrived = format!("() => {{ {{}} /\"/; {}\"", "(".repeat(60_000));
    let openers = [
        "(",
        "[",
        "!",
        "-",
        "~",
        "+ ",
        "a?b:",
        "a?",
        "{a:",
        "`${",
        "+",
        "x=>",
        "x**",
        "typeof ",
        "void\n",
        "[...",
        "{...",
        "{[",
        "a[",
        "a(",
        "a?.[",
        "(a,",
        "new ",
        "await ",
        "async x=>",
        "function(){",
        "class{",
        "x=",
        "...",
        "/",
        "/[",
        "\"",
        "<a>",
        "()=>{",
        "{a(){",
        "(/\"/,",
        "a/\"/(",
        "yield ",
        "a`${",
        "a??",
        "a||",
        "a&&(",
        "$(",
        "import(",
        "a.b?.",
        "\u{2028}!",
        "!/**/",
    ];
    // Statements of one function come one inside the other.
    let bodies = [
        "if(x)return 1;".repeat(4_000),
        "const x=1;".repeat(4_000),
        format!("const x=1{}", ",x=1".repeat(10_000)),
        format!("const [{}]=x", "x,".repeat(10_000)),
        "if(x){".repeat(4_000),
        "if(x){return 1}else ".repeat(4_000),
    ];
    let functions = bodies.map(|body| format!("[].map(x=>{{{body}}})"));
    openers
        .iter()
        .map(|opener| opener.repeat(60_000 / opener.len()))
        .chain([contrived])
        .chain(functions)
        .collect()
}

#[test]
fn deep_nesting_is_refused_or_parsed_but_never_overflows() {
    // Threads have small stacks: a quarter of the main thread's.
    let parse_all = || {
        for source in deep_sources() {
            for source in [source.clone(), format!("{source}1"), format!("1{source}1")] {
                drop(parse(&source, &EVERYTHING));
                drop(split(&format!("{{{{ {source} }}}}")));
            }
        }
    };
    std::thread::Builder::new()
        .stack_size(512 * 1024)
        .spawn(parse_all)
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn long_chains_compile_up_to_a_limit() {
    for link in [
        " + 1",
        " && $a",
        ".a",
        "[0]",
        "?.a",
        ".at()",
        "?.at?.()",
        " ? 1 : 2 + 3",
    ] {
        let link_count = if link.contains('?') && !link.contains('.') {
            200
        } else {
            900
        };
        let chain = format!("$input{}", link.repeat(link_count));
        assert!(parse(&chain, &EVERYTHING).is_ok(), "{link_count} times {link}");
        let too_long = format!("$input{}", link.repeat(1_100));
        let problems = parse(&too_long, &EVERYTHING).unwrap_err();
        assert_eq!(problems[0].code, "too-deep", "{link}");
    }
    let wide = format!("[{}]", "!($a + -1), ".repeat(4_000));
    assert!(matches!(parse(&wide, &EVERYTHING), Ok(Expression::Array(items)) if items.len() == 4_000));
}

/// Tokens that can make an expression together, or nearly.
fn token() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "$input",
        "$json",
        ".a",
        "[",
        "]",
        "(",
        ")",
        "{",
        "}",
        "{{",
        "}}",
        "?.",
        "?",
        ":",
        "??",
        "||",
        "&&",
        "+",
        "-",
        "!",
        "`",
        "${",
        "\"",
        "'",
        "\\",
        "/",
        "//",
        "/*",
        "*/",
        "1",
        "0x",
        "1n",
        ",",
        "...",
        "=>",
        "=",
        " ",
        "\n",
        "é",
        "\u{2028}",
        "$(",
        "\"First step\"",
        "$nodes",
        "$secrets",
        "typeof ",
        "new ",
        "in ",
        "function",
        "a",
        "\\u",
        "\\uD800",
        ";",
    ])
}

fn check_never_panics(text: &str) {
    if let Ok(pieces) = split(text) {
        for piece in pieces {
            if let Piece::Expression(range) = piece {
                check_spans(&text[range]);
            }
        }
    }
    check_spans(text);
}

fn check_spans(source: &str) {
    for problem in parse(source, &EVERYTHING).err().unwrap_or_default() {
        assert!(
            source.get(problem.span.clone()).is_some(),
            "{problem:?} in {source:?}"
        );
    }
}

proptest! {
    #[test]
    fn any_text_is_answered(text in ".{0,60}") {
        check_never_panics(&text);
    }

    #[test]
    fn any_tokens_are_answered(tokens in prop::collection::vec(token(), 0..30)) {
        check_never_panics(&tokens.concat());
    }

    #[test]
    fn literal_text_around_expressions_is_kept(before in "[^{}]{0,20}", after in "[^{}]{0,20}") {
        let text = format!("{before}{{{{ 1 }}}}{after}");
        let mut expected = vec![Piece::Expression(before.len() + 2..before.len() + 5)];
        if !before.is_empty() {
            expected.insert(0, Piece::Literal(before));
        }
        if !after.is_empty() {
            expected.push(Piece::Literal(after));
        }
        prop_assert_eq!(split(&text), Ok(expected));
    }
}

/// The forms of expressions that people wrote, as often as they wrote them: docs/expressions-corpus.md.
#[test]
fn nearly_all_forms_of_real_expressions_are_compiled() {
    let tally = Tally::of(include_str!("../shared/expressions.jsonl"));
    assert!(tally.total().times > 20_000, "{}", tally.table());
    println!("{}\n{}", tally.table(), tally.causes(60));
    assert!(tally.share(Outcome::Compiled) >= 0.95, "{}", tally.table());
    // Looked at one by one: these are text, placeholders, quotes that are not closed.
    assert_eq!(
        tally.count(Outcome::Syntax).distinct,
        8,
        "{:#?}",
        tally.no_javascript
    );
    let refused = [Outcome::Syntax, Outcome::OtherProblem].map(|outcome| tally.share(outcome));
    assert!(refused.iter().sum::<f64>() < 0.002, "{}", tally.table());
}
