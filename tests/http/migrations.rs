//! Tables of an earlier version, brought up to date with the rows that are in them.

use crate::harness::TestDatabase;
use heddle_store::Store;
use sqlx::migrate::Migrator;
use sqlx::postgres::PgPoolOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions};
use std::path::Path;

/// The last version in which a pattern had one deployment.
const ONE_DEPLOYMENT: i64 = 29;

/// Rows as that version wrote them. `secret` is replaced by bytes as each database writes them.
const ROWS: &str = "
    insert into users (id, email, email_key, first_name, last_name, role, created_at)
        values ('ann', 'ann@x', 'ann@x', 'Ann', 'A', 'user', 1);
    insert into users (id, email, email_key, first_name, last_name, role, external_subject, created_at)
        values ('bob', 'bob@x', 'bob@x', 'Bob', 'B', 'user', 'https://login.example|auth0|7', 1);
    insert into workspaces (id, name, created_at, updated_at) values ('w', 'W', 1, 1);
    insert into environments (id, workspace_id, name, created_at) values ('prod', 'w', 'production', 1), ('stage', 'w', 'staging', 1);
    insert into patterns (id, owner_id, workspace_id, name, name_key, description, is_public, is_template, tags, version_number,
        created_at, updated_at) values ('p', 'ann', 'w', 'P', 'p', '', false, false, '[]', 3, 1, 1),
        ('q', 'ann', 'w', 'Q', 'q', '', false, false, '[]', 1, 1, 1);
    insert into deployments (id, pattern_id, pattern_name, user_id, workspace_id, environment_id, status, version_number, artifact,
        triggers, error_message, confirmed_at, created_at, updated_at, strikes)
        values ('d', 'p', 'P', 'ann', 'w', 'prod', 'failed', 2, 'hash', '[]', 'why', 5, 6, 7, 1),
               ('orphan', 'gone', 'Gone', 'ann', null, null, 'undeployed', 1, 'hash', '[]', null, 5, 6, 7, 0);
    insert into past_environments (deployment_id, until, environment_id) values ('d', 3, 'stage'), ('d', 4, null);
    insert into runs (id, deployment_id, status, phase, triggered_by, artifact, version_number, attempt, owner, takeovers, accepted_at)
        values ('r', 'd', 'success', 'ended', 'manual', 'hash', 2, 1, '', 0, 8);
    insert into schedules (id, deployment_id, node_id, cron, timezone, catch_up, set_cron, next_due_at)
        values ('s', 'd', 'clock', '* * * * *', 'UTC', 'one', '5 * * * *', 9);
    insert into webhook_endpoints (id, pattern_id, workspace_id, node_id, webhook_id, alias, scheme, secret_key_id, secret,
        is_present, created_at)
        values ('e', 'p', 'w', 'hook', 'address', 'orders', 'github', 'key', secret, true, 10),
               ('f', 'p', 'w', 'old', 'other', 'old', 'heddle', 'key', secret, false, 11);
    insert into tap_events (id, endpoint_id, received_at, event) values ('t', 'e', 12, '{}');
    insert into email_endpoints (id, pattern_id, node_id, mailbox, alias, is_present, created_at)
        values ('m', 'p', 'mail', 'box', 'invoices', true, 13);
";

/// What is to be found afterwards.
const FOUND: [(&str, &[&str]); 10] = [
    (
        "select subject || ' ' || user_id || ' ' || provider from login_identities",
        &["https://login.example|auth0|7 bob https://login.example"],
    ),
    (
        "select id || ' ' || pattern_id || ' [' || slot || '] ' || pattern_name || ' ' || user_id || ' ' || coalesce(workspace_id, '-')
         || ' ' || coalesce(environment_id, '-') || ' ' || status || ' ' || version_number || ' ' || artifact || ' ' || triggers
         || ' ' || coalesce(error_message, '-') || ' ' || confirmed_at || ' ' || created_at || ' ' || updated_at || ' ' || strikes
         from deployments order by id",
        &[
            "d p [] P ann w prod failed 2 hash [] why 5 6 7 1",
            "orphan gone [] Gone ann - - undeployed 1 hash [] - 5 6 7 0",
        ],
    ),
    (
        "select deployment_id || ' ' || until || ' ' || coalesce(environment_id, '-') from past_environments order by until",
        &["d 3 stage", "d 4 -"],
    ),
    (
        "select id || ' ' || deployment_id || ' ' || coalesce(failed_input, '-') || ' ' || coalesce(continued_at, 0) from runs",
        &["r d - 0"],
    ),
    (
        "select id || ' ' || deployment_id || ' ' || coalesce(set_cron, '-') || ' ' || next_due_at from schedules",
        &["s d 5 * * * * 9"],
    ),
    (
        "select id || ' ' || pattern_id || ' [' || slot || '] ' || workspace_id || ' ' || node_id || ' ' || webhook_id || ' ' || alias
         || ' ' || scheme || ' ' || secret_key_id || ' ' || octet_length(secret) || ' '
         || case when is_present then 'there' else 'gone' end || ' ' || created_at from webhook_endpoints order by id",
        &[
            "e p [] w hook address orders github key 3 there 10",
            "f p [] w old other old heddle key 3 gone 11",
        ],
    ),
    // Without parameters a webhook is what it was.
    (
        "select id || ' [' || parameters || ']' from webhook_endpoints order by id",
        &["e []", "f []"],
    ),
    ("select id || ' ' || endpoint_id from tap_events", &["t e"]),
    (
        "select id || ' ' || pattern_id || ' [' || slot || '] ' || node_id || ' ' || mailbox || ' ' || alias || ' '
         || case when is_present then 'there' else 'gone' end || ' ' || created_at from email_endpoints",
        &["m p [] mail box invoices there 13"],
    ),
    (
        "select id || ' ' || coalesce(main_environment_id, '-') from patterns order by id",
        &["p prod", "q -"],
    ),
];

