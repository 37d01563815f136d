//! Mailboxes, by POP3: one that says everything a byte at a time, and one in which large and nested messages never end.

use crate::messages;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// Messages that are new in each session: more than are read in one look.
const MESSAGES: usize = 400;
/// Messages that are always the same.
const KNOWN: usize = 200;
/// Pause after each byte that is said slowly: a session is to take longer than an attack, and no answer as long as is waited for it.
const PAUSE: Duration = Duration::from_millis(20);

/// How a mailbox behaves during an attack; otherwise both are quick, and nothing new is in them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Slow,
    Flooding,
}

struct Mailbox {
    kind: Kind,
    is_on: Arc<AtomicBool>,
    sessions: AtomicU64,
    messages: Arc<[Vec<u8>]>,
}

/// Starts one; its address.
pub async fn start(kind: Kind, is_on: Arc<AtomicBool>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mailbox = Arc::new(Mailbox {
        kind,
        is_on,
        sessions: AtomicU64::new(0),
        messages: messages::all(),
    });
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let mailbox = mailbox.clone();
            tokio::spawn(async move {
                // Whoever looked may have gone.
                let _ = mailbox.serve(BufReader::new(stream)).await;
            });
        }
    });
    address
}

impl Mailbox {
    async fn serve(&self, mut stream: BufReader<TcpStream>) -> io::Result<()> {
        let session = self.sessions.fetch_add(1, Ordering::Relaxed);
        self.say(&mut stream, b"+OK ready\r\n").await?;
        let mut line = String::new();
        loop {
            line.clear();
            if stream.read_line(&mut line).await? == 0 {
                return Ok(());
            }
            let answer = self.answer(session, &line);
            self.say(&mut stream, &answer).await?;
        }
    }

    fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    fn answer(&self, session: u64, command: &str) -> Vec<u8> {
        let mut words = command.split_ascii_whitespace();
        let (command, number) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        match command {
            "CAPA" => b"+OK\r\nUSER\r\nUIDL\r\n.\r\n".to_vec(),
            "UIDL" => self.list(session).into_bytes(),
            "LIST" => format!("+OK {number} {}\r\n", self.message(number).len()).into_bytes(),
            "RETR" => {
                let head = format!("+OK\r\nFrom: ann@example.org\r\nSubject: {session}-{number}\r\n");
                [head.as_bytes(), self.message(number), b".\r\n"].concat()
            }
            _ => b"+OK\r\n".to_vec(),
        }
    }

    fn list(&self, session: u64) -> String {
        let lines: Vec<String> = match self.kind {
            Kind::Flooding if !self.is_on() => Vec::new(),
            Kind::Flooding => (1..=MESSAGES)
                .map(|number| format!("{number} {session}-{number}\r\n"))
                .collect(),
            Kind::Slow => (1..=KNOWN)
                .map(|number| format!("{number} {number}\r\n"))
                .collect(),
        };
        format!("+OK\r\n{}.\r\n", lines.concat())
    }

    /// Once the attack is over, what is still asked for is small.
    fn message(&self, number: &str) -> &[u8] {
        let number: usize = number.parse().unwrap_or(0);
        match self.is_on() {
            true => &self.messages[number % self.messages.len()],
            false => b"\r\nHi\r\n",
        }
    }

    async fn say(&self, stream: &mut BufReader<TcpStream>, answer: &[u8]) -> io::Result<()> {
        let mut said = 0;
        while said < answer.len() && self.kind == Kind::Slow && self.is_on() {
            stream.write_all(&answer[said..=said]).await?;
            said += 1;
            tokio::time::sleep(PAUSE).await;
        }
        stream.write_all(&answer[said..]).await
    }
}
