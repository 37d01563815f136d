//! In what encoding the text of a file is written, and that text. A file may be read in parts that are cut anywhere.
//!
//! Encodings and their labels are those of the Encoding Standard. ISO-2022-JP is left out: what a byte means there depends on all
//! bytes before it, and a part has none of these.

use encoding_rs::{DecoderResult, Encoding, ISO_2022_JP, UTF_8, UTF_16BE, UTF_16LE};
use heddle_sandbox::EffectError;

/// What nodes ask for if they don't know better than the file.
const AUTO: &str = "auto";
/// As many bytes are enough for a byte order mark.
pub(super) const MARK_BYTES: u64 = 3;
/// Characters of an unknown label that are told.
const LABEL_SHOWN: usize = 40;

/// An encoding that files are read in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Charset(&'static Encoding);

impl Charset {
    /// By what the node asks for, the media types that the file has, and the file's first bytes if they are there: a byte order
    /// mark is right, whatever else is said. Nodes of modules that were compiled before there was a choice ask for nothing, which
    /// is UTF-8.
    pub fn of(
        asked: Option<&str>,
        media_types: [&str; 2],
        beginning: Option<&[u8]>,
    ) -> Result<Self, EffectError> {
        let Some(label) = asked else {
            return Ok(Charset(UTF_8));
        };
        let named = match label {
            AUTO => media_types.into_iter().find_map(declared).unwrap_or(UTF_8),
            label => encoding_of(label).ok_or_else(|| unknown(label))?,
        };
        let marked = beginning
            .and_then(Encoding::for_bom)
            .map(|(encoding, _)| encoding);
        Ok(Charset(marked.unwrap_or(named)))
    }

    /// Its name, which is a label of it as well.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// Whether offsets in the text are those in the file.
    pub fn is_utf8(self) -> bool {
        self.0 == UTF_8
    }

    /// The text of bytes that begin with a character, and how many of them it has: not those at the end of which only a part of a
    /// character is there. If they are not text, where that begins.
    pub fn decode(self, bytes: Vec<u8>) -> Result<(String, usize), usize> {
        let bytes = match self.is_utf8() {
            true => match String::from_utf8(bytes) {
                Ok(text) => {
                    let taken = text.len();
                    return Ok((text, taken));
                }
                Err(error) => error.into_bytes(),
            },
            false => bytes,
        };
        let mut decoder = self.0.new_decoder_without_bom_handling();
        let room = decoder.max_utf8_buffer_length_without_replacement(bytes.len());
        let mut text = String::with_capacity(room.unwrap_or_default());
        let (result, read) = decoder.decode_to_string_without_replacement(&bytes, &mut text, false);
        match result {
            DecoderResult::InputEmpty => {}
            DecoderResult::Malformed(length, after) => {
                return Err(read.saturating_sub(usize::from(length) + usize::from(after)));
            }
            DecoderResult::OutputFull => return Err(read),
        }
        // What it has of a character that does not end, it tells when it hears that nothing follows.
        text.reserve(16);
        let begun = match decoder.decode_to_string_without_replacement(&[], &mut text, true) {
            (DecoderResult::Malformed(length, _), _) => usize::from(length),
            _ => 0,
        };
        // There was room for the longest text that could have come of it.
        text.shrink_to_fit();
        Ok((text, read.saturating_sub(begun)))
    }

    /// How many bytes at the beginning of a part belong to a character that begins before it, where that can be seen.
    pub fn cut_before(self, bytes: &[u8], start: u64) -> usize {
        if start == 0 {
            return 0;
        }
        if self.is_utf8() {
            let continues = |byte: &&u8| **byte & 0xc0 == 0x80;
            return bytes.iter().take(3).take_while(continues).count();
        }
        if !self.has_units() {
            return 0;
        }
        let cut = odd(start);
        let unit = bytes.get(cut..).and_then(|rest| rest.first_chunk::<2>());
        let high = unit.map(|[first, second]| if self.0 == UTF_16BE { *first } else { *second });
        // The second half of a surrogate pair.
        match high {
            Some(0xdc..=0xdf) => cut + 2,
            _ => cut.min(bytes.len()),
        }
    }

    /// Where the last line of a part ends that is there to its end.
    pub fn line_end(self, bytes: &[u8], start: u64) -> Option<usize> {
        if !self.has_units() {
            // In all the others this byte is never a part of another character.
            return bytes.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
        }
        let feed = match self.0 == UTF_16BE {
            true => [0, b'\n'],
            false => [b'\n', 0],
        };
        let cut = odd(start);
        let mut units = bytes.get(cut..)?.chunks_exact(2);
        let at = units.rposition(|unit| unit == feed)?;
        Some(cut + (at + 1) * 2)
    }

    /// Whether characters are units of two bytes.
    fn has_units(self) -> bool {
        self.0 == UTF_16LE || self.0 == UTF_16BE
    }
}

/// One byte, if an offset is in the midst of a unit of two.
fn odd(offset: u64) -> usize {
    usize::from(offset % 2 == 1)
}

/// The encoding that a media type names, if it is one that is read.
fn declared(media_type: &str) -> Option<&'static Encoding> {
    let label = media_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let is_charset = name.trim().eq_ignore_ascii_case("charset");
        is_charset.then(|| value.trim().trim_matches('"'))
    })?;
    encoding_of(label)
}

fn encoding_of(label: &str) -> Option<&'static Encoding> {
    Encoding::for_label_no_replacement(label.as_bytes()).filter(|encoding| *encoding != ISO_2022_JP)
}

