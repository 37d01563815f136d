//! The single writer of SQLite. It executes all waiting writes in one transaction, and answers when that is on disk
//! (group commit): under load, many writes share one sync, and without load no write is delayed. Statements that were
//! already batched by their sender get a transaction of their own. A transaction has no more than a group's bytes, and what is
//! small comes first: while any of it comes, what is large has a third of the writer's time, and of the disk's.

use super::checkpoint::Checkpoints;
use super::db::{Db, Sql};
use super::error::{Failed, StoreError};
use super::panics::unless_it_panics;
use super::turns::{Group, Load, Turns};
use futures_util::future::BoxFuture;
use heddle_model::clock::monotonic;
use sqlx::{Connection, SqliteConnection};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};

/// Capacity of the queue of writes; beyond it, senders wait for room.
const QUEUE_MAX: usize = 4096;
/// Maximum number of writes in one transaction, so that the first of them is not answered too late.
const GROUP_MAX: usize = 256;
/// How many times as long as it took what is large rests afterwards, and how long at most: it has no other limit, and somebody's
/// small write that comes in its midst waits for it.
const RESTS: u32 = 2;
const REST_MAX: Duration = Duration::from_millis(100);
/// As long as nothing small has come for so long, nothing rests.
const QUIET_AFTER: Duration = Duration::from_millis(50);

/// A write: does its work, decides whether to keep it, and answers once it is committed or rolled back. If no
/// transaction could be started, it gets the error instead.
pub(super) type Job = Box<dyn for<'c> FnOnce(Result<Db<'c>, StoreError>) -> BoxFuture<'c, Done> + Send>;
/// The outcome of a write's work.
pub(super) struct Done {
    pub keep: bool,
    pub answer: Answer,
}

pub(super) type Answer = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

enum Message {
    Work(Load, Work),
    /// Closes the connection after all earlier messages, and then notifies the sender.
    Close(oneshot::Sender<()>),
}

enum Work {
    Write(Job),
    /// A write in a transaction of its own: what came before it has been answered.
    Alone(Job),
    Statements(Vec<Sql>, Answer),
}

/// What the writer has received and not written yet.
struct Waiting {
    messages: mpsc::Receiver<Message>,
    turns: Turns<u64, Work>,
    /// How many have come: nothing is kept in order, since whoever needs an order waits for the answer.
    count: u64,
    /// When what is large may go on.
    rested_at: Instant,
    /// When something small was written last.
    small_at: Instant,
    /// After what came before it, nothing else is received.
    closing: Option<oneshot::Sender<()>>,
}

impl Waiting {
    /// What comes next, as a group to which more may be added. `None`: nothing does any more.
    async fn next(&mut self) -> Option<(Group, Work)> {
        loop {
            if self.turns.is_empty() && self.closing.is_none() {
                let message = self.messages.recv().await?;
                self.put(message);
            }
            self.receive();
            let rests_for = self.rests_for();
            let mut group = self.turns.begin(rests_for.is_zero());
            if let Some(work) = self.turns.take(&mut group) {
                return Some((group, work));
            }
            if self.turns.is_empty() {
                // It is closing.
                return None;
            }
            tokio::select! {
                Some(message) = self.messages.recv(), if self.turns.len() < QUEUE_MAX => self.put(message),
                () = tokio::time::sleep(rests_for) => {}
            }
        }
    }

    /// How long what is large has to wait still.
    fn rests_for(&self) -> Duration {
        let now = monotonic();
        let is_quiet = now.saturating_duration_since(self.small_at) >= QUIET_AFTER;
        match is_quiet || self.closing.is_some() {
            true => Duration::ZERO,
            false => self.rested_at.saturating_duration_since(now),
        }
    }

    /// A transaction of a group has ended that began then.
    fn written(&mut self, is_large: bool, began: Instant) {
        let now = monotonic();
        match is_large {
            true => {
                let took = now.saturating_duration_since(began);
                self.rested_at = now + took.saturating_mul(RESTS).min(REST_MAX);
            }
            false => self.small_at = now,
        }
    }

