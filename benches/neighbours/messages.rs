//! Messages as large and as nested as may be, and one that is nested deeper. Each is without the first fields of its head, and ends
//! with a line's end; no line begins with a dot.

use std::fmt::Write as _;
use std::sync::Arc;

/// Bytes of the attachment of the large one, as lines of base64 with 72 characters: a message may have 10 MiB.
const ATTACHED_BYTES: usize = 9 << 20;
const LINE: &str = "QUJDREVGR0hJQUJDREVGR0hJQUJDREVGR0hJQUJDREVGR0hJQUJDREVGR0hJQUJDREVGR0hJ\r\n";
/// Levels and parts of the nested one: 50 and 1,000 are allowed.
const LEVELS: usize = 45;
const PARTS: usize = 900;
/// Levels of the one that is refused.
const TOO_MANY_LEVELS: usize = 20_000;
/// Fields of the one that is all head, and bytes of each: 10,000 and 512 KiB are allowed.
const FIELDS: usize = 9_000;
const FIELD_BYTES: usize = 55;

pub fn all() -> Arc<[Vec<u8>]> {
    Arc::from([large(), nested(), headed(), levels(TOO_MANY_LEVELS)].map(String::into_bytes))
}

fn large() -> String {
    let lines = LINE.repeat(ATTACHED_BYTES / LINE.len());
    format!(
        "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nHi\r\n--b\r\n\
         Content-Type: application/octet-stream\r\nContent-Disposition: attachment; filename=\"a.bin\"\r\n\
         Content-Transfer-Encoding: base64\r\n\r\n{lines}--b--\r\n"
    )
}

/// Parts within parts within parts, and in the innermost many attachments.
fn nested() -> String {
    let mut message = levels(LEVELS);
    message.push_str("Content-Type: text/plain\r\n\r\nHi\r\n");
    let innermost = LEVELS - 1;
    let content = "z".repeat(1_000);
    for number in 0..PARTS {
        // Writing to a String can't fail.
        let _ = write!(
            message,
            "--b{innermost}\r\nContent-Type: text/plain\r\n\
             Content-Disposition: attachment; filename=\"{number}.txt\"\r\n\r\n{content}\r\n"
        );
    }
    for level in (0..LEVELS).rev() {
        let _ = write!(message, "--b{level}--\r\n");
    }
    message
}

fn headed() -> String {
    let value = "v".repeat(FIELD_BYTES - 10);
    let fields: Vec<String> = (0..FIELDS)
        .map(|number| format!("X-{number}: {value}\r\n"))
        .collect();
    format!("{}\r\nHi\r\n", fields.concat())
}

/// The beginnings of so many parts, each in the one before.
fn levels(count: usize) -> String {
    let begun: Vec<String> = (0..count)
        .map(|level| format!("Content-Type: multipart/mixed; boundary=b{level}\r\n\r\n--b{level}\r\n"))
        .collect();
    begun.concat()
}
