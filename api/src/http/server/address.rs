//! What the server knows of a client's address.

use super::pace::Pace;
use std::net::IpAddr;
use std::sync::atomic::AtomicUsize;

/// One client's address, with what it has.
#[derive(Debug)]
pub(super) struct Address {
    /// What its limits are counted by.
    pub key: IpAddr,
    /// Its connections are not counted: it is this machine, or a proxy that is trusted.
    pub is_exempt: bool,
    /// Bytes of its bodies that have arrived in part.
    pub unfinished_bytes: AtomicUsize,
    /// Bytes of large answers that it has not taken yet.
    pub unsent_bytes: AtomicUsize,
    /// Requests of a client behind a proxy that are being answered.
    pub requests: AtomicUsize,
    /// The pace of its refusals for too many requests.
    pub pace: Pace,
}

impl Address {
    /// One that has nothing yet.
    pub fn new(key: IpAddr, is_exempt: bool) -> Self {
        Address {
            key,
            is_exempt,
            unfinished_bytes: AtomicUsize::new(0),
            unsent_bytes: AtomicUsize::new(0),
            requests: AtomicUsize::new(0),
            pace: Pace::default(),
        }
    }
}
