//! The process of a connector: one session of a database server, for a service that has started it. It begins by giving
//! up everything but its memory and sockets within the system, and ends with the service.
//!
//! Knows nothing of the egress guard: the service says at which socket the server is.

use super::driver::Driver;
use super::failure::shortened;
use super::statement::Statement;
use super::target::Target;
use crate::effect_error::{EffectCode, EffectError};
use crate::egress::Meter;
use heddle_processes::{Channel, ChannelError, FrameError, Receiver, Rights, Sender};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::io;
use std::path::PathBuf;

/// What the service asks for, one after the other; a cancellation may come while a statement executes.
#[derive(Serialize, Deserialize)]
pub(super) enum Request<'a> {
    /// A session, by the socket in this directory.
    Open { target: Target, dir: PathBuf },
    /// A statement in it.
    Execute(Given<'a>),
    /// To tell the server, by the socket in this directory, to stop.
    Cancel { dir: PathBuf },
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
    Opened,
    Rows(Rows),
    Cancelled,
    Failed(Failure),
}

/// Why there are no rows.
#[derive(Serialize, Deserialize)]
pub(super) struct Failure {
    pub code: String,
    pub message: String,
}

impl From<EffectError> for Failure {
    fn from(error: EffectError) -> Self {
        Failure {
            code: error.code.to_string(),
            message: error.message,
        }
    }
}

/// Serves one session until the service closes its end.
pub(crate) fn serve(limits: &str) -> Result<(), ChannelError> {
    let channel = Channel::confined(limits, Rights::LocalSockets)?;
    let work = move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(session(channel))
    };
    // On a thread, since the main one's stack is asked for in a file that can't be opened any more.
    let thread = std::thread::Builder::new().name("session".into()).spawn(work);
    let ended = thread.map(std::thread::JoinHandle::join);
    match ended {
        Ok(Ok(Ok(()))) => Ok(()),
        Ok(Ok(Err(error))) | Err(error) => Err(ChannelError::Socket(error)),
        // The panic has been told; the service sees how this process ended.
        Ok(Err(_)) => std::process::exit(101),
    }
}

async fn session(channel: Channel) -> io::Result<()> {
    // Nobody else has chosen one in this process.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (mut sender, mut receiver) = channel.into_halves()?;
    let Some(frame) = receive(&mut receiver).await? else {
        return Ok(());
    };
    let Request::Open { target, dir } = serde_json::from_slice(&frame)? else {
        return Err(out_of_order());
    };
    let mut driver = match Driver::open(&dir, &target).await {
        Ok(driver) => driver,
        Err(error) => return failed(&mut sender, error).await,
    };
    reply(&mut sender, &Reply::<()>::Opened).await?;
    while let Some(frame) = receive(&mut receiver).await? {
        let Request::Execute(Given(statement)) = serde_json::from_slice(&frame)? else {
            return Err(out_of_order());
        };
        // The service counts what the server sends.
        let meter = Meter::new(0);
        let next = tokio::select! {
            rows = driver.execute(&statement, &target, &meter) => Ok(rows),
            frame = receive(&mut receiver) => Err(frame?),
        };
        match next {
            Ok(Ok(rows)) => rows_of(&mut sender, rows).await?,
            Ok(Err(error)) => failed(&mut sender, error).await?,
            Err(None) => return Ok(()),
            Err(Some(frame)) => {
                let Request::Cancel { dir } = serde_json::from_slice(&frame)? else {
                    return Err(out_of_order());
                };
                // The server may end the statement by itself.
                let _ = driver.cancel(&dir, &target).await;
                return reply(&mut sender, &Reply::<()>::Cancelled).await;
            }
        }
    }
    Ok(())
}

fn out_of_order() -> io::Error {
    io::Error::other("received an unexpected request")
}

async fn receive(receiver: &mut Receiver) -> io::Result<Option<Vec<u8>>> {
    receiver.receive().await.map_err(io::Error::other)
}

async fn reply(sender: &mut Sender, reply: &Reply<impl Serialize>) -> io::Result<()> {
    let reply = serde_json::to_vec(reply)?;
    sender.send(&reply).await.map_err(io::Error::other)
}

async fn failed(sender: &mut Sender, error: EffectError) -> io::Result<()> {
    reply(sender, &Reply::<()>::Failed(shortened(error).into())).await
}

async fn rows_of(sender: &mut Sender, rows: Vec<Value>) -> io::Result<()> {
    let reply = serde_json::to_vec(&Reply::Rows(rows))?;
    match sender.send(&reply).await {
        Err(FrameError::TooLarge { bytes_max, .. }) => {
            let message = format!(
                "The rows are larger than {} KiB as JSON. Request fewer rows or columns.",
                bytes_max >> 10
            );
            failed(sender, EffectError::new(EffectCode::SqlRowLimit, message)).await
        }
        sent => sent.map_err(io::Error::other),
    }
}
