//! Texts that a message had lately. Many come again, such as states, units and countries: they are not made once more.

use crate::layout;
use rquickjs::qjs;

/// Longer ones seldom come again.
const BYTES_MAX: usize = 32;
/// A power of two.
const PLACES: usize = 128;
/// Shorter messages have too few texts.
const MESSAGE_BYTES_MIN: usize = 1 << 10;

/// The outer bytes of a text, which are all of it up to sixteen, and a number made of them; zeros of one that is not remembered.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ends {
    first: u64,
    last: u64,
    hash: u64,
}

impl Ends {
    #[inline(always)]
    pub fn of(text: &[u8]) -> Self {
        let byte = |at: usize| text.get(at).map_or(0, |byte| u64::from(*byte));
        let half = |bytes: Option<&[u8; 4]>| bytes.map_or(0, |bytes| u64::from(u32::from_le_bytes(*bytes)));
        let word = |bytes: Option<&[u8; 8]>| bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let (first, last) = match text.len() {
            8..=BYTES_MAX => (word(text.first_chunk()), word(text.last_chunk())),
            4..8 => (half(text.first_chunk()) | half(text.last_chunk()) << 32, 0),
            1..4 => {
                let last = text.len() - 1;
                (byte(0) | byte(text.len() / 2) << 8 | byte(last) << 16, 0)
            }
            _ => (0, 0),
        };
        let mixed = first ^ last.rotate_left(29) ^ text.len() as u64;
        let hash = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Ends { first, last, hash }
    }
}

#[derive(Clone, Copy)]
struct Known<'a> {
    /// The last one with this place that was not remembered.
    seen: u64,
    ends: Ends,
    text: &'a [u8],
    value: qjs::JSValue,
}

pub(super) struct Texts<'a> {
    context: *mut qjs::JSContext,
    /// Texts and their values, which are owned, by [`place`]; no places for a short message.
    known: Vec<Known<'a>>,
}

impl<'a> Texts<'a> {
    /// For a message of so many bytes.
    pub fn new(context: *mut qjs::JSContext, message_bytes: usize) -> Self {
        let places = if message_bytes < MESSAGE_BYTES_MIN {
            0
        } else {
            PLACES
        };
        let none = Known {
            seen: 0,
            ends: Ends::default(),
            text: &[],
            value: qjs::JS_UNDEFINED,
        };
        Texts {
            context,
            known: vec![none; places],
        }
    }

    /// The value of a text that came lately, which the caller owns.
    #[inline(always)]
    pub fn find(&self, ends: Ends, text: &[u8]) -> Option<qjs::JSValue> {
        let known = self.known.get(place(ends, text)?)?;
        let is_same =
            known.ends == ends && known.text.len() == text.len() && is_same_within(known.text, text);
        // SAFETY: it is a text, of which there is an owner here.
        is_same.then(|| unsafe { layout::again(known.value) })
    }

    /// Remembers the value of a text that comes for the second time, which the caller goes on owning: what comes only once, such
    /// as keys of rows, pushes nothing out.
    #[inline(always)]
    pub fn keep(&mut self, ends: Ends, text: &'a [u8], value: qjs::JSValue) {
        let Some(known) = place(ends, text).and_then(|place| self.known.get_mut(place)) else {
            return;
        };
        if std::mem::replace(&mut known.seen, ends.hash) != ends.hash {
            return;
        }
        // SAFETY: it is a text, and the caller's; the one before was owned, or is `undefined`.
        unsafe {
            let before = known.value;
            let value = layout::again(value);
            (known.ends, known.text, known.value) = (ends, text, value);
            qjs::JS_FreeValue(self.context, before);
        }
    }
}

impl Drop for Texts<'_> {
    fn drop(&mut self) {
        for known in &self.known {
            // SAFETY: each value is owned once.
            unsafe { qjs::JS_FreeValue(self.context, known.value) }
        }
    }
}

/// Where a text is remembered; none that are empty or long.
#[inline(always)]
fn place(ends: Ends, text: &[u8]) -> Option<usize> {
    let place = (ends.hash >> (u64::BITS - PLACES.trailing_zeros())) as usize;
    (1..=BYTES_MAX).contains(&text.len()).then_some(place)
}

/// Whether two texts of one length with the same ends are the same, by the words between these, which may overlap.
#[inline(always)]
fn is_same_within(a: &[u8], b: &[u8]) -> bool {
    const WORD: usize = 8;
    let word = |text: &[u8], at: usize| text.get(at..)?.first_chunk::<WORD>().copied();
    let inner = |text: &[u8]| (word(text, WORD), word(text, text.len() - 2 * WORD));
    a.len() <= 2 * WORD || inner(a) == inner(b)
}

/// As `<[u8]>::is_ascii`, which is made for longer texts.
pub(super) fn is_ascii(text: &[u8]) -> bool {
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let Some(last) = text.last_chunk::<8>() else {
        return text.iter().fold(0, |all, byte| all | byte) < 0x80;
    };
    let words = text.as_chunks::<8>().0.iter().chain([last]);
    words.fold(0, |all, word| all | u64::from_le_bytes(*word)) & HIGHS == 0
}
