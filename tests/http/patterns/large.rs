//! Large graphs, and what many of them at once may take.

use super::{edge, get, node, pattern, save};
use crate::harness::{Service, User, each_database};
use heddle_model::ids::UserId;
use serde_json::{Value, json};

/// A graph of so many bytes at least.
fn large(bytes: usize, name: &str) -> Value {
    let text = "x".repeat(10_000);
    let nodes = (0..bytes / text.len() + 1).map(|index| {
        json!({"id": format!("{name}{index}"), "type": "NoOp", "data": {"parameters": {"text": text}}})
    });
    json!({"nodes": nodes.collect::<Vec<_>>(), "edges": []})
}

fn owner(user: &User) -> Option<UserId> {
    Some(user.id.parse().unwrap())
}

/// A list of so many numbers, as JSON.
fn ones(count: usize) -> String {
    format!("[{}1]", "1,".repeat(count - 1))
}

async fn post(service: &Service, user: &User, path: &str, body: String) -> crate::harness::Reply {
    let request = service.post(path).bearer(&user.token);
    let request = request.header("content-type", "application/json").body(body);
    request.send().await
}

/// An import of a workflow with this parameter, of which nothing is made.
fn n8n(parameter: &str) -> String {
    let node =
        format!(r#"{{"name":"a","type":"n8n-nodes-base.someService","parameters":{{"x":{parameter}}}}}"#);
    format!(r#"{{"dryRun":true,"workflows":[{{"name":"W","nodes":[{node}],"connections":{{}}}}]}}"#)
}

async fn transpile(service: &Service, user: &User, body: &Value) -> crate::harness::Reply {
    let request = service.post("/api/execute/transpile").bearer(&user.token);
    request.json(body).send().await
}

each_database! {
    async fn a_graph_of_megabytes_is_saved_read_compared_and_restored(service: Service) {
        let ann = service.user("ann").await;
        let id = pattern(&service, &ann, json!({"name": "x"})).await;
        let first = large(3 << 20, "a");
        let mut second = first.clone();
        second["nodes"][7]["data"]["parameters"]["text"] = json!("y");
        second["nodes"].as_array_mut().unwrap().push(node("new"));
        second["edges"].as_array_mut().unwrap().push(edge("a1", "new"));
        assert_eq!(save(&service, &ann, &id, json!({"graphData": first})).await, 2);
        assert_eq!(save(&service, &ann, &id, json!({"graphData": second})).await, 3);
        assert_eq!(save(&service, &ann, &id, json!({"name": "y"})).await, 4);
        let read = get(&service, &ann, &format!("/api/patterns/{id}")).await;
        assert_eq!((read.status, &read.body["graphData"]), (200, &second));
        let compared = get(&service, &ann, &format!("/api/patterns/{id}/versions/compare?v1=2&v2=4")).await;
        assert_eq!(compared.body["changes"], json!({
            "nodesAdded": 1, "nodesRemoved": 0, "nodesChanged": 1, "edgesAdded": 1, "edgesRemoved": 0,
        }), "{compared}");
        assert_eq!(compared.body["details"][0]["fields"], json!(["data.parameters.text"]));
        let listed = get(&service, &ann, &format!("/api/patterns/{id}/versions")).await;
        let summaries: Vec<&str> = listed.body.as_array().unwrap().iter()
            .filter_map(|version| version["summary"].as_str()).collect();
        assert_eq!(summaries[..2], ["renamed to y", "1 node added, 1 node changed, 1 edge added"]);
        let back = service.post(&format!("/api/patterns/{id}/rollback")).bearer(&ann.token)
            .json(&json!({"versionNumber": 2})).send().await;
        assert_eq!(back.status, 200, "{back}");
        let exported = get(&service, &ann, &format!("/api/patterns/{id}/export")).await;
        assert_eq!((exported.status, &exported.body["graphData"]), (200, &first));
    }

    async fn many_saves_at_once_each_get_their_version_and_say_what_they_changed(service: Service) {
        let ann = service.user("ann").await;
        let id = pattern(&service, &ann, json!({"name": "x"})).await;
        let saves = (0..12).map(|index| {
            let graph = large(200_000, &format!("n{index}-"));
            save(&service, &ann, &id, json!({"graphData": graph, "summary": format!("by {index}")}))
        });
        let mut versions = futures_util::future::join_all(saves).await;
        versions.sort_unstable();
        assert_eq!(versions, (2..14).collect::<Vec<i64>>());
    }

    async fn endpoints_follow_the_graph_whoever_saves(service: Service) {
        let ann = service.user("ann").await;
        let id = pattern(&service, &ann, json!({"name": "x"})).await;
        let hook = |id: &str, alias: &str| json!({"id": id, "type": "OnWebhook", "data": {"parameters": {"alias": alias}}});
        let aliases = async |service: &Service| -> Vec<String> {
            let list = get(service, &ann, &format!("/api/patterns/{id}/webhooks")).await;
            let all = list.body["data"]["endpoints"].as_array().unwrap();
            let mut names: Vec<String> =
                all.iter().map(|it| it["webhookAlias"].as_str().unwrap().to_owned()).collect();
            names.sort();
            names
        };
        save(&service, &ann, &id, json!({"graphData": {"nodes": [hook("a", "one"), hook("b", "two")], "edges": []}})).await;
        assert_eq!(aliases(&service).await, ["one", "two"]);
        save(&service, &ann, &id, json!({"graphData": {"nodes": [hook("a", "first")], "edges": []}})).await;
        assert_eq!(aliases(&service).await, ["first"]);
        let back = service.post(&format!("/api/patterns/{id}/rollback")).bearer(&ann.token)
            .json(&json!({"versionNumber": 2})).send().await;
        assert_eq!(back.status, 200, "{back}");
        assert_eq!(aliases(&service).await, ["one", "two"]);
    }

    async fn too_many_large_requests_of_one_are_refused_by_name_and_others_are_not(service: Service) {
        let (ann, bob) = (service.user("ann").await, service.user("bob").await);
        let half = service.app.config.large_request_bytes_max;
        let taken = service.app.budget.take(owner(&ann), half).await.unwrap();
        // As many as may wait.
        let waiting: Vec<_> = (0..32).map(|_| {
            let (budget, owner) = (service.app.budget.clone(), owner(&ann));
            tokio::spawn(async move { budget.take(owner, 1).await.is_ok() })
        }).collect();
        while !service.app.budget.is_full_for(owner(&ann)) {
            tokio::task::yield_now().await;
        }
        let body = json!({"graphData": large(100_000, "a"), "nodeDefinitions": {}});
        let refused = transpile(&service, &ann, &body).await;
        refused.assert_refused(503, "UNAVAILABLE");
        let message = refused.body["error"]["message"].as_str().unwrap();
        assert!(message.contains("`large_request_memory`"), "{message}");
        assert!(refused.headers.contains_key("retry-after"));
        let small = transpile(&service, &ann, &json!({"graphData": {}, "nodeDefinitions": {}})).await;
        assert_eq!(small.status, 422, "{small}");
        let other = transpile(&service, &bob, &body).await;
        assert_eq!(other.status, 422, "{other}");
        drop(taken);
        for waiting in waiting {
            assert!(waiting.await.unwrap());
        }
    }

    async fn what_is_wrong_with_a_graph_is_told_in_bounded_space(service: Service) {
        let ann = service.user("ann").await;
        let names = format!("{{{{ {} 1 }}}}", "$inptu + ".repeat(700));
        let transform = |index: usize| json!({"id": format!("n{index}"), "type": "Transform", "data": {"parameters": {"value": names}}});
        let nodes: Vec<Value> = (0..50).map(transform).collect();
        let body = json!({"graphData": {"nodes": nodes, "edges": []}, "nodeDefinitions": {}});
        let told = transpile(&service, &ann, &body).await;
        assert_eq!(told.status, 422);
        assert!(told.text.len() < 100_000, "{} bytes", told.text.len());
        let errors = told.body["errors"].as_array().unwrap();
        assert_eq!(errors.len(), 101);
        let more = errors.last().unwrap();
        assert_eq!(more["nodeId"], Value::Null);
        assert!(more["message"].as_str().unwrap().starts_with("and "), "{more}");
        let body = json!({"graphData": {"nodes": vec![0; 300_000], "edges": []}, "nodeDefinitions": {}});
        let told = transpile(&service, &ann, &body).await;
        assert_eq!((told.status, told.body["errors"].as_array().unwrap().len()), (422, 1), "{told}");
    }

    async fn drafts_have_bounds_and_comparing_tells_only_so_much(service: Service) {
        let ann = service.user("ann").await;
        let id = pattern(&service, &ann, json!({"name": "x"})).await;
        let path = format!("/api/patterns/{id}");
        for (nodes, edges) in [(10_001, 0), (0, 50_001)] {
            let body = json!({"graphData": {"nodes": vec![0; nodes], "edges": vec![0; edges]}});
            let refused = service.put(&path).bearer(&ann.token).json(&body).send().await;
            assert_eq!(refused.wrong_fields(), ["graphData"]);
        }
        let deep = format!("{{\"graphData\": {{\"nodes\": {}{}}}}}", "[".repeat(200), "]".repeat(200));
        let refused = service.put(&path).bearer(&ann.token).header("content-type", "application/json").body(deep).send().await;
        assert_eq!(refused.wrong_fields(), ["graphData"]);
        let nodes: Vec<Value> = (0..2_000).map(|index| node(&format!("n{index}"))).collect();
        save(&service, &ann, &id, json!({"graphData": {"nodes": nodes, "edges": []}})).await;
        let compared = get(&service, &ann, &format!("{path}/versions/compare?v1=1&v2=2")).await;
        assert_eq!(compared.body["changes"]["nodesAdded"], 2_000);
        assert_eq!(compared.body["details"].as_array().unwrap().len(), 1_000);
    }

    async fn imports_and_previews_of_too_many_values_are_refused_before_any_is_made(service: Service) {
        let ann = service.user("ann").await;
        let (many, very_many) = (ones(500_001), ones(1_000_001));
        // Texts that are JSON count as what they hold.
        let escaped = format!("\"[{}1]\"", "1\\u002c".repeat(500_000));
        let yaml = format!(
            "a: &a [{}x]\nb: [*a, *a, *a]\n",
            "abcdefghijkl,".repeat(260_000)
        );
        let node_red = format!(r#"{{"dryRun":true,"flows":[{{"id":"1","type":"x","wires":[],"y":{many}}}]}}"#);
        let graph = r#""graphData":{"nodes":[{"id":"a","type":"NoOp","data":{}}],"edges":[]},"nodeId":"a""#;
        let preview = |more: &str| format!(r#"{{{graph},"expressions":{{"x":"{{{{ $input }}}}"}},{more}}}"#);
        let openapi = "/api/patterns/import/openapi";
        for (path, body, field) in [
            ("/api/patterns/import/n8n", n8n(&many), "workflows"),
            ("/api/patterns/import/n8n", n8n(&escaped), "workflows"),
            ("/api/patterns/import/node-red", node_red, "flows"),
            (openapi, format!(r#"{{"document":{{"openapi":"3.1.0","x":{very_many}}}}}"#), "document"),
            (openapi, json!({"text": format!(r#"{{"openapi":"3.1.0","x":{very_many}}}"#)}).to_string(), "text"),
            (openapi, json!({"text": yaml}).to_string(), "text"),
            ("/api/execute/preview", preview(&format!(r#""input":{many}"#)), "input"),
            ("/api/execute/preview", preview(&format!(r#""outputs":{{"b":{many}}}"#)), "outputs"),
            ("/api/execute/preview", preview(&format!(r#""item":{many}"#)), "item"),
        ] {
            let refused = post(&service, &ann, path, body).await;
            assert_eq!(refused.wrong_fields(), [field], "{path}: {refused}");
            assert!(refused.text.contains("values, which is the limit"), "{path}: {refused}");
        }
        let within = post(&service, &ann, "/api/patterns/import/n8n", n8n(&ones(50_000))).await;
        assert_eq!(within.status, 200, "{within}");
    }

    async fn texts_that_a_reader_of_json_could_take_for_json_take_no_stack(service: Service) {
        let ann = service.user("ann").await;
        // Each is JSON with ninety levels and the next one, which becomes longer by its escapes, but not twice as long.
        let escaped = |json: &str| json.replace('\\', "\\u005c").replace('"', "\\u0022");
        let (open, close) = ("[".repeat(90), "]".repeat(90));
        let deep = (0..150).fold("1".to_owned(), |inner, _| {
            let text = escaped(&inner);
            format!(r#"{open}{{"$serde_json::private::RawValue":"{text}"}}{close}"#)
        });
        let imported = post(&service, &ann, "/api/patterns/import/n8n", n8n(&deep)).await;
        assert!(imported.status < 500, "{imported}");
    }

    async fn an_import_waits_for_the_same_user_s_and_keeps_nobody_else_waiting(service: Service) {
        let (ann, bob) = (service.user("ann").await, service.user("bob").await);
        let (begin, begun) = tokio::sync::oneshot::channel();
        let (end, ended) = tokio::sync::oneshot::channel::<()>();
        let (budget, of_ann) = (service.app.budget.clone(), owner(&ann));
        let under_way = tokio::spawn(async move {
            let work = async move {
                begin.send(()).unwrap();
                ended.await.is_ok()
            };
            budget.hold(of_ann, (1 << 20, 1 << 20), work).await.unwrap()
        });
        begun.await.unwrap();
        let import = n8n(&ones(40_000));
        let mut waiting = Box::pin(post(&service, &ann, "/api/patterns/import/n8n", import.clone()));
        let others = async {
            let id = pattern(&service, &bob, json!({"name": "x"})).await;
            assert_eq!(save(&service, &bob, &id, json!({"graphData": large(100_000, "a")})).await, 2);
            post(&service, &bob, "/api/patterns/import/n8n", import).await
        };
        let other = tokio::select! {
            biased;
            told = &mut waiting => panic!("it did not wait: {told}"),
            other = others => other,
        };
        assert_eq!(other.status, 200, "{other}");
        end.send(()).unwrap();
        assert!(under_way.await.unwrap());
        let done = waiting.await;
        assert_eq!(done.status, 200, "{done}");
    }
}
