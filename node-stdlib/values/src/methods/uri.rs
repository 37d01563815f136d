//! `encodeURI` and its relatives (ECMAScript 2025, 19.2.6).

use super::{Exception, Kind, Outcome};
use crate::Text;

/// What `encodeURI` leaves as it is, besides letters, digits and marks.
pub(super) const RESERVED_AND_HASH: &str = ";/?:@&=+$,#";
const MARKS: &str = "-_.!~*'()";

pub(super) fn encode(text: &Text, kept: &str) -> Outcome {
    let Some(text) = text.as_str() else {
        return Err(malformed(
            "the text has half a character (a lone surrogate) in it",
        ));
    };
    let mut encoded = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii_alphanumeric() || MARKS.contains(character) || kept.contains(character) {
            encoded.push(character);
        } else {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                encoded.push('%');
                for half in [byte >> 4, byte & 15] {
                    encoded.push(char::from(b"0123456789ABCDEF"[usize::from(half)]));
                }
            }
        }
    }
    Ok(encoded.into())
}

/// Escapes of the characters in `kept` stay as they are.
pub(super) fn decode(text: &Text, kept: &str) -> Outcome {
    let Some(utf8) = text.as_str() else {
        return decode_units(text, kept);
    };
    decoded(utf8, kept).map(Into::into)
}

/// The well-formed parts of a text by themselves: an escape never reaches over a lone surrogate.
fn decode_units(text: &Text, kept: &str) -> Outcome {
    let mut all = crate::builder::TextBuilder::default();
    let mut well_formed = String::new();
    for point in text.code_points() {
        match point.as_str() {
            Some(point) => well_formed.push_str(point),
            None => {
                all.push_str(&decoded(&well_formed, kept)?);
                all.push(&point);
                well_formed.clear();
            }
        }
    }
    all.push_str(&decoded(&well_formed, kept)?);
    Ok(all.finish().into())
}

fn decoded(text: &str, kept: &str) -> Result<String, Exception> {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, from)) = rest.find('%').and_then(|at| rest.split_at_checked(at)) {
        decoded.push_str(before);
        let first =
            escape(from).ok_or_else(|| malformed("a `%` is not followed by two hexadecimal digits"))?;
        let count = match first {
            0..0x80 => 1,
            0xc0..0xe0 => 2,
            0xe0..0xf0 => 3,
            _ => 4,
        };
        let mut bytes = Vec::with_capacity(4);
        for at in 0..count {
            let byte = from.get(at * 3..).and_then(escape);
            bytes.push(byte.ok_or_else(|| malformed("an escaped character is incomplete"))?);
        }
        let character = str::from_utf8(&bytes).map_err(|_| malformed("the escapes are not valid UTF-8"))?;
        let escaped = count * 3;
        if kept.contains(character) {
            decoded.push_str(&from[..escaped]);
        } else {
            decoded.push_str(character);
        }
        rest = &from[escaped..];
    }
    decoded.push_str(rest);
    Ok(decoded)
}

/// The byte that `%XX` at the start means.
fn escape(text: &str) -> Option<u8> {
    let [b'%', high, low, ..] = text.as_bytes() else {
        return None;
    };
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    u8::try_from(digit(high)? << 4 | digit(low)?).ok()
}

fn malformed(what: &str) -> Exception {
    Exception::new(Kind::Uri, format!("URI malformed: {what}"))
}
