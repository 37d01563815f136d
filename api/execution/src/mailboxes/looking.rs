//! A look into a mailbox: which messages are new, and a run for each. By IMAP, messages have numbers that grow; by POP3 they have ids,
//! of which so many are remembered.

use super::record::Record;
use crate::acceptor::Accepted;
use crate::deployment::ActiveDeployment;
use crate::executions::Executions;
use crate::mail::BYTES_MAX;
use crate::outside::{Failure, shown};
use crate::polls::claim::Claim;
use crate::run::{IdempotencyKey, NewRun};
use chrono::DateTime;
use heddle_model::clock::{monotonic, since};
use heddle_model::error::Code;
use heddle_model::ids::EndpointId;
use heddle_model::mailbox::{Afterwards, Mailbox, Reached};
use heddle_model::poll::Seen;
use heddle_model::status::TriggeredBy;
use heddle_runtime::{self as runtime, AboutMessage, EffectCode, ListedMessage, Numbering, OpenMailbox};
use metrics::counter;
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::time::Duration;

/// Messages of one look; what is left has its turn after others have.
const MESSAGES_MAX: usize = 200;
/// Time after which a look leaves what else is new to the next one. Whoever looks has a place that others wait for, and a server may
/// take nearly as long for each answer as it may.
const TIME_MAX: Duration = Duration::from_secs(60);
/// Time after which a look fails: what a message may take besides, by its size, its text and what becomes of it.
const TIME_IN_ALL_MAX: Duration = Duration::from_secs(5 * 60);
/// Messages after which it is stored how far the mailbox was read.
const CHUNK: usize = 25;
/// Messages in a mailbox by POP3 up to which each is told from all others by its id alone: fewer than are remembered.
const TOLD_APART_MAX: usize = 4_000;
/// By how much the clocks of a mail server and of this one may differ.
const CLOCKS_DIFFER_MS: i64 = 10 * 60 * 1_000;
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
/// Characters of a mailbox's fingerprint that its runs' keys have.
const SOURCE_CHARS: usize = 16;

/// How far a look came.
pub(super) enum LookOutcome {
    /// Everything that is new has a run.
    All,
    /// More is new.
    More,
    /// The mailbox is this server's no longer.
    Lost,
}

/// A mailbox that is watched for a deployment.
pub(super) struct Watch {
    pub executions: Executions,
    pub node: String,
    pub active: Arc<ActiveDeployment>,
    pub mailbox: Mailbox,
    /// Which mailbox that is.
    pub source: String,
    /// Keys of runs are unique within it.
    pub schedule: EndpointId,
    pub claim: Claim,
}

/// What has been read so far.
struct Progress {
    reached: Reached,
    /// By which messages are known that come again: their own keys by IMAP, the server's ids by POP3.
    seen: Seen,
    /// Only messages that came after that are new: their numbers say nothing, since the server has given others.
    since: Option<i64>,
}

impl Watch {
    /// Starts a run for each message that is new.
    pub(super) async fn look(
        &self,
        mailbox: &mut OpenMailbox,
        record: &mut Record,
    ) -> Result<LookOutcome, Failure> {
        let (began, (sent_before, _)) = (self.executions.clock().now(), mailbox.traffic());
        record.problem = None;
        let looking = async {
            match mailbox.numbering() {
                Numbering::Growing { validity, next } => {
                    let reached = Reached {
                        validity,
                        last: 0,
                        looked_at: began.millis(),
                    };
                    self.by_numbers(mailbox, record, (reached, next)).await
                }
                Numbering::Ids => self.by_ids(mailbox, record).await,
            }
        };
        // Boxed, since it holds all that any question takes.
        let looked = tokio::time::timeout(TIME_IN_ALL_MAX, Box::pin(looking)).await;
        let looked = looked.unwrap_or_else(|_| Err(late()));
        let (sent, _) = mailbox.traffic();
        let meter = &self.executions.test_runs().meter;
        meter
            .count_request(self.active.tenant, sent.saturating_sub(sent_before))
            .await;
        let looked = looked?;
        let last = &mut record.row.last;
        last.polled_at = Some(began.millis());
        last.failures = 0;
        (last.error_code, last.error) = record.problem.take().unzip();
        Ok(looked)
    }

