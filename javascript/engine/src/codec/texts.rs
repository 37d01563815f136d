//! Texts that a message had lately. Many come again, such as states, units and countries: they are not made once more.

use rquickjs::qjs;

/// Longer ones seldom come again.
const BYTES_MAX: usize = 32;
/// A power of two.
const PLACES: usize = 128;
/// Shorter messages have too few texts.
const MESSAGE_BYTES_MIN: usize = 1 << 10;

pub(super) struct Texts<'a> {
    context: *mut qjs::JSContext,
    /// Texts and their values, which are owned, by [`place`]; no places for a short message.
    known: Vec<Option<(&'a [u8], qjs::JSValue)>>,
}

impl<'a> Texts<'a> {
    /// For a message of so many bytes.
    pub fn new(context: *mut qjs::JSContext, message_bytes: usize) -> Self {
        let places = if message_bytes < MESSAGE_BYTES_MIN {
            0
        } else {
            PLACES
        };
        Texts {
            context,
            known: vec![None; places],
        }
    }

    /// The value of a text that came lately, which the caller owns.
    pub fn find(&self, text: &[u8]) -> Option<qjs::JSValue> {
        let (known, value) = (*self.known.get(place(text)?)?)?;
        // SAFETY: duplicates the value, so that both own it.
        is_same(known, text).then(|| unsafe { qjs::JS_DupValue(self.context, value) })
    }

    /// Remembers the value of a text, which the caller goes on owning.
    pub fn keep(&mut self, text: &'a [u8], value: qjs::JSValue) {
        let Some(known) = place(text).and_then(|place| self.known.get_mut(place)) else {
            return;
        };
        // SAFETY: duplicates the value, so that both own it.
        let value = unsafe { qjs::JS_DupValue(self.context, value) };
        if let Some((_, before)) = known.replace((text, value)) {
            // SAFETY: it was owned.
            unsafe { qjs::JS_FreeValue(self.context, before) }
        }
    }
}

impl Drop for Texts<'_> {
    fn drop(&mut self) {
        for (_, value) in self.known.iter().flatten() {
            // SAFETY: each value is owned once.
            unsafe { qjs::JS_FreeValue(self.context, *value) }
        }
    }
}

/// Where a text is remembered, by its length and its outer bytes; none that are empty or long.
fn place(text: &[u8]) -> Option<usize> {
    let outer = match (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        (Some(first), Some(last)) => u64::from_le_bytes(*first) ^ u64::from_le_bytes(*last).rotate_left(29),
        _ => text.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    };
    let hash = (outer ^ text.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let place = (hash >> (u64::BITS - PLACES.trailing_zeros())) as usize;
    (1..=BYTES_MAX).contains(&text.len()).then_some(place)
}

/// Whether two texts are the same, by words, the last of which overlaps the one before it: for these lengths that beats
/// a call of `memcmp`.
fn is_same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    match (a.last_chunk::<8>(), b.last_chunk::<8>()) {
        (Some(a_last), Some(b_last)) => a_last == b_last && a.as_chunks::<8>().0 == b.as_chunks::<8>().0,
        _ => a.iter().zip(b).all(|(a, b)| a == b),
    }
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
