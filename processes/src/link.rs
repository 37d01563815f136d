//! A conversation in which both sides speak whenever they like: frames that any thread may send without waiting, sent and
//! received together where several are there, and descriptors that go with them.
//!
//! A side that sends more than the other reads is given up once its queue is full; nobody waits.

use crate::frame::{self, Frame, FrameError, HEADER_BYTES};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};
use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;

/// That are read at a time.
const READ_BYTES: usize = 64 << 10;
/// Bytes of a buffer that is kept for what comes next.
const KEPT_BYTES_MAX: usize = 1 << 20;
/// Bytes that a waiting frame is counted as in addition to its own.
const WAITING_BYTES: usize = 128;
/// Frames that are sent by one call of the system.
const TOGETHER_MAX: usize = 64;
/// Bytes for which frames wait for each other.
const HELD_BYTES_MAX: usize = READ_BYTES;
/// Descriptors that go with one frame; what the system allows is more.
pub const DESCRIPTORS_MAX: usize = 200;

/// A frame, and the descriptors that came with all that has been received.
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

#[derive(Debug)]
struct Shared {
    /// Waited for until it can be read from, and for nothing else: of each frame that the other side has read, the system tells
    /// whoever waits until it can be written to, so that a thread would be woken which has nothing to do.
    socket: AsyncFd<UnixStream>,
    /// A second descriptor of the socket, to wait for when it takes no more: the system's list of what is waited for takes each only once.
    full: OwnedFd,
    limits: LinkLimits,
    queue: Mutex<Queue>,
    /// Notified when the socket takes no more for now.
    blocked: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    /// That nobody sends yet.
    frames: VecDeque<Outgoing>,
    /// That the socket had no room for. Whoever sends has them meanwhile.
    begun: Begun,
    /// Bytes of both.
    bytes: usize,
    /// Somebody sends, and takes along what comes meanwhile.
    is_sending: bool,
    is_blocked: bool,
    is_closed: bool,
    /// Frames wait for each other.
    is_held: bool,
}

/// Frames on their way.
#[derive(Debug, Default)]
struct Begun {
    frames: VecDeque<Outgoing>,
    /// Bytes of the first frame that are sent already.
    sent: usize,
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

    /// Sends what waits, unless the socket is known to be full, or somebody else sends, who takes it along.
    fn send_waiting<'s>(&'s self, queue: MutexGuard<'s, Queue>) -> Result<(), FrameError> {
        if queue.is_sending || queue.is_blocked || queue.is_closed {
            return Ok(());
        }
        match self.flush(queue) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.blocked.notify_one();
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Goes on with what the socket had no room for.
    fn go_on(&self) -> io::Result<()> {
        let queue = self.queue();
        if queue.is_sending {
            return Ok(());
        }
        match self.flush(queue) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(()),
        }
    }

    /// Sends what waits, until nothing does any more or the socket is full; to be called while nobody sends. Nobody has to wait for the
    /// queue during a call of the system: the other side may take this processor as soon as it is woken.
    fn flush<'s>(&'s self, mut queue: MutexGuard<'s, Queue>) -> io::Result<()> {
        queue.is_sending = true;
        queue.is_blocked = false;
        let mut begun = std::mem::take(&mut queue.begun);
        let flushed = loop {
            begun.frames.append(&mut queue.frames);
            if begun.frames.is_empty() {
                break Ok(());
            }
            drop(queue);
            let sent = begun.send_some(self.socket.as_fd());
            let sent = sent.map(|sent| begun.drop_sent(sent));
            queue = self.queue();
            match sent {
                Ok(bytes) => queue.bytes = queue.bytes.saturating_sub(bytes),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        queue.is_sending = false;
        queue.begun = begun;
        if let Err(error) = &flushed {
            let is_full = error.kind() == io::ErrorKind::WouldBlock;
            queue.is_blocked = is_full;
            queue.is_closed |= !is_full;
        }
        flushed
    }
}

impl Begun {
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

    /// Forgets what has been sent, and gives the bytes that it was counted as.
    fn drop_sent(&mut self, sent: usize) -> usize {
        let (mut rest, mut counted) = (sent, sent);
        while let Some(first) = self.frames.front() {
            let left = first.bytes.len().saturating_sub(self.sent);
            if rest < left {
                self.sent += rest;
                break;
            }
            rest -= left;
            self.sent = 0;
            self.frames.pop_front();
            counted = counted.saturating_add(WAITING_BYTES);
        }
        counted
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
        let queue = self.push(frame, descriptors)?;
        if queue.is_held && queue.bytes < HELD_BYTES_MAX {
            return Ok(());
        }
        self.0.send_waiting(queue)
    }

