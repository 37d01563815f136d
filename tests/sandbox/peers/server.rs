//! Servers of other protocols on threads of their own, which do to whoever connects what a test says.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A stream breaks off when nothing moves for so long, so that nobody waits for the other for ever.
const SILENCE_MAX: Duration = Duration::from_secs(2);
/// Endless is so much: several times what any limit allows.
const ENDLESS_BYTES: usize = 3 << 30;

/// What repeating a piece may add.
const REPEATED_BYTES_MAX: usize = 1 << 20;

/// A server that stops listening when it is dropped.
pub struct Server {
    pub port: u16,
    has_ended: Arc<AtomicBool>,
}

impl Server {
    /// Does this to every connection.
    pub fn start(each: impl Fn(TcpStream) + Clone + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let has_ended = Arc::new(AtomicBool::new(false));
        let ended = has_ended.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if ended.load(Ordering::Acquire) {
                    break;
                }
                let each = each.clone();
                let _ = stream.set_read_timeout(Some(SILENCE_MAX));
                let _ = stream.set_write_timeout(Some(SILENCE_MAX));
                std::thread::spawn(move || each(stream));
            }
        });
        Server { port, has_ended }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.has_ended.store(true, Ordering::Release);
        // Wakes the thread that waits for connections.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

/// Serves every connection as long as the process lives.
pub fn serve(each: impl Fn(TcpStream) + Clone + Send + 'static) -> u16 {
    let server = Server::start(each);
    let port = server.port;
    std::mem::forget(server);
    port
}

/// Writes a piece again and again until the other side has had enough.
pub fn endless(stream: &mut TcpStream, piece: &[u8]) {
    let many = piece.repeat((1 << 20) / piece.len().max(1) + 1);
    let mut written = 0;
    while written < ENDLESS_BYTES && stream.write_all(&many).is_ok() {
        written += many.len();
    }
}

/// Reads so many bytes.
pub fn read(stream: &mut TcpStream, bytes: usize) -> Option<Vec<u8>> {
    let mut read = vec![0; bytes];
    stream.read_exact(&mut read).ok()?;
    Some(read)
}

/// Something of a server's, spoilt: bits turned, cut off, repeated, lengths made huge, noise put in.
pub fn spoilt(random: &mut fastrand::Rng, mut bytes: Vec<u8>) -> Vec<u8> {
    for _ in 0..random.usize(1..4) {
        if bytes.is_empty() {
            break;
        }
        let at = random.usize(0..bytes.len());
        match random.u8(0..7) {
            0 => bytes[at] ^= 1 << random.u8(0..8),
            1 => bytes.truncate(at),
            2 => bytes.insert(at, random.u8(..)),
            3 => {
                let end = (at + 4).min(bytes.len());
                let huge = [[0xff; 4], [0x7f, 0xff, 0xff, 0xff], [0; 4]];
                bytes[at..end].copy_from_slice(&huge[random.usize(0..3)][..end - at]);
            }
            4 => {
                let piece = bytes[at..].to_vec();
                // Repeated once more, it would be this process's memory that is measured.
                let times = random.usize(1..2_000).min(REPEATED_BYTES_MAX / piece.len());
                bytes.extend(piece.repeat(times));
            }
            5 => {
                let noise: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(64).collect();
                bytes.splice(at..at, noise);
            }
            _ => drop(bytes.remove(at)),
        }
    }
    bytes
}

/// Spoils one of what a server says, and others now and then.
#[derive(Clone)]
pub struct Spoiler {
    random: fastrand::Rng,
    /// How many it says before that.
    before: usize,
    has_spoilt: Arc<AtomicBool>,
}

impl Spoiler {
    /// What follows from a seed, for a server that says at least so much.
    pub fn new(seed: u64, said: usize) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        Spoiler {
            before: random.usize(0..said),
            random,
            has_spoilt: Arc::default(),
        }
    }

    /// What is said instead.
    pub fn spoil(&mut self, said: Vec<u8>) -> Vec<u8> {
        let is_it = self.before == 0;
        self.before = self.before.wrapping_sub(1);
        if !is_it && self.random.u8(0..6) > 0 {
            return said;
        }
        let spoilt = spoilt(&mut self.random, said.clone());
        if spoilt != said {
            self.has_spoilt.store(true, Ordering::Release);
        }
        spoilt
    }

    /// Whether anything that was said was spoilt.
    pub fn has_spoilt(&self) -> bool {
        self.has_spoilt.load(Ordering::Acquire)
    }
}
