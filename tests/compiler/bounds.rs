//! What hostile graphs cost: what is told of them is bounded, and so is what they make of what they repeat.

use crate::diagnostics::{composite, graph, node, noop, started};
use crate::expressions::EVERYTHING;
use heddle_compiler::expression::{Expression, parse, route};
use heddle_compiler::{
    Diagnostic, ExpressionRoute, NotRenamed, Options, Renaming, Severity, check, compile, explain, rename,
};
use serde_json::{Map, Value, json};

/// Told of any graph: 100 errors and 100 warnings with at most 2,000 bytes of message, advice and excerpt each.
const TOLD_BYTES_MAX: usize = 1_400_000;

fn told(graph: &Value, definitions: &Value) -> Vec<Diagnostic> {
    let found = check(graph, definitions, &Options::default());
    let bytes = serde_json::to_string(&found).unwrap().len();
    assert!(bytes <= TOLD_BYTES_MAX, "{bytes} bytes are told");
    for severity in [Severity::Error, Severity::Warning] {
        let count = found.iter().filter(|it| it.severity == severity).count();
        assert!(count <= 101, "{count} findings");
    }
    found
}

fn last(found: &[Diagnostic]) -> (&str, &str) {
    let last = found.last().unwrap();
    (last.code, &last.message)
}

fn with_value(value: Value) -> Value {
    started(
        [node("a", "Transform", json!({ "value": value }))],
        &["start -> a"],
    )
}

#[test]
fn an_expression_of_unknown_names_is_told_in_bounded_space() {
    let names = format!("{{{{ {} 1 }}}}", "$inptu + ".repeat(700));
    let found = told(&with_value(json!(names)), &json!({}));
    assert_eq!(found.len(), 100);
    let first = found[0].excerpt.as_ref().unwrap();
    assert_eq!(&first.text[first.span.clone()], "$inptu");
    assert!(first.text.len() < names.len());
    let later = found[90].excerpt.as_ref().unwrap();
    assert_eq!(&names[later.offset..][later.span.clone()], "$inptu");
}

#[test]
fn keys_within_keys_of_patterns_do_not_double_at_each_level() {
    let nested = (0..40).fold("'k'".to_owned(), |key, _| {
        format!("[1].map(({{ [{key}]: x = 1 }}) => x)")
    });
    let tree = parse(&nested, &EVERYTHING).unwrap();
    assert!(format!("{tree:?}").len() < 1_000 * nested.len());
}

#[test]
fn what_is_more_than_a_hundred_is_counted() {
    let texts: Vec<String> = (0..250).map(|index| format!("{{{{ $x{index} }}}}")).collect();
    let found = told(&with_value(json!(texts)), &json!({}));
    assert_eq!(found.len(), 101);
    assert_eq!(last(&found), ("more", "and 150 more errors"));
}

#[test]
fn warnings_are_bounded_too() {
    let unknown: Map<String, Value> = (0..20_000).map(|index| (format!("p{index}"), json!(1))).collect();
    let mut parameters = json!({ "value": 1 });
    parameters.as_object_mut().unwrap().extend(unknown);
    let found = told(
        &started([node("a", "Transform", parameters)], &["start -> a"]),
        &json!({}),
    );
    assert_eq!(found.len(), 101);
    assert_eq!(last(&found), ("more", "and 19900 more warnings"));
}

#[test]
fn names_as_long_as_the_graph_are_cut() {
    let long = "x".repeat(500_000);
    let nodes = (0..100).map(|index| node(&format!("n{index}"), &long, json!({ &long: 1 })));
    told(
        &started(nodes, &[]),
        &json!({ &long: { "kind": &long }, "B": { "kind": "graph", "graphData": {
        "nodes": [{ "id": &long, "type": &long }], "edges": [{ "source": &long, "target": &long }] } } }),
    );
    // Each value has a path, in which the name would stand again.
    let deep = json!({ &long: { &long: vec![json!("{{ $x }}"); 1_000] } });
    told(&with_value(deep), &json!({}));
}

