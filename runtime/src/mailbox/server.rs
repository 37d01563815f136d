//! A server of mailboxes as a connection describes it, and the way there: by the egress guard, with TLS from the first byte, after a
//! command, or without. Whoever logs in needs nothing but a stream.

use super::imap::Imap;
use super::login::{Login, Proof};
use super::pop::Pop;
use super::session::{Selection, Session};
use super::wire::{Duplex, MailboxError, Wire, timed};
use crate::connections::{Connection, TOKEN};
use crate::effects::reach;
use crate::egress::{EgressPolicy, Meter, Metered, TlsError, tls_connector};
use crate::secrets::CUT;
use heddle_catalogue::consent_provider;
use heddle_sandbox::{EffectCode, EffectError};
use rustls::pki_types::ServerName;
use serde::{Deserialize, Serialize};
use std::io;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Bytes until somebody is logged in.
const HELLO_BYTES: u64 = 256 << 10;
/// How long a handshake may take.
const TLS_TIME: Duration = Duration::from_secs(30);

/// What a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Protocol {
    Imap,
    Pop,
}

/// How TLS begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Tls {
    None,
    Start,
    FromTheBeginning,
}

/// A server, and how to get in.
#[derive(Serialize, Deserialize)]
pub(super) struct Server {
    host: String,
    port: u16,
    protocol: Protocol,
    tls: Tls,
    /// In PEM.
    tls_ca: Option<String>,
    login: Login,
}

impl Server {
    pub fn of(connection: &Connection) -> Result<Self, EffectError> {
        let protocol = match connection.provider.to_ascii_lowercase().as_str() {
            "pop3" | "pop" => Protocol::Pop,
            _ => Protocol::Imap,
        };
        let known = consent_provider(&connection.provider).and_then(|provider| provider.imap_host);
        let host = match (connection.text(&["host"]), known) {
            (None, Some(known)) => known.to_owned(),
            (stated, _) => stated.map_or_else(|| connection.required(&["host"]), Ok)?,
        };
        let (plain_port, tls_port) = match protocol {
            Protocol::Imap => (143, 993),
            Protocol::Pop => (110, 995),
        };
        let tls = match connection.text(&["tls"]).as_deref() {
            Some("none" | "false") => Tls::None,
            Some("starttls") => Tls::Start,
            Some("tls" | "true") => Tls::FromTheBeginning,
            None if connection.port(tls_port)? == plain_port => Tls::Start,
            None => Tls::FromTheBeginning,
            Some(other) => {
                return Err(connection.unfit(format!("its `tls` is `{other}`, not tls, starttls or none")));
            }
        };
        let port = connection.port(match tls {
            Tls::FromTheBeginning => tls_port,
            Tls::None | Tls::Start => plain_port,
        })?;
        connection.check_host(&host, Some(port))?;
        let server = Server {
            host,
            port,
            protocol,
            tls,
            tls_ca: connection.text(&["tlsCa"]),
            login: login(connection)?,
        };
        // Before anybody is asked.
        let checked = server.tls_connector();
        checked.map_err(|reason| connection.unfit(reason))?;
        Ok(server)
    }

    /// Its name in messages.
    pub fn name(&self) -> String {
        format!("The mail server {}:{}", self.host, self.port)
    }

    /// Whether nobody has more than one mailbox there.
    pub fn has_one_mailbox(&self) -> bool {
        self.protocol == Protocol::Pop
    }

    /// Connects, and leaves it at that.
    pub async fn reach(
        &self,
        policy: &EgressPolicy,
        meter: &Meter,
    ) -> Result<Metered<TcpStream>, EffectError> {
        let place = (self.host.as_str(), self.port);
        reach(policy, place, &self.name(), EffectCode::MailFailed, meter).await
    }

    /// Logs in by a stream of which this meter counts, and opens a mailbox if one is to be.
    pub async fn enter(
        &self,
        stream: Box<dyn Duplex>,
        selection: Option<&Selection>,
        meter: &Meter,
    ) -> Result<Session, MailboxError> {
        let mut session = self.session(stream, meter).await?;
        if let Some(selection) = selection {
            session.select(selection).await?;
        }
        Ok(session)
    }

    fn tls_connector(&self) -> Result<TlsConnector, TlsError> {
        tls_connector(self.tls_ca.as_deref())
    }

    async fn session(&self, stream: Box<dyn Duplex>, meter: &Meter) -> Result<Session, MailboxError> {
        meter.grant(HELLO_BYTES);
        let stream = match self.tls {
            Tls::FromTheBeginning => self.secured(stream).await?,
            Tls::None | Tls::Start => stream,
        };
        let wire = Wire::new(stream, meter.clone());
        match self.protocol {
            Protocol::Imap => {
                let (mut imap, is_in) = Imap::greeted(wire).await?;
                if self.tls == Tls::Start {
                    // Who is logged in before TLS may be anybody.
                    if is_in {
                        return Err(MailboxError::Garbled("STARTTLS"));
                    }
                    imap = Imap::secured(self.upgraded(imap.start_tls().await?).await?);
                }
                if !is_in {
                    imap.log_in(&self.login).await?;
                }
                Ok(Session::Imap(imap))
            }
            Protocol::Pop => {
                let mut pop = Pop::greeted(wire).await?;
                if self.tls == Tls::Start {
                    pop = Pop::secured(self.upgraded(pop.start_tls().await?).await?);
                }
                pop.log_in(&self.login).await?;
                Ok(Session::Pop(pop))
            }
        }
    }

    async fn upgraded(&self, wire: Wire) -> Result<Wire, MailboxError> {
        let (stream, meter) = wire.into_stream()?;
        meter.grant(HELLO_BYTES);
        Ok(Wire::new(self.secured(stream).await?, meter))
    }

    async fn secured(&self, stream: Box<dyn Duplex>) -> Result<Box<dyn Duplex>, MailboxError> {
        let host = self.host.trim_matches(['[', ']']).to_owned();
        let name = ServerName::try_from(host).map_err(io::Error::other)?;
        let connector = self.tls_connector().map_err(io::Error::other)?;
        timed(TLS_TIME, async {
            let stream = connector.connect(name, stream).await?;
            Ok(Box::new(stream) as Box<dyn Duplex>)
        })
        .await
    }
}

fn login(connection: &Connection) -> Result<Login, EffectError> {
    let user = connection.required(&["user", "username"])?;
    let proof = match connection.text(&["password"]) {
        Some(password) => Proof::Password(password.into()),
        None => match connection.text(TOKEN) {
            Some(token) => Proof::Token(token.into()),
            None => return Err(connection.unfit("it has no field `password`")),
        },
    };
    let (Proof::Password(secret) | Proof::Token(secret)) = &proof;
    // They are written into lines.
    if [user.as_str(), secret.as_str()]
        .iter()
        .any(|text| text.contains(['\r', '\n', '\0']))
    {
        return Err(connection.unfit("its user or password contains a line break"));
    }
    Ok(Login { user, proof })
}

/// The error of a server with this name.
pub(super) fn failed(name: &str, error: MailboxError) -> EffectError {
    let code = match error {
        MailboxError::Late(_) => EffectCode::Timeout,
        MailboxError::Large(_) => EffectCode::OutputLimit,
        _ => EffectCode::MailFailed,
    };
    let text = error.to_string();
    // What was cut has no end.
    let end = if text.ends_with(CUT) { "" } else { "." };
    EffectError::new(code, format!("{name} {text}{end}"))
}
