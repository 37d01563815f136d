//! HttpRequest: the request that the host gets, and what becomes of its response.

mod support;

use heddle_node_stdlib::node::Outcome;
use heddle_node_stdlib::nodes::lookup;
use heddle_values::Value;
use support::{Fake, outcome, run, value};

/// The effect's request as JSON.
fn request(parameters: &str) -> String {
    match outcome(&mut Fake::default(), "HttpRequest", parameters) {
        Ok(Outcome::Effect {
            kind: "http",
            request,
        }) => request.to_json(),
        other => format!("{other:?}"),
    }
}

fn response(parameters: &str, response: &str) -> String {
    let Some((_, Some(resume))) = lookup("HttpRequest") else {
        panic!("HttpRequest goes on after its effect")
    };
    let Value::Object(parameters) = value(parameters) else {
        panic!("parameters are an object")
    };
    match resume(&parameters, value(response), &mut Fake::default()) {
        Ok(Outcome::Emit(emission)) => emission.0[0].1.to_json(),
        Ok(other) => format!("{other:?}"),
        Err(failure) => format!("{}: {}", failure.code, failure.message),
    }
}

#[test]
fn requests_carry_query_headers_and_bodies() {
    let rest = r#""followRedirects":true,"idempotencyKey":"run-1/node"}"#;
    let cases = [
        (
            r#"{"url": "https://a.example/x"}"#,
            r#"{"method":"GET","url":"https://a.example/x","headers":[],"#,
        ),
        (
            r#"{"url": "https://a.example/x?a=1#f", "query": {"q": "ü &", "n": [1, true], "no": null}}"#,
            r#"{"method":"GET","url":"https://a.example/x?a=1&q=%C3%BC+%26&n=1&n=true#f","headers":[],"#,
        ),
        (
            r#"{"method": "POST", "url": "http://a.example", "body": {"x": 1}}"#,
            r#"{"method":"POST","url":"http://a.example","body":{"text":"{\"x\":1}"},"headers":[["content-type","application/json"]],"#,
        ),
        (
            r#"{"url": "http://a.example", "body": "hi", "headers": {"Content-Type": "text/csv", "X-A": ["1", "2"]}}"#,
            r#"{"method":"GET","url":"http://a.example","body":{"text":"hi"},"headers":[["Content-Type","text/csv"],["X-A","1"],["X-A","2"]],"#,
        ),
        (
            r#"{"url": "http://a.example", "body": {"a": "b c"}, "bodyType": "form"}"#,
            r#"{"method":"GET","url":"http://a.example","body":{"text":"a=b+c"},"headers":[["content-type","application/x-www-form-urlencoded"]],"#,
        ),
        (
            r#"{"url": "http://a.example", "auth": {"basic": {"user": "u", "password": "p"}}, "timeoutMs": 500}"#,
            r#"{"method":"GET","url":"http://a.example","headers":[],"auth":{"basic":{"user":"u","password":"p"}},"timeoutMs":500,"#,
        ),
    ];
    for (parameters, expected) in cases {
        assert_eq!(request(parameters), format!("{expected}{rest}"), "{parameters}");
    }
}