#[test]
fn every_part_of_a_graph_may_be_wrong() {
    let wrong = json!({ "id": "", "type": 7, "data": { "parameters": [], "onError": "x", "retry": 1 } });
    let edge = json!({ "source": "nowhere", "target": 3, "sourceHandle": 4 });
    let broken = json!({ "nodes": vec![wrong; 1_000], "edges": vec![edge; 500] });
    let ports: Vec<Value> = (0..256).map(|_| json!({ "name": "?" })).collect();
    let definitions: Map<String, Value> = (0..10)
        .map(|index| {
            let definition =
                json!({ "kind": "graph", "inputs": &ports, "outputs": &ports, "graphData": &broken });
            (format!("D{index}"), definition)
        })
        .collect();
    let found = told(&broken, &definitions.into());
    assert_eq!(last(&found).0, "more");
}

fn codes(found: &[Diagnostic]) -> Vec<&str> {
    found.iter().map(|it| it.code).collect()
}

#[test]
fn tables_of_too_many_values_and_ports_are_refused_before_anything_is_made_of_them() {
    let found = told(&with_value(json!(vec![0; 250_000])), &json!({}));
    assert_eq!(codes(&found), ["too-large"]);
    let ports: Vec<Value> = (0..300)
        .map(|index| json!({ "name": format!("p{index}") }))
        .collect();
    let definitions =
        json!({ "Own": { "kind": "javascript", "code": "export default 1", "outputs": ports } });
    let found = told(&started([noop("a")], &["start -> a"]), &definitions);
    assert_eq!(
        found[0].message,
        "in definition `Own`: the graph has 300 outputs; 256 are allowed"
    );
    let cases: Vec<Value> = (0..300)
        .map(|index| json!({ "name": format!("c{index}"), "when": true }))
        .collect();
    let switch = node("s", "Switch", json!({ "cases": cases }));
    let found = told(&started([switch], &["start -> s"]), &json!({}));
    assert_eq!(
        found[0].message,
        "the graph has 300 cases in one node; 256 are allowed"
    );
}

/// Composites of ten of the next each, so that what the innermost holds is there 10^levels times.
fn laughs(levels: usize, value: &Value) -> (Value, Value) {
    let definition = |level: usize| {
        let inner = (0..10).map(|index| match level + 1 < levels {
            true => node(&format!("n{index}"), &format!("L{}", level + 1), json!({})),
            false => node(&format!("n{index}"), "Transform", json!({ "value": value })),
        });
        let ends = [
            node("call", "OnCall", json!({})),
            node("end", "Return", json!({})),
        ];
        let edges: Vec<String> = (0..10)
            .flat_map(|index| [format!("call -> n{index}"), format!("n{index} -> end")])
            .collect();
        let edges: Vec<&str> = edges.iter().map(String::as_str).collect();
        (format!("L{level}"), composite(graph(inner.chain(ends), &edges)))
    };
    let definitions: Map<String, Value> = (0..levels).map(definition).collect();
    let main = started([node("a", "L0", json!({}))], &["start -> a"]);
    (main, definitions.into())
}

#[test]
fn composites_that_multiply_are_refused_by_what_they_add_up_to() {
    let (main, definitions) = laughs(9, &json!(1));
    let found = told(&main, &definitions);
    assert!(found.iter().any(|it| it.code == "too-large"), "{found:#?}");
    // Few nodes, but each has a megabyte.
    let (main, definitions) = laughs(2, &json!("x".repeat(1 << 20)));
    let found = told(&main, &definitions);
    let message = "the graph has more than 32 MiB of parameters and code, counting those of composites each \
        time they are used";
    assert!(found.iter().any(|it| it.message == message), "{found:#?}");
    // A hundred times some thousand expressions, which take more than their text.
    let (main, definitions) = laughs(2, &json!(vec!["{{ 1 }}"; 2_500]));
    let found = told(&main, &definitions);
    assert!(found.iter().any(|it| it.message == message), "{found:#?}");
    // Labels, which the manifest has for each of them.
    let (main, mut definitions) = laughs(2, &json!(1));
    definitions["L1"]["graphData"]["nodes"][0]["data"]["label"] = "x".repeat(4 << 20).into();
    let found = told(&main, &definitions);
    assert!(found.iter().any(|it| it.message == message), "{found:#?}");
}

