//! Servers of other protocols on threads of their own, which do to whoever connects what a test says.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

/// A stream breaks off when nothing moves for so long, so that nobody waits for the other for ever.
const SILENCE_MAX: Duration = Duration::from_secs(2);
/// Endless is so much: several times what any limit allows.
const ENDLESS_BYTES: usize = 3 << 30;

/// Serves every connection; the listener lives as long as the process.
pub fn serve(each: impl Fn(TcpStream) + Clone + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let each = each.clone();
            let _ = stream.set_read_timeout(Some(SILENCE_MAX));
            let _ = stream.set_write_timeout(Some(SILENCE_MAX));
            std::thread::spawn(move || each(stream));
        }
    });
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
    for _ in 0..random.usize(0..3) {
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
                bytes.extend(piece.repeat(random.usize(1..2_000)));
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
