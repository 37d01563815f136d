//! Streams for the SMTP driver, which connects to nobody itself: what it is given is connected, and counted below TLS.
//!
//! Knows nothing of SMTP.

use crate::egress::{TlsError, tls_connector};
use bytes::BytesMut;
use lettre::transport::smtp::client::AsyncTokioStream;
use rustls::pki_types::ServerName;
use std::fmt::Debug;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::TlsConnector;

/// Bytes that are read at a time where lines are given.
const READ_BYTES: usize = 2 << 10;

/// A stream as the driver takes it.
#[derive(Debug)]
struct Stream<S> {
    stream: S,
    /// What has arrived, of which no more than a line is given at a time; `None`: it is given as it arrives.
    arrived: Option<BytesMut>,
}

/// A stream without TLS.
pub(super) fn plain<S>(stream: S) -> Box<dyn AsyncTokioStream>
where
    S: AsyncRead + AsyncWrite + Debug + Send + Sync + Unpin + 'static,
{
    let arrived = None;
    Box::new(Stream { stream, arrived })
}

/// A stream on which TLS is asked for. The driver never has more of it than a line: what comes in one piece with the answer to that may be
/// anybody's, and the driver would take it for what the server says by TLS. So it comes to TLS, which does not understand it.
pub(super) fn before_tls<S>(stream: S) -> Box<dyn AsyncTokioStream>
where
    S: AsyncRead + AsyncWrite + Debug + Send + Sync + Unpin + 'static,
{
    let arrived = Some(BytesMut::new());
    Box::new(Stream { stream, arrived })
}

/// TLS from the first byte.
pub(super) struct Connector {
    tls: TlsConnector,
    /// What its certificate has to name.
    host: String,
}

impl Connector {
    /// By the authorities that the world trusts, and one in PEM.
    pub fn new(host: &str, authority: Option<&str>) -> Result<Self, TlsError> {
        Ok(Connector {
            tls: tls_connector(authority)?,
            host: host.trim_matches(['[', ']']).to_owned(),
        })
    }

    pub async fn connect<S>(&self, stream: S) -> io::Result<Box<dyn AsyncTokioStream>>
    where
        S: AsyncRead + AsyncWrite + Debug + Send + Sync + Unpin + 'static,
    {
        let name = ServerName::try_from(self.host.clone()).map_err(io::Error::other)?;
        Ok(plain(self.tls.connect(name, stream).await?))
    }
}

impl<S> AsyncTokioStream for Stream<S>
where
    S: AsyncRead + AsyncWrite + Send + Sync + Unpin + Debug,
{
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        // Nobody asks: who it is was checked before.
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Stream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Stream { stream, arrived } = &mut *self;
        let Some(arrived) = arrived else {
            return Pin::new(stream).poll_read(context, buffer);
        };
        if arrived.is_empty() {
            let mut room = [0; READ_BYTES];
            let mut read = ReadBuf::new(&mut room);
            ready!(Pin::new(stream).poll_read(context, &mut read))?;
            arrived.extend_from_slice(read.filled());
        }
        let end = arrived.iter().position(|byte| *byte == b'\n');
        let line = end.map_or(arrived.len(), |end| end + 1);
        let given = arrived.split_to(line.min(buffer.remaining()));
        buffer.put_slice(&given);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Stream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;
    use tokio::io::AsyncReadExt;

    #[tokio::test]
    async fn before_tls_no_more_than_a_line_is_given() {
        let said = "220 go\r\n250 here\r\nwithout end".as_bytes();
        let given = async |mut stream: Box<dyn AsyncTokioStream>, bytes: usize| {
            let (mut pieces, mut piece) = (Vec::new(), vec![0; bytes]);
            loop {
                let read = stream.read(&mut piece).await.unwrap();
                match read {
                    0 => return pieces,
                    read => pieces.push(String::from_utf8(piece[..read].to_vec()).unwrap()),
                }
            }
        };
        let stream = || tokio::io::join(Cursor::new(said.to_vec()), tokio::io::sink());
        let lines = given(before_tls(stream()), 100).await;
        assert_eq!(lines, ["220 go\r\n", "250 here\r\n", "without end"]);
        let short = given(before_tls(stream()), 5).await;
        assert_eq!(short[..4], ["220 g", "o\r\n", "250 h", "ere\r\n"]);
        assert_eq!(given(plain(stream()), 100).await.len(), 1);
    }
}
