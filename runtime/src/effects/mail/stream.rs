//! Streams for the SMTP driver, which connects to nobody itself: what it is given is connected, and counted below TLS.
//!
//! Knows nothing of SMTP.

use crate::egress::{TlsError, tls_connector};
use lettre::transport::smtp::client::AsyncTokioStream;
use rustls::pki_types::ServerName;
use std::fmt::Debug;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::TlsConnector;

/// A stream as the driver takes it.
#[derive(Debug)]
struct Stream<S>(S);

/// A stream without TLS, so far.
pub(super) fn plain<S>(stream: S) -> Box<dyn AsyncTokioStream>
where
    S: AsyncRead + AsyncWrite + Debug + Send + Sync + Unpin + 'static,
{
    Box::new(Stream(stream))
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
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Stream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
