//! JavaScript nodes and definitions: compiled, executed in the run's sandbox, within its limits.

use crate::harness::code;
use crate::patterns::{SECRET, node, output, pattern, run, run_module};
use crate::server::{Server, ok};
use heddle_compiler::Options;
use heddle_runtime::{Limits, Outcome};
use serde_json::{Value, json};

/// A pattern of one JavaScript node whose value is the run's output.
fn script(source: &str) -> Value {
    pattern(
        &[
            node("code", "JavaScript", json!({ "code": source })),
            node("end", "Return", json!({})),
        ],
        &["start -> code", "code -> end"],
    )
}

fn message(outcome: &Outcome) -> &str {
    &outcome.error.as_ref().unwrap().message
}

#[tokio::test]
async fn code_gets_input_and_params_and_its_value_goes_on() {
    let nodes = [
        node(
            "code",
            "JavaScript",
            json!({
                "code": "export default ({input, params}) => ({sum: input.items.reduce((a, b) => a + b, 0) * params.by, text: `{{${params.text}}}`})",
                "params": { "by": "{{ $input.items.length }}", "text": "é🎉" },
            }),
        ),
        node("end", "Return", json!({})),
    ];
    let pattern = pattern(&nodes, &["start -> code", "code -> end"]);
    let outcome = run(&pattern, &json!({ "items": [1, 2, 3] })).await;
    assert_eq!(output(&outcome), json!({ "sum": 18, "text": "{{é🎉}}" }));
}

#[tokio::test]
async fn values_leave_as_json() {
    let source = "export default () => ({date: new Date(0), gone: undefined, nan: NaN, list: [undefined, () => 1], \
                  old: new Date(-1e14), map: new Map()})";
    let expected = json!({
        "date": "1970-01-01T00:00:00.000Z", "nan": null, "list": [null, null],
        "old": "-001199-02-15T14:13:20.000Z", "map": {}
    });
    assert_eq!(output(&run(&script(source), &json!({})).await), expected);
}

#[tokio::test]
async fn runs_share_nothing() {
    let source = "let count = 0; export default () => { globalThis.seen = (globalThis.seen ?? 0) + 1; return [++count, seen]; }";
    for _ in 0..2 {
        assert_eq!(output(&run(&script(source), &json!({})).await), json!([1, 1]));
    }
}

#[tokio::test]
async fn each_calls_the_code_for_every_element_with_randomness_of_its_own() {
    let source = "export default ({input, item}) => [input, item, Math.random()]";
    let mut each = node("code", "JavaScript", json!({ "code": source }));
    each["data"]["each"] = json!(true);
    let pattern = pattern(
        &[each, node("end", "Return", json!({}))],
        &["start -> code", "code -> end"],
    );
    let first = output(&run(&pattern, &json!(["a", "b"])).await);
    assert_eq!((&first[0][0], &first[1][1]), (&json!("a"), &json!("b")));
    assert_ne!(first[0][2], first[1][2]);
    assert_eq!(first, output(&run(&pattern, &json!(["a", "b"])).await));
}

#[tokio::test]
async fn logs_are_the_nodes() {
    let outcome = run(
        &script("export default ({log}) => { log('one', {two: 2}); console.warn('three'); }"),
        &json!({}),
    )
    .await;
    let logs: Vec<_> = outcome
        .logs
        .iter()
        .map(|line| (line.level, line.message.as_str(), line.node_id.as_deref()))
        .collect();
    assert_eq!(
        logs,
        [
            ("info", "one {\"two\":2}", Some("code")),
            ("warn", "three", Some("code"))
        ]
    );
}

#[tokio::test]
async fn failures_tell_line_and_column_and_can_be_branched() {
    let outcome = run(&script("export default () => {\n  null.x;\n}"), &json!({})).await;
    assert_eq!(code(&outcome), "JAVASCRIPT");
    let text = "TypeError: cannot read property 'x' of null (line 2, column 3 of the code)";
    assert!(message(&outcome).contains(text), "{}", message(&outcome));

    let mut failing = node(
        "code",
        "JavaScript",
        json!({ "code": "export default () => { throw Object.assign(new Error('no stock'), {code: 'STOCK'}); }" }),
    );
    failing["data"]["onError"] = json!("branch");
    let pattern = pattern(
        &[failing, node("end", "Return", json!({ "value": "{{ $error }}" }))],
        &["start -> code", "code.error -> end"],
    );
    let error = output(&run(&pattern, &json!({})).await);
    assert_eq!(
        (&error["code"], &error["nodeId"]),
        (&json!("STOCK"), &json!("code"))
    );
}

