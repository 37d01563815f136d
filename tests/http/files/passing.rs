//! Files through runs: from one HTTP server to another, as a body and in forms.

use super::bytes;
use crate::harness::{Database, Service, chain};
use heddle_runtime::EgressPolicy;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What a server was sent: the head and the body of each request.
type Taken = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

/// Serves `content` to GET, and notes what else is sent. Redirects from `/moved`.
async fn serving(content: Vec<u8>) -> (String, Taken) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (taken, content) = (Taken::default(), Arc::new(content));
    let noted = taken.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (noted, content) = (noted.clone(), content.clone());
            tokio::spawn(async move { answer(stream, &content, &noted).await });
        }
    });
    (format!("http://{address}"), taken)
}

async fn answer(mut stream: TcpStream, content: &[u8], taken: &Taken) -> Option<()> {
    let mut read = Vec::new();
    let end = loop {
        let mut piece = vec![0; 64 << 10];
        let count = stream.read(&mut piece).await.ok().filter(|count| *count > 0)?;
        read.extend_from_slice(&piece[..count]);
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
    };
    let head = String::from_utf8_lossy(&read[..end]).to_ascii_lowercase();
    let mut body = read.split_off(end);
    let length = head
        .split("content-length: ")
        .nth(1)
        .and_then(|rest| rest.split('\r').next()?.parse().ok());
    while body.len() < length.unwrap_or(0) {
        let mut piece = vec![0; 64 << 10];
        let count = stream.read(&mut piece).await.ok().filter(|count| *count > 0)?;
        body.extend_from_slice(&piece[..count]);
    }
    let line = head.lines().next().unwrap_or_default().to_owned();
    let answer = if line.starts_with("get ") && line.contains("missing") {
        b"HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\nconnection: close\r\n\r\ngone".to_vec()
    } else if line.starts_with("get ") {
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: image/png\r\ncontent-disposition: attachment; filename=\"photo.png\"\r\n\
             content-length: {}\r\nconnection: close\r\n\r\n",
            content.len()
        );
        [head.as_bytes(), content].concat()
    } else if line.contains("/moved") {
        b"HTTP/1.1 307 Temporary Redirect\r\nlocation: /here\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_vec()
    } else {
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok".to_vec()
    };
    taken.lock().unwrap().push((head, body));
    stream.write_all(&answer).await.ok()
}