    /// One more of a group.
    fn more(&mut self, group: &mut Group) -> Option<Work> {
        self.receive();
        self.turns.take(group)
    }

    /// Receives all that was sent.
    fn receive(&mut self) {
        while self.closing.is_none() && self.turns.len() < QUEUE_MAX {
            let Ok(message) = self.messages.try_recv() else {
                return;
            };
            self.put(message);
        }
    }

    fn put(&mut self, message: Message) {
        match message {
            Message::Work(load, work) => {
                self.count = self.count.wrapping_add(1);
                self.turns.push(self.count, load, work);
            }
            Message::Close(closed) => self.closing = Some(closed),
        }
    }
}

/// A handle for sending writes to the writer. When the last handle is dropped, the writer finishes the waiting writes
/// and ends.
#[derive(Clone, Debug)]
pub(super) struct Writer(mpsc::Sender<Message>);

impl Writer {
    /// Starts the writer on this connection.
    pub fn start(connection: SqliteConnection, checkpoints: Checkpoints) -> Self {
        let (sender, messages) = mpsc::channel(QUEUE_MAX);
        tokio::spawn(work(connection, checkpoints, messages));
        Writer(sender)
    }

    /// Queues a write.
    pub async fn send(&self, load: Load, job: Job) -> Result<(), StoreError> {
        let sent = self.0.send(Message::Work(load, Work::Write(job))).await;
        sent.map_err(|_| StoreError::Closed)
    }

    /// Queues a write that shares its transaction with no other.
    pub async fn send_alone(&self, load: Load, job: Job) -> Result<(), StoreError> {
        let sent = self.0.send(Message::Work(load, Work::Alone(job))).await;
        sent.map_err(|_| StoreError::Closed)
    }

    /// Queues statements whose results are not needed.
    pub async fn send_statements(
        &self,
        load: Load,
        statements: Vec<Sql>,
        answer: Answer,
    ) -> Result<(), StoreError> {
        let work = Work::Statements(statements, answer);
        let sent = self.0.send(Message::Work(load, work)).await;
        sent.map_err(|_| StoreError::Closed)
    }

    /// Finishes the waiting writes and closes the connection; later writes are rejected.
    pub async fn close(&self) {
        let (sender, closed) = oneshot::channel();
        if self.0.send(Message::Close(sender)).await.is_ok() {
            // An error means that the writer has already ended.
            let _ = closed.await;
        }
    }
}

async fn work(
    mut connection: SqliteConnection,
    mut checkpoints: Checkpoints,
    messages: mpsc::Receiver<Message>,
) {
    let mut waiting = Waiting {
        messages,
        turns: Turns::new(GROUP_MAX),
        count: 0,
        rested_at: monotonic(),
        small_at: monotonic(),
        closing: None,
    };
    let mut next = None;
    loop {
        let (mut group, work) = match next.take() {
            Some(next) => next,
            None => match waiting.next().await {
                Some(next) => next,
                None => break,
            },
        };
        let (is_large, began) = (group.is_large(), monotonic());
        match work {
            Work::Statements(statements, answer) => {
                alone(&mut connection, statements, answer).await;
            }
            Work::Write(job) => {
                next = transaction(&mut connection, job, || waiting.more(&mut group))
                    .await
                    .map(|work| (group, work));
            }
            Work::Alone(job) => {
                transaction(&mut connection, job, || None).await;
            }
        }
        waiting.written(is_large, began);
        checkpoints.committed(&mut connection).await;
    }
    let closing = waiting.closing.take();
    drop(waiting);
    checkpoints.end().await;
    if let Err(error) = connection.close().await {
        tracing::warn!(%error, "the database was not closed properly");
    }
    if let Some(closed) = closing {
        // Who asked may have given up waiting.
        let _ = closed.send(());
    }
}

