//! An IMAP server that the tests play, well or badly.

use super::ADDRESS;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fmt::Write as _;
use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// How it behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A line that does not end.
    Endless,
    /// A message of four gigabytes.
    Huge,
    /// A number of no number's length.
    Unheard,
    /// Answers to somebody else.
    Tag,
    /// Lists within lists.
    Deep,
    /// One answer after the other.
    Many,
    /// It goes away while it is asked.
    Gone,
    /// It refuses, and says the password.
    Refusing,
    /// It is fatal to ask it for what begins like this: whoever does so in a connector is killed.
    Fatal(&'static str),
    /// As it should be. Its mailbox has been made anew so many times.
    Well(u32),
    /// Its mailbox has been made anew, and it goes away while it is asked for the last message.
    Broken,
    /// As it should be, for whoever has this token: it takes no passwords.
    Token(&'static str),
}

/// A message: its text's number, and when it came.
type Message = (u32, &'static str);

const BEFORE: &[Message] = &[
    (1, "20-Nov-2026 09:00:00 +0000"),
    (2, "21-Nov-2026 08:59:00 +0000"),
];
/// The same mailbox with numbers that were given anew: one of its messages has been there for long, unread by us, and one is new.
const AFTER: &[Message] = &[
    (3, " 1-Jan-2026 09:00:00 +0000"),
    (1, "20-Nov-2026 09:00:00 +0000"),
    (2, "21-Nov-2026 08:59:00 +0000"),
    (4, "21-Nov-2026 23:00:00 +0000"),
];

/// The same with another one that is new.
const LATER: &[Message] = &[
    AFTER[0],
    AFTER[1],
    AFTER[2],
    AFTER[3],
    (5, "21-Nov-2026 23:30:00 +0000"),
];

fn messages(mode: Mode) -> &'static [Message] {
    match mode {
        Mode::Well(1) => AFTER,
        Mode::Well(anew) if anew > 0 => LATER,
        Mode::Broken => LATER,
        _ => BEFORE,
    }
}

fn text(number: u32) -> String {
    format!(
        "From: ann@example.org\r\nSubject: {number}\r\nMessage-ID: <{number}@example.org>\r\n\r\nHello\r\n"
    )
}

/// Listens, and tells its port, and how often somebody has come.
pub async fn listen(mode: Arc<Mutex<Mode>>) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let visits = Arc::new(AtomicUsize::new(0));
    let counted = visits.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let mode = *mode.lock().unwrap();
            tokio::spawn(async move {
                // Whoever is answered badly goes away.
                let _ = talk(BufReader::new(stream), mode).await;
            });
        }
    });
    (port, visits)
}

async fn talk(mut stream: BufReader<TcpStream>, mode: Mode) -> std::io::Result<()> {
    stream.write_all(b"* OK ready\r\n").await?;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(());
        }
        let (tag, command) = line.trim_end().split_once(' ').unwrap();
        if let (Mode::Token(token), "AUTHENTICATE XOAUTH2") = (mode, command) {
            by_token(&mut stream, tag, token).await?;
            continue;
        }
        if let Mode::Fatal(asked) = mode
            && command.starts_with(asked)
        {
            kill_connectors();
            return Ok(());
        }
        let Some(answer) = answer(mode, tag, command) else {
            return Ok(());
        };
        stream.write_all(answer.as_bytes()).await?;
    }
}

/// Kills all processes in which this one reads mailboxes.
fn kill_connectors() {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let connectors = processes.filter_map(|entry| {
        let read = |name: &str| fs::read_to_string(entry.path().join(name)).unwrap_or_default();
        let parent = read("stat")
            .rsplit_once(')')
            .and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok());
        let is_one = parent == Some(std::process::id()) && read("cmdline").contains("worker\0mailbox\0");
        is_one.then(|| entry.file_name().into_string().unwrap())
    });
    let connectors: Vec<String> = connectors.collect();
    let killed = Command::new("kill").arg("-KILL").args(connectors).status();
    assert!(killed.unwrap().success());
}