/// Rows that there can be now, and rows that there can't be.
const FURTHER: [(&str, bool); 5] = [
    ("insert into deployments (id, pattern_id, slot, pattern_name, user_id, environment_id, status, version_number, artifact,
        triggers, confirmed_at, created_at, updated_at)
        values ('second', 'p', 'stage', 'P', 'ann', 'stage', 'active', 3, 'hash', '[]', 1, 1, 1)", true),
    ("insert into deployments (id, pattern_id, slot, pattern_name, user_id, environment_id, status, version_number, artifact,
        triggers, confirmed_at, created_at, updated_at)
        values ('third', 'p', '', 'P', 'ann', 'third', 'active', 3, 'hash', '[]', 1, 1, 1)", false),
    ("update deployments set environment_id = 'stage' where id = 'd'", false),
    ("insert into email_endpoints (id, pattern_id, slot, node_id, mailbox, alias, is_present, created_at)
        values ('n', 'p', '', 'mail', 'another', 'x', true, 1)", false),
    // What belongs to a deployment goes with it, as before.
    ("delete from deployments where id = 'd'", true),
];

macro_rules! is_brought_up_to_date {
    ($pool:ident, $folder:literal, $secret:literal, $open:expr) => {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join($folder);
        let migrator = Migrator::new(folder).await.unwrap();
        migrator.run_to(ONE_DEPLOYMENT, &$pool).await.unwrap();
        let rows = ROWS.replace(", secret, ", concat!(", ", $secret, ", "));
        sqlx::raw_sql(sqlx::AssertSqlSafe(rows))
            .execute(&$pool)
            .await
            .unwrap();
        drop($open.await.unwrap());
        for (query, found) in FOUND {
            let rows: Vec<String> = sqlx::query_scalar(query).fetch_all(&$pool).await.unwrap();
            assert_eq!(rows, found, "{query}");
        }
        for (statement, is_possible) in FURTHER {
            let done = sqlx::query(statement).execute(&$pool).await;
            assert_eq!(done.is_ok(), is_possible, "{statement}: {done:?}");
        }
        let past = "select deployment_id from past_environments";
        let left: Vec<String> = sqlx::query_scalar(past).fetch_all(&$pool).await.unwrap();
        assert!(left.is_empty(), "{left:?}");
    };
}

#[tokio::test]
async fn a_pattern_with_one_deployment_keeps_all_of_it_on_sqlite() {
    let files = tempfile::tempdir().unwrap();
    let file = files.path().join("heddle.db");
    let options = SqliteConnectOptions::new()
        .filename(&file)
        .create_if_missing(true);
    let options = options.journal_mode(SqliteJournalMode::Wal);
    let pool = SqlitePoolOptions::new().connect_with(options).await.unwrap();
    is_brought_up_to_date!(
        pool,
        "../migrations/sqlite",
        "x'010203'",
        Store::open_sqlite(&file)
    );
}

#[tokio::test]
async fn a_pattern_with_one_deployment_keeps_all_of_it_on_postgres() {
    let database = TestDatabase::create(None).await;
    let pool = PgPoolOptions::new().connect(&database.url).await.unwrap();
    is_brought_up_to_date!(
        pool,
        "../migrations/postgres",
        "'\\x010203'",
        Store::open_postgres(&database.url)
    );
    pool.close().await;
}
