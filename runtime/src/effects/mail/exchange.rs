//! One conversation by SMTP, over a stream that is there.
//!
//! Knows nothing about whether it executes in the service or in a separate process.

use super::server::{Security, Server};
use super::stream;
use crate::secrets::CUT;
use heddle_sandbox::{EffectCode, EffectError};
use lettre::Message;
use lettre::address::{Address, Envelope};
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::AsyncSmtpConnection;
use lettre::transport::smtp::extension::ClientId;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use tokio::io::{AsyncRead, AsyncWrite};

/// Maximum length of an error's message, in bytes.
const MESSAGE_BYTES_MAX: usize = 8 << 10;
const MECHANISMS: &[Mechanism] = &[Mechanism::Plain, Mechanism::Login];

/// From whom a message is, and to whom it goes.
#[derive(Serialize, Deserialize)]
pub(super) struct Addresses {
    pub from: Option<String>,
    pub to: Vec<String>,
}

impl From<&Envelope> for Addresses {
    fn from(envelope: &Envelope) -> Self {
        Addresses {
            from: envelope.from().map(Address::to_string),
            to: envelope.to().iter().map(Address::to_string).collect(),
        }
    }
}

/// A message with its addresses.
pub(super) struct Mailing {
    pub addresses: Addresses,
    pub content: Vec<u8>,
}

impl Mailing {
    pub fn of(message: &Message) -> Self {
        Mailing {
            addresses: Addresses::from(message.envelope()),
            content: message.formatted(),
        }
    }

    pub fn parts(&self) -> (&Addresses, &[u8]) {
        (&self.addresses, &self.content)
    }
}

impl Addresses {
    fn envelope(&self) -> Result<Envelope, EffectError> {
        let wrong = |error: lettre::address::AddressError| EffectError::parameter(error.to_string());
        let from = self.from.as_ref().map(|from| from.parse()).transpose();
        let to: Result<Vec<Address>, _> = self.to.iter().map(|to| to.parse()).collect();
        Envelope::new(from.map_err(wrong)?, to.map_err(wrong)?)
            .map_err(|error| EffectError::parameter(error.to_string()))
    }
}

/// Logs in, sends a message if there is one, and waits until the server has accepted it.
pub(super) async fn exchange<S>(
    server: &Server,
    security: Security,
    mailing: Option<(&Addresses, &[u8])>,
    stream: S,
) -> Result<(), EffectError>
where
    S: AsyncRead + AsyncWrite + Debug + Send + Sync + Unpin + 'static,
{
    let hello = ClientId::default();
    let aim = if mailing.is_some() {
        "accept the message"
    } else {
        "accept the login"
    };
    let failed = |error: lettre::transport::smtp::Error| failed(server, aim, &error);
    let envelope = mailing.map(|(addresses, _)| addresses.envelope()).transpose()?;
    let (stream, upgrade) = match security {
        Security::None => (stream::plain(stream), None),
        Security::Start(parameters) => (stream::before_tls(stream), Some(parameters)),
        Security::FromTheBeginning(connector) => {
            let secured = connector.connect(stream).await;
            (secured.map_err(|error| insecure(server, &error))?, None)
        }
    };
    let mut smtp = AsyncSmtpConnection::connect_with_transport(stream, &hello)
        .await
        .map_err(failed)?;
    if let Some(parameters) = upgrade {
        smtp.starttls(parameters, &hello).await.map_err(failed)?;
    }
    if let Some(known) = &server.credentials {
        let credentials = Credentials::new(known.user.clone(), known.password.as_str().to_owned());
        smtp.auth(MECHANISMS, &credentials).await.map_err(failed)?;
    }
    if let (Some(envelope), Some((_, content))) = (envelope, mailing) {
        smtp.send(&envelope, content).await.map_err(failed)?;
    }
    // The outcome is known by now; how the server says goodbye changes nothing.
    let _ = smtp.quit().await;
    Ok(())
}

fn insecure(server: &Server, error: &std::io::Error) -> EffectError {
    let message = format!(
        "Can't establish a secure connection to {}: {error}.",
        server.name()
    );
    EffectError::new(EffectCode::MailFailed, message)
}

/// `aim` completes "did not".
fn failed(server: &Server, aim: &str, error: &lettre::transport::smtp::Error) -> EffectError {
    let mut message = format!("{} did not {aim}: {error}", server.name());
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        let text = inner.to_string();
        if !message.contains(&text) {
            message = format!("{message}: {text}");
        }
        source = inner.source();
    }
    let end = message.floor_char_boundary(MESSAGE_BYTES_MAX);
    let message = match end < message.len() {
        true => {
            message.truncate(end);
            format!("{message}{CUT}")
        }
        false => format!("{}.", message.trim_end_matches('.')),
    };
    EffectError::new(EffectCode::MailFailed, message)
}