#[test]
fn a_part_of_the_body_is_given_and_what_it_tells_of_fails() {
    let answer = |text: &str| {
        let headers = serde_json::json!({"content-type": "application/json"});
        serde_json::json!({"status": 200, "headers": headers, "text": text}).to_string()
    };
    let parameters =
        r#"{"url": "https://a.example/x?key=1", "bodyOnly": true, "failure": "error", "result": "data.0"}"#;
    let good = answer(r#"{"data": [{"id": 1}]}"#);
    assert_eq!(response(parameters, &good), r#"{"id":1}"#);
    let refused = "HTTP_FAILED: GET https://a.example/x refused: no such channel";
    assert_eq!(
        response(parameters, &answer(r#"{"error": "no such channel"}"#)),
        refused
    );
    let page = |text: &str| {
        let mut page: serde_json::Value = serde_json::from_str(&answer(text)).unwrap_or_default();
        page["items"] = serde_json::json!([]);
        response(parameters, &page.to_string())
    };
    assert_eq!(
        (page(r#"{"error": "no such channel"}"#), page("")),
        (refused.to_owned(), "null".to_owned())
    );
    let request = request(r#"{"url": "/x", "baseUrl": "https://a.example"}"#);
    assert!(
        request.starts_with(r#"{"method":"GET","url":"/x","baseUrl":"https://a.example","#),
        "{request}"
    );
}

#[test]
fn multipart_bodies_hold_fields_and_files() {
    let sent = request(
        r#"{"url": "http://a.example", "bodyType": "multipart",
            "body": {"note": "hi", "file": {"filename": "a\"b.txt", "contentType": "text/plain", "base64": "aGV5"}}}"#,
    );
    assert!(
        sent.contains(r#"Content-Disposition: form-data; name=\"note\"\r\n\r\nhi\r\n"#),
        "{sent}"
    );
    assert!(
        sent.contains(r#"name=\"file\"; filename=\"a%22b.txt\"\r\nContent-Type: text/plain\r\n\r\nhey\r\n"#),
        "{sent}"
    );
    assert!(
        sent.contains("multipart/form-data; boundary=heddle-run1node-0"),
        "{sent}"
    );
}

#[test]
fn bad_requests_are_refused_before_anything_is_sent() {
    let cases = [
        (r#"{"url": "ftp://a.example"}"#, "begins with http:// or https://"),
        (r#"{}"#, "Parameter `url` takes text, but it is missing"),
        (
            r#"{"url": "http://a", "method": "BREW"}"#,
            "takes one of GET, POST",
        ),
        (
            r#"{"url": "http://a", "acceptStatuses": ["oops"]}"#,
            "Parameter `acceptStatuses[0]` takes a status",
        ),
        (
            r#"{"url": "http://a", "auth": {"token": "x"}}"#,
            "takes {basic: {user, password}}, {bearer} or",
        ),
        (
            r#"{"url": "http://a", "auth": {"bearer": "x", "basic": {"user": "u", "password": "p"}}}"#,
            "Parameter `auth`",
        ),
        (
            r#"{"url": "http://a", "body": "%%", "bodyType": "base64"}"#,
            "Parameter `body` takes base64",
        ),
        (
            r#"{"url": "http://a", "headers": {"x": {}}}"#,
            "Parameter `headers.x` takes text",
        ),
        (
            r#"{"url": "http://a", "timeoutMs": 0}"#,
            "Parameter `timeoutMs` takes a whole number from 1",
        ),
    ];
    for (parameters, expected) in cases {
        let answer = run("HttpRequest", parameters, "null");
        assert!(
            answer.starts_with("PARAMETER: ") && answer.contains(expected),
            "{parameters}: {answer}"
        );
    }
}

#[test]
fn responses_are_read_by_their_type() {
    let json = r#"{"status": 200, "headers": {"content-type": "application/json; charset=utf-8"}, "text": "{\"a\":1}"}"#;
    let plain = r#"{"status": 201, "headers": {"content-type": "text/plain"}, "text": "hey"}"#;
    let bytes = r#"{"status": 200, "headers": {}, "base64": "/w=="}"#;
    let cases = [
        (
            "{}",
            json,
            r#"{"status":200,"headers":{"content-type":"application/json; charset=utf-8"},"body":{"a":1}}"#,
        ),
        (r#"{"bodyOnly": true}"#, json, r#"{"a":1}"#),
        (
            r#"{"bodyOnly": true, "responseType": "text"}"#,
            json,
            r#""{\"a\":1}""#,
        ),
        (
            r#"{"bodyOnly": true, "responseType": "base64"}"#,
            plain,
            r#""aGV5""#,
        ),
        (r#"{"bodyOnly": true}"#, plain, r#""hey""#),
        (r#"{"bodyOnly": true}"#, bytes, r#""/w==""#),
        (
            r#"{"bodyOnly": true}"#,
            r#"{"status": 204, "headers": {"content-type": "application/json"}, "text": ""}"#,
            r#""""#,
        ),
    ];
    for (parameters, given, expected) in cases {
        assert_eq!(response(parameters, given), expected, "{parameters} {given}");
    }
    assert!(
        response(r#"{"responseType": "json"}"#, plain).starts_with("PARSE: The response is not valid JSON")
    );
    let deep = format!(
        r#"{{"status": 200, "text": "{}{}"}}"#,
        "[".repeat(600),
        "]".repeat(600)
    );
    let answer = response(r#"{"responseType": "json"}"#, &deep);
    assert!(
        answer.starts_with("DEPTH_LIMIT: The response is nested more than 512 levels deep"),
        "{answer}"
    );
    assert!(
        response(r#"{"responseType": "text"}"#, bytes).starts_with("PARSE: The response is not UTF-8 text")
    );
}

#[test]
fn statuses_fail_unless_they_are_accepted() {
    let missing = r#"{"status": 404, "headers": {}, "text": "no such order"}"#;
    assert_eq!(
        response(
            r#"{"url": "https://u:p@a.example/orders?token=x", "method": "PUT"}"#,
            missing
        ),
        "HTTP_404: PUT https://a.example/orders answered with the status 404: no such order"
    );
    for accepted in ["[404]", "[\"4xx\"]", "[\"400-404\"]", "[200, \"404\"]"] {
        assert_eq!(
            response(
                &format!(r#"{{"bodyOnly": true, "acceptStatuses": {accepted}}}"#),
                missing
            ),
            r#""no such order""#
        );
    }
    assert!(
        response(
            r#"{"acceptStatuses": [404]}"#,
            r#"{"status": 200, "headers": {}, "text": ""}"#
        )
        .starts_with("HTTP_200")
    );
}