#[test]
fn names_of_a_large_graph_are_compared_with_few_of_its_mistakes() {
    let name = |number: usize| format!("{number:0>60}");
    let definition = json!({"kind": "expression", "outputValues": {"out": 1}});
    let definitions: Map<String, Value> = (0..4_500)
        .map(|number| (name(number), definition.clone()))
        .collect();
    // Each is called almost as one of them.
    let nodes = (0..100).map(|number| {
        let mistyped = name(number).replacen('0', "O", 1);
        node(&format!("n{number}"), &mistyped, json!({}))
    });
    let found = told(&started(nodes, &[]), &definitions.into());
    let unknown = found.iter().filter(|it| it.code == "unknown-type");
    let suggests = |it: &&Diagnostic| {
        it.help
            .as_ref()
            .is_some_and(|help| help.starts_with("did you mean"))
    };
    let (with, without): (Vec<&Diagnostic>, Vec<&Diagnostic>) = unknown.partition(suggests);
    assert_eq!((with.len(), without.len()), (5, 95));
}

#[test]
fn a_long_row_of_dollar_signs_does_not_come_with_every_name() {
    let names = "$json.a, ".repeat(2_000);
    let source = format!("[/x/.test('{} $h0_ $h2_'), {names} 1]", "$".repeat(10_000));
    let routed = route(&source, &EVERYTHING, ExpressionRoute::default()).unwrap();
    let Expression::Script(script) = &routed.expression else {
        panic!("{:?}", routed.reasons);
    };
    assert!(script.source.contains("$h1_0"));
    assert!(script.source.len() < 5 * source.len(), "{}", script.source.len());
}

#[test]
fn places_below_names_as_long_as_the_graph_are_told_in_bounded_space() {
    let long = "x".repeat(100_000);
    let renamed = |places: usize| {
        let mut named = noop("a");
        named["data"]["label"] = "Label".into();
        let texts = vec!["{{ $(\"Label\").b }}"; places];
        let reader = node("b", "Transform", json!({ "value": { &long: texts } }));
        let renaming = Renaming {
            definition: None,
            node_id: "a",
            label: "Other",
        };
        rename(
            &started([named, reader], &["start -> a", "a -> b"]),
            &json!({}),
            renaming,
        )
    };
    assert_eq!(renamed(10).unwrap().len(), 10);
    assert!(matches!(renamed(100), Err(NotRenamed::TooLarge(_))));
    let texts = vec!["{{ 1 }}"; 10];
    let definitions = json!({ &long: { "kind": "expression", "outputValues": { "out": texts } } });
    let graph = started([noop("a")], &["start -> a"]);
    let (explained, _) = explain(&graph, &definitions, &Options::default());
    assert_eq!(explained.len(), 10);
    for one in explained {
        let name = one.definition.unwrap();
        assert!(name.len() < 600, "{}", name.len());
    }
}

#[test]
fn so_many_patterns_of_forms_are_compiled() {
    let fields: Vec<Value> = (0..100)
        .map(|index| json!({ "name": format!("x{index}"), "pattern": "a" }))
        .collect();
    let errors = |forms: usize| -> Vec<&'static str> {
        let parameters = json!({ "title": "T", "fields": fields });
        let forms = (0..forms).map(|index| node(&format!("f{index}"), "OnForm", parameters.clone()));
        let found = told(&graph(forms, &[]), &json!({}));
        let errors = found.iter().filter(|it| it.severity == Severity::Error);
        errors.map(|it| it.code).collect()
    };
    assert_eq!(errors(10), [""; 0]);
    assert_eq!(errors(11), ["too-large"; 100]);
}

