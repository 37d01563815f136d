//! A mail server as a connection describes it.
//!
//! Knows nothing of messages, and of how servers are reached.

use super::stream;
use crate::connections::Connection;
use crate::egress::TlsError;
use heddle_sandbox::EffectError;
use lettre::transport::smtp::client::{Certificate, TlsParameters};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

/// How the connection begins.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Tls {
    None,
    Start,
    FromTheBeginning,
}

/// A server and how to get in.
#[derive(Serialize, Deserialize)]
pub(super) struct Server {
    pub host: String,
    pub port: u16,
    tls: Tls,
    /// In PEM.
    tls_ca: Option<String>,
    pub credentials: Option<Credentials>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Credentials {
    pub user: String,
    pub password: Zeroizing<String>,
}

/// TLS as it is to be spoken.
pub(super) enum Security {
    None,
    Start(TlsParameters),
    FromTheBeginning(stream::Connector),
}

impl Server {
    pub fn of(connection: &Connection) -> Result<Self, EffectError> {
        let host = connection.required(&["host"])?;
        let stated = connection.text(&["tls"]);
        let tls = match stated.as_deref() {
            Some("none" | "false") => Tls::None,
            Some("starttls") => Tls::Start,
            Some("tls" | "true") => Tls::FromTheBeginning,
            None if connection.text(&["port"]).as_deref() == Some("465") => Tls::FromTheBeginning,
            None => Tls::Start,
            Some(other) => {
                return Err(connection.unfit(format!("its `tls` is `{other}`, not starttls, tls or none")));
            }
        };
        let port = connection.port(match tls {
            Tls::None => 25,
            Tls::Start => 587,
            Tls::FromTheBeginning => 465,
        })?;
        connection.check_host(&host, Some(port))?;
        let credentials = match connection.text(&["user", "username"]) {
            Some(user) => Some(Credentials {
                user,
                password: connection.required(&["password"])?.into(),
            }),
            None => None,
        };
        Ok(Server {
            host,
            port,
            tls,
            tls_ca: connection.text(&["tlsCa"]),
            credentials,
        })
    }

    /// One without TLS.
    pub fn plain(host: String, port: u16, credentials: Option<Credentials>) -> Self {
        Server {
            host,
            port,
            tls: Tls::None,
            tls_ca: None,
            credentials,
        }
    }

    /// How TLS is spoken with it.
    pub fn security(&self) -> Result<Security, TlsError> {
        Ok(match self.tls {
            Tls::None => Security::None,
            Tls::Start => Security::Start(self.tls_parameters()?),
            Tls::FromTheBeginning => {
                Security::FromTheBeginning(stream::Connector::new(&self.host, self.tls_ca.as_deref())?)
            }
        })
    }

    fn tls_parameters(&self) -> Result<TlsParameters, TlsError> {
        let mut builder = TlsParameters::builder(self.host.clone());
        if let Some(pem) = &self.tls_ca {
            let certificate = Certificate::from_pem(pem.as_bytes()).map_err(TlsError::authority)?;
            builder = builder.add_root_certificate(certificate);
        }
        builder.build().map_err(TlsError::setup)
    }

    /// Its name in messages.
    pub fn name(&self) -> String {
        format!("The mail server {}:{}", self.host, self.port)
    }
}
