//! SqlQuery on real databases: PostgreSQL, MariaDB and SQLite.

use crate::mariadb::MariaDb;
use crate::patterns::{node, pattern};
use crate::port;
use crate::postgres::TestDatabase;
use crate::services::{
    Given, Ran, closed_runtime_of, open_runtime_of, run, run_data, run_pattern, runtime_with_sqlite_of,
};
use heddle_runtime::{Limits, Runtime, SqliteFiles};
use serde_json::{Value, json};
use std::time::Duration;

/// A connection `db`, and a runtime that may use it.
struct Database {
    runtime: Runtime,
    given: Given,
}

impl Database {
    fn new(fields: Value) -> Self {
        Database {
            runtime: open_runtime_of(module_path!()),
            given: Given::one("db", fields),
        }
    }

    async fn postgres() -> (Self, TestDatabase) {
        let database = TestDatabase::create(None).await;
        (
            Database::new(json!({"url": database.url, "tls": "none"})),
            database,
        )
    }

    fn sqlite(dir: &tempfile::TempDir) -> Self {
        let file = dir.path().join("test.db");
        Database {
            runtime: runtime_with_sqlite_of(module_path!(), SqliteFiles::Anywhere, 1 << 30),
            given: Given::one("db", json!({"kind": "sqlite", "file": file})),
        }
    }

    fn mariadb(server: &MariaDb) -> Self {
        Database::new(json!({
            "kind": "mysql", "host": "127.0.0.1", "port": server.port, "user": "heddle", "password": "s3cret-pw",
            "database": "shop", "tls": "none",
        }))
    }

    async fn ran(&self, query: &str, parameters: Value) -> Ran {
        let parameters = json!({"connection": "db", "query": query, "parameters": parameters});
        run(&self.runtime, "SqlQuery", parameters, &self.given).await
    }

    async fn rows(&self, query: &str, parameters: Value) -> Value {
        self.ran(query, parameters).await.output()
    }

    async fn failure(&self, query: &str, parameters: Value) -> String {
        self.ran(query, parameters).await.failure()
    }

    /// With further data of the node.
    async fn with(&self, query: &str, more: Value) -> Ran {
        let mut data = json!({"parameters": {"connection": "db", "query": query}});
        for (name, value) in more.as_object().unwrap() {
            match name.as_str() {
                "maxRows" => data["parameters"][name] = value.clone(),
                _ => data[name] = value.clone(),
            }
        }
        run_data(&self.runtime, "SqlQuery", data, &self.given, Limits::default()).await
    }
}

/// Bytes of a row, and of an array in it if there are any, as files that another node reads.
async fn as_files(database: &Database, query: &str) -> Value {
    let sql = json!({"connection": "db", "query": query, "files": true});
    let first = "{{ $nodes.query[0].picture }}";
    let graph = pattern(
        &[
            node("query", "SqlQuery", sql),
            node("read", "File", json!({"file": first, "format": "base64"})),
            node(
                "end",
                "Return",
                json!({"value": "{{ [$nodes.query[0], $nodes.read] }}"}),
            ),
        ],
        &["start -> query", "query -> read", "read -> end"],
    );
    let ran = run_pattern(&database.runtime, &graph, &database.given, Limits::default()).await;
    let mut output = ran.output();
    let id = output[0]["picture"]["$file"].take();
    assert!(id.is_string(), "{output}");
    output
}