    async fn by_numbers(
        &self,
        mailbox: &mut OpenMailbox,
        record: &mut Record,
        (mut reached, next): (Reached, Option<u32>),
    ) -> Result<LookOutcome, Failure> {
        let search = self.mailbox.search.as_deref();
        let known = self.known_of(record).then_some(record.row.cursor.as_deref());
        let known = known.flatten().and_then(Reached::of_stored);
        let seen = match known {
            Some(_) => Seen::of_stored(&record.row.seen),
            None => Seen::default(),
        };
        let mut since = None;
        let found = match known {
            Some(known) if known.validity == reached.validity => {
                reached.last = known.last;
                mailbox.search(known.last.saturating_add(1), search).await?
            }
            Some(known) => {
                since = Some(known.looked_at.saturating_sub(CLOCKS_DIFFER_MS));
                let day = known.looked_at.saturating_sub(DAY_MS);
                mailbox.search(1, Some(&criteria_since(day, search))).await?
            }
            None if self.mailbox.from_beginning => mailbox.search(1, search).await?,
            None => {
                reached.last = match next {
                    Some(next) => next.saturating_sub(1),
                    None => mailbox.search(1, None).await?.last().copied().unwrap_or_default(),
                };
                record.reach(&self.source, Some(reached), &seen);
                return Ok(LookOutcome::All);
            }
        };
        record.row.last.things = i64::try_from(found.len()).unwrap_or(i64::MAX);
        let mut progress = Progress { reached, seen, since };
        let looked = self.go_through(mailbox, record, &found, &mut progress).await;
        let is_renumbered = progress.since.is_some();
        if is_renumbered && matches!(looked, Ok(LookOutcome::All)) {
            let last = next.map_or(0, |next| next.saturating_sub(1));
            progress.reached.last = progress.reached.last.max(last);
        }
        // Numbers of a new order mean something only once all of them were looked at. Until then, those that have a run are known by
        // their own keys, however often they are looked at again.
        match !is_renumbered || matches!(looked, Ok(LookOutcome::All)) {
            true => record.reach(&self.source, Some(progress.reached), &progress.seen),
            false => record.row.seen = progress.seen.stored(),
        }
        looked
    }

    /// Starts runs for what was found, in order.
    async fn go_through(
        &self,
        mailbox: &mut OpenMailbox,
        record: &mut Record,
        found: &[u32],
        progress: &mut Progress,
    ) -> Result<LookOutcome, Failure> {
        let now = match progress.since {
            Some(_) => found,
            None => found.get(..MESSAGES_MAX).unwrap_or(found),
        };
        let began = monotonic();
        for chunk in now.chunks(CHUNK) {
            for about in mailbox.about(chunk).await? {
                if self.claim.is_lost() {
                    return Ok(LookOutcome::Lost);
                }
                self.go_on(mailbox, record, &about, progress).await?;
                // Numbers of a new order mean something only once all of them were looked at.
                if progress.since.is_none() && since(began) > TIME_MAX {
                    return Ok(LookOutcome::More);
                }
            }
            progress.reached.last = chunk.last().copied().unwrap_or_default();
            if progress.since.is_none() {
                record.reach(&self.source, Some(progress.reached), &progress.seen);
                if !record.save(&self.executions, &self.active).await {
                    return Ok(LookOutcome::Lost);
                }
            }
        }
        Ok(match now.len() < found.len() {
            true => LookOutcome::More,
            false => LookOutcome::All,
        })
    }

    async fn go_on(
        &self,
        mailbox: &mut OpenMailbox,
        record: &mut Record,
        about: &AboutMessage,
        progress: &mut Progress,
    ) -> Result<(), Failure> {
        if progress.since.is_none_or(|since| has_come_after(about, since)) {
            let key = format!("{}:{}", progress.reached.validity, about.number);
            let known = progress.since.map(|_| &progress.seen);
            match self.start(mailbox, record, (about, key.as_str()), known).await {
                Ok(Some(key)) => progress.seen = progress.seen.with([key.as_str()]),
                Ok(None) => {}
                // It is larger than the server says: whoever asked again would be sent it again.
                Err(failure) if failure.code == EffectCode::OutputLimit.as_str() => {
                    progress.reached.last = about.number;
                    return Err(failure);
                }
                Err(failure) => return Err(failure),
            }
        }
        progress.reached.last = about.number;
        Ok(())
    }

    async fn by_ids(&self, mailbox: &mut OpenMailbox, record: &mut Record) -> Result<LookOutcome, Failure> {
        let is_known = self.known_of(record);
        let mut seen = match is_known {
            true => Seen::of_stored(&record.row.seen),
            false => Seen::default(),
        };
        let listed = mailbox.list().await?;
        record.row.last.things = i64::try_from(listed.len()).unwrap_or(i64::MAX);
        if !is_known && !self.mailbox.from_beginning {
            let ids = listed.iter().rev().map(|one| one.id.as_str());
            record.reach(&self.source, None, &seen.with(ids));
            return Ok(LookOutcome::All);
        }
        let new = new_of(&listed, &seen);
        let mut looked = match new.len() > MESSAGES_MAX {
            true => LookOutcome::More,
            false => LookOutcome::All,
        };
        let mut went = Ok(());
        let began = monotonic();
        for one in new.into_iter().take(MESSAGES_MAX) {
            if self.claim.is_lost() {
                looked = LookOutcome::Lost;
                break;
            }
            if since(began) > TIME_MAX {
                looked = LookOutcome::More;
                break;
            }
            went = self.by_id(mailbox, record, one).await;
            let is_too_large = |failure: &Failure| failure.code == EffectCode::OutputLimit.as_str();
            if went.as_ref().is_err_and(|failure| !is_too_large(failure)) {
                break;
            }
            seen = seen.with([one.id.as_str()]);
            if went.is_err() {
                break;
            }
        }
        record.reach(&self.source, None, &seen);
        went.map(|()| looked)
    }

