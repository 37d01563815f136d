//! Sends a message to a server whose replies are given, for tests in which a server may say anything.

use super::exchange::{Addresses, exchange};
use super::server::{Credentials, Security, Server};
use heddle_sandbox::EffectError;
use std::io::Cursor;

/// Sends a short message, after a login if that is wanted.
pub async fn converse(said: Vec<u8>, logs_in: bool) -> Result<(), EffectError> {
    let credentials = logs_in.then(|| Credentials {
        user: "user".to_owned(),
        password: "password".to_owned().into(),
    });
    let server = Server::plain("mail.example.com".to_owned(), 25, credentials);
    let addresses = Addresses {
        from: Some("ann@example.com".to_owned()),
        to: vec!["bob@example.com".to_owned(), "eve@example.com".to_owned()],
    };
    let content = b"Subject: Hello\r\n\r\nHi\r\n.\r\n".as_slice();
    let stream = tokio::io::join(Cursor::new(said), tokio::io::sink());
    exchange(&server, Security::None, Some((&addresses, content)), stream).await
}
