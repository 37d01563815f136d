//! Strings with JavaScript's meaning.
//!
//! A text is a sequence of UTF-16 code units. It is kept as UTF-8 whenever it has no lone surrogate, which is
//! nearly always, and as UTF-16 only otherwise; every text has one form only, so equality is that of the form.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// A JavaScript string, shared when cloned.
#[derive(Clone)]
pub struct Text(Form);

#[derive(Clone)]
enum Form {
    /// Well-formed. `units` is the length in UTF-16 code units; equal to the byte length only for ASCII.
    Utf8 { text: Rc<str>, units: usize },
    /// With at least one lone surrogate.
    Utf16(Rc<[u16]>),
}

const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;

impl Text {
    /// The text of UTF-16 code units, lone surrogates included.
    pub fn from_units(units: &[u16]) -> Self {
        match String::from_utf16(units) {
            Ok(text) => Text(Form::Utf8 {
                text: text.into(),
                units: units.len(),
            }),
            Err(_) => Text(Form::Utf16(units.into())),
        }
    }

    /// A text that is known to be ASCII.
    #[inline]
    pub(super) fn of_ascii(text: &str) -> Self {
        debug_assert!(text.is_ascii());
        Text(Form::Utf8 {
            text: text.into(),
            units: text.len(),
        })
    }

    /// The text as UTF-8; lone surrogates read as U+FFFD.
    pub fn to_utf8(&self) -> Cow<'_, str> {
        match &self.0 {
            Form::Utf8 { text, .. } => Cow::Borrowed(text),
            Form::Utf16(units) => Cow::Owned(
                char::decode_utf16(units.iter().copied())
                    .map(|c| c.unwrap_or(REPLACEMENT))
                    .collect(),
            ),
        }
    }

    /// The text as UTF-8, or `None` when it has a lone surrogate.
    pub fn as_str(&self) -> Option<&str> {
        match &self.0 {
            Form::Utf8 { text, .. } => Some(text),
            Form::Utf16(_) => None,
        }
    }

    /// Length in UTF-16 code units, JavaScript's `length`.
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::Utf8 { units, .. } => *units,
            Form::Utf16(units) => units.len(),
        }
    }

    /// Whether it has no characters.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether every unit is ASCII, so that offsets in bytes and in units are the same.
    pub fn is_ascii(&self) -> bool {
        matches!(&self.0, Form::Utf8 { text, units } if text.len() == *units)
    }

    /// The UTF-16 code units.
    pub fn units(&self) -> impl Iterator<Item = u16> + '_ {
        let (utf8, utf16): (&str, &[u16]) = match &self.0 {
            Form::Utf8 { text, .. } => (text, &[]),
            Form::Utf16(units) => ("", units),
        };
        utf8.encode_utf16().chain(utf16.iter().copied())
    }

    /// The code unit at an index; constant time for ASCII.
    pub fn unit_at(&self, index: usize) -> Option<u16> {
        match &self.0 {
            Form::Utf8 { text, units } if text.len() == *units => {
                text.as_bytes().get(index).map(|&b| b.into())
            }
            Form::Utf8 { text, units } if index < *units => text.encode_utf16().nth(index),
            Form::Utf8 { .. } => None,
            Form::Utf16(units) => units.get(index).copied(),
        }
    }

    /// The code unit at an index as a text of its own, JavaScript's `text[index]`.
    pub fn char_at(&self, index: usize) -> Option<Text> {
        self.unit_at(index).map(|unit| Text::from_units(&[unit]))
    }

    /// The units from `start` to before `end`, both cut to the length, JavaScript's `slice` for such indices.
    pub fn slice(&self, start: usize, end: usize) -> Text {
        let end = end.min(self.len());
        let start = start.min(end);
        if start == 0 && end == self.len() {
            return self.clone();
        }
        if let (true, Some(text)) = (self.is_ascii(), self.as_str()) {
            return Text::of_ascii(text.get(start..end).unwrap_or_default());
        }
        Text::from_units(&self.units().skip(start).take(end - start).collect::<Vec<_>>())
    }

    /// The code points as texts, a lone surrogate being one of its own: what `[...text]` gives.
    pub fn code_points(&self) -> impl Iterator<Item = Text> + '_ {
        char::decode_utf16(self.units()).map(|point| match point {
            Ok(character) => Text::from(character),
            Err(lone) => Text(Form::Utf16([lone.unpaired_surrogate()].into())),
        })
    }

    /// This text followed by another. Surrogate halves that meet become one character.
    pub fn concat(&self, other: &Text) -> Text {
        if self.is_empty() {
            return other.clone();
        }
        if other.is_empty() {
            return self.clone();
        }
        match (&self.0, &other.0) {
            (
                Form::Utf8 {
                    text: a,
                    units: a_units,
                },
                Form::Utf8 {
                    text: b,
                    units: b_units,
                },
            ) => {
                let mut text = String::with_capacity(a.len() + b.len());
                text.push_str(a);
                text.push_str(b);
                Text(Form::Utf8 {
                    text: text.into(),
                    units: a_units + b_units,
                })
            }
            _ => Text::from_units(&self.units().chain(other.units()).collect::<Vec<_>>()),
        }
    }

    /// Whether both share their memory, not merely have the same characters.
    #[inline]
    pub(super) fn is_same(&self, other: &Text) -> bool {
        matches!((&self.0, &other.0), (Form::Utf8 { text: a, .. }, Form::Utf8 { text: b, .. }) if Rc::ptr_eq(a, b))
    }

    /// Whether it is this name. Most names that it is not have another length, which is seen without a call.
    #[inline]
    pub(super) fn is_name(&self, name: &str) -> bool {
        matches!(&self.0, Form::Utf8 { text, .. } if text.len() == name.len() && same_bytes(text.as_bytes(), name.as_bytes()))
    }

    /// The number that the text spells when it is an array index as JavaScript writes it: 0 to 2^32 - 2, without
    /// sign or leading zeros.
    pub fn as_index(&self) -> Option<u32> {
        self.as_str().and_then(index_of_name)
    }
}

