//! Messages between servers that share a database, without storing them: counts for rate limits, which deployments have
//! live tails, and the changes of those deployments' runs. Messages may be lost or late, and nothing that must be
//! correct depends on them.

use crate::Service;
use crate::webhooks::Counts;
use heddle_execution::tail::RunChange;
use heddle_model::error::chain;
use heddle_model::ids::DeploymentId;
use heddle_store::StoreError;
use heddle_store::panics::unless_it_panics;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Minimum interval between messages.
const SENT_EVERY: Duration = Duration::from_millis(250);
/// Interval at which watched deployments are announced again.
const WATCHING_AGAIN: Duration = Duration::from_secs(2);
/// Time after which an announcement that was not repeated expires.
const WATCHING_MAX: Duration = Duration::from_secs(6);
/// Bytes of changes in a message: PostgreSQL takes 7,999, of which those around them are less than 100.
const CHANGES_BYTES_MAX: usize = 7_800;
/// Deployments in a message, of 39 bytes each.
const DEPLOYMENTS_MAX: usize = 150;
/// Addresses in a message, of 60 bytes at most.
const ADDRESSES_MAX: usize = 100;
/// Emails in a message, of 75 bytes.
const EMAILS_MAX: usize = 80;

#[derive(Debug, Serialize, Deserialize)]
struct Message {
    /// A process, which hears itself too.
    from: String,
    said: PeerMessage,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum PeerMessage {
    /// Webhook requests let through, by address.
    Webhooks(Vec<(IpAddr, usize)>),
    /// Webhook requests let through, by other keys than the address.
    WebhookCounts(Counts),
    /// Attempts to log in, by address.
    Logins(Vec<(IpAddr, usize)>),
    /// Attempts to log in, by the email's hash, in hex.
    Emails(Vec<(String, usize)>),
    /// These deployments have live tails.
    Watching(Vec<DeploymentId>),
    /// Changes of runs of deployments with live tails on other servers.
    Changes(Vec<RunChange>),
}

/// The other servers. Cheap to clone.
#[derive(Clone)]
pub struct Peers {
    /// Id of this process, to recognise its own messages.
    id: Arc<str>,
    service: Service,
}

impl Peers {
    /// Of this process's service.
    pub fn new(service: Service) -> Self {
        Peers {
            id: heddle_model::entropy::new_uuid().to_string().into(),
            service,
        }
    }

    /// Takes in what a server has said.
    pub fn receive(&self, text: &str) {
        // A newer server may say what this one does not know.
        let Ok(Message { from, said }) = serde_json::from_str(text) else {
            return;
        };
        if *from == *self.id {
            return;
        }
        let service = &self.service;
        let now = service.clock.now();
        match said {
            PeerMessage::Webhooks(counts) => service.webhooks.limits.count(Counts::Addresses(counts), now),
            PeerMessage::WebhookCounts(counts) => service.webhooks.limits.count(counts, now),
            PeerMessage::Logins(counts) => {
                for (ip, count) in counts {
                    service.auth_limits.by_ip.count(&ip, count, now);
                }
            }
            PeerMessage::Emails(counts) => {
                for (email, count) in counts {
                    let mut hash = [0; 32];
                    if hex::decode_to_slice(email, &mut hash).is_ok() {
                        service.auth_limits.by_email.count(&hash, count, now);
                    }
                }
            }
            PeerMessage::Watching(deployments) => {
                let until = heddle_model::clock::monotonic() + WATCHING_MAX;
                service.executions.tail().watch_elsewhere(&deployments, until);
            }
            PeerMessage::Changes(changes) => {
                for change in changes {
                    service.executions.tail().publish_remote(change);
                }
            }
        }
    }

    /// Starts sending messages in the background, if other servers are possible.
    pub fn start(&self) {
        if !self.service.store.is_shared() {
            return;
        }
        let peers = self.clone();
        tokio::spawn(async move {
            let mut watching_said_at = None;
            loop {
                let pause = tokio::time::sleep(SENT_EVERY);
                // A panic was told, and is not to be the last message.
                let sending = peers.send_all(&mut watching_said_at);
                if let Some(Err(error)) = unless_it_panics(sending).await {
                    tracing::debug!("Can't notify other servers for now: {}", chain(&error));
                }
                tokio::select! {
                    () = peers.service.executions.tail().news() => {}
                    () = pause => {}
                }
            }
        });
    }

    async fn send(&self, said: PeerMessage) -> Result<(), StoreError> {
        let from = self.id.to_string();
        let message = serde_json::to_string(&Message { from, said })?;
        self.service.store.talk(message).await
    }

    async fn send_all(
        &self,
        watching_said_at: &mut Option<(Instant, Vec<DeploymentId>)>,
    ) -> Result<(), StoreError> {
        let service = &self.service;
        self.send_watching(watching_said_at).await?;
        for message in in_messages(
            service
                .executions
                .tail()
                .take_for_elsewhere(heddle_model::clock::monotonic()),
        ) {
            self.send(PeerMessage::Changes(message)).await?;
        }
        for counts in service.webhooks.limits.take_untold() {
            self.send(match counts {
                Counts::Addresses(counts) => PeerMessage::Webhooks(counts),
                counts => PeerMessage::WebhookCounts(counts),
            })
            .await?;
        }
        for counts in service.auth_limits.by_ip.take_untold().chunks(ADDRESSES_MAX) {
            self.send(PeerMessage::Logins(counts.to_vec())).await?;
        }
        for counts in service.auth_limits.by_email.take_untold().chunks(EMAILS_MAX) {
            let counts = counts.iter().map(|(email, count)| (hex::encode(email), *count));
            self.send(PeerMessage::Emails(counts.collect())).await?;
        }
        Ok(())
    }

    async fn send_watching(&self, said: &mut Option<(Instant, Vec<DeploymentId>)>) -> Result<(), StoreError> {
        let mut watched = self.service.executions.tail().watched_here();
        watched.sort_unstable();
        let is_known = said.as_ref().is_some_and(|(at, before)| {
            *before == watched && heddle_model::clock::since(*at) < WATCHING_AGAIN
        });
        if watched.is_empty() || is_known {
            return Ok(());
        }
        for deployments in watched.chunks(DEPLOYMENTS_MAX) {
            self.send(PeerMessage::Watching(deployments.to_vec())).await?;
        }
        *said = Some((heddle_model::clock::monotonic(), watched));
        Ok(())
    }
}

/// Packs changes into as few messages as possible. A change that is too long for one message is sent without its error,
/// which clients can read with the run.
fn in_messages(changes: Vec<Arc<RunChange>>) -> Vec<Vec<RunChange>> {
    let mut messages: Vec<Vec<RunChange>> = Vec::new();
    let mut room = 0;
    for change in changes {
        let mut change = Arc::unwrap_or_clone(change);
        let mut bytes = bytes_of(&change);
        if bytes > CHANGES_BYTES_MAX {
            change.error = None;
            bytes = bytes_of(&change);
        }
        match messages.last_mut() {
            Some(last) if bytes <= room => last.push(change),
            _ => {
                messages.push(vec![change]);
                room = CHANGES_BYTES_MAX;
            }
        }
        room = room.saturating_sub(bytes);
    }
    messages
}

/// In a message, with the comma.
fn bytes_of(change: &RunChange) -> usize {
    serde_json::to_string(change).map_or(0, |text| text.len() + 1)
}
