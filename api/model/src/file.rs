//! Files as they appear in events and outputs: by reference. Knows nothing about their bytes.

use crate::ids::{FileId, RunId, TestId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Name of the field by which a value refers to a file.
pub const MARK: &str = "$file";
/// Bytes of a file's name.
pub const NAME_BYTES_MAX: usize = 255;
/// Bytes of a media type.
pub const TYPE_BYTES_MAX: usize = 127;
/// The type of files of which nothing else is known.
pub const ANY_TYPE: &str = "application/octet-stream";
/// Files that one value can refer to; what refers to more refers to the first of them.
pub const REFERENCES_MAX: usize = 20_000;

/// A file in a run's data: `{"$file", "name", "type", "size", "sha256"}`. It says what the file is; whether somebody may read it
/// is decided where it is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileValue {
    #[serde(rename = "$file")]
    pub id: FileId,
    /// Name, without a path.
    pub name: String,
    #[serde(rename = "type")]
    pub media_type: String,
    /// Bytes.
    pub size: i64,
    /// SHA-256 of the bytes, in hex.
    pub sha256: String,
}

/// What keeps files from being removed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Holder {
    /// A run, by its event or by what it has done.
    Run(RunId),
    /// A test of a pattern.
    Test(TestId),
    /// A value that KeyValue keeps, by its scope and key.
    Value(String, String),
}

impl Holder {
    /// Kind and id, as they are stored.
    pub fn parts(&self) -> (&'static str, String) {
        match self {
            Holder::Run(run) => (Self::RUN, run.to_string()),
            Holder::Test(test) => (Self::TEST, test.to_string()),
            // Scopes have no line breaks.
            Holder::Value(scope, key) => (Self::VALUE, format!("{scope}\n{key}")),
        }
    }

    /// The kind of runs.
    pub const RUN: &'static str = "run";
    /// The kind of tests.
    pub const TEST: &'static str = "test";
    /// The kind of kept values.
    pub const VALUE: &'static str = "value";
}

/// All ids of files that a JSON text refers to, whoever wrote it. Texts without any cost a search for the mark.
pub fn mentioned(json: &str) -> BTreeSet<FileId> {
    let mut found = BTreeSet::new();
    for (at, mark) in json.match_indices("\"$file\"") {
        let rest = json.get(at + mark.len()..).unwrap_or_default().trim_start();
        let Some(rest) = rest.strip_prefix(':') else {
            continue;
        };
        let Some(rest) = rest.trim_start().strip_prefix('"') else {
            continue;
        };
        let id: Option<FileId> = rest.split('"').next().and_then(|id| id.parse().ok());
        found.extend(id);
        if found.len() >= REFERENCES_MAX {
            break;
        }
    }
    found
}

/// All ids of files that bytes with JSON texts in them refer to, such as a module's. A reference has ASCII only, so it is within one text.
pub fn mentioned_within(bytes: &[u8]) -> BTreeSet<FileId> {
    let mut found = BTreeSet::new();
    for chunk in bytes.utf8_chunks() {
        found.extend(mentioned(chunk.valid()));
        if found.len() >= REFERENCES_MAX {
            break;
        }
    }
    found
}

/// Whether a value refers to a file anywhere.
pub fn is_mentioned_in(value: &serde_json::Value) -> bool {
    let mut values = vec![value];
    while let Some(value) = values.pop() {
        match value {
            serde_json::Value::Array(items) => values.extend(items),
            serde_json::Value::Object(members) => {
                if members.contains_key(MARK) {
                    return true;
                }
                values.extend(members.values());
            }
            _ => {}
        }
    }
    false
}

/// The name of a file from outside: its last part, without control characters, of a bounded length; never empty.
pub fn clean_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let mut clean = String::new();
    for c in last.chars().filter(|c| !c.is_control() && !is_direction(*c)) {
        if clean.len() + c.len_utf8() > NAME_BYTES_MAX {
            break;
        }
        clean.push(c);
    }
    match clean.trim().trim_start_matches('.') {
        "" => "file".to_owned(),
        clean => clean.to_owned(),
    }
}

/// Characters that turn the direction of a text around, by which a name could hide its ending.
const fn is_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A media type from outside, without its parameters but for a character set; of anything else [`ANY_TYPE`].
pub fn clean_type(media_type: &str) -> String {
    let mut parts = media_type.split(';');
    let essence = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
    if !is_essence(&essence) {
        return ANY_TYPE.to_owned();
    }
    let charset = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        let value = value.trim().trim_matches('"');
        (name.trim().eq_ignore_ascii_case("charset") && is_token(value)).then(|| value.to_ascii_lowercase())
    });
    let clean = match charset {
        Some(charset) => format!("{essence}; charset={charset}"),
        None => essence,
    };
    match clean.len() <= TYPE_BYTES_MAX {
        true => clean,
        false => ANY_TYPE.to_owned(),
    }
}

fn is_essence(text: &str) -> bool {
    text.split_once('/')
        .is_some_and(|(one, other)| is_token(one) && is_token(other))
}

/// A `token` of RFC 9110, section 5.6.2.
fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_text_refers_to_is_found_wherever_it_stands() {
        let (one, other) = (FileId::new(), FileId::new());
        let text = format!(
            r#"{{"a":[{{"$file" : "{one}","name":"x"}}],"b":{{"$file":"{other}"}},"c":"$file","d":{{"$file":7}},"$file":"no"}}"#
        );
        assert_eq!(mentioned(&text), BTreeSet::from([one, other]));
        assert!(mentioned(r#"{"file": "x"}"#).is_empty());
        let within = [&[0xff, 0xfe][..], text.as_bytes(), &[0x80; 3]].concat();
        assert_eq!(mentioned_within(&within), BTreeSet::from([one, other]));
        assert!(mentioned_within(&[0xff; 100]).is_empty());
    }

    #[test]
    fn names_from_outside_are_names() {
        for (given, clean) in [
            ("photo.jpg", "photo.jpg"),
            ("../../etc/passwd", "passwd"),
            ("C:\\temp\\a b.txt", "a b.txt"),
            (".htaccess", "htaccess"),
            ("..", "file"),
            ("", "file"),
            ("a\r\nb\u{202e}gpj.exe", "abgpj.exe"),
        ] {
            assert_eq!(clean_name(given), clean, "{given:?}");
        }
        assert_eq!(clean_name(&"ä".repeat(200)).len(), 254);
    }

    #[test]
    fn types_from_outside_are_types() {
        for (given, clean) in [
            ("image/PNG", "image/png"),
            (
                "text/csv; charset=\"UTF-8\"; header=present",
                "text/csv; charset=utf-8",
            ),
            ("text", ANY_TYPE),
            ("text/html\r\nX: 1", ANY_TYPE),
            ("", ANY_TYPE),
        ] {
            assert_eq!(clean_type(given), clean, "{given:?}");
        }
    }
}
