//! What stands in a JSON string as it is: all but quotes, backslashes and control characters. Eight bytes are looked at
//! at a time. Source of the test for zero bytes and for bytes less than a number: Anderson, "Bit Twiddling Hacks".

/// How many bytes from the beginning stand as they are.
#[inline]
pub(super) fn plain_bytes(text: &[u8]) -> usize {
    plain_text(text).0
}

/// How many bytes from the beginning stand as they are, and whether these are ASCII.
#[inline]
pub(super) fn plain_text(text: &[u8]) -> (usize, bool) {
    let (found, before, is_ascii) = blocks::plain_text(text);
    if found {
        return (before, is_ascii);
    }
    let rest = &text[before..];
    let plain = plain_bytes_by_words(rest);
    (before + plain, is_ascii && rest[..plain].is_ascii())
}

/// Whether all of a text stands as it is. Most texts are short: the last word overlaps the one before it.
pub(super) fn is_plain(text: &[u8]) -> bool {
    if let Some(last) = text.last_chunk::<8>() {
        let (words, _) = text.as_chunks::<8>();
        let mut words = words.iter().chain([last]);
        return words.all(|word| others(u64::from_le_bytes(*word)) == 0);
    }
    if let (Some(first), Some(last)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        return others(u64::from(first) | u64::from(last) << 32) == 0;
    }
    text.iter().all(is_plain_byte)
}

fn is_plain_byte(byte: &u8) -> bool {
    *byte >= 0x20 && *byte != b'"' && *byte != b'\\'
}

/// Sixteen bytes at a time, where the processor can.
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod blocks {
    use core::arch::wasm32::{u8x16_bitmask, u8x16_eq, u8x16_lt, u8x16_splat, v128, v128_load, v128_or};

    /// Whether a byte was found that does not stand as it is; how many are before it, or before the rest, and whether these
    /// are ASCII.
    #[inline]
    pub(super) fn plain_text(text: &[u8]) -> (bool, usize, bool) {
        let (blocks, _) = text.as_chunks::<16>();
        let mut is_ascii = true;
        for (place, block) in blocks.iter().enumerate() {
            let address: *const v128 = block.as_ptr().cast();
            #[expect(unsafe_code, reason = "there is no other way to load a vector")]
            // SAFETY: sixteen bytes of a slice, which may be at any address.
            let bytes = unsafe { v128_load(address) };
            let quotes = u8x16_eq(bytes, u8x16_splat(b'"'));
            let backslashes = u8x16_eq(bytes, u8x16_splat(b'\\'));
            let controls = u8x16_lt(bytes, u8x16_splat(0x20));
            let others = u8x16_bitmask(v128_or(v128_or(quotes, backslashes), controls));
            let highs = u8x16_bitmask(bytes);
            if others != 0 {
                // The bits below the lowest one.
                let before = !others & others.wrapping_sub(1);
                return (
                    true,
                    place * 16 + others.trailing_zeros() as usize,
                    is_ascii && highs & before == 0,
                );
            }
            is_ascii &= highs == 0;
        }
        (false, blocks.len() * 16, is_ascii)
    }
}

#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
mod blocks {
    pub(super) fn plain_text(_: &[u8]) -> (bool, usize, bool) {
        (false, 0, true)
    }
}

fn plain_bytes_by_words(text: &[u8]) -> usize {
    let (words, rest) = text.as_chunks::<8>();
    for (place, word) in words.iter().enumerate() {
        let others = others(u64::from_le_bytes(*word));
        if others != 0 {
            return place * 8 + others.trailing_zeros() as usize / 8;
        }
    }
    let plain = rest.iter().take_while(|byte| is_plain_byte(byte));
    words.len() * 8 + plain.count()
}

/// The high bits of bytes that do not stand as they are. The lowest of them is right, later ones may be wrong.
fn others(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = ONES << 7;
    let less = |word: u64, limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word & HIGHS;
    let has = |byte: u8| less(word ^ (ONES * u64::from(byte)), 1);
    less(word, 0x20) | has(b'"') | has(b'\\')
}

#[cfg(test)]
mod tests {
    use super::{is_plain, plain_bytes, plain_text};

    #[test]
    fn every_byte_at_every_place_is_found() {
        for length in 0..20 {
            for place in 0..length {
                for byte in 0..=u8::MAX {
                    for after in [b'a', b'"', 0x1f, 0x20, 0x80, 0xff] {
                        let mut text = vec![after; length];
                        text[..place].fill(b'a');
                        text[place] = byte;
                        let stands = |byte: &u8| *byte >= 0x20 && !b"\"\\".contains(byte);
                        let expected = text.iter().take_while(|byte| stands(byte)).count();
                        assert_eq!(plain_bytes(&text), expected, "{text:?}");
                        let is_ascii = text[..expected].is_ascii();
                        assert_eq!(plain_text(&text), (expected, is_ascii), "{text:?}");
                        assert_eq!(is_plain(&text), expected == length, "{text:?}");
                    }
                }
            }
        }
    }
}
