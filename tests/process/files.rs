//! Files and the process: what a kill leaves of uploads, and how much memory a large file takes on its way through a run.

use crate::moto::Moto;
use crate::needs::or_skip;
use crate::server::{Server, database, on, pause};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, PgConnection, Row};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Bytes of the large file: more than a run's memory, and much more than the process may take for it.
const LARGE: usize = 64 << 20;
/// What the process may grow by while it passes one on.
const GROWTH_MAX: usize = 40 << 20;

/// The bytes of a file by its number, which no other file has.
fn content(number: usize, size: usize) -> Vec<u8> {
    (0..size)
        .map(|at| ((at ^ number).wrapping_mul(2_654_435_761) >> 11) as u8)
        .chain(number.to_be_bytes())
        .collect()
}

/// Uploads a file; `None`: nobody knows what became of it.
fn upload(address: &str, token: &str, content: &[u8]) -> Option<Value> {
    let mut stream = TcpStream::connect(address).ok()?;
    write!(
        stream,
        "POST /api/files?name=a HTTP/1.1\r\nhost: heddle\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\
         content-type: text/plain\r\ncontent-length: {}\r\n\r\n",
        content.len()
    )
    .ok()?;
    stream.write_all(content).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let body = answer.strip_prefix("HTTP/1.1 201")?.split_once("\r\n\r\n")?.1;
    Some(serde_json::from_str::<Value>(body).ok()?["data"].clone())
}

fn download(address: &str, token: &str, id: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET /api/files/{id} HTTP/1.1\r\nhost: heddle\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\r\n"
    )
    .unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert!(
        answer.starts_with(b"HTTP/1.1 200"),
        "{}",
        String::from_utf8_lossy(&answer[..200])
    );
    let head = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    answer.split_off(head + 4)
}

/// Objects below a directory, by their names, with their sizes.
fn objects(dir: &Path) -> BTreeMap<String, u64> {
    let (mut found, mut dirs) = (BTreeMap::new(), vec![dir.to_owned()]);
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            match entry.file_type().unwrap().is_dir() {
                true => dirs.push(entry.path()),
                false => {
                    let name = entry.file_name().into_string().unwrap();
                    found.insert(name, entry.metadata().unwrap().len());
                }
            }
        }
    }
    found
}

const BLOBS: &str = "select id, state, coalesce(size, 0) as size from file_blobs";

/// Rows of contents: state and size by id.
fn rows(dir: &Path, postgres: Option<&str>) -> BTreeMap<String, (String, i64)> {
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    executor.block_on(async {
        let read = |id, state, size| (id, (state, size));
        match postgres {
            Some(url) => {
                let mut connection = PgConnection::connect(url).await.unwrap();
                let rows = sqlx::query(BLOBS).fetch_all(&mut connection).await.unwrap();
                rows.iter()
                    .map(|row| read(row.get(0), row.get(1), row.get(2)))
                    .collect()
            }
            None => {
                let path = dir.join("heddle-data/heddle.db");
                let mut connection = SqliteConnectOptions::new()
                    .filename(path)
                    .connect()
                    .await
                    .unwrap();
                let rows = sqlx::query(BLOBS).fetch_all(&mut connection).await.unwrap();
                rows.iter()
                    .map(|row| read(row.get(0), row.get(1), row.get(2)))
                    .collect()
            }
        }
    })
}

/// Uploads while the server is killed again and again; to a directory, or to a bucket.
fn kills(postgres: Option<&str>, bucket: Option<&Moto>) {
    let dir = tempfile::tempdir().unwrap();
    let url = bucket.map(Moto::url);
    let mut variables: Vec<(&str, &str)> = postgres.map(on).into_iter().flatten().collect();
    if let Some(url) = &url {
        variables.extend([
            ("HEDDLE_FILE_STORE", "s3://files/of/heddle"),
            ("HEDDLE_FILE_STORE_ENDPOINT", url.as_str()),
            ("HEDDLE_FILE_STORE_ACCESS_KEY", "id"),
            ("HEDDLE_FILE_STORE_SECRET_KEY", "secret"),
        ]);
    }
    let mut server = Server::start(dir.path(), &variables);
    let token = server.register();
    let (number, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (address, stored) = (Mutex::new(server.address.clone()), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !over.load(Ordering::SeqCst) {
                    let number = number.fetch_add(1, Ordering::SeqCst);
                    let content = content(number, (number * 7_919) % 900_000);
                    let address = address.lock().unwrap().clone();
                    match upload(&address, &token, &content) {
                        Some(file) => {
                            let id = file["$file"].as_str().unwrap().to_owned();
                            stored
                                .lock()
                                .unwrap()
                                .insert(id, Sha256::digest(&content).to_vec());
                        }
                        None => pause(),
                    }
                }
            });
        }
        for kill in 1..=4 {
            while stored.lock().unwrap().len() < kill * 12 {
                pause();
            }
            server.process.kill().unwrap();
            server.process.wait().unwrap();
            server = Server::start(dir.path(), &variables);
            *address.lock().unwrap() = server.address.clone();
        }
        over.store(true, Ordering::SeqCst);
    });
    // What was acknowledged is there.
    for (id, hash) in stored.into_inner().unwrap() {
        let read = download(&server.address, &token, &id);
        assert_eq!(Sha256::digest(&read).to_vec(), hash, "{id}");
    }
    assert_eq!(server.stop(), Some(0));
    // Nothing is there that no row knows, and what a row says is there is, and whole.
    let rows = rows(dir.path(), postgres);
    let objects = match bucket {
        Some(moto) => {
            assert_eq!(moto.uploads(), 0, "what was sent fits into one part");
            moto.objects().into_iter().collect()
        }
        None => objects(&dir.path().join("heddle-data/files")),
    };
    let unknown: BTreeSet<&String> = objects.keys().filter(|id| !rows.contains_key(*id)).collect();
    assert_eq!(unknown, BTreeSet::new());
    for (id, (state, size)) in rows {
        if state == "live" {
            let chunks = u64::try_from(size).unwrap().div_ceil(64 << 10).max(1);
            assert_eq!(objects.get(&id), Some(&(size as u64 + 16 * chunks)), "{id}");
        }
    }
}