#[test]
fn sources_add_up() {
    let code = format!("export default () => {{ {} }}", "f(1);\n".repeat(10_000));
    let nodes = (0..100).map(|index| node(&format!("n{index}"), "JavaScript", json!({ "code": &code })));
    let graph = started(nodes, &[]);
    let found = told(&graph, &json!({}));
    let said: Vec<&str> = found
        .iter()
        .filter(|it| it.severity == Severity::Error)
        .map(|it| it.code)
        .collect();
    assert_eq!(said, ["too-large"]);
    // Nothing is made of what is beyond that.
    let (explained, _) = explain(&graph, &json!({}), &Options::default());
    let modules = explained.iter().filter(|it| it.is_code).count();
    assert!((30..40).contains(&modules), "{modules}");
}

#[test]
fn a_component_whose_types_share_their_parts_is_told_in_few_words() {
    // Each record has the one before in every field: written out, 50^7 of the innermost.
    let mut text = String::from("(component (type $t0 (record (field \"x\" u8)))");
    for level in 1..8 {
        let fields: String = (0..50)
            .map(|index| format!("(field \"f{index}\" $t{})", level - 1))
            .collect();
        text += &format!("(type $t{level} (record {fields}))");
    }
    text += "(type $f (func (param \"a\" $t7))) (import \"f\" (func $g (type $f))) (export \"execute\" (func $g)))";
    let Ok(bytes) = wat::parse_str(&text) else {
        panic!("the component is no text of WebAssembly");
    };
    let base64 = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, bytes);
    let definitions = json!({ "Own": { "kind": "component", "component": base64 } });
    let found = told(
        &started([node("a", "Own", json!({}))], &["start -> a"]),
        &definitions,
    );
    assert!(codes(&found).contains(&"component"), "{found:#?}");
}

#[test]
fn many_definitions_that_no_node_uses_are_one_warning() {
    let definition = json!({"kind": "expression", "inputs": [], "outputs": [], "outputValues": {}});
    let names = |count: usize| -> Value {
        (0..count)
            .map(|number| (format!("Unused{number}"), definition.clone()))
            .collect()
    };
    let graph = json!({"nodes": [{"id": "start", "type": "OnManual"}], "edges": []});
    assert_eq!(told(&graph, &names(5)).len(), 5);
    let found = told(&graph, &names(6));
    let messages: Vec<&str> = found.iter().map(|it| it.message.as_str()).collect();
    assert_eq!(
        messages,
        ["no node uses 6 of the definitions: `Unused0`, `Unused1` and 4 others"]
    );
}

#[test]
fn lists_that_have_the_one_before_twice_are_not_followed_to_the_end() {
    let doubled: String = (1..60)
        .map(|level| format!("const a{level} = [a{0}, a{0}];\n", level - 1))
        .collect();
    let code = format!(
        "export default ({{ input }}) => {{\nconst a0 = [input.x];\n{doubled}const list = input.map(x => x.y);\nreturn fetch(list);\n}};"
    );
    let script = node("s", "JavaScript", json!({ "code": code }));
    let graph = started([script], &["start -> s"]);
    let compiled = compile(&graph, &json!({}), &Options::default());
    assert!(compiled.artifact.is_some(), "{:#?}", compiled.diagnostics);
}

#[test]
fn a_hundred_unknown_methods_of_an_expression_are_told() {
    let calls = "$json.frobnicate() + ".repeat(700);
    let found = told(
        &with_value(json!(format!("{{{{ /x/ && {calls} 1 }}}}"))),
        &json!({}),
    );
    assert_eq!(codes(&found), ["unknown-method"; 100]);
}

#[test]
fn more_changes_than_can_be_compared_with_what_is_read_are_left_to_the_engine() {
    let is_compiled = |count: usize| {
        let lists: Vec<String> = (0..count).map(|index| format!("$json.a{index}.sort()")).collect();
        let source = format!("[{}]", lists.join(", "));
        let routed = route(&source, &EVERYTHING, ExpressionRoute::default()).unwrap();
        routed.reasons.is_empty()
    };
    assert!(is_compiled(400));
    assert!(!is_compiled(600));
}
