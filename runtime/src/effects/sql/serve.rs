//! The processes of connectors to databases, for a service that has started them: one session of a server, or the SQLite
//! files of one tenant.
//!
//! Knows nothing of the egress guard and of which files are allowed: the service says at which socket the server is, and
//! has the process begin in the directory that it may use.

use super::driver::{self, Driver};
use super::failure::shortened;
use super::sqlite;
use super::statement::Statement;
use super::target::Target;
use crate::effects::connectors::{self, Failure, receive};
use crate::egress::Meter;
use heddle_processes::{Channel, ChannelError, Receiver, Rights, Sender, close_sockets};
use heddle_sandbox::{EffectCode, EffectError};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::future::poll_fn;
use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::task::Poll;

/// The name of sessions of servers on the command line.
pub const SQL_WORKER: &str = "sql";
/// That of files.
pub const SQLITE_WORKER: &str = "sqlite";

/// What the service asks for: a session with statements in it, one after the other, or a cancellation.
#[derive(Serialize, Deserialize)]
pub(super) enum Request<'a> {
    /// A session, by the socket in this directory.
    Open { target: Target, dir: PathBuf },
    /// A statement in it.
    Execute(Given<'a>),
    /// To tell the server, by the socket in this directory, to stop what it does for another session.
    Cancel {
        target: Target,
        dir: PathBuf,
        session: u64,
    },
}

/// A statement on a file, by its path from the process's directory.
#[derive(Serialize, Deserialize)]
pub(super) struct OnFile<'a> {
    pub target: Cow<'a, Target>,
    pub file: Cow<'a, sqlite::File>,
    pub statement: Given<'a>,
}

/// A statement, which whoever asks keeps.
#[derive(Serialize, Deserialize)]
pub(super) struct Given<'a>(Cow<'a, Statement>);

impl<'a> From<&'a Statement> for Given<'a> {
    fn from(statement: &'a Statement) -> Self {
        Given(Cow::Borrowed(statement))
    }
}

/// What it answers.
#[derive(Serialize, Deserialize)]
pub(super) enum Reply<Rows> {
    /// The driver has its connection, and this process can make no other.
    Connected,
    /// The session, as the server knows it.
    Opened(u64),
    Rows(Rows),
    Cancelled,
    Failed(Failure),
}

/// Serves one session of a server until the service closes its end.
pub fn serve_sql(limits: &str) -> Result<(), ChannelError> {
    connectors::serve(
        limits,
        Rights::LocalSocket,
        || Ok(()),
        |channel, ()| session(channel),
    )
}

/// Serves statements on the files below the process's directory until the service closes its end.
pub fn serve_sqlite(limits: &str) -> Result<(), ChannelError> {
    connectors::serve(limits, Rights::Files, || Ok(()), |channel, ()| files(channel))
}

async fn session(channel: Channel) -> io::Result<()> {
    let (mut sender, mut receiver) = channel.into_halves()?;
    let Some(frame) = receive(&mut receiver).await? else {
        return Ok(());
    };
    match serde_json::from_slice(&frame)? {
        Request::Open { target, dir } => match connected(&mut sender, Driver::open(&dir, &target)).await? {
            Ok(driver) => statements(driver, &target, sender, receiver).await,
            Err(error) => failed(&mut sender, error).await,
        },
        Request::Cancel { target, dir, session } => {
            // The server may end the statement by itself.
            let _ = connected(&mut sender, driver::cancel(&dir, &target, session)).await?;
            reply(&mut sender, &Reply::<()>::Cancelled).await
        }
        Request::Execute(_) => Err(out_of_order()),
    }
}

/// Does work that begins with its one connection. The right to make others is given up before the other side can say
/// anything: the service carries bytes from [`Reply::Connected`] on.
async fn connected<T>(sender: &mut Sender, work: impl Future<Output = T>) -> io::Result<T> {
    let mut work = pin!(work);
    // A socket within the system, at which somebody listens, is connected to at once. Were it not, what is left of it would
    // end this process.
    if let Poll::Ready(done) = poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await {
        return Ok(done);
    }
    close_sockets().map_err(io::Error::other)?;
    reply(sender, &Reply::<()>::Connected).await?;
    Ok(work.await)
}

async fn statements(
    mut driver: Driver,
    target: &Target,
    mut sender: Sender,
    mut receiver: Receiver,
) -> io::Result<()> {
    reply(&mut sender, &Reply::<()>::Opened(driver.session())).await?;
    while let Some(frame) = receive(&mut receiver).await? {
        let Request::Execute(Given(statement)) = serde_json::from_slice(&frame)? else {
            return Err(out_of_order());
        };
        // The service counts what the server sends.
        let meter = Meter::new(0);
        let rows = tokio::select! {
            rows = driver.execute(&statement, target, &meter) => rows,
            frame = receive(&mut receiver) => return match frame? {
                Some(_) => Err(out_of_order()),
                None => Ok(()),
            },
        };
        rows_of(&mut sender, rows).await?;
    }
    Ok(())
}

async fn files(channel: Channel) -> io::Result<()> {
    let (mut sender, mut receiver) = channel.into_halves()?;
    while let Some(frame) = receive(&mut receiver).await? {
        let OnFile {
            target,
            file,
            statement: Given(statement),
        } = serde_json::from_slice(&frame)?;
        let rows = sqlite::execute(&file, &target, &statement).await;
        rows_of(&mut sender, rows).await?;
    }
    Ok(())
}

fn out_of_order() -> io::Error {
    io::Error::other("received an unexpected request")
}

/// An answer that is small.
async fn reply(sender: &mut Sender, reply: &Reply<impl Serialize>) -> io::Result<()> {
    let sent = connectors::reply(sender, reply).await?;
    sent.map_err(|bytes_max| io::Error::other(format!("an answer has more than {bytes_max} bytes")))
}

async fn failed(sender: &mut Sender, error: EffectError) -> io::Result<()> {
    reply(sender, &Reply::<()>::Failed(shortened(error).into())).await
}

async fn rows_of(sender: &mut Sender, rows: Result<Vec<Value>, EffectError>) -> io::Result<()> {
    let rows = match rows {
        Ok(rows) => rows,
        Err(error) => return failed(sender, error).await,
    };
    match connectors::reply(sender, &Reply::Rows(rows)).await? {
        Ok(()) => Ok(()),
        Err(bytes_max) => {
            let message = format!(
                "The rows are larger than {} KiB as JSON. Request fewer rows or columns.",
                bytes_max >> 10
            );
            failed(sender, EffectError::new(EffectCode::SqlRowLimit, message)).await
        }
    }
}
