//! The child's side: confined before it reads anything, then requests in and answers out. What it is told, it trusts:
//! the other end is its parent.

use crate::confine;
use crate::error::ChannelError;
use crate::frame::{self, FrameError, HEADER_BYTES, Receiver, Sender};
use crate::layers::{Layers, Rights};
use crate::limits::Limits;
use crate::link::{self, LinkLimits, LinkReceiver, LinkSender};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::thread;

/// The socket to the parent.
#[derive(Debug)]
pub struct Channel {
    stream: UnixStream,
    limits: Limits,
    layers: Layers,
}

impl Channel {
    /// Confines this process and takes the socket from standard input. To be called before anything else, on the main
    /// thread, with the last argument of the command line.
    ///
    /// Files can't be opened afterwards. What asks the system for the main thread's stack does that: do the work on a
    /// thread that is started after this call, as [`Channel::serve`] does.
    pub fn confined(limits: &str, rights: Rights) -> Result<Self, ChannelError> {
        let (channel, ()) = Channel::confined_after(limits, rights, || Ok(()))?;
        Ok(channel)
    }

    /// As [`Channel::confined`], but before it does the one thing that a confined process can't: `prepare` opens files, which
    /// stay open. It must start no threads, and nothing that it reads may come from strangers.
    pub fn confined_after<T>(
        limits: &str,
        rights: Rights,
        prepare: impl FnOnce() -> io::Result<T>,
    ) -> Result<(Self, T), ChannelError> {
        let limits: Limits = limits.parse().map_err(ChannelError::Limits)?;
        confine::close_inherited()?;
        let prepared = prepare().map_err(|source| ChannelError::Confine {
            layer: "preparation",
            source,
        })?;
        let socket = io::stdin().as_fd().try_clone_to_owned();
        let stream = UnixStream::from(socket.map_err(ChannelError::Socket)?);
        stream.peer_addr().map_err(ChannelError::Socket)?;
        let layers = confine::confine(&stream, &limits, rights)?;
        let channel = Channel {
            stream,
            limits,
            layers,
        };
        Ok((channel, prepared))
    }

    /// Does the work on one thread of this kind, until its parent asks no more. A panic ends the process with 101, having said why.
    pub fn serve(
        self,
        threads: thread::Builder,
        work: impl FnOnce(Channel) + Send + 'static,
    ) -> Result<(), ChannelError> {
        let ended = threads.spawn(move || work(self)).map(|thread| thread.join());
        match ended {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => std::process::exit(101),
            Err(source) => Err(ChannelError::Confine {
                layer: "threads",
                source,
            }),
        }
    }

    /// What holds this process.
    pub fn layers(&self) -> Layers {
        self.layers
    }

    /// What it may use.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The next request; `None`: there will be no more.
    pub fn receive(&mut self) -> Result<Option<Vec<u8>>, FrameError> {
        let mut header = [0; HEADER_BYTES];
        let mut read = 0;
        while let Some(rest) = header.get_mut(read..).filter(|rest| !rest.is_empty()) {
            match self.stream.read(rest) {
                Ok(0) if read == 0 => return Ok(None),
                Ok(0) => return Err(FrameError::CutOff),
                Ok(bytes) => read += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        let length = frame::length(header, self.limits.request_bytes_max)?;
        let mut body = Vec::with_capacity(length);
        (&self.stream).take(length as u64).read_to_end(&mut body)?;
        if body.len() < length {
            return Err(FrameError::CutOff);
        }
        Ok(Some(body))
    }

    /// Sends an answer. One that is too large is not begun, so that another can be sent instead.
    pub fn send(&mut self, answer: &[u8]) -> Result<(), FrameError> {
        let header = frame::header(answer.len(), self.limits.answer_bytes_max)?;
        self.stream.write_all(&header)?;
        Ok(self.stream.write_all(answer)?)
    }

    /// The peer that this worker was started with, for async code. To be called before the process is confined, that is in
    /// the preparation of [`Channel::confined_after`].
    pub fn peer() -> io::Result<UnixStream> {
        let peer = UnixStream::from(io::stdout().as_fd().try_clone_to_owned()?);
        peer.peer_addr()?;
        peer.set_nonblocking(true)?;
        Ok(peer)
    }

    /// Both ends for a conversation in which both sides speak whenever they like, within a runtime of tokio. The frames'
    /// limits are those of the link.
    pub fn into_link(self, limits: LinkLimits) -> io::Result<(LinkSender, LinkReceiver)> {
        return_at_once(&self.stream)?;
        link::link(self.stream, limits)
    }

    /// Both directions for async code, within a runtime of tokio.
    pub fn into_halves(self) -> io::Result<(Sender, Receiver)> {
        let stream = waited_for(self.stream)?;
        let Limits {
            request_bytes_max,
            answer_bytes_max,
            ..
        } = self.limits;
        Ok(frame::halves(stream, request_bytes_max, answer_bytes_max))
    }
}

/// The socket as tokio takes it.
fn waited_for(stream: UnixStream) -> io::Result<tokio::net::UnixStream> {
    return_at_once(&stream)?;
    tokio::net::UnixStream::from_std(stream)
}

/// Has no call wait. The standard library's call for that is not among those that every worker may make.
fn return_at_once(stream: &UnixStream) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(stream)?;
    Ok(rustix::fs::fcntl_setfl(
        stream,
        flags | rustix::fs::OFlags::NONBLOCK,
    )?)
}
