//! What a collector gets of runs and their effects, by OTLP over HTTP.

use crate::message;
use crate::server::Server;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use serde_json::json;
use std::io::{BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, channel};

/// Answers every request with 404, except those to `/v1/traces`, whose bodies it hands on.
fn collector() -> (SocketAddr, Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let request = message::read(&mut BufReader::new(&stream)).unwrap();
            let is_traces = request.first.starts_with("POST /v1/traces ");
            let status = if is_traces { "200 OK" } else { "404 Not Found" };
            let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            stream.write_all(answer.as_bytes()).unwrap();
            if is_traces && sender.send(request.body).is_err() {
                return;
            }
        }
    });
    (address, receiver)
}

fn attribute(span: &Span, name: &str) -> Option<String> {
    use opentelemetry_proto::tonic::common::v1::any_value::Value;
    let found = span.attributes.iter().find(|attribute| attribute.key == name)?;
    match found.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text.clone()),
        Value::IntValue(number) => Some(number.to_string()),
        other => panic!("{name} is {other:?}"),
    }
}

#[test]
fn a_run_and_its_effects_are_spans_at_the_collector() {
    let (address, sent) = collector();
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(
        dir.path(),
        &[
            ("HEDDLE_OTLP_ENDPOINT", &format!("http://{address}")),
            ("HEDDLE_EGRESS_ALLOW", &address.to_string()),
        ],
    );
    let url = format!("http://{address}/secret-path");
    let (token, deployment) = server.deploy(&json!({
        "nodes": [
            {"id": "start", "type": "OnManual"},
            {"id": "call", "type": "HttpRequest", "data": {"parameters": {"url": url}}},
        ],
        "edges": [{"source": "start", "target": "call"}],
    }));
    let (status, run) = server.call(
        "POST",
        &format!("/api/deployments/{deployment}/execute?wait=true"),
        &token,
        r#"{"eventData": {"name": "hush"}}"#,
    );
    assert_eq!(status, 200, "{run}");
    let run_id = run["data"]["runId"].as_str().unwrap();
    assert_eq!(server.stop(), Some(0));

    let bodies: Vec<Vec<u8>> = sent.try_iter().collect();
    let spans: Vec<Span> = bodies
        .iter()
        .flat_map(|body| ExportTraceServiceRequest::decode(&**body).unwrap().resource_spans)
        .flat_map(|resource| resource.scope_spans)
        .flat_map(|scope| scope.spans)
        .collect();
    let named = |name: &str| spans.iter().find(|span| span.name == name).unwrap();
    let (run, effect) = (named("run"), named("http"));
    assert_eq!(spans.len(), 2, "{spans:#?}");
    assert_eq!(attribute(run, "heddle.run_id").as_deref(), Some(run_id));
    assert_eq!(
        attribute(run, "heddle.deployment_id").as_deref(),
        Some(&*deployment)
    );
    assert_eq!(attribute(run, "error.type").as_deref(), Some("HTTP_404"));
    assert_eq!(
        (&effect.trace_id, &effect.parent_span_id),
        (&run.trace_id, &run.span_id)
    );
    assert_eq!(attribute(effect, "heddle.node_id").as_deref(), Some("call"));
    // The request was answered; that 404 is a failure is the node's decision.
    assert_eq!(attribute(effect, "error.type"), None);
    assert!(run.start_time_unix_nano <= effect.start_time_unix_nano);
    assert!(effect.end_time_unix_nano <= run.end_time_unix_nano);
    let text = String::from_utf8_lossy(&bodies.concat()).into_owned();
    assert!(!text.contains("hush") && !text.contains("secret-path"));
}
