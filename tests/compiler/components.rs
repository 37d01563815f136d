//! Definitions of kind `component`: what the compiler says of components that can't be nodes, and where the others go.

use crate::diagnostics::{graph, node, with_definitions};
use crate::hand_made::{Parts, base64, component_of, constant, echo, fetching};
use heddle_compiler::{Options, compile};
use heddle_contract::abi::COMPONENT_SECTION;
use serde_json::{Value, json};
use wasmparser::{Parser, Payload};

/// What is said of a pattern with one node of this definition.
fn said(definition: Value) -> String {
    with_definitions(pattern(), json!({ "Own": definition }))
}

fn pattern() -> Value {
    graph(
        [
            node("start", "OnManual", json!({})),
            node("own", "Own", json!({"rate": "{{ $input.rate }}"})),
            node("end", "Return", json!({})),
        ],
        &["start -> own", "own -> end"],
    )
}

fn definition(component: &[u8]) -> Value {
    json!({ "kind": "component", "component": base64(component) })
}

fn of_text(wat: &str) -> String {
    said(definition(&wat::parse_str(wat).unwrap()))
}

/// The sections with components.
fn sections(wasm: &[u8]) -> Vec<Vec<u8>> {
    Parser::new(0)
        .parse_all(wasm)
        .filter_map(|payload| match payload.unwrap() {
            Payload::CustomSection(section) if section.name() == COMPONENT_SECTION => {
                Some(section.data().to_vec())
            }
            _ => None,
        })
        .collect()
}

#[test]
fn the_component_and_its_rights_are_in_the_module() {
    assert_eq!(said(definition(&echo())), "");
    let mut sending = definition(&fetching());
    sending["hosts"] = json!(["API.example.com", "localhost:8080", "api.example.com"]);
    let definitions = json!({ "Own": sending });
    let artifact = || {
        compile(&pattern(), &definitions, &Options::default())
            .artifact
            .unwrap()
    };
    let first = artifact();
    assert_eq!(first.wasm, artifact().wasm);
    assert_eq!(sections(&first.wasm), [fetching()]);
    let component = &first.manifest.components[0];
    assert_eq!(
        (component.node_type.as_str(), component.bytes),
        ("Own", fetching().len())
    );
    assert_eq!(component.hosts, ["api.example.com", "localhost:8080"]);
    assert_eq!(first.manifest.rights.effects, ["component", "http"]);
    assert_eq!(first.manifest.rights.hosts, component.hosts);
}

#[test]
fn what_each_node_may_start_is_known() {
    let mut sending = definition(&fetching());
    sending["hosts"] = json!(["api.example.com"]);
    let inner = graph(
        [
            node("in", "OnCall", json!({})),
            node("ask", "HttpRequest", json!({"url": "https://example.com"})),
            node("out", "Return", json!({})),
        ],
        &["in -> ask", "ask -> out"],
    );
    let code = |source: &str| json!({"kind": "javascript", "code": source});
    let definitions = json!({
        "Own": sending, "Quiet": definition(&echo()), "Box": {"kind": "graph", "graphData": inner},
        "Code": code("export default () => fetch('https://example.com')"), "Plain": code("export default () => 1"),
    });
    let types = ["Own", "Quiet", "Box", "Code", "Plain", "Log"];
    let drawn = types
        .iter()
        .map(|kind| node(&kind.to_lowercase(), kind, json!({})));
    let mut nodes: Vec<Value> = [node("start", "OnManual", json!({}))]
        .into_iter()
        .chain(drawn)
        .collect();
    nodes[6]["data"]["parameters"] = json!({"message": "x"});
    let edges = [
        "start -> own",
        "own -> quiet",
        "quiet -> box",
        "box -> code",
        "code -> plain",
        "plain -> log",
    ];
    let compiled = compile(&graph(nodes, &edges), &definitions, &Options::default());
    let artifact = compiled
        .artifact
        .unwrap_or_else(|| panic!("{:?}", compiled.diagnostics));
    let told = artifact.effects.iter();
    let mut told: Vec<String> = told
        .map(|node| format!("{}: {}", node.node_id, node.kinds.join(" ")))
        .collect();
    told.sort();
    assert_eq!(
        told,
        [
            "box/ask: http",
            "code: http",
            "own: component http",
            "quiet: component"
        ]
    );
}

