//! `heddle backup` and `heddle restore`, beside running servers and while they are under load.

use crate::message;
use crate::sender::{Hook, Sender};
use crate::server::{Server, heddle, output, pause};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const UNLIMITED: [(&str, &str); 1] = [("HEDDLE_WEBHOOK_RATE_LIMIT", "0")];

/// What a command in `dir` told on both outputs, and its exit code.
fn told(dir: &Path, args: &[&str]) -> (i32, String) {
    let (code, result, notes) = output(heddle(dir).args(args));
    (code, result + &notes)
}

fn succeeds(dir: &Path, args: &[&str]) -> String {
    let (code, told) = told(dir, args);
    assert_eq!(code, 0, "{args:?}: {told}");
    told
}

fn refuses(dir: &Path, args: &[&str], exit: i32, because: &str) {
    let (code, told) = told(dir, args);
    assert_eq!(code, exit, "{args:?}: {told}");
    assert!(told.contains(because), "{args:?}: {told}");
}

#[test]
fn a_backup_made_under_load_has_every_run_that_was_accepted_before_it() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = Server::start(dir.path(), &UNLIMITED);
    let hook = Hook::doubling(&server);
    let file = dir.path().join("today.db");
    let file = file.to_str().unwrap();
    let (sent, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let accepted = Mutex::new(BTreeSet::new());
    let before = std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut sender = Sender::connect(&server.address).unwrap();
                while !is_over.load(Ordering::SeqCst) {
                    let event = sent.fetch_add(1, Ordering::SeqCst);
                    let answer = sender.send(&hook, &format!("event-{event}"), event).unwrap();
                    assert_eq!(answer.status, 202, "{}", answer.body);
                    let run = answer.body["runId"].as_str().unwrap().to_owned();
                    accepted.lock().unwrap().insert(run);
                }
            });
        }
        while accepted.lock().unwrap().len() < 300 {
            pause();
        }
        let before = accepted.lock().unwrap().clone();
        let told = succeeds(dir.path(), &["backup", file, "--with-keys"]);
        is_over.store(true, Ordering::SeqCst);
        assert!(told.contains("contains the keys"), "{told}");
        before
    });
    drop(server);
    assert_eq!(
        Path::new(file).metadata().unwrap().permissions().mode() & 0o777,
        0o600
    );

    succeeds(other.path(), &["restore", file]);
    let server = Server::start(other.path(), &UNLIMITED);
    server.await_ends(&hook.token, &hook.deployment);
    let runs = server.runs(&hook.token, &hook.deployment);
    assert!(runs.iter().all(|run| run["status"] == "success"));
    let ids: BTreeSet<String> = runs
        .iter()
        .map(|run| run["id"].as_str().unwrap().to_owned())
        .collect();
    assert!(before.is_subset(&ids), "{} of {}", ids.len(), before.len());
    let mut sender = Sender::connect(&server.address).unwrap();
    let answer = sender.send(&hook, "after", 1).unwrap();
    assert_eq!(answer.status, 202, "{}", answer.body);
    // What was known before the backup is known afterwards.
    let answer = sender.send(&hook, "event-0", 0).unwrap();
    assert_eq!(answer.body["status"], "duplicate", "{}", answer.body);
}

/// Waits for a request, and gives its key and the connection, which is still to be answered.
fn request(listener: &TcpListener) -> (String, std::net::TcpStream) {
    let (stream, _) = listener.accept().unwrap();
    let request = message::read(&mut BufReader::new(&stream)).unwrap();
    (request.header("idempotency-key").unwrap().to_owned(), stream)
}

