//! Limits how much a peer sends. Drivers buffer a message until it is complete, and the peer announces its length: this
//! limit bounds their memory.
//!
//! Knows nothing about the bytes' meaning.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// What a peer may still send. Clones count together.
#[derive(Clone, Debug)]
pub(crate) struct Meter(Arc<State>);

#[derive(Debug)]
struct State {
    left: AtomicU64,
    /// What it was granted last.
    granted: AtomicU64,
    /// All that it has sent.
    total: AtomicU64,
    /// All that was sent to it.
    sent: AtomicU64,
    exceeded: AtomicBool,
    /// What it may send anew whenever it is asked for something; 0: nothing.
    renewed: u64,
}

/// The peer has sent more than it may.
#[derive(Debug, thiserror::Error)]
#[error("it sent more than was requested")]
struct Exceeded;

impl Meter {
    /// The peer may send so many bytes, until it is granted more.
    pub fn new(bytes: u64) -> Self {
        Self::of(bytes, 0)
    }

    /// The peer may send so many bytes each time it is asked for something.
    pub fn for_each_question(bytes: u64) -> Self {
        Self::of(bytes, bytes)
    }

    fn of(left: u64, renewed: u64) -> Self {
        Meter(Arc::new(State {
            left: AtomicU64::new(left),
            granted: AtomicU64::new(left),
            total: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            exceeded: AtomicBool::new(false),
            renewed,
        }))
    }

    /// From now on the peer may send so many bytes.
    pub fn grant(&self, bytes: u64) {
        self.0.granted.store(bytes, Ordering::Relaxed);
        self.0.left.store(bytes, Ordering::Relaxed);
    }

    /// How many it might send before it exceeded that, or may.
    pub fn granted(&self) -> u64 {
        self.0.granted.load(Ordering::Relaxed)
    }

    /// How many it has sent.
    pub fn total(&self) -> u64 {
        self.0.total.load(Ordering::Relaxed)
    }

    /// How many were sent to it.
    pub fn sent(&self) -> u64 {
        self.0.sent.load(Ordering::Relaxed)
    }

    /// Whether it sent more than it might, so that its connection was cut.
    pub fn exceeded(&self) -> bool {
        self.0.exceeded.load(Ordering::Relaxed)
    }

    fn take(&self, bytes: usize) -> Result<(), Exceeded> {
        let bytes = bytes as u64;
        self.0.total.fetch_add(bytes, Ordering::Relaxed);
        let left = self.0.left.load(Ordering::Relaxed);
        match left.checked_sub(bytes) {
            Some(left) => {
                self.0.left.store(left, Ordering::Relaxed);
                Ok(())
            }
            None => {
                self.0.exceeded.store(true, Ordering::Relaxed);
                Err(Exceeded)
            }
        }
    }

    fn asked(&self) {
        if self.0.renewed > 0 {
            self.grant(self.0.renewed);
        }
    }
}

/// A stream whose peer is held to a meter.
#[derive(Debug)]
pub(crate) struct Metered<S> {
    pub stream: S,
    pub meter: Meter,
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        if let Poll::Ready(Ok(())) = polled {
            let read = buffer.filled().len().saturating_sub(before);
            if let Err(exceeded) = self.meter.take(read) {
                return Poll::Ready(Err(io::Error::other(exceeded)));
            }
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.meter.asked();
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        if let Poll::Ready(Ok(written)) = polled {
            self.meter.0.sent.fetch_add(written as u64, Ordering::Relaxed);
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
