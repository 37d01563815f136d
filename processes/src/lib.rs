//! Workers: the program starts itself as confined processes and talks to them in frames over a socket pair. What reads
//! strangers' bytes outside a sandbox does it there, so that a crash or an explosion ends one request only.
//!
//! The parent starts a [`Worker`], sends requests and receives answers; the child calls [`Channel::confined`] before
//! anything else. A [`LinkSender`] is for conversations in which both sides speak whenever they like. [`places`]
//! bounds how much of others' work is done at a time for each of its owners. Knows nothing of what workers do: no wasmtime, SQL, HTTP or graphs.

mod channel;
mod confine;
mod error;
mod frame;
mod layers;
mod limits;
mod link;
pub mod places;
mod starter;
mod worker;

pub use channel::Channel;
pub use confine::{close_sockets, close_threads, give_way, take_short_turns};
pub use error::ChannelError;
pub use frame::{Frame, FrameError, Receiver, Sender};
pub use layers::{Layers, Rights};
pub use limits::Limits;
pub use link::{DESCRIPTORS_MAX, Held, LinkLimits, LinkReceiver, LinkSender, LinkWaiter, WithDescriptors};
pub use worker::{End, Process, Worker, WorkerCommand, WorkerError, WorkerProgram, processor_time};
