//! OnMailbox: mailboxes of a real mail server and of one that is played, over TCP.

mod dovecot;
mod played;

use crate::harness::{Database, Service};
use crate::mail::apart::{only, workers};
use crate::webhooks::fixture::Hook;
use dovecot::{ADDRESS, Dovecot, PASSWORD};
use heddle_execution::scheduler;
use heddle_runtime::{EgressPolicy, WorkerProgram};
use heddle_store::{StoreError, sql};
use played::{Mode, listen};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A service that may reach the tests' own servers.
async fn open(database: Database) -> Service {
    Service::with(database, |config| {
        config.egress = EgressPolicy::parse(["127.0.0.0/8"]).unwrap();
    })
    .await
}

fn graph(more: Value) -> Value {
    let mut parameters = json!({"connection": "support", "cron": "*/10 * * * *"});
    parameters
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    json!({"nodes": [{"id": "mail", "type": "OnMailbox", "data": {"parameters": parameters}}], "edges": []})
}

/// Makes the connection that the graph names.
async fn connect(hook: &Hook<'_>, provider: &str, credentials: Value) {
    let body = json!({"provider": provider, "displayName": "support", "credentials": credentials});
    let made = hook.service.post("/api/connections/credentials");
    let made = made.bearer(&hook.user.token).json(&body).send().await;
    assert_eq!(made.status, 201, "{made}");
}

async fn state(hook: &Hook<'_>, deployment: &str) -> Value {
    let listed = hook
        .get(&format!("/api/deployments/{deployment}/schedules"))
        .await;
    listed.data(200)[0]["poll"].clone()
}

/// Starts what is due until it is so.
async fn until(hook: &Hook<'_>, deployment: &str, is_so: impl Fn(&Value, &[Value]) -> bool) -> Vec<Value> {
    let app = &hook.service.app;
    loop {
        scheduler::tick(&app.executions, app.clock.now()).await.unwrap();
        let (state, runs) = (state(hook, deployment).await, hook.runs(deployment).await);
        if is_so(&state, &runs) {
            return runs;
        }
        tokio::task::yield_now().await;
    }
}

fn is_connected(state: &Value) -> bool {
    state["connectedSince"].is_string()
}

fn message(subject: &str) -> String {
    format!(
        "From: Ann <ann@example.org>\r\nSubject: {subject}\r\nMessage-ID: <{subject}@example.org>\r\n\
         Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nHi\r\n--b\r\nContent-Type: text/csv\r\n\
         Content-Disposition: attachment; filename=\"orders.csv\"\r\n\r\nid\r\n--b--\r\n"
    )
}

