//! A server outside that answers every request with a little JSON, at once or only from when it is told to.

use std::net::SocketAddr;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 11\r\n\r\n{\"ok\":true}";

pub struct Gate {
    address: SocketAddr,
    is_open: watch::Sender<bool>,
}

impl Gate {
    /// One that answers at once.
    pub async fn open() -> Gate {
        let gate = Gate::shut().await;
        gate.let_through();
        gate
    }

    /// One that lets wait.
    pub async fn shut() -> Gate {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (is_open, opened) = watch::channel(false);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, opened.clone()));
            }
        });
        Gate { address, is_open }
    }

    /// Answers from now on.
    pub fn let_through(&self) {
        self.is_open.send_replace(true);
    }

    pub fn address(&self) -> String {
        self.address.to_string()
    }

    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }
}

async fn answer(stream: TcpStream, mut opened: watch::Receiver<bool>) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    loop {
        line.clear();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            opened.wait_for(|is_open| *is_open).await.ok()?;
            stream.write_all(ANSWER).await.ok()?;
        }
    }
}
