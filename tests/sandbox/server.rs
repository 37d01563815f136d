//! An HTTP server on this machine that answers as a test says and remembers what it was asked.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Barrier;

/// A server; it stops with the test's runtime.
pub struct Server {
    pub address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Answers every request with what `answer` makes of its text.
    pub async fn start(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Self {
        Self::serve(answer, None).await
    }

    /// Answers only once `count` requests are there at the same time.
    pub async fn meeting(count: usize) -> Self {
        Self::serve(|_| ok("together"), Some(Arc::new(Barrier::new(count)))).await
    }

    async fn serve(
        answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static,
        barrier: Option<Arc<Barrier>>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (answer, seen) = (Arc::new(answer), requests.clone());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (answer, seen, barrier) = (answer.clone(), seen.clone(), barrier.clone());
                tokio::spawn(async move {
                    let request = read_request(&mut stream).await;
                    seen.lock().unwrap().push(request.clone());
                    if let Some(barrier) = barrier {
                        barrier.wait().await;
                    }
                    let _ = stream.write_all(&answer(&request)).await;
                });
            }
        });
        Server { address, requests }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The requests so far, headers in lower case as sent.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

async fn read_request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let count = stream.read(&mut buffer).await.unwrap_or(0);
        bytes.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        // A TLS handshake, to which the plain answer is no answer.
        if bytes.first() == Some(&0x16) {
            return text;
        }
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            assert!(count > 0, "the request ended early: {text}");
            continue;
        };
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .unwrap_or("0");
        if body.len() >= length.parse::<usize>().unwrap() {
            return text;
        }
    }
}

pub fn ok(body: &str) -> Vec<u8> {
    response("200 OK", "content-type: text/plain", body.as_bytes())
}

pub fn redirect(status: &str, location: &str) -> Vec<u8> {
    response(status, &format!("location: {location}"), b"")
}

pub fn response(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!(
        "HTTP/1.1 {status}\r\n{headers}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}