fn picture() -> Value {
    json!({
        "$file": null, "name": "picture", "type": "application/octet-stream", "size": 2,
        "sha256": "ea5dbf9596d187e9500f23e9a680109475341cf4e81f7e043f7d97152c10772f",
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_are_files_where_the_node_wants_them() {
    let (postgres, _kept) = Database::postgres().await;
    let query = "select '\\xff00'::bytea as picture, null::bytea as none, array['\\xff'::bytea, null] as several, \
                 '{\"a\": \"/wA=\"}'::jsonb as json";
    let found = as_files(&postgres, query).await;
    assert_eq!(found[0]["picture"], picture());
    assert_eq!(
        (&found[0]["none"], &found[0]["json"]),
        (&Value::Null, &json!({"a": "/wA="}))
    );
    let several = &found[0]["several"];
    assert_eq!(
        (&several[0]["size"], &several[1]),
        (&json!(1), &Value::Null),
        "{found}"
    );
    assert_eq!(found[1], "/wA=");
    let dir = tempfile::tempdir().unwrap();
    let found = as_files(
        &Database::sqlite(&dir),
        "select x'ff00' as picture, 'text' as other",
    )
    .await;
    assert_eq!(found, json!([{"picture": picture(), "other": "text"}, "/wA="]));
    if let Some(server) = MariaDb::start().await {
        let found = as_files(
            &Database::mariadb(&server),
            "select x'ff00' as picture, 'text' as other",
        )
        .await;
        assert_eq!(found, json!([{"picture": picture(), "other": "text"}, "/wA="]));
    }
    let many = "select '\\xff'::bytea as b from generate_series(1, 1001)";
    let sql = json!({"connection": "db", "query": many, "files": true});
    let failure = run(&postgres.runtime, "SqlQuery", sql, &postgres.given)
        .await
        .failure();
    assert!(failure.starts_with("FILE_LIMIT: "), "{failure}");
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_values_come_as_json() {
    let (database, _kept) = Database::postgres().await;
    let cases = [
        ("null::int4", Value::Null),
        ("true", json!(true)),
        ("12::int2", json!(12)),
        ("-7::int4", json!(-7)),
        ("9007199254740992::int8", json!(9_007_199_254_740_992_i64)),
        ("9007199254740993::int8", json!("9007199254740993")),
        ("(-9223372036854775808)::int8", json!("-9223372036854775808")),
        ("0.1::float4", json!(0.1)),
        ("1e300::float8", json!(1e300)),
        ("'NaN'::float8", json!("NaN")),
        ("'-Infinity'::float8", json!("-inf")),
        ("12.50::numeric", json!(12.5)),
        ("0::numeric", json!(0)),
        ("-0.0001::numeric(10, 4)", json!(-0.0001)),
        ("120000::numeric", json!(120_000)),
        ("12345678.000012345678::numeric", json!("12345678.000012345678")),
        ("'NaN'::numeric", json!("NaN")),
        ("'ü'::text", json!("ü")),
        ("'a'::varchar(3)", json!("a")),
        ("'a'::char(3)", json!("a  ")),
        ("'\\xff00'::bytea", json!("/wA=")),
        ("'{\"a\": [1]}'::json", json!({"a": [1]})),
        ("'{\"a\": [1]}'::jsonb", json!({"a": [1]})),
        (
            "'67e55044-10b1-426f-9247-bb680e5fe0c8'::uuid",
            json!("67e55044-10b1-426f-9247-bb680e5fe0c8"),
        ),
        ("'2024-02-29'::date", json!("2024-02-29")),
        ("'1999-12-31'::date", json!("1999-12-31")),
        ("'infinity'::date", json!("infinity")),
        ("'13:04:05.25'::time", json!("13:04:05.250")),
        (
            "'2024-02-29 13:04:05'::timestamp",
            json!("2024-02-29T13:04:05.000"),
        ),
        (
            "'1969-12-31 23:59:59.123456'::timestamp",
            json!("1969-12-31T23:59:59.123456"),
        ),
        (
            "'2024-02-29 13:04:05+02'::timestamptz",
            json!("2024-02-29T11:04:05.000Z"),
        ),
        (
            "'1 year 2 mons 3 days 04:05:06.5'::interval",
            json!("P1Y2M3DT4H5M6.5S"),
        ),
        ("'{1,null,3}'::int4[]", json!([1, null, 3])),
        ("array[['a', 'b'], ['c', 'd']]", json!([["a", "b"], ["c", "d"]])),
        ("'{}'::text[]", json!([])),
    ];
    let list: Vec<String> = cases
        .iter()
        .enumerate()
        .map(|(index, (sql, _))| format!("{sql} as c{index}"))
        .collect();
    let rows = database
        .rows(&format!("select {}", list.join(", ")), json!([]))
        .await;
    for (index, (sql, expected)) in cases.iter().enumerate() {
        assert_eq!(rows[0][format!("c{index}")], *expected, "{sql}");
    }
    let failure = database
        .failure("select '(1,2)'::point as place", json!([]))
        .await;
    assert!(
        failure.starts_with("SQL_FAILED: Can't read the column `place`: it has the type POINT. Cast it"),
        "{failure}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_parameters_take_the_types_of_the_statement() {
    let (database, _kept) = Database::postgres().await;
    let cases = [
        ("$1::bool", json!(true)),
        ("$1::int2", json!(5)),
        ("$1::int4", json!(-5)),
        ("$1::int8", json!("9223372036854775807")),
        ("$1::float4", json!(0.5)),
        ("$1::float8", json!(1.25e-7)),
        ("$1::numeric", json!(12.5)),
        ("$1::numeric", json!("-123456789012345678901234567890.000001")),
        ("$1::numeric", json!(0.00012)),
        ("$1::numeric", json!(-40_000)),
        ("$1::text", json!("'; drop table orders; --")),
        ("$1::uuid", json!("67e55044-10b1-426f-9247-bb680e5fe0c8")),
        ("$1::json", json!({"a": [1, null]})),
        ("$1::jsonb", json!([1, "x"])),
        ("$1::bytea", json!("/wA=")),
        ("$1::date", json!("1970-01-01")),
        ("$1::time", json!("13:04:05.250")),
        ("$1::timestamp", json!("2024-02-29T13:04:05.000")),
        ("$1::timestamptz", json!("2024-02-29T13:04:05.123Z")),
        ("$1::int4[]", json!([1, null, 3])),
        ("$1::text[]", json!([])),
        ("$1::int4", Value::Null),
    ];
    for (sql, value) in cases {
        let rows = database.rows(&format!("select {sql} as v"), json!([value])).await;
        assert_eq!(rows[0]["v"], value, "{sql}");
    }
    for (sql, value, expected) in [
        (
            "$1::int4",
            json!("x"),
            "Parameter `parameters[0]`: \"x\" is not of type int4.",
        ),
        ("$1::int2", json!(70_000), "70000 is not of type int2"),
        ("$1::int4", json!(1.5), "1.5 is not of type int4"),
        ("$1::date", json!("soon"), "\"soon\" is not of type date"),
        (
            "$1::date",
            json!("2024-02-299"),
            "\"2024-02-299\" is not of type date",
        ),
        ("$1::float4", json!(1e300), "1e+300 is not of type float4"),
        ("$1::int4[]", json!(1), "1 is not an array"),
    ] {
        let failure = database.failure(&format!("select {sql}"), json!([value])).await;
        assert!(
            failure.starts_with("PARAMETER: ") && failure.contains(expected),
            "{failure}"
        );
    }
    let failure = database.failure("select $1::int4", json!([])).await;
    assert_eq!(
        failure,
        "PARAMETER: The statement has 1 parameters, but `parameters` has 0."
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_statements_change_rows_and_fail_in_its_own_words() {
    let (database, _kept) = Database::postgres().await;
    database
        .rows("create table orders (id int primary key, note text)", json!([]))
        .await;
    let inserted = database
        .rows("insert into orders values ($1, $2), (2, 'b')", json!([1, "a"]))
        .await;
    assert_eq!(inserted, json!([{"affectedRows": 2}]));
    let returned = database
        .rows("update orders set note = 'c' returning id, note", json!([]))
        .await;
    assert_eq!(returned, json!([{"id": 1, "note": "c"}, {"id": 2, "note": "c"}]));
    assert_eq!(database.rows("select 1 where false", json!([])).await, json!([]));
    let twice = database.rows("select 1 as a, 2 as a, 3 as a", json!([])).await;
    assert_eq!(twice, json!([{"a": 1, "a_2": 2, "a_3": 3}]));
    let failure = database.failure("insert into orders values (1)", json!([])).await;
    assert!(
        failure.starts_with("SQL_FAILED: ")
            && failure.contains("duplicate key")
            && failure.contains("(23505)"),
        "{failure}"
    );
    let failure = database.failure("selec 1", json!([])).await;
    assert!(
        failure.contains("syntax error") && failure.contains("(42601)"),
        "{failure}"
    );
    let failure = database.failure("select 1; select 2", json!([])).await;
    assert!(failure.starts_with("SQL_FAILED: "), "{failure}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_have_limits() {
    let (database, _kept) = Database::postgres().await;
    let ran = database
        .with("select generate_series(1, 3)", json!({"maxRows": 2}))
        .await;
    assert_eq!(
        ran.failure(),
        "SQL_ROW_LIMIT: The query returned more than the 2 rows that `maxRows` allows. Add a LIMIT, or raise \
         `maxRows`."
    );
    let ran = database
        .with("select generate_series(1, 2)", json!({"maxRows": 2}))
        .await;
    assert_eq!(ran.output().as_array().unwrap().len(), 2);
    let failure = database
        .failure(
            "select repeat('x', 1000000) from generate_series(1, 100)",
            json!([]),
        )
        .await;
    assert!(
        failure.starts_with("SQL_ROW_LIMIT: The first 9 rows are larger than"),
        "{failure}"
    );
}

/// Waits until the server sleeps for nobody any more, of whom this statement counts how many there are.
async fn until_none(database: &Database, sleeping: &str) {
    let waiting = async { while database.rows(sleeping, json!([])).await[0]["n"] != 0 {} };
    let ended = tokio::time::timeout(Duration::from_secs(300), waiting).await;
    assert!(ended.is_ok(), "the server still sleeps");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_takes_too_long_is_stopped_on_the_server() {
    let (database, _kept) = Database::postgres().await;
    let ran = database
        .with("select pg_sleep(3000)", json!({"timeoutMs": 200}))
        .await;
    assert!(ran.failure().starts_with("TIMEOUT: "), "{}", ran.failure());
    let sleeping = "select count(*) as n from pg_stat_activity
        where state = 'active' and query like 'select pg_sleep%' and datname = current_database()";
    until_none(&database, sleeping).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_a_session_is_left_to_the_next_statement() {
    let (database, _kept) = Database::postgres().await;
    let process = "select pg_backend_pid() as p";
    let first = database.rows(process, json!([])).await;
    assert_eq!(
        database.rows(process, json!([])).await,
        first,
        "a session is kept"
    );
    for statement in [
        "set application_name = 'changed'",
        "begin",
        "create temp table mine (id int)",
    ] {
        database.rows(statement, json!([])).await;
    }
    let left = database
        .rows(
            "select current_setting('application_name') as a, to_regclass('mine') is null as gone",
            json!([]),
        )
        .await;
    assert_eq!(left, json!([{"a": "heddle", "gone": true}]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_not_there_or_refuses_says_so_without_its_password() {
    let (database, kept) = Database::postgres().await;
    drop(database);
    let port = port::free();
    let at =
        |port: u16| json!({"kind": "postgres", "host": "127.0.0.1", "port": port, "password": "s3cret-pw"});
    let failure = Database::new(at(port)).failure("select 1", json!([])).await;
    assert!(
        failure.starts_with("SQL_FAILED: ") && failure.contains("can't be reached"),
        "{failure}"
    );
    let wrong = Database::new(json!({"url": format!("{}_not_there", kept.url), "tls": "none"}));
    let failure = wrong.failure("select 1", json!([])).await;
    assert!(failure.contains("does not exist"), "{failure}");
    let secure = Database::new(json!({"url": kept.url, "tls": "verify"}));
    let failure = secure.failure("select 1", json!([])).await;
    assert!(
        failure.starts_with("SQL_FAILED: ") && failure.to_lowercase().contains("tls"),
        "{failure}"
    );
    for (fields, expected) in [
        (
            json!({"host": "x"}),
            "its `kind`, or else its provider, must name the database",
        ),
        (json!({"kind": "postgres"}), "it has no field `host`"),
        (json!({"kind": "sqlite"}), "it has no field `file`"),
        (
            json!({"kind": "mysql", "host": "x", "tls": "maybe"}),
            "its `tls` is `maybe`",
        ),
        (
            json!({"kind": "mysql", "host": "x", "port": "y"}),
            "`y` is not a port",
        ),
    ] {
        let failure = Database::new(fields).failure("select 1", json!([])).await;
        assert!(
            failure.starts_with("PARAMETER: ") && failure.contains(expected),
            "{failure}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn databases_are_behind_the_guard() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let runtime = closed_runtime_of(module_path!());
    for kind in ["postgres", "mysql"] {
        for host in [
            "127.0.0.1",
            "localhost",
            "2130706433",
            "0x7f.1",
            "0177.0.0.1",
            "::1",
            "[::ffff:127.0.0.1]",
            "::ffff:7f00:1",
            "0",
            "169.254.169.254",
            "10.0.0.1",
        ] {
            let given = Given::one("db", json!({"kind": kind, "host": host, "port": port}));
            let parameters = json!({"connection": "db", "query": "select 1"});
            let failure = run(&runtime, "SqlQuery", parameters, &given).await.failure();
            assert!(failure.starts_with("EGRESS_DENIED: "), "{kind} {host}: {failure}");
        }
    }
    assert!(listener.accept().is_err(), "nobody connected");
    let hosts = json!({"kind": "postgres", "host": "127.0.0.1", "hosts": ["db.example.com"]});
    let failure = Database::new(hosts).failure("select 1", json!([])).await;
    assert!(failure.starts_with("NOT_PERMITTED: "), "{failure}");
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_reads_and_writes_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let database = Database::sqlite(&dir);
    database
        .rows("create table t (id integer primary key, a, b text)", json!([]))
        .await;
    let inserted = database
        .rows(
            "insert into t (a, b) values (?, ?), (?, 'x')",
            json!([1.5, {"k": [1]}, null]),
        )
        .await;
    assert_eq!(inserted, json!([{"affectedRows": 2, "lastInsertId": 2}]));
    let rows = database
        .rows(
            "select id, a, b, 9007199254740993 as big, x'ff00' as bytes, true as t from t",
            json!([]),
        )
        .await;
    assert_eq!(
        rows,
        json!([
            {"id": 1, "a": 1.5, "b": "{\"k\":[1]}", "big": "9007199254740993", "bytes": "/wA=", "t": 1},
            {"id": 2, "a": null, "b": "x", "big": "9007199254740993", "bytes": "/wA=", "t": 1},
        ])
    );
    let failure = database.failure("selec 1", json!([])).await;
    assert!(
        failure.starts_with("SQL_FAILED: ") && failure.contains("syntax error"),
        "{failure}"
    );
    let endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n";
    let ran = database.with(endless, json!({"timeoutMs": 100})).await;
    assert!(ran.failure().starts_with("TIMEOUT: "));
    // The file is free again: the endless statement was stopped.
    assert_eq!(
        database.rows("delete from t", json!([])).await[0]["affectedRows"],
        2
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_files_are_those_that_the_operator_allows() {
    let dir = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path(), dir.path().join("link")).unwrap();
    let runtime = runtime_with_sqlite_of(module_path!(), SqliteFiles::Below(dir.path().to_owned()), 1 << 30);
    let query = |file: &str, query: &str| {
        let given = Given::one("db", json!({"kind": "sqlite", "file": file}));
        let parameters = json!({"connection": "db", "query": query});
        let runtime = runtime.clone();
        async move { run(&runtime, "SqlQuery", parameters, &given).await }
    };
    assert_eq!(
        query("a.db", "select 1 as one").await.output(),
        json!([{"one": 1}])
    );
    let absolute = outside.path().join("x.db").display().to_string();
    for file in ["../x.db", "/etc/passwd", &absolute, "link/x.db", "none/x.db", "."] {
        let failure = query(file, "select 1").await.failure();
        assert!(failure.starts_with("NOT_PERMITTED: "), "{file}: {failure}");
    }
    for statement in [
        "attach database '/tmp/heddle-stolen.db' as other",
        "select 1; ATTACH '/tmp/heddle-stolen.db' as other",
        "/* */vacuum into '/tmp/heddle-stolen.db'",
        "pragma temp_store_directory = '/tmp'",
        "select load_extension('x')",
    ] {
        let failure = query("a.db", statement).await.failure();
        assert!(failure.starts_with("NOT_PERMITTED: "), "{statement}: {failure}");
    }
    assert_eq!(
        query("a.db", "select 1 as attachments").await.output(),
        json!([{"attachments": 1}])
    );
    let none = closed_runtime_of(module_path!());
    let given = Given::one("db", json!({"kind": "sqlite", "file": "a.db"}));
    let parameters = json!({"connection": "db", "query": "select 1"});
    let failure = run(&none, "SqlQuery", parameters, &given).await.failure();
    assert!(
        failure.starts_with("NOT_PERMITTED: SQLite files are not enabled here"),
        "{failure}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn mariadb_values_parameters_and_failures() {
    let Some(server) = MariaDb::start().await else {
        return;
    };
    let database = Database::mariadb(&server);
    let cases = [
        ("null", Value::Null),
        ("cast(-7 as signed)", json!(-7)),
        (
            "cast(18446744073709551615 as unsigned)",
            json!("18446744073709551615"),
        ),
        ("cast(9007199254740993 as signed)", json!("9007199254740993")),
        ("cast(12.50 as decimal(10, 2))", json!(12.5)),
        (
            "cast('12345678.000012345678' as decimal(30, 12))",
            json!("12345678.000012345678"),
        ),
        ("cast(0.1 as double)", json!(0.1)),
        ("'ü'", json!("ü")),
        ("x'ff00'", json!("/wA=")),
        ("cast('2024-02-29' as date)", json!("2024-02-29")),
        (
            "cast('2024-02-29 13:04:05' as datetime)",
            json!("2024-02-29T13:04:05.000"),
        ),
        (
            "cast('2024-02-29 13:04:05.123456' as datetime(6))",
            json!("2024-02-29T13:04:05.123456"),
        ),
    ];
    let list: Vec<String> = cases
        .iter()
        .enumerate()
        .map(|(index, (sql, _))| format!("{sql} as c{index}"))
        .collect();
    let rows = database
        .rows(&format!("select {}", list.join(", ")), json!([]))
        .await;
    for (index, (sql, expected)) in cases.iter().enumerate() {
        assert_eq!(rows[0][format!("c{index}")], *expected, "{sql}");
    }
    let create = "create table orders (id bigint primary key auto_increment, total decimal(10, 2), note text, at timestamp)";
    database.rows(create, json!([])).await;
    let insert = "insert into orders (total, note, at) values (?, ?, '2024-02-29 13:04:05')";
    let inserted = database
        .rows(insert, json!([12.5, "'; drop table orders; --"]))
        .await;
    assert_eq!(inserted, json!([{"affectedRows": 1, "lastInsertId": 1}]));
    let rows = database
        .rows(
            "select * from orders where total > ? and note like ?",
            json!([10, "'%"]),
        )
        .await;
    assert_eq!(
        rows,
        json!([{"id": 1, "total": 12.5, "note": "'; drop table orders; --", "at": "2024-02-29T13:04:05.000Z"}])
    );
    let create = "create table flags (a tinyint(1), b tinyint(1) unsigned)";
    database.rows(create, json!([])).await;
    let insert = "insert into flags values (0, 1), (2, 200), (-3, null)";
    database.rows(insert, json!([])).await;
    // Nothing but 0 and 1 stands for a truth value.
    let rows = database.rows("select * from flags", json!([])).await;
    assert_eq!(
        rows,
        json!([{"a": false, "b": true}, {"a": 2, "b": 200}, {"a": -3, "b": null}])
    );
    let failure = database.failure("select * from nowhere", json!([])).await;
    assert!(
        failure.starts_with("SQL_FAILED: ") && failure.contains("doesn't exist"),
        "{failure}"
    );
    let failure = database.failure("select ?", json!([])).await;
    assert_eq!(
        failure,
        "PARAMETER: The statement has 1 parameters, but `parameters` has 0."
    );
    let ran = database
        .with("select sleep(3000)", json!({"timeoutMs": 200}))
        .await;
    assert!(ran.failure().starts_with("TIMEOUT: "), "{}", ran.failure());
    let sleeping = "select count(*) as n from information_schema.processlist where info like 'select sleep%'";
    until_none(&database, sleeping).await;
}