/// A transaction of statements that need nothing of what they find: in one go, since handing over to the connection's
/// thread and back takes longer than most statements, or than a commit.
async fn alone(connection: &mut SqliteConnection, statements: Vec<Sql>, answer: Answer) {
    let done = Db::Sqlite(connection).execute(Sql::transaction(statements)).await;
    if done.is_err() {
        // Fails when no transaction is open any more, which is as good.
        let _ = statement(connection, "rollback").await;
    }
    answer(done.map(drop));
}

/// One transaction with this write and those that are added, up to the first work of another kind, which it gives back.
async fn transaction(
    connection: &mut SqliteConnection,
    first: Job,
    mut more: impl FnMut() -> Option<Work>,
) -> Option<Work> {
    let (mut answers, mut after) = (Vec::new(), None);
    let mut settled = statement(connection, "begin immediate").await;
    let mut next = Some(first);
    while let Some(job) = next {
        match &settled {
            Ok(()) if answers.is_empty() => settled = first_of(connection, job, &mut answers).await,
            Ok(()) => settled = one(connection, job, &mut answers).await,
            Err(error) => answers.push(job(Err(error.clone())).await.answer),
        }
        // Without a transaction the rest may have better luck with the next.
        next = None;
        if settled.is_ok() {
            match more() {
                Some(Work::Write(job)) => next = Some(job),
                other => after = other,
            }
        }
    }
    if settled.is_ok() {
        settled = statement(connection, "commit").await;
    }
    if settled.is_err() {
        // Fails when no transaction is open any more, which is as good.
        let _ = statement(connection, "rollback").await;
    }
    for answer in answers {
        answer(settled.clone());
    }
    after
}

async fn statement(connection: &mut SqliteConnection, text: &'static str) -> Result<(), StoreError> {
    let done = sqlx::query(text).execute(connection).await;
    done.map(drop).map_err(|error| StoreError::at(text, error))
}

/// What an error means that leaves no transaction open: nothing of it was kept, whoever's write it was.
fn rolled_back(error: sqlx::Error) -> StoreError {
    StoreError::Unavailable(Failed::RolledBack(Arc::new(error)))
}

/// The first write of a transaction: when it fails, the transaction is begun again.
async fn first_of(
    connection: &mut SqliteConnection,
    job: Job,
    answers: &mut Vec<Answer>,
) -> Result<(), StoreError> {
    if attempt(connection, job, answers).await {
        return Ok(());
    }
    // SQLite has undone everything by itself on a full disk, say, and has nothing to roll back.
    let undone = sqlx::query("rollback").execute(&mut *connection).await;
    undone.map_err(rolled_back)?;
    statement(connection, "begin immediate").await
}

/// Whether to commit the write. A write that panicked gets no answer, because nobody waits for it any more.
async fn attempt(connection: &mut SqliteConnection, job: Job, answers: &mut Vec<Answer>) -> bool {
    match unless_it_panics(job(Ok(Db::Sqlite(connection)))).await {
        Some(done) => {
            answers.push(done.answer);
            done.keep
        }
        None => {
            tracing::error!("a write panicked and was rolled back");
            false
        }
    }
}

/// One write, undone by itself when it fails. An error is the connection's own: nothing of the group is kept then.
async fn one(
    connection: &mut SqliteConnection,
    job: Job,
    answers: &mut Vec<Answer>,
) -> Result<(), StoreError> {
    if let Err(error) = statement(connection, "savepoint job").await {
        answers.push(job(Err(error.clone())).await.answer);
        return Err(error);
    }
    if attempt(connection, job, answers).await {
        return statement(connection, "release job").await;
    }
    let undone = sqlx::raw_sql("rollback to job; release job")
        .execute(connection)
        .await;
    // The savepoint is gone if SQLite has rolled back everything by itself, as it does on a full disk.
    undone.map(drop).map_err(rolled_back)
}
