//! The catalogue of node types, as editors read it.

use crate::harness::{Database, Service};
use heddle_catalogue::node_types;
use serde_json::{Value, json};

async fn served() -> Service {
    Service::start(Database::Sqlite).await
}

#[tokio::test]
async fn a_type_has_all_that_a_palette_shows() {
    let service = served().await;
    let all = service.get("/api/nodes").send().await;
    assert_eq!(
        (all.status, all.headers["content-type"].to_str().unwrap()),
        (200, "application/json")
    );
    let types = all.body.as_array().unwrap();
    assert_eq!(types.len(), node_types().len());
    let found = types.iter().find(|it| it["type"] == "ForEach").unwrap();
    assert_eq!(
        [
            &found["title"],
            &found["icon"],
            &found["group"],
            &found["category"]
        ],
        ["For each", "repeat", "loops", "flow"]
    );
    assert!(found["keywords"].as_array().unwrap().contains(&json!("loop")));
    let emits = |name: &str| {
        let found = types.iter().find(|it| it["type"] == name).unwrap();
        [found["emits"].clone(), found["emitsParameter"].clone()]
    };
    assert_eq!(emits("ForEach"), [json!("own"), json!(null)]);
    assert_eq!(emits("NoOp"), [json!("input"), json!(null)]);
    assert_eq!(emits("Transform"), [json!("parameter"), json!("value")]);
    assert_eq!(service.get("/api/nodes/ForEach").send().await.body, *found);
}

#[tokio::test]
async fn a_parameter_says_how_an_editor_takes_it() {
    let service = served().await;
    let parameters = async |name: &str| {
        let reply = service.get(&format!("/api/nodes/{name}")).send().await;
        reply.body["parameters"]["properties"].clone()
    };
    let schedule = parameters("OnSchedule").await;
    assert_eq!(schedule["cron"]["type"], "string", "what was there is unchanged");
    assert_eq!(
        schedule["cron"]["x-heddle"],
        json!({"literal": true, "scope": "node", "widget": "cron", "group": "main"})
    );
    assert_eq!(
        schedule["timezone"]["x-heddle"],
        json!({"literal": true, "scope": "node", "widget": "zone", "group": "main", "offsets": false})
    );
    let query = parameters("SqlQuery").await;
    assert_eq!(query["query"]["x-heddle"]["language"], "sql");
    assert_eq!(query["connection"]["x-heddle"]["connectionKinds"], json!(["sql"]));
    let request = parameters("HttpRequest").await;
    assert_eq!(
        request["timeoutMs"]["x-heddle"],
        json!({"literal": false, "scope": "node", "widget": "duration", "group": "advanced", "unit": "milliseconds"})
    );
    // The cases are written out, but not what they compare.
    let switch = parameters("Switch").await;
    let case = &switch["cases"]["anyOf"][0]["items"]["anyOf"][0]["properties"];
    let literal = |parameter: &Value| parameter["x-heddle"]["literal"].clone();
    assert_eq!(
        [&switch["cases"], &case["name"], &case["when"]].map(literal),
        [true, true, false].map(Value::from)
    );
    // Fields of structured parameters as well.
    let sort = parameters("Sort").await;
    let by = &sort["by"]["anyOf"][0]["anyOf"][0]["items"]["anyOf"][0]["properties"]["value"];
    assert_eq!(
        by["x-heddle"],
        json!({"literal": false, "scope": "item", "widget": "path", "group": "main"})
    );
}

#[tokio::test]
async fn every_property_at_any_depth_has_its_facts() {
    fn walk(at: &str, value: &Value, count: &mut usize) {
        match value {
            Value::Object(fields) => {
                for (name, field) in fields {
                    let at = format!("{at}.{name}");
                    if name != "properties" {
                        walk(&at, field, count);
                        continue;
                    }
                    // A property may be called `properties` as well.
                    for (name, property) in field.as_object().unwrap() {
                        let at = format!("{at}.{name}");
                        assert!(property["x-heddle"]["widget"].is_string(), "{at}");
                        *count += 1;
                        walk(&at, property, count);
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| walk(at, item, count)),
            _ => {}
        }
    }
    let service = served().await;
    let all = service.get("/api/nodes").send().await.body;
    let mut count = 0;
    for it in all.as_array().unwrap() {
        walk(it["type"].as_str().unwrap(), &it["parameters"], &mut count);
    }
    assert!(count > 120, "only {count} parameters");
}

#[tokio::test]
async fn what_a_client_has_is_not_sent_again() {
    let service = served().await;
    for path in ["/api/nodes", "/api/nodes/Filter"] {
        let first = service.get(path).send().await;
        assert_eq!(
            (first.status, first.headers["cache-control"].to_str().unwrap()),
            (200, "no-cache")
        );
        let tag = first.headers["etag"].to_str().unwrap().to_owned();
        for (known, status) in [
            (tag.clone(), 304),
            (format!("W/{tag}"), 304),
            (format!("\"other\", {tag}"), 304),
            ("*".to_owned(), 304),
            ("\"other\"".to_owned(), 200),
            (tag.trim_matches('"').to_owned(), 200),
            (String::new(), 200),
        ] {
            let again = service.get(path).header("if-none-match", &known).send().await;
            assert_eq!(again.status, status, "{path} {known}");
            assert_eq!(again.headers["etag"].to_str().unwrap(), tag, "{path} {known}");
            assert_eq!(again.text.is_empty(), status == 304, "{path} {known}");
        }
    }
    let unknown = service
        .get("/api/nodes/Nothing")
        .header("if-none-match", "*")
        .send()
        .await;
    assert_eq!((unknown.status, unknown.code()), (404, "NOT_FOUND"));
}
