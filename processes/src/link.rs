//! A conversation in which both sides speak whenever they like: frames that any thread may send without waiting, sent and
//! received together where several are there, and descriptors that go with them.
//!
//! A side that sends more than the other reads is given up once its queue is full; nobody waits.

use crate::frame::{self, FrameError, HEADER_BYTES};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};
use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::sync::Notify;

/// Of the buffer that is read into.
const READ_BYTES: usize = 64 << 10;
/// Of a buffer for what has come, that is kept for more.
const KEPT_BYTES_MAX: usize = 1 << 20;
/// What a frame that waits is counted as besides its bytes.
const WAITING_BYTES: usize = 128;
/// Frames that are sent by one call of the system.
const TOGETHER_MAX: usize = 64;
/// Bytes for which frames wait for each other.
const HELD_BYTES_MAX: usize = READ_BYTES;
/// Descriptors that go with one frame; what the system allows is more.
pub const DESCRIPTORS_MAX: usize = 200;

/// A frame, and the descriptors that came with what has been received.
pub type WithDescriptors<'a> = (&'a [u8], &'a mut VecDeque<OwnedFd>);

/// How much may be under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkLimits {
    /// Bytes of a frame that is sent.
    pub sent_bytes_max: usize,
    /// Bytes of a frame that is received.
    pub received_bytes_max: usize,
    /// Bytes that wait until the other side reads them.
    pub waiting_bytes_max: usize,
    /// Whether descriptors are taken from the other side; otherwise the system closes them.
    pub takes_descriptors: bool,
}

/// A frame that is being written.
#[derive(Debug)]
pub struct Frame(Vec<u8>);

impl Frame {
    /// An empty one.
    pub fn new() -> Self {
        Frame::with_capacity(64)
    }

    /// An empty one with room for so many bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        let mut frame = Vec::with_capacity(HEADER_BYTES.saturating_add(bytes));
        frame.extend_from_slice(&[0; HEADER_BYTES]);
        Frame(frame)
    }

    /// Appends bytes.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// What it holds.
    pub fn body(&self) -> &[u8] {
        self.0.get(HEADER_BYTES..).unwrap_or_default()
    }

    /// With its length in front.
    fn finish(mut self, bytes_max: usize) -> Result<Vec<u8>, FrameError> {
        let header = frame::header(self.0.len() - HEADER_BYTES, bytes_max)?;
        if let Some(place) = self.0.first_chunk_mut::<HEADER_BYTES>() {
            *place = header;
        }
        Ok(self.0)
    }
}

impl Default for Frame {
    fn default() -> Self {
        Frame::new()
    }
}

#[derive(Debug)]
struct Shared {
    stream: UnixStream,
    limits: LinkLimits,
    queue: Mutex<Queue>,
    /// Told when the socket takes no more for now.
    blocked: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    frames: VecDeque<Outgoing>,
    /// Bytes of the first frame that are sent already.
    sent: usize,
    bytes: usize,
    is_blocked: bool,
    is_closed: bool,
    /// Frames wait for each other.
    is_held: bool,
}

#[derive(Debug)]
struct Outgoing {
    bytes: Vec<u8>,
    descriptors: Vec<Arc<OwnedFd>>,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends what waits, unless the socket is known to be full.
    fn send_waiting(&self, queue: &mut Queue) -> Result<(), FrameError> {
        if queue.is_blocked || queue.is_closed {
            return Ok(());
        }
        match queue.flush(self.stream.as_fd()) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.blocked.notify_one();
                Ok(())
            }
            Err(error) => {
                queue.is_closed = true;
                Err(error.into())
            }
        }
    }
}

