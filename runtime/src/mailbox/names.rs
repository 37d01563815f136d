//! Names of mailboxes as IMAP writes them (RFC 3501, section 5.1.3): UTF-7 with `&` in place of `+`, in a quoted string. Servers that
//! take UTF-8 take this as well.

use base64::Engine;
use base64::alphabet::IMAP_MUTF7;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};

const UTF7: GeneralPurpose = GeneralPurpose::new(&IMAP_MUTF7, NO_PAD);

/// A text as a quoted string. It has no line breaks: whoever gives it has looked.
pub(super) fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}

/// The name of a mailbox as a quoted string.
pub(super) fn mailbox(name: &str) -> String {
    let mut written = String::new();
    let mut units: Vec<u8> = Vec::new();
    let close = |units: &mut Vec<u8>, written: &mut String| {
        if !units.is_empty() {
            written.push('&');
            written.push_str(&UTF7.encode(units.as_slice()));
            written.push('-');
            units.clear();
        }
    };
    for char in name.chars() {
        if matches!(char, ' '..='~') {
            close(&mut units, &mut written);
            written.push(char);
            if char == '&' {
                written.push('-');
            }
            continue;
        }
        let mut pair = [0; 2];
        for unit in char.encode_utf16(&mut pair).iter() {
            units.extend_from_slice(&unit.to_be_bytes());
        }
    }
    close(&mut units, &mut written);
    quoted(&written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_as_the_standard_has_them() {
        for (name, written) in [
            ("INBOX", r#""INBOX""#),
            ("Tom & \"Jerry\\", r#""Tom &- \"Jerry\\""#),
            ("Entwürfe", r#""Entw&APw-rfe""#),
            ("~peter/mail/台北/日本語", r#""~peter/mail/&U,BTFw-/&ZeVnLIqe-""#),
            ("\u{1f4ec}", r#""&2D3c7A-""#),
        ] {
            assert_eq!(mailbox(name), written);
        }
    }
}