async fn passing(database: Database) {
    let service = Service::with(database, |config| {
        config.egress = EgressPolicy::parse(["127.0.0.0/8"]).unwrap();
    })
    .await;
    let ann = service.user("ann").await;
    let content = bytes(3_000_001);
    let (url, taken) = serving(content.clone()).await;
    let graph = chain(&[
        ("start", "OnManual", json!({})),
        (
            "get",
            "HttpRequest",
            json!({"url": format!("{url}/photo"), "responseType": "file", "bodyOnly": true}),
        ),
        (
            "put",
            "HttpRequest",
            json!({"method": "POST", "url": format!("{url}/moved"), "body": "{{ $nodes.get }}"}),
        ),
        (
            "form",
            "HttpRequest",
            json!({
                "method": "POST", "url": format!("{url}/form"), "bodyType": "multipart",
                "body": {"name": "Ann", "photos": ["{{ $nodes.get }}", "{{ $nodes.get }}"]},
            }),
        ),
        ("end", "Return", json!({"value": "{{ $nodes.get }}"})),
    ]);
    let deployment = service.deployed(&ann, &graph).await;
    let ended = service.execute(&ann, &deployment, "?wait=true", &json!({})).await;
    let file = ended.data(200)["output"].clone();
    assert_eq!(file["sha256"], hex::encode(Sha256::digest(&content)), "{ended}");
    assert_eq!(
        (&file["name"], &file["type"], &file["size"]),
        (&json!("photo.png"), &json!("image/png"), &json!(3_000_001))
    );
    assert_eq!(service.content(&ann, &file).await, (200, content.clone()));
    let taken = std::mem::take(&mut *taken.lock().unwrap());
    let lines: Vec<&str> = taken
        .iter()
        .map(|(head, _)| head.lines().next().unwrap())
        .collect();
    assert_eq!(
        lines,
        [
            "get /photo http/1.1",
            "post /moved http/1.1",
            "post /here http/1.1",
            "post /form http/1.1"
        ]
    );
    assert!(taken[2].1 == content, "the body that was sent is another");
    assert!(
        taken[2].0.contains("content-type: image/png\r\n"),
        "{}",
        taken[2].0
    );
    assert!(
        taken[2].0.contains("content-length: 3000001\r\n"),
        "{}",
        taken[2].0
    );
    let form = &taken[3].1;
    let files = form
        .windows(content.len())
        .filter(|window| *window == content)
        .count();
    assert_eq!(files, 2);
    let head = String::from_utf8_lossy(&form[..300]);
    assert!(head.contains("name=\"name\"\r\n\r\nAnn\r\n"), "{head}");
    assert!(
        head.contains("name=\"photos\"; filename=\"photo.png\"\r\nContent-Type: image/png"),
        "{head}"
    );

    // An answer that is not a success is read as it would be without a file.
    let graph = chain(&[
        ("start", "OnManual", json!({})),
        (
            "get",
            "HttpRequest",
            json!({
                "url": format!("{url}/missing"), "responseType": "file", "acceptStatuses": ["2xx", "404"],
            }),
        ),
        ("end", "Return", json!({"value": "{{ $input.body }}"})),
    ]);
    let deployment = service.deployed(&ann, &graph).await;
    let ended = service.execute(&ann, &deployment, "?wait=true", &json!({})).await;
    assert_eq!(ended.data(200)["output"], "gone", "{ended}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_passes_from_server_to_server_sqlite() {
    passing(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_passes_from_server_to_server_postgres() {
    passing(Database::Postgres).await;
}

/// 100,000 times `x`, gzipped.
const GZIPPED_X: &[u8] = &include!("../../sandbox/gzipped_x.in");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_response_that_unpacks_to_more_than_files_may_have_is_none() {
    let service = Service::with(Database::Sqlite, |config| {
        config.egress = EgressPolicy::parse(["127.0.0.0/8"]).unwrap();
        config.files.bytes_max = 50_000;
    })
    .await;
    let ann = service.user("ann").await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut asked = Vec::new();
            while !asked.ends_with(b"\r\n\r\n") {
                asked.push(stream.read_u8().await.unwrap());
            }
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                GZIPPED_X.len()
            );
            let answer = [head.as_bytes(), GZIPPED_X].concat();
            stream.write_all(&answer).await.unwrap();
        }
    });
    let graph = chain(&[
        ("start", "OnManual", json!({})),
        ("get", "HttpRequest", json!({"url": url, "responseType": "file"})),
        ("end", "Return", json!({})),
    ]);
    let deployment = service.deployed(&ann, &graph).await;
    let ended = service.execute(&ann, &deployment, "?wait=true", &json!({})).await;
    assert_eq!(ended.data(200)["error"]["code"], "FILE_LIMIT", "{ended}");
    let listed = service.get("/api/files").bearer(&ann.token).send().await;
    assert_eq!(listed.body["data"], json!([]), "{listed}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_node_file_reads_and_makes() {
    let service = Service::start(Database::Sqlite).await;
    let ann = service.user("ann").await;
    let graph = chain(&[
        ("start", "OnManual", json!({})),
        (
            "make",
            "File",
            json!({
                "operation": "make", "content": "{{ $input.content }}", "format": "{{ $input.as }}", "name": "x.bin",
            }),
        ),
        (
            "read",
            "File",
            json!({
                "format": "{{ $nodes.start.read }}", "offset": "{{ $nodes.start.offset }}", "limit": "{{ $nodes.start.limit }}",
            }),
        ),
        (
            "end",
            "Return",
            json!({"value": "{{ ({ read: $input, size: $nodes.make.size, name: $nodes.make.name }) }}"}),
        ),
    ]);
    let deployment = service.deployed(&ann, &graph).await;
    let run = async |event: Value| {
        let reply = service.execute(&ann, &deployment, "?wait=true", &event).await;
        let ended = reply.data(200).clone();
        match ended["error"].is_null() {
            true => ended["output"].clone(),
            false => json!([ended["error"]["nodeId"], ended["error"]["code"]]),
        }
    };
    let value = json!({"a": [1, "ü"]});
    assert_eq!(
        run(json!({"content": value, "as": "json", "read": "json"})).await,
        json!({"read": value, "size": 14, "name": "x.bin"})
    );
    let text = "grüße\n".repeat(1_000);
    let whole = run(json!({"content": text, "as": "text", "read": "text"})).await;
    assert_eq!(whole["read"], text);
    // In the midst of a character it begins and ends with the next whole ones.
    let part = run(json!({"content": text, "as": "text", "read": "text", "offset": 3, "limit": 3})).await;
    assert_eq!(part["read"], "ß");
    let bytes = run(json!({"content": "/wD/", "as": "base64", "read": "base64"})).await;
    assert_eq!(bytes, json!({"read": "/wD/", "size": 3, "name": "x.bin"}));
    assert_eq!(
        run(json!({"content": "/wD/", "as": "base64", "read": "text"})).await,
        json!(["read", "PARSE"])
    );
    assert_eq!(
        run(json!({"content": "{", "as": "text", "read": "json"})).await,
        json!(["read", "PARSE"])
    );
    assert_eq!(
        run(json!({"content": "no base64!", "as": "base64"})).await,
        json!(["make", "PARSE"])
    );
    let beyond = run(json!({"content": "abc", "as": "text", "read": "text", "offset": 3})).await;
    assert_eq!(beyond["read"], "");
    let lines = async |limit: u64| {
        run(json!({"content": "für\r\n2\n3", "as": "text", "read": "lines", "limit": limit})).await
    };
    assert_eq!(lines(7).await["read"], json!({"items": ["für"], "next": 6}));
    assert_eq!(
        lines(9).await["read"],
        json!({"items": ["für", "2", "3"], "next": null})
    );
    assert_eq!(lines(5).await, json!(["read", "FILE_LIMIT"]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn as_much_is_read_at_once_as_a_body_may_have() {
    let service = Service::start(Database::Sqlite).await;
    let ann = service.user("ann").await;
    let graph = chain(&[
        ("start", "OnManual", json!({})),
        ("read", "File", json!({"file": "{{ $input.file }}"})),
        ("end", "Return", json!({"value": "{{ $input.length }}"})),
    ]);
    let deployment = service.deployed(&ann, &graph).await;
    let read = async |size: usize| {
        let file = service.uploaded(&ann, "a.txt", &vec![b'a'; size]).await;
        let event = json!({"file": file});
        let reply = service.execute(&ann, &deployment, "?wait=true", &event).await;
        reply.data(200).clone()
    };
    let ended = read(8 << 20).await;
    assert_eq!(ended["output"], 8 << 20, "{}", ended["error"]);
    assert_eq!(read((8 << 20) + 1).await["error"]["code"], "FILE_LIMIT");
}

/// Of a response that is larger than what may be read at once, the run holds some lines.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_response_is_read_line_by_line() {
    let service = Service::with(Database::Sqlite, |config| {
        config.egress = EgressPolicy::parse(["127.0.0.0/8"]).unwrap();
    })
    .await;
    let ann = service.user("ann").await;
    let mut content = String::new();
    for number in 0..100_000 {
        content.push_str(&format!("{{\"number\":{number},\"text\":\"für alle\"}}\n"));
    }
    let (url, _) = serving(content.into_bytes()).await;
    let node = |id: &str, kind: &str, parameters: Value| json!({"id": id, "type": kind, "data": {"parameters": parameters}});
    let get = json!({"url": url, "responseType": "file", "bodyOnly": true});
    let read = json!({
        "file": "{{ $nodes.get }}", "format": "jsonLines", "offset": "{{ $item.next }}", "limit": 1_000_000,
    });
    let sum =
        "{{ ({next: $input.next, sum: $input.items.reduce((sum, item) => sum + item.number, $item.sum)}) }}";
    let graph = json!({
        "nodes": [
            node("start", "OnManual", json!({})),
            node("get", "HttpRequest", get),
            node("first", "Transform", json!({"value": {"next": 0, "sum": 0}})),
            node("loop", "Loop", json!({"condition": "{{ $item.next !== null }}", "maxIterations": 100})),
            node("read", "File", read),
            node("sum", "Transform", json!({"value": sum})),
            node("end", "Return", json!({"value": "{{ $input.sum }}"})),
        ],
        "edges": [
            {"source": "start", "target": "get"}, {"source": "get", "target": "first"}, {"source": "first", "target": "loop"},
            {"source": "loop", "sourceHandle": "item", "target": "read"}, {"source": "read", "target": "sum"},
            {"source": "sum", "target": "loop", "targetHandle": "next"},
            {"source": "loop", "sourceHandle": "done", "target": "end"},
        ],
    });
    let deployment = service.deployed(&ann, &graph).await;
    let ended = service.execute(&ann, &deployment, "?wait=true", &json!({})).await;
    assert_eq!(ended.data(200)["output"], 99_999_u64 * 50_000, "{ended}");
}
