//! Streams for the SMTP driver, which connects to nobody itself: what it is given is connected, and counted below TLS.
//!
//! Knows nothing of SMTP.

use lettre::transport::smtp::client::AsyncTokioStream;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::error::Error;
use std::fmt::Debug;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
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

/// Why TLS can't be spoken with a server.
#[derive(Debug, thiserror::Error)]
pub(super) enum TlsError {
    /// The connection's own authority is none.
    #[error("its `tlsCa` is not a certificate ({0})")]
    Authority(#[source] Box<dyn Error + Send + Sync>),
    /// A library refuses its settings.
    #[error("can't set up TLS ({0})")]
    Setup(#[source] Box<dyn Error + Send + Sync>),
}

impl TlsError {
    pub fn authority(error: impl Error + Send + Sync + 'static) -> Self {
        TlsError::Authority(Box::new(error))
    }

    pub fn setup(error: impl Error + Send + Sync + 'static) -> Self {
        TlsError::Setup(Box::new(error))
    }
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
        let mut roots = RootCertStore {
            roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
        };
        if let Some(pem) = authority {
            let certificate = CertificateDer::from_pem_slice(pem.as_bytes()).map_err(TlsError::authority)?;
            roots.add(certificate).map_err(TlsError::authority)?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(TlsError::setup)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Connector {
            tls: TlsConnector::from(Arc::new(config)),
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
