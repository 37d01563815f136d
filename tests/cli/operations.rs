//! Operations of services: each sends what its file has recorded, over real connections to a server that answers in the
//! service's place.

use super::harness::{Place, graph};
use heddle_catalogue::{NodeType, Operation, SERVICES, node_types, read_service};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

fn operations() -> Vec<(&'static NodeType, &'static Operation)> {
    let types = node_types().iter();
    types.filter_map(|it| Some((it, it.operation?))).collect()
}

/// What has arrived, by the first part of the path.
type Arrived = Arc<Mutex<HashMap<String, Vec<Value>>>>;

/// Answers `/<name>/…` with the answers of this name, one after the other; the last one again.
fn serve(answers: HashMap<String, Vec<Value>>) -> (String, Arrived) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (arrived, answers) = (Arrived::default(), Arc::new(answers));
    let kept = arrived.clone();
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let (answers, arrived) = (answers.clone(), kept.clone());
            thread::spawn(move || answer(connection, &answers, &arrived));
        }
    });
    (address, arrived)
}

fn answer(mut connection: TcpStream, answers: &HashMap<String, Vec<Value>>, arrived: &Arrived) {
    let mut reader = BufReader::new(connection.try_clone().unwrap());
    let (mut first, mut line) = (String::new(), String::new());
    let mut headers = Map::new();
    reader.read_line(&mut first).unwrap();
    while reader.read_line(&mut line).unwrap() > 2 {
        let (name, value) = line.split_once(':').unwrap();
        headers.insert(name.to_ascii_lowercase(), value.trim().into());
        line.clear();
    }
    let length = headers
        .get("content-length")
        .and_then(Value::as_str)
        .unwrap_or("0");
    let mut body = vec![0; length.parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    let mut target = first.split(' ');
    let (method, path) = (target.next().unwrap(), target.next().unwrap());
    let (name, rest) = path[1..].split_once('/').unwrap();
    let kind = headers
        .get("content-type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let mut request = json!({"method": method, "path": format!("/{rest}"), "body": shape(&body, kind)});
    request["headers"] = Value::Object(headers);
    let number = {
        let mut arrived = arrived.lock().unwrap();
        let before = arrived.entry(name.to_owned()).or_default();
        before.push(request);
        before.len() - 1
    };
    let answers = answers.get(name);
    let answer = answers.and_then(|answers| answers.get(number).or(answers.last()));
    let (kind, text) = match answer {
        Some(Value::String(text)) => ("text/plain", text.clone()),
        other => (
            "application/json",
            other.map_or_else(String::new, Value::to_string),
        ),
    };
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close",
        text.len()
    );
    connection
        .write_all(format!("{head}\r\n\r\n{text}").as_bytes())
        .unwrap();
}

/// A body as files record it: JSON, the fields of a form with parts, or text.
fn shape(body: &[u8], kind: &str) -> Value {
    let text = String::from_utf8_lossy(body);
    if kind.starts_with("application/json") {
        return serde_json::from_str(&text).unwrap();
    }
    match kind.strip_prefix("multipart/form-data; boundary=") {
        Some(boundary) => {
            let boundary = format!("--{boundary}");
            let parts = text.split(&boundary).filter_map(|part| {
                let (head, content) = part.split_once("\r\n\r\n")?;
                let name = head.split_once("name=\"")?.1.split_once('"')?.0;
                Some((name.to_owned(), content.trim_end_matches("\r\n").into()))
            });
            Value::Object(parts.collect())
        }
        None if text.is_empty() => Value::Null,
        None => text.into_owned().into(),
    }
}

/// Executes nodes side by side: what each gave by `id`, or how it failed.
fn run(nodes: &[(&str, &str, Value)], connections: &Value, address: &str) -> Value {
    let place = Place::new();
    place.file("connections.json", connections.to_string());
    let mut drawn = vec![("start", "OnManual", json!({}))];
    let mut edges = Vec::new();
    let outputs: Vec<_> = nodes.iter().map(|(id, ..)| format!("out-{id}")).collect();
    for ((id, kind, parameters), output) in nodes.iter().zip(&outputs) {
        let data = json!({"parameters": parameters, "onError": "continue"});
        let value = json!({"parameters": {"value": {id.to_string(): "{{ $input }}"}}});
        drawn.extend([(*id, *kind, data), (output.as_str(), "Transform", value)]);
        edges.extend([
            format!("start -> {id}"),
            format!("{id} -> {output}"),
            format!("{output} -> all"),
        ]);
    }
    drawn.push(("all", "Merge", json!({"parameters": {"mode": "combine"}})));
    drawn.push(("end", "Return", json!({})));
    edges.push("all -> end".to_owned());
    let edges: Vec<&str> = edges.iter().map(String::as_str).collect();
    place.file("pattern.json", graph(&drawn, &edges).to_string());
    let flags = [
        "run",
        "pattern.json",
        "--json",
        "--connections",
        "connections.json",
    ];
    let ended = place.run(&[&flags[..], &["--egress-allow", address]].concat());
    ended.assert_code(0).json()["output"].clone()
}

#[test]
fn files_of_services_are_valid() {
    for (name, text) in SERVICES {
        let read = read_service(text);
        assert!(read.is_ok(), "{name}: {:#?}", read.err());
    }
    assert!(operations().len() >= 200);
}

#[test]
fn what_is_wrong_with_a_file_is_said_of_each_place() {
    let file = json!({"service": "S", "icon": "globe", "connection": "a key.", "request": {"baseUrl": "http://s.example"}, "operations": [{
        "type": "make", "title": "make", "description": "Makes.", "reference": "https://s.example", "wrods": [],
        "parameters": [{"name": "a b", "type": "txt", "description": "A."}, {"name": "unused", "description": "B."}],
        "request": {"url": "/{{ $input.other }}"},
        "example": {"parameters": {"unused": 5}, "request": {}, "response": {}},
    }]});
    let problems = read_service(&file.to_string()).unwrap_err().join("\n");
    for said in [
        "`wrods` is unknown",
        "`type` must be in PascalCase",
        "make.parameters[0]: `name` must be in camelCase",
        "make.parameters[0]: `type` must be string",
        "`other` is not both a parameter and used by the request",
        "`unused` is not both a parameter and used by the request",
        "`request.baseUrl` must begin with https://",
        "`example.parameters` don't fit the parameters",
    ] {
        assert!(problems.contains(said), "{said} in\n{problems}");
    }
    assert!(read_service("[]").is_err() && read_service("{").is_err());
}

#[test]
fn what_is_wrong_with_a_subscription_is_said() {
    let file = json!({"service": "S", "icon": "globe", "connection": "a key.", "triggers": [{
        "type": "OnS", "title": "on it", "description": "Starts.", "reference": "https://s.example", "setup": "Nothing.",
        "parameters": [{"name": "shop", "description": "A shop."}], "webhook": {"scheme": "github"},
        "subscription": {
            "baseUrl": "http://s.example", "needs": ["other"],
            "find": {"url": "hooks/{{ $input.shop }}", "lists": "a"},
            "create": {"url": "/hooks", "body": {"to": "{{ $webhook.url }}", "as": "{{ $webhook.token }}"}},
            "renew": {"url": "/hooks/{{ $webhook.id }}"},
        },
        "example": {"parameters": {}, "request": {}, "event": {}},
    }]});
    let problems = read_service(&file.to_string()).unwrap_err().join("\n");
    for said in [
        "OnS.subscription: `needs` must be a list of parameters",
        "OnS.subscription: `baseUrl` must begin with https://",
        "OnS.subscription.find: `lists` is unknown",
        "OnS.subscription.find: `url` must be a path",
        "`create` and `remove` must be there",
        "`create` must tell `$webhook.secret`",
        "`find` and `create` must have the `id` that is used",
        "`find` must have `address`",
        "`renew` and `expires`",
        "expressions here can be nothing but",
        "`example.subscription` must be there",
    ] {
        assert!(problems.contains(said), "{said} in\n{problems}");
    }
}

#[test]
fn operations_send_what_is_recorded() {
    let operations = operations();
    let answers = operations.iter().map(|(it, operation)| {
        let found = operation
            .recorded
            .find
            .iter()
            .map(|(_, response)| response.clone());
        let answers = found.chain([operation.recorded.response.clone()]);
        (it.name.to_owned(), answers.collect())
    });
    let (address, arrived) = serve(answers.collect());
    let mut connections = Map::new();
    let mut nodes = Vec::new();
    for (it, operation) in &operations {
        let base = operation
            .request
            .get("baseUrl")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let key = if base.contains("{apiKey}") {
            "/bot{apiKey}"
        } else {
            ""
        };
        let fields = json!({"apiKey": "1:k3y", "baseUrl": format!("http://{address}/{}{key}", it.name)});
        connections.insert(it.name.to_owned(), fields);
        let mut parameters = operation.recorded.parameters.clone();
        parameters.insert("connection".to_owned(), it.name.into());
        nodes.push((it.name, it.name, Value::Object(parameters)));
    }
    let output = run(&nodes, &Value::Object(connections), &address);
    let arrived = arrived.lock().unwrap();
    let mut wrong = Vec::new();
    for (it, operation) in &operations {
        let requests = arrived.get(it.name).map_or(&[][..], Vec::as_slice);
        let recorded = &operation.recorded;
        let mut problems = match (requests, &recorded.find) {
            ([request], None) => differences(operation, &recorded.request, request),
            ([first, second], Some((find, _))) => [
                differences(operation, find, first),
                differences(operation, &recorded.request, second),
            ]
            .concat(),
            (other, _) => vec![format!("{} requests", other.len())],
        };
        let given = &output[it.name];
        if !gives(operation, given) {
            problems.push(format!("gives {given}"));
        }
        wrong.extend(
            problems
                .into_iter()
                .map(|problem| format!("{}: {problem}", it.name)),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn differences(operation: &Operation, recorded: &Value, request: &Value) -> Vec<String> {
    let base = operation
        .request
        .get("baseUrl")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let in_path = base.contains("{apiKey}");
    let path = match in_path {
        true => format!("/bot1:k3y{}", recorded["path"].as_str().unwrap()),
        false => recorded["path"].as_str().unwrap().to_owned(),
    };
    let (path, bearer) = (Value::from(path), Value::from("Bearer 1:k3y"));
    let authorization = if in_path { &Value::Null } else { &bearer };
    let mut expected = vec![
        ("method", &recorded["method"], &request["method"]),
        ("path", &path, &request["path"]),
        ("body", &recorded["body"], &request["body"]),
        (
            "authorization",
            authorization,
            &request["headers"]["authorization"],
        ),
    ];
    for (name, value) in recorded["headers"].as_object().into_iter().flatten() {
        expected.push((name, value, &request["headers"][name]));
    }
    expected
        .into_iter()
        .filter(|(_, recorded, sent)| recorded != sent)
        .map(|(name, recorded, sent)| format!("{name} is {sent}, not {recorded}"))
        .collect()
}

/// A file has an id and a hash of its own; all else is as recorded.
fn gives(operation: &Operation, given: &Value) -> bool {
    let recorded = &operation.recorded.output;
    match operation.request.get("responseType") {
        Some(kind) if kind == "file" => {
            let recorded = recorded.as_object().unwrap();
            given["$file"].is_string() && recorded.iter().all(|(name, value)| given[name] == *value)
        }
        _ => recorded == given,
    }
}

#[test]
fn what_a_service_refuses_fails_and_parts_of_a_path_stay_parts() {
    let refusal = json!({"ok": false, "error": "channel_not_found"});
    let (address, arrived) = serve(HashMap::from([("slack".to_owned(), vec![refusal])]));
    let fields = json!({"apiKey": "k3y", "baseUrl": format!("http://{address}/slack")});
    let message = json!({"connection": "slack", "channel": "C1", "text": "Hi"});
    let pages = json!({"connection": "slack", "channel": "C1"});
    let climbing = json!({"connection": "slack", "owner": "..", "repository": ".."});
    let nodes = [
        ("refused", "SlackSendMessage", message),
        ("pages", "SlackListMessages", pages),
        ("climbing", "GitHubGetRepository", climbing),
    ];
    let output = run(&nodes, &json!({"slack": fields}), &address);
    assert_eq!(output["refused"]["error"]["code"], "HTTP_FAILED");
    assert_eq!(
        output["refused"]["error"]["message"],
        "POST /chat.postMessage refused: channel_not_found"
    );
    assert_eq!(
        output["pages"]["error"]["message"],
        "GET /conversations.history refused: channel_not_found"
    );
    assert_eq!(output["climbing"]["error"]["code"], "PARAMETER", "{output:#}");
    assert_eq!(arrived.lock().unwrap()["slack"].len(), 2);
}

#[test]
fn a_row_is_found_before_it_is_written() {
    let rows = json!({"values": [["id", "total"], [7, 1]]});
    let written = json!({"updatedRange": "S!A2:B2"});
    let added = json!({"updates": {"updatedRange": "S!A3:B3"}});
    let refusal = json!({"values": [["number"]]});
    let answers = [
        ("each", vec![rows.clone(), added, rows.clone(), written]),
        ("missing", vec![rows, json!({"range": "S!A1"})]),
        (
            "numbered",
            vec![
                json!({"valueRanges": [{"valueRange": {"range": "'My S'!A1:Z1", "values": [["id"]]}}]}),
                json!({"updates": {"updatedRange": "'My S'!A3"}}),
            ],
        ),
        ("refused", vec![refusal]),
    ];
    let answers = answers.map(|(name, answers)| (name.to_owned(), answers));
    let (address, arrived) = serve(HashMap::from(answers));
    let place = Place::new();
    let mut connections = Map::new();
    for name in ["each", "missing", "numbered", "refused"] {
        let fields = json!({"apiKey": "k3y", "baseUrl": format!("http://{address}/{name}")});
        connections.insert(name.to_owned(), fields);
    }
    place.file("connections.json", Value::Object(connections).to_string());
    let upsert = |connection: &str, others: Value| {
        let mut parameters =
            json!({"connection": connection, "spreadsheetId": "1abc", "sheet": "S", "column": "id"});
        parameters
            .as_object_mut()
            .unwrap()
            .extend(others.as_object().unwrap().clone());
        parameters
    };
    // Of the item, of another node's item that it was made of, and how many it is.
    let row = json!({"id": "{{ $input.id }}", "total": "{{ $(\"Orders\").item.total * 2 + $index }}"});
    let each = json!({"parameters": upsert("each", json!({"row": row})), "each": true});
    let missing = upsert("missing", json!({"row": {"id": "8"}, "append": false}));
    let numbered = json!({"connection": "numbered", "spreadsheetId": "1abc", "sheetId": 5, "row": {"id": 9}});
    let refused = json!({"parameters": upsert("refused", json!({"row": {"id": 7}})), "onError": "branch"});
    let orders = json!([{"id": "7", "total": 5}, {"id": "8", "total": 6}]);
    let nodes = [
        ("start", "OnManual", json!({})),
        (
            "orders",
            "Transform",
            json!({"label": "Orders", "parameters": {"value": orders}}),
        ),
        (
            "sorted",
            "Sort",
            json!({"parameters": {"by": [{"value": "id", "order": "desc"}]}}),
        ),
        ("each", "GoogleSheetsUpsertRow", each),
        ("missing", "GoogleSheetsUpsertRow", json!({"parameters": missing})),
        (
            "numbered",
            "GoogleSheetsAppendRow",
            json!({"parameters": numbered}),
        ),
        ("refused", "GoogleSheetsUpsertRow", refused),
        (
            "all",
            "Transform",
            json!({"parameters": {"value": {"each": "{{ $nodes.each }}", "missing": "{{ $nodes.missing }}", "refused": "{{ $input.error }}"}}}),
        ),
        ("end", "Return", json!({})),
    ];
    let edges = [
        "start -> orders",
        "orders -> sorted",
        "sorted -> each",
        "each -> missing",
        "missing -> numbered",
        "numbered -> refused",
        "refused:error -> all",
        "all -> end",
    ];
    place.file("pattern.json", graph(&nodes, &edges).to_string());
    let flags = [
        "run",
        "pattern.json",
        "--json",
        "--connections",
        "connections.json",
    ];
    let ended = place.run(&[&flags[..], &["--egress-allow", &address]].concat());
    let output = ended.assert_code(0).json()["output"].clone();
    assert_eq!(
        output["each"],
        json!([{"id": "8", "total": 12, "row_number": 3}, {"id": "7", "total": 11, "row_number": 2}])
    );
    assert_eq!(output["missing"], Value::Null);
    let message = output["refused"]["message"].as_str().unwrap();
    assert!(message.contains("the sheet has no column \"id\""), "{output:#}");
    let arrived = arrived.lock().unwrap();
    let sent = |name: &str| -> Vec<(String, Value)> {
        let requests = arrived[name].iter();
        let request = |it: &Value| {
            let place = format!("{} {}", it["method"].as_str()?, it["path"].as_str()?);
            Some((place, it["body"]["values"].clone()))
        };
        requests.filter_map(request).collect()
    };
    let read = "GET /1abc/values/'S'?valueRenderOption=UNFORMATTED_VALUE";
    let append = "POST /1abc/values/'S':append?valueInputOption=USER_ENTERED&insertDataOption=INSERT_ROWS";
    let update = "PUT /1abc/values/'S'!A2?valueInputOption=USER_ENTERED";
    let expected = [
        (read, Value::Null),
        (append, json!([["8", 12]])),
        (read, Value::Null),
        (update, json!([["7", 11]])),
    ];
    assert_eq!(
        sent("each"),
        expected.map(|(place, values)| (place.to_owned(), values))
    );
    let read_only = [read, "GET /1abc/values/'S'!A1"].map(|place| (place.to_owned(), Value::Null));
    assert_eq!(sent("missing"), read_only);
    let number = "POST /1abc/values:batchGetByDataFilter".to_owned();
    let append =
        "POST /1abc/values/'My%20S':append?valueInputOption=USER_ENTERED&insertDataOption=INSERT_ROWS";
    assert_eq!(
        sent("numbered"),
        [(number, Value::Null), (append.to_owned(), json!([[9]]))]
    );
    let range = json!([{"gridRange": {"sheetId": 5, "startRowIndex": 0, "endRowIndex": 1}}]);
    assert_eq!(arrived["numbered"][0]["body"]["dataFilters"], range);
    assert_eq!(sent("refused").len(), 1);
}

#[test]
fn what_is_empty_at_run_time_makes_no_request_about_all_there_is() {
    let (address, arrived) = serve(HashMap::new());
    let connection = |name: &str| json!({"apiKey": "k3y", "baseUrl": format!("http://{address}/{name}")});
    let connections = json!({"refused": connection("refused"), "sent": connection("sent")});
    let rows = |connection: &str, filters: Value| json!({"connection": connection, "table": "orders", "filters": filters});
    let cells = |range: &str| json!({"connection": "refused", "spreadsheetId": "1abc", "sheet": "Orders", "range": range});
    let task = |id: &str| json!({"connection": "refused", "taskId": id});
    let nodes = [
        ("none", "SupabaseDeleteRows", rows("refused", json!({}))),
        (
            "nulls",
            "SupabaseDeleteRows",
            rows("refused", json!({"id": null})),
        ),
        (
            "computed",
            "SupabaseDeleteRows",
            rows("refused", "{{ ({ id: $input?.id, of: [] }) }}".into()),
        ),
        (
            "within",
            "SupabaseDeleteRows",
            rows("refused", json!({"id": "{{ $input?.id }}"})),
        ),
        (
            "missing",
            "SupabaseDeleteRows",
            rows("refused", "{{ $input?.filters }}".into()),
        ),
        ("undefined", "TodoistCloseTask", task("{{ $input?.id }}")),
        ("empty", "TodoistCloseTask", task("{{ \"\" }}")),
        ("list", "TodoistCloseTask", task("{{ [] }}")),
        ("texts", "TodoistCloseTask", task("{{ \"\" }}{{ $input?.id }}")),
        ("range", "GoogleSheetsClearCells", cells("{{ $input?.range }}")),
        (
            "partly",
            "SupabaseDeleteRows",
            rows("refused", "{{ ({ id: \"eq.7\", of: null }) }}".into()),
        ),
        (
            "beside",
            "SupabaseDeleteRows",
            rows("refused", json!({"id": "eq.7", "of": "{{ $input?.of }}"})),
        ),
        (
            "read",
            "SupabaseGetRows",
            rows("refused", json!({"id": "{{ $input?.id }}"})),
        ),
        (
            "one",
            "SupabaseDeleteRows",
            rows("sent", "{{ ({ id: \"eq.7\" }) }}".into()),
        ),
        (
            "inside",
            "SupabaseDeleteRows",
            rows("sent", json!({"id": "{{ \"eq.\" + 8 }}"})),
        ),
    ];
    let output = run(&nodes, &connections, &address);
    for (name, parameter) in [
        ("none", "filters"),
        ("nulls", "filters"),
        ("computed", "filters"),
        ("within", "filters"),
        ("missing", "filters"),
        ("partly", "filters"),
        ("beside", "filters"),
        ("read", "filters"),
        ("undefined", "taskId"),
        ("empty", "taskId"),
        ("list", "taskId"),
        ("texts", "taskId"),
        ("range", "range"),
    ] {
        let error = &output[name]["error"];
        let named = format!("Parameter `{parameter}` takes ");
        let message = error["message"].as_str().unwrap_or_default();
        assert!(
            error["code"] == "PARAMETER" && message.starts_with(&named),
            "{name}: {}",
            output[name]
        );
    }
    let arrived = arrived.lock().unwrap();
    assert_eq!(arrived.get("refused"), None);
    let mut paths: Vec<&str> = arrived["sent"]
        .iter()
        .filter_map(|it| it["path"].as_str())
        .collect();
    paths.sort_unstable();
    assert_eq!(paths, ["/rest/v1/orders?id=eq.7", "/rest/v1/orders?id=eq.8"]);
}
