//! Checking graphs for editors: every finding with its place, and how expressions are evaluated.

use crate::harness::{Reply, Service, User, chain, doubling, each_database};
use serde_json::{Value, json};

async fn validate(service: &Service, user: &User, graph: &Value, definitions: &Value) -> Reply {
    let body = json!({"graphData": graph, "nodeDefinitions": definitions});
    let request = service
        .post("/api/execute/validate")
        .bearer(&user.token)
        .json(&body);
    let reply = request.send().await;
    assert_eq!(reply.status, 200, "{reply}");
    reply
}

/// The piece of a text that a span means, as JavaScript would slice it.
fn sliced(text: &str, span: &Value) -> String {
    let units: Vec<u16> = text.encode_utf16().collect();
    let at = |name: &str| span[name].as_u64().unwrap() as usize;
    String::from_utf16(&units[at("start")..at("end")]).unwrap()
}

each_database! {
    async fn findings_have_their_place_in_utf_16(service: Service) {
        let ann = service.user("ann").await;
        // Before the mistake: two units, four bytes each; and one unit, two bytes.
        let text = "🦀ü {{ $input.total }} {{ $inptu.total }}";
        let graph = chain(&[("go", "OnManual", json!({})), ("note", "Log", json!({"message": text}))]);
        let found = validate(&service, &ann, &graph, &json!({})).await;
        let diagnostic = &found.body["diagnostics"][0];
        assert_eq!(found.body["diagnostics"].as_array().unwrap().len(), 1, "{found}");
        assert_eq!(
            (&diagnostic["severity"], &diagnostic["code"], &diagnostic["nodeId"], &diagnostic["parameter"]),
            (&json!("error"), &json!("unknown-name"), &json!("note"), &json!("message")),
            "{found}"
        );
        assert_eq!(sliced(text, &diagnostic["span"]), "$inptu", "{found}");
        assert_eq!(diagnostic["excerpt"], json!({"text": text, "offset": 0}));
        assert!(diagnostic["help"].as_str().unwrap().contains("$input"), "{found}");
        assert!(diagnostic["definition"].is_null(), "{found}");
        let long = format!("{}{text}", "ü".repeat(5_000));
        let graph = chain(&[("go", "OnManual", json!({})), ("note", "Log", json!({"message": long}))]);
        let found = validate(&service, &ann, &graph, &json!({})).await;
        let diagnostic = &found.body["diagnostics"][0];
        assert_eq!(sliced(&long, &diagnostic["span"]), "$inptu", "{found}");
        let offset = diagnostic["excerpt"]["offset"].as_u64().unwrap();
        let within = |name: &str| json!(diagnostic["span"][name].as_u64().unwrap() - offset);
        let within = json!({"start": within("start"), "end": within("end")});
        assert_eq!(sliced(diagnostic["excerpt"]["text"].as_str().unwrap(), &within), "$inptu", "{found}");
    }

    async fn expressions_say_how_they_are_evaluated(service: Service) {
        let ann = service.user("ann").await;
        let text = "é {{ $input.n * 2 }} and {{ /ü/.test($input.name) }}";
        let graph = chain(&[("go", "OnManual", json!({})), ("note", "Log", json!({"message": text}))]);
        let found = validate(&service, &ann, &graph, &json!({})).await;
        assert_eq!(found.body["diagnostics"], json!([]), "{found}");
        assert_eq!(found.body["expressionsOmitted"], 0);
        let [compiled, engine] = found.body["expressions"].as_array().unwrap().as_slice() else {
            panic!("{found}");
        };
        assert_eq!((&compiled["evaluation"], &compiled["reasons"]), (&json!("compiled"), &json!([])));
        assert_eq!((&compiled["nodeId"], &compiled["parameter"]), (&json!("note"), &json!("message")));
        assert_eq!(sliced(text, &compiled["span"]), "$input.n * 2");
        assert_eq!(engine["evaluation"], "engine");
        assert_eq!(sliced(text, &engine["span"]), "/ü/.test($input.name)");
        assert_eq!(sliced(text, &engine["reasons"][0]["span"]), "/ü/", "{found}");
    }

    async fn rights_are_told_if_asked_for(service: Service) {
        let ann = service.user("ann").await;
        let node = |id: &str, kind: &str, parameters: Value| json!({"id": id, "type": kind, "data": {"parameters": parameters}});
        let asking = |url: &str| json!({
            "nodes": [
                node("start", "OnManual", json!({})),
                node("ask", "HttpRequest", json!({"url": url, "headers": {"authorization": "{{ $secrets.KEY }}"}})),
            ],
            "edges": [{"source": "start", "target": "ask"}],
        });
        let told = async |graph: &Value, rights: bool| {
            let body = json!({"graphData": graph, "nodeDefinitions": {}, "rights": rights});
            let reply = service.post("/api/execute/validate").bearer(&ann.token).json(&body).send().await;
            assert_eq!(reply.status, 200, "{reply}");
            reply.body["rights"].clone()
        };
        let graph = asking("https://api.example.com/v1");
        let rights = told(&graph, true).await;
        assert_eq!((&rights["hosts"], &rights["secrets"]), (&json!(["api.example.com"]), &json!(["KEY"])), "{rights}");
        assert_eq!((&rights["effects"], &rights["javascript"]), (&json!(["http"]), &json!(false)), "{rights}");
        assert_eq!(told(&asking("{{ $input.url }}"), true).await["hosts"], json!(["*"]));
        assert_eq!(told(&graph, false).await, Value::Null);
        assert_eq!(told(&asking("{{ $inptu.url }}"), true).await, Value::Null, "with errors there are none");
    }

    async fn findings_in_definitions_name_them(service: Service) {
        let ann = service.user("ann").await;
        let inner = json!({"nodes": [
            {"id": "in", "type": "OnCall"},
            {"id": "out", "type": "Return", "data": {"parameters": {"value": "{{ $inptu }}"}}},
        ], "edges": [{"source": "in", "target": "out"}]});
        let definitions = json!({
            "Checkout": {"kind": "graph", "graphData": inner},
            "Score": {"kind": "javascript", "code": "export default () => {"},
        });
        let graph = chain(&[("go", "OnManual", json!({})), ("pay", "Checkout", json!({})), ("score", "Score", json!({}))]);
        let found = validate(&service, &ann, &graph, &definitions).await;
        let of = |name: &str| {
            let all = found.body["diagnostics"].as_array().unwrap();
            all.iter().find(|it| it["definition"] == name).unwrap_or_else(|| panic!("{name}: {found}")).clone()
        };
        let checkout = of("Checkout");
        assert_eq!((&checkout["nodeId"], &checkout["parameter"]), (&json!("out"), &json!("value")), "{found}");
        assert_eq!(sliced("{{ $inptu }}", &checkout["span"]), "$inptu");
        let score = of("Score");
        assert_eq!((&score["nodeId"], &score["parameter"], &score["code"]), (&Value::Null, &json!("code"), &json!("syntax")), "{found}");
    }

    async fn deploy_and_transpile_say_the_same_if_asked(service: Service) {
        let ann = service.user("ann").await;
        let graph = chain(&[("go", "OnManual", json!({})), ("note", "Log", json!({"message": "{{ $inptu }}"}))]);
        let found = validate(&service, &ann, &graph, &json!({})).await;
        let pattern = service.drawn(&ann, &graph).await;
        let deploy = format!("/api/patterns/{pattern}/deploy");
        for path in ["/api/execute/transpile", &deploy] {
            let body = json!({"graphData": graph, "nodeDefinitions": {}, "diagnostics": true});
            let refused = service.post(path).bearer(&ann.token).json(&body).send().await;
            assert_eq!(refused.status, 422, "{refused}");
            assert_eq!(refused.body["diagnostics"], found.body["diagnostics"], "{path}");
            let body = json!({"graphData": graph, "nodeDefinitions": {}});
            let refused = service.post(path).bearer(&ann.token).json(&body).send().await;
            let fields: Vec<&String> = refused.body.as_object().unwrap().keys().collect();
            assert_eq!(fields, ["success", "errors", "warnings"], "{path}: only what the contract has");
        }
    }

    async fn what_can_not_be_read_is_refused(service: Service) {
        let ann = service.user("ann").await;
        for (body, field) in [
            (json!({"nodeDefinitions": {}}), "graphData"),
            (json!({"graphData": doubling()}), "nodeDefinitions"),
            (json!({"graphData": [], "nodeDefinitions": {}}), "graphData"),
            (json!({"graphData": {}, "nodeDefinitions": {}, "pinnedNodes": 1}), "pinnedNodes"),
        ] {
            let reply = service.post("/api/execute/validate").bearer(&ann.token).json(&body).send().await;
            assert_eq!((reply.status, reply.code()), (400, "VALIDATION"), "{body}: {reply}");
            assert_eq!(reply.body["error"]["details"][0]["path"], field, "{reply}");
        }
        let values = vec![0; 260_000];
        let graph = json!({"nodes": [], "edges": [], "settings": {"values": values}});
        let found = validate(&service, &ann, &graph, &json!({})).await;
        assert_eq!(found.body["diagnostics"][0]["code"], "too-large", "{found}");
    }
}
