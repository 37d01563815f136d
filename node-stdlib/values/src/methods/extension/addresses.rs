//! Addresses in text, as n8n finds them: of mail, of pages and of servers.

use super::markdown::is_line_end;
use crate::number::is_space;
use std::ops::Range;

/// Whether the text is the address of a page: a scheme, a server, and nothing with spaces.
pub(super) fn is_url(text: &str) -> bool {
    let Some(rest) = scheme(text) else { return false };
    begins_with_server(rest) && !rest.contains(is_space)
}

/// The first address of a page.
pub(super) fn find_url(text: &str) -> Option<&str> {
    let mut from = 0;
    while let Some(at) = next_scheme(text, from) {
        let found = text.get(at..)?;
        let rest = scheme(found)?;
        if begins_with_server(rest) {
            let length = found.find(is_space).unwrap_or(found.len());
            return found.get(..length);
        }
        from = at + 1;
    }
    None
}

/// What stands behind the server of an address.
pub(super) fn url_path(text: &str) -> Option<String> {
    url::Url::parse(text).ok().map(|url| url.path().to_owned())
}

/// Whether the text is the name of a server, with or without what may follow it in an address.
pub(super) fn is_domain(text: &str) -> bool {
    server(text).is_some()
}

/// The server of an address: of mail, of a page, or with no scheme at all.
pub(super) fn domain(text: &str) -> Option<&str> {
    if is_email(text) {
        return find_email(text).and_then(|found| text.get(found.domain));
    }
    let text = scheme(text).unwrap_or(text);
    let text = without_prefix(text, "mailto:").unwrap_or(text);
    server(text.strip_prefix("//").unwrap_or(text))
}

/// Whether the text has an address of mail and no space.
pub(super) fn is_email(text: &str) -> bool {
    !text.contains(' ') && find_email(text).is_some()
}

/// The first address of mail.
pub(super) fn email(text: &str) -> Option<&str> {
    find_email(text).and_then(|found| text.get(found.whole))
}

/// Where an address of mail is, and its server.
struct Email {
    whole: Range<usize>,
    domain: Range<usize>,
}

fn find_email(text: &str) -> Option<Email> {
    let mut at = 0;
    // Up to here, no quoted name is followed by a server.
    let mut unquoted = 0;
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        if c == '"' && at >= unquoted {
            let line = text.get(at..)?;
            let end = at + line.find(is_line_end).unwrap_or(line.len());
            match quoted_email(text, at, end) {
                Some(found) => return Some(found),
                None => unquoted = end,
            }
        }
        let end = at + name_length(text.get(at..)?);
        if end > at && text.get(end..)?.starts_with('@') {
            let server = end + 1;
            if let Some(length) = server_of_mail(text.get(server..)?) {
                return Some(Email {
                    whole: at..server + length,
                    domain: server..server + length,
                });
            }
        }
        // A name that leads to no server does so from none of its characters.
        at = end.max(at + c.len_utf8());
    }
    None
}

/// `"any name"@server`: the longest name of the line.
fn quoted_email(text: &str, start: usize, line_end: usize) -> Option<Email> {
    let mut end = line_end;
    while let Some(at) = text.get(start + 1..end)?.rfind("\"@") {
        let server = start + 1 + at + 2;
        if at > 0
            && let Some(length) = server_of_mail(text.get(server..)?)
        {
            return Some(Email {
                whole: start..server + length,
                domain: server..server + length,
            });
        }
        end = start + 1 + at;
    }
    None
}

/// Bytes of names with single dots between them.
fn name_length(text: &str) -> usize {
    let is_part = |c: char| !is_space(c) && !"<>()[]\\.,;:@\"".contains(c);
    let mut length = 0;
    let mut before_dot = 0;
    for c in text.chars() {
        if is_part(c) {
            length += c.len_utf8();
            before_dot = length;
        } else if c == '.' && before_dot == length && length > 0 {
            length += 1;
        } else {
            break;
        }
    }
    before_dot
}