#[tokio::test]
async fn limits_of_the_run_hold_in_code() {
    for (source, expected) in [
        ("export default () => { for (;;); }", "OUT_OF_FUEL"),
        (
            "export default () => /^(a+)+$/.test('a'.repeat(50) + '!')",
            "OUT_OF_FUEL",
        ),
        (
            "export default () => { const all = []; for (;;) all.push(new Array(1e5).fill(1)); }",
            "OUT_OF_MEMORY",
        ),
        ("export default ({log}) => { for (;;) log('x'); }", "LOG_LIMIT"),
        ("export default () => new Promise(() => {})", "JAVASCRIPT"),
        (
            "export default () => { const f = () => f() + 1; return f(); }",
            "JAVASCRIPT",
        ),
        (
            "export default () => JSON.parse('['.repeat(1e6))",
            "STACK_OVERFLOW",
        ),
        (
            "export default () => { let a = []; for (let i = 0; i < 515; i++) a = [a]; return a; }",
            "DEPTH_LIMIT",
        ),
        (
            "export default async () => { setInterval(() => {}, 0); await new Promise(() => {}); }",
            "EFFECT_LIMIT",
        ),
    ] {
        let outcome = run(&script(source), &json!({})).await;
        assert_eq!(code(&outcome), expected, "{source}: {:?}", outcome.error);
        assert_eq!(
            outcome.error.unwrap().node_id.as_deref(),
            Some("code"),
            "{source}"
        );
    }
}

#[tokio::test]
async fn fetch_is_sent_by_the_host_and_requests_go_together() {
    let server = Server::meeting(3).await;
    let source = format!(
        "export default async ({{input}}) => {{
            const urls = input.map((path) => `{}${{path}}`);
            const answers = await Promise.all(urls.map((url) => fetch(url, {{method: 'POST', body: url.slice(-1)}})));
            return answers.map((answer) => answer.status);
        }}",
        server.url("/")
    );
    // The server answers only when all three are there.
    let outcome = run(&script(&source), &json!(["a", "b", "c"])).await;
    assert_eq!(output(&outcome), json!([200, 200, 200]));
    let keys = server.requests().into_iter().map(|request| {
        let key = request
            .lines()
            .find(|line| line.to_ascii_lowercase().starts_with("idempotency-key:"));
        key.unwrap_or_default().to_owned()
    });
    assert_eq!(keys.collect::<std::collections::BTreeSet<_>>().len(), 3);
}

#[tokio::test]
async fn code_reads_files_and_makes_files() {
    let source = "export default async ({input}) => {
        const {total} = await input.file.json();
        const bytes = new Uint8Array(await input.file.arrayBuffer());
        const text = `${total} ${bytes.length} ${(await input.file.text()).length} ${Buffer.from(bytes).toString('hex', 0, 2)}`;
        return new File([text], 'total.txt', {type: 'text/plain'});
    }";
    let make = json!({"operation": "make", "content": {"total": "12 €"}, "format": "json", "name": "a.json"});
    let graph = pattern(
        &[
            node("make", "File", make),
            node(
                "pass",
                "SetFields",
                json!({"fields": {"file": "{{ $input }}"}, "keepInput": false}),
            ),
            node("code", "JavaScript", json!({ "code": source })),
            node("read", "File", json!({})),
            node(
                "end",
                "Return",
                json!({"value": "{{ [$input, $nodes.code.name, $nodes.code.size] }}"}),
            ),
        ],
        &[
            "start -> make",
            "make -> pass",
            "pass -> code",
            "code -> read",
            "read -> end",
        ],
    );
    assert_eq!(
        output(&run(&graph, &json!({})).await),
        json!(["12 € 18 16 7b22", "total.txt", 17])
    );
}

#[tokio::test]
async fn fetch_reads_json_and_fails_as_an_error_that_code_can_catch() {
    let server = Server::start(|_| ok("{\"a\": [1, 2]}")).await;
    let source = format!(
        "export default async () => {{
            const {{a}} = await (await fetch('{}')).json();
            try {{ await fetch('http://127.0.0.1:1/'); }} catch (error) {{ return [...a, error.code]; }}
        }}",
        server.url("/x")
    );
    assert_eq!(
        output(&run(&script(&source), &json!({})).await),
        json!([1, 2, "HTTP_FAILED"])
    );
}

#[tokio::test]
async fn elements_wait_together_and_a_failed_attempt_is_made_again() {
    let server = Server::meeting(3).await;
    let source = format!(
        "const tried = new Set();
         export default async ({{input}}) => {{
            const {{status}} = await fetch('{}');
            if (!tried.has(input)) {{ tried.add(input); throw new Error('once more'); }}
            return `${{input}} ${{status}}`;
        }}",
        server.url("/")
    );
    let mut each = node("code", "JavaScript", json!({ "code": source }));
    each["data"]["each"] = json!(true);
    each["data"]["concurrency"] = json!(3);
    each["data"]["retry"] = json!({ "maxAttempts": 2, "backoffMs": 0 });
    let graph = pattern(
        &[each, node("end", "Return", json!({}))],
        &["start -> code", "code -> end"],
    );
    // The server answers only when three have come.
    let outcome = run(&graph, &json!(["a", "b", "c"])).await;
    assert_eq!(output(&outcome), json!(["a 200", "b 200", "c 200"]));
    assert_eq!(outcome.usage.effects, 6);
}

