//! The database of the service, SQLite or PostgreSQL: a pool of connections for reading, and one way to write.

use super::asking::{Share, Shares};
use super::checkpoint::Checkpoints;
use super::db::{Db, Sql, sql};
use super::error::StoreError;
use super::metering::{self, MeteredLater, Unmetered};
use super::panics::unless_it_panics;
use super::turns::Load;
use super::writer::{self, Done, Writer};
use super::{migrations, sqlite_file};
use futures_util::future::BoxFuture;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection as _, PgPool, Postgres, Sqlite, SqlitePool};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// Connections that only read, on SQLite: for the service itself, and what it looks up before it knows for whom.
const READERS_MAX: u32 = 4;
/// Connections to PostgreSQL for all writes, and for what the service reads itself.
const POSTGRES_CONNECTIONS_MAX: u32 = 14;
/// Connections that read for users. With those on PostgreSQL above and below there are 22.
const USER_READERS_MAX: u32 = 6;
/// How many of these the requests of one user may have at a time.
const READERS_PER_USER_MAX: usize = 3;
/// Further connections to PostgreSQL: for the lease, and for listening.
const POSTGRES_CONNECTIONS_APART_MAX: u32 = 2;
/// A connection that is not free by then means that the database is overloaded.
const ACQUIRE_MAX: Duration = Duration::from_secs(10);
/// A connection to PostgreSQL that was used within this time is taken to be alive: asking it is a way there and back, as long as a
/// commit takes. If it has broken since, its next statement fails as one that was under way would have.
const FRESH: Duration = Duration::from_secs(1);
/// A transaction in which nothing happens for so long is undone: its process stands still, and holds locks that
/// others wait for.
const IDLE_IN_TRANSACTION_MAX: &str = "5s";
/// How long one statement that reads for a user may take on PostgreSQL, and on SQLite all that one connection is taken for.
const USER_READ_MAX: Duration = Duration::from_secs(20);
/// Instructions of SQLite's machine after which it is looked whether time is up. So few, although most take nanoseconds: those that
/// read or measure a long text take a millisecond each, and a page of a list has some thousand in all.
const INSTRUCTIONS_BETWEEN_LOOKS: i32 = 1_000;
/// How much the threads of SQLite that look something up for users give way from then on.
const NICENESS_OF_USERS: u8 = 10;
/// How these threads are called; the system keeps 15 bytes of it.
const USERS_THREADS: &str = "heddle-lookup";
/// Pages of SQLite's write-ahead log from which on the writer moves all of it: when `checkpoint` can't keep up.
const AUTOCHECKPOINT_PAGES: &str = "32768";
/// Changed pages that a transaction may have in memory: as many as the largest row has, and some. Beyond that SQLite writes them to the
/// log one at a time and reads some back, and others wait half as long again. Afterwards it keeps no more than usual.
const SPILLED_PAGES: &str = "3072";

/// The database. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    /// One for all that it consists of: what executes runs clones it for each.
    pub(super) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub backend: Backend,
    shares: Shares,
    /// See [`USER_READ_MAX`].
    user_read_max: Duration,
}

#[derive(Debug)]
pub(super) enum Backend {
    Sqlite {
        readers: SqlitePool,
        user_readers: SqlitePool,
        writer: Writer,
        unmetered: Arc<Unmetered>,
    },
    Postgres {
        pool: PgPool,
        user_readers: PgPool,
        /// For what must not wait until the others are free.
        apart: PgPool,
    },
}

/// A connection to read with.
#[derive(Debug)]
pub struct Reader {
    connection: Connection,
    /// Given back after the connection.
    _share: Option<Share>,
}

#[derive(Debug)]
enum Connection {
    Sqlite(PoolConnection<Sqlite>),
    Postgres(PoolConnection<Postgres>),
}

impl Reader {
    /// For a statement.
    pub fn db(&mut self) -> Db<'_> {
        match &mut self.connection {
            Connection::Sqlite(connection) => Db::Sqlite(connection),
            Connection::Postgres(connection) => Db::Postgres(connection),
        }
    }
}

impl Store {
    /// Opens or creates the SQLite database in this file, and brings its tables up to date. Nothing is written to a
    /// file that is damaged, another program's, or a newer heddle's.
    pub async fn open_sqlite(path: &Path) -> Result<Self, StoreError> {
        Box::pin(Store::open_sqlite_with(path, USER_READ_MAX)).await
    }

