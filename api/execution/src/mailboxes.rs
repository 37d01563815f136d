//! Watches the mailboxes of OnMailbox nodes. One that is due is claimed in the database, so that one server at a time is connected to
//! it; each message that is new is accepted as a run under a key of its own, and how far the mailbox was read is stored only afterwards.
//! So whenever a server stops, no message is lost, and none has two runs.

mod looking;
mod record;

use crate::deployment::ActiveDeployment;
use crate::executions::Executions;
use crate::outside::Failure;
use crate::polls::claim::Claim;
use crate::queue::{Class, Place};
use crate::schedule::Schedule;
use heddle_model::clock::Timestamp;
use heddle_model::error::{Code, ServiceError, chain};
use heddle_model::mailbox::Mailbox;
use heddle_runtime::{MailboxAccess, OpenMailbox};
use heddle_store::StoreError;
use heddle_store::polls::{self, PollRow};
use heddle_store::schedules::ScheduleRow;
use looking::{LookOutcome, Watch};
use metrics::counter;
use record::Record;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, SemaphorePermit};

/// For how long a mailbox is claimed: if its server stops, another one goes on after that.
const CLAIM: Duration = Duration::from_secs(30);
/// How long it waits for a place among the runs of its workspace, and then for one among all who look.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long it waits to be told of new messages before it looks by itself and waits anew. Servers allow 29 minutes; what stands
/// between may forget connections sooner.
const WAIT_MAX: Duration = Duration::from_secs(10 * 60);
/// Between two looks, however often a server says that there is something new.
const PAUSE: Duration = Duration::from_secs(1);
/// How often it looks whether the deployment is still the one that it watches for.
const DEPLOYMENT_CHECK: Duration = Duration::from_secs(2);

/// Claims a mailbox that is due, and watches it in the background.
pub(crate) async fn begin(
    executions: &Executions,
    read: &ScheduleRow,
    (active, mailbox): (Arc<ActiveDeployment>, Mailbox),
    times: Schedule,
) -> Result<(), ServiceError> {
    let Some((claim, known)) = Claim::of(executions, read, CLAIM).await? else {
        return Ok(());
    };
    let watch = Watch {
        executions: executions.clone(),
        node: read.node_id.clone(),
        active,
        source: mailbox.fingerprint(),
        mailbox,
        schedule: read.id,
        claim,
    };
    let turn = Turn { watch, times, known };
    tokio::spawn(turn.take());
    Ok(())
}

/// A mailbox that is this server's.
struct Turn {
    watch: Watch,
    /// When it is looked into if the server does not tell of new messages.
    times: Schedule,
    /// What was known when it was claimed.
    known: PollRow,
}

/// How a turn ends that has not failed.
enum End {
    /// It looks again at the next of its times.
    Regular,
    /// Somebody goes on at once, if it is still to be watched.
    AtOnce,
}

/// What whoever looks holds meanwhile.
struct Room<'t> {
    _of_owner: Option<OwnedSemaphorePermit>,
    _of_workspace: Place,
    _of_all: SemaphorePermit<'t>,
}

impl Turn {
    async fn take(self) {
        let mut stopping = self.watch.executions.stopping();
        let due = tokio::select! {
            due = self.done() => due,
            // Whoever looks next finds what is new; messages that have a run by now get no other.
            _ = stopping.wait_for(|stops| *stops) => Some(self.now()),
            () = self.watch.claim.hold() => return,
        };
        let (schedule, said) = (self.watch.schedule, self.watch.claim.said());
        let stored =
            self.watch.executions.store().write(move |db| {
                Box::pin(async move { polls::renew_for_system(db, schedule, said, due).await })
            });
        let stored: Result<bool, StoreError> = stored.await;
        if let Err(error) = stored {
            tracing::warn!(
                deployment = %self.watch.active.id,
                node = self.watch.node,
                "The next time to read a mailbox can't be stored, so it is read again soon: {}",
                chain(&error)
            );
        }
    }

    fn now(&self) -> Timestamp {
        self.watch.executions.clock().now()
    }

    /// Watches it: when it is due again.
    async fn done(&self) -> Option<Timestamp> {
        let mut record = Record::of(self.known.clone());
        let went = self.watched(&mut record).await;
        let now = self.now();
        let last = &mut record.row.last;
        last.connected_since = None;
        let due = match went {
            Ok(End::Regular) => self.times.next_after(now),
            Ok(End::AtOnce) => Some(now),
            Err(failure) => {
                let (code, node) = (failure.code.as_str(), self.watch.node.as_str());
                tracing::info!(deployment = %self.watch.active.id, node, code, "A mailbox can't be read now");
                counter!("heddle_mailbox_failures_total").increment(1);
                last.polled_at = Some(now.millis());
                Some(failure.note(last, now))
            }
        };
        record.save(&self.watch.executions, &self.watch.active).await;
        due
    }

