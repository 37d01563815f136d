//! The operating system's limits on the server process: the number of open files, core dumps, and the permissions of
//! the files it creates. Knows nothing about what the process does.

use super::failure::{Exit, Failure};
use crate::config::http::HttpLimits;
use crate::http::server;
use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More files than this are of no use to one server.
const FILES_MAX: u64 = 1 << 20;
/// Fewer don't do: the database, the engine's files and some connections need as many.
const FILES_MIN: u64 = 128;
/// Files that are kept from connections, for the database, machine code and effects, if there are twice as many.
const FILES_RESERVED: u64 = 1_024;

/// Raises the limit of open files as far as the system lets it, has no core dumps written, has files that the process makes readable
/// by its user only, and its threads take short turns: how many files it may open. To be called before threads are started.
pub fn prepare() -> Result<u64, Failure> {
    // With one, everybody's secrets would be in a file after a crash. Nothing needs it, so it can't fail the start.
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    if let Err(error) = setrlimit(Resource::Core, none) {
        tracing::warn!(%error, "Could not disable core dumps");
    }
    keep_files_private();
    heddle_runtime::take_short_turns();
    let files = raise_files();
    if files < FILES_MIN {
        let message = format!(
            "this process may open only {files} files, fewer than the {FILES_MIN} that a server needs: raise \
             the limit (`ulimit -n`, or LimitNOFILE= in systemd)"
        );
        return Err(Failure::new(Exit::File, "FILES", message));
    }
    Ok(files)
}

/// Has files and directories that the process makes from now on readable by its user only.
pub fn keep_files_private() {
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
}

fn raise_files() -> u64 {
    let found = getrlimit(Resource::Nofile);
    let wanted = found.maximum.unwrap_or(FILES_MAX).min(FILES_MAX);
    let soft = found.current.unwrap_or(FILES_MAX);
    if soft >= wanted {
        return soft;
    }
    let raised = Rlimit {
        current: Some(wanted),
        maximum: found.maximum,
    };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => wanted,
        // Some systems allow less than they say.
        Err(_) => soft,
    }
}

/// Lowers the limit of connections to what `files` leave beside the database, machine code and effects.
pub fn fit(limits: &mut HttpLimits, files: u64) {
    let left = files - FILES_RESERVED.min(files / 2);
    let left = usize::try_from(left).unwrap_or(usize::MAX);
    let wanted = limits.connections_max;
    if server::descriptors(wanted) <= left {
        return;
    }
    limits.connections_max = server::connections_within(left);
    tracing::warn!(
        files,
        connections = limits.connections_max,
        "This process may open {files} files, which is enough for {} connections instead of {wanted}: raise \
         the limit (`ulimit -n`, or LimitNOFILE= in systemd) or lower max_connections",
        limits.connections_max
    );
}

/// From now on neither another process of the same user nor a core dump gets at the process's memory. To be called when
/// the engine has started, which opens files in `/proc/self` that it could not open afterwards.
pub fn seal() {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    if let Err(error) = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
    {
        tracing::warn!(%error, "The process's memory remains readable by other processes of the same user");
    }
}
