//! What is done for each deployment, webhook and run, when an environment or a workspace is deleted, and again and again by itself,
//! takes no longer the more there is: on SQLite, whose plans are the same however large a table is, no statement of it reads a table
//! that grows from its beginning to its end.

use crate::log;
use crate::sender::{Hook, Sender};
use crate::server::Server;
use serde_json::{Value, json};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Row};
use std::collections::BTreeSet;

/// Tables of what users make, and of what is kept of what has happened.
const GROWING: [&str; 27] = [
    "artifacts",
    "audit_entries",
    "deployments",
    "email_endpoints",
    "file_blobs",
    "file_references",
    "files",
    "idempotency_keys",
    "journal_entries",
    "key_values",
    "module_seals",
    "pattern_tests",
    "pattern_versions",
    "patterns",
    "polls",
    "run_journals",
    "runs",
    "schedules",
    "signals",
    "subscriptions",
    "tap_events",
    "text_pieces",
    "usage_hours",
    "users",
    "webhook_endpoints",
    "webhook_logs",
    "workspaces",
];
/// Indexes that have nothing but what is under way.
const UNDER_WAY: [&str; 5] = [
    "file_blobs_unfinished",
    "runs_parked",
    "runs_running",
    "runs_suspects",
    "runs_unclaimed",
];
/// Part of a statement that may read all of a table, what it calls that, and why it may.
const ALLOWED: [(&str, &str, &str); 10] = [
    (
        "delete from signals where (run_id, key) in",
        "s",
        "they are of runs that wait, and each leaves once it is taken",
    ),
    (
        "where not exists (select 1 from module_seals) and",
        "d",
        "at the start, up to the first one",
    ),
    (
        "where not exists (select 1 from module_seals) and",
        "module_seals",
        "at the start, up to the first one",
    ),
    (
        "where d.status = 'active' order by d.id",
        "d",
        "at the start, which looks at each of them",
    ),
    (
        "select id from deployments where status = 'paused' or",
        "deployments",
        "at the start",
    ),
    (
        "update subscriptions set due_at = 0,",
        "subscriptions",
        "at the start",
    ),
    (
        "select id, hosting from workspaces where hosting is not null",
        "workspaces",
        "reads, every ten minutes",
    ),
    (
        "select id, user_id, workspace_id from deployments",
        "deployments",
        "reads a page at a time, every ten minutes",
    ),
    (
        "from artifacts where created_at < ?",
        "artifacts",
        "reads, every ten minutes",
    ),
    (
        "from run_journals where is_kept",
        "run_journals",
        "reads, every ten minutes",
    ),
];
const OPERATOR: (&str, &str) = (
    "HEDDLE_OPERATOR_TOKEN",
    "a token of the operator, of more than thirty-two characters",
);
/// Statements that have a plan.
const PLANNED: [&str; 5] = ["select ", "insert ", "update ", "delete ", "with "];

/// The statements that a log tells of, each once and with single spaces.
fn executed(log: &str) -> BTreeSet<String> {
    let mut executed = BTreeSet::new();
    let lines = log
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    for line in lines.filter(|line| line["target"] == "sqlx::query") {
        // Short ones have no more than a summary.
        let whole = line["db.statement"].as_str().filter(|text| !text.is_empty());
        let text = whole.or(line["summary"].as_str()).unwrap();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for one in text.split("; ") {
            if PLANNED.iter().any(|verb| one.starts_with(*verb)) {
                executed.insert(one.to_owned());
            }
        }
    }
    executed
}

/// What growing tables are called in a statement.
fn names(statement: &str) -> BTreeSet<&str> {
    let words: Vec<&str> = statement.split(' ').collect();
    let mut names: BTreeSet<&str> = GROWING.into_iter().collect();
    for (place, word) in words.iter().enumerate() {
        if !GROWING.contains(word) {
            continue;
        }
        let name = words.iter().skip(place + 1).find(|word| **word != "as");
        if let Some(name) = name {
            names.insert(name.trim_end_matches([')', ',']));
        }
    }
    names
}

