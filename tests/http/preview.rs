//! Values of expressions while they are being written.

use crate::harness::{Reply, Service, User, each_database};
use heddle_model::access::WorkspaceRole;
use serde_json::{Value, json};

/// A webhook, two nodes after it, and a node that takes both.
fn graph() -> Value {
    json!({"nodes": [
        {"id": "hook", "type": "OnWebhook", "data": {"label": "Order"}},
        {"id": "price", "type": "HttpRequest", "data": {"label": "Price", "parameters": {"url": "http://127.0.0.1:9/"}}},
        {"id": "stock", "type": "HttpRequest", "data": {"label": "Stock"}},
        {"id": "both", "type": "Merge", "data": {}},
        {"id": "after", "type": "NoOp", "data": {"label": "After"}},
    ], "edges": [
        {"source": "hook", "target": "price"}, {"source": "hook", "target": "stock"},
        {"source": "price", "target": "both", "targetHandle": "a"}, {"source": "stock", "target": "both", "targetHandle": "b"},
        {"source": "both", "target": "after"},
    ]})
}

fn outputs() -> Value {
    json!({"hook": {"body": {"id": 7, "name": "Zoë"}}, "price": {"$pin": true, "net": 20}, "stock": [1, 2, 3]})
}

async fn preview(service: &Service, user: &User, node: &str, expressions: Value, more: Value) -> Reply {
    let mut body =
        json!({"graphData": graph(), "nodeId": node, "expressions": expressions, "outputs": outputs()});
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    service
        .post("/api/execute/preview")
        .bearer(&user.token)
        .json(&body)
        .send()
        .await
}

/// The values, by path; errors by their code.
fn values(reply: &Reply) -> Value {
    assert_eq!(reply.status, 200, "{reply}");
    let previews = reply.body["previews"].as_array().unwrap().iter();
    let told = previews.map(|it| {
        let value = it
            .get("value")
            .cloned()
            .unwrap_or_else(|| it["error"]["code"].clone());
        (it["path"].as_str().unwrap().to_owned(), value)
    });
    told.collect::<serde_json::Map<_, _>>().into()
}