/// See [`Text::as_index`].
#[inline]
pub(super) fn index_of_name(name: &str) -> Option<u32> {
    match name.as_bytes().first() {
        Some(b'0'..=b'9') => index_of_digits(name),
        _ => None,
    }
}

fn index_of_digits(name: &str) -> Option<u32> {
    let canonical = match name.as_bytes() {
        [b'0'] => true,
        [b'1'..=b'9', rest @ ..] => rest.len() < 10 && rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    if !canonical {
        return None;
    }
    name.parse().ok().filter(|&index| index != u32::MAX)
}

/// Whether two texts of the same length are the same. Nearly all are short, so that comparing words in place beats a call
/// of `memcmp`, which goes byte by byte. The last word overlaps the one before it.
#[inline]
pub(super) fn same_bytes(a: &[u8], b: &[u8]) -> bool {
    if a.as_ptr() == b.as_ptr() {
        return true;
    }
    if let (Some(a_last), Some(b_last)) = (a.last_chunk::<8>(), b.last_chunk::<8>()) {
        let mut words = a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0);
        return u64::from_le_bytes(*a_last) == u64::from_le_bytes(*b_last)
            && words.all(|(a, b)| u64::from_le_bytes(*a) == u64::from_le_bytes(*b));
    }
    if let (Some(a_first), Some(b_first), Some(a_last), Some(b_last)) = (
        a.first_chunk::<4>(),
        b.first_chunk::<4>(),
        a.last_chunk::<4>(),
        b.last_chunk::<4>(),
    ) {
        return u32::from_le_bytes(*a_first) == u32::from_le_bytes(*b_first)
            && u32::from_le_bytes(*a_last) == u32::from_le_bytes(*b_last);
    }
    a.iter().zip(b).all(|(a, b)| a == b)
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Form::Utf8 { text: a, .. }, Form::Utf8 { text: b, .. }) => {
                a.len() == b.len() && same_bytes(a.as_bytes(), b.as_bytes())
            }
            (Form::Utf16(a), Form::Utf16(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Text {}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == Some(other)
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == Some(*other)
    }
}

impl Ord for Text {
    /// By UTF-16 code units, as JavaScript's `<`.
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (Form::Utf8 { text: a, .. }, Form::Utf8 { text: b, .. }) => {
                compare_utf8(a.as_bytes(), b.as_bytes())
            }
            _ => self.units().cmp(other.units()),
        }
    }
}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Order of two UTF-8 texts by their UTF-16 units. It is that of the bytes, except that characters beyond the
/// basic plane (lead byte from F0) come before U+E000 to U+FFFF (lead bytes EE and EF): they begin with D800 to
/// DBFF in UTF-16.
fn compare_utf8(a: &[u8], b: &[u8]) -> Ordering {
    let rank = |byte: u8| if matches!(byte, 0xee | 0xef) { 0xff } else { byte };
    match a.iter().zip(b).find(|(x, y)| x != y) {
        None => a.len().cmp(&b.len()),
        Some((&x, &y)) => rank(x).cmp(&rank(y)).then(x.cmp(&y)),
    }
}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.0 {
            Form::Utf8 { text, .. } => text.hash(state),
            Form::Utf16(units) => units.hash(state),
        }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Text(Form::Utf8 {
            text: text.into(),
            units: units_of(text),
        })
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Text::from(text.as_str())
    }
}

impl From<char> for Text {
    fn from(character: char) -> Self {
        Text::from(&*character.encode_utf8(&mut [0; 4]))
    }
}

/// As `str::is_ascii`, which is made for longer texts.
#[inline]
fn is_ascii(text: &[u8]) -> bool {
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    // The last word overlaps the one before it.
    let Some(last) = text.last_chunk::<8>() else {
        return text.iter().fold(0, |all, byte| all | byte) < 0x80;
    };
    let (words, _) = text.as_chunks::<8>();
    let words = words.iter().chain([last]);
    let all = words.fold(0, |all, word| all | u64::from_le_bytes(*word));
    all & HIGHS == 0
}

/// Each character has one byte that is no continuation; those of four bytes have two units.
fn units_of(text: &str) -> usize {
    if is_ascii(text.as_bytes()) {
        return text.len();
    }
    text.bytes()
        .map(|byte| usize::from(byte & 0xc0 != 0x80) + usize::from(byte >= 0xf0))
        .sum()
}

impl Default for Text {
    fn default() -> Self {
        Text::from("")
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Form::Utf8 { text, .. } => fmt::Debug::fmt(text, f),
            Form::Utf16(units) => write!(f, "Utf16({units:04x?})"),
        }
    }
}

/// For messages; lone surrogates show as U+FFFD.
impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_utf8())
    }
}