/// Bytes of a server at the start of a text, behind the `@`.
fn server_of_mail(text: &str) -> Option<usize> {
    if let Some(inner) = text.strip_prefix('[') {
        let length = inner.find(']')?;
        return is_ip(inner.get(..length)?).then_some(length + 2);
    }
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
    let bytes = text.as_bytes();
    let (mut found, mut label) = (None, 0);
    for (at, byte) in bytes.iter().enumerate() {
        if *byte == b'.' && at > label {
            label = at + 1;
            let rest = bytes.get(label..).unwrap_or_default();
            let letters = rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
            found = (letters >= 2).then_some(label + letters).or(found);
        } else if !is_part(byte) {
            break;
        }
    }
    found
}

/// What stands behind `http://`, `https://` or `ftp://`.
fn scheme(text: &str) -> Option<&str> {
    let schemes = ["https://", "http://", "ftp://"];
    schemes.iter().find_map(|scheme| without_prefix(text, scheme))
}

/// Where the next scheme may begin.
fn next_scheme(text: &str, from: usize) -> Option<usize> {
    let mut from = from;
    loop {
        let at = from + text.get(from..)?.find("://")?;
        let before = text.get(..at)?;
        let begins = ["https", "http", "ftp"].iter().find_map(|scheme| {
            let start = at.checked_sub(scheme.len())?;
            let own = before.get(start..)?;
            own.eq_ignore_ascii_case(scheme).then_some(start)
        });
        match begins {
            Some(start) if start >= from => return Some(start),
            _ => from = at + 3,
        }
    }
}

fn without_prefix<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// The server that a text begins with, if what follows it belongs to an address and has no spaces.
fn server(text: &str) -> Option<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let length = text.find(|c| !is_part(c)).unwrap_or(text.len());
    let (server, rest) = text.split_at_checked(length)?;
    let rest = match rest.strip_prefix(':') {
        Some(port) => {
            let after = port.trim_start_matches(|c: char| c.is_ascii_digit());
            (after.len() < port.len()).then_some(after)?
        }
        None => rest,
    };
    let is_end = rest.is_empty() || (rest.starts_with(['/', '?', '#']) && !rest.contains(is_space));
    let own = without_prefix(server, "www.").unwrap_or(server);
    (is_end && (is_server(server) || is_server(own))).then_some(server)
}

/// `localhost`, an IPv4 address, or names with dots of which the last can be a top-level domain.
fn is_server(text: &str) -> bool {
    if text.eq_ignore_ascii_case("localhost") || is_ip(text) {
        return true;
    }
    let Some((labels, last)) = text.rsplit_once('.') else {
        return false;
    };
    let is_last = match without_prefix(last, "xn--") {
        Some(rest) => !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_alphanumeric()),
        None => last.len() >= 2 && last.bytes().all(|byte| byte.is_ascii_alphabetic()),
    };
    is_last && labels.split('.').all(|label| !label.is_empty())
}

fn is_ip(text: &str) -> bool {
    let is_part =
        |part: &str| (1..=3).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    text.split('.').count() == 4 && text.split('.').all(is_part)
}

/// Whether a text begins with a server, whatever follows.
fn begins_with_server(text: &str) -> bool {
    let own = without_prefix(text, "www.");
    [Some(text), own].into_iter().flatten().any(is_server_first)
}

fn is_server_first(text: &str) -> bool {
    if without_prefix(text, "localhost").is_some() || begins_with_ip(text) {
        return true;
    }
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let bytes = text.as_bytes();
    let mut label = 0;
    for (at, byte) in bytes.iter().enumerate() {
        if *byte == b'.' && at > label {
            label = at + 1;
            let rest = bytes.get(label..).unwrap_or_default();
            let letters = rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
            let is_punycode = matches!(rest, [b'x' | b'X', b'n' | b'N', b'-', b'-', next, ..] if next.is_ascii_alphanumeric());
            if letters >= 2 || is_punycode {
                return true;
            }
        } else if !is_part(byte) {
            return false;
        }
    }
    false
}

fn begins_with_ip(text: &str) -> bool {
    let mut parts = text.splitn(4, '.');
    let first: Vec<&str> = parts.by_ref().take(3).collect();
    let is_number =
        |part: &&str| (1..=3).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    let last = parts.next().unwrap_or_default();
    first.len() == 3 && first.iter().all(is_number) && last.starts_with(|c: char| c.is_ascii_digit())
}
