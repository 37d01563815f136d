//! What a client of the SMTP receiver says, and what it is replied, over whatever connection. Lines, messages, recipients, errors and silence
//! have bounds. Knows nothing of who has an address and of what becomes of a message.

use futures_util::future::BoxFuture;
use heddle_execution::mail::{BYTES_MAX, RECIPIENTS_MAX};
use heddle_model::error::{ServiceError, chain};
use smtp_proto::request::receiver::DataReceiver;
use smtp_proto::{Error, Request};
use std::borrow::Cow;
use std::future::pending;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};

/// How long a client may be silent.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// Commands that can't be understood, and addresses that nobody has, before the connection is closed.
const ERRORS_MAX: u32 = 20;
/// Commands between two messages, of which each recipient is one: whoever says more than that only keeps the connection.
const COMMANDS_MAX: u32 = 120;
/// After so long without a command, a client may have to give way.
const GRACE: Duration = Duration::from_secs(2);
/// Bytes of a command.
const LINE_BYTES_MAX: u64 = 4096;
/// Bytes of a message for which there is room without asking, and by which it is asked for more.
pub const ROOM_BYTES: usize = 256 << 10;

const TOO_LARGE: &str = "552 5.3.4 The message is too large";
const GIVES_WAY: &str = "421 4.7.0 Others need this connection: come back when you have a message";
const NO_ROOM: &str = "452 4.3.1 Too much mail is arriving at the same time: try again later";

/// Who has an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addressee {
    /// A node that is deployed.
    Node,
    /// One that is not.
    Inactive,
    /// Nobody.
    Unknown,
}

/// Whoever messages are handed to.
pub trait Post {
    /// The part of its addresses after the @.
    fn domain(&self) -> &str;

    /// Who gets what is sent there.
    fn addressee<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Result<Addressee, ServiceError>>;

    /// Room for [`ROOM_BYTES`] more of a message, which is given back when it is dropped. `None`: there is none now.
    fn room(&self) -> Option<Room> {
        Some(Box::new(()))
    }

    /// Is there once somebody else needs the connection of a client that says nothing.
    fn is_needed(&self) -> BoxFuture<'_, ()> {
        Box::pin(pending::<()>())
    }

    /// Takes a message; what its sender is replied.
    fn deliver<'a>(&'a self, recipients: &'a [String], message: Vec<u8>) -> BoxFuture<'a, Cow<'static, str>>;
}

/// Room for a part of a message.
pub type Room = Box<dyn Send>;

/// A message that has arrived, with the room that it takes.
struct Arrived {
    message: Vec<u8>,
    rooms: Vec<Room>,
}

/// What a client has said so far.
pub struct Session<P, S> {
    post: P,
    stream: BufReader<S>,
    has_greeted: bool,
    has_sender: bool,
    recipients: Vec<String>,
    errors: u32,
    /// Since the last message.
    commands: u32,
}

/// Whether the session goes on.
enum Next {
    Command,
    Close,
}