impl Queue {
    /// Sends what waits, until nothing does any more or the socket is full.
    fn flush(&mut self, socket: BorrowedFd<'_>) -> io::Result<()> {
        self.is_blocked = false;
        while !self.frames.is_empty() {
            match self.send_some(socket) {
                Ok(sent) => self.drop_sent(sent),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.is_blocked = error.kind() == io::ErrorKind::WouldBlock;
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// One call of the system: up to the next frame with descriptors, which go with its first byte.
    fn send_some(&self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        let is_begun = self.sent > 0;
        let mut pieces = Vec::with_capacity(self.frames.len().min(TOGETHER_MAX));
        for (index, frame) in self.frames.iter().take(TOGETHER_MAX).enumerate() {
            if index > 0 && !frame.descriptors.is_empty() {
                break;
            }
            let from = if index == 0 { self.sent } else { 0 };
            pieces.push(IoSlice::new(frame.bytes.get(from..).unwrap_or_default()));
        }
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let first = self.frames.front().filter(|_| !is_begun);
        let descriptors: Vec<BorrowedFd<'_>> = first
            .map(|frame| frame.descriptors.iter().map(|fd| fd.as_fd()).collect())
            .unwrap_or_default();
        if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(&descriptors)) {
            return Err(io::Error::other("too many descriptors for one message"));
        }
        Ok(rustix::net::sendmsg(socket, &pieces, &mut control, send_flags())?)
    }

    fn drop_sent(&mut self, mut sent: usize) {
        self.bytes = self.bytes.saturating_sub(sent);
        while let Some(first) = self.frames.front() {
            let left = first.bytes.len().saturating_sub(self.sent);
            if sent < left {
                self.sent += sent;
                return;
            }
            sent -= left;
            self.sent = 0;
            self.frames.pop_front();
            self.bytes = self.bytes.saturating_sub(WAITING_BYTES);
        }
    }
}

/// Sends frames. Cheap to clone.
#[derive(Clone, Debug)]
pub struct LinkSender(Arc<Shared>);

impl LinkSender {
    /// Sends a frame, from whatever thread; never waits. An error means that nobody reads any more, or too slowly.
    pub fn send(&self, frame: Frame) -> Result<(), FrameError> {
        self.send_with(frame, Vec::new())
    }

    /// Sends a frame with descriptors, which stay open here.
    pub fn send_with(&self, frame: Frame, descriptors: Vec<Arc<OwnedFd>>) -> Result<(), FrameError> {
        let shared = &*self.0;
        let bytes = frame.finish(shared.limits.sent_bytes_max)?;
        let mut queue = shared.queue();
        if queue.is_closed {
            return Err(FrameError::CutOff);
        }
        // One is taken however large it is.
        if queue.bytes > shared.limits.waiting_bytes_max {
            queue.is_closed = true;
            return Err(FrameError::CutOff);
        }
        queue.bytes = queue.bytes.saturating_add(bytes.len() + WAITING_BYTES);
        queue.frames.push_back(Outgoing { bytes, descriptors });
        if queue.is_held && queue.bytes < HELD_BYTES_MAX {
            return Ok(());
        }
        shared.send_waiting(&mut queue)
    }

    /// Has frames wait for each other until this is dropped or told to send them: one call of the system is cheaper, and
    /// wakes the other side once. To be held by one at a time, and never while waiting.
    pub fn hold(&self) -> Held<'_> {
        self.0.queue().is_held = true;
        Held(&self.0)
    }
}

/// Frames wait for each other as long as this is there. Those of all threads do.
#[derive(Debug)]
pub struct Held<'a>(&'a Shared);

impl Held<'_> {
    /// Sends those that wait.
    pub fn send(&self) {
        // Whoever sends next is told if this fails.
        let _ = self.0.send_waiting(&mut self.0.queue());
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let mut queue = self.0.queue();
        queue.is_held = false;
        // Whoever sends next is told if this fails.
        let _ = self.0.send_waiting(&mut queue);
    }
}

/// Receives frames, and sends what [`LinkSender`] could not at once: one that is not read from sends nothing either.
#[derive(Debug)]
pub struct LinkReceiver {
    shared: Arc<Shared>,
    buffer: Box<[u8]>,
    /// What has come, from `taken` on.
    pending: Vec<u8>,
    taken: usize,
    descriptors: VecDeque<OwnedFd>,
    /// There may be more than was read last: the system does not read on behind descriptors, and not every system up to them.
    stopped_early: bool,
}

impl LinkReceiver {
    /// The next frame that is there already. What it claims is checked before anything is kept for it.
    pub fn take_frame(&mut self) -> Result<Option<&[u8]>, FrameError> {
        Ok(self.take()?.map(|(frame, _)| frame))
    }

