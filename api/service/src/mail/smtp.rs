//! A small SMTP receiver (RFC 5321) for mail that starts runs: it accepts messages for existing addresses, within
//! limits of size, number and time, and acknowledges a message only when its runs are stored. It relays nothing, and
//! relies on a mail server in front of it for TLS and for checking senders. Of its connections, and of the memory for messages that are
//! arriving, no address gets more than it leaves free, so that some is left for others. Once all connections are taken, those that say
//! nothing give way.

pub mod session;

use super::{Delivery, Destination, deliver, destination};
use crate::Service;
use crate::rooms::Rooms;
use futures_util::future::BoxFuture;
use heddle_model::error::{Code, ServiceError, chain};
use session::{Addressee, Post, ROOM_BYTES, Room, Session, in_time};
use std::borrow::Cow;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::sync::{Notify, Semaphore};

/// Connections at one time; more wait to be accepted.
const CONNECTIONS_MAX: usize = 100;
/// Bytes of messages that are arriving, or being delivered.
const ARRIVING_BYTES_MAX: usize = 128 << 20;
/// How long a session may last.
const SESSION_MAX: Duration = Duration::from_secs(600);

/// The first 64 bits of an address of IPv6: those of one customer.
const NETWORK_V6: u128 = u128::MAX << 64;

/// Whose share of connections and memory an address has.
fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & NETWORK_V6)),
        address => address,
    }
}

/// Takes connections until the task is aborted.
pub async fn serve(service: Service, listener: TcpListener) {
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let connections = Rooms::new(CONNECTIONS_MAX, 0);
    let arriving = Rooms::new(ARRIVING_BYTES_MAX, 0);
    let needed = Arc::new(Notify::new());
    loop {
        if room.available_permits() == 0 {
            // Whoever has said nothing for the longest time.
            needed.notify_one();
        }
        // Never closed, so there is always a permit to wait for.
        let Ok(permit) = room.clone().acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((mut stream, peer)) => {
                let network = network(peer.ip());
                let Some(place) = connections.take(network, 1) else {
                    tokio::spawn(async move {
                        let refusal = b"421 4.7.0 Too many connections from your address\r\n";
                        // Whoever does not listen is gone all the same.
                        let _ = in_time(stream.write_all(refusal)).await;
                    });
                    continue;
                };
                let client = Client {
                    service: service.clone(),
                    arriving: arriving.clone(),
                    needed: needed.clone(),
                    network,
                };
                tokio::spawn(async move {
                    let _held = (permit, place);
                    let session = Session::new(client, stream).run();
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

/// Whoever sends messages, which become runs.
struct Client {
    service: Service,
    arriving: Rooms<IpAddr>,
    /// Somebody waits for a connection.
    needed: Arc<Notify>,
    network: IpAddr,
}

impl Post for Client {
    fn domain(&self) -> &str {
        &self.service.mail_domain
    }

    fn addressee<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Result<Addressee, ServiceError>> {
        Box::pin(async move {
            Ok(match destination(&self.service, address).await? {
                Destination::Node(..) => Addressee::Node,
                Destination::Inactive => Addressee::Inactive,
                Destination::Unknown => Addressee::Unknown,
            })
        })
    }

    fn room(&self) -> Option<Room> {
        let place = self.arriving.take(self.network, ROOM_BYTES)?;
        Some(Box::new(place))
    }

    fn is_needed(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.needed.notified())
    }

    fn deliver<'a>(&'a self, recipients: &'a [String], message: Vec<u8>) -> BoxFuture<'a, Cow<'static, str>> {
        Box::pin(delivered(&self.service, recipients, message))
    }
}

/// Starts the runs of all recipients. SMTP has only one reply for all of them, so if any recipient asks for a retry,
/// the whole message is retried; recipients whose run was already started recognise it as a duplicate.
async fn delivered(service: &Service, recipients: &[String], message: Vec<u8>) -> Cow<'static, str> {
    let mail = match service.executions.mail().read(message).await {
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
            // No run can begin with it, now or later.
            Err(error) if error.code() == Code::Validation => {
                return format!("554 5.6.0 {}", error.message()).into();
            }
            Err(error) => {
                tracing::warn!("Can't accept a message now: {}", chain(&error));
                return "451 4.3.0 Try again later".into();
            }
        }
    }
    "250 2.0.0 Message accepted".into()
}
