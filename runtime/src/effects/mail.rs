//! `mail`: an email by SMTP. Request: `{connection, from, to: [], cc: [], bcc: [], replyTo?, subject, text?, html?,
//! attachments: [{filename, contentType?, base64}], timeoutMs?, idempotencyKey?}`; result: `{messageId}`. The connection
//! has `host`, and may have `port`, `tls` (`starttls`, `tls`, `none`), `tlsCa` (PEM), `user` and `password`.

mod stream;

use super::effect::{Effect, Reveals};
use super::handles::{Bounds, IdempotencyKey};
use super::requests::{opened, read, within};
use crate::connections::{Connection, Granted};
use crate::digest::{hex, sha256};
use crate::effect_error::{EffectCode, EffectError};
use crate::egress::{DialError, EgressPolicy, Meter, Metered, ResolveError, denied_address, dial};
use crate::secrets::{Destination, Vault};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lettre::Message;
use lettre::message::header::ContentType;
use lettre::message::{Attachment, Mailbox, Mailboxes, MultiPart, SinglePart};
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{AsyncSmtpConnection, Certificate, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::net::TcpStream;

/// What a server may say about one message: drivers keep a line until it ends.
const REPLY_BYTES_MAX: u64 = 512 << 10;
/// Maximum length of an error's message, in bytes.
const MESSAGE_BYTES_MAX: usize = 8 << 10;
/// Recipients of one message.
const RECIPIENTS_MAX: usize = 100;
const MECHANISMS: &[Mechanism] = &[Mechanism::Plain, Mechanism::Login];

/// Sends email by SMTP.
pub struct Mail(Arc<EgressPolicy>);

impl Mail {
    pub fn new(policy: &EgressPolicy) -> Self {
        Mail(Arc::new(policy.clone()))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    from: String,
    to: Vec<String>,
    #[serde(default)]
    cc: Vec<String>,
    #[serde(default)]
    bcc: Vec<String>,
    #[serde(default)]
    reply_to: Option<String>,
    subject: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    html: Option<String>,
    #[serde(default)]
    attachments: Vec<File>,
    #[serde(default)]
    timeout_ms: Option<f64>,
    #[serde(default)]
    idempotency_key: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    filename: String,
    #[serde(default)]
    content_type: Option<String>,
    base64: String,
}

impl Effect for Mail {
    const KIND: &'static str = "mail";
    const REVEALS: Reveals = Reveals::ToHost;

    type Needs = (Bounds, IdempotencyKey, Arc<Vault>, Arc<Granted>);
    type Output = Value;

    fn start(
        &self,
        request: Value,
        (bounds, IdempotencyKey(own_key), vault, connections): Self::Needs,
    ) -> impl Future<Output = Result<Value, EffectError>> + Send + 'static {
        let policy = self.0.clone();
        async move {
            let connection = opened(&request, &connections).await?;
            let server = Server::of(&connection)?;
            let to = Destination::Host(&server.host, Some(server.port));
            let request: Request = read(vault.reveal(request, to)?)?;
            let key = request.idempotency_key.as_deref().unwrap_or(&own_key);
            let (message, id) = message(&request, key)?;
            let late = |ms| format!("{} did not take the message within {ms} ms.", server.name());
            let time_max = bounds.time_max(request.timeout_ms);
            within(time_max, server.send(&policy, &message), late).await?;
            Ok(json!({ "messageId": id }))
        }
    }
}

/// The message, and its id: the same for a repetition, so that a receiver can tell that it is one.
fn message(request: &Request, key: &str) -> Result<(Message, String), EffectError> {
    let from = mailbox("from", &request.from)?;
    let digest = hex(&sha256(key.as_bytes()));
    let id = format!(
        "<{}@{}>",
        digest.get(..32).unwrap_or(&digest),
        from.email.domain()
    );
    let mut recipients = 0;
    let mut builder = Message::builder()
        .from(from)
        .subject(request.subject.clone())
        .message_id(Some(id.clone()));
    for (name, texts) in [("to", &request.to), ("cc", &request.cc), ("bcc", &request.bcc)] {
        for mailbox in mailboxes(name, texts)? {
            recipients += 1;
            builder = match name {
                "to" => builder.to(mailbox),
                "cc" => builder.cc(mailbox),
                _ => builder.bcc(mailbox),
            };
        }
    }
    if recipients == 0 || recipients > RECIPIENTS_MAX {
        let message = format!("A message must have 1 to {RECIPIENTS_MAX} recipients, not {recipients}.");
        return Err(EffectError::parameter(message));
    }
    if let Some(reply_to) = &request.reply_to {
        builder = builder.reply_to(mailbox("replyTo", reply_to)?);
    }
    let body = match (&request.text, &request.html) {
        (Some(text), Some(html)) => MultiPart::alternative_plain_html(text.clone(), html.clone()),
        (None, Some(html)) => MultiPart::mixed().singlepart(SinglePart::html(html.clone())),
        (text, None) => {
            let text = text.clone().unwrap_or_default();
            MultiPart::mixed().singlepart(SinglePart::plain(text))
        }
    };
    let built = match (request.attachments.is_empty(), &request.text, &request.html) {
        (true, _, None) => builder.singlepart(SinglePart::plain(request.text.clone().unwrap_or_default())),
        (true, None, Some(html)) => builder.singlepart(SinglePart::html(html.clone())),
        (true, ..) => builder.multipart(body),
        (false, ..) => {
            let whole = MultiPart::mixed().multipart(body);
            let whole = request.attachments.iter().try_fold(whole, |whole, file| {
                Ok::<_, EffectError>(whole.singlepart(attachment(file)?))
            })?;
            builder.multipart(whole)
        }
    };
    let built =
        built.map_err(|error| EffectError::parameter(format!("Can't compose the message: {error}.")))?;
    Ok((built, id))
}

fn attachment(file: &File) -> Result<SinglePart, EffectError> {
    let name: String = file.filename.chars().filter(|c| !c.is_control()).collect();
    let content = STANDARD.decode(&file.base64).map_err(|error| {
        EffectError::parameter(format!("The attachment `{name}` is not valid base64: {error}."))
    })?;
    let content_type = file.content_type.as_deref().unwrap_or("application/octet-stream");
    let content_type = ContentType::parse(content_type).map_err(|_| {
        EffectError::parameter(format!(
            "`{content_type}` of the attachment `{name}` is not a content type."
        ))
    })?;
    Ok(Attachment::new(name).body(content, content_type))
}

fn mailbox(name: &str, text: &str) -> Result<Mailbox, EffectError> {
    text.parse().map_err(|error| {
        EffectError::parameter(format!("`{text}` in `{name}` is not an email address: {error}."))
    })
}

fn mailboxes(name: &str, texts: &[String]) -> Result<Vec<Mailbox>, EffectError> {
    let mut all = Vec::new();
    for text in texts.iter().filter(|text| !text.trim().is_empty()) {
        let list: Mailboxes = text.parse().map_err(|error| {
            EffectError::parameter(format!("`{text}` in `{name}` is not an email address: {error}."))
        })?;
        all.extend(list);
    }
    Ok(all)
}

/// How the connection begins.
#[derive(PartialEq, Eq)]
enum Tls {
    None,
    Start,
    FromTheBeginning,
}

struct Server {
    host: String,
    port: u16,
    tls: Tls,
    /// TLS parameters for `starttls`.
    tls_parameters: Option<TlsParameters>,
    /// TLS connector for `tls`.
    connector: Option<stream::Connector>,
    credentials: Option<Credentials>,
}

impl Server {
    fn of(connection: &Connection) -> Result<Self, EffectError> {
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
        let (tls_parameters, connector) = match tls {
            Tls::None => (None, None),
            Tls::Start => (Some(tls_parameters(connection, &host)?), None),
            Tls::FromTheBeginning => (None, Some(stream::Connector::of(connection, &host)?)),
        };
        let user = connection.text(&["user", "username"]);
        let credentials = match user {
            Some(user) => Some(Credentials::new(user, connection.required(&["password"])?)),
            None => None,
        };
        Ok(Server {
            host,
            port,
            tls,
            tls_parameters,
            connector,
            credentials,
        })
    }

    fn name(&self) -> String {
        format!("The mail server {}:{}", self.host, self.port)
    }

    async fn send(&self, policy: &EgressPolicy, message: &Message) -> Result<(), EffectError> {
        let meter = Meter::new(REPLY_BYTES_MAX);
        let sent = self.exchange(policy, message, &meter).await;
        sent.map_err(|error| match meter.exceeded() {
            true => {
                let message = format!(
                    "{} sent more than the {} KiB allowed in replies to one message.",
                    self.name(),
                    REPLY_BYTES_MAX >> 10
                );
                EffectError::new(EffectCode::MailFailed, message)
            }
            false => error,
        })
    }

    async fn exchange(
        &self,
        policy: &EgressPolicy,
        message: &Message,
        meter: &Meter,
    ) -> Result<(), EffectError> {
        let hello = ClientId::default();
        let failed = |error: lettre::transport::smtp::Error| self.failed(&error);
        let stream = Metered {
            stream: self.connect(policy).await?,
            meter: meter.clone(),
        };
        let stream = match &self.connector {
            None => stream::plain(stream),
            Some(connector) => connector
                .connect(stream)
                .await
                .map_err(|error| self.refused(&error))?,
        };
        let mut smtp = AsyncSmtpConnection::connect_with_transport(stream, &hello)
            .await
            .map_err(failed)?;
        if let (Tls::Start, Some(parameters)) = (&self.tls, &self.tls_parameters) {
            smtp.starttls(parameters.clone(), &hello).await.map_err(failed)?;
        }
        if let Some(credentials) = &self.credentials {
            smtp.auth(MECHANISMS, credentials).await.map_err(failed)?;
        }
        smtp.send(message.envelope(), &message.formatted())
            .await
            .map_err(failed)?;
        // The message is taken; how the server says goodbye changes nothing.
        let _ = smtp.quit().await;
        Ok(())
    }

    async fn connect(&self, policy: &EgressPolicy) -> Result<TcpStream, EffectError> {
        dial(policy, &self.host, self.port)
            .await
            .map_err(|error| match error {
                DialError::Resolve(ResolveError::Denied { host, address }) => {
                    EffectError::new(EffectCode::EgressDenied, denied_address(&host, address))
                }
                other => EffectError::new(
                    EffectCode::MailFailed,
                    format!("{} can't be reached: {other}.", self.name()),
                ),
            })
    }

    fn refused(&self, error: &std::io::Error) -> EffectError {
        let message = format!("Can't establish a secure connection to {}: {error}.", self.name());
        EffectError::new(EffectCode::MailFailed, message)
    }

    fn failed(&self, error: &lettre::transport::smtp::Error) -> EffectError {
        let mut message = format!("{} did not take the message: {error}", self.name());
        let mut source = std::error::Error::source(error);
        while let Some(inner) = source {
            let text = inner.to_string();
            if !message.contains(&text) {
                message = format!("{message}: {text}");
            }
            source = inner.source();
        }
        message.truncate(message.floor_char_boundary(MESSAGE_BYTES_MAX));
        EffectError::new(
            EffectCode::MailFailed,
            format!("{}.", message.trim_end_matches('.')),
        )
    }
}

fn tls_parameters(connection: &Connection, host: &str) -> Result<TlsParameters, EffectError> {
    let mut builder = TlsParameters::builder(host.to_owned());
    if let Some(pem) = connection.text(&["tlsCa"]) {
        let certificate = Certificate::from_pem(pem.as_bytes())
            .map_err(|error| connection.unfit(format!("its `tlsCa` is not a certificate ({error})")))?;
        builder = builder.add_root_certificate(certificate);
    }
    builder
        .build()
        .map_err(|error| connection.unfit(format!("can't set up TLS ({error})")))
}
