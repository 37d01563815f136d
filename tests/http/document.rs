//! The OpenAPI document is complete, and its page needs nothing from elsewhere.

use crate::harness::{Database, Service};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// An operation of the document.
pub struct Operation {
    /// In capitals.
    pub method: String,
    pub path: String,
    pub told: Value,
}

impl std::fmt::Display for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}

/// All operations of a document.
pub fn operations(document: &Value) -> Vec<Operation> {
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in METHODS.iter().filter(|method| item[**method].is_object()) {
            found.push(Operation {
                method: method.to_uppercase(),
                path: path.clone(),
                told: item[*method].clone(),
            });
        }
    }
    found
}

impl Operation {
    pub fn needs_token(&self) -> bool {
        let ways = self.told["security"].as_array().into_iter().flatten();
        ways.into_iter().any(|way| way.get("bearer").is_some())
    }

    /// The JSON body that the document shows, if the operation has a JSON body.
    pub fn example(&self, document: &Value) -> Option<Value> {
        let media = &self.told["requestBody"]["content"]["application/json"];
        if media.is_null() {
            return None;
        }
        let own = [&media["example"], &media["examples"]]
            .into_iter()
            .find(|own| !own.is_null());
        Some(own.cloned().unwrap_or_else(|| {
            example(document, &media["schema"])
                .unwrap_or_else(|missing| panic!("{self}: no example for {missing}"))
        }))
    }
}

fn resolve<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    match schema["$ref"].as_str() {
        Some(reference) => resolve(
            document,
            document.pointer(&reference[1..]).unwrap_or(&Value::Null),
        ),
        None => schema,
    }
}

/// An example of a schema from the examples of its parts; the path of a text without one.
fn example(document: &Value, given: &Value) -> Result<Value, String> {
    if !given["example"].is_null() {
        return Ok(given["example"].clone());
    }
    let schema = resolve(document, given);
    for field in ["example", "default", "const"] {
        if !schema[field].is_null() {
            return Ok(schema[field].clone());
        }
    }
    if let Some(values) = schema["enum"].as_array() {
        return Ok(values[0].clone());
    }
    for union in ["oneOf", "anyOf"] {
        let parts = schema[union].as_array().into_iter().flatten();
        if let Some(part) = parts.into_iter().find(|part| part["type"] != "null") {
            return example(document, part);
        }
    }
    let is = |name: &str| {
        schema["type"] == name
            || schema["type"]
                .as_array()
                .is_some_and(|types| types.contains(&json!(name)))
    };
    if let Some(properties) = schema["properties"].as_object() {
        let required: BTreeSet<&str> = schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let mut object = serde_json::Map::new();
        for (name, part) in properties {
            match example(document, part) {
                Ok(value) => {
                    object.insert(name.clone(), value);
                }
                // What need not be there is left out.
                Err(path) if required.contains(name.as_str()) => return Err(format!("{name}.{path}")),
                Err(_) => {}
            }
        }
        return Ok(Value::Object(object));
    }
    match () {
        () if is("boolean") => Ok(json!(false)),
        () if is("array") => Ok(json!([example(document, &schema["items"])?])),
        () if is("object") => Ok(json!({})),
        () => Err(schema["type"].to_string()),
    }
}

async fn served() -> (Service, Value) {
    let service = Service::start(Database::Sqlite).await;
    let reply = service.get("/api/openapi.json").send().await;
    assert_eq!(reply.status, 200, "{reply}");
    assert_eq!(reply.headers["content-type"], "application/json");
    let document = reply.body;
    (service, document)
}

#[tokio::test]
async fn the_document_is_of_this_version_and_names_whom_it_is_about() {
    let (_service, document) = served().await;
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["info"]["title"], "heddle");
    assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(
        document["components"]["securitySchemes"]["bearer"]["scheme"],
        "bearer"
    );
    assert_eq!(document["servers"][0]["url"], "/");
}

#[tokio::test]
async fn a_stored_graph_has_nodes_and_edges_with_fields() {
    let (_service, document) = served().await;
    let graph = &document["components"]["schemas"]["Graph"]["properties"];
    for (list, of) in [("nodes", "DrawnNode"), ("edges", "DrawnEdge")] {
        let items = &graph[list]["items"];
        assert_eq!(items["$ref"], format!("#/components/schemas/{of}"), "{graph}");
    }
}

