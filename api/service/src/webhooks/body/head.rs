//! What the head of a part of a form says, as browsers and programs write it. Knows nothing of what the part holds.

use encoding_rs::{Encoding, UTF_8};
use http::header::CONTENT_DISPOSITION;
use multer::Field;
use percent_encoding::percent_decode_str;

/// The name of a part.
pub fn name(part: &Field<'_>) -> Option<String> {
    part.name().map(unescaped)
}

/// The name of the file in a part; `None`: it is not a file. Browsers send an empty name and no bytes where no file was chosen.
pub fn file_name(part: &Field<'_>) -> Option<String> {
    if let Some(name) = part.file_name() {
        return Some(unescaped(name));
    }
    extended(part.headers().get(CONTENT_DISPOSITION)?.as_bytes())
}

/// Browsers escape three characters in names, and not the `%` itself
/// (<https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#multipart-form-data>).
fn unescaped(name: &str) -> String {
    name.replace("%22", "\"")
        .replace("%0D", "\r")
        .replace("%0A", "\n")
}

/// A name that stands in `filename*` with its character set (RFC 8187), as some programs write names that are not ASCII.
fn extended(disposition: &[u8]) -> Option<String> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let parameters = disposition.split(|&byte| {
        let escapes = byte == b'\\' && is_quoted && !is_escaped;
        if byte == b'"' && !is_escaped {
            is_quoted = !is_quoted;
        }
        is_escaped = escapes;
        byte == b';' && !is_quoted
    });
    let mut parameters = parameters.filter_map(|parameter| std::str::from_utf8(parameter).ok());
    parameters.find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let is_extended = name.trim().eq_ignore_ascii_case("filename*");
        is_extended.then(|| of_extended(value.trim().trim_matches('"')))
    })
}

/// `<character set>'<language>'<percent-encoded>`; what is not written like this is the name itself.
fn of_extended(value: &str) -> String {
    let mut pieces = value.splitn(3, '\'');
    let (Some(charset), Some(_), Some(encoded)) = (pieces.next(), pieces.next(), pieces.next()) else {
        return value.to_owned();
    };
    let charset = Encoding::for_label_no_replacement(charset.as_bytes()).unwrap_or(UTF_8);
    let bytes: Vec<u8> = percent_decode_str(encoded).collect();
    let (name, _) = charset.decode_without_bom_handling(&bytes);
    name.into_owned()
}

#[cfg(test)]
mod tests {
    use super::{extended, unescaped};

    #[test]
    fn names_with_a_character_set_are_decoded() {
        for (disposition, name) in [
            (
                "form-data; name=\"f\"; filename*=UTF-8''gr%C3%BC%C3%9Fe.txt",
                Some("grüße.txt"),
            ),
            ("form-data; FileName* = utf-8'de'%E2%82%AC.txt", Some("€.txt")),
            ("form-data; filename*=\"UTF-8''a%20b\"", Some("a b")),
            ("form-data; filename*=iso-8859-1''%FC", Some("ü")),
            ("form-data; filename*=none-such''%C3%BC", Some("ü")),
            ("form-data; filename*=plain.txt", Some("plain.txt")),
            ("form-data; filename*=", Some("")),
            ("form-data; name=\"a;filename*=UTF-8''x\"", None),
            ("form-data; name=\"a\\\";filename*=UTF-8''x\"", None),
            ("form-data; name=\"f\"", None),
        ] {
            assert_eq!(extended(disposition.as_bytes()).as_deref(), name, "{disposition}");
        }
    }

    #[test]
    fn only_what_browsers_escape_is_unescaped() {
        assert_eq!(unescaped("a%22b%0D%0Ac 100%25 %3B"), "a\"b\r\nc 100%25 %3B");
    }
}
