//! Messages by SMTP.

use super::raw::connect;
use crate::fixture::unique;
use std::net::SocketAddr;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// Sends a message to this address; the status of the last reply. 0: there was none.
pub async fn send(to: SocketAddr, address: &str, message: &[u8]) -> u16 {
    talk(to, address, message).await.unwrap_or(0)
}

async fn talk(to: SocketAddr, address: &str, message: &[u8]) -> Option<u16> {
    let mut stream = BufReader::new(connect(to).await?);
    let mut status = reply(&mut stream).await?;
    for command in [
        "EHLO example.org".to_owned(),
        "MAIL FROM:<mallory@example.org>".to_owned(),
        format!("RCPT TO:<{address}>"),
        "DATA".to_owned(),
    ] {
        if status >= 400 {
            return Some(status);
        }
        stream.write_all(format!("{command}\r\n").as_bytes()).await.ok()?;
        status = reply(&mut stream).await?;
    }
    if status >= 400 {
        return Some(status);
    }
    // Of messages with the same id only one starts a run.
    let head = format!(
        "From: mallory@example.org\r\nMessage-ID: <{}@example.org>\r\n",
        unique()
    );
    stream.write_all(head.as_bytes()).await.ok()?;
    stream.write_all(message).await.ok()?;
    stream.write_all(b".\r\n").await.ok()?;
    reply(&mut stream).await
}

/// Its last line is the first without a hyphen behind the status.
async fn reply(stream: &mut BufReader<TcpStream>) -> Option<u16> {
    let mut line = String::new();
    loop {
        line.clear();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        if line.as_bytes().get(3) != Some(&b'-') {
            return line.get(..3)?.parse().ok();
        }
    }
}
