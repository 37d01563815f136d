//! Services that the attacker's patterns ask: one whose answers are long and nearly secrets, a list that is new each time, a response
//! that never ends, and mailboxes. What is asked by itself has something to tell during an attack only.

#[path = "outside/mailbox.rs"]
mod mailbox;

use mailbox::Kind;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Bytes of an answer in which secrets are looked for.
const ANSWER_BYTES: usize = 1 << 20;
/// Elements of a list, as many as a poll takes, and bytes of each, so that the answer is just below the usual limit.
const ELEMENTS: u64 = 2_000;
const ELEMENT_BYTES: usize = 3_500;
/// Bytes of a line of the response that never ends, and lines that are written at a time.
const LINE_BYTES: usize = 1_000;
const LINES: usize = 64;

/// All of them.
pub struct Outside {
    pub http: SocketAddr,
    pub slow_mailbox: SocketAddr,
    pub flooding_mailbox: SocketAddr,
    is_on: Arc<AtomicBool>,
}

impl Outside {
    /// Starts them.
    pub async fn start() -> Outside {
        let is_on = Arc::<AtomicBool>::default();
        Outside {
            http: Http::start(is_on.clone()).await,
            slow_mailbox: mailbox::start(Kind::Slow, is_on.clone()).await,
            flooding_mailbox: mailbox::start(Kind::Flooding, is_on.clone()).await,
            is_on,
        }
    }

    /// Their addresses, as a server is told that they may be reached.
    pub fn addresses(&self) -> String {
        let all = [self.http, self.slow_mailbox, self.flooding_mailbox];
        all.map(|address| address.to_string()).join(",")
    }

    /// Whether there is an attack.
    pub fn set_on(&self, is_on: bool) {
        self.is_on.store(is_on, Ordering::Relaxed);
    }
}

/// What is answered by HTTP.
struct Http {
    is_on: Arc<AtomicBool>,
    /// Elements that were listed so far.
    listed: AtomicU64,
    /// An answer in which secrets are looked for.
    text: String,
    /// Some lines of the response that never ends.
    lines: String,
    padding: String,
}

impl Http {
    async fn start(is_on: Arc<AtomicBool>) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let text = "a secret that is looked fo ".repeat(ANSWER_BYTES / 27);
        let http = Arc::new(Http {
            is_on,
            listed: AtomicU64::new(0),
            text: whole("text/plain", &text),
            lines: format!("{}\n", "x".repeat(LINE_BYTES - 1)).repeat(LINES),
            padding: "y".repeat(ELEMENT_BYTES),
        });
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let http = http.clone();
                tokio::spawn(async move {
                    // Whoever asked may have gone.
                    let _ = http.answer(stream).await;
                });
            }
        });
        address
    }

    async fn answer(&self, mut stream: TcpStream) -> io::Result<()> {
        let mut request = vec![0; 4096];
        loop {
            let count = stream.read(&mut request).await?;
            if count == 0 {
                return Ok(());
            }
            let said = String::from_utf8_lossy(&request[..count]).into_owned();
            match said.split(' ').nth(1) {
                Some("/lines") => {
                    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n";
                    stream.write_all(head.as_bytes()).await?;
                    loop {
                        stream.write_all(self.lines.as_bytes()).await?;
                    }
                }
                Some("/list") => stream.write_all(self.list().as_bytes()).await?,
                _ => stream.write_all(self.text.as_bytes()).await?,
            }
        }
    }

    /// Elements that were not listed before; none while there is no attack.
    fn list(&self) -> String {
        let elements: Vec<String> = match self.is_on.load(Ordering::Relaxed) {
            false => Vec::new(),
            true => {
                let first = self.listed.fetch_add(ELEMENTS, Ordering::Relaxed);
                let padding = &self.padding;
                (first..first + ELEMENTS)
                    .map(|id| format!(r#"{{"id":{id},"text":"{padding}"}}"#))
                    .collect()
            }
        };
        whole("application/json", &format!("[{}]", elements.join(",")))
    }
}

/// An answer with its head.
fn whole(content_type: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}
