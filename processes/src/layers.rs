//! What a worker may ask of the system, and the walls that hold it to that.

/// What a kind of worker needs of the system besides memory, threads and its socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    /// Nothing.
    Compute,
    /// One socket within the system, and to wait for it. Whoever has it takes the right away from itself when it is
    /// connected, by [`crate::close_sockets`].
    LocalSocket,
    /// To wait for its socket and its peer ([`crate::Channel::peer`]); no other can be had.
    Peer,
    /// To wait for its socket, and the files below its working directory: to read, write, make and remove them.
    Files,
    /// What an engine for strangers' machine code needs: to wait for its socket, and to look through its own memory.
    Execute,
}

/// Which walls stand, or would on this system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layers {
    /// No files, by Landlock.
    pub files: bool,
    /// A list of system calls, by seccomp.
    pub system_calls: bool,
    /// An empty network, by a namespace of its own.
    pub network: bool,
}

impl Layers {
    /// Names of what is missing, for a log.
    pub fn missing(self) -> Vec<&'static str> {
        let layers = [
            (self.files, "Landlock"),
            (self.system_calls, "seccomp"),
            (self.network, "network namespaces"),
        ];
        let missing = layers.iter().filter(|(stands, _)| !stands);
        missing.map(|(_, name)| *name).collect()
    }
}
