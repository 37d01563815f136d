//! A small SMTP receiver (RFC 5321) for mail that starts runs: it accepts messages for existing addresses, within
//! limits of size, number and time, and acknowledges a message only when its runs are stored. It relays nothing, and
//! relies on a mail server in front of it for TLS and for checking senders. Of its connections no address gets more than it
//! leaves free, so that some are left for others.

use super::{BYTES_MAX, Delivery, Destination, Mail, RECIPIENTS_MAX, deliver, destination};
use crate::Service;
use heddle_model::error::{Code, chain};
use smtp_proto::request::receiver::DataReceiver;
use smtp_proto::{Error, Request};
use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// Connections at one time; more wait to be accepted.
const CONNECTIONS_MAX: usize = 100;
/// How long a client may be silent.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// How long a session may last.
const SESSION_MAX: Duration = Duration::from_secs(600);
/// Commands that can't be understood before the connection is closed.
const ERRORS_MAX: u32 = 20;
/// Bytes of a command.
const LINE_BYTES_MAX: u64 = 4096;

/// The first 64 bits of an address of IPv6: those of one customer.
const NETWORK_V6: u128 = u128::MAX << 64;

/// Connections by address.
#[derive(Default)]
struct Places(Mutex<HashMap<IpAddr, usize>>);

/// That of a connection, given back when dropped.
struct Place {
    places: Arc<Places>,
    address: IpAddr,
}

impl Places {
    fn held(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `None`: the address has as many as are free.
    fn take(self: &Arc<Self>, peer: IpAddr) -> Option<Place> {
        let address = match peer.to_canonical() {
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & NETWORK_V6)),
            address => address,
        };
        let mut held = self.held();
        let free = CONNECTIONS_MAX.saturating_sub(held.values().sum());
        let own = held.get(&address).copied().unwrap_or_default();
        if own >= free {
            return None;
        }
        held.insert(address, own + 1);
        Some(Place {
            places: self.clone(),
            address,
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut held = self.places.held();
        match held.get_mut(&self.address) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(held.remove(&self.address)),
        }
    }
}

