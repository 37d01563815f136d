//! Writes the webhook log in the background: each write takes all lines that have accumulated during the previous one.
//! Readers of the log first wait until the lines of all answered requests are written, so that none is missing.

use crate::rooms::{Room, Rooms};
use heddle_model::clock::Timestamp;
use heddle_model::error::chain;
use heddle_model::ids::{EndpointId, UserId, WebhookLogId};
use heddle_store::large_texts;
use heddle_store::panics::unless_it_panics;
use heddle_store::turns::GROUP_BYTES_MAX;
use heddle_store::webhook_logs::{self, LogRow, TAP_EVENTS_MAX, TapRow};
use heddle_store::{Load, Sql, Store, StoreError};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Entries that wait; then requests wait to be written down.
const QUEUE_MAX: usize = 8192;
/// Entries that are written together.
const GROUP_MAX: usize = 512;
/// Maximum number of rows per SQLite transaction, because other writes wait for it.
const PIECE_MAX: usize = 128;
/// How long an entry waits for others, so that few events a second don't each cost a commit more.
const LINGER: Duration = Duration::from_millis(50);
/// Bytes of events for the tap that are kept until they are written. They are only looked at: what has no room is not kept.
const TAP_BYTES_MAX: usize = 64 << 20;
/// Those that have no more bytes take no room: there are only so many.
const SMALL_TAP_BYTES_MAX: usize = 4 << 10;
/// Writes that are tried before entries are given up, with a pause between them.
const ATTEMPTS_MAX: u32 = 10;
const PAUSE: Duration = Duration::from_millis(500);

/// A request that was answered.
pub struct Entry {
    /// Its line of the log.
    pub log: LogRow,
    pub tap: Option<Tap>,
}

/// An event for the tap of an endpoint.
pub struct Tap {
    pub endpoint: EndpointId,
    pub event: Arc<str>,
    pub room: Room<Option<UserId>>,
}

enum Message {
    Entry(Box<Entry>),
    Flush(oneshot::Sender<()>),
}

/// Takes entries. Dropping the last one ends the writing, after what waits is written.
#[derive(Clone)]
pub struct Journal {
    messages: mpsc::Sender<Message>,
    /// By the owner of what is deployed, however many webhooks they have.
    rooms: Rooms<Option<UserId>>,
}

impl Journal {
    /// Starts writing.
    pub fn start(store: Store) -> Self {
        let (sender, messages) = mpsc::channel(QUEUE_MAX);
        tokio::spawn(work(store, messages));
        Journal {
            messages: sender,
            rooms: Rooms::new(TAP_BYTES_MAX, SMALL_TAP_BYTES_MAX),
        }
    }

    /// Room to keep an owner's event of so many bytes until it is written; events of webhooks that are not deployed have one room together.
    /// `None`: it is not to be kept, since too much is kept already.
    pub fn tap_room(&self, owner: Option<UserId>, bytes: usize) -> Option<Room<Option<UserId>>> {
        self.rooms.take(owner, bytes)
    }

    /// Writes an entry down, soon.
    pub async fn add(&self, entry: Entry) {
        if self.messages.send(Message::Entry(Box::new(entry))).await.is_err() {
            tracing::error!("a line of the webhook log was lost: its writer has ended");
        }
    }

    /// Waits until all that was added before is on disk.
    pub async fn flush(&self) {
        let (sender, done) = oneshot::channel();
        if self.messages.send(Message::Flush(sender)).await.is_ok() {
            // An error means that the writer has ended, and there is nothing to wait for.
            let _ = done.await;
        }
    }
}

async fn work(store: Store, mut messages: mpsc::Receiver<Message>) {
    let mut group = Vec::with_capacity(GROUP_MAX);
    while messages.recv_many(&mut group, GROUP_MAX).await > 0 {
        gather(&mut messages, &mut group).await;
        // Requests wait for this task once the queue is full: it goes on after a panic, which was told.
        if unless_it_panics(write_group(&store, &mut group)).await.is_none() {
            tracing::error!("lines of the webhook log were lost by a panic");
            group.clear();
        }
    }
}

/// Writes the entries of a group, and tells those who have waited for it.
async fn write_group(store: &Store, group: &mut Vec<Message>) {
    let mut logs = Vec::new();
    let (mut taps, mut rooms) = (Taps::default(), Vec::new());
    let mut waiting = Vec::new();
    for message in group.drain(..) {
        match message {
            Message::Entry(entry) => {
                if let Some(tap) = entry.tap {
                    taps.add(tap.endpoint, entry.log.created_at, tap.event);
                    rooms.push(tap.room);
                }
                logs.push(entry.log);
            }
            Message::Flush(done) => waiting.push(done),
        }
    }
    if !logs.is_empty() {
        write(store, &logs, taps.newest()).await;
    }
    drop(rooms);
    for done in waiting {
        // Whoever waited may have gone.
        let _ = done.send(());
    }
}

/// Adds what comes within [`LINGER`], unless somebody waits for the log.
async fn gather(messages: &mut mpsc::Receiver<Message>, group: &mut Vec<Message>) {
    let over = tokio::time::sleep(LINGER);
    tokio::pin!(over);
    let is_awaited = |group: &[Message]| group.iter().any(|it| matches!(it, Message::Flush(_)));
    while group.len() < GROUP_MAX && !is_awaited(group) {
        let room = GROUP_MAX - group.len();
        tokio::select! {
            count = messages.recv_many(group, room) => if count == 0 { return },
            () = &mut over => return,
        }
    }
}

