//! Those examples of the catalogue that need deployed patterns. The others are executed by `tests/cli/catalogue.rs`.

use super::waits::{HOUR, parked};
use crate::example::fits;
use crate::harness::{Service, User, chain, each_database};
use heddle_catalogue::{Example, node_types};
use serde_json::{Value, json};

/// The node `it` between OnManual and a Return for each port, which says by which one the value has left.
fn around(node_type: &str, parameters: Value, ports: &[&str]) -> Value {
    let mut graph = chain(&[
        ("start", "OnManual", json!({})),
        (
            "tell",
            "Log",
            json!({"message": "{{ $run.callbackUrl ?? 'none' }}"}),
        ),
        ("it", node_type, parameters),
    ]);
    for port in ports {
        let value = json!({"value": {*port: "{{ $input }}"}});
        let end = json!({"id": port, "type": "Return", "data": {"parameters": value}});
        graph["nodes"].as_array_mut().unwrap().push(end);
        let edge = json!({"source": "it", "sourceHandle": port, "target": port});
        graph["edges"].as_array_mut().unwrap().push(edge);
    }
    graph
}

fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Calls a pattern that adds the tax.
async fn call_pattern(service: &Service, user: &User, example: &Example) -> Value {
    let gross = json!({"value": {"gross": "{{ $input.net * 119 / 100 }}"}});
    let callee = chain(&[("called", "OnCall", json!({})), ("end", "Return", gross)]);
    let callee = service.drawn(user, &callee).await;
    service.deploy(user, &callee).await;
    let mut parameters = read(example.parameters);
    parameters["patternId"] = json!(callee);
    let id = service
        .deployed(user, &around("CallPattern", parameters, &["out"]))
        .await;
    let run = service.ran(user, &id, &read(example.input)).await;
    let ended = service.ended(user, &id, &run).await;
    assert_eq!(ended["status"], "success", "{ended}");
    ended["output"].clone()
}

/// Calls back with the request that the example has, or lets the time pass.
async fn wait_for_callback(service: &Service, user: &User, example: &Example) -> Value {
    let graph = around("WaitForCallback", read(example.parameters), &["out", "timeout"]);
    let id = service.deployed(user, &graph).await;
    let run = service.started(user, &id, &read(example.input)).await;
    let waiting = parked(service, user, &id, &run).await;
    let request = &read(example.output)["out"];
    if request.is_null() {
        service.app.clock.advance(2 * HOUR);
        return service.ended(user, &id, &run).await["output"].clone();
    }
    let url = waiting["logOutput"][0]["message"].as_str().unwrap();
    let (_, path) = url.split_once("://").unwrap().1.split_once('/').unwrap();
    let query: Vec<String> = request["query"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap()))
        .collect();
    let path = format!("/{path}?{}", query.join("&"));
    let parameters = read(example.parameters);
    let page = parameters.get("respondPage");
    let call = service
        .post(&path)
        .header("accept", if page.is_some() { "text/html" } else { "*/*" });
    let answered = call.json(&request["body"]).send().await;
    let told = page.unwrap_or(&parameters["respondBody"]);
    assert_eq!(
        (answered.status, Some(answered.text.as_str())),
        (200, told.as_str())
    );
    let mut output = service.ended(user, &id, &run).await["output"].clone();
    // Of the headers an example has those that matter.
    let headers = output["out"]["headers"].as_object_mut().unwrap();
    headers.retain(|name, _| request["headers"].get(name).is_some());
    output
}

each_database! {
    async fn examples_with_deployed_patterns_are_true(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let needs_the_service = |kind: &&str| ["call", "callback"].contains(kind);
        for node_type in node_types().iter().filter(|node_type| node_type.effects.iter().any(needs_the_service)) {
            for example in node_type.examples {
                let given = match node_type.name {
                    "CallPattern" => call_pattern(&service, &ann, example).await,
                    "WaitForCallback" => wait_for_callback(&service, &ann, example).await,
                    other => panic!("nobody executes the examples of {other}"),
                };
                assert!(fits(&read(example.output), &given), "{} ({}): {given}", node_type.name, example.title);
            }
        }
    }
}
