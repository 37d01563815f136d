//! Ports for servers that have to be told theirs.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};

/// Below those that the system gives to whoever listens or connects without naming one; on Linux from 32,768.
const FIRST: u32 = 20_000;
const COUNT: u32 = 12_000;

/// A port of loopback that nobody has, and that nothing takes before the server does: it is given to nobody else of this
/// process, and connections that go out have others.
pub fn free() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        // Processes of tests begin at different places.
        let number = NEXT
            .fetch_add(1, Ordering::Relaxed)
            .wrapping_add(std::process::id().wrapping_mul(97));
        let port = u16::try_from(FIRST + number % COUNT).unwrap();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
