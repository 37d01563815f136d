//! HTTP/1.1 messages (RFC 9112) as the tests' own clients and servers read them: with a `Content-Length`.

use std::io::BufRead;

/// Its first line and its body. `None`: the other side was gone before the end.
pub fn read(reader: &mut impl BufRead) -> Option<(String, Vec<u8>)> {
    let (mut first, mut line, mut length) = (String::new(), String::new(), 0);
    reader.read_line(&mut first).ok()?;
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((first, body))
}