/// Takes connections until the task is aborted.
pub async fn serve(service: Service, listener: TcpListener) {
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let places = Arc::<Places>::default();
    // Never closed, so there is always a permit to wait for.
    while let Ok(permit) = room.clone().acquire_owned().await {
        match listener.accept().await {
            Ok((mut stream, peer)) => {
                let Some(place) = places.take(peer.ip()) else {
                    tokio::spawn(async move {
                        let refusal = b"421 4.7.0 Too many connections from your address\r\n";
                        // Whoever does not listen is gone all the same.
                        let _ = in_time(stream.write_all(refusal)).await;
                    });
                    continue;
                };
                let service = service.clone();
                tokio::spawn(async move {
                    let _held = (permit, place);
                    let session = Session::new(service, stream).run();
                    if let Ok(Err(error)) = tokio::time::timeout(SESSION_MAX, session).await {
                        tracing::debug!(%error, "an SMTP session was interrupted");
                    }
                });
            }
            Err(error) => {
                // Out of file descriptors, most likely: others have to end first.
                tracing::warn!(%error, "can't accept an SMTP connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// What a client has said so far.
struct Session {
    service: Service,
    stream: BufReader<TcpStream>,
    has_greeted: bool,
    has_sender: bool,
    recipients: Vec<String>,
    errors: u32,
}

/// Whether the session goes on.
enum Next {
    Command,
    Close,
}

impl Session {
    fn new(service: Service, stream: TcpStream) -> Self {
        Session {
            service,
            stream: BufReader::new(stream),
            has_greeted: false,
            has_sender: false,
            recipients: Vec::new(),
            errors: 0,
        }
    }

    async fn run(mut self) -> io::Result<()> {
        let greeting = format!(
            "220 {} heddle accepts mail for patterns",
            self.service.mail_domain
        );
        self.say(&greeting).await?;
        while let Some(line) = self.line().await? {
            let request = Request::parse(&mut line.iter()).map(Request::into_owned);
            let next = match request {
                Ok(request) => self.obey(request).await?,
                Err(error) => self.misunderstood(&error).await?,
            };
            if let Next::Close = next {
                return Ok(());
            }
        }
        Ok(())
    }

    /// A command with its line's end. `None`: there are no more.
    async fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        let limited = &mut (&mut self.stream).take(LINE_BYTES_MAX);
        in_time(limited.read_until(b'\n', &mut line)).await?;
        if line.last() == Some(&b'\n') {
            return Ok(Some(line));
        }
        if !line.is_empty() {
            self.say("500 5.5.2 The line is too long or incomplete").await?;
        }
        Ok(None)
    }

    async fn say(&mut self, reply: &str) -> io::Result<()> {
        in_time(self.stream.get_mut().write_all(format!("{reply}\r\n").as_bytes())).await
    }

    async fn answer(&mut self, reply: &str) -> io::Result<Next> {
        self.say(reply).await.map(|()| Next::Command)
    }

    async fn obey(&mut self, request: Request<String>) -> io::Result<Next> {
        match request {
            Request::Ehlo { .. } => {
                self.greet();
                let size = BYTES_MAX;
                let domain = self.service.mail_domain.clone();
                let extensions = format!("250-{domain}\r\n250-SIZE {size}\r\n250-8BITMIME\r\n250-SMTPUTF8");
                self.answer(&format!("{extensions}\r\n250 ENHANCEDSTATUSCODES"))
                    .await
            }
            Request::Helo { .. } => {
                self.greet();
                let domain = self.service.mail_domain.clone();
                self.answer(&format!("250 {domain}")).await
            }
            Request::Mail { from } => self.mail(from.size).await,
            Request::Rcpt { to } => self.rcpt(to.address).await,
            Request::Data => self.data().await,
            Request::Rset => {
                self.forget();
                self.answer("250 2.0.0 Forgotten").await
            }
            Request::Noop { .. } => self.answer("250 2.0.0 Done").await,
            Request::Vrfy { .. } => {
                self.answer("252 2.1.5 Cannot verify the address, but will try to deliver mail")
                    .await
            }
            Request::Help { .. } => self.answer("214 2.0.0 See RFC 5321").await,
            Request::Quit => {
                self.say("221 2.0.0 Goodbye").await?;
                Ok(Next::Close)
            }
            _ => self.answer("502 5.5.1 Command not implemented").await,
        }
    }

    fn greet(&mut self) {
        self.has_greeted = true;
        self.forget();
    }

    fn forget(&mut self) {
        self.has_sender = false;
        self.recipients.clear();
    }

    async fn mail(&mut self, size: usize) -> io::Result<Next> {
        if !self.has_greeted || self.has_sender {
            return self
                .answer("503 5.5.1 Send HELO first, and only one MAIL at a time")
                .await;
        }
        if size > BYTES_MAX {
            return self.answer("552 5.3.4 The message is too large").await;
        }
        self.has_sender = true;
        self.answer("250 2.1.0 Sender accepted").await
    }

    async fn rcpt(&mut self, address: String) -> io::Result<Next> {
        if !self.has_sender {
            return self.answer("503 5.5.1 Send MAIL first").await;
        }
        if self.recipients.len() >= RECIPIENTS_MAX {
            return self.answer("452 4.5.3 Too many recipients").await;
        }
        match destination(&self.service, &address).await {
            Ok(Destination::Node(..)) => {
                self.recipients.push(address);
                self.answer("250 2.1.5 Taken").await
            }
            Ok(Destination::Inactive) => {
                self.answer("450 4.2.1 No deployment of the pattern is active")
                    .await
            }
            Ok(Destination::Unknown) => self.answer("550 5.1.1 No such mailbox").await,
            Err(error) => {
                tracing::warn!("Can't look up an address now: {}", chain(&error));
                self.answer("451 4.3.0 Try again later").await
            }
        }
    }

    async fn data(&mut self) -> io::Result<Next> {
        if self.recipients.is_empty() {
            return self.answer("503 5.5.1 Send RCPT first").await;
        }
        self.say("354 Send the message; end it with a line that contains only a dot")
            .await?;
        let Some(message) = self.message().await? else {
            self.forget();
            return self.answer("552 5.3.4 The message is too large").await;
        };
        let recipients = std::mem::take(&mut self.recipients);
        self.forget();
        let reply = delivered(&self.service, &recipients, message).await;
        self.answer(&reply).await
    }

    /// A message with its dots unstuffed. `None`: it was too large; its rest was read and thrown away.
    async fn message(&mut self) -> io::Result<Option<Vec<u8>>> {
        let max = BYTES_MAX;
        let (mut receiver, mut message, mut is_too_large) = (DataReceiver::new(), Vec::new(), false);
        loop {
            let buffer = in_time(self.stream.fill_buf()).await?;
            if buffer.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let mut bytes = buffer.iter();
            let is_whole = receiver.ingest(&mut bytes, &mut message);
            let used = buffer.len() - bytes.as_slice().len();
            self.stream.consume(used);
            if message.len() > max {
                is_too_large = true;
                message.clear();
            }
            if is_whole {
                return Ok((!is_too_large).then_some(message));
            }
        }
    }

    async fn misunderstood(&mut self, error: &Error) -> io::Result<Next> {
        self.errors += 1;
        if self.errors >= ERRORS_MAX {
            self.say("421 4.7.0 Too many errors").await?;
            return Ok(Next::Close);
        }
        self.answer(match error {
            Error::InvalidSenderAddress => "553 5.1.7 Invalid sender address",
            Error::InvalidRecipientAddress => "553 5.1.3 Invalid recipient address",
            Error::SyntaxError { .. } | Error::InvalidParameter { .. } => {
                "501 5.5.4 Syntax error in the command"
            }
            Error::UnsupportedParameter { .. } => "555 5.5.4 Parameter not supported",
            _ => "500 5.5.1 Unknown command",
        })
        .await
    }
}

/// Starts the runs of all recipients. SMTP has only one reply for all of them, so if any recipient asks for a retry,
/// the whole message is retried; recipients whose run was already started recognise it as a duplicate.
async fn delivered(service: &Service, recipients: &[String], message: Vec<u8>) -> Cow<'static, str> {
    let mail = match Mail::read(message).await {
        Ok(mail) => mail,
        // A permanent error: the sender must not retry.
        Err(error) if error.code() == Code::Validation => {
            return format!("554 5.6.0 {}", error.message()).into();
        }
        Err(_) => return "451 4.3.0 Try again later".into(),
    };
    for address in recipients {
        match deliver(&mail, service, address).await {
            Ok(Delivery::Accepted(_) | Delivery::Duplicate(_)) => {}
            Ok(Delivery::Inactive | Delivery::Unknown) => {
                return "450 4.2.1 No deployment of the pattern is active".into();
            }
            // An attachment that may not be stored, now or later.
            Err(error) if error.code() == Code::PayloadTooLarge => {
                return format!("552 5.3.4 {}", error.message()).into();
            }
            Err(error) => {
                tracing::warn!("Can't accept a message now: {}", chain(&error));
                return "451 4.3.0 Try again later".into();
            }
        }
    }
    "250 2.0.0 Message accepted".into()
}

async fn in_time<T>(work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let done = tokio::time::timeout(SILENCE_MAX, work).await;
    done.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}
