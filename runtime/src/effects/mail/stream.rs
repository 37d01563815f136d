//! Streams for the SMTP driver, which connects to nobody itself: what comes is counted below TLS.
//!
//! Knows nothing of SMTP.

use crate::connections::Connection;
use crate::effect_error::EffectError;
use crate::egress::Metered;
use lettre::transport::smtp::client::AsyncTokioStream;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// A stream as the driver takes it.
#[derive(Debug)]
struct Stream<S> {
    stream: S,
    peer: Option<SocketAddr>,
}

/// A stream without TLS, so far.
pub(super) fn plain(stream: Metered<TcpStream>) -> Box<dyn AsyncTokioStream> {
    let peer = stream.stream.peer_addr().ok();
    Box::new(Stream { stream, peer })
}

/// TLS from the first byte.
pub(super) struct Connector {
    tls: TlsConnector,
    /// What its certificate has to name.
    host: String,
}

impl Connector {
    /// By the authorities that the world trusts, and the connection's own.
    pub fn of(connection: &Connection, host: &str) -> Result<Self, EffectError> {
        let unfit =
            |error: &dyn ToString| connection.unfit(format!("can't set up TLS ({})", error.to_string()));
        let mut roots = RootCertStore {
            roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
        };
        if let Some(pem) = connection.text(&["tlsCa"]) {
            let none = |error: &dyn ToString| {
                connection.unfit(format!(
                    "its `tlsCa` is not a certificate ({})",
                    error.to_string()
                ))
            };
            let certificate = CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|error| none(&error))?;
            roots.add(certificate).map_err(|error| none(&error))?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| unfit(&error))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Connector {
            tls: TlsConnector::from(Arc::new(config)),
            host: host.trim_matches(['[', ']']).to_owned(),
        })
    }

    pub async fn connect(&self, stream: Metered<TcpStream>) -> io::Result<Box<dyn AsyncTokioStream>> {
        let peer = stream.stream.peer_addr().ok();
        let name = ServerName::try_from(self.host.clone()).map_err(io::Error::other)?;
        let stream = self.tls.connect(name, stream).await?;
        Ok(Box::new(Stream { stream, peer }))
    }
}

impl<S> AsyncTokioStream for Stream<S>
where
    S: AsyncRead + AsyncWrite + Send + Sync + Unpin + std::fmt::Debug,
{
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.peer.ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Stream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
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
