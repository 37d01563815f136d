//! An executor: a confined process that executes runs for the service that has started it. It begins by giving up everything
//! but its memory and its socket, and ends with the service.
//!
//! Knows nothing of what it executes but what it is told, and of the outside only whom to ask.

mod fstat;
mod remote;
mod session;

use heddle_processes::{Channel, ChannelError, Rights};
use std::io;
use tokio::runtime::Runtime;

/// Its name on the command line.
pub const KIND: &str = "execute";
/// Tasks after which the socket is looked at although others are ready: each may compute for a millisecond.
const EVENT_INTERVAL: u32 = 2;
/// Linux ends processes with a high score first when memory is used up; the highest is 1,000.
#[cfg(target_os = "linux")]
const OOM_SCORE: &str = "1000";

/// A confined process, before it has read anything.
#[derive(Debug)]
pub struct Confined {
    channel: Channel,
    runtime: Runtime,
}

/// Confines this process as an executor: to be called before anything else, on the main thread, with the last argument of
/// the command line.
pub fn confine(limits: &str) -> Result<Confined, ChannelError> {
    let (channel, runtime) = Channel::confined_after(limits, Rights::Execute, prepare)?;
    Ok(Confined { channel, runtime })
}

/// Serves as an executor until the service closes its end. See [`confine`].
pub fn serve(limits: &str) -> Result<(), ChannelError> {
    let Confined { channel, runtime } = confine(limits)?;
    let work = move || runtime.block_on(session::serve(channel));
    // On a thread, since the main one's stack is asked for in a file that can't be opened any more.
    let thread = std::thread::Builder::new().name("executor".into()).spawn(work);
    match thread.map(std::thread::JoinHandle::join) {
        Ok(Ok(Ok(()))) => Ok(()),
        Ok(Ok(Err(error))) | Err(error) => Err(ChannelError::Socket(error)),
        // The panic has been told; the service sees how this process ended.
        Ok(Err(_)) => std::process::exit(101),
    }
}

impl Confined {
    /// The socket to the parent, for programs that test these walls.
    pub fn into_channel(self) -> Channel {
        self.channel
    }
}

/// What needs files and sockets that can't be had afterwards: the async runtime, and what wasmtime reads of its own memory.
fn prepare() -> io::Result<Runtime> {
    #[cfg(target_os = "linux")]
    {
        wasmtime::PoolingAllocationConfig::is_pagemap_scan_available();
        // So that no other process dies of what one of these takes. Without it the system chooses by size.
        if let Err(error) = std::fs::write("/proc/self/oom_score_adj", OOM_SCORE) {
            tracing::debug!(%error, "The system can't be told to kill executors first");
        }
    }
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .event_interval(EVENT_INTERVAL)
        .build()
}