    async fn open_sqlite_with(path: &Path, user_read_max: Duration) -> Result<Self, StoreError> {
        let found = sqlite_file::check(path, sqlite_file::Depth::Quick).await?;
        let either = SqliteConnectOptions::new()
            .filename(path)
            .busy_timeout(sqlite_file::BUSY_MAX)
            .statement_cache_capacity(256);
        let options = either
            .clone()
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .auto_vacuum(sqlx::sqlite::SqliteAutoVacuum::Incremental)
            .foreign_keys(true)
            .pragma("wal_autocheckpoint", AUTOCHECKPOINT_PAGES);
        let writing = options.clone().pragma("cache_spill", SPILLED_PAGES);
        let mut connection = writing.connect().await?;
        if !found.is_some_and(|found| found.is_marked) {
            sqlx::raw_sql(sqlite_file::MARK).execute(&mut connection).await?;
        }
        migrations::settled(migrations::SQLITE.run(&mut connection).await)?;
        let checkpoints = Checkpoints::start(options.connect().await?);
        let reading = either.pragma("query_only", "on");
        let readers = SqlitePoolOptions::new()
            .max_connections(READERS_MAX)
            .acquire_timeout(ACQUIRE_MAX)
            .connect_with(reading.clone())
            .await?;
        let user_readers = SqlitePoolOptions::new()
            .max_connections(USER_READERS_MAX)
            .acquire_timeout(ACQUIRE_MAX)
            .connect_lazy_with(reading.thread_name(|number| format!("{USERS_THREADS}-{number}")));
        let backend = Backend::Sqlite {
            readers,
            user_readers,
            writer: Writer::start(connection, checkpoints),
            unmetered: Arc::new(Unmetered::new()),
        };
        Ok(Store::of(backend, user_read_max))
    }

    fn of(backend: Backend, user_read_max: Duration) -> Self {
        let inner = Inner {
            backend,
            shares: Shares::new(READERS_PER_USER_MAX, ACQUIRE_MAX),
            user_read_max,
        };
        Store {
            inner: Arc::new(inner),
        }
    }

    /// Connects to PostgreSQL, and brings its tables up to date.
    pub async fn open_postgres(url: &str) -> Result<Self, StoreError> {
        let options: PgConnectOptions = url.parse()?;
        let options = options
            .application_name("heddle")
            .options([("idle_in_transaction_session_timeout", IDLE_IN_TRANSACTION_MAX)]);
        let connecting = pool_options()
            .max_connections(POSTGRES_CONNECTIONS_MAX)
            .acquire_timeout(ACQUIRE_MAX)
            .connect_with(options.clone());
        let pool = Box::pin(connecting).await?;
        migrations::settled(Box::pin(migrations::POSTGRES.run(&pool)).await)?;
        let limited = format!("{}ms", USER_READ_MAX.as_millis());
        let user_readers = pool_options()
            .max_connections(USER_READERS_MAX)
            .acquire_timeout(ACQUIRE_MAX)
            .connect_lazy_with(options.clone().options([("statement_timeout", limited.as_str())]));
        let apart = pool_options()
            .max_connections(POSTGRES_CONNECTIONS_APART_MAX)
            .acquire_timeout(ACQUIRE_MAX)
            .connect_lazy_with(options);
        let backend = Backend::Postgres {
            pool,
            user_readers,
            apart,
        };
        Ok(Store::of(backend, USER_READ_MAX))
    }