/// Events of a group; of each endpoint only those that the tap will keep.
#[derive(Default)]
struct Taps {
    rows: Vec<TapRow>,
    count: HashMap<EndpointId, i64>,
}

impl Taps {
    fn add(&mut self, endpoint_id: EndpointId, received_at: Timestamp, event: Arc<str>) {
        *self.count.entry(endpoint_id).or_default() += 1;
        self.rows.push(TapRow {
            id: WebhookLogId::new(),
            endpoint_id,
            received_at,
            event,
        });
    }

    /// The newest of each endpoint, oldest first.
    fn newest(mut self) -> Vec<TapRow> {
        let mut is_kept = |row: &TapRow| {
            let left = self.count.entry(row.endpoint_id).or_default();
            *left -= 1;
            *left < TAP_EVENTS_MAX
        };
        self.rows.retain(|row| is_kept(row));
        self.rows
    }
}

fn bytes_of(events: &[TapRow]) -> usize {
    events.iter().map(|event| event.event.len()).sum()
}

/// A large event that is stored in pieces, before its row, which has this id.
type Large = (WebhookLogId, Arc<str>);

/// What one transaction writes.
enum Part<'a> {
    /// Lines of the log and events for taps.
    Rows {
        lines: &'a [LogRow],
        events: &'a [TapRow],
    },
    /// A piece of the event of a row.
    OfEvent {
        row: WebhookLogId,
        number: i64,
        text: &'a str,
    },
}

impl<'a> Part<'a> {
    /// All in one if it is few. Events are as large as their senders make them. Lines don't wait for these.
    fn of(
        lines: &'a [LogRow],
        (large, events): (&'a [Large], &'a [TapRow]),
        rows_max: usize,
    ) -> VecDeque<Self> {
        let are_few = lines.len() + events.len() <= rows_max && bytes_of(events) <= GROUP_BYTES_MAX;
        if are_few && large.is_empty() {
            return [Part::Rows { lines, events }].into();
        }
        let of_lines = lines
            .chunks(rows_max)
            .map(|lines| Part::Rows { lines, events: &[] });
        let of_events = large.iter().flat_map(|(row, event)| {
            let pieces = large_texts::numbered(event);
            pieces.map(move |(number, text)| Part::OfEvent {
                row: *row,
                number,
                text,
            })
        });
        let mut parts: VecDeque<Self> = of_lines.chain(of_events).collect();
        let mut left = events;
        while !left.is_empty() {
            let mut bytes: usize = 0;
            let fit = left.iter().take(rows_max).take_while(|event| {
                bytes = bytes.saturating_add(event.event.len());
                bytes <= GROUP_BYTES_MAX
            });
            // One that is larger is a part by itself.
            let (events, rest) = left.split_at(fit.count().max(1));
            parts.push_back(Part::Rows { lines: &[], events });
            left = rest;
        }
        parts
    }

    fn load(&self) -> Load {
        let bytes = match self {
            Part::Rows { events, .. } => bytes_of(events),
            Part::OfEvent { text, .. } => text.len(),
        };
        Load::of(None, bytes)
    }

    fn lines(&self) -> usize {
        match self {
            Part::Rows { lines, .. } => lines.len(),
            Part::OfEvent { .. } => 0,
        }
    }

    fn statements(&self) -> Vec<Sql> {
        match self {
            Part::Rows { lines, events } => {
                let mut statements = webhook_logs::append_for_ingestion(lines);
                statements.extend(webhook_logs::tap_for_ingestion(events));
                statements
            }
            Part::OfEvent { row, number, text } => {
                vec![large_texts::insertion(&row.shared_text(), *number, text)]
            }
        }
    }
}

async fn write(store: &Store, logs: &[LogRow], mut taps: Vec<TapRow>) {
    let (rows_max, large) = match store.is_shared() {
        true => (GROUP_MAX, Vec::new()),
        false => (PIECE_MAX, webhook_logs::set_apart_for_ingestion(&mut taps)),
    };
    let mut parts = Part::of(logs, (large.as_slice(), taps.as_slice()), rows_max);
    let mut attempt = 1;
    while let Some(part) = parts.front() {
        match store.execute_all(part.load(), part.statements()).await {
            Ok(()) => {
                parts.pop_front();
            }
            Err(error @ StoreError::Unavailable(_)) if attempt < ATTEMPTS_MAX => {
                tracing::warn!(error = %chain(&error), attempt, "can't write the webhook log now");
                tokio::time::sleep(PAUSE).await;
                attempt += 1;
            }
            Err(error) => {
                let lines: usize = parts.iter().map(Part::lines).sum();
                tracing::error!(error = %chain(&error), lines, "{lines} lines of the webhook log were lost");
                forget(store, &large).await;
                return;
            }
        }
    }
}

/// Removes what is stored of large events whose rows are not. What can't be removed now is removed later, as after a crash.
async fn forget(store: &Store, large: &[Large]) {
    for (row, _) in large {
        let removed = large_texts::remove_of_unstored(store, &row.shared_text()).await;
        if removed.is_err() {
            return;
        }
    }
}