fn unknown(label: &str) -> EffectError {
    let shown: String = label
        .chars()
        .filter(|character| !character.is_control())
        .take(LABEL_SHOWN)
        .collect();
    EffectError::parameter(format!(
        "Parameter `encoding` takes `auto` or the label of an encoding, such as utf-8, windows-1252, iso-8859-15, utf-16le or \
         shift_jis, but it is the string \"{shown}\"."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn charset(label: &str) -> Charset {
        Charset::of(Some(label), ["", ""], None).unwrap()
    }

    #[test]
    fn a_mark_comes_before_what_is_asked_for_and_that_before_the_type() {
        let name = |asked: Option<&str>, media_type: &str, beginning: &[u8]| {
            Charset::of(asked, ["", media_type], Some(beginning))
                .unwrap()
                .name()
        };
        let latin = "text/csv; header=present; Charset=\"ISO-8859-1\"";
        assert_eq!(name(Some("auto"), latin, b"a"), "windows-1252");
        assert_eq!(name(Some("auto"), "text/csv", b"a"), "UTF-8");
        assert_eq!(name(Some("auto"), "text/csv; charset=klingon", b"a"), "UTF-8");
        assert_eq!(name(Some("ISO-8859-15"), latin, b"a"), "ISO-8859-15");
        assert_eq!(name(Some("latin1"), latin, b"\xef\xbb\xbfa"), "UTF-8");
        assert_eq!(name(Some("auto"), latin, b"\xff\xfea\0"), "UTF-16LE");
        assert_eq!(name(Some("utf-16"), latin, b"\xfe\xff\0a"), "UTF-16BE");
        // As it was before nodes asked.
        assert_eq!(name(None, latin, b"\xff\xfea\0"), "UTF-8");
        for label in ["klingon\n", "iso-2022-jp", "iso-2022-kr", ""] {
            let refused = Charset::of(Some(label), [latin, latin], None).unwrap_err();
            let said = label.trim_end();
            let end = format!("but it is the string \"{said}\".");
            assert!(refused.message.ends_with(&end), "{refused}");
        }
    }

    #[test]
    fn a_text_is_the_same_wherever_it_is_cut() {
        for (label, text) in [
            ("utf-8", "aß€𝄞\n"),
            ("windows-1252", "aß€ÿ\n"),
            ("iso-8859-15", "aß€Ž\n"),
            ("shift_jis", "aソ表ｱ\n"),
            ("euc-jp", "a表ｱ\n"),
            ("gb18030", "a中€ß𝄞\n"),
            ("big5", "a功能\n"),
            ("euc-kr", "a한글\n"),
        ] {
            let (bytes, _, is_lossy) = charset(label).0.encode(text);
            assert!(!is_lossy, "{label}");
            cut_anywhere(label, &bytes);
        }
        let units: Vec<u16> = "aß€𝄞\n".encode_utf16().collect();
        let bytes = |of: fn(u16) -> [u8; 2]| units.iter().flat_map(|unit| of(*unit)).collect::<Vec<u8>>();
        cut_anywhere("utf-16le", &bytes(u16::to_le_bytes));
        cut_anywhere("utf-16be", &bytes(u16::to_be_bytes));
    }

    fn cut_anywhere(label: &str, bytes: &[u8]) {
        let charset = charset(label);
        let (whole, taken) = charset.decode(bytes.to_vec()).unwrap();
        assert_eq!(taken, bytes.len(), "{label}");
        for cut in 0..bytes.len() {
            let (first, taken) = charset.decode(bytes[..cut].to_vec()).unwrap();
            assert!(taken <= cut && cut - taken < 4, "{label} at {cut}");
            let (rest, _) = charset.decode(bytes[taken..].to_vec()).unwrap();
            assert_eq!(first + &rest, whole, "{label} at {cut}");
        }
    }

    #[test]
    fn what_is_no_text_has_a_place() {
        let place = |label: &str, bytes: &[u8]| charset(label).decode(bytes.to_vec());
        assert_eq!(place("utf-8", b"ab\xffc"), Err(2));
        assert_eq!(place("shift_jis", b"ab\xffc"), Err(2));
        assert_eq!(place("utf-16le", b"a\0\0\xdca\0"), Err(2));
        assert_eq!(place("utf-8", b"ab\xc3"), Ok(("ab".to_owned(), 2)));
        assert_eq!(place("utf-16le", b"a\0\x34\xd8\x1e"), Ok(("a".to_owned(), 2)));
    }

    #[test]
    fn edges_and_ends_of_lines_are_those_of_the_encoding() {
        let utf8 = charset("utf-8");
        assert_eq!(utf8.cut_before(&"€a".as_bytes()[1..], 0), 0);
        assert_eq!(utf8.cut_before(&"€a".as_bytes()[1..], 1), 2);
        let le = charset("utf-16le");
        assert_eq!(le.cut_before(b"\0b\0", 1), 1);
        assert_eq!(le.cut_before(b"", 1), 0);
        assert_eq!(le.cut_before(b"\x1e\xddb\0", 2), 2);
        assert_eq!(charset("utf-16be").cut_before(b"\xdd\x1e\0b", 2), 2);
        assert_eq!(charset("latin1").cut_before(b"\x80\x80", 2), 0);
        // U+0A0A is not an end of a line, and neither are halves of two characters.
        assert_eq!(le.line_end(b"a\0\n\0\n\nb\n\0c", 0), Some(4));
        assert_eq!(le.line_end(b"\0\n\0b\0", 1), Some(3));
        assert_eq!(charset("utf-16be").line_end(b"\0a\0\n\0b", 0), Some(4));
        assert_eq!(charset("latin1").line_end(b"a\nb", 0), Some(2));
        assert_eq!(le.line_end(b"a\n", 0), None);
    }
}
