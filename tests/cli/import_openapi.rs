//! `heddle import openapi`: definitions that are made of documents, the requests that they send, and what is left out.

use super::harness::{Ended, Place, root};
use super::http_server::Server;
use serde_json::{Value, json};
use std::fs;

/// A document with one path.
fn document(path: &str, item: Value) -> Value {
    json!({"openapi": "3.0.3", "info": {"title": "Pet Store", "version": "1"}, "paths": {path: item}})
}

/// Imports a document with further flags, and gives the report.
fn imported(place: &Place, document: &Value, flags: &[&str]) -> Value {
    place.file("api.json", document.to_string());
    let import: &[&str] = &["import", "openapi", "api.json", "-o", "nodes.json", "--json"];
    let arguments = [import, flags].concat();
    place.run(&arguments).assert_code(0).json()
}

/// The connection for the document's title at a server.
fn named(server: &Server) -> String {
    format!("pet-store@http://{}", server.address())
}

/// Runs a node of a definition with an input.
fn run(place: &Place, node_type: &str, input: &Value, server: &Server) -> Ended {
    let pattern = json!({
        "nodes": [
            {"id": "start", "type": "OnManual"}, {"id": "own", "type": node_type}, {"id": "end", "type": "Return"},
        ],
        "edges": [{"source": "start", "target": "own"}, {"source": "own", "target": "end"}],
    });
    place.file("pattern.json", pattern.to_string());
    place.file("event.json", input.to_string());
    let connection = named(server);
    place.file(
        "connections.json",
        json!({connection: {"apiKey": "s3cret"}}).to_string(),
    );
    let allowed = server.address();
    let arguments = [
        "run",
        "pattern.json",
        "--event",
        "event.json",
        "--definitions",
        "nodes.json",
        "--connections",
        "connections.json",
        "--egress-allow",
        &allowed,
        "--json",
    ];
    place.run(&arguments)
}

#[test]
fn an_operation_is_sent_as_the_document_describes_it() {
    let server = Server::start(vec![json!({
        "method": "PUT", "path": "/v1/pets/a%2Fb?tag=x&tag=y&near=1%7C2&filter%5Bage%5D=3", "status": 200,
        "expectBody": {"name": "Rex"}, "body": {"id": "a/b"},
    })]);
    let place = Place::new();
    let query = |name: &str, style: &str, kind: &str| json!({"name": name, "in": "query", "style": style, "schema": {"type": kind}});
    let mut given = document(
        "/pets/{pet-id}",
        json!({
            "parameters": [{"$ref": "#/components/parameters/Id"}],
            "put": {
                "operationId": "Update_pet", "summary": "Changes a pet", "security": [{"key": []}],
                "parameters": [
                    query("tag", "form", "array"), query("near", "pipeDelimited", "array"), query("filter", "deepObject", "object"),
                    {"name": "session", "in": "cookie", "schema": {"type": "string"}},
                ],
                "requestBody": {"required": true, "content": {"application/xml": {}, "application/json": {}}},
                "responses": {"200": {"description": "It", "content": {"application/json": {}}}},
            },
        }),
    );
    given["servers"] =
        json!([{"url": "http://{host}/v1/", "variables": {"host": {"default": server.address()}}}]);
    given["components"] = json!({
        "parameters": {"Id": {"name": "pet-id", "in": "path", "required": true, "schema": {"type": "string"}}},
        "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
    });
    let told = imported(&place, &given, &[]);
    assert_eq!(told["definitions"], json!(["updatePet"]), "{told:#}");
    let report = &told["report"];
    assert_eq!(
        report["connections"],
        json!([{"name": named(&server), "scheme": "key", "fields": {"apiKey": null}}])
    );
    assert_eq!(
        report["operations"][0]["fields"][3]["name"], "pet-id",
        "{report:#}"
    );
    let items = report["items"].as_array().unwrap();
    assert_eq!(items.len(), 1, "only the cookie differs: {report:#}");
    assert_eq!(
        (&items[0]["operationId"], &items[0]["isLeftOut"]),
        (&json!("Update_pet"), &json!(false))
    );

    let input = json!({"pet-id": "a/b", "tag": ["x", "y"], "near": [1, 2], "filter": {"age": 3}, "body": {"name": "Rex"}});
    let ended = run(&place, "updatePet", &input, &server);
    assert_eq!(ended.assert_code(0).json()["output"], json!({"id": "a/b"}));
    server.assert_used();
    // What is required is looked for before anything is sent.
    let ended = run(&place, "updatePet", &json!({"pet-id": ""}), &server);
    let error = &ended.assert_code(1).json()["error"];
    assert_eq!(error["code"], "PARAMETER", "{error}");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("pet-id, body"), "{message}");
}