    /// A connection for reading: each statement sees all that was committed before it. Boxed, since a pool's future has
    /// 4 KB, which every future that may read would have to carry.
    ///
    /// While a user's request is answered, see [`asking`](super::asking), it is one of those for users, with a limit of time.
    pub fn reader(&self) -> BoxFuture<'_, Result<Reader, StoreError>> {
        Box::pin(async move {
            let share = self.inner.shares.take().await?;
            let connection = match &self.inner.backend {
                Backend::Sqlite {
                    readers,
                    user_readers,
                    ..
                } => Connection::Sqlite(match share {
                    None => readers.acquire().await?,
                    Some(_) => limited(user_readers.acquire().await?, self.inner.user_read_max).await?,
                }),
                Backend::Postgres {
                    pool, user_readers, ..
                } => Connection::Postgres(match share {
                    None => pool.acquire().await?,
                    Some(_) => user_readers.acquire().await?,
                }),
            };
            Ok(Reader {
                connection,
                _share: share,
            })
        })
    }

    /// Does what [`Store::write`] does on a connection that is reserved for it, however busy the others are.
    pub async fn write_apart<T, E, F>(&self, work: F) -> Result<T, E>
    where
        F: for<'c> FnOnce(&'c mut Db<'_>) -> BoxFuture<'c, Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        match &self.inner.backend {
            Backend::Sqlite { .. } => self.write(work).await,
            Backend::Postgres { apart, .. } => transaction(apart, work).await,
        }
    }

    /// Does `work` in a transaction, which is committed when it gives `Ok`. No network call and no sandbox
    /// belongs in it: on SQLite everybody's writes wait for it.
    pub async fn write<T, E, F>(&self, work: F) -> Result<T, E>
    where
        F: for<'c> FnOnce(&'c mut Db<'_>) -> BoxFuture<'c, Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.write_sized(Load::LITTLE, work).await
    }

    /// Writes as [`Store::write`] does what may be large because somebody outside chooses its size: others' small writes go first.
    pub async fn write_sized<T, E, F>(&self, load: Load, work: F) -> Result<T, E>
    where
        F: for<'c> FnOnce(&'c mut Db<'_>) -> BoxFuture<'c, Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.write_metered(load, move |db| {
            Box::pin(async move { Ok((work(db).await?, MeteredLater::default())) })
        })
        .await
    }

    /// Writes as [`Store::write_sized`] does runs with their ends, which are metered later.
    pub async fn write_metered<T, E, F>(&self, load: Load, work: F) -> Result<T, E>
    where
        F: for<'c> FnOnce(&'c mut Db<'_>) -> BoxFuture<'c, Result<(T, MeteredLater), E>> + Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        match &self.inner.backend {
            Backend::Sqlite {
                writer, unmetered, ..
            } => {
                self.meter_in_time();
                let unmetered = unmetered.clone();
                let (sender, receiver) = oneshot::channel();
                let job: writer::Job = Box::new(move |db| {
                    Box::pin(async move {
                        let result = match db {
                            Ok(mut db) => work(&mut db).await,
                            Err(error) => Err(E::from(error)),
                        };
                        Done {
                            keep: result.is_ok(),
                            answer: Box::new(move |settled| {
                                let settled = settled.map_err(E::from).and(result);
                                // Nobody listens any more when the caller has gone.
                                let _ = sender.send(settled.map(|(done, later)| {
                                    unmetered.add(later);
                                    done
                                }));
                            }),
                        }
                    })
                });
                writer.send(load, job).await?;
                receiver.await.unwrap_or_else(|_| Err(StoreError::Closed.into()))
            }
            // Nothing is metered later there.
            Backend::Postgres { pool, .. } => transaction(pool, work).await.map(|(done, _)| done),
        }
    }

    /// Executes statements in a transaction that reads nothing: on SQLite in one go.
    pub async fn execute_all(&self, load: Load, statements: Vec<Sql>) -> Result<(), StoreError> {
        self.execute_metered(load, statements, MeteredLater::default())
            .await
    }

    /// Executes statements that store runs with their ends, which are metered later.
    pub(super) async fn execute_metered(
        &self,
        load: Load,
        statements: Vec<Sql>,
        later: MeteredLater,
    ) -> Result<(), StoreError> {
        self.meter_in_time();
        match &self.inner.backend {
            Backend::Sqlite {
                writer, unmetered, ..
            } => {
                let (sender, receiver) = oneshot::channel();
                let unmetered = unmetered.clone();
                let answer = Box::new(move |settled: Result<(), StoreError>| {
                    if settled.is_ok() {
                        unmetered.add(later);
                    }
                    // Nobody listens any more when the caller has gone.
                    let _ = sender.send(settled);
                });
                writer.send_statements(load, statements, answer).await?;
                receiver.await.unwrap_or(Err(StoreError::Closed))
            }
            Backend::Postgres { pool, .. } => {
                transaction(pool, |db| {
                    Box::pin(async move { db.execute_all(statements).await.map(drop) })
                })
                .await
            }
        }
    }

    /// Executes statements that together change so many rows, or else are undone; whether they did. Each does all of its part or
    /// nothing.
    pub(super) async fn execute_wholly(
        &self,
        load: Load,
        statements: Vec<Sql>,
        rows: u64,
    ) -> Result<bool, StoreError> {
        if statements.len() == 1
            && let Backend::Postgres { pool, .. } = &self.inner.backend
        {
            // Boxed for the same reason as readers.
            let mut connection = Box::pin(pool.acquire()).await?;
            let changed = Db::Postgres(&mut connection).execute_all(statements).await?;
            return Ok(changed == rows);
        }
        let written = self.write_sized(load, move |db| {
            Box::pin(async move {
                match db.execute_all(statements).await? == rows {
                    true => Ok(()),
                    false => Err(Partly::Some),
                }
            })
        });
        match written.await {
            Ok(()) => Ok(true),
            Err(Partly::Some) => Ok(false),
            Err(Partly::Failed(error)) => Err(error),
        }
    }

    /// Ends all connections, after what waits is written. An embedded database is one whole file then.
    pub async fn close(&self) {
        match &self.inner.backend {
            Backend::Sqlite {
                readers,
                user_readers,
                writer,
                ..
            } => {
                // Otherwise it is done when a server starts the next time.
                let _ = self.meter().await;
                readers.close().await;
                user_readers.close().await;
                writer.close().await;
            }
            Backend::Postgres {
                pool,
                user_readers,
                apart,
            } => {
                pool.close().await;
                user_readers.close().await;
                apart.close().await;
            }
        }
    }

    /// Whether the database answers.
    pub async fn ping(&self) -> Result<(), StoreError> {
        let (_,): (i64,) = self
            .reader()
            .await?
            .db()
            .one(sql("select cast(1 as bigint)"))
            .await?;
        Ok(())
    }

    /// Whether it is PostgreSQL, which several servers can share.
    pub fn is_shared(&self) -> bool {
        matches!(self.inner.backend, Backend::Postgres { .. })
    }
}

