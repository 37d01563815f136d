//! Servers of other protocols on threads of their own, which do to whoever connects what a test says.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A stream breaks off when nothing moves for so long, so that nobody waits for the other for ever. However busy a machine is, whoever
/// has something to say has said it by then, which may take a process that is started first.
const PATIENCE: Duration = Duration::from_secs(60);
/// Whoever waits for the rest of a spoilt answer is left after that.
const SILENCE_MAX: Duration = Duration::from_secs(1);
/// Endless is so much: several times what any limit allows.
const ENDLESS_BYTES: usize = 3 << 30;

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
                let _ = stream.set_read_timeout(Some(PATIENCE));
                let _ = stream.set_write_timeout(Some(PATIENCE));
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

/// Says what `spoil` makes of this. Once that is something else, the other side may have nothing to say any more.
pub fn say(stream: &mut TcpStream, said: Vec<u8>, spoil: &mut impl FnMut(Vec<u8>) -> Vec<u8>) -> Option<()> {
    let spoilt = spoil(said.clone());
    if spoilt != said {
        let _ = stream.set_read_timeout(Some(SILENCE_MAX));
    }
    stream.write_all(&spoilt).ok()
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
