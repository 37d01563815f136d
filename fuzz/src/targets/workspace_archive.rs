//! A part of a workspace's archive as it came; or, locked with the archive's key, what is packed in one; or its rows: as the first byte says. In the latter two a
//! line has the part's name and, behind a blank, how many rows it says that it has. It is read or refused; what was written is read again, in its place only; and
//! no piece of a file leads elsewhere.

use heddle_service::archives::Manifest;
use heddle_service::archives::foreign::{apart, enclosed, piece, read, written};
use heddle_store::archive::is_row;
use heddle_store::vault::ArchiveKey;
use serde_json::Value;

const ARCHIVE: &str = "6f1d4c0e9b7a4f5d8c3e2a1b0f9e8d7c";
const NUMBER: i64 = 3;
/// Bytes of a name, with which the line before a part is short enough whatever is escaped in it.
const NAME_BYTES_MAX: usize = 100;
/// Directories below each other.
const DEPTH_MAX: usize = 8;

/// Checks an input.
pub fn check(data: &[u8]) {
    let Some((first, data)) = data.split_first() else {
        return;
    };
    let key = ArchiveKey::new(&[7; 32]);
    if first % 3 == 0 {
        as_it_came(&key, data);
        return;
    }
    let Some(at) = data.iter().position(|byte| *byte == b'\n') else {
        return;
    };
    let (line, content) = (String::from_utf8_lossy(&data[..at]), &data[at + 1..]);
    let (of, count) = line.split_once(' ').unwrap_or((&*line, ""));
    if of.len() > NAME_BYTES_MAX {
        return;
    }
    if first % 3 == 1 {
        let Ok(count) = count.parse() else {
            return;
        };
        let part = enclosed((&key, ARCHIVE), (NUMBER, of, count), content).unwrap();
        let (head, bytes) = apart(&part).unwrap();
        if let Ok(rows) = read((&key, ARCHIVE), &head, bytes) {
            assert_eq!(rows.len() as u64, count);
        }
        return;
    }
    if let Ok(text) = std::str::from_utf8(content) {
        rows_of(&key, of, text);
    }
}

/// Nobody has written it with the key.
fn as_it_came(key: &ArchiveKey, part: &[u8]) {
    if let Ok((head, bytes)) = apart(part) {
        assert_eq!(head.bytes, bytes.len());
        assert!(read((key, ARCHIVE), &head, bytes).is_err());
    }
    if let Ok(manifest) = serde_json::from_slice::<Manifest>(part) {
        let again = serde_json::to_vec(&manifest).unwrap();
        assert_eq!(serde_json::from_slice::<Manifest>(&again).unwrap(), manifest);
    }
}

fn rows_of(key: &ArchiveKey, of: &str, text: &str) {
    let lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    let part = written((key, ARCHIVE), NUMBER, of, &lines).unwrap();
    let (mut head, bytes) = apart(&part).unwrap();
    assert_eq!((head.part, head.of.as_str()), (NUMBER, of));
    if let Ok(rows) = read((key, ARCHIVE), &head, bytes) {
        assert_eq!(rows.len(), lines.len());
        for (row, line) in rows.iter().zip(&lines) {
            let line: Value = serde_json::from_str(line).unwrap();
            assert_eq!(line.as_object(), Some(row));
            is_row(of, row);
            if let Ok(piece) = piece(row) {
                assert!((1..=DEPTH_MAX).contains(&piece.names.len()));
                let leads_on = |name: &&str| !name.is_empty() && !matches!(*name, "." | "..");
                assert!(piece.names.iter().all(leads_on));
                assert!(!piece.names.iter().any(|name| name.contains(['/', '\0'])));
            }
        }
    }
    head.part += 1;
    assert!(read((key, ARCHIVE), &head, bytes).is_err());
}