/// The connection, which is interrupted from then on. Once its thread has computed for a while, it gives way to all others for
/// good, so that nobody's webhooks wait for a user's searches and figures.
async fn limited(
    mut connection: PoolConnection<Sqlite>,
    time_max: Duration,
) -> Result<PoolConnection<Sqlite>, StoreError> {
    let begun = heddle_model::clock::monotonic();
    let mut gives_way = false;
    let mut handle = connection.lock_handle().await?;
    // It is called on the connection's own thread.
    handle.set_progress_handler(INSTRUCTIONS_BETWEEN_LOOKS, move || {
        if !gives_way {
            heddle_processes::give_way(NICENESS_OF_USERS);
            gives_way = true;
        }
        heddle_model::clock::since(begun) < time_max
    });
    drop(handle);
    Ok(connection)
}

/// Why statements were undone.
enum Partly {
    /// They did not change all that they should.
    Some,
    Failed(StoreError),
}

impl From<StoreError> for Partly {
    fn from(error: StoreError) -> Self {
        Partly::Failed(error)
    }
}

/// Options of each pool of connections to PostgreSQL.
fn pool_options() -> PgPoolOptions {
    PgPoolOptions::new()
        .test_before_acquire(false)
        .before_acquire(|connection, meta| {
            Box::pin(async move {
                if meta.idle_for > FRESH {
                    connection.ping().await?;
                }
                Ok(true)
            })
        })
}

async fn transaction<T, E, F>(pool: &PgPool, work: F) -> Result<T, E>
where
    F: for<'c> FnOnce(&'c mut Db<'_>) -> BoxFuture<'c, Result<T, E>>,
    E: From<StoreError>,
{
    // Boxed for the same reason as readers.
    let mut transaction = Box::pin(pool.begin()).await.map_err(StoreError::from)?;
    let result = work(&mut Db::Postgres(&mut transaction)).await?;
    transaction.commit().await.map_err(StoreError::from)?;
    Ok(result)
}

#[cfg(test)]
mod tests;

impl Store {
    /// Brings `usage_hours` up to date with the runs that are stored, for whoever reads it.
    pub async fn meter(&self) -> Result<(), StoreError> {
        let Backend::Sqlite {
            writer, unmetered, ..
        } = &self.inner.backend
        else {
            return Ok(());
        };
        if unmetered.is_settled() {
            return Ok(());
        }
        let (sender, stored) = oneshot::channel();
        writer
            .send_alone(Load::LITTLE, unmetered.clone().job(sender))
            .await?;
        stored.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Meters runs that a crash has left out, before a server does anything else with its database: what a server has in
    /// memory is not left out, so no command that works beside one may do this.
    pub async fn recover_metering(&self) -> Result<(), StoreError> {
        match &self.inner.backend {
            Backend::Sqlite { .. } => self.execute_all(Load::LITTLE, metering::recovery()).await,
            Backend::Postgres { .. } => Ok(()),
        }
    }

    /// Meters in the background, once sums are old.
    pub(super) fn meter_in_time(&self) {
        let Backend::Sqlite { unmetered, .. } = &self.inner.backend else {
            return;
        };
        if unmetered.falls_due() {
            let (store, unmetered) = (self.clone(), unmetered.clone());
            tokio::spawn(async move {
                let metered = unless_it_panics(store.meter()).await;
                if !matches!(metered, Some(Ok(()))) {
                    unmetered.give_up();
                }
                if let Some(Err(error)) = metered {
                    tracing::warn!(%error, "What runs have used could not be stored yet");
                }
            });
        }
    }
}
