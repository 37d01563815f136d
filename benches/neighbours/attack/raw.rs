//! Connections that are used otherwise than they are meant to be.

use crate::fixture::FROM;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

/// Pause between two pieces of what is sent or read slowly, and after a refusal.
pub const PAUSE: Duration = Duration::from_millis(200);
/// Pieces of an answer that are read slowly, before it is given up: as long as a run may take here.
const SLOW_READS: usize = 10;

/// Sends this and reads for as long as there is anything.
pub async fn hold(to: SocketAddr, request: &[u8]) -> u16 {
    let Some(mut stream) = connect(to).await else {
        return 0;
    };
    let mut bytes = vec![0; 16 << 10];
    let mut status = 0;
    if stream.write_all(request).await.is_err() {
        return status;
    }
    while let Ok(count @ 1..) = stream.read(&mut bytes).await {
        if status == 0 {
            status = status_of(&bytes[..count]);
        }
    }
    // It has ended, which is no answer that one could go on from.
    if status == 200 { 0 } else { status }
}

/// Sends this and reads a little of the answer now and then.
pub async fn read_slowly(to: SocketAddr, request: &[u8]) -> u16 {
    let Some(mut stream) = connect(to).await else {
        return 0;
    };
    if stream.write_all(request).await.is_err() {
        return 0;
    }
    let (mut bytes, mut status) = ([0; 1 << 10], 0);
    for _ in 0..SLOW_READS {
        let Ok(count @ 1..) = stream.read(&mut bytes).await else {
            return status;
        };
        if status == 0 {
            status = status_of(&bytes[..count]);
        }
        tokio::time::sleep(PAUSE).await;
    }
    status
}

/// That of the beginning of an answer.
fn status_of(answer: &[u8]) -> u16 {
    let line = String::from_utf8_lossy(answer);
    line.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or(0)
}

/// A login whose body never comes to its end.
pub async fn trickle(to: SocketAddr) -> u16 {
    let head = "POST /api/auth/login HTTP/1.1\r\nhost: heddle\r\ncontent-type: application/json\r\ncontent-length: 16000\r\n\r\n";
    let Some(mut stream) = connect(to).await else {
        return 0;
    };
    if stream.write_all(head.as_bytes()).await.is_err() {
        return 0;
    }
    while stream.write_all(b" ").await.is_ok() {
        tokio::time::sleep(PAUSE).await;
    }
    0
}

pub async fn connect(to: SocketAddr) -> Option<TcpStream> {
    let socket = TcpSocket::new_v4().ok()?;
    socket.bind((FROM, 0).into()).ok()?;
    let stream = socket.connect(to).await.ok()?;
    stream.set_nodelay(true).ok()?;
    Some(stream)
}