    async fn watched(&self, record: &mut Record) -> Result<End, Failure> {
        let room = self.room().await?;
        if self.watch.claim.is_lost() {
            return Ok(End::AtOnce);
        }
        // Boxed, since what it takes to get in is large.
        let mut mailbox = Box::pin(self.open()).await?;
        let looked = self.watch.look(&mut mailbox, record).await;
        let place = match looked {
            Ok(LookOutcome::All) if mailbox.can_wait() => {
                let places = self.watch.executions.mailbox_places();
                places.take(self.watch.active.owner, self.watch.active.tenant)
            }
            _ => None,
        };
        let Some(_place) = place else {
            // Before anybody is told that it went well: messages are deleted by it.
            let ended = mailbox.end().await;
            let looked = looked?;
            ended?;
            return Ok(match looked {
                LookOutcome::All => End::Regular,
                LookOutcome::More | LookOutcome::Lost => End::AtOnce,
            });
        };
        drop(room);
        record.row.last.connected_since = Some(self.now().millis());
        Box::pin(self.wait(mailbox, record)).await
    }

    /// Looks whenever the server tells of new messages, for as long as the mailbox is this server's.
    async fn wait(&self, mut mailbox: OpenMailbox, record: &mut Record) -> Result<End, Failure> {
        while record.save(&self.watch.executions, &self.watch.active).await && mailbox.is_fresh() {
            tokio::time::sleep(PAUSE).await;
            tokio::select! {
                waited = mailbox.wait(WAIT_MAX) => {
                    waited?;
                }
                () = self.watch.claim.lost() => break,
                () = self.replaced() => break,
            }
            // Who was paused, suspended or replaced meanwhile starts no runs any more.
            if !self.is_current().await || !self.watch.claim.renew().await {
                break;
            }
            let _room = self.room().await?;
            match self.watch.look(&mut mailbox, record).await? {
                LookOutcome::All => {}
                LookOutcome::More | LookOutcome::Lost => break,
            }
        }
        Ok(End::AtOnce)
    }

    /// Ends once another version, or none, is deployed in the place of this one.
    async fn replaced(&self) {
        loop {
            tokio::time::sleep(DEPLOYMENT_CHECK).await;
            if !self.is_current().await {
                return;
            }
        }
    }

    /// Whether this version is deployed still, as far as that can be told.
    async fn is_current(&self) -> bool {
        let watched = &self.watch.active;
        let found = self.watch.executions.loaded_for(watched.slot).await;
        let is_same = |now: Arc<ActiveDeployment>| {
            now.id == watched.id
                && now.artifact == watched.artifact
                && now.version_number == watched.version_number
                && !now.is_paused
        };
        match found {
            Ok(found) => found.is_some_and(is_same),
            Err(_) => true,
        }
    }

    /// The right to look. Whoever has many mailboxes waits for their own first, then for runs of their own, and only then for others.
    async fn room(&self) -> Result<Room<'_>, Failure> {
        let of_owner = self
            .watch
            .executions
            .polls_of(self.watch.active.owner)
            .acquire_owned()
            .await;
        let tests = self.watch.executions.test_runs();
        let of_workspace = tests
            .place_of(Class::Background, self.watch.active.share(), PATIENCE)
            .await?;
        let busy = || {
            Code::Unavailable
                .with("Too many lists and mailboxes are being read right now: this one will be read later.")
        };
        let of_all = tokio::time::timeout(PATIENCE, self.watch.executions.polls_at_once().acquire()).await;
        Ok(Room {
            // Never closed.
            _of_owner: of_owner.ok(),
            _of_workspace: of_workspace,
            _of_all: of_all.map_err(|_| busy())?.map_err(|_| busy())?,
        })
    }

    async fn open(&self) -> Result<OpenMailbox, Failure> {
        let tests = self.watch.executions.test_runs();
        let runtime = tests.modules.runtime().await?.clone();
        let access = MailboxAccess {
            connections: tests.services.connections(self.watch.active.share()),
            granted: self.watch.active.manifest().rights.connections.clone(),
            connection: self.watch.mailbox.connection.clone(),
            name: self.watch.mailbox.name.clone(),
            is_changed: self.watch.mailbox.is_changed(),
        };
        Ok(runtime.open_mailbox(access).await?)
    }
}