#[test]
fn a_run_that_was_under_way_goes_on_after_the_restore() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let variables = [("HEDDLE_EGRESS_ALLOW", "127.0.0.0/8")];
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = Server::start(dir.path(), &variables);
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (token, deployment) = server.deploy(&json!({
        "nodes": [
            {"id": "start", "type": "OnManual"},
            {"id": "ask", "type": "HttpRequest", "data": {"parameters": {"url": url, "bodyOnly": true}}},
            {"id": "end", "type": "Return", "data": {"parameters": {"value": "{{ $input }}"}}},
        ],
        "edges": [{"source": "start", "target": "ask"}, {"source": "ask", "target": "end"}],
    }));
    let path = format!("/api/deployments/{deployment}/execute");
    let (_, started) = server.call("POST", &path, &token, "{}");
    let (key, unanswered) = request(&listener);
    let file = dir.path().join("today.db");
    succeeds(dir.path(), &["backup", file.to_str().unwrap(), "--with-keys"]);
    drop(server);
    drop(unanswered);

    succeeds(other.path(), &["restore", file.to_str().unwrap()]);
    let server = Server::start(other.path(), &variables);
    let (again, mut stream) = request(&listener);
    assert_eq!(again, key);
    stream
        .write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\ncontent-length: 4\r\n\r\ndone")
        .unwrap();
    server.await_ends(&token, &deployment);
    let runs = server.runs(&token, &deployment);
    assert_eq!(runs.len(), 1);
    assert_eq!(
        (&runs[0]["id"], &runs[0]["status"]),
        (&started["data"]["runId"], &json!("success"))
    );
}

#[test]
fn a_backup_without_keys_says_which_to_keep_and_is_restored_with_them_only() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let data = other.path().join("heddle-data");
    let server = Server::start(dir.path(), &[]);
    let hook = Hook::doubling(&server);
    let file = dir.path().join("today.db");
    let file = file.to_str().unwrap();
    let told = succeeds(dir.path(), &["backup", file]);
    for name in ["heddle-data/master-key", "heddle-data/jwt-secret"] {
        assert!(told.contains(name), "{told}");
    }
    let (_, told) = self::told(dir.path(), &["backup", file, "--force", "--json"]);
    let told: Value = serde_json::from_str(told.lines().next().unwrap()).unwrap();
    let id = told["masterKeyId"].as_str().unwrap();

    refuses(other.path(), &["restore", file], 1, id);
    assert!(!data.join("heddle.db").exists());
    std::fs::write(
        data.join("master-key"),
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n",
    )
    .unwrap();
    refuses(other.path(), &["restore", file, "--force"], 1, id);
    std::fs::copy(dir.path().join("heddle-data/master-key"), data.join("master-key")).unwrap();
    let told = succeeds(other.path(), &["restore", file]);
    assert!(told.contains("token secret is missing"), "{told}");
    let server = Server::start(other.path(), &[]);
    let answer = Sender::connect(&server.address)
        .unwrap()
        .send(&hook, "a", 1)
        .unwrap();
    assert_eq!(answer.status, 202, "the webhook's secret can be read");
}

#[test]
fn nothing_is_overwritten_without_being_asked_and_nothing_under_a_server() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path(), &[]);
    server.register();
    succeeds(dir.path(), &["backup", "today.db", "--with-keys"]);
    refuses(dir.path(), &["backup", "today.db"], 1, "--force");
    succeeds(dir.path(), &["backup", "today.db", "--with-keys", "--force"]);
    let itself = ["backup", "heddle-data/heddle.db", "--force"];
    refuses(dir.path(), &itself, 2, "the database itself");
    refuses(
        dir.path(),
        &["restore", "today.db", "--force"],
        1,
        "stop it first",
    );
    let second = ["serve", "--listen", "127.0.0.1:0"];
    refuses(dir.path(), &second, 1, "stop it first");
    assert_eq!(server.stop(), Some(0));
    refuses(dir.path(), &["restore", "today.db"], 1, "--force");
    refuses(
        dir.path(),
        &["backup", "there/is/none", "--data-dir", "elsewhere"],
        4,
        "no database",
    );
    assert!(!dir.path().join("elsewhere").exists());
}

#[test]
fn a_forced_restore_leaves_nothing_of_what_was_there() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("heddle-data");
    let server = Server::start(dir.path(), &[]);
    let token = server.register();
    succeeds(dir.path(), &["backup", "today.db", "--with-keys"]);
    let (status, _) = server.call("POST", "/api/patterns", &token, r#"{"name": "Later"}"#);
    assert_eq!(status, 201);
    // Killed, so that its log stays.
    drop(server);
    assert!(data.join("heddle.db-wal").exists());
    succeeds(dir.path(), &["restore", "today.db", "--force"]);
    assert!(!data.join("heddle.db-wal").exists());
    assert!(!data.join("heddle.db.restoring").exists());
    // The keys have been taken out of the database.
    let key = std::fs::read(data.join("master-key")).unwrap();
    let (key, restored) = (key.trim_ascii(), std::fs::read(data.join("heddle.db")).unwrap());
    assert!(!restored.windows(key.len()).any(|window| window == key));
    let server = Server::start(dir.path(), &[]);
    let (status, listed) = server.call("GET", "/api/patterns", &token, "");
    assert_eq!((status, &listed["meta"]["total"]), (200, &json!(0)), "{listed}");
}