/// As Google and Microsoft do it: they say what is wrong in a form of their own, and refuse once that is answered.
async fn by_token(stream: &mut BufReader<TcpStream>, tag: &str, token: &str) -> std::io::Result<()> {
    stream.write_all(b"+ \r\n").await?;
    let mut proof = String::new();
    stream.read_line(&mut proof).await?;
    let right = format!("user={ADDRESS}\u{1}auth=Bearer {token}\u{1}\u{1}");
    if proof.trim_end() == STANDARD.encode(right) {
        return stream.write_all(format!("{tag} OK in\r\n").as_bytes()).await;
    }
    let problem =
        STANDARD.encode(r#"{"status":"400","schemes":"Bearer","scope":"https://mail.google.com/"}"#);
    stream.write_all(format!("+ {problem}\r\n").as_bytes()).await?;
    let mut heard = String::new();
    stream.read_line(&mut heard).await?;
    let refusal = match heard.as_str() {
        "\r\n" => "NO [AUTHENTICATIONFAILED] Invalid credentials (Failure)",
        _ => "BAD an empty line was expected",
    };
    stream.write_all(format!("{tag} {refusal}\r\n").as_bytes()).await
}

fn answer(mode: Mode, tag: &str, command: &str) -> Option<String> {
    let messages = messages(mode);
    let mut said = String::new();
    if command.starts_with("CAPABILITY") {
        said.push_str("* CAPABILITY IMAP4rev1 AUTH=XOAUTH2\r\n");
    } else if command.starts_with("LOGIN") && matches!(mode, Mode::Token(_)) {
        return Some(format!("{tag} NO no passwords\r\n"));
    } else if command.starts_with("LOGIN") && mode == Mode::Refusing {
        return Some(format!("{tag} NO [AUTHENTICATIONFAILED] not with {command}\r\n"));
    } else if command.starts_with("EXAMINE") || command.starts_with("SELECT") {
        let validity = match mode {
            Mode::Well(anew) => 7 + anew,
            Mode::Broken => 7 + 2,
            _ => 7,
        };
        let next = messages.len() + 1;
        said = format!("* OK [UIDVALIDITY {validity}] valid\r\n* OK [UIDNEXT {next}] next\r\n");
    } else if command.starts_with("UID SEARCH") {
        match mode {
            Mode::Endless => return Some(format!("* SEARCH{}", " 1".repeat(2 << 20))),
            Mode::Many => return Some("* 1 EXISTS\r\n".repeat(1 << 18)),
            Mode::Gone => return None,
            Mode::Tag => return Some("other OK done\r\n".to_owned()),
            _ => {}
        }
        said.push_str("* SEARCH");
        let from = command
            .split(['D', ':', ' '])
            .rev()
            .find_map(|word| word.parse().ok());
        let from = if command.contains("SINCE") {
            1
        } else {
            from.unwrap_or(1)
        };
        for uid in from..=messages.len() {
            let _ = write!(said, " {uid}");
        }
        said.push_str("\r\n");
    } else if command.contains("RFC822.SIZE") {
        if mode == Mode::Deep {
            return Some(format!("* 1 FETCH (FLAGS {}\r\n", "(".repeat(100_000)));
        }
        if mode == Mode::Unheard {
            return Some(format!("* 1 FETCH (UID 1 X {{{}}}\r\n", "9".repeat(1_000)));
        }
        for (uid, (number, came)) in (1..).zip(messages) {
            let size = text(*number).len();
            let _ = write!(
                said,
                "* {uid} FETCH (FLAGS (\\Seen ($X)) UID {uid} RFC822.SIZE {size} INTERNALDATE \"{came}\")\r\n"
            );
        }
    } else if command.contains("BODY.PEEK[]") {
        if mode == Mode::Huge {
            return Some("* 1 FETCH (UID 1 BODY[] {4294967296}\r\n".to_owned());
        }
        let uid: usize = command.split(' ').nth(2).unwrap().parse().unwrap();
        if mode == Mode::Broken && uid == messages.len() {
            return None;
        }
        let text = text(messages[uid - 1].0);
        said = format!(
            "* {uid} FETCH (UID {uid} BODY[] {{{}}}\r\n{text})\r\n",
            text.len()
        );
    }
    Some(format!("{said}{tag} OK done\r\n"))
}
