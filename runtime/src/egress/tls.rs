//! TLS with servers other than HTTP's: by the authorities that the world trusts, and one of a connection's own.

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use std::error::Error;
use std::sync::Arc;
use tokio_rustls::TlsConnector;

/// Why TLS can't be spoken with a server.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TlsError {
    /// The connection's own authority is not a certificate.
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

/// Whether this PEM is a certificate of an authority, for those who test that anything may come.
pub fn is_authority(pem: &str) -> bool {
    tls_connector(Some(pem)).is_ok()
}

/// Speaks TLS with whoever proves its name; `authority` is in PEM.
pub(crate) fn tls_connector(authority: Option<&str>) -> Result<TlsConnector, TlsError> {
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
    Ok(TlsConnector::from(Arc::new(config)))
}