#[test]
fn a_kill_leaves_no_file_without_a_row_and_no_row_without_its_bytes_sqlite() {
    kills(None, None);
}

#[test]
fn a_kill_leaves_no_file_without_a_row_and_no_row_without_its_bytes_postgres() {
    let database = database();
    kills(Some(&database.url), None);
}

#[test]
fn a_kill_leaves_nothing_of_that_in_a_bucket_sqlite() {
    if let Some(moto) = or_skip("moto", Moto::start()) {
        kills(None, Some(&moto));
    }
}

#[test]
fn a_kill_leaves_nothing_of_that_in_a_bucket_postgres() {
    if let Some(moto) = or_skip("moto", Moto::start()) {
        let database = database();
        kills(Some(&database.url), Some(&moto));
    }
}

/// Serves [`LARGE`] bytes to GET, and hashes what is sent by POST.
fn peer() -> (String, Arc<Mutex<Vec<Vec<u8>>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let hashes = Arc::<Mutex<Vec<Vec<u8>>>>::default();
    let noted = hashes.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let noted = noted.clone();
            std::thread::spawn(move || exchange(stream, &noted));
        }
    });
    (url, hashes)
}

fn exchange(mut stream: TcpStream, hashes: &Mutex<Vec<Vec<u8>>>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let (mut line, mut length) = (String::new(), 0_u64);
    reader.read_line(&mut line).ok()?;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        if header.trim().is_empty() {
            break;
        }
        if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    if line.starts_with("GET") {
        write!(
            stream,
            "HTTP/1.1 200 OK\r\ncontent-length: {LARGE}\r\nconnection: close\r\n\r\n"
        )
        .ok()?;
        for number in 0..LARGE / (1 << 20) {
            stream.write_all(&piece(number)).ok()?;
        }
        return Some(());
    }
    let mut hasher = Sha256::new();
    let mut body = reader.take(length);
    let mut piece = vec![0; 1 << 20];
    loop {
        match body.read(&mut piece).ok()? {
            0 => break,
            count => hasher.update(&piece[..count]),
        }
    }
    hashes.lock().unwrap().push(hasher.finalize().to_vec());
    stream
        .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok")
        .ok()
}

/// A MiB of the large file.
fn piece(number: usize) -> Vec<u8> {
    (0..1_usize << 20)
        .map(|at| ((at ^ number).wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect()
}

/// The most memory that a process had, in bytes.
fn peak(server: &Server) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.process.id())).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

#[test]
fn a_large_file_passes_through_a_run_and_little_memory() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(
        dir.path(),
        &[
            ("HEDDLE_EGRESS_ALLOW", "127.0.0.0/8"),
            ("HEDDLE_RUN_MEMORY", "64MiB"),
        ],
    );
    let (url, hashes) = peer();
    let node = |id: &str, kind: &str, parameters: Value| json!({"id": id, "type": kind, "data": {"parameters": parameters}});
    let graph = json!({
        "nodes": [
            node("start", "OnManual", json!({})),
            node("get", "HttpRequest", json!({"url": format!("{url}/"), "responseType": "file", "bodyOnly": true})),
            node("post", "HttpRequest", json!({"method": "POST", "url": format!("{url}/"), "body": "{{ $nodes.get }}"})),
            node("end", "Return", json!({"value": "{{ $nodes.get.sha256 }}"})),
        ],
        "edges": [
            {"source": "start", "target": "get"}, {"source": "get", "target": "post"}, {"source": "post", "target": "end"},
        ],
    });
    let (token, deployment) = server.deploy(&graph);
    // What is needed once for any run is there before it is measured.
    upload(&server.address, &token, &content(1, 1 << 20)).unwrap();
    let before = peak(&server);
    let path = format!("/api/deployments/{deployment}/execute?wait=true");
    let (status, ended) = server.call("POST", &path, &token, "{}");
    assert_eq!(
        (status, &ended["data"]["status"]),
        (200, &json!("completed")),
        "{ended}"
    );
    let expected =
        (0..LARGE / (1 << 20)).fold(Sha256::new(), |hasher, number| hasher.chain_update(piece(number)));
    let expected = expected.finalize().to_vec();
    assert_eq!(ended["data"]["output"], hex::encode(&expected));
    assert_eq!(*hashes.lock().unwrap(), [expected]);
    let grown = peak(&server).saturating_sub(before);
    assert!(grown < GROWTH_MAX, "the process grew by {} MiB", grown >> 20);
}