async fn each_new_message_starts_a_run(database: Database) {
    let Some(server) = Dovecot::start().await else {
        return;
    };
    let service = open(database).await;
    server.deliver(&message("one"));
    let hook = Hook::saved(&service, graph(json!({"files": true, "afterwards": "seen"}))).await;
    let credentials = json!({
        "host": "127.0.0.1", "port": server.imap.to_string(), "tls": "starttls", "tlsCa": server.certificate,
        "user": ADDRESS, "password": PASSWORD,
    });
    connect(&hook, "imap", credentials).await;
    let deployment = hook.deploy().await;
    // What is there is passed over.
    assert!(
        until(&hook, &deployment, |state, _| is_connected(state))
            .await
            .is_empty()
    );
    // The server tells of what comes.
    server.deliver(&message("two"));
    let runs = until(&hook, &deployment, |_, runs| !runs.is_empty()).await;
    assert_eq!((runs.len(), &runs[0]["triggeredBy"]), (1, &json!("email")));
    let event = &runs[0]["eventData"];
    assert_eq!(
        (&event["subject"], &event["attachments"][0]["name"]),
        (&json!("two"), &json!("orders.csv"))
    );
    assert!(event["attachments"][0]["$file"].is_string(), "{event}");
    let is_read = |name: &String| {
        name.split_once(":2,")
            .is_some_and(|(_, flags)| flags.contains('S'))
    };
    until(&hook, &deployment, |_, _| {
        server.names("").iter().filter(|name| is_read(name)).count() == 1
    })
    .await;
    // A server was killed after it had started the run, and before it said so; and what comes meanwhile is new.
    hook.change(&deployment, "pause").await;
    server.deliver(&message("three"));
    let stopped = service.app.store.write(|db| {
        Box::pin(async move {
            let (reached,): (String,) = db.one(sql("select cursor from polls")).await?;
            let validity = reached.split(':').next().unwrap_or_default().to_owned();
            let set = sql("update polls set seen = '', version = version + 1, cursor = ?");
            db.execute(set.bind(format!("{validity}:1:0"))).await
        })
    });
    let stopped: Result<u64, StoreError> = stopped.await;
    assert_eq!(stopped.unwrap(), 1);
    hook.change(&deployment, "resume").await;
    let subjects = |runs: &[Value]| -> Vec<Value> {
        runs.iter()
            .map(|run| run["eventData"]["subject"].clone())
            .collect()
    };
    let runs = until(&hook, &deployment, |_, runs| runs.len() > 1).await;
    assert_eq!(subjects(&runs), ["three", "two"]);
    // Another version goes on where this one is.
    let moving = json!({"files": true, "afterwards": "move", "moveTo": "Done"});
    hook.save(graph(moving)).await;
    hook.deploy().await;
    server.deliver(&message("four"));
    // Dovecot has it in both folders for a moment.
    until(&hook, &deployment, |_, _| {
        (server.names("").len(), server.names(".Done").len()) == (3, 1)
    })
    .await;
    let runs = hook.runs(&deployment).await;
    assert_eq!(subjects(&runs), ["four", "three", "two"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_new_message_starts_a_run_sqlite() {
    each_new_message_starts_a_run(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_new_message_starts_a_run_postgres() {
    each_new_message_starts_a_run(Database::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_by_pop3_start_runs_and_are_deleted() {
    let Some(server) = Dovecot::start().await else {
        return;
    };
    let service = open(Database::Sqlite).await;
    server.deliver(&message("one"));
    server.deliver(&message("two").replace("\r\nHi\r\n", "\r\n.Hi\r\n"));
    let hook = Hook::saved(
        &service,
        graph(json!({"startFrom": "beginning", "afterwards": "delete"})),
    )
    .await;
    let credentials = json!({
        "host": "127.0.0.1", "port": server.pop3.to_string(), "tls": "starttls", "tlsCa": server.certificate,
        "user": ADDRESS, "password": PASSWORD,
    });
    connect(&hook, "pop3", credentials).await;
    let deployment = hook.deploy().await;
    let runs = until(&hook, &deployment, |_, runs| runs.len() == 2).await;
    let texts = ["Hi", ".Hi"].map(|text| {
        runs.iter()
            .any(|run| run["eventData"]["text"].as_str().unwrap().trim() == text)
    });
    assert_eq!(texts, [true; 2], "{runs:?}");
    until(&hook, &deployment, |state, _| {
        state["lastPolledAt"].is_string() && server.names("").is_empty()
    })
    .await;
    server.deliver(&message("three"));
    service.app.clock.advance(Duration::from_secs(10 * 60));
    let runs = until(&hook, &deployment, |_, runs| runs.len() > 2).await;
    assert_eq!(runs[0]["eventData"]["subject"], "three");
    // A connection is tried in the same way.
    for (password, is_ok) in [(PASSWORD, true), ("wrong-pw", false)] {
        let credentials = json!({
            "host": "127.0.0.1", "port": server.imap.to_string(), "tls": "none", "user": ADDRESS, "password": password,
        });
        let tried = service.post("/api/connections/test").bearer(&hook.user.token);
        let body = json!({"provider": "imap", "credentials": credentials});
        let tried = tried.json(&body).send().await;
        assert_eq!(tried.body["ok"], is_ok, "{tried}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_opens_a_mailbox() {
    const TOKEN: &str = "ya29.a0AfB-byCkF5yD3";
    let service = open(Database::Sqlite).await;
    let mode = Arc::new(Mutex::new(Mode::Token("of another account")));
    let (port, _) = listen(mode.clone()).await;
    let hook = Hook::saved(&service, graph(json!({"startFrom": "beginning"}))).await;
    let credentials = json!({
        "host": "127.0.0.1", "port": port.to_string(), "tls": "none", "user": ADDRESS, "accessToken": TOKEN,
    });
    connect(&hook, "imap", credentials).await;
    let deployment = hook.deploy().await;
    until(&hook, &deployment, |state, _| state["failures"] == json!(1)).await;
    let error = state(&hook, &deployment).await["lastError"].clone();
    let message = error["message"].as_str().unwrap();
    assert_eq!(error["code"], "MAIL_FAILED", "{message}");
    assert!(
        message.contains("refused the login: Invalid credentials") && !message.contains(TOKEN),
        "{message}"
    );
    *mode.lock().unwrap() = Mode::Token(TOKEN);
    service.app.clock.advance(Duration::from_secs(60 * 60));
    let runs = until(&hook, &deployment, |_, runs| runs.len() == 2).await;
    assert_eq!(runs[0]["triggeredBy"], "email");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_server_costs_nothing_but_its_own_mailbox() {
    let service = open(Database::Sqlite).await;
    let mode = Arc::new(Mutex::new(Mode::Endless));
    let (port, _) = listen(mode.clone()).await;
    let hook = Hook::saved(&service, graph(json!({"startFrom": "beginning"}))).await;
    let credentials = json!({"host": "127.0.0.1", "port": port.to_string(), "tls": "none", "user": "a", "password": PASSWORD});
    connect(&hook, "imap", credentials).await;
    let deployment = hook.deploy().await;
    let modes = [
        (Mode::Endless, "MAIL_FAILED"),
        (Mode::Huge, "OUTPUT_LIMIT"),
        (Mode::Unheard, "OUTPUT_LIMIT"),
        (Mode::Tag, "MAIL_FAILED"),
        (Mode::Deep, "MAIL_FAILED"),
        (Mode::Many, "MAIL_FAILED"),
        (Mode::Gone, "MAIL_FAILED"),
        (Mode::Refusing, "MAIL_FAILED"),
    ];
    for (failures, (bad, code)) in (1..).zip(modes) {
        *mode.lock().unwrap() = bad;
        let runs = until(&hook, &deployment, |state, _| {
            state["failures"] == json!(failures)
        })
        .await;
        let state = state(&hook, &deployment).await;
        assert_eq!(state["lastError"]["code"], code, "{bad:?}: {state}");
        let message = state["lastError"]["message"].as_str().unwrap();
        assert!(
            message.contains("127.0.0.1") && !message.contains(PASSWORD),
            "{message}"
        );
        assert!(runs.is_empty(), "{bad:?}: {runs:?}");
        service.app.clock.advance(Duration::from_secs(2 * 60 * 60));
    }
}

/// No other test here has connectors: all there are of mailboxes are killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_message_has_one_run_although_the_connector_is_killed() {
    let service = Service::with(Database::Sqlite, |config| {
        config.egress = EgressPolicy::parse(["127.0.0.0/8"]).unwrap();
        config.connectors = Some(WorkerProgram {
            program: env!("CARGO_BIN_EXE_heddle").into(),
            arguments: vec!["worker".into()],
        });
    })
    .await;
    let fatal = [
        ("CAPABILITY", 0),
        ("UID SEARCH", 0),
        ("UID FETCH 1 (UID BODY", 0),
        // Its run is stored by then.
        ("UID STORE 1", 1),
        ("UID FETCH 2 (UID BODY", 1),
    ];
    let mode = Arc::new(Mutex::new(Mode::Fatal(fatal[0].0)));
    let (port, _) = listen(mode.clone()).await;
    let hook = Hook::saved(
        &service,
        graph(json!({"startFrom": "beginning", "afterwards": "seen"})),
    )
    .await;
    let credentials = json!({"host": "127.0.0.1", "port": port.to_string(), "tls": "none", "user": "a", "password": PASSWORD});
    connect(&hook, "imap", credentials.clone()).await;
    let deployment = hook.deploy().await;
    for (failures, (asked, count)) in (1..).zip(fatal) {
        *mode.lock().unwrap() = Mode::Fatal(asked);
        let runs = until(&hook, &deployment, |state, _| {
            state["failures"] == json!(failures)
        })
        .await;
        let error = state(&hook, &deployment).await["lastError"].clone();
        assert_eq!(error["code"], "MAIL_FAILED", "{asked}: {error}");
        let message = error["message"].as_str().unwrap();
        assert!(
            message.contains("the process that read it crashed"),
            "{asked}: {error}"
        );
        assert_eq!(runs.len(), count, "{asked}: {runs:?}");
        // It rests as if the server could not be reached.
        service.app.clock.advance(Duration::from_secs(2 * 60 * 60));
    }
    *mode.lock().unwrap() = Mode::Well(0);
    let runs = until(&hook, &deployment, |state, runs| {
        runs.len() > 1 && state["failures"] == json!(0)
    })
    .await;
    let subjects: Vec<&Value> = runs.iter().map(|run| &run["eventData"]["subject"]).collect();
    assert_eq!(subjects, [&json!("2"), &json!("1")]);
    let looked = state(&hook, &deployment).await["lastPolledAt"].clone();
    service.app.clock.advance(Duration::from_secs(60 * 60));
    let runs = until(&hook, &deployment, |state, _| state["lastPolledAt"] != looked).await;
    assert_eq!(runs.len(), 2);
    // A connection is tried in the same way.
    let tried = service.post("/api/connections/test").bearer(&hook.user.token);
    let body = json!({"provider": "imap", "credentials": credentials});
    let tried = tried.json(&body).send().await;
    assert_eq!(tried.body["ok"], true, "{tried}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_can_t_be_read_is_passed_over_unless_none_can_be() {
    let dir = tempfile::tempdir().unwrap();
    let none = dir.path().join("none");
    std::fs::write(&none, "").unwrap();
    let ends = "kill -ABRT $$";
    let first_two = only(2, dir.path(), ends);
    let first = format!("if [ -e '{}' ]; then {ends}; fi; {first_two}", none.display());
    let service = Service::with(Database::Sqlite, |config| {
        config.egress = EgressPolicy::parse(["127.0.0.0/8"]).unwrap();
        config.isolation = workers(&first);
    })
    .await;
    let (port, _) = listen(Arc::new(Mutex::new(Mode::Well(0)))).await;
    let hook = Hook::saved(&service, graph(json!({"startFrom": "beginning"}))).await;
    let credentials = json!({"host": "127.0.0.1", "port": port.to_string(), "tls": "none", "user": "a", "password": PASSWORD});
    connect(&hook, "imap", credentials).await;
    let deployment = hook.deploy().await;
    let has = |code: &'static str| move |state: &Value, _: &[Value]| state["lastError"]["code"] == code;
    let runs = until(&hook, &deployment, has("UNAVAILABLE")).await;
    assert!(runs.is_empty(), "{runs:?}");
    // Now it is only the first message, twice.
    std::fs::remove_file(&none).unwrap();
    service.app.clock.advance(Duration::from_secs(2 * 60 * 60));
    let runs = until(&hook, &deployment, has("VALIDATION")).await;
    let subjects: Vec<&Value> = runs.iter().map(|run| &run["eventData"]["subject"]).collect();
    assert_eq!(subjects, [&json!("2")]);
    let passed_over = state(&hook, &deployment).await;
    assert_eq!(passed_over["failures"], 0, "{passed_over}");
    let told = passed_over["lastError"]["message"].as_str().unwrap();
    assert!(told.contains("the process that read it crashed"), "{told}");
    // It is not looked at again.
    service.app.clock.advance(Duration::from_secs(60 * 60));
    let runs = until(&hook, &deployment, |state, _| state["lastError"].is_null()).await;
    assert_eq!(runs.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_numbered_anew_is_not_new() {
    let service = open(Database::Sqlite).await;
    let mode = Arc::new(Mutex::new(Mode::Well(0)));
    let (port, visits) = listen(mode.clone()).await;
    let hook = Hook::saved(&service, graph(json!({"startFrom": "beginning"}))).await;
    let credentials = json!({"host": "127.0.0.1", "port": port.to_string(), "tls": "none", "user": "a", "password": PASSWORD});
    connect(&hook, "imap", credentials).await;
    let deployment = hook.deploy().await;
    // As many servers do at once: one of them looks.
    let now = service.app.clock.now();
    let ticks = (0..8).map(|_| scheduler::tick(&service.app.executions, now));
    for ticked in futures_util::future::join_all(ticks).await {
        ticked.unwrap();
    }
    until(&hook, &deployment, |state, runs| {
        runs.len() == 2 && state["lastPolledAt"].is_string()
    })
    .await;
    assert_eq!(visits.load(Ordering::SeqCst), 1);
    *mode.lock().unwrap() = Mode::Well(1);
    service.app.clock.advance(Duration::from_secs(60 * 60));
    let runs = until(&hook, &deployment, |_, runs| runs.len() > 2).await;
    assert_eq!((runs.len(), &runs[0]["eventData"]["subject"]), (3, &json!("4")));
    let looked = state(&hook, &deployment).await["lastPolledAt"].clone();
    service.app.clock.advance(Duration::from_secs(60 * 60));
    let runs = until(&hook, &deployment, |state, _| state["lastPolledAt"] != looked).await;
    assert_eq!(runs.len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_numbered_anew_has_one_run_although_not_all_can_be_read_for_days() {
    let service = open(Database::Sqlite).await;
    let mode = Arc::new(Mutex::new(Mode::Well(0)));
    let (port, _) = listen(mode.clone()).await;
    let mut hook = Hook::saved(&service, graph(json!({"startFrom": "beginning"}))).await;
    let credentials = json!({"host": "127.0.0.1", "port": port.to_string(), "tls": "none", "user": "a", "password": PASSWORD});
    connect(&hook, "imap", credentials).await;
    let deployment = hook.deploy().await;
    until(&hook, &deployment, |state, runs| {
        runs.len() == 2 && state["lastPolledAt"].is_string()
    })
    .await;
    *mode.lock().unwrap() = Mode::Broken;
    for failures in [1, 2] {
        // Longer than keys of runs are kept.
        service.app.clock.advance(Duration::from_secs(30 * 60 * 60));
        hook.user = service.logged_in("ann", hook.user.clone()).await;
        let runs = until(&hook, &deployment, |state, _| {
            state["failures"] == json!(failures)
        })
        .await;
        assert_eq!((runs.len(), &runs[0]["eventData"]["subject"]), (3, &json!("4")));
    }
    *mode.lock().unwrap() = Mode::Well(2);
    service.app.clock.advance(Duration::from_secs(2 * 60 * 60));
    let runs = until(&hook, &deployment, |_, runs| runs.len() > 3).await;
    assert_eq!((runs.len(), &runs[0]["eventData"]["subject"]), (4, &json!("5")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_servers_that_runs_may_reach_are_connected_to() {
    let service = Service::start(Database::Sqlite).await;
    let (port, _) = listen(Arc::new(Mutex::new(Mode::Well(0)))).await;
    let hook = Hook::saved(&service, graph(json!({}))).await;
    let credentials = json!({"host": "127.0.0.1", "port": port.to_string(), "tls": "none", "user": "a", "password": PASSWORD});
    connect(&hook, "imap", credentials).await;
    let deployment = hook.deploy().await;
    until(&hook, &deployment, |state, _| state["failures"] == json!(1)).await;
    assert_eq!(
        state(&hook, &deployment).await["lastError"]["code"],
        "EGRESS_DENIED"
    );
}
