//! What the process takes of the system and shows of itself: files that it may open, core dumps, modes of its files, keys
//! in files, the address of its metrics.

use crate::port;
use crate::server::{Server, heddle, output};
use std::fs::Permissions;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

const REGISTER: &str =
    r#"{"email": "ann@example.com", "firstName": "Ann", "lastName": "Lee", "password": "correct-horse"}"#;
const LOGIN: &str = r#"{"email": "ann@example.com", "password": "correct-horse"}"#;

/// A server that a shell starts after this command.
fn start_after(dir: &Path, command: &str, variables: &[(&str, &str)]) -> Server {
    let mut shell = Command::new("/bin/sh");
    shell
        .env_clear()
        .current_dir(dir)
        .args(["-c", &format!("{command}; exec \"$0\" serve")])
        .arg(env!("CARGO_BIN_EXE_heddle"));
    Server::start_by(shell, variables)
}

/// A limit of a process, soft and hard, as Linux tells it.
fn limit(server: &Server, name: &str) -> (String, String) {
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", server.process.id())).unwrap();
    let line = limits.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    let mut values = line.split_whitespace().map(str::to_owned);
    (values.next().unwrap(), values.next().unwrap())
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn with_few_files_a_flood_of_connections_leaves_the_service_at_work() {
    let dir = tempfile::tempdir().unwrap();
    let server = start_after(dir.path(), "ulimit -n 200", &[]);
    assert_eq!(server.call("POST", "/api/auth/register", "", REGISTER).0, 201);
    let mut flood = Vec::new();
    for number in 0..400 {
        flood.push(TcpStream::connect(&server.address).unwrap());
        if number % 50 == 49 {
            // The database is asked, and so needs files of its own.
            assert_eq!(server.call("GET", "/readyz", "", "").0, 200, "after {number}");
            assert_eq!(
                server.call("POST", "/api/auth/login", "", LOGIN).0,
                200,
                "after {number}"
            );
        }
    }
    drop(flood);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn as_many_files_as_are_allowed_may_be_open_and_no_core_is_dumped() {
    let dir = tempfile::tempdir().unwrap();
    let server = start_after(
        dir.path(),
        "ulimit -Sn 300; ulimit -Hn 3000; ulimit -Sc $(ulimit -Hc)",
        &[],
    );
    assert_eq!(
        limit(&server, "Max open files"),
        ("3000".to_owned(), "3000".to_owned())
    );
    assert_eq!(
        limit(&server, "Max core file size"),
        ("0".to_owned(), "0".to_owned())
    );
}

#[test]
fn too_few_files_stop_the_start_with_advice() {
    let dir = tempfile::tempdir().unwrap();
    let mut shell = Command::new("/bin/sh");
    shell
        .env_clear()
        .current_dir(dir.path())
        .args(["-c", "ulimit -n 64; exec \"$0\" serve --listen 127.0.0.1:0"])
        .arg(env!("CARGO_BIN_EXE_heddle"));
    let (code, _, told) = output(&mut shell);
    assert_ne!(code, 0);
    assert!(
        told.contains("may open only 64 files") && told.contains("ulimit -n"),
        "{told}"
    );
}

#[test]
fn files_are_private_also_where_others_could_read_them_before() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("heddle-data");
    std::fs::create_dir(&data).unwrap();
    std::fs::set_permissions(&data, Permissions::from_mode(0o755)).unwrap();
    let ours = [
        "heddle.db",
        "heddle.db-wal",
        "master-key",
        "jwt-secret",
        "serve.lock",
    ];
    let server = Server::start(dir.path(), &[]);
    assert_eq!(mode(&data), 0o700);
    for name in ours {
        assert_eq!(mode(&data.join(name)), 0o600, "{name}");
    }
    drop(server);
    // As an older version, or a hand, has left them.
    std::fs::set_permissions(&data, Permissions::from_mode(0o755)).unwrap();
    for name in ours {
        std::fs::set_permissions(data.join(name), Permissions::from_mode(0o644)).unwrap();
    }
    let _server = Server::start(dir.path(), &[]);
    assert_eq!(mode(&data), 0o700);
    for name in ours {
        assert_eq!(mode(&data.join(name)), 0o600, "{name}");
    }
}

#[test]
fn a_directory_that_holds_other_things_as_well_stays_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("heddle-data");
    std::fs::create_dir(&data).unwrap();
    std::fs::write(data.join("somebody-elses.txt"), "").unwrap();
    for path in [data.clone(), data.join("somebody-elses.txt")] {
        std::fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }
    let _server = Server::start(dir.path(), &[]);
    assert_eq!(
        (mode(&data), mode(&data.join("somebody-elses.txt"))),
        (0o755, 0o755)
    );
    assert_eq!(mode(&data.join("heddle.db")), 0o600);
}

#[test]
fn secrets_can_be_in_files() {
    let dir = tempfile::tempdir().unwrap();
    drop(Server::start(dir.path(), &[]));
    let data = dir.path().join("heddle-data");
    // Elsewhere, and without them nothing could be read.
    for name in ["master-key", "jwt-secret"] {
        std::fs::rename(data.join(name), dir.path().join(name)).unwrap();
    }
    std::fs::write(
        dir.path().join("heddle.toml"),
        "jwt_secret_file = \"jwt-secret\"\n",
    )
    .unwrap();
    let server = Server::start(dir.path(), &[("HEDDLE_MASTER_KEY_FILE", "master-key")]);
    assert_eq!(server.call("GET", "/readyz", "", "").0, 200);
    assert!(!data.join("master-key").exists() && !data.join("jwt-secret").exists());
    drop(server);
    let (_, told, _) = output(
        heddle(dir.path())
            .arg("config")
            .env("HEDDLE_MASTER_KEY_FILE", "master-key"),
    );
    let line = told.lines().find(|line| line.starts_with("master_key ")).unwrap();
    assert!(line.ends_with("= (set)  # master-key"), "{told}");

    for (variables, expected) in [
        (
            &[("HEDDLE_MASTER_KEY_FILE", "nowhere")][..],
            "HEDDLE_MASTER_KEY_FILE names nowhere, which can't be read",
        ),
        (
            &[
                ("HEDDLE_MASTER_KEY_FILE", "master-key"),
                ("HEDDLE_MASTER_KEY", "other"),
            ],
            "HEDDLE_MASTER_KEY is given both directly and in a file",
        ),
    ] {
        let (code, _, told) = output(heddle(dir.path()).arg("config").envs(variables.iter().copied()));
        assert_eq!(code, 2, "{told}");
        assert!(told.contains(expected), "{told}");
    }
}

#[test]
fn metrics_can_have_an_address_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let address = SocketAddr::from(([127, 0, 0, 1], port::free()));
    let server = Server::start(dir.path(), &[("HEDDLE_METRICS_LISTEN", &address.to_string())]);
    assert_eq!(server.call("GET", "/metrics", "", "").0, 404);
    let ask = |path: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nhost: heddle\r\nconnection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let metrics = ask("/metrics");
    assert!(metrics.contains("heddle_runs_waiting"), "{metrics}");
    for other in ["/healthz", "/api/auth/providers", "/docs"] {
        assert!(ask(other).starts_with("HTTP/1.1 404"), "{other}");
    }
    assert_eq!(server.stop(), Some(0));
}
