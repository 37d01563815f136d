//! Any bytes as an e-mail, and pieces of MIME in any order and number: they are read or refused, and what is answered is an answer.

use heddle_execution::mail::{answer, answered};

/// What makes parts, in the spellings that mail-parser takes for the same.
const PIECES: [&[u8]; 16] = [
    b"Content-Type: message/rfc822\r\n\r\n",
    b"content-TYPE:\n\tMessage(x)/RFC822\n\n",
    b"Content-Type: multipart/mixed; boundary=a\r\n\r\n",
    b"Content-Type: multipart/alternative; boundary=\"a b \"\r\n\r\n",
    b"Content-Type: multipart/digest; boundary*0=a; boundary*1=b\r\n\r\n",
    b"Content-Type: multipart/related; boundary*=utf-8''a%2d\r\n\r\n",
    b"Content-Transfer-Encoding: base64\r\n",
    b"Content-Transfer-Encoding: quoted-printable\r\n",
    b"Content-Type: text/html; charset=utf-7\r\n\r\n",
    b"--a\r\n",
    b"--a--\r\n",
    b"--ab\n",
    b"--a b \r\n",
    b"--a-\r\n\r\n",
    b"Subject: =?utf-8?B?",
    b"\r\n",
];

/// Checks an input.
pub fn check(data: &[u8]) {
    read(data);
    // The same bytes as numbers of pieces; what is no number stands for itself.
    let mut message = b"Subject: x\r\n".to_vec();
    for byte in data {
        match PIECES.get(usize::from(*byte)) {
            Some(piece) => message.extend_from_slice(piece),
            None => message.push(*byte),
        }
    }
    read(&message);
    // Deeper than any stack.
    if data.len() < 64 {
        let deep = message.repeat(100_000 / message.len().max(1));
        read(&deep);
    }
}

/// The process that reads messages and the service that asks it agree on what an answer may be.
fn read(raw: &[u8]) {
    if let Err(reason) = answered(answer(raw)) {
        panic!("{reason}");
    }
}