    /// Puts a frame behind those that wait, for [`LinkSender::flush`] or whoever sends next: so that order is kept by those who hold a
    /// lock, and nobody waits for that lock during a call of the system.
    pub fn queue(&self, frame: Frame, descriptors: Vec<Arc<OwnedFd>>) -> Result<(), FrameError> {
        self.push(frame, descriptors).map(drop)
    }

    /// Sends what waits, or has it taken along by whoever sends.
    pub fn flush(&self) -> Result<(), FrameError> {
        let queue = self.0.queue();
        if queue.is_closed {
            return Err(FrameError::CutOff);
        }
        self.0.send_waiting(queue)
    }

    fn push(
        &self,
        frame: Frame,
        descriptors: Vec<Arc<OwnedFd>>,
    ) -> Result<MutexGuard<'_, Queue>, FrameError> {
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
        Ok(queue)
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
        let _ = self.0.send_waiting(self.0.queue());
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let mut queue = self.0.queue();
        queue.is_held = false;
        // Whoever sends next is told if this fails.
        let _ = self.0.send_waiting(queue);
    }
}

/// Receives frames, and sends what [`LinkSender`] could not at once: one that is not read from sends nothing either.
#[derive(Debug)]
pub struct LinkReceiver {
    shared: Arc<Shared>,
    /// What has come is there from `taken` to `filled`.
    buffer: Vec<u8>,
    taken: usize,
    filled: usize,
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
        let rest = self.buffer.get(self.taken..self.filled).unwrap_or_default();
        let Some((header, rest)) = rest.split_first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        let length = frame::length(*header, self.shared.limits.received_bytes_max)?;
        if rest.len() < length {
            return Ok(None);
        }
        let from = self.taken + HEADER_BYTES;
        self.taken = from + length;
        let frame = self.buffer.get(from..self.taken);
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
        let tried = shared.socket.try_io(Interest::READABLE, |_| {
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

    /// Takes what has come without having waited: `None` also means that nothing has.
    pub fn fill_now(&mut self) -> io::Result<Option<bool>> {
        self.make_room();
        match self.read() {
            Ok(bytes) => Ok(Some(bytes > 0)),
            Err(error) => not_now(error),
        }
    }

    /// Forgets what has been taken, and makes room for what is read next.
    fn make_room(&mut self) {
        if self.taken > 0 {
            self.buffer.copy_within(self.taken..self.filled, 0);
            self.filled -= self.taken;
            self.taken = 0;
        }
        if self.filled == 0 && self.buffer.len() > KEPT_BYTES_MAX {
            self.buffer = Vec::new();
        }
        let least = self.filled.saturating_add(READ_BYTES);
        if self.buffer.len() < least {
            self.buffer.resize(least, 0);
        }
    }

    fn read(&mut self) -> io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut control = match self.shared.limits.takes_descriptors {
            true => RecvAncillaryBuffer::new(&mut space),
            false => RecvAncillaryBuffer::default(),
        };
        let room = self.buffer.get_mut(self.filled..).unwrap_or_default();
        let (room, _) = room.split_at_mut(room.len().min(READ_BYTES));
        let received = rustix::net::recvmsg(
            self.shared.socket.as_fd(),
            &mut [IoSliceMut::new(room)],
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
        let bytes = received.bytes.min(READ_BYTES);
        self.filled += bytes;
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
                ready = shared.socket.readable() => return ready.map(drop),
                ready = writable(shared) => {
                    ready?;
                    shared.go_on()?;
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
    // The system says at once if it can be by now.
    let full = waited_for(shared.full.as_fd(), Interest::WRITABLE)?;
    full.writable().await.map(drop)
}

/// A descriptor that is waited for within a runtime of tokio.
fn waited_for<T: AsFd + AsRawFd>(descriptor: T, interest: Interest) -> io::Result<AsyncFd<T>> {
    #[expect(
        unsafe_code,
        reason = "tokio leaves it to its callers that a descriptor stays open"
    )]
    // SAFETY: it is a socket or a borrowed descriptor, each of which stays open and the same for as long as it is there.
    let registered = unsafe { AsyncFd::register_with_interest(descriptor, interest) };
    registered.map_err(io::Error::from)
}

/// Both ends of this side, within a runtime of tokio, of a socket whose calls return at once.
pub(crate) fn link(socket: UnixStream, limits: LinkLimits) -> io::Result<(LinkSender, LinkReceiver)> {
    let full = OwnedFd::from(socket.try_clone()?);
    let shared = Arc::new(Shared {
        socket: waited_for(socket, Interest::READABLE)?,
        full,
        limits,
        queue: Mutex::default(),
        blocked: Notify::new(),
    });
    let receiver = LinkReceiver {
        shared: shared.clone(),
        buffer: vec![0; READ_BYTES],
        taken: 0,
        filled: 0,
        descriptors: VecDeque::new(),
        stopped_early: false,
    };
    Ok((LinkSender(shared), receiver))
}

#[cfg(test)]
mod tests;
