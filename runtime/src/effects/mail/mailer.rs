//! Mail that the service itself sends, by the one server that its operator names. That server may be anywhere, and no other
//! may be reached.
//!
//! Knows nothing of what the letters are about.

use super::Sender;
use super::exchange::Mailing;
use super::message::{Request, message};
use super::server::Server;
use crate::connections::Connection;
use crate::effects::requests::within;
use crate::egress::EgressPolicy;
use crate::entropy::nonce;
use crate::secrets::{Secrets, Vault};
use heddle_sandbox::EffectError;
use lettre::message::Mailbox;
use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;

/// Time for one letter.
const TIME_MAX: Duration = Duration::from_secs(30);

/// Sends letters. Cheap to clone.
#[derive(Clone)]
pub struct Mailer(Arc<Parts>);

struct Parts {
    server: Server,
    sender: Sender,
    from: String,
}

/// A letter. It may hold what is secret, so that it does not print itself.
pub struct Letter {
    /// One address.
    pub to: String,
    /// Subject, in one line.
    pub subject: String,
    /// Plain text.
    pub text: String,
}

/// Why there is no mailer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum MailerError {
    /// The address of the server can't be used.
    #[error(
        "must be smtp://user:password@host:587, smtps://… for TLS from the beginning, or smtp://host:25?tls=none: {0}"
    )]
    Url(String),
    /// The sender's address can't be used.
    #[error("must be an email address, such as heddle@example.com or heddle <heddle@example.com>")]
    From,
}

impl Mailer {
    /// With a server, as `smtp://user:password@host:587` (STARTTLS), `smtps://…` (TLS), or `smtp://host:25?tls=none`, and the
    /// sender's address.
    pub fn new(url: &SecretString, from: &str) -> Result<Self, MailerError> {
        let url: Url = url
            .expose_secret()
            .parse()
            .map_err(|_| MailerError::Url("it is not a URL".to_owned()))?;
        let server = Server::of(&connection(&url)?).map_err(|error| MailerError::Url(error.message))?;
        let _: Mailbox = from.parse().map_err(|_| MailerError::From)?;
        let place = format!("{}:{}", url.host_str().unwrap_or_default(), server.port);
        let policy = EgressPolicy::parse([place.as_str()]);
        let policy = policy.map_err(|error| MailerError::Url(error.to_string()))?;
        let sender = Sender {
            policy,
            connectors: None,
        };
        Ok(Mailer(Arc::new(Parts {
            server,
            sender,
            from: from.to_owned(),
        })))
    }

    /// Sends a letter, and waits until the server has accepted it.
    pub async fn send(&self, letter: &Letter) -> Result<(), EffectError> {
        let Parts { server, sender, from } = &*self.0;
        let request = Request::plain(from, &letter.to, &letter.subject, &letter.text);
        let (message, _) = message(&request, &nonce())?;
        let late = |ms| format!("{} did not accept the letter within {ms} ms.", server.name());
        let mailing = Mailing::of(&message);
        let security = server.security().map_err(|error| {
            EffectError::parameter(format!("{} can't be used with TLS: {error}.", server.name()))
        })?;
        let sent = sender.talk(server, security, Some(&mailing), TIME_MAX);
        // What the server says is written to the log.
        within(TIME_MAX, sent, late)
            .await
            .map_err(|error| masked(server, error))
    }
}

/// An error in which the server may have the last word, without the password that it was sent.
fn masked(server: &Server, error: EffectError) -> EffectError {
    let vault = Vault::new(Secrets::new(), Arc::new([]), nonce());
    if let Some(credentials) = &server.credentials {
        // It is refused only beyond many secrets.
        let _ = vault.note_use(credentials.password.as_str());
    }
    EffectError {
        message: vault.mask_message(&error.message).into_owned(),
        ..error
    }
}

/// The server as a connection has it.
fn connection(url: &Url) -> Result<Connection, MailerError> {
    let wrong = |reason: &str| MailerError::Url(reason.to_owned());
    let mut fields = Map::new();
    let mut set = |name: &str, value: String| fields.insert(name.to_owned(), Value::from(value));
    let host = url.host_str().filter(|host| !host.is_empty());
    let host = host.ok_or_else(|| wrong("it has no host"))?;
    set("host", host.trim_matches(['[', ']']).to_owned());
    match url.scheme() {
        "smtp" => set("tls", "starttls".to_owned()),
        "smtps" => set("tls", "tls".to_owned()),
        _ => return Err(wrong("it begins with neither")),
    };
    for (name, value) in url.query_pairs() {
        match (url.scheme(), &*name, &*value) {
            ("smtp", "tls", "none") => set("tls", "none".to_owned()),
            _ => return Err(wrong("only smtp:// has a parameter, which is tls=none")),
        };
    }
    if let Some(port) = url.port() {
        set("port", port.to_string());
    }
    let decoded = |text: &str| {
        let decoded = percent_encoding::percent_decode_str(text).decode_utf8();
        decoded
            .map(String::from)
            .map_err(|_| wrong("user and password must be UTF-8"))
    };
    if !url.username().is_empty() {
        set("user", decoded(url.username())?);
        set("password", decoded(url.password().unwrap_or_default())?);
    }
    Ok(Connection {
        id: "mail_url".to_owned(),
        name: "mail_url".to_owned(),
        provider: "smtp".to_owned(),
        hosts: Vec::new(),
        fields,
        former: Vec::new(),
    })
}
