//! What the service and its executor processes say to each other, in frames over a socket.
//!
//! The service gives an executor machine code, in sealed files, and runs; the executor asks for the runs' effects and gives
//! their reports. An executor believes the service. The service believes nothing: it reads what an executor says as if an
//! attacker had written it ([`FromExecutor`]), within the limits of the run that it is about, and checks in
//! `heddle-runtime` whether that run is the executor's, and whether it may.
//!
//! Of a run, an executor says in order: any number of effects, and of a run that is watched what it does, as far as
//! [`WatchRoom`] goes; then that the run waits, which is answered with one result; and so on; then its report, after which it says nothing of it any more. While the run waits, calls of its components end
//! and send requests. A run that the service has cancelled ends with [`FromExecutor::Gone`], unless its report came first.

mod bytes;
mod from_executor;
mod report;
mod to_executor;
mod watch_event;

pub use bytes::Malformed;
pub use from_executor::{Addressee, AskedEffect, FromExecutor};
pub(crate) use from_executor::{ended, event_frame};
pub use to_executor::{GivenComponent, GivenRun, ToExecutor};
pub use watch_event::WatchRoom;

use heddle_processes::LinkLimits;

/// Of a frame that the service takes: a report, whose parts have limits of their own.
const FROM_EXECUTOR_BYTES_MAX: usize = 64 << 20;
/// Of a frame that an executor takes: an event, or an effect's result.
const TO_EXECUTOR_BYTES_MAX: usize = 256 << 20;
/// What waits until the other side reads it.
const WAITING_BYTES_MAX: usize = 256 << 20;

/// Limits of the service's end.
pub const SERVICE_LINK: LinkLimits = LinkLimits {
    sent_bytes_max: TO_EXECUTOR_BYTES_MAX,
    received_bytes_max: FROM_EXECUTOR_BYTES_MAX,
    waiting_bytes_max: WAITING_BYTES_MAX,
    takes_descriptors: false,
};

/// Limits of an executor's end.
pub const EXECUTOR_LINK: LinkLimits = LinkLimits {
    sent_bytes_max: FROM_EXECUTOR_BYTES_MAX,
    received_bytes_max: TO_EXECUTOR_BYTES_MAX,
    waiting_bytes_max: usize::MAX,
    takes_descriptors: true,
};
