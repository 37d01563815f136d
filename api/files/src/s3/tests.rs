//! Uploads share their places; and whatever a service answers, what it was asked for fails, and nothing else.

#[expect(dead_code, reason = "other tests have more use for it")]
#[path = "../../../../tests/sandbox/peers/server.rs"]
mod server;
#[path = "../../../../tests/shared/spoiler.rs"]
mod spoiler;
#[path = "../../../../tests/shared/tried.rs"]
mod tried;

use super::*;
use futures_util::FutureExt;
use heddle_model::error::{ServiceError, chain};
use heddle_model::ids::BlobId;
use object_store::BackoffConfig;
use server::{Server, endless};
use spoiler::{Spoiler, cases};
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use tried::Memory;

/// What is written, piece by piece: the last piece of a large object does not fit into its first part.
static PIECE: [u8; 1 << 20] = [7; 1 << 20];
const LARGE: usize = 9;
/// Bytes that are read of an object.
const READ_BYTES: u64 = 200_000;
/// Of what is logged, which repeats what an answer has said where a library's errors do.
const LOGGED_BYTES_MAX: usize = 512 << 10;
/// How often such a service is asked until it has been asked for everything.
const ANSWERS: usize = 8;
const UPLOAD: &str = "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>";
const COMPLETED: &str = "<CompleteMultipartUploadResult><ETag>\"e\"</ETag></CompleteMultipartUploadResult>";

fn settings(port: u16) -> S3Settings {
    S3Settings {
        bucket: "files".to_owned(),
        prefix: String::new(),
        region: "us-east-1".to_owned(),
        endpoint: Some(format!("http://127.0.0.1:{port}")),
        keys: Some(("id".to_owned(), "secret".into())),
    }
}

/// A bucket of a service at this port, which is asked again at once.
fn bucket(port: u16) -> S3 {
    let retries = RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(1),
            max_backoff: Duration::from_millis(5),
            base: 2.0,
        },
        max_retries: 2,
        retry_timeout: Duration::from_secs(5),
    };
    S3::with_retries(&settings(port), retries)
}

fn key() -> Key {
    Key {
        tenant: "tenant".to_owned(),
        blob: BlobId::new(),
    }
}

/// Reads a request: its first line and its headers, in lower case.
fn request(stream: &TcpStream) -> Option<String> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    head.make_ascii_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let length: u64 = match length {
        Some(length) => length.parse().ok()?,
        None => 0,
    };
    std::io::copy(&mut reader.take(length), &mut std::io::sink()).ok()?;
    Some(head)
}

/// What a service answers that does as it is asked.
fn honest(head: &str) -> Vec<u8> {
    let line = head.lines().next().unwrap();
    let range = head.lines().find_map(|line| line.strip_prefix("range: bytes="));
    let (status, headers, body) = if let Some(range) = range {
        let (_, last) = range.split_once('-').unwrap();
        let bytes = last.parse::<usize>().unwrap() + 1;
        let headers = format!("etag: \"e\"\r\ncontent-range: bytes {range}/{bytes}\r\n");
        ("206 Partial Content", headers, "x".repeat(bytes))
    } else if line.starts_with("post ") {
        let body = if line.contains("?uploads") {
            UPLOAD
        } else {
            COMPLETED
        };
        ("200 OK", String::new(), body.to_owned())
    } else if line.starts_with("delete ") {
        ("204 No Content", String::new(), String::new())
    } else {
        ("200 OK", "etag: \"e\"\r\n".to_owned(), String::new())
    };
    let length = body.len();
    format!("HTTP/1.1 {status}\r\n{headers}connection: close\r\ncontent-length: {length}\r\n\r\n{body}")
        .into_bytes()
}

/// A service that answers each request by `answer`.
fn service(answer: impl Fn(&mut TcpStream, &str) + Clone + Send + 'static) -> Server {
    Server::start(move |mut stream| {
        if let Some(head) = request(&stream) {
            answer(&mut stream, &head);
        }
    })
}

async fn written(s3: &S3, pieces: usize) -> Result<(), FileError> {
    let mut writer = s3.create(&key(), None).await?;
    for _ in 0..pieces {
        writer.write(vec![Bytes::from_static(&PIECE)]).await?;
        // It is stored, and said again with each part.
        assert!(writer.upload().unwrap_or_default().len() <= NAME_BYTES_MAX);
    }
    writer.finish().await
}

/// Reads as whoever decrypts what is read: no more than there should be.
async fn read(s3: &S3) -> Result<(), FileError> {
    let mut content = s3.read(&key(), 0..READ_BYTES).await?;
    let mut bytes = 0;
    while bytes < READ_BYTES
        && let Some(piece) = content.next().await
    {
        bytes += piece?.len() as u64;
    }
    Ok(())
}

