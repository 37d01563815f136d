//! Database files that must not be served: the start says which file and what is wrong with it, and does not touch it.

use crate::server::{Server, heddle, output};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

const PAGE_BYTES: usize = 4_096;

/// A data directory after a clean stop, and its database.
fn stopped() -> (tempfile::TempDir, PathBuf) {
    static FILES: LazyLock<BTreeMap<String, Vec<u8>>> = LazyLock::new(|| {
        let dir = tempfile::tempdir().unwrap();
        let server = Server::start(dir.path(), &[]);
        server.register();
        assert_eq!(server.stop(), Some(0));
        let files = std::fs::read_dir(dir.path().join("heddle-data")).unwrap();
        let read = |file: std::fs::DirEntry| {
            let name = file.file_name().into_string().unwrap();
            (name, std::fs::read(file.path()).unwrap())
        };
        files.map(|file| read(file.unwrap())).collect()
    });
    let names: Vec<&str> = FILES.keys().map(String::as_str).collect();
    let expected = ["heddle.db", "jwt-secret", "master-key", "serve.lock"];
    assert_eq!(names, expected, "the database is one file");
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("heddle-data");
    std::fs::create_dir(&data).unwrap();
    for (name, content) in &*FILES {
        std::fs::write(data.join(name), content).unwrap();
    }
    let database = data.join("heddle.db");
    (dir, database)
}

/// Changes the file, and expects the start to refuse it and to leave it as it is.
fn is_refused(damage: impl FnOnce(&Path, Vec<u8>), because: &str) {
    let (dir, database) = stopped();
    damage(&database, std::fs::read(&database).unwrap());
    let damaged = std::fs::read(&database).unwrap();
    let (code, listening, told) = output(heddle(dir.path()).args(["serve", "--listen", "127.0.0.1:0"]));
    assert_eq!((code, listening.as_str()), (5, ""), "{told}");
    for part in ["heddle-data/heddle.db ", because, "heddle restore"] {
        assert!(told.contains(part), "{told}");
    }
    assert_eq!(std::fs::read(&database).unwrap(), damaged);
    let (code, told, _) = output(heddle(dir.path()).args(["doctor", "--listen", "127.0.0.1:0"]));
    assert_eq!(code, 1);
    assert!(told.contains(because), "{told}");
}

fn execute(database: &Path, statement: &'static str) {
    let executor = tokio::runtime::Runtime::new().unwrap();
    executor.block_on(async {
        let options = SqliteConnectOptions::new()
            .filename(database)
            .create_if_missing(true);
        let mut connection = options.connect().await.unwrap();
        sqlx::raw_sql(statement).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    });
}

#[test]
fn a_file_that_is_cut_off_is_refused() {
    let cut = |bytes: usize| {
        move |database: &Path, whole: Vec<u8>| std::fs::write(database, &whole[..bytes]).unwrap()
    };
    is_refused(cut(10 * PAGE_BYTES), "is truncated: it has 40960 bytes");
    is_refused(cut(60), "is truncated: it has 60 bytes");
}

#[test]
fn an_empty_file_is_refused_since_its_content_may_have_been_lost() {
    is_refused(
        |database, _| std::fs::write(database, "").unwrap(),
        "is empty: either the very first start was interrupted",
    );
}

#[test]
fn a_file_whose_header_is_garbage_is_refused() {
    let overwrite = |database: &Path, mut whole: Vec<u8>| {
        whole[..100].fill(0xa5);
        std::fs::write(database, whole).unwrap();
    };
    is_refused(overwrite, "is not a SQLite database");
}

#[test]
fn a_file_with_garbage_in_its_middle_is_refused() {
    let overwrite = |database: &Path, mut whole: Vec<u8>| {
        let start = whole.len() / PAGE_BYTES / 2 * PAGE_BYTES;
        whole[start..start + PAGE_BYTES].fill(0xa5);
        std::fs::write(database, whole).unwrap();
    };
    is_refused(overwrite, "is damaged");
}

#[test]
fn the_database_of_another_program_is_refused() {
    let replace = |statement: &'static str| {
        move |database: &Path, _: Vec<u8>| {
            std::fs::remove_file(database).unwrap();
            execute(database, statement);
        }
    };
    is_refused(
        replace("create table notes (text text)"),
        "belongs to another program",
    );
    is_refused(replace("pragma application_id = 7"), "belongs to another program");
    // It, too, uses the library that keeps the tables up to date.
    let alike = "create table _sqlx_migrations (version bigint primary key, checksum blob not null);
        insert into _sqlx_migrations values (1, x'00')";
    is_refused(replace(alike), "belongs to another program");
}

#[test]
fn the_database_of_a_newer_heddle_is_refused() {
    let insert = "insert into _sqlx_migrations (version, description, success, checksum, execution_time)
        values (9999, 'later', true, x'00', 0)";
    is_refused(
        |database, _| execute(database, insert),
        "newer heddle: its tables are at version 9999",
    );
}

#[test]
fn a_file_of_a_heddle_that_did_not_mark_it_is_served_and_marked() {
    let (dir, database) = stopped();
    execute(&database, "pragma application_id = 0");
    assert_eq!(Server::start(dir.path(), &[]).stop(), Some(0));
    // Bytes 68 to 71 of the header.
    assert_eq!(&std::fs::read(&database).unwrap()[68..72], b"hedl");
}