#[tokio::test]
async fn every_operation_is_described() {
    let (_service, document) = served().await;
    let tags: BTreeSet<&str> = document["tags"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tag| tag["name"].as_str().unwrap())
        .collect();
    let mut ids = BTreeSet::new();
    for operation in operations(&document) {
        let told = &operation.told;
        let summary = told["summary"].as_str().unwrap_or_default();
        assert!(
            summary.ends_with('.'),
            "{operation}: a summary is a sentence, not {summary:?}"
        );
        let tag = told["tags"][0].as_str().unwrap_or_default();
        assert!(
            tags.contains(tag),
            "{operation}: the tag {tag:?} is not described in http/routes.rs"
        );
        let id = told["operationId"].as_str().unwrap_or_default();
        assert!(
            ids.insert(id.to_owned()),
            "{operation}: another operation is called {id:?} too"
        );
        let words: Vec<&str> = id.split('_').collect();
        assert!(
            words.len() > 1 || ["login", "logout", "register"].contains(&id),
            "{operation}: {id:?} does not say what it is done to, as the name of a client's method"
        );
        assert!(
            told["security"].is_array(),
            "{operation}: whether it needs a token is not said"
        );
        for parameter in told["parameters"].as_array().into_iter().flatten() {
            let name = &parameter["name"];
            assert!(
                parameter["schema"].is_object(),
                "{operation}: {name} has no schema"
            );
            assert!(
                parameter["description"].is_string(),
                "{operation}: {name} has no description"
            );
        }
        for name in operation.path.split(['{', '}']).skip(1).step_by(2) {
            let parameters = told["parameters"].as_array().into_iter().flatten();
            let mut named = parameters
                .into_iter()
                .filter(|it| it["in"] == "path" && it["name"] == name);
            assert!(named.next().is_some(), "{operation}: {name} is not described");
        }
    }
    // What the handlers take by `Query` is found by itself.
    let listed = document["paths"]["/api/patterns"]["get"]["parameters"]
        .as_array()
        .unwrap();
    let names: BTreeSet<&str> = listed
        .iter()
        .map(|parameter| parameter["name"].as_str().unwrap())
        .collect();
    let expected = [
        "search",
        "owner",
        "cursor",
        "isPublic",
        "isTemplate",
        "tags",
        "limit",
        "offset",
        "sortBy",
        "sortOrder",
    ];
    assert_eq!(names, BTreeSet::from(expected));
}

#[tokio::test]
async fn every_answer_has_a_schema_and_every_error_the_same_one() {
    let (_service, document) = served().await;
    for operation in operations(&document) {
        let responses = operation.told["responses"].as_object().unwrap();
        assert!(
            responses.keys().any(|status| status.starts_with('2')),
            "{operation} never succeeds"
        );
        for (status, response) in responses {
            let response = resolve(&document, response);
            assert!(
                response["description"]
                    .as_str()
                    .is_some_and(|text| !text.is_empty()),
                "{operation}: {status} has no description"
            );
            if status == "204" || status.starts_with('3') {
                continue;
            }
            let content = response["content"]
                .as_object()
                .unwrap_or_else(|| panic!("{operation}: {status} has no body"));
            for (kind, media) in content {
                let schema = &media["schema"];
                assert!(schema.is_object(), "{operation}: {status} {kind} has no schema");
                let is_error = !status.starts_with('2');
                // The bodies of transpile's 422 and of a synchronous webhook's failed run are the interface's own.
                let is_own = status == "422" || (status == "500" && operation.path.starts_with("/webhooks"));
                // What browsers are shown.
                let is_own = is_own || kind == "text/html";
                assert!(
                    !is_error || is_own || schema["$ref"] == "#/components/schemas/ErrorBody",
                    "{operation}: {status} is no ErrorBody"
                );
            }
        }
        let expected = [
            (operation.needs_token(), "401"),
            (!operation.told["requestBody"].is_null(), "400"),
            (operation.path.contains("{id}"), "404"),
        ];
        for (applies, status) in expected {
            assert!(
                !applies || responses.contains_key(status),
                "{operation}: {status} is not described"
            );
        }
    }
}

#[tokio::test]
async fn every_body_has_an_example() {
    let (_service, document) = served().await;
    let bodies = operations(&document)
        .iter()
        .filter_map(|operation| operation.example(&document))
        .count();
    assert!(bodies > 5);
}