    async fn by_id(
        &self,
        mailbox: &mut OpenMailbox,
        record: &mut Record,
        one: &ListedMessage,
    ) -> Result<(), Failure> {
        let told = mailbox.about(&[one.number]).await?;
        let key = hex::encode(Sha256::digest(&one.id));
        match told.first() {
            Some(about) => self
                .start(mailbox, record, (about, key.as_str()), None)
                .await
                .map(drop),
            None => Ok(()),
        }
    }

    /// Starts the run of a message, unless it is one of those that are known: its own key, if it has a run now.
    async fn start(
        &self,
        mailbox: &mut OpenMailbox,
        record: &mut Record,
        (about, key): (&AboutMessage, &str),
        known: Option<&Seen>,
    ) -> Result<Option<String>, Failure> {
        if about.bytes > BYTES_MAX as u64 {
            let message = format!(
                "A message of {} MiB was passed over: {} MiB are allowed.",
                about.bytes >> 20,
                BYTES_MAX >> 20
            );
            record.pass_over(&Code::PayloadTooLarge.with(message));
            return Ok(None);
        }
        let Some(raw) = mailbox.fetch(about.number, BYTES_MAX).await? else {
            return Ok(None);
        };
        let read = self.executions.mail().read_fetched(self.active.owner, raw);
        let mail = match read.await {
            Ok(mail) => mail,
            Err(error) => return record.passed_over(error),
        };
        if known.is_some_and(|known| known.has(mail.key())) {
            return Ok(None);
        }
        let files = self.executions.files();
        let event = mail.event(self.mailbox.as_files, files, self.active.tenant);
        let (id, event) = match event.await {
            Ok(event) => event,
            Err(error) => return record.passed_over(error),
        };
        let source = self.source.get(..SOURCE_CHARS).unwrap_or_default();
        let run = NewRun {
            id,
            deployment: self.active.clone(),
            triggered_by: TriggeredBy::Email,
            node_id: Some(self.node.clone()),
            event,
            text: None,
            // As keys of polls begin: with these they are forgotten.
            idempotency: Some(IdempotencyKey::of_endpoint(
                self.schedule,
                format!("poll:{source}:{key}"),
            )),
            wait: false,
            caller: None,
        };
        match self.executions.accept(run).await {
            Ok(Accepted::New(_)) => {
                record.row.last.last_new_at = Some(self.executions.clock().now().millis());
                counter!("heddle_mailbox_messages_total", "result" => "accepted").increment(1);
            }
            // Started before it was stored how far the mailbox was read: what becomes of the message is still to be said.
            Ok(Accepted::Duplicate(_)) => {}
            Err(error) => return record.passed_over(error),
        }
        let key = mail.key().to_owned();
        // The server may take its time, for which others would wait.
        drop(mail);
        if let Err(error) = mailbox.settle(about.number, &self.afterwards()).await {
            record.problem = Some((error.code.as_str().to_owned(), shown(&error.message)));
        }
        Ok(Some(key))
    }

    fn afterwards(&self) -> runtime::Afterwards {
        match &self.mailbox.afterwards {
            Afterwards::Leave => runtime::Afterwards::Leave,
            Afterwards::Seen => runtime::Afterwards::Seen,
            Afterwards::Delete => runtime::Afterwards::Delete,
            Afterwards::Move(to) => runtime::Afterwards::Move(to.clone()),
        }
    }

    /// Whether it is this mailbox of which something is known.
    fn known_of(&self, record: &Record) -> bool {
        record.row.source == self.source
    }
}

fn late() -> Failure {
    let minutes = TIME_IN_ALL_MAX.as_secs() / 60;
    Failure {
        code: EffectCode::Timeout.as_str().to_owned(),
        message: format!("The mailbox could not be looked into within {minutes} minutes."),
        is_ours: false,
        rest: None,
    }
}

/// Those that are new. Of a large mailbox not all are remembered, so that what stands before the last known one is not new.
fn new_of<'l>(listed: &'l [ListedMessage], seen: &Seen) -> Vec<&'l ListedMessage> {
    let known = match listed.len() > TOLD_APART_MAX {
        true => listed.iter().rposition(|one| seen.has(&one.id)),
        false => None,
    };
    let from = known.map_or(0, |place| place + 1);
    let rest = listed.get(from..).unwrap_or_default();
    rest.iter().filter(|one| !seen.has(&one.id)).collect()
}

/// Since a time, at which a day begins.
fn criteria_since(time_ms: i64, search: Option<&str>) -> String {
    let day = DateTime::from_timestamp_millis(time_ms).unwrap_or_default();
    let day = day.format("%d-%b-%Y");
    match search {
        Some(search) => format!("SINCE {day} {search}"),
        None => format!("SINCE {day}"),
    }
}

/// Whether the server got a message after that; where it does not say when, it may have.
fn has_come_after(about: &AboutMessage, time_ms: i64) -> bool {
    let received = about.received_at.as_deref();
    let received = received.and_then(|at| DateTime::parse_from_str(at.trim(), "%d-%b-%Y %H:%M:%S %z").ok());
    received.is_none_or(|at| at.timestamp_millis() >= time_ms)
}
