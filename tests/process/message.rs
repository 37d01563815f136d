//! HTTP/1.1 messages (RFC 9112) as the tests' own clients and servers read them: with a `Content-Length`.

use std::io::BufRead;

/// A message.
pub struct Message {
    pub first: String,
    /// The headers' lines, in lower case.
    pub headers: Vec<String>,
    pub body: Vec<u8>,
}

impl Message {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            (found == name).then(|| value.trim())
        })
    }
}

/// `None`: the other side was gone before the end.
pub fn read(reader: &mut impl BufRead) -> Option<Message> {
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let mut message = Message {
        first,
        headers: Vec::new(),
        body: Vec::new(),
    };
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line.trim().is_empty() {
            break;
        }
        message.headers.push(line.to_ascii_lowercase());
    }
    let length = message.header("content-length").map_or(Ok(0), str::parse).ok()?;
    message.body = vec![0; length];
    reader.read_exact(&mut message.body).ok()?;
    Some(message)
}
