//! KeyValue on values in memory.

use crate::server::{Server, ok};
use crate::services::{Given, closed_runtime, open_runtime, run, run_with};
use heddle_runtime::Services;
use heddle_runtime::key_values::{KeyValueOperation, KeyValueRequest, KeyValueScope};
use serde_json::{Value, json};

/// Several accesses within one run, which share its values: the outputs as one array.
async fn accesses(list: &[Value]) -> Value {
    let runtime = closed_runtime();
    let nodes: Vec<(String, Value)> = list
        .iter()
        .enumerate()
        .map(|(index, access)| (format!("n{index}"), access.clone()))
        .collect();
    crate::services::run_chain(&runtime, "KeyValue", &nodes)
        .await
        .output()
}

#[tokio::test]
async fn what_the_operations_do() {
    let outputs = accesses(&[
        json!({"operation": "get", "key": "a"}),
        json!({"operation": "set", "key": "a", "value": {"x": 1}}),
        json!({"operation": "get", "key": "a"}),
        json!({"operation": "get", "key": "a", "scope": "workspace"}),
        json!({"operation": "delete", "key": "a"}),
        json!({"operation": "delete", "key": "a"}),
        json!({"operation": "increment", "key": "n"}),
        json!({"operation": "increment", "key": "n", "value": 1.5}),
        json!({"operation": "increment", "key": "n", "value": -4}),
        json!({"operation": "append", "key": "l", "value": "x"}),
        json!({"operation": "append", "key": "l", "value": [1]}),
        json!({"operation": "set", "key": "gone", "value": 1, "ttlMs": 1}),
        json!({"operation": "set", "key": "null", "value": null}),
    ])
    .await;
    let expected = json!([
        null, {"x": 1}, {"x": 1}, null, {"x": 1}, null, 1, 2.5, -1.5, ["x"], ["x", [1]], 1, null
    ]);
    assert_eq!(outputs, expected);
}

#[tokio::test]
async fn what_does_not_fit_fails_the_node() {
    let runtime = closed_runtime();
    for (parameters, expected) in [
        (
            json!({"operation": "set", "key": "a"}),
            "PARAMETER: Parameter `value` says what to set",
        ),
        (
            json!({"operation": "increment", "key": "a", "value": "x"}),
            "PARAMETER: Parameter `value` takes a number",
        ),
        (
            json!({"operation": "get", "key": "x".repeat(513)}),
            "KEY_VALUE_LIMIT: A key must have 1 to 512 bytes.",
        ),
        (
            json!({"operation": "get", "key": "{{ '' }}"}),
            "KEY_VALUE_LIMIT: ",
        ),
        (
            json!({"operation": "set", "key": "a", "value": "x".repeat(256 << 10)}),
            "KEY_VALUE_LIMIT: The value would be 256 KiB",
        ),
    ] {
        let failure = run(&runtime, "KeyValue", parameters, &Given::default())
            .await
            .failure();
        assert!(failure.starts_with(expected), "{failure}");
    }
    for operation in ["increment", "append"] {
        let nodes = [
            (
                "n0".to_owned(),
                json!({"operation": "set", "key": "a", "value": "text"}),
            ),
            (
                "n1".to_owned(),
                json!({"operation": operation, "key": "a", "value": 1}),
            ),
        ];
        let failure = crate::services::run_chain(&runtime, "KeyValue", &nodes)
            .await
            .failure();
        assert!(
            failure.starts_with("KEY_VALUE_TYPE: The value under this key is a text, not a"),
            "{failure}"
        );
    }
}

#[tokio::test]
async fn code_keeps_values_by_the_same_operations() {
    let source = "export default async () => [
        await keyValue.get('n'), await keyValue.increment('n'), await keyValue.increment('n', 2),
        await keyValue.set('a', {x: 1}), await keyValue.get('a'), await keyValue.get('a', {scope: 'workspace'}),
        await keyValue.increment('a').catch((error) => error.code), await keyValue.delete('a'), await keyValue.get('a'),
    ];";
    let code = json!({ "code": source });
    let ended = run(&closed_runtime(), "JavaScript", code, &Given::default()).await;
    let expected = json!([null, 1, 3, {"x": 1}, {"x": 1}, null, "KEY_VALUE_TYPE", {"x": 1}, null]);
    assert_eq!(ended.output(), expected);
}

#[tokio::test]
async fn references_to_secrets_stay_references() {
    let server = Server::start(ok).await;
    let kept = Services::default();
    let runtime = open_runtime();
    let set = json!({"operation": "set", "key": "k", "value": {
        "token": "Bearer {{ $secrets.KEY }}", "forged": "heddle-secret(KEY;kept)",
    }});
    let written = run_with(&runtime, &[("set", "KeyValue", set)], &kept).await;
    let value = KeyValueRequest {
        scope: KeyValueScope::Pattern,
        key: "k".to_owned(),
        operation: KeyValueOperation::Get,
        time_to_live: None,
    };
    let stored = kept.key_values.access(value).await.unwrap();
    assert_eq!(
        stored,
        json!({"token": "Bearer heddle-secret(KEY;kept)", "forged": "heddle-secret~(KEY;kept)"})
    );
    assert!(
        !written.output().to_string().contains("hush"),
        "the run sees a reference"
    );
    // Another run gets a reference that is good for it, and what only looked like one as it was.
    let sent = json!({
        "method": "POST", "url": server.url("/"), "bodyType": "text", "body": "{{ $nodes.got.forged }}",
        "headers": {"X-Token": "{{ $nodes.got.token }}"}, "bodyOnly": true,
    });
    let get = json!({"operation": "get", "key": "k"});
    let use_it = json!({ "message": "{{ $secrets.KEY }}" });
    let nodes = [
        ("got", "KeyValue", get),
        ("log", "Log", use_it),
        ("send", "HttpRequest", sent),
    ];
    run_with(&runtime, &nodes, &kept).await;
    let request = server.requests().remove(0);
    assert!(
        request.contains("x-token: Bearer hush \"quiet\" & still\r\n"),
        "{request}"
    );
    assert!(request.ends_with("heddle-secret(KEY;kept)"), "{request}");
}
