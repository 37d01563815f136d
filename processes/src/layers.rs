//! What a worker may ask of the system, and the walls that hold it to that.

/// What a kind of worker needs of the system besides memory, threads and its socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    /// Nothing.
    Compute,
    /// Sockets within the process, and what waits for them.
    LocalSockets,
}

/// Which walls stand, or would on this system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layers {
    /// No files, by Landlock.
    pub files: bool,
    /// A list of system calls, by seccomp.
    pub system_calls: bool,
}

impl Layers {
    /// Names of what is missing, for a log.
    pub fn missing(self) -> Vec<&'static str> {
        let layers = [(self.files, "Landlock"), (self.system_calls, "seccomp")];
        let missing = layers.iter().filter(|(stands, _)| !stands);
        missing.map(|(_, name)| *name).collect()
    }
}
