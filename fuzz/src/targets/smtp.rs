//! A byte for the size of the pieces in which it arrives, and what a sender of mail says to the receiver: however it is cut, the replies and the messages are
//! the same; nobody gets a message who has no mailbox, and whoever is not understood again and again is left.

use futures_util::future::{BoxFuture, ready};
use heddle_model::error::{Code, ServiceError};
use heddle_service::mail::smtp::session::{Addressee, Post, Session};
use heddle_service::mail::{BYTES_MAX, RECIPIENTS_MAX};
use std::borrow::Cow;
use std::io;
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Commands that can't be understood before the connection is closed.
const ERRORS_MAX: usize = 20;

/// Checks an input.
pub fn check(data: &[u8]) {
    let Some((size, said)) = data.split_first() else {
        return;
    };
    let whole = conversation(said, said.len());
    assert_eq!(conversation(said, usize::from(*size)), whole);

    let (heard, taken) = whole;
    let replies = String::from_utf8(heard).expect("replies are text");
    assert!(replies.starts_with("220 ") && replies.ends_with("\r\n"));
    let codes = replies.lines().map(|line| {
        let code = line.get(..3).and_then(|code| code.parse::<u16>().ok());
        code.filter(|code| (200..600).contains(code)).expect("a code")
    });
    let misunderstood = codes.filter(|code| [500, 501, 553, 555].contains(code)).count();
    // And once more for a line that is too long, after which nothing is read.
    assert!(misunderstood <= ERRORS_MAX);
    for (recipients, message) in &taken {
        assert!(!recipients.is_empty() && recipients.len() <= RECIPIENTS_MAX);
        assert!(recipients.iter().all(|address| has_mailbox(address)));
        assert!(message.len() <= BYTES_MAX);
    }
    let bytes: usize = taken.iter().map(|(_, message)| message.len()).sum();
    assert!(bytes <= said.len());
}

/// Messages with those that they are for.
type Taken = Vec<(Vec<String>, Vec<u8>)>;

/// What is replied to all of it, and which messages are taken.
fn conversation(said: &[u8], piece_bytes: usize) -> (Vec<u8>, Taken) {
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let (kept, mut heard) = (Kept::default(), Vec::new());
    let wire = Wire {
        said,
        piece_bytes: piece_bytes.max(1),
        heard: &mut heard,
    };
    match executor.block_on(Session::new(&kept, wire).run()) {
        Ok(()) => {}
        // Within a message.
        Err(error) => assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof),
    }
    (heard, kept.0.into_inner().unwrap())
}

#[derive(Default)]
struct Kept(Mutex<Taken>);

/// Addresses tell by their last letter what becomes of them.
fn has_mailbox(address: &str) -> bool {
    !address.ends_with(['x', 'y', 'z'])
}

impl Post for &Kept {
    fn domain(&self) -> &str {
        "here.example"
    }

    fn addressee<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Result<Addressee, ServiceError>> {
        let found: Result<Addressee, ServiceError> = match address.chars().next_back() {
            Some('x') => Ok(Addressee::Unknown),
            Some('y') => Ok(Addressee::Inactive),
            Some('z') => Err(Code::Unavailable.into()),
            _ => Ok(Addressee::Node),
        };
        Box::pin(ready(found))
    }

    fn deliver<'a>(&'a self, recipients: &'a [String], message: Vec<u8>) -> BoxFuture<'a, Cow<'static, str>> {
        self.0.lock().unwrap().push((recipients.to_vec(), message));
        Box::pin(ready(Cow::Borrowed("250 2.0.0 Message accepted")))
    }
}

/// Gives so many bytes at a time of what is said, and keeps what is replied.
struct Wire<'a> {
    said: &'a [u8],
    piece_bytes: usize,
    heard: &'a mut Vec<u8>,
}

impl AsyncRead for Wire<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let said = self.said;
        let bytes = said.len().min(self.piece_bytes).min(into.remaining());
        let (piece, rest) = said.split_at(bytes);
        into.put_slice(piece);
        self.said = rest;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire<'_> {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.heard.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