#[test]
fn a_component_that_no_node_executes_is_left_out() {
    let mut disabled = pattern();
    disabled["nodes"][1]["data"]["disabled"] = true.into();
    let definitions = json!({ "Own": definition(&echo()) });
    let artifact = compile(&disabled, &definitions, &Options::default())
        .artifact
        .unwrap();
    assert!(sections(&artifact.wasm).is_empty() && artifact.manifest.components.is_empty());
    assert_eq!(artifact.manifest.rights.effects, Vec::<String>::new());
}

#[test]
fn what_is_no_component_is_refused() {
    insta::assert_snapshot!(said(json!({"kind": "component"})), @r#"
    error[malformed] nodeDefinitions.Own: in definition `Own`: component, the base64 of a WebAssembly component, is missing
    "#);
    insta::assert_snapshot!(said(json!({"kind": "component", "component": {"file": "own.wasm"}})), @r#"
    error[malformed] nodeDefinitions.Own: in definition `Own`: component, the base64 of a WebAssembly component, is missing
      a component can name a file only in a definition file that `heddle` reads; send its content as base64
    "#);
    insta::assert_snapshot!(said(json!({"kind": "component", "component": "%%"})), @r#"
    error[component] nodeDefinitions.Own.component: in definition `Own`: component is not valid base64: Invalid symbol 37, offset 0.
    "#);
    insta::assert_snapshot!(said(definition(b"no wasm")), @r#"
    error[component] nodeDefinitions.Own.component: in definition `Own`: this is not a WebAssembly component: it has no component header
    "#);
    insta::assert_snapshot!(of_text("(module)"), @r#"
    error[component] nodeDefinitions.Own.component: in definition `Own`: this is a WebAssembly module, not a component
      turn it into a component: `wasm-tools component new module.wasm -o component.wasm`
    "#);
    let mut broken = echo();
    broken.truncate(broken.len() / 2);
    assert!(said(definition(&broken)).contains("the component is not valid: "));
}

#[test]
fn proposals_that_components_do_not_need_are_refused() {
    let with = |parts: &'static str| {
        let component = component_of(Parts {
            parts,
            body: "(call $ok (i32.const 1024) (i32.const 0))",
            ..Parts::default()
        });
        said(definition(&component))
    };
    for (proposal, parts) in [
        ("tail calls", "(func $next (return_call $next))"),
        (
            "extended constant expressions",
            "(global i32 (i32.add (i32.const 1) (i32.const 2)))",
        ),
        ("threads", "(func (drop (i32.atomic.load (i32.const 0))))"),
        (
            "relaxed SIMD",
            "(func (drop (i32x4.relaxed_trunc_f32x4_s (v128.const i32x4 0 0 0 0))))",
        ),
        ("several memories", "(memory 1)"),
        ("64-bit memories", "(table i64 1 funcref)"),
        ("exceptions", "(func (unreachable) (throw_ref))"),
        ("garbage collection", "(type $pair (struct (field i32)))"),
    ] {
        let refused = with(parts);
        assert!(
            refused.contains("the component is not valid: "),
            "{proposal}: {refused}"
        );
    }
    // What engines have had for long is taken.
    assert_eq!(with("(func (drop (v128.const i32x4 0 0 0 0)))"), "");
}

#[test]
fn execute_must_be_there_with_its_type() {
    insta::assert_snapshot!(of_text("(component)"), @r#"
    error[component] nodeDefinitions.Own.component: in definition `Own`: the component does not export a function `execute`
      build it for the world `node` of wit/node.wit, see docs/custom-nodes.md
    "#);
    let other = r#"(component
        (core module $m (func (export "execute") (param i32) (result i32) (i32.const 1)))
        (core instance $m (instantiate $m))
        (func (export "execute") (param "a" u32) (result (tuple u32)) (canon lift (core func $m "execute"))))"#;
    insta::assert_snapshot!(of_text(other), @r#"
    error[component] nodeDefinitions.Own.component: in definition `Own`: the component's `execute` is func(a: u32) -> tuple<u32>, but a node's is func(input: string, parameters: string, context: string) -> result<string, record{code: option<string>, message: string}>
      build it for the world `node` of wit/node.wit, see docs/custom-nodes.md
    "#);
}

#[test]
fn imports_beyond_the_world_are_refused() {
    let importing = |imports: &'static str| {
        let component = component_of(Parts {
            imports,
            body: "(unreachable)",
            ..Parts::default()
        });
        said(definition(&component))
    };
    insta::assert_snapshot!(importing(r#"(import "acme:files/read@1.0.0" (instance))"#), @r#"
    error[component] nodeDefinitions.Own.component: in definition `Own`: the component imports `acme:files/read@1.0.0`, which nodes don't provide
      a node provides `heddle:node/log@0.1.0` and `heddle:node/http@0.1.0`, and of WASI 0.2 `cli`, `clocks`, `filesystem`, `io` and `random`
    "#);
    insta::assert_snapshot!(importing(r#"(import "wasi:sockets/tcp@0.2.0" (instance))"#), @r#"
    error[component] nodeDefinitions.Own.component: in definition `Own`: the component imports `wasi:sockets/tcp@0.2.0`, which nodes don't provide
      a node provides `heddle:node/log@0.1.0` and `heddle:node/http@0.1.0`, and of WASI 0.2 `cli`, `clocks`, `filesystem`, `io` and `random`
    "#);
    insta::assert_snapshot!(importing(r#"(import "wasi:http/outgoing-handler@0.2.0" (instance))"#), @r#"
    error[component] nodeDefinitions.Own.component: in definition `Own`: the component imports `wasi:http/outgoing-handler@0.2.0`, which nodes don't provide
      send requests through heddle:node/http@0.1.0; build a component from JavaScript with disableFeatures: ["http", "fetch-event"]
    "#);
    insta::assert_snapshot!(importing(r#"(import "heddle:node/log@0.9.0" (instance))"#), @r#"
    error[component] nodeDefinitions.Own.component: in definition `Own`: the component imports `heddle:node/log@0.9.0`, which nodes don't provide
      a node provides `heddle:node/log@0.1.0` and `heddle:node/http@0.1.0`, and of WASI 0.2 `cli`, `clocks`, `filesystem`, `io` and `random`
    "#);
    assert_eq!(
        importing(r#"(import "wasi:cli/environment@0.2.6" (instance))"#),
        ""
    );
    insta::assert_snapshot!(said(definition(&fetching())), @r#"
    error[component] nodeDefinitions.Own.component: in definition `Own`: the component imports `heddle:node/http@0.1.0`, which nodes don't provide
      list the `hosts` that it sends requests to in the definition, such as ["api.example.com"], or ["*"] for any
    "#);
    let mut other = definition(&component_of(Parts {
        imports: r#"(import "heddle:node/http@0.1.0" (instance (export "send" (func (param "url" string)))))"#,
        body: "(unreachable)",
        ..Parts::default()
    }));
    other["hosts"] = json!(["*"]);
    insta::assert_snapshot!(said(other), @r#"
    error[component] nodeDefinitions.Own.component: in definition `Own`: the component imports `send` of heddle:node/http@0.1.0 as func(url: string), which is the wrong type
      build it again with wit/node.wit
    "#);
}

#[test]
fn hosts_are_names() {
    let mut definition = definition(&constant("1"));
    definition["hosts"] = json!(["https://example.com", "example.com/path", 5, "*"]);
    insta::assert_snapshot!(said(definition.clone()), @r#"
    error[malformed] nodeDefinitions.Own: in definition `Own`: hosts has "https://example.com", which is not a valid host
      write names such as "api.example.com" or "localhost:8080", or "*" for any
    error[malformed] nodeDefinitions.Own: in definition `Own`: hosts has "example.com/path", which is not a valid host
      write names such as "api.example.com" or "localhost:8080", or "*" for any
    error[malformed] nodeDefinitions.Own: in definition `Own`: hosts has 5, which is not a valid host
      write names such as "api.example.com" or "localhost:8080", or "*" for any
    "#);
    definition["hosts"] = json!("example.com");
    insta::assert_snapshot!(said(definition), @r#"error[malformed] nodeDefinitions.Own: in definition `Own`: hosts must be an array of host names, not the text "example.com""#);
}