/// The growing tables that a statement reads whole, each as the step of the plan that does.
async fn read_whole(database: &mut SqliteConnection, statement: &str) -> Vec<String> {
    let explain = sqlx::AssertSqlSafe(format!("explain query plan {statement}"));
    let rows = sqlx::query(explain).fetch_all(database).await;
    let rows = rows.unwrap_or_else(|error| panic!("{statement}: {error}"));
    let names = names(statement);
    let is_allowed = |table: &str| {
        let mut allowed = ALLOWED.iter();
        allowed.any(|(part, name, _)| *name == table && statement.contains(*part))
    };
    let steps = rows.iter().map(|row| row.get::<String, _>("detail"));
    steps
        .filter(|step| {
            let mut words = step.split(' ');
            let is_scan = words.next() == Some("SCAN");
            let is_growing = |table: &str| names.contains(table) && !is_allowed(table);
            is_scan && words.next().is_some_and(is_growing) && !words.any(|index| UNDER_WAY.contains(&index))
        })
        .collect()
}

/// Deletes an environment, and the workspace with all that is in it.
fn deletes(server: &Server, token: &str) {
    let (_, all) = server.call("GET", "/api/workspaces", token, "");
    let workspace = all["data"][0]["id"].as_str().unwrap();
    let environments = format!("/api/workspaces/{workspace}/environments");
    let (status, made) = server.call("POST", &environments, token, r#"{"name": "passing"}"#);
    assert_eq!(status, 201, "{made}");
    let made = format!("{environments}/{}", made["data"]["id"].as_str().unwrap());
    let (status, deleted) = server.call("DELETE", &made, token, "");
    assert_eq!(status, 200, "{deleted}");
    let all_of_it = format!("/operator/workspaces/{workspace}");
    let (status, deleted) = server.call("DELETE", &all_of_it, OPERATOR.1, "");
    assert_eq!(status, 200, "{deleted}");
}

#[test]
fn no_statement_of_deployments_webhooks_and_upkeep_reads_whole_tables() {
    let dir = tempfile::tempdir().unwrap();
    // Migrations may read everything.
    assert_eq!(Server::start(dir.path(), &[]).stop(), Some(0));
    let variables = [
        ("HEDDLE_LOG", "warn,sqlx=debug"),
        ("HEDDLE_LOG_FORMAT", "json"),
        OPERATOR,
    ];
    let (server, log) = log::start(dir.path(), &variables);
    let hook = Hook::doubling(&server);
    let mut sender = Sender::connect(&server.address).unwrap();
    for n in 0..3 {
        let answer = sender.send(&hook, &format!("event-{n}"), n).unwrap();
        assert_eq!(answer.status, 202, "{}", answer.body);
    }
    server.await_ends(&hook.token, &hook.deployment);
    server.deploy_as(
        &hook.token,
        &json!({
            "nodes": [
                {"id": "start", "type": "OnManual"},
                {"id": "end", "type": "Return", "data": {"parameters": {"value": 1}}},
            ],
            "edges": [{"source": "start", "target": "end"}],
        }),
    );
    deletes(&server, &hook.token);
    assert_eq!(server.stop(), Some(0));
    let executed = executed(&log.join().unwrap());
    for part in [
        "into deployments ",
        "into runs ",
        "where r.suspicion < 0",
        "delete from webhook_endpoints where slot ",
        "delete from artifacts where hash in ",
    ] {
        assert!(executed.iter().any(|one| one.contains(part)), "{part}");
    }

    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let reading: Vec<String> = executor.block_on(async {
        let options = SqliteConnectOptions::new().filename(dir.path().join("heddle-data/heddle.db"));
        let mut database = options.connect().await.unwrap();
        let mut reading = Vec::new();
        for statement in &executed {
            let steps = read_whole(&mut database, statement).await;
            reading.extend(steps.into_iter().map(|step| format!("{step}: {statement}")));
        }
        reading
    });
    assert_eq!(reading, Vec::<String>::new());
}
