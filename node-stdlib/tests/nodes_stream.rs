//! ReadStream, and the responses of HttpRequest that it reads.

#![expect(clippy::unwrap_used, reason = "tests")]

#[expect(dead_code, reason = "other tests have more use for it")]
mod support;

use heddle_node_stdlib::node::{NodeResult, Outcome};
use heddle_node_stdlib::nodes::lookup;
use heddle_values::{Object, Value};
use support::{Fake, value};

const STREAM: &str = r#"{"$stream": "s1", "format": "jsonLines"}"#;

fn object(json: &str) -> Object {
    match value(json) {
        Value::Object(object) => object,
        other => panic!("{other:?}"),
    }
}

fn shown(result: NodeResult) -> String {
    match result {
        Ok(Outcome::Effect { kind, request }) => format!("{kind} {}", request.to_json()),
        Ok(Outcome::Emit(emission)) => emission.0[0].1.to_json(),
        Ok(other) => format!("{other:?}"),
        Err(failure) => format!("{}: {}", failure.code, failure.message),
    }
}

/// What a node asks for with this input.
fn asked(node_type: &str, parameters: &str, input: &str) -> String {
    let mut fake = Fake {
        ports: vec![Some(value(input))],
        ..Fake::default()
    };
    let (run, _) = lookup(node_type).unwrap();
    shown(run(&object(parameters), &mut fake))
}

/// What it gives after this result.
fn given(node_type: &str, parameters: &str, result: &str) -> String {
    let (_, resume) = lookup(node_type).unwrap();
    shown(resume.unwrap()(
        &object(parameters),
        value(result),
        &mut Fake::default(),
    ))
}

#[test]
fn nothing_is_looked_for_in_a_body_that_is_left_open() {
    for name in ["failure", "result"] {
        let parameters = format!(r#"{{"url": "https://a.example", "responseType": "lines", "{name}": "a"}}"#);
        let refused = asked("HttpRequest", &parameters, "null");
        assert!(
            refused.starts_with("PARAMETER: ") && refused.contains(name),
            "{refused}"
        );
    }
    let parameters =
        r#"{"url": "https://a.example", "responseType": "lines", "acceptStatuses": ["2xx", 304]}"#;
    let request = asked("HttpRequest", parameters, "null");
    assert!(
        request.contains(r#""accepted":[[200,299],[304,304]]"#),
        "{request}"
    );
}

#[test]
fn a_response_may_be_left_open() {
    for form in ["lines", "jsonLines", "events"] {
        let parameters =
            format!(r#"{{"url": "https://a.example", "responseType": "{form}", "bodyOnly": true}}"#);
        let request = asked("HttpRequest", &parameters, "null");
        assert!(
            request.ends_with(&format!(r#","response":"{form}"}}"#)),
            "{request}"
        );
        let accepts = request.contains(r#""headers":[["accept","text/event-stream"]]"#);
        assert_eq!(accepts, form == "events", "{request}");
        let opened = given(
            "HttpRequest",
            &parameters,
            r#"{"status": 200, "headers": {}, "stream": "s1"}"#,
        );
        assert_eq!(opened, format!(r#"{{"$stream":"s1","format":"{form}"}}"#));
    }
    let own = r#"{"url": "https://a.example", "responseType": "events", "headers": {"Accept": "*/*"}}"#;
    let request = asked("HttpRequest", own, "null");
    assert!(request.contains(r#""headers":[["Accept","*/*"]]"#), "{request}");
    let pages = r#"{"url": "https://a.example", "responseType": "events", "pagination": {"type": "page"}}"#;
    let refused = asked("HttpRequest", pages, "null");
    assert!(
        refused.starts_with("PARAMETER: The pages of a list are read as JSON"),
        "{refused}"
    );
}

#[test]
fn streams_are_read_and_closed() {
    let cases = [
        ("{}", r#"{"stream":"s1"}"#),
        (
            r#"{"limit": 5, "waitMs": 0, "gatherMs": 250}"#,
            r#"{"stream":"s1","count":5,"waitMs":0,"gatherMs":250}"#,
        ),
        (
            r#"{"operation": "close", "limit": 5}"#,
            r#"{"stream":"s1","close":true}"#,
        ),
        (r#"{"stream": {"$stream": "s2"}}"#, r#"{"stream":"s2"}"#),
    ];
    for (parameters, request) in cases {
        let expected = format!("stream-read {request}");
        assert_eq!(asked("ReadStream", parameters, STREAM), expected, "{parameters}");
    }
    for (parameters, input) in [
        ("{}", "null"),
        ("{}", r#"{"status": 200, "body": {"$stream": "s1"}}"#),
        (r#"{"stream": "s1"}"#, STREAM),
        (r#"{"stream": {"$stream": 1}}"#, STREAM),
        (r#"{"limit": 0}"#, STREAM),
        (r#"{"limit": 1001}"#, STREAM),
        (r#"{"waitMs": -1}"#, STREAM),
        (r#"{"gatherMs": 60001}"#, STREAM),
        (r#"{"operation": "open"}"#, STREAM),
    ] {
        let found = asked("ReadStream", parameters, input);
        assert!(
            found.starts_with("PARAMETER: Parameter `"),
            "{parameters}: {found}"
        );
    }
}

#[test]
fn entries_are_given_as_what_they_are() {
    let events = r#"{"items":[{"event":"message","data":"{\"a\": 1}"}],"done":false}"#;
    let result = r#"{"items": [{"event": "message", "data": "{\"a\": 1}"}], "done": false, "json": false}"#;
    assert_eq!(given("ReadStream", "{}", result), events);
    let lines = |json: bool| {
        let result = format!(r#"{{"items": ["{{\"a\": 1}}", "2"], "done": true, "json": {json}}}"#);
        given("ReadStream", "{}", &result)
    };
    assert_eq!(lines(false), r#"{"items":["{\"a\": 1}","2"],"done":true}"#);
    assert_eq!(lines(true), r#"{"items":[{"a":1},2],"done":true}"#);
    let wrong = given(
        "ReadStream",
        "{}",
        r#"{"items": ["1", "<html>"], "done": true, "json": true}"#,
    );
    assert!(
        wrong.starts_with("PARSE: A line of the stream is not valid JSON:")
            && wrong.ends_with("It begins with: <html>"),
        "{wrong}"
    );
}