each_database! {
    async fn expressions_see_what_is_known_before_the_node(service: Service) {
        let ann = service.user("ann").await;
        let expressions = json!({
            "event": "{{ $trigger.body.id }}", "label": "{{ $(\"Order\").body.name.toUpperCase() }}",
            "id": "{{ $nodes[\"price\"].net * 2 }}", "input": "{{ $input.b.length }} of {{ $input.a.net }}",
            "engine": "{{ /o/.test($(\"Order\").body.name) }}", "plain": "no expression", "null": "{{ $input.a.nothing }}",
        });
        let told = preview(&service, &ann, "both", expressions, json!({})).await;
        assert_eq!(values(&told), json!({
            "event": 7, "label": "ZOË", "id": 40, "input": "3 of 20", "engine": true, "plain": "no expression", "null": null,
        }), "{told}");
        let evaluations: Vec<&Value> = told.body["previews"].as_array().unwrap().iter().map(|it| &it["evaluation"]).collect();
        assert_eq!(evaluations, [&json!("compiled"), &json!("compiled"), &json!("compiled"), &json!("compiled"), &json!("engine"), &Value::Null, &json!("compiled")]);
        let one = preview(&service, &ann, "price", json!({"url": "{{ $input.body.id }}"}), json!({"eventData": {"body": {"id": 8}}})).await;
        assert_eq!(values(&one), json!({"url": 7}), "the input is the output that is known");
        let given = preview(&service, &ann, "price", json!({"url": "{{ $input }} {{ $trigger }}"}), json!({"input": 1, "eventData": 2})).await;
        assert_eq!(values(&given), json!({"url": "1 2"}), "{given}");
        let item = preview(&service, &ann, "after", json!({"x": "{{ $item.n + $index + $(\"Order\").body.id }}"}), json!({"item": {"n": 1}})).await;
        assert_eq!(values(&item), json!({"x": 8}), "{item}");
    }

    async fn what_has_not_run_is_undefined_and_what_is_not_before_is_an_error(service: Service) {
        let ann = service.user("ann").await;
        let expressions = json!({
            "missing": "{{ $(\"Price\")?.net ?? 'none' }}", "deep": "{{ $(\"Price\").net }}", "after": "{{ $(\"After\").x }}",
        });
        let told = preview(&service, &ann, "both", expressions, json!({"outputs": {"hook": {}}})).await;
        assert_eq!(values(&told), json!({"missing": "none", "deep": "EXPRESSION", "after": "unknown-node"}), "{told}");
    }

    async fn one_that_fails_keeps_no_other_from_its_value(service: Service) {
        let ann = service.user("ann").await;
        let expressions = json!({
            "first": "{{ $input.a.net }}", "syntax": "é {{ $inptu }}", "throws": "{{ $input.a.missing.deep }}", "last": "{{ 1 + 1 }}",
        });
        let told = preview(&service, &ann, "both", expressions, json!({})).await;
        assert_eq!(values(&told), json!({"first": 20, "syntax": "unknown-name", "throws": "EXPRESSION", "last": 2}), "{told}");
        let errors: Vec<&Value> = told.body["previews"].as_array().unwrap().iter().map(|it| &it["error"]).collect();
        assert_eq!(errors[1]["span"], json!({"start": 5, "end": 11}));
        assert!(errors[1]["help"].as_str().unwrap().contains("$input"));
        assert!(errors[2]["message"].as_str().unwrap().contains("(parameter `throws`"), "{told}");
        let endless = json!({
            "first": "{{ 1 }}", "endless": "{{ (() => { for (;;) {} })() }}",
        });
        let told = preview(&service, &ann, "both", endless, json!({})).await;
        let values = values(&told);
        assert_eq!(values["first"], 1, "{told}");
        assert!(["OUT_OF_FUEL", "TIMEOUT"].contains(&values["endless"].as_str().unwrap()), "{told}");
        let large = preview(&service, &ann, "both", json!({"x": "{{ 'x'.repeat(100000) }}"}), json!({})).await;
        assert_eq!((&large.body["previews"][0]["value"]["truncated"], &large.body["previews"][0]["value"]["bytes"]), (&json!(true), &json!(100_002)));
    }

    async fn secrets_stay_references(service: Service) {
        let ann = service.user("ann").await;
        let told = preview(&service, &ann, "both", json!({"x": "{{ $secrets.TOKEN }}"}), json!({})).await;
        assert!(!told.text.contains("nonce"), "{told}");
        let environments = format!("/api/workspaces/{}/environments", service.workspace_of(&ann).await);
        let listed = service.get(&environments).bearer(&ann.token).send().await;
        let production = listed.data(200)[0]["id"].as_str().unwrap().to_owned();
        let secret = service.put(&format!("{environments}/{production}/secrets/TOKEN")).bearer(&ann.token);
        assert_eq!(secret.json(&json!({"value": "hush-hush-hush"})).send().await.status, 200);
        let told = preview(&service, &ann, "both", json!({"x": "{{ $secrets.TOKEN }} {{ $vars.REGION }}"}), json!({})).await;
        assert_eq!(told.status, 200, "{told}");
        assert!(!told.text.contains("hush-hush"), "{told}");
    }

    async fn a_graph_may_be_unfinished(service: Service) {
        let ann = service.user("ann").await;
        let mut drawn = graph();
        drawn["settings"] = json!({"timeoutMs": 0, "retry": "often"});
        drawn["nodes"][4] = json!({"id": "after", "data": {"parameters": [], "onError": 1}});
        let told = preview(&service, &ann, "after", json!({"x": "{{ $(\"Order\").body.id }}"}), json!({"graphData": drawn})).await;
        assert_eq!(values(&told), json!({"x": 7}), "{told}");
        // So its description has those fields only that count.
        let document = service.document().await;
        let schemas = &document["components"]["schemas"];
        let of_request = &schemas["PreviewBody"]["properties"]["graphData"]["$ref"];
        assert_eq!(of_request, "#/components/schemas/PreviewGraph");
        let described: Vec<&String> = schemas["PreviewGraph"]["properties"].as_object().unwrap().keys().collect();
        assert_eq!(described, ["edges", "nodes"]);
    }

    async fn a_definition_that_is_called_like_a_trigger_is_none(service: Service) {
        let ann = service.user("ann").await;
        let drawn = json!({"nodes": [
            {"id": "team", "type": "OnboardTeam", "data": {"label": "Team"}},
            {"id": "hook", "type": "OnWebhook", "data": {"label": "Order"}},
            {"id": "after", "type": "NoOp"},
        ], "edges": [{"source": "hook", "target": "team"}, {"source": "team", "target": "after"}]});
        let outputs = json!({"team": {"size": 3}, "hook": {"body": 7}});
        let expressions = json!({"event": "{{ $trigger.body }}", "label": "{{ $(\"Team\").size }}", "input": "{{ $input.size }}"});
        let told = preview(&service, &ann, "after", expressions, json!({"graphData": drawn, "outputs": outputs})).await;
        assert_eq!(values(&told), json!({"event": 7, "label": 3, "input": 3}), "{told}");
    }

    async fn what_can_not_be_previewed_is_told_by_field(service: Service) {
        let ann = service.user("ann").await;
        let viewer = service.member(&ann, "vic", WorkspaceRole::Viewer).await;
        let many: Value = (0..51).map(|number| (format!("p{number}"), json!("x"))).collect::<serde_json::Map<_, _>>().into();
        for (node, expressions, more, field) in [
            ("ghost", json!({}), json!({}), "nodeId"),
            ("both", many, json!({}), "expressions"),
            ("both", json!({"x": 1}), json!({}), "expressions.x"),
            ("both", json!({}), json!({"graphData": []}), "graphData"),
            ("both", json!({}), json!({"graphData": {"nodes": 1}}), "graphData"),
            ("both", json!({}), json!({"graphData": {"nodes": [["both", "Merge"]]}}), "graphData"),
            ("both", json!({}), json!({"graphData": {"nodes": [{"id": "both", "data": []}]}}), "graphData"),
            ("both", json!({}), json!({"graphData": {"nodes": [{"id": "both"}], "edges": [["a", "both"]]}}), "graphData"),
            ("both", json!({}), json!({"environmentId": "x"}), "environmentId"),
        ] {
            let refused = preview(&service, &ann, node, expressions, more).await;
            assert_eq!(refused.wrong_fields(), [field], "{refused}");
        }
        assert_eq!(values(&preview(&service, &ann, "both", json!({}), json!({})).await), json!({}));
        preview(&service, &viewer, "both", json!({}), json!({})).await.assert_refused(403, "FORBIDDEN");
    }
}
