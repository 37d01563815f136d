//! `heddle keys rotate`, beside a running server.

use crate::server::{Server, heddle, output};
use serde_json::{Value, json};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

const FIRST: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
const SECOND: &str = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";

/// A user with a secret in a workspace's default environment: the user's token.
fn keep_a_secret(server: &Server) -> String {
    let token = server.register();
    let (_, listed) = server.call("GET", "/api/workspaces", &token, "");
    let workspace = listed["data"][0]["id"].as_str().unwrap().to_owned();
    let path = format!("/api/workspaces/{workspace}/environments");
    let (_, environments) = server.call("GET", &path, &token, "");
    let environment = environments["data"][0]["id"].as_str().unwrap();
    let path = format!("{path}/{environment}/secrets/KEY");
    let (status, told) = server.call("PUT", &path, &token, r#"{"value": "hush"}"#);
    assert_eq!(status, 200, "{told}");
    token
}

/// What a run makes with the secret.
fn signature(server: &Server, token: &str) -> Value {
    let graph = json!({
        "nodes": [
            {"id": "start", "type": "OnManual"},
            {"id": "sign", "type": "Hmac", "data": {"parameters": {"value": "x", "secret": "{{ $secrets.KEY }}"}}},
            {"id": "end", "type": "Return"},
        ],
        "edges": [{"source": "start", "target": "sign"}, {"source": "sign", "target": "end"}],
    });
    let body = json!({"graphData": graph, "nodeDefinitions": {}}).to_string();
    let (_, transpiled) = server.call("POST", "/api/execute/transpile", token, &body);
    let body = json!({"code": transpiled["code"], "eventData": {}}).to_string();
    let (status, ended) = server.call("POST", "/api/execute/run", token, &body);
    assert_eq!((status, &ended["status"]), (200, &json!("completed")), "{ended}");
    ended["output"].clone()
}

fn rotate(dir: &Path) -> Command {
    let mut command = heddle(dir);
    command.args(["keys", "rotate"]);
    command
}

#[test]
fn a_kept_master_key_is_exchanged_while_a_server_runs() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("heddle-data");
    let server = Server::start(dir.path(), &[]);
    let token = keep_a_secret(&server);
    let signed = signature(&server, &token);
    let before = std::fs::read_to_string(data.join("master-key")).unwrap();

    let (code, told, error) = output(&mut rotate(dir.path()));
    assert_eq!(code, 0, "{error}");
    assert!(told.contains("1 data key is encrypted"), "{told}");
    let after = std::fs::read_to_string(data.join("master-key")).unwrap();
    assert_ne!(before, after);
    assert_eq!(
        std::fs::read_to_string(data.join("master-key.previous")).unwrap(),
        before
    );
    let mode = data.join("master-key").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(signature(&server, &token), signed);
    assert_eq!(server.stop(), Some(0));
    let server = Server::start(dir.path(), &[]);
    assert_eq!(signature(&server, &token), signed);
}

#[test]
fn an_interrupted_exchange_of_a_kept_key_is_finished_by_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("heddle-data");
    let server = Server::start(dir.path(), &[]);
    let token = keep_a_secret(&server);
    let signed = signature(&server, &token);
    let before = std::fs::read(data.join("master-key")).unwrap();
    assert_eq!(output(&mut rotate(dir.path())).0, 0);
    // As if the process had ended after the database's part.
    std::fs::rename(data.join("master-key"), data.join("master-key.next")).unwrap();
    std::fs::write(data.join("master-key"), before).unwrap();

    let (code, told, error) = output(rotate(dir.path()).arg("--json"));
    assert_eq!(code, 0, "{error}");
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["dataKeys"], 0);
    assert!(!data.join("master-key.next").exists());
    assert_eq!(server.stop(), Some(0));
    let server = Server::start(dir.path(), &[]);
    assert_eq!(signature(&server, &token), signed);
}

#[test]
fn a_master_key_from_the_settings_is_exchanged_for_one_that_is_given_or_told() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path(), &[("HEDDLE_MASTER_KEY", FIRST)]);
    let token = keep_a_secret(&server);
    let signed = signature(&server, &token);

    let mut command = rotate(dir.path());
    command
        .args(["--new-key-stdin", "--json"])
        .env("HEDDLE_MASTER_KEY", FIRST)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut process = command.spawn().unwrap();
    writeln!(process.stdin.take().unwrap(), "{SECOND}").unwrap();
    let ended = process.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0));
    let told: Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!((&told["dataKeys"], &told["masterKey"]), (&json!(1), &Value::Null));
    assert_eq!(signature(&server, &token), signed);

    // The first is no longer the key of this database.
    let (code, _, error) = output(rotate(dir.path()).env("HEDDLE_MASTER_KEY", FIRST));
    assert_eq!(code, 1);
    assert!(error.contains("encrypted under the master key"), "{error}");

    let (code, told, _) = output(rotate(dir.path()).env("HEDDLE_MASTER_KEY", SECOND));
    assert_eq!(code, 0);
    let third = told.trim().strip_prefix("HEDDLE_MASTER_KEY=").unwrap();
    assert_eq!(server.stop(), Some(0));
    let server = Server::start(dir.path(), &[("HEDDLE_MASTER_KEY", third)]);
    assert_eq!(signature(&server, &token), signed);
    assert!(!dir.path().join("heddle-data/master-key").exists());
}

#[test]
fn a_key_of_another_length_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = rotate(dir.path());
    command
        .arg("--new-key-stdin")
        .stdin(Stdio::piped())
        .stderr(Stdio::piped());
    let mut process = command.spawn().unwrap();
    writeln!(process.stdin.take().unwrap(), "c2hvcnQ=").unwrap();
    let ended = process.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&ended.stderr).contains("32 bytes in base64"));
}