#[tokio::test]
async fn secrets_reach_the_service_but_not_the_code() {
    let server = Server::start(|request| ok(request.lines().last().unwrap_or_default())).await;
    let source = format!(
        "export default async ({{params, log}}) => {{
            log(params.key, params.key.length);
            return (await fetch('{}', {{method: 'POST', body: `key=${{params.key}}`}})).text();
        }}",
        server.url("/")
    );
    let parameters = json!({ "code": source, "params": { "key": "{{ $secrets.KEY }}" } });
    let nodes = [
        node("code", "JavaScript", parameters),
        node("end", "Return", json!({})),
    ];
    let outcome = run(&pattern(&nodes, &["start -> code", "code -> end"]), &json!({})).await;
    assert_eq!(output(&outcome), json!("key=***"));
    assert!(server.requests()[0].ends_with(&format!("key={SECRET}")));
    assert!(
        outcome.logs[0].message.starts_with("heddle-secret(KEY;"),
        "{:?}",
        outcome.logs
    );
}

#[tokio::test]
async fn fetch_keeps_to_the_egress_policy_and_the_rights() {
    for (name, expected) in [
        ("fetch", "EGRESS_DENIED"),
        ("globalThis['fe' + 'tch']", "NOT_PERMITTED"),
    ] {
        let source = format!("export default () => {name}('http://169.254.169.254/latest')");
        let outcome = run(&script(&source), &json!({})).await;
        assert_eq!(code(&outcome), expected, "{name}");
    }
}

#[tokio::test]
async fn a_timer_that_nobody_waits_for_does_not_hold_up_the_run() {
    let source = "export default async () => {
        const slow = new Promise((resolve) => setTimeout(resolve, 3_000_000, 'slow'));
        const quick = new Promise((resolve) => setTimeout(resolve, 5, 'quick'));
        return Promise.race([slow, quick]);
    }";
    assert_eq!(output(&run(&script(source), &json!({})).await), json!("quick"));
}

#[tokio::test]
async fn definitions_of_kind_javascript_have_ports() {
    let definitions = json!({
        "Split": {
            "kind": "javascript",
            "inputs": [{ "name": "in", "type": "any" }],
            "outputs": [{ "name": "even", "type": "any" }, { "name": "odd", "type": "any" }],
            "code": "export default ({input}) => (input % 2 ? {odd: input} : {even: input, other: 1})"
        },
        "Score": {
            "kind": "javascript",
            "inputs": [{ "name": "a", "type": "any" }, { "name": "b", "type": "any" }],
            "outputs": [{ "name": "out", "type": "any" }],
            "code": "export default ({input}) => [input.a, input.b]"
        }
    });
    let nodes = [
        node("split", "Split", json!({})),
        node("odd", "Transform", json!({ "value": "odd {{ $input }}" })),
        node("even", "Transform", json!({ "value": "even {{ $input }}" })),
        node("score", "Score", json!({})),
        node("end", "Return", json!({})),
    ];
    let edges = [
        "start -> split",
        "split.odd -> odd",
        "split.even -> even",
        "odd -> score.a",
        "even -> score.b",
        "score -> end",
    ];
    let graph = pattern(&nodes, &edges);
    let compiled = heddle_compiler::compile(&graph, &definitions, &Options::default());
    let artifact = compiled
        .artifact
        .unwrap_or_else(|| panic!("{:?}", compiled.diagnostics));
    assert!(artifact.manifest.rights.javascript && artifact.manifest.rights.effects.is_empty());
    for (event, expected) in [(3, json!(["odd 3", null])), (4, json!([null, "even 4"]))] {
        let outcome = run_module(&artifact.wasm, &json!(event), Limits::default()).await;
        assert_eq!(output(&outcome), expected);
    }
}

#[tokio::test]
async fn a_module_that_does_not_say_so_gets_no_engine() {
    // The engine is needed for what isn't compiled.
    let pattern = script("export default () => { for (;;) return 1; }");
    let compiled = heddle_compiler::compile(&pattern, &json!({}), &Options::default());
    let wasm = compiled.artifact.unwrap().wasm;
    // A name that no field has, of the same length.
    let (granted, other) = (b"\"javascript\":true", b"\"javascripT\":true");
    let at = wasm
        .windows(granted.len())
        .position(|window| window == granted)
        .unwrap();
    let mut changed = wasm.clone();
    changed[at..at + other.len()].copy_from_slice(other);
    assert_eq!(
        code(&run_module(&changed, &json!({}), Limits::default()).await),
        "NOT_PERMITTED"
    );
}