impl<P, S> Session<P, S>
where
    P: Post,
    S: AsyncRead + AsyncWrite + Unpin,
{
    pub fn new(post: P, stream: S) -> Self {
        Session {
            post,
            stream: BufReader::new(stream),
            has_greeted: false,
            has_sender: false,
            recipients: Vec::new(),
            errors: 0,
            commands: 0,
        }
    }

    /// To the client's last word, or ours.
    pub async fn run(mut self) -> io::Result<()> {
        let greeting = format!("220 {} heddle accepts mail for patterns", self.post.domain());
        self.send(&greeting).await?;
        while let Some(line) = self.line().await? {
            self.commands += 1;
            if self.commands > COMMANDS_MAX {
                return self.send("421 4.7.0 Too many commands without a message").await;
            }
            let request = Request::parse(&mut line.iter()).map(Request::into_owned);
            let next = match request {
                Ok(request) => self.obey(request).await?,
                Err(error) => self.misunderstood(&error).await?,
            };
            if let Next::Close = next {
                return Ok(());
            }
        }
        Ok(())
    }

    /// A command with its line's end. `None`: there are no more.
    async fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Session { post, stream, .. } = self;
        let mut line = Vec::new();
        let limited = &mut stream.take(LINE_BYTES_MAX);
        let is_needed = async {
            tokio::time::sleep(GRACE).await;
            post.is_needed().await;
        };
        let read = tokio::select! {
            biased;
            read = in_time(limited.read_until(b'\n', &mut line)) => Some(read),
            () = is_needed => None,
        };
        let Some(read) = read else {
            self.send(GIVES_WAY).await?;
            return Ok(None);
        };
        read?;
        if line.last() == Some(&b'\n') {
            return Ok(Some(line));
        }
        if !line.is_empty() {
            self.send("500 5.5.2 The line is too long or incomplete").await?;
        }
        Ok(None)
    }

    async fn send(&mut self, reply: &str) -> io::Result<()> {
        in_time(self.stream.get_mut().write_all(format!("{reply}\r\n").as_bytes())).await
    }

    async fn answer(&mut self, reply: &str) -> io::Result<Next> {
        self.send(reply).await.map(|()| Next::Command)
    }

    async fn obey(&mut self, request: Request<String>) -> io::Result<Next> {
        match request {
            Request::Ehlo { .. } => {
                self.greet();
                let size = BYTES_MAX;
                let domain = self.post.domain();
                let extensions = format!("250-{domain}\r\n250-SIZE {size}\r\n250-8BITMIME\r\n250-SMTPUTF8");
                self.answer(&format!("{extensions}\r\n250 ENHANCEDSTATUSCODES"))
                    .await
            }
            Request::Helo { .. } => {
                self.greet();
                let reply = format!("250 {}", self.post.domain());
                self.answer(&reply).await
            }
            Request::Mail { from } => self.mail(from.size).await,
            Request::Rcpt { to } => self.rcpt(to.address).await,
            Request::Data => self.data().await,
            Request::Rset => {
                self.forget();
                self.answer("250 2.0.0 Forgotten").await
            }
            Request::Noop { .. } => self.answer("250 2.0.0 Done").await,
            Request::Vrfy { .. } => {
                self.answer("252 2.1.5 Cannot verify the address, but will try to deliver mail")
                    .await
            }
            Request::Help { .. } => self.answer("214 2.0.0 See RFC 5321").await,
            Request::Quit => {
                self.send("221 2.0.0 Goodbye").await?;
                Ok(Next::Close)
            }
            _ => self.answer("502 5.5.1 Command not implemented").await,
        }
    }

    fn greet(&mut self) {
        self.has_greeted = true;
        self.forget();
    }

    fn forget(&mut self) {
        self.has_sender = false;
        self.recipients.clear();
    }

    async fn mail(&mut self, size: usize) -> io::Result<Next> {
        if !self.has_greeted || self.has_sender {
            return self
                .answer("503 5.5.1 Send HELO first, and only one MAIL at a time")
                .await;
        }
        if size > BYTES_MAX {
            return self.answer("552 5.3.4 The message is too large").await;
        }
        self.has_sender = true;
        self.answer("250 2.1.0 Sender accepted").await
    }

    async fn rcpt(&mut self, address: String) -> io::Result<Next> {
        if !self.has_sender {
            return self.answer("503 5.5.1 Send MAIL first").await;
        }
        if self.recipients.len() >= RECIPIENTS_MAX {
            return self.answer("452 4.5.3 Too many recipients").await;
        }
        match self.post.addressee(&address).await {
            Ok(Addressee::Node) => {
                self.recipients.push(address);
                self.answer("250 2.1.5 Taken").await
            }
            Ok(Addressee::Inactive) => {
                self.answer("450 4.2.1 No deployment of the pattern is active")
                    .await
            }
            // Each that somebody guesses is looked up in the database.
            Ok(Addressee::Unknown) => self.refuse("550 5.1.1 No such mailbox").await,
            Err(error) => {
                tracing::warn!("Can't look up an address now: {}", chain(&error));
                self.answer("451 4.3.0 Try again later").await
            }
        }
    }

    async fn data(&mut self) -> io::Result<Next> {
        if self.recipients.is_empty() {
            return self.answer("503 5.5.1 Send RCPT first").await;
        }
        self.send("354 Send the message; end it with a line that contains only a dot")
            .await?;
        let arrived = match self.message().await? {
            Ok(arrived) => arrived,
            Err(reply) => {
                self.forget();
                return self.answer(reply).await;
            }
        };
        let recipients = std::mem::take(&mut self.recipients);
        self.forget();
        let Arrived { message, rooms } = arrived;
        let reply = self.post.deliver(&recipients, message).await;
        drop(rooms);
        self.commands = 0;
        self.answer(&reply).await
    }

    /// A message with its dots unstuffed. Of one that can't be taken the rest was read and thrown away.
    async fn message(&mut self) -> io::Result<Result<Arrived, &'static str>> {
        let (mut receiver, mut message, mut rooms) = (DataReceiver::new(), Vec::new(), Vec::new());
        let mut refusal = None;
        // The end of the command's line: a dot behind it is at the beginning of one as well (RFC 5321, section 4.1.1.4).
        receiver.ingest(&mut b"\r\n".iter(), &mut Vec::new());
        loop {
            let buffer = in_time(self.stream.fill_buf()).await?;
            if buffer.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let mut bytes = buffer.iter();
            let is_whole = receiver.ingest(&mut bytes, &mut message);
            let used = buffer.len() - bytes.as_slice().len();
            self.stream.consume(used);
            while refusal.is_none() && message.len() > ROOM_BYTES * (rooms.len() + 1) {
                match self.post.room() {
                    Some(room) => rooms.push(room),
                    None => refusal = Some(NO_ROOM),
                }
            }
            if message.len() > BYTES_MAX {
                refusal = Some(TOO_LARGE);
            }
            if refusal.is_some() {
                (message, rooms) = (Vec::new(), Vec::new());
            }
            if is_whole {
                return Ok(match refusal {
                    Some(reply) => Err(reply),
                    None => Ok(Arrived { message, rooms }),
                });
            }
        }
    }

    /// An error of the client's, of which it may make so many.
    async fn refuse(&mut self, reply: &str) -> io::Result<Next> {
        self.errors += 1;
        if self.errors >= ERRORS_MAX {
            self.send("421 4.7.0 Too many errors").await?;
            return Ok(Next::Close);
        }
        self.answer(reply).await
    }

    async fn misunderstood(&mut self, error: &Error) -> io::Result<Next> {
        self.refuse(match error {
            Error::InvalidSenderAddress => "553 5.1.7 Invalid sender address",
            Error::InvalidRecipientAddress => "553 5.1.3 Invalid recipient address",
            Error::SyntaxError { .. } | Error::InvalidParameter { .. } => {
                "501 5.5.4 Syntax error in the command"
            }
            Error::UnsupportedParameter { .. } => "555 5.5.4 Parameter not supported",
            _ => "500 5.5.1 Unknown command",
        })
        .await
    }
}