    /// The next frame that is there already, and the descriptors that came with what has been received.
    pub fn take(&mut self) -> Result<Option<WithDescriptors<'_>>, FrameError> {
        let rest = self.pending.get(self.taken..).unwrap_or_default();
        let Some((header, rest)) = rest.split_first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        let length = frame::length(*header, self.shared.limits.received_bytes_max)?;
        if rest.len() < length {
            return Ok(None);
        }
        let from = self.taken + HEADER_BYTES;
        self.taken = from + length;
        let frame = self.pending.get(from..self.taken);
        Ok(frame.map(|frame| (frame, &mut self.descriptors)))
    }

    /// Descriptors that came with what has been received.
    pub fn descriptors(&mut self) -> &mut VecDeque<OwnedFd> {
        &mut self.descriptors
    }

    /// Waits for more. `false`: the other side has closed its end. The future may be dropped and the call repeated.
    pub async fn fill(&mut self) -> io::Result<bool> {
        let waiter = self.waiter();
        loop {
            waiter.readable().await?;
            if let Some(is_open) = self.fill_ready()? {
                return Ok(is_open);
            }
        }
    }

    /// What waits for more while others may have the receiver.
    pub fn waiter(&self) -> LinkWaiter {
        LinkWaiter(self.shared.clone())
    }

    /// Takes what has come, once [`LinkWaiter::readable`] has said that there is something. `Some(false)`: the other side has
    /// closed its end; `None`: somebody else has taken it.
    pub fn fill_ready(&mut self) -> io::Result<Option<bool>> {
        self.make_room();
        let shared = self.shared.clone();
        let mut read = None;
        let tried = shared.stream.try_io(Interest::READABLE, || {
            let bytes = *read.insert(self.read()?);
            // Less than there was room for: there is no more, so nobody needs to ask again.
            let is_all = bytes < READ_BYTES && !self.stopped_early;
            if bytes > 0 && is_all {
                Err(io::ErrorKind::WouldBlock.into())
            } else {
                Ok(())
            }
        });
        match (read, tried) {
            (Some(bytes), _) => Ok(Some(bytes > 0)),
            (None, Ok(())) => Ok(None),
            (None, Err(error)) => not_now(error),
        }
    }

    /// The same without having waited: `None` is as well that nothing has come.
    pub fn fill_now(&mut self) -> io::Result<Option<bool>> {
        self.make_room();
        match self.read() {
            Ok(bytes) => Ok(Some(bytes > 0)),
            Err(error) => not_now(error),
        }
    }

    /// Forgets what has been taken.
    fn make_room(&mut self) {
        self.pending.drain(..self.taken);
        self.taken = 0;
        if self.pending.is_empty() && self.pending.capacity() > KEPT_BYTES_MAX {
            self.pending = Vec::new();
        }
    }

    fn read(&mut self) -> io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut control = match self.shared.limits.takes_descriptors {
            true => RecvAncillaryBuffer::new(&mut space),
            false => RecvAncillaryBuffer::default(),
        };
        let received = rustix::net::recvmsg(
            self.shared.stream.as_fd(),
            &mut [IoSliceMut::new(&mut self.buffer)],
            &mut control,
            receive_flags(),
        )?;
        self.stopped_early = self.shared.limits.takes_descriptors && !cfg!(target_os = "linux");
        for message in control.drain() {
            self.stopped_early = true;
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                self.descriptors.extend(descriptors);
            }
        }
        let bytes = received.bytes.min(self.buffer.len());
        self.pending
            .extend_from_slice(self.buffer.get(..bytes).unwrap_or_default());
        Ok(bytes)
    }
}

/// Waits for what a receiver can take, and sends what [`LinkSender`] could not at once.
#[derive(Clone, Debug)]
pub struct LinkWaiter(Arc<Shared>);

impl LinkWaiter {
    /// Waits until there may be more. The future may be dropped and the call repeated.
    pub async fn readable(&self) -> io::Result<()> {
        let shared = &*self.0;
        loop {
            tokio::select! {
                ready = shared.stream.readable() => return ready,
                ready = writable(shared) => {
                    ready?;
                    let flushed = shared
                        .stream
                        .try_io(Interest::WRITABLE, || shared.queue().flush(shared.stream.as_fd()));
                    match flushed {
                        Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                        _ => {}
                    }
                }
            }
        }
    }
}

/// Nothing, if the system only has nothing at the moment.
fn not_now<T>(error: io::Error) -> io::Result<Option<T>> {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
        _ => Err(error),
    }
}

/// A side that is gone is an error, and no signal.
fn send_flags() -> SendFlags {
    #[cfg(target_os = "linux")]
    return SendFlags::NOSIGNAL;
    #[cfg(not(target_os = "linux"))]
    SendFlags::empty()
}

/// Descriptors are not for programs that are started later.
fn receive_flags() -> RecvFlags {
    #[cfg(target_os = "linux")]
    return RecvFlags::CMSG_CLOEXEC;
    #[cfg(not(target_os = "linux"))]
    RecvFlags::empty()
}

/// Waits until something that was held up can be sent.
async fn writable(shared: &Shared) -> io::Result<()> {
    if !shared.queue().is_blocked {
        shared.blocked.notified().await;
    }
    shared.stream.writable().await
}

/// Both ends of this side, within a runtime of tokio.
pub(crate) fn link(stream: UnixStream, limits: LinkLimits) -> (LinkSender, LinkReceiver) {
    let shared = Arc::new(Shared {
        stream,
        limits,
        queue: Mutex::default(),
        blocked: Notify::new(),
    });
    let receiver = LinkReceiver {
        shared: shared.clone(),
        buffer: vec![0; READ_BYTES].into_boxed_slice(),
        pending: Vec::new(),
        taken: 0,
        descriptors: VecDeque::new(),
        stopped_early: false,
    };
    (LinkSender(shared), receiver)
}
