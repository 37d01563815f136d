//! SQLite files of several tenants below one directory, and statements that would do more than read and write rows.

use crate::services::{Given, Ran, run, run_data, runtime_with_crashing_connectors, runtime_with_sqlite_of};
use futures_util::future::join_all;
use heddle_runtime::{Limits, Runtime, SqliteFiles};
use serde_json::json;
use std::os::unix::fs::PermissionsExt;

const ANN: &str = "019a0000-0000-7000-8000-00000000000a";
const BOB: &str = "019a0000-0000-7000-8000-00000000000b";

fn runtime(dir: &tempfile::TempDir) -> Runtime {
    runtime_with_sqlite_of(module_path!(), SqliteFiles::Below(dir.path().to_owned()), 1 << 30)
}

async fn query(runtime: &Runtime, tenant: &str, file: &str, query: &str) -> Ran {
    let given = Given::one("db", json!({"kind": "sqlite", "file": file})).of(tenant);
    run(
        runtime,
        "SqlQuery",
        json!({"connection": "db", "query": query}),
        &given,
    )
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn each_tenant_has_a_directory_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let runtime = runtime(&dir);
    query(&runtime, ANN, "shop.db", "create table orders (id integer)")
        .await
        .output();
    query(&runtime, ANN, "shop.db", "insert into orders values (1)")
        .await
        .output();
    let failure = query(&runtime, BOB, "shop.db", "select * from orders")
        .await
        .failure();
    assert!(
        failure.starts_with("SQL_FAILED: ") && failure.contains("no such table"),
        "{failure}"
    );
    query(&runtime, BOB, "shop.db", "create table orders (id integer)")
        .await
        .output();
    query(&runtime, BOB, "shop.db", "drop table orders")
        .await
        .output();
    let left = query(&runtime, ANN, "shop.db", "select * from orders")
        .await
        .output();
    assert_eq!(left, json!([{"id": 1}]));
    for tenant in [ANN, BOB] {
        let mode = std::fs::metadata(dir.path().join(tenant))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o700);
    }
    let theirs = dir.path().join(ANN).join("shop.db").display().to_string();
    for file in [
        format!("../{ANN}/shop.db"),
        format!("{ANN}/shop.db"),
        theirs,
        ".".to_owned(),
    ] {
        let failure = query(&runtime, BOB, &file, "select * from orders")
            .await
            .failure();
        assert!(failure.starts_with("NOT_PERMITTED: "), "{file}: {failure}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_before_tenants_had_directories_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let runtime = runtime(&dir);
    std::fs::write(dir.path().join("old.db"), "").unwrap();
    let failure = query(&runtime, ANN, "old.db", "select 1").await.failure();
    assert!(
        failure.starts_with("NOT_PERMITTED: The file `old.db` is still where it was before"),
        "{failure}"
    );
    assert!(
        failure.contains(&format!("to `{ANN}/old.db` in that directory")),
        "{failure}"
    );
    std::fs::rename(dir.path().join("old.db"), dir.path().join(ANN).join("old.db")).unwrap();
    assert_eq!(
        query(&runtime, ANN, "old.db", "select 1 as v").await.output(),
        json!([{"v": 1}])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_change_rows_and_not_how_sqlite_works() {
    let dir = tempfile::tempdir().unwrap();
    let runtime = runtime(&dir);
    query(&runtime, ANN, "a.db", "create table t (id integer, note text)")
        .await
        .output();
    for statement in [
        "pragma writable_schema = on",
        "pragma max_page_count = 1000000000",
        "pragma journal_mode = off",
        "pragma page_size = 65536",
        "pragma cache_size = 1000000",
        "pragma database_list",
        "detach database main",
    ] {
        let failure = query(&runtime, ANN, "a.db", statement).await.failure();
        assert!(failure.starts_with("NOT_PERMITTED: "), "{statement}: {failure}");
    }
    for (statement, expected) in [
        ("select fts3_tokenizer('simple')", "not authorized"),
        ("update sqlite_master set sql = 'x'", "may not be modified"),
        ("select hex(zeroblob(400000000))", "too big"),
        (
            "select replace(hex(zeroblob(4000000)), '0', '00000000')",
            "too big",
        ),
        (
            "select 'a' like '%' || hex(zeroblob(10000))",
            "LIKE or GLOB pattern too complex",
        ),
    ] {
        let failure = query(&runtime, ANN, "a.db", statement).await.failure();
        assert!(
            failure.starts_with("SQL_FAILED: ") && failure.contains(expected),
            "{statement}: {failure}"
        );
    }
    let deep = format!("select 1{}", " + 1".repeat(5_000));
    let failure = query(&runtime, ANN, "a.db", &deep).await.failure();
    assert!(failure.starts_with("SQL_FAILED: "), "{failure}");
    for statement in [
        "pragma table_info(t)",
        "pragma user_version = 3",
        "pragma foreign_keys = on",
        "select upper('a')",
    ] {
        query(&runtime, ANN, "a.db", statement).await.output();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_files_of_a_tenant_are_no_larger_than_allowed() {
    let dir = tempfile::tempdir().unwrap();
    let runtime = runtime_with_sqlite_of(module_path!(), SqliteFiles::Below(dir.path().to_owned()), 1 << 20);
    let fill = "insert into t with recursive n(i) as (select 1 union all select i + 1 from n where i < 80)
        select randomblob(10000) from n";
    for file in ["a.db", "b.db"] {
        query(&runtime, ANN, file, "create table t (v blob)")
            .await
            .output();
    }
    query(&runtime, ANN, "a.db", fill).await.output();
    for file in ["a.db", "b.db"] {
        let failure = query(&runtime, ANN, file, fill).await.failure();
        assert!(
            failure.starts_with("SQL_FAILED: ") && failure.contains("full"),
            "{file}: {failure}"
        );
    }
    query(&runtime, BOB, "a.db", "create table t (v blob)")
        .await
        .output();
    query(&runtime, BOB, "a.db", fill).await.output();
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_grow_at_the_same_time_are_no_larger_together() {
    const ALLOWED: u64 = 8 << 20;
    let dir = tempfile::tempdir().unwrap();
    let runtime = runtime_with_sqlite_of(module_path!(), SqliteFiles::Below(dir.path().to_owned()), ALLOWED);
    let files: Vec<String> = (0..6).map(|number| format!("{number}.db")).collect();
    for file in &files {
        query(&runtime, ANN, file, "create table t (v blob)")
            .await
            .output();
    }
    // Somewhat more than 3 MiB, for which there is room once or twice.
    let fill = "insert into t with recursive n(i) as (select 1 union all select i + 1 from n where i < 320)
        select randomblob(10000) from n";
    join_all(files.iter().map(|file| query(&runtime, ANN, file, fill))).await;
    let found = std::fs::read_dir(dir.path().join(ANN)).unwrap();
    let bytes: u64 = found.map(|file| file.unwrap().metadata().unwrap().len()).sum();
    assert!((3 << 20..=ALLOWED).contains(&bytes), "{bytes}");
}

/// More than fits into the cache of a page or two, so that SQLite sorts in pieces.
const SORTED: &str = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 60000)
    select count(distinct v) as c from (select hex(randomblob(40)) as v from n order by v desc)";

#[tokio::test(flavor = "multi_thread")]
async fn sorting_randomness_and_times_are_as_anywhere() {
    let dir = tempfile::tempdir().unwrap();
    let runtime = runtime(&dir);
    let sorted = query(&runtime, ANN, "a.db", SORTED).await.output();
    assert_eq!(sorted, json!([{"c": 60_000}]));
    let random = "select hex(randomblob(16)) as v";
    let first = query(&runtime, ANN, "a.db", random).await.output();
    assert_ne!(query(&runtime, ANN, "a.db", random).await.output(), first);
    let now = "select abs(julianday('now') - julianday('now', 'localtime')) <= 1 as v";
    let now = query(&runtime, ANN, "a.db", now).await.output();
    assert_eq!(now, json!([{"v": 1}]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_with_a_log_of_its_own_is_read_and_written() {
    let dir = tempfile::tempdir().unwrap();
    let runtime = runtime(&dir);
    query(&runtime, ANN, "a.db", "create table t (id integer)")
        .await
        .output();
    // In the header: written and read by way of a log (WAL).
    let path = dir.path().join(ANN).join("a.db");
    let mut file = std::fs::read(&path).unwrap();
    file[18..20].copy_from_slice(&[2, 2]);
    std::fs::write(&path, file).unwrap();
    query(&runtime, ANN, "a.db", "insert into t values (7)")
        .await
        .output();
    let mode = query(&runtime, ANN, "a.db", "pragma journal_mode").await;
    assert_eq!(mode.output(), json!([{"journal_mode": "wal"}]));
    let rows = query(&runtime, ANN, "a.db", "select id from t").await;
    assert_eq!(rows.output(), json!([{"id": 7}]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_is_cut_off_leaves_the_file_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let runtime = runtime(&dir);
    query(&runtime, ANN, "a.db", "create table t (v blob)")
        .await
        .output();
    let endless = "insert into t with recursive n(i) as (select 1 union all select i + 1 from n)
        select randomblob(1000) from n";
    let given = Given::one("db", json!({"kind": "sqlite", "file": "a.db"})).of(ANN);
    let data = json!({"parameters": {"connection": "db", "query": endless}, "timeoutMs": 300});
    let ran = run_data(&runtime, "SqlQuery", data, &given, Limits::default()).await;
    let failure = ran.failure();
    assert!(failure.starts_with("TIMEOUT: The database a.db"), "{failure}");
    let count = query(&runtime, ANN, "a.db", "select count(*) as c from t").await;
    assert_eq!(count.output(), json!([{"c": 0}]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_fails_the_node_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let crashing = runtime_with_crashing_connectors(SqliteFiles::Below(dir.path().to_owned()));
    let failure = query(&crashing, ANN, "a.db", "select 1 as v").await.failure();
    assert_eq!(
        failure,
        "SQL_FAILED: The database a.db did not complete the statement: the process that executed it crashed. \
         Nothing else is affected."
    );
    let next = query(&runtime(&dir), ANN, "a.db", "select 1 as v").await;
    assert_eq!(next.output(), json!([{"v": 1}]));
}
