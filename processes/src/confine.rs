//! What a worker takes from itself before it reads a stranger's bytes: limits of the system, and on Linux files, the
//! network and all system calls that its kind of work does not need.

#[cfg(target_os = "linux")]
mod linux;

use crate::error::{ChannelError, failed};
use crate::layers::{Layers, Rights};
use crate::limits::Limits;
use rustix::io::ioctl_fionbio;
use rustix::process::{Resource, Rlimit, getrlimit, setpriority_process, setrlimit};
use std::os::unix::net::UnixStream;

impl Layers {
    /// What this system has for workers. Tries some of it in a process of its own, for which it waits.
    pub fn available() -> Self {
        #[cfg(target_os = "linux")]
        return linux::available();
        #[cfg(not(target_os = "linux"))]
        Layers::default()
    }
}

/// Closes whatever descriptors the parent's own parents have left open. To be called before this process opens any.
pub fn close_inherited() -> Result<(), ChannelError> {
    #[cfg(target_os = "linux")]
    linux::close_inherited()?;
    Ok(())
}

/// Takes the right to make and connect sockets from this process: to be called by one that had it for one socket, once
/// that is connected and before anything is read from it.
pub fn close_sockets() -> Result<(), ChannelError> {
    #[cfg(target_os = "linux")]
    linux::close_sockets()?;
    Ok(())
}

/// Takes the right to start threads from this process: to be called once all are started, and before it reads anything that a
/// stranger has written.
pub fn close_threads() -> Result<(), ChannelError> {
    #[cfg(target_os = "linux")]
    linux::close_threads()?;
    Ok(())
}

/// Lowers the priority of the calling thread for good, by so much: 19 is the lowest. Only on Linux, since elsewhere it would be
/// the whole process's.
pub fn give_way(niceness: u8) {
    #[cfg(target_os = "linux")]
    // A lower priority can't be refused; without it the work is done all the same.
    let _ = setpriority_process(None, i32::from(niceness.min(19)));
    #[cfg(not(target_os = "linux"))]
    let _ = niceness;
}

/// Asks the scheduler for short turns of the processor for the calling thread and those that it will start: what has waited for a message
/// then has its turn before threads that compute, whose turns take milliseconds. Shares of the processor stay as they are. Linux knows this
/// since 6.12; older kernels and other systems go on as before, and so does a process that was given another policy than the usual one.
pub fn take_short_turns() {
    #[cfg(target_os = "linux")]
    linux::take_short_turns();
}

/// Puts up all of it.
pub fn confine(socket: &UnixStream, limits: &Limits, rights: Rights) -> Result<Layers, ChannelError> {
    // A full pipe must not hold the worker: what it says is kept only as far as there is room.
    ioctl_fionbio(std::io::stderr(), true).map_err(failed("standard error"))?;
    if limits.niceness > 0 {
        let niceness = i32::from(limits.niceness.min(19));
        setpriority_process(None, niceness).map_err(failed("priority"))?;
    }
    #[cfg(target_os = "linux")]
    linux::die_with_parent(socket)?;
    // At the first the system sends SIGXCPU, which says what it was, at the second SIGKILL.
    let (memory, seconds) = (limits.address_space_bytes_max, limits.processor_seconds_max);
    for (resource, current, maximum) in [
        (Resource::As, memory, memory),
        (Resource::Data, limits.data_bytes_max, limits.data_bytes_max),
        (Resource::Cpu, seconds, seconds.saturating_add(1)),
        (Resource::Nofile, limits.files_max, limits.files_max),
        (Resource::Core, 0, 0),
        (Resource::Fsize, limits.file_bytes_max, limits.file_bytes_max),
    ] {
        // `None` means no limit. A limit above the parent's own can't be granted to its children.
        let inherited = getrlimit(resource).maximum;
        let within = |wanted: u64| match (wanted, inherited) {
            (u64::MAX, inherited) => inherited,
            (wanted, inherited) => Some(inherited.map_or(wanted, |inherited| wanted.min(inherited))),
        };
        let limit = Rlimit {
            current: within(current),
            maximum: within(maximum),
        };
        setrlimit(resource, limit).map_err(failed("limits"))?;
    }
    #[cfg(target_os = "linux")]
    return linux::wall(rights);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = rights;
        end_with_parent(socket)?;
        Ok(Layers::default())
    }
}

/// Where the system does not tell of a parent's death, a thread waits for the socket to be hung up.
#[cfg(not(target_os = "linux"))]
fn end_with_parent(socket: &UnixStream) -> Result<(), ChannelError> {
    let failed = |source| ChannelError::Confine {
        layer: "parent's death",
        source,
    };
    let socket = socket.try_clone().map_err(failed)?;
    let watch = move || {
        use rustix::event::{PollFd, PollFlags, poll};
        // Only hang-ups are told when nothing is asked for.
        while poll(&mut [PollFd::new(&socket, PollFlags::empty())], None) == Err(rustix::io::Errno::INTR) {}
        std::process::exit(0);
    };
    let watcher = std::thread::Builder::new().name("parent".into()).spawn(watch);
    watcher.map(drop).map_err(failed)
}