#[tokio::test]
async fn every_reference_of_the_document_leads_somewhere() {
    fn walk(document: &Value, value: &Value) {
        match value {
            Value::Object(object) => {
                if let Some(reference) = object.get("$ref").and_then(Value::as_str) {
                    assert!(document.pointer(&reference[1..]).is_some(), "{reference}");
                }
                object.values().for_each(|value| walk(document, value));
            }
            Value::Array(array) => array.iter().for_each(|value| walk(document, value)),
            _ => {}
        }
    }
    let (_service, document) = served().await;
    walk(&document, &document);
}

/// Generated clients take an object without fields for one that never has any.
#[tokio::test]
async fn every_object_says_what_is_in_it() {
    fn walk(value: &Value, path: &str) {
        match value {
            Value::Object(object) => {
                let is_bare = object.get("type") == Some(&json!("object"))
                    && !["properties", "additionalProperties", "allOf"]
                        .iter()
                        .any(|field| object.contains_key(*field));
                assert!(!is_bare, "{path} is an object of which nothing is said: {value}");
                for (name, part) in object {
                    walk(part, &format!("{path}/{name}"));
                }
            }
            Value::Array(array) => array.iter().for_each(|part| walk(part, path)),
            _ => {}
        }
    }
    let (_service, document) = served().await;
    walk(&document["components"]["schemas"], "");
    walk(&document["paths"], "");
}

#[tokio::test]
async fn the_page_loads_its_own_files_only() {
    let (service, _document) = served().await;
    let mut texts = String::new();
    for (path, kind) in [
        ("/docs", "text/html; charset=utf-8"),
        ("/docs/page.css", "text/css; charset=utf-8"),
        ("/docs/page.js", "text/javascript; charset=utf-8"),
    ] {
        let reply = service.get(path).send().await;
        assert_eq!(
            (reply.status, reply.headers["content-type"].to_str().unwrap()),
            (200, kind)
        );
        let policy = reply.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none';"), "{policy}");
        texts.push_str(&reply.text);
    }
    for foreign in ["http://", "https://", "src=\"//", "@import", "innerHTML"] {
        assert!(!texts.contains(foreign), "the page has {foreign}");
    }
    for own in ["/docs/page.css", "/docs/page.js", "/api/openapi.json"] {
        assert!(texts.contains(own), "the page has no {own}");
    }
}

#[tokio::test]
async fn node_types_are_listed_for_everybody() {
    let service = Service::start(Database::Sqlite).await;
    let all = service.get("/api/nodes").send().await;
    assert_eq!(all.status, 200);
    assert_eq!(all.body, heddle_api::catalogue::all());
    let first = all.body[0].clone();
    let path = format!("/api/nodes/{}", first["type"].as_str().unwrap());
    let one = service.get(&path).send().await;
    assert_eq!((one.status, &one.body), (200, &first));
    let none = service.get("/api/nodes/Nothing").send().await;
    assert_eq!((none.status, none.code()), (404, "NOT_FOUND"));
}

/// The document has one schema for each name: of two types that are called alike, one would be lost unseen.
#[test]
fn no_two_schemas_are_called_alike() {
    let mut found = BTreeSet::new();
    let api = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = ["src", "model/src", "store/src", "execution/src", "service/src"];
    let crates = crates.iter().chain(&["../runtime/src"]);
    let mut waiting: Vec<_> = crates.map(|sources| api.join(sources)).collect();
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(
                std::fs::read_dir(path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
            continue;
        }
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for part in text.split("#[derive(").skip(1) {
            let (derived, rest) = part.split_once(")]").unwrap();
            if !derived.contains("ToSchema") || derived.contains('$') || rest.contains("pub struct $name") {
                continue;
            }
            let mut words = rest.split(|c: char| !c.is_alphanumeric() && c != '_');
            words.find(|word| matches!(*word, "struct" | "enum")).unwrap();
            let own = words.next().unwrap();
            let head = rest.split(['{', ';']).next().unwrap();
            let name = head
                .split_once("as = ")
                .map_or(own, |(_, rest)| rest.split([',', '\n', ')']).next().unwrap());
            assert!(
                found.insert(name.to_owned()),
                "two schemas are called {name}, one in {}",
                path.display()
            );
        }
    }
    assert!(
        found.contains("VersionDifference") && found.len() > 50,
        "{found:?}"
    );
}
