//! The server's own TLS: certificate and key from files, which are read again when they have changed. Knows nothing about
//! what is served.

use crate::config::http::TlsFiles;
use heddle_model::error::chain;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ServerConfig, pki_types};
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};
use tokio_rustls::TlsAcceptor;

/// How often it is looked whether the files have changed.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// A chain of certificates is a few KiB; more than this was not meant.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Why TLS can't be served with a certificate and a key.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file can't be read.
    #[error("{0} can't be read: {1}")]
    File(String, #[source] io::Error),
    /// It is something else.
    #[error("{0} is too large for a certificate or a key in PEM")]
    TooLarge(String),
    /// It has no certificate.
    #[error("{0} has no certificate in PEM (BEGIN CERTIFICATE)")]
    NoCertificate(String),
    /// It has no key.
    #[error("{0} has no private key in PEM (BEGIN PRIVATE KEY), or it is encrypted")]
    KeyMissing(String),
    /// They don't belong together, or one of them is of a kind that is not supported.
    #[error("the certificate {0} and the key {1} can't be used together: {2}")]
    Pair(String, String, #[source] rustls::Error),
    /// No connection could be made.
    #[error(transparent)]
    Setting(#[from] rustls::Error),
}

/// TLS with the certificate in use. Cheap to clone.
#[derive(Clone)]
pub struct Tls {
    files: TlsFiles,
    /// As the files were when they were read for the first time.
    read_as: Seen,
    current: Arc<Current>,
    acceptor: TlsAcceptor,
}

impl Tls {
    /// Reads the files for the first time.
    pub fn open(files: &TlsFiles) -> Result<Self, TlsError> {
        // Before they are read: a change meanwhile is found later.
        let read_as = look(files);
        let provider = Arc::new(ring::default_provider());
        let current = Arc::new(Current(RwLock::new(read(files, &provider)?)));
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(current.clone());
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Tls {
            files: files.clone(),
            read_as,
            current,
            acceptor: TlsAcceptor::from(Arc::new(config)),
        })
    }

    /// Makes connections of sockets.
    pub(super) fn acceptor(&self) -> &TlsAcceptor {
        &self.acceptor
    }

    /// Reads the files again whenever they have changed, which never ends. Files that can't be used are reported once and
    /// tried again, and the certificate stays the one before.
    pub(super) async fn watch(self) {
        let mut known = self.read_as;
        let mut reported: Option<String> = None;
        let mut looks = tokio::time::interval(LOOK_EVERY);
        loop {
            looks.tick().await;
            let files = self.files.clone();
            let looked = tokio::task::spawn_blocking(move || {
                let found = look(&files);
                (found != known).then(|| (found, read(&files, &ring::default_provider())))
            });
            match looked.await {
                Err(_) => {}
                Ok(None) => reported = None,
                Ok(Some((found, Ok(certified)))) => {
                    known = found;
                    reported = None;
                    *self.current.0.write().unwrap_or_else(PoisonError::into_inner) = certified;
                    tracing::info!("Loaded the changed TLS certificate");
                }
                // They stay unknown: permissions may be changed next, which neither time nor length show.
                Ok(Some((_, Err(error)))) => {
                    let error = chain(&error);
                    if reported.as_ref() != Some(&error) {
                        tracing::error!("The changed TLS certificate is not used: {error}");
                        reported = Some(error);
                    }
                }
            }
        }
    }
}

/// By which it is seen that one of the two files has changed. `None`: it is not there at the moment.
type Seen = [Option<(SystemTime, u64)>; 2];

fn look(files: &TlsFiles) -> Seen {
    [&files.certificate, &files.private_key].map(|path| {
        let found = path.metadata().ok()?;
        Some((found.modified().ok()?, found.len()))
    })
}

/// The certificate in use.
struct Current(RwLock<Arc<CertifiedKey>>);

impl fmt::Debug for Current {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Current")
    }
}

impl ResolvesServerCert for Current {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.read().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

fn read(files: &TlsFiles, provider: &CryptoProvider) -> Result<Arc<CertifiedKey>, TlsError> {
    let shown = |path: &Path| path.display().to_string();
    let (certificate, private_key) = (shown(&files.certificate), shown(&files.private_key));
    let text = bytes(&files.certificate)?;
    let chain: Result<Vec<_>, pki_types::pem::Error> = CertificateDer::pem_slice_iter(&text).collect();
    let chain = chain.map_err(|_| TlsError::NoCertificate(certificate.clone()))?;
    if chain.is_empty() {
        return Err(TlsError::NoCertificate(certificate));
    }
    let text = bytes(&files.private_key)?;
    let key = PrivateKeyDer::from_pem_slice(&text).map_err(|_| TlsError::KeyMissing(private_key.clone()))?;
    let certified = CertifiedKey::from_der(chain, key, provider);
    certified
        .map(Arc::new)
        .map_err(|error| TlsError::Pair(certificate, private_key, error))
}

fn bytes(path: &Path) -> Result<Vec<u8>, TlsError> {
    let failed = |error| TlsError::File(path.display().to_string(), error);
    if path.metadata().map_err(failed)?.len() > FILE_BYTES_MAX {
        return Err(TlsError::TooLarge(path.display().to_string()));
    }
    std::fs::read(path).map_err(failed)
}
