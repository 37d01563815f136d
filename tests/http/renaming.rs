//! Another label for a node, and the places that change with it.

use crate::harness::{Reply, Service, User, each_database};
use serde_json::{Value, json};

fn node(id: &str, label: &str, parameters: Value) -> Value {
    json!({"id": id, "type": "Transform", "data": {"label": label, "parameters": parameters}})
}

async fn rename(service: &Service, user: &User, graph: &Value, more: Value) -> Reply {
    let mut body = json!({"graphData": graph, "nodeDefinitions": {}});
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    service
        .post("/api/execute/rename")
        .bearer(&user.token)
        .json(&body)
        .send()
        .await
}

/// A parameter's text once the edits of it are made.
fn edited(reply: &Reply, node: &str, parameter: &str, text: &str) -> String {
    assert_eq!(reply.status, 200, "{reply}");
    let mut units: Vec<u16> = text.encode_utf16().collect();
    for edit in reply.body["edits"].as_array().unwrap().iter().rev() {
        if edit["nodeId"] == node && edit["parameter"] == parameter {
            let at = |name: &str| edit["span"][name].as_u64().unwrap() as usize;
            units.splice(
                at("start")..at("end"),
                edit["text"].as_str().unwrap().encode_utf16(),
            );
        }
    }
    String::from_utf16(&units).unwrap()
}

each_database! {
    async fn each_place_that_names_a_node_follows_its_label(service: Service) {
        let ann = service.user("ann").await;
        let cases = [
            (r#"{{ $("Order").total }}"#, r#"{{ $("Ann's \"order\"").total }}"#),
            ("🦀ü {{ $('Order').total }} and {{ $(`Order`).id }}", "🦀ü {{ $('Ann\\'s \"order\"').total }} and {{ $(`Ann's \"order\"`).id }}"),
            ("{{ $node.Order.json.id }}", r#"{{ $node["Ann's \"order\""].json.id }}"#),
            ("{{ /Order/.test($items('Order')[0].name) }}", "{{ /Order/.test($items('Ann\\'s \"order\"')[0].name) }}"),
            ("{{ `$(\"Order\") ${$('Order').id} ${`${$(\"Order\").id}`}` }}", "{{ `$(\"Order\") ${$('Ann\\'s \"order\"').id} ${`${$(\"Ann's \\\"order\\\"\").id}`}` }}"),
            (r#"{{ $(/* "Order" */ "Order").x + "\"$('Order')\"" }}"#, r#"{{ $(/* "Order" */ "Ann's \"order\"").x + "\"$('Order')\"" }}"#),
            (r#"{{ $("\u004frder").x + $node?.Order.json.x }}"#, r#"{{ $("Ann's \"order\"").x + $node?.["Ann's \"order\""].json.x }}"#),
            // None of these names it.
            (r#"$("Order") {{ '$("Order")' + /* $("Order") */ $nodes.order.id }}"#, r#"$("Order") {{ '$("Order")' + /* $("Order") */ $nodes.order.id }}"#),
            (r#"{{ $("Other").x }}"#, r#"{{ $("Other").x }}"#),
            (r#"{{ $("Order" }}"#, r#"{{ $("Order" }}"#),
        ];
        for (before, after) in cases {
            let graph = json!({"nodes": [
                node("order", "Order", json!({})), node("other", "Other", json!({})),
                node("last", "Last", json!({"value": {"list": [1, before]}})),
            ], "edges": []});
            let reply = rename(&service, &ann, &graph, json!({"nodeId": "order", "label": "Ann's \"order\""})).await;
            assert_eq!(edited(&reply, "last", "value.list[1]", before), after, "{reply}");
        }
    }

    async fn without_a_label_a_node_is_named_by_its_id(service: Service) {
        let ann = service.user("ann").await;
        let text = r#"{{ $("Order").total }}"#;
        let graph = json!({"nodes": [node("order", "Order", json!({})), node("last", "Last", json!({"value": text}))], "edges": []});
        let reply = rename(&service, &ann, &graph, json!({"nodeId": "order", "label": ""})).await;
        assert_eq!(edited(&reply, "last", "value", text), r#"{{ $("order").total }}"#);
        assert_eq!(reply.body["edits"][0]["span"], json!({"start": 5, "end": 12}));
    }

    async fn a_label_is_not_removed_where_the_id_means_another_node(service: Service) {
        let ann = service.user("ann").await;
        // By its id, expressions would mean the second node, which is called so.
        let graph = json!({"nodes": [node("order", "Order", json!({})), node("other", "order", json!({}))], "edges": []});
        let reply = rename(&service, &ann, &graph, json!({"nodeId": "order", "label": ""})).await;
        reply.assert_refused(400, "VALIDATION");
        let message = reply.body["error"]["details"][0]["message"].as_str().unwrap();
        assert!(message.contains("can't be removed") && message.contains("`other`"), "{reply}");
    }

    async fn a_node_of_a_composite_is_renamed_within_it(service: Service) {
        let ann = service.user("ann").await;
        let text = r#"{{ $("Order").total }}"#;
        let inner = json!({"nodes": [node("order", "Order", json!({})), node("last", "", json!({"value": text}))], "edges": []});
        let outer = json!({"nodes": [node("last", "Order", json!({"value": text}))], "edges": []});
        let definitions = json!({"Checkout": {"kind": "graph", "graphData": inner}});
        let more = json!({"nodeDefinitions": definitions, "definition": "Checkout", "nodeId": "order", "label": "O"});
        let reply = rename(&service, &ann, &outer, more.clone()).await;
        assert_eq!(edited(&reply, "last", "value", text), r#"{{ $("O").total }}"#);
        assert_eq!(reply.body["edits"].as_array().unwrap().len(), 1, "{reply}");
        let mut more = more;
        more["definition"] = json!("Nothing");
        assert_eq!(rename(&service, &ann, &outer, more).await.wrong_fields(), ["nodeId"]);
    }

    async fn what_would_make_expressions_mean_another_node_is_refused(service: Service) {
        let ann = service.user("ann").await;
        let text = r#"{{ $("Order").total }}"#;
        let graph = json!({"nodes": [
            node("order", "Order", json!({})), node("other", "Other", json!({})), node("last", "Last", json!({"value": text})),
        ], "edges": []});
        for (more, field) in [
            (json!({"nodeId": "order", "label": "Other"}), "label"),
            (json!({"nodeId": "order", "label": "other"}), "label"),
            (json!({"nodeId": "nobody", "label": "x"}), "nodeId"),
            (json!({"nodeId": "order", "label": "x".repeat(1_001)}), "label"),
            (json!({"nodeId": "order"}), "label"),
        ] {
            assert_eq!(rename(&service, &ann, &graph, more).await.wrong_fields(), [field]);
        }
        let same = rename(&service, &ann, &graph, json!({"nodeId": "order", "label": "Order"})).await;
        assert_eq!((same.status, &same.body), (200, &json!({"edits": []})));
        // With two nodes of the label nobody knows which of them is meant.
        let mut twice = graph;
        twice["nodes"][1]["data"]["label"] = json!("Order");
        let reply = rename(&service, &ann, &twice, json!({"nodeId": "order", "label": "x"})).await;
        assert_eq!((reply.status, &reply.body), (200, &json!({"edits": []})));
    }
}