#[test]
fn heddle_s_own_document_becomes_definitions_that_compile() {
    let place = Place::new();
    let own = fs::read_to_string(root().join("console/openapi.json")).unwrap();
    let own: Value = serde_json::from_str(&own).unwrap();
    let paths = own["paths"].as_object().unwrap().values();
    let count: usize = paths.map(|item| item.as_object().unwrap().len()).sum();
    let told = imported(&place, &own, &[]);
    assert_eq!(
        told["definitions"].as_array().unwrap().len(),
        count,
        "{:#}",
        told["report"]["items"]
    );
    let left: Vec<&Value> = told["report"]["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["isLeftOut"] == true)
        .collect();
    assert!(left.is_empty(), "{left:#?}");

    let whole = "GET /api/patterns/{id}";
    let of_whole = told["report"]["operations"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| {
            format!(
                "{} {}",
                one["method"].as_str().unwrap(),
                one["path"].as_str().unwrap()
            ) == whole
        });
    let name = of_whole.unwrap()["definition"].as_str().unwrap();
    let pattern = json!({
        "nodes": [{"id": "start", "type": "OnManual"}, {"id": "own", "type": name}],
        "edges": [{"source": "start", "target": "own"}],
    });
    place.file("pattern.json", pattern.to_string());
    place
        .run(&["validate", "pattern.json", "--definitions", "nodes.json"])
        .assert_code(0);
}

#[test]
fn operations_are_chosen_by_id_and_tag_and_listed() {
    let place = Place::new();
    let mut given = document(
        "/a",
        json!({"get": {"operationId": "a", "tags": ["x"]}, "post": {"operationId": "b"}, "put": {}}),
    );
    given["servers"] = json!([{"url": "/relative"}]);
    let names = |flags: &[&str]| imported(&place, &given, flags)["definitions"].clone();
    assert_eq!(names(&["--tag", "x"]), json!(["a"]));
    assert_eq!(names(&["--operation", "b", "--tag", "x"]), json!(["a", "b"]));
    assert_eq!(
        names(&["--operation", "put /a", "--prefix", "pets"]),
        json!(["petsPutA"])
    );
    // Without an address of its own it needs a connection that has one.
    let told = imported(&place, &given, &[]);
    assert_eq!(
        told["report"]["connections"][0]["fields"],
        json!({"baseUrl": null}),
        "{told:#}"
    );
    let told = imported(&place, &given, &["--base-url", "https://api.example.com/v2"]);
    assert_eq!(told["report"]["connections"], json!([]), "{told:#}");

    let listed = place
        .run(&["import", "openapi", "api.json", "--list", "--json"])
        .assert_code(0)
        .json();
    let ids: Vec<&Value> = listed["operations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["id"])
        .collect();
    assert_eq!(ids, [&json!("a"), &json!("put /a"), &json!("b")]);
    let unknown = place.run(&["import", "openapi", "api.json", "--operation", "c"]);
    assert!(
        unknown.assert_code(3).stderr.contains("no operation `c`"),
        "{unknown:#?}"
    );
}

#[test]
fn a_document_in_yaml_is_read_as_its_json() {
    let place = Place::new();
    let yaml = "openapi: 3.1.0\ninfo: {title: Pet Store, version: 1}\nservers: [{url: https://api.example.com}]\n\
        x-common: &common\n  responses:\n    200: &ok {description: It}\n    404: *ok\n\
        paths:\n  /pets/{id}:\n    get:\n      <<: *common\n      operationId: getPet\n      parameters:\n\
        \x20       - {name: id, in: path, required: true, description: \"yes\", schema: {type: string}}\n";
    let responses = json!({"200": {"description": "It"}, "404": {"description": "It"}});
    let mut json = document(
        "/pets/{id}",
        json!({"get": {"operationId": "getPet", "responses": responses, "parameters": [
            {"name": "id", "in": "path", "required": true, "description": "yes", "schema": {"type": "string"}},
        ]}}),
    );
    json["servers"] = json!([{"url": "https://api.example.com"}]);
    let report = imported(&place, &json, &[])["report"].clone();
    let definitions = fs::read_to_string(place.path("nodes.json")).unwrap();
    place.file("api.yaml", yaml);
    let import = ["import", "openapi", "api.yaml", "-o", "nodes.json", "--json"];
    let told = place.run(&import).assert_code(0).json();
    assert_eq!(told["report"], report);
    assert_eq!(fs::read_to_string(place.path("nodes.json")).unwrap(), definitions);
}

#[test]
fn what_cannot_be_sent_is_left_out_and_said() {
    let place = Place::new();
    let circle = json!({"$ref": "#/components/parameters/B"});
    let get = |parameters: Value| json!({"get": {"parameters": parameters}});
    let mut given = document("/circle", get(json!([circle])));
    given["components"] = json!({"parameters": {"A": circle, "B": {"$ref": "#/components/parameters/A"}}});
    given["paths"]["/foreign"] = get(json!([{"$ref": "https://example.com/p.json"}]));
    given["paths"]["/{unknown}"] = get(json!([]));
    given["paths"]["/cookie"] = get(json!([{"name": "c", "in": "cookie", "required": true}]));
    given["paths"]["/}}{{"] = get(json!([]));
    // Braces in names end no expression.
    given["paths"]["/good"] = get(json!([{"name": "}} {{ 1 \"", "in": "query", "required": true}]));
    let told = imported(&place, &given, &["--base-url", "https://example.com"]);
    assert_eq!(told["definitions"], json!(["getGood"]), "{told:#}");
    let items = told["report"]["items"].as_array().unwrap();
    assert!(
        items.iter().all(|item| item["isLeftOut"] == true) && items.len() == 5,
        "{items:#?}"
    );
    place
        .run(&["import", "openapi", "api.json", "--strict"])
        .assert_code(1);

    for (text, says) in [
        ("openapi: 3.0.0\npaths: {}\n", "no operations"),
        (
            "openapi: 3.0.0\npaths: {}\npaths: {}\n",
            "line 3, column 1: the key `paths` is used twice",
        ),
        (r#"{"swagger": "2.0", "paths": {}}"#, "Swagger 2.0"),
        (r#"{"openapi": "3.0.0"}"#, "no operations"),
        (r#"{"nodes": []}"#, "not an OpenAPI document"),
    ] {
        place.file("api.json", text);
        let ended = place.run(&["import", "openapi", "api.json"]);
        assert!(ended.assert_code(3).stderr.contains(says), "{ended:#?}");
    }
}
