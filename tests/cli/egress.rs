//! Where patterns may connect to, with names that resolve as an attacker likes: in a network namespace of its own, with
//! a DNS server of its own (`namespace.py`).

use super::harness::{Place, graph, root};
use super::needs;
use serde_json::{Value, json};
use std::process::{Command, Stdio};

/// `heddle run --json` of each pattern, and the requests that came inside and outside. `None` where the system
/// makes no namespaces: then the test is skipped.
fn in_namespace(place: &Place, patterns: &[Value]) -> Option<(Vec<Value>, Value, Value)> {
    let unshare = |program: &str| {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--net", "--mount", program]);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        command
    };
    let made = unshare("ip").arg("link").status();
    let made = made.is_ok_and(|status| status.success());
    needs::or_skip(
        "a network namespace",
        made.then_some(()).ok_or("`unshare` can't make one"),
    )?;
    let names: Vec<String> = (0..patterns.len()).map(|index| format!("{index}.json")).collect();
    for (name, pattern) in names.iter().zip(patterns) {
        place.file(name, pattern.to_string());
    }
    let heddle = place.command(&[""; 0]);
    let output = unshare("python3")
        .arg(root().join("tests/cli/namespace.py"))
        .arg(heddle.get_program())
        .args(names)
        .current_dir(place.path(""))
        .envs(heddle.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    let runs = said["runs"].as_array().unwrap().clone();
    Some((runs, said["inside"].clone(), said["outside"].clone()))
}

fn one(node_type: &str, parameters: Value) -> Value {
    graph(
        &[
            ("start", "OnManual", json!({})),
            ("it", node_type, json!({ "parameters": parameters })),
            ("end", "Return", json!({})),
        ],
        &["start -> it", "it -> end"],
    )
}

fn get(url: &str) -> Value {
    one("HttpRequest", json!({"url": url, "bodyOnly": true}))
}

#[test]
fn names_that_lead_inside_are_refused() {
    let place = Place::new();
    let hosts = ["inside", "inside6", "local6", "mapped", "mixed", "metadata"];
    let connections: serde_json::Map<String, Value> = hosts
        .iter()
        .flat_map(|host| {
            let at = format!("{host}.test");
            [
                (format!("pg-{host}"), json!({"kind": "postgres", "host": at, "user": "u", "password": "p"})),
                (format!("my-{host}"), json!({"kind": "mysql", "host": at, "user": "u", "password": "p"})),
                (format!("mail-{host}"), json!({"host": at, "port": 80, "tls": "none"})),
                (format!("chat-{host}"), json!({"apiKey": "k", "baseUrl": format!("http://{at}/v1")})),
                (
                    format!("oauth-{host}"),
                    json!({"auth": "oauth2", "tokenUrl": format!("http://{at}/token"), "clientId": "a", "clientSecret": "b"}),
                ),
            ]
        })
        .collect();
    place.file("connections.json", Value::from(connections).to_string());
    let mut patterns = Vec::new();
    for host in hosts {
        patterns.push(get(&format!("http://{host}.test/")));
        for database in ["pg", "my"] {
            let parameters = json!({"connection": format!("{database}-{host}"), "query": "select 1"});
            patterns.push(one("SqlQuery", parameters));
        }
        let mail = json!({"connection": format!("mail-{host}"), "from": "a@x.test", "to": "b@x.test", "subject": "s", "text": "t"});
        patterns.push(one("SendEmail", mail));
        let chat = json!({"connection": format!("chat-{host}"), "model": "m", "messages": [{"role": "user", "content": "hi"}]});
        patterns.push(one("ChatCompletion", chat));
        let oauth = json!({"url": "http://outside.test/", "connection": format!("oauth-{host}")});
        patterns.push(one("HttpRequest", oauth));
        let code = format!("export default async () => (await fetch('http://{host}.test/')).status");
        patterns.push(one("JavaScript", json!({ "code": code })));
    }
    for path in ["to-metadata", "to-name", "to-decimal"] {
        patterns.push(get(&format!("http://outside.test/{path}")));
    }
    let Some((runs, inside, outside)) = in_namespace(&place, &patterns) else {
        return;
    };
    for (run, pattern) in runs.iter().zip(&patterns) {
        assert_eq!(run["error"]["code"], "EGRESS_DENIED", "{run} of {pattern}");
    }
    assert_eq!(inside, json!([]));
    assert_eq!(outside, json!(["/to-metadata", "/to-name", "/to-decimal"]));
}

/// The name is resolved once for each request, and that address is connected to: one that is looked up first outside,
/// then inside leads outside, and is refused the next time.
#[test]
fn a_name_that_changes_between_check_and_connection_changes_nothing() {
    let place = Place::new();
    place.file("connections.json", "{}");
    let url = json!({"parameters": {"url": "http://rebind.test/", "bodyOnly": true}});
    let twice = graph(
        &[
            ("start", "OnManual", json!({})),
            ("first", "HttpRequest", url.clone()),
            ("second", "HttpRequest", url),
        ],
        &["start -> first", "first -> second"],
    );
    let Some((runs, inside, outside)) = in_namespace(&place, &[twice]) else {
        return;
    };
    assert_eq!(
        (&runs[0]["error"]["code"], &runs[0]["error"]["nodeId"]),
        (&json!("EGRESS_DENIED"), &json!("second")),
        "{runs:?}"
    );
    assert_eq!((inside, outside), (json!([]), json!(["/"])));
}
