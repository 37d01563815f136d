//! A connection's socket, which notes when bytes come and whether they are taken, with or without TLS above it.

use super::connection::Connection;
use std::io::{self, IoSlice, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

/// What a connection's requests come by.
pub(super) trait Transport: AsyncRead + AsyncWrite + Unpin {
    /// Sends what is said last. What does not fit into the socket's empty buffer is not waited for, and what becomes of it is
    /// the client's affair.
    fn send_last(self, last: &[u8]);

    /// The socket itself.
    fn into_stream(self) -> TcpStream;
}

impl Transport for Socket {
    fn send_last(self, last: &[u8]) {
        let _ = self.stream.try_write(last);
    }

    fn into_stream(self) -> TcpStream {
        self.stream
    }
}

impl Transport for TlsStream<Socket> {
    fn send_last(self, last: &[u8]) {
        let (socket, mut session) = self.into_inner();
        let mut sealed = Vec::new();
        // Writing to memory fails only if the session is over.
        let is_sealed = session.writer().write_all(last).is_ok() && session.write_tls(&mut sealed).is_ok();
        if is_sealed {
            socket.send_last(&sealed);
        }
    }

    fn into_stream(self) -> TcpStream {
        self.into_inner().0.into_stream()
    }
}

pub(super) struct Socket {
    stream: TcpStream,
    connection: Arc<Connection>,
}

impl Socket {
    pub fn new(stream: TcpStream, connection: Arc<Connection>) -> Self {
        Socket { stream, connection }
    }

    fn note(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &written {
            Poll::Ready(Ok(bytes)) => self.connection.has_written(*bytes),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.connection.is_not_taken(),
        }
        written
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        if buffer.filled().len() > before {
            self.connection.has_read();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.note(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.note(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// Called when nothing is left to be written.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.connection.has_flushed();
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