/// An error once nothing has moved for too long.
pub(super) async fn in_time<T>(work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let done = tokio::time::timeout(SILENCE_MAX, work).await;
    done.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    /// Takes whatever comes for one address, as far as there is room.
    #[derive(Default)]
    struct Kept(Mutex<Vec<Vec<u8>>>, Arc<()>);

    /// Rooms that there are in tests.
    const ROOMS: usize = 4;

    impl Post for &Kept {
        fn domain(&self) -> &str {
            "here.example"
        }

        fn addressee<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Result<Addressee, ServiceError>> {
            let found: Result<Addressee, ServiceError> = Ok(match address {
                "ann@here.example" => Addressee::Node,
                _ => Addressee::Unknown,
            });
            Box::pin(std::future::ready(found))
        }

        fn room(&self) -> Option<Room> {
            // The first one is that of the test itself.
            let is_free = Arc::strong_count(&self.1) <= ROOMS;
            is_free.then(|| Box::new(self.1.clone()) as Room)
        }

        fn deliver<'a>(&'a self, _: &'a [String], message: Vec<u8>) -> BoxFuture<'a, Cow<'static, str>> {
            self.0.lock().unwrap().push(message);
            let reply: Cow<'static, str> = "250 2.0.0 Message accepted".into();
            Box::pin(std::future::ready(reply))
        }
    }

    /// The codes of what is replied to all this, and the messages.
    async fn replied(said: &str) -> (Vec<String>, Vec<Vec<u8>>) {
        let (kept, mut replies) = (Kept::default(), Vec::new());
        let stream = tokio::io::join(said.as_bytes(), &mut replies);
        // A connection that ends within a message is an error.
        let _ = Session::new(&kept, stream).run().await;
        let replies = String::from_utf8(replies).unwrap();
        let codes = replies.lines().filter_map(|line| line.get(..4));
        let codes = codes.map(|code| code.trim_end().to_owned());
        (codes.collect(), kept.0.into_inner().unwrap())
    }

    const BEFORE: &str =
        "HELO a\r\nMAIL FROM:<>\r\nRCPT TO:<bob@here.example>\r\nRCPT TO:<ann@here.example>\r\nDATA\r\n";

    #[tokio::test]
    async fn dots_are_unstuffed_from_the_first_line_on() {
        for (data, message) in [
            ("a\r\n..b\r\n.\r\n", "a\r\n.b\r\n"),
            ("..a\r\n.\r\n", ".a\r\n"),
            (".\r\n", ""),
        ] {
            let (codes, messages) = replied(&format!("{BEFORE}{data}QUIT\r\n")).await;
            assert_eq!(
                codes,
                ["220", "250", "250", "550", "250", "354", "250", "221"],
                "{data:?}"
            );
            assert_eq!(messages, [message.as_bytes()], "{data:?}");
        }
        let (codes, messages) = replied(&format!("{BEFORE}a\r\n.b\r\n")).await;
        assert_eq!(
            (codes.last().map(String::as_str), messages.len()),
            (Some("354"), 0)
        );
    }

    #[tokio::test]
    async fn whoever_guesses_addresses_is_sent_away() {
        let guesses = "RCPT TO:<bob@here.example>\r\n".repeat(100);
        let (codes, _) = replied(&format!("HELO a\r\nMAIL FROM:<>\r\n{guesses}")).await;
        let told = codes.iter().filter(|code| *code == "550").count();
        assert_eq!(told, ERRORS_MAX as usize - 1);
        assert_eq!(codes.last().map(String::as_str), Some("421"));
        assert_eq!(codes.len(), 3 + ERRORS_MAX as usize);
    }

    #[tokio::test]
    async fn whoever_only_talks_is_sent_away() {
        let talk = "NOOP\r\n".repeat(1_000);
        let (codes, _) = replied(&format!("HELO a\r\n{talk}")).await;
        assert_eq!(codes.last().map(String::as_str), Some("421"));
        assert_eq!(codes.len(), 2 + COMMANDS_MAX as usize);
        let message = "MAIL FROM:<>\r\nRCPT TO:<ann@here.example>\r\nDATA\r\na\r\n.\r\n";
        let (_, messages) = replied(&format!("HELO a\r\n{}", message.repeat(100))).await;
        assert_eq!(messages.len(), 100);
    }

    /// Has no place for anybody who says nothing.
    struct Crowded;

    impl Post for Crowded {
        fn domain(&self) -> &str {
            "here.example"
        }

        fn addressee<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Addressee, ServiceError>> {
            let found: Result<Addressee, ServiceError> = Ok(Addressee::Unknown);
            Box::pin(std::future::ready(found))
        }

        fn is_needed(&self) -> BoxFuture<'_, ()> {
            Box::pin(std::future::ready(()))
        }

        fn deliver<'a>(&'a self, _: &'a [String], _: Vec<u8>) -> BoxFuture<'a, Cow<'static, str>> {
            let reply: Cow<'static, str> = "250 2.0.0 Message accepted".into();
            Box::pin(std::future::ready(reply))
        }
    }

    #[tokio::test]
    async fn whoever_says_nothing_gives_way_to_others() {
        let (mut client, server) = tokio::io::duplex(1 << 10);
        let session = tokio::spawn(Session::new(Crowded, server).run());
        client.write_all(b"HELO a\r\nNO").await.unwrap();
        let mut replies = String::new();
        client.read_to_string(&mut replies).await.unwrap();
        assert!(
            replies.ends_with(&format!("250 here.example\r\n{GIVES_WAY}\r\n")),
            "{replies}"
        );
        assert!(session.await.unwrap().is_ok());
    }

    #[tokio::test]
    async fn a_message_for_which_there_is_no_room_is_to_be_sent_again() {
        let line = format!("{}\r\n", "a".repeat(1022));
        let of_kib = |kib: usize| format!("{}.\r\n", line.repeat(kib));
        let again = |data: &str| format!("MAIL FROM:<>\r\nRCPT TO:<ann@here.example>\r\nDATA\r\n{data}");
        let most = (ROOMS + 1) * (ROOM_BYTES >> 10);
        let said = [
            format!("{BEFORE}{}", of_kib(most)),
            again(&of_kib(most + 1)),
            again(&of_kib(BYTES_MAX >> 10)),
            again(&of_kib(most)),
            "QUIT\r\n".to_owned(),
        ];
        let (codes, messages) = replied(&said.concat()).await;
        let of_data: Vec<&str> = codes
            .iter()
            .map(String::as_str)
            .skip_while(|code| *code != "354")
            .collect();
        let refused = ["354", "452", "250", "250"];
        let taken = ["354", "250", "250", "250"];
        let last = ["354", "250", "221"];
        assert_eq!(of_data, [&taken[..], &refused, &refused, &last].concat());
        let bytes: Vec<usize> = messages.iter().map(Vec::len).collect();
        assert_eq!(bytes, [most << 10; 2]);
    }
}
