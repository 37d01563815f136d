//! `mail`: an email by SMTP. Request: `{connection, from, to: [], cc: [], bcc: [], replyTo?, subject, text?, html?,
//! attachments: [{filename, contentType?, base64 | file}], timeoutMs?, idempotencyKey?}`; result: `{messageId}`. With
//! `{connection, onlyLogIn: true}` no message is sent. The connection has `host`, and may have `port`, `tls` (`starttls`,
//! `tls`, `none`), `tlsCa` (PEM), `user` and `password`.

mod connector;
mod conversation;
mod exchange;
mod mailer;
mod message;
mod serve;
mod server;
mod stream;

use super::connectors::{Connectors, Owner, Place};
use super::effect::{Effect, Reveals};
use super::handles::{Bounds, IdempotencyKey};
use super::peer::reach;
use super::requests::{opened, read, within};
use crate::connections::Granted;
use crate::egress::{EgressPolicy, Meter, Metered};
use crate::files::Files;
use crate::secrets::{Destination, Vault};
use exchange::{Mailing, exchange};
use heddle_sandbox::{EffectCode, EffectError};
use message::{Request, message};
use serde_json::{Value, json};
use server::Server;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;

pub use connector::answered;
pub use conversation::converse;
pub use mailer::{Letter, Mailer, MailerError};
pub use serve::{KIND, serve};

/// What a server may say about one message: drivers keep a line until it ends.
const REPLY_BYTES_MAX: u64 = 512 << 10;

/// Sends email by SMTP.
pub struct Mail(Arc<Sender>);

struct Sender {
    policy: EgressPolicy,
    /// `None`: the driver executes in this process.
    connectors: Option<Arc<Connectors>>,
}

impl Mail {
    pub fn new(policy: &EgressPolicy, connectors: Option<Arc<Connectors>>) -> Self {
        Mail(Arc::new(Sender {
            policy: policy.clone(),
            connectors,
        }))
    }
}

impl Effect for Mail {
    const KIND: &'static str = "mail";
    const REVEALS: Reveals = Reveals::ToHost;

    type Needs = (Bounds, IdempotencyKey, Arc<Vault>, Arc<Granted>, Arc<dyn Files>);
    type Output = Value;

    fn start(
        &self,
        request: Value,
        (bounds, IdempotencyKey(own_key), vault, connections, files): Self::Needs,
    ) -> impl Future<Output = Result<Value, EffectError>> + Send + 'static {
        let sender = self.0.clone();
        async move {
            let connection = opened(&request, &connections).await?;
            let server = Server::of(&connection)?;
            let security = server.security().map_err(|reason| connection.unfit(reason))?;
            let owner = connections.owner();
            if request.get("onlyLogIn") == Some(&Value::Bool(true)) {
                let late = |ms| format!("{} did not answer within {ms} ms.", server.name());
                let time_max = bounds.time_max(None);
                let logged_in = async {
                    let _place = sender.place(owner).await;
                    sender.talk(&server, security, None, time_max).await
                };
                within(time_max, logged_in, late).await?;
                return Ok(json!({}));
            }
            let to = Destination::Host(&server.host, Some(server.port));
            let mut request: Request = read(vault.reveal(request, to)?)?;
            let late = |ms| format!("{} did not accept the message within {ms} ms.", server.name());
            let time_max = bounds.time_max(request.timeout_ms);
            let sent = async {
                // An owner has only so many of these: its messages wait here, and not with room that others could use.
                let _place = sender.place(owner).await;
                let _room = request.fetch(&*files, owner).await?;
                let key = request.idempotency_key.as_deref().unwrap_or(&own_key);
                let (message, id) = message(&request, key)?;
                let mail = Mailing::of(&message);
                sender.talk(&server, security, Some(&mail), time_max).await?;
                Ok::<_, EffectError>(id)
            };
            let id = within(time_max, sent, late).await?;
            Ok(json!({ "messageId": id }))
        }
    }
}

impl Sender {
    /// The right to talk for this owner, which is to be kept meanwhile; `None`: nobody needs one.
    async fn place(&self, owner: Owner) -> Option<Place> {
        match &self.connectors {
            None => None,
            Some(connectors) => Some(connectors.place(owner).await),
        }
    }

    /// Sends a mailing. `None`: logs in, and leaves it at that.
    async fn talk(
        &self,
        server: &Server,
        security: server::Security,
        mailing: Option<&Mailing>,
        time_max: Duration,
    ) -> Result<(), EffectError> {
        let meter = Meter::new(REPLY_BYTES_MAX);
        let sent = match &self.connectors {
            None => {
                let stream = self.connect(server, &meter).await?;
                exchange(server, security, mailing.map(Mailing::parts), stream).await
            }
            Some(connectors) => {
                let stream = self.connect(server, &meter).await?;
                connector::talk(connectors, server, mailing, stream, time_max).await
            }
        };
        sent.map_err(|error| match meter.exceeded() {
            true => {
                let message = format!(
                    "{} sent more than the {} KiB allowed in replies to one message.",
                    server.name(),
                    REPLY_BYTES_MAX >> 10
                );
                EffectError::new(EffectCode::MailFailed, message)
            }
            false => error,
        })
    }

    async fn connect(&self, server: &Server, meter: &Meter) -> Result<Metered<TcpStream>, EffectError> {
        let place = (server.host.as_str(), server.port);
        reach(&self.policy, place, &server.name(), EffectCode::MailFailed, meter).await
    }
}