/// Does all that is done with a bucket.
async fn used(s3: &S3) -> Vec<Result<(), FileError>> {
    vec![
        written(s3, 1).await,
        written(s3, LARGE).await,
        read(s3).await,
        s3.remove(&key(), Some("u")).await,
    ]
}

/// People are not told where the bucket is, and what is logged has a bound.
fn assert_told(done: &[Result<(), FileError>], case: &str) {
    for error in done.iter().filter_map(|done| done.as_ref().err()) {
        assert!(matches!(error, FileError::Bytes(_)), "{case}: {}", chain(error));
        assert_eq!(error.to_string(), "The file store has failed.", "{case}");
        let logged = chain(error).len();
        assert!(logged <= LOGGED_BYTES_MAX, "{case}: {logged}");
    }
}

async fn assert_honest(s3: &S3) {
    for done in used(s3).await {
        done.unwrap();
    }
}

#[tokio::test]
async fn an_owner_leaves_others_half_of_the_places() {
    let s3 = S3::new(&settings(9));
    // A tenant each: workspaces are free.
    let begin = |owner| {
        let key = Key {
            tenant: UserId::new().to_string(),
            blob: BlobId::new(),
        };
        let s3 = &s3;
        async move { s3.create(&key, Some(owner)).await }
    };
    let (ann, bob) = (UserId::new(), UserId::new());
    let mut of_ann = Vec::new();
    while let Some(begun) = begin(ann).now_or_never() {
        of_ann.push(begun.unwrap());
    }
    assert_eq!(of_ann.len(), UPLOADS_PER_OWNER_MAX);
    let mut waits = Box::pin(begin(ann));
    assert!(waits.as_mut().now_or_never().is_none());
    assert!(begin(bob).now_or_never().unwrap().is_ok());
    drop(of_ann.pop());
    assert!(waits.as_mut().now_or_never().unwrap().is_ok());
    // However many owners have as much as they can get, another one's first finds a place.
    while let Some(begun) = begin(bob).now_or_never() {
        of_ann.push(begun.unwrap());
    }
    assert!(begin(ann).now_or_never().is_none());
    assert!(begin(UserId::new()).now_or_never().unwrap().is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn generated_answers_of_a_bucket_end_well() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let heard = asked.clone();
    let well = service(move |stream, head| {
        let line = head.lines().next().unwrap().to_owned();
        heard.lock().unwrap().push(line);
        let _ = stream.write_all(&honest(head));
    });
    let other = Arc::new(bucket(well.port));
    assert_honest(&other).await;
    let lines = asked.lock().unwrap().clone();
    assert_eq!(lines.len(), ANSWERS, "{lines:?}");
    // What object_store makes of an answer to this, nobody may find out.
    assert!(lines.iter().all(|line| !line.contains("?delete")), "{lines:?}");
    tried::tried("a bucket", cases(60), |seed| {
        let other = other.clone();
        async move {
            let spoiler = Spoiler::new(seed, ANSWERS);
            let of_server = Arc::new(Mutex::new(spoiler.clone()));
            let server = service(move |stream, head| {
                let answer = of_server.lock().unwrap().spoil(honest(head));
                let _ = stream.write_all(&answer);
            });
            let case = format!("seed {seed}");
            assert_told(&used(&bucket(server.port)).await, &case);
            if seed % 16 == 0 {
                assert_honest(&other).await;
            }
            spoiler.has_spoilt()
        }
    })
    .await;
}

/// Among them lengths for which no machine has memory, which is asked for by whoever believes them.
#[tokio::test(flavor = "multi_thread")]
async fn endless_answers_of_a_bucket_take_no_memory() {
    let memory = Memory::measured().await;
    for claim in [
        "content-length: 4611686018427387904",
        "content-length: 70368744177664",
        "transfer-encoding: chunked",
        "connection: close",
    ] {
        for status in ["200 OK", "206 Partial Content", "403 No", "404 No", "503 Busy"] {
            let server = service(move |stream, _| {
                let head = format!(
                    "HTTP/1.1 {status}\r\n{claim}\r\netag: \"e\"\r\ncontent-range: bytes 0-199999/200000\r\n\r\n"
                );
                let piece = match claim.ends_with("chunked") {
                    true => "5\r\n<a>é\r\n",
                    false => "<a>é",
                };
                if stream.write_all(head.as_bytes()).is_ok() {
                    endless(stream, piece.as_bytes());
                }
            });
            let done = used(&bucket(server.port)).await;
            let case = format!("{claim}, {status}");
            assert_told(&done, &case);
            assert!(done[0].is_err() && done[1].is_err(), "{case}");
            // What is not there is removed, whatever else is said of it.
            assert_eq!(done[3].is_ok(), status.starts_with("404"), "{case}");
        }
    }
    memory.assert_bounded("endless answers");
}

#[tokio::test(flavor = "multi_thread")]
async fn strange_results_of_a_bucket_are_refused() {
    let named = |id: &str| {
        format!("<InitiateMultipartUploadResult><UploadId>{id}</UploadId></InitiateMultipartUploadResult>")
    };
    let entity = |name: char, of: char| format!("<!ENTITY {name} \"{}\">", format!("&{of};").repeat(20));
    let bomb: String = ('b'..='k')
        .zip('a'..='j')
        .map(|(name, of)| entity(name, of))
        .collect();
    let bodies = [
        String::new(),
        "\0".to_owned(),
        "<a>".repeat(20_000),
        format!("<a>{}", "</b>".repeat(10_000)),
        format!("<{}>", "a".repeat(50_000)),
        named(&"u".repeat(NAME_BYTES_MAX + 1)),
        format!("<!DOCTYPE a [<!ENTITY a \"aaaa\">{bomb}]>{}", named("&k;")),
        "<InitiateMultipartUploadResult><UploadId>u</UploadId><UploadId>v</UploadId>".to_owned(),
    ];
    for body in bodies {
        let case: String = body.chars().take(60).collect();
        let server = service(move |stream, head| {
            let answer = match head.starts_with("post ") {
                true => format!(
                    "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
                    body.len()
                )
                .into_bytes(),
                false => honest(head),
            };
            let _ = stream.write_all(&answer);
        });
        let done = written(&bucket(server.port), LARGE).await;
        assert!(done.is_err(), "{case}");
        assert_told(&[done], &case);
    }
    for headers in [
        format!("etag: {}", "e".repeat(NAME_BYTES_MAX + 1)),
        format!("etag: e\r\nx-other: {}", "e".repeat(20_000)),
        "etag: \u{e9}".to_owned(),
        "x: y".to_owned(),
    ] {
        let case: String = headers.chars().take(60).collect();
        let server = service(move |stream, head| {
            let answer = match head.starts_with("put ") {
                true => {
                    format!("HTTP/1.1 200 OK\r\n{headers}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
                        .into_bytes()
                }
                false => honest(head),
            };
            let _ = stream.write_all(&answer);
        });
        let done = written(&bucket(server.port), LARGE).await;
        assert!(done.is_err(), "{case}");
        assert_told(&[done], &case);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_that_no_object_has_is_refused() {
    for range in [
        "bytes 0-18446744073709551615/18446744073709551615",
        "bytes 0-18446744073709551615/200000",
        "bytes 0-018446744073709551615/200000",
        "bytes 5-1/200000",
        "bytes 0-199999/0",
        "bytes */200000",
        "bytes 1-199999/200000",
        "x",
    ] {
        let server = service(move |stream, _| {
            let answer = format!(
                "HTTP/1.1 206 Partial Content\r\ncontent-range: {range}\r\netag: e\r\nconnection: close\r\ncontent-length: 5\r\n\r\nbytes"
            );
            let _ = stream.write_all(answer.as_bytes());
        });
        let done = read(&bucket(server.port)).await;
        assert!(done.is_err(), "{range}");
        assert_told(&[done], range);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_else_is_asked_because_a_bucket_says_so() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    let elsewhere = service(move |stream, head| {
        counted.fetch_add(1, Ordering::AcqRel);
        let _ = stream.write_all(&honest(head));
    });
    let port = elsewhere.port;
    for status in ["301", "302", "303", "307", "308"] {
        let server = service(move |stream, _| {
            let answer = format!(
                "HTTP/1.1 {status} Moved\r\nlocation: http://127.0.0.1:{port}/files/x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
            );
            let _ = stream.write_all(answer.as_bytes());
        });
        let done = used(&bucket(server.port)).await;
        assert!(done.iter().all(Result::is_err), "{status}");
        assert_told(&done, status);
    }
    assert_eq!(asked.load(Ordering::Acquire), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_told_of_a_bucket_is_that_it_has_failed() {
    let server = service(|stream, _| {
        let _ =
            stream.write_all(b"HTTP/1.1 403 No\r\nconnection: close\r\ncontent-length: 9\r\n\r\n10.0.0.17");
    });
    for done in used(&bucket(server.port)).await {
        let error = done.unwrap_err();
        assert!(chain(&error).contains("10.0.0.17"), "the log has it: {error}");
        let told = ServiceError::from(error).to_string();
        assert!(
            !told.contains("10.0.0.17") && !told.contains("127.0.0.1"),
            "{told}"
        );
    }
}