#[test]
fn a_file_that_is_no_backup_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path(), &[]);
    server.register();
    succeeds(dir.path(), &["backup", "today.db"]);
    assert_eq!(server.stop(), Some(0));
    let database = dir.path().join("heddle-data/heddle.db");
    let before = std::fs::read(&database).unwrap();
    let whole = std::fs::read(dir.path().join("today.db")).unwrap();
    std::fs::write(dir.path().join("half.db"), &whole[..whole.len() / 2]).unwrap();
    std::fs::write(dir.path().join("text.db"), "not a database\n").unwrap();
    for (file, because) in [("half.db", "half.db is truncated"), ("text.db", "not a SQLite")] {
        refuses(dir.path(), &["restore", file, "--force"], 5, because);
    }
    refuses(dir.path(), &["restore", "none.db", "--force"], 4, "none.db");
    assert!(!dir.path().join("heddle-data/heddle.db.restoring").exists());
    assert_eq!(std::fs::read(&database).unwrap(), before);
}

#[test]
fn postgres_is_left_to_its_own_tools_with_the_command_to_use() {
    let dir = tempfile::tempdir().unwrap();
    for (args, tool) in [
        (
            ["backup", "to day.dump"],
            "pg_dump --format=custom --file='to day.dump'",
        ),
        (["restore", "today.dump"], "pg_restore --clean --if-exists"),
    ] {
        let mut command = heddle(dir.path());
        command
            .args(args)
            .env("HEDDLE_DATABASE_URL", "postgres://heddle:hush@db.example/heddle");
        let (code, _, told) = output(&mut command);
        assert_eq!(code, 2, "{told}");
        assert!(told.contains(tool) && !told.contains("hush"), "{told}");
    }
}

#[test]
fn a_backup_has_no_secret_in_clear() {
    const MARK: &str = "9c1f6a52d0be4e7b";
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path(), &UNLIMITED);
    let secret = format!("{MARK}-secret");
    let account = json!({
        "email": "ann@example.com", "firstName": "Ann", "lastName": "Lee", "password": format!("{MARK}-password"),
    });
    let (status, registered) = server.call("POST", "/api/auth/register", "", &account.to_string());
    assert_eq!(status, 201, "{registered}");
    let token = registered["data"]["token"].as_str().unwrap();
    let call = |method: &str, path: &str, body: Value| {
        let (status, answer) = server.call(method, path, token, &body.to_string());
        assert!(matches!(status, 200 | 201), "{path}: {answer}");
        answer
    };
    let workspaces = call("GET", "/api/workspaces", Value::Null);
    let workspace = workspaces["data"][0]["id"].as_str().unwrap();
    let environments = format!("/api/workspaces/{workspace}/environments");
    let environment = call("GET", &environments, Value::Null)["data"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    call(
        "PUT",
        &format!("{environments}/{environment}/secrets/KEY"),
        json!({"value": secret}),
    );
    call(
        "POST",
        "/api/connections/api-key",
        json!({"provider": "shop", "apiKey": secret}),
    );
    let key = call("POST", "/api/auth/api-keys", json!({"name": "CI"}));
    let key = key["data"]["key"].as_str().unwrap().to_owned();
    let file = dir.path().join("today.db");
    succeeds(dir.path(), &["backup", file.to_str().unwrap()]);
    let backup = std::fs::read(&file).unwrap();
    let has = |text: &[u8]| backup.windows(text.len()).any(|window| window == text);
    assert!(has(b"ann@example.com"), "what is searched is the database");
    let kept = |name: &str| std::fs::read(dir.path().join("heddle-data").join(name)).unwrap();
    let keys = [kept("master-key"), kept("jwt-secret")];
    let clear = [MARK.as_bytes(), token.as_bytes(), key.as_bytes()];
    for text in clear.into_iter().chain(keys.iter().map(|key| key.trim_ascii())) {
        let spellings = [
            text.to_vec(),
            hex::encode(text).into(),
            hex::encode_upper(text).into(),
        ];
        for spelling in spellings {
            assert!(!has(&spelling), "{}", String::from_utf8_lossy(&spelling));
        }
    }
}
