//! A server takes the place of the version before, which has left databases with runs that wait, journals, modules and logins:
//! see `before/make`, which made what is beside it.

use crate::sender::sign;
use crate::server::{Server, database, on};
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use std::io::Read;
use std::path::Path;

const MADE: &str = include_str!("before/made.json");
const SQLITE: &[u8] = include_bytes!("before/sqlite.db.gz");
const POSTGRES: &[u8] = include_bytes!("before/postgres.sql.gz");

/// It was made some time ago, and nothing of it is to be removed because of that.
const KEEPS: [(&str, &str); 5] = [
    ("HEDDLE_RETENTION", "3650d"),
    ("HEDDLE_RETENTION_JOURNALS", "3650d"),
    ("HEDDLE_SESSION_TTL", "3650d"),
    ("HEDDLE_TOKEN_TTL", "3650d"),
    ("HEDDLE_BASE_URL", "http://heddle.example.com"),
];

fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut unpacked = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut unpacked).unwrap();
    unpacked
}

/// What a run gave that told `[count, a random id, when it began, a variable, its event, what came]`.
fn output(server: &Server, token: &str, of: &Value) -> Value {
    let (deployment, run) = (text(&of["deployment"]), text(&of["run"]));
    let path = format!("/api/deployments/{deployment}/runs/{run}");
    let (status, found) = server.call("GET", &path, token, "");
    assert_eq!(
        (status, &found["data"]["status"]),
        (200, &json!("success")),
        "{found}"
    );
    found["data"]["output"].clone()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

/// All that the version before had begun goes on.
fn goes_on(server: &Server, made: &Value) {
    let token = text(&made["token"]);
    for credential in [token, text(&made["key"])] {
        assert_eq!(server.call("GET", "/api/auth/me", credential, "").0, 200);
    }
    let session = exchange(
        server,
        "GET",
        "/api/session",
        &[("cookie", text(&made["cookie"]))],
        "",
    );
    assert!(session.starts_with("HTTP/1.1 200"), "{session}");
    // The run that waited for a time has been due since.
    server.await_ends(token, text(&made["waits"]["deployment"]));
    let waited = output(server, token, &made["waits"]);
    assert_eq!(
        (&waited[0], &waited[3], &waited[4]),
        (&json!(1), &json!("before"), &json!(2)),
        "{waited}"
    );
    // The one that waits to be called goes on by its journal, with the same random numbers as before.
    let asks = &made["asks"];
    let body = r#"{"approved": true}"#;
    let (status, called) = server.call("POST", text(&asks["path"]), "", body);
    assert_eq!(status, 200, "{called}");
    server.await_ends(token, text(&asks["deployment"]));
    let asked = output(server, token, asks);
    assert_eq!(
        (&asked[0], &asked[5]),
        (&json!(1), &json!({"approved": true})),
        "{asked}"
    );
    let path = format!(
        "/api/deployments/{}/runs/{}",
        text(&asks["deployment"]),
        text(&asks["run"])
    );
    let log = server.call("GET", &path, token, "").1["data"]["logOutput"][0]["message"].clone();
    assert_eq!(log, asks["message"]);
    // What had ended can be executed once more, from its journal.
    let does = &made["does"];
    let path = format!(
        "/api/deployments/{}/runs/{}/trace",
        text(&does["deployment"]),
        text(&does["run"])
    );
    let replayed = exchange(
        server,
        "POST",
        &path,
        &[("authorization", &format!("Bearer {token}"))],
        "",
    );
    assert!(
        replayed.contains("The replay ended as the run did."),
        "{replayed}"
    );
    // Modules that were compiled then run, and a key that was used then starts nothing.
    let (webhook, secret) = (text(&made["hook"]["webhook"]), text(&made["hook"]["secret"]));
    let body = r#"{"n": 21}"#;
    let signature = sign(secret, body);
    let path = format!("/webhooks/{webhook}");
    let headers = [
        ("content-type", "application/json"),
        ("x-webhook-signature", signature.as_str()),
    ];
    let answered = exchange(server, "POST", &path, &headers, body);
    assert!(
        answered.starts_with("HTTP/1.1 200") && answered.contains("42"),
        "{answered}"
    );
    let deployed = server.deploy_as(
        token,
        &json!({"nodes": [{"id": "start", "type": "OnManual"}], "edges": []}),
    );
    let path = format!("/api/deployments/{deployed}/execute?wait=true");
    let (status, ran) = server.call("POST", &path, token, r#"{"eventData": {}}"#);
    assert_eq!(
        (status, &ran["data"]["status"]),
        (200, &json!("completed")),
        "{ran}"
    );
}

/// A whole answer.
fn exchange(server: &Server, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
    use std::io::Write;
    let mut stream = std::net::TcpStream::connect(&server.address).unwrap();
    let headers: String = headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: heddle.example.com\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn server(dir: &Path, variables: &[(&str, &str)]) -> Server {
    let variables: Vec<(&str, &str)> = KEEPS.iter().chain(variables).copied().collect();
    Server::start(dir, &variables)
}

#[test]
fn an_embedded_database_of_the_version_before_goes_on() {
    let made: Value = serde_json::from_str(MADE).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("heddle-data");
    std::fs::create_dir(&data).unwrap();
    std::fs::write(data.join("heddle.db"), unpacked(SQLITE)).unwrap();
    let keys = on("");
    goes_on(&server(dir.path(), &keys[1..]), &made["sqlite"]);
}

#[test]
fn a_shared_database_of_the_version_before_goes_on() {
    let made: Value = serde_json::from_str(MADE).unwrap();
    let database = database();
    let dump = String::from_utf8(unpacked(POSTGRES)).unwrap();
    let restoring = async {
        let mut connection = <sqlx::PgConnection as sqlx::Connection>::connect(&database.url)
            .await
            .unwrap();
        sqlx::raw_sql(sqlx::AssertSqlSafe(dump))
            .execute(&mut connection)
            .await
            .unwrap();
    };
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    executor.block_on(restoring);
    let dir = tempfile::tempdir().unwrap();
    goes_on(&server(dir.path(), &on(&database.url)), &made["postgres"]);
}
