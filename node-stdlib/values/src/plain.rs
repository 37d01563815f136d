//! What stands in a JSON string as it is: all but quotes, backslashes and control characters. Eight bytes are looked at
//! at a time. Source of the test for zero bytes and for bytes less than a number: Anderson, "Bit Twiddling Hacks".

/// How many bytes from the beginning stand as they are.
#[inline]
pub(super) fn plain_bytes(text: &[u8]) -> usize {
    plain_text(text).0
}

/// How many bytes from the beginning stand as they are, and whether these are ASCII.
#[inline(always)]
pub(super) fn plain_text(text: &[u8]) -> (usize, bool) {
    // Most texts are short.
    if let Some(block) = text.first_chunk() {
        let (others, highs) = blocks::marks(block);
        if others != 0 {
            return (others.trailing_zeros() as usize, are_ascii(others, highs));
        }
    }
    long_plain_text(text)
}

#[inline(never)]
fn long_plain_text(text: &[u8]) -> (usize, bool) {
    let (blocks, rest) = text.as_chunks();
    let mut is_ascii = true;
    for (place, block) in blocks.iter().enumerate() {
        let (others, highs) = blocks::marks(block);
        if others != 0 {
            let before = place * blocks::BYTES + others.trailing_zeros() as usize;
            return (before, is_ascii && are_ascii(others, highs));
        }
        is_ascii &= highs == 0;
    }
    let plain = plain_bytes_by_words(rest);
    (
        blocks.len() * blocks::BYTES + plain,
        is_ascii && rest[..plain].is_ascii(),
    )
}

/// Whether the bytes of a block before the first one that does not stand as it is are ASCII.
#[inline]
fn are_ascii(others: u32, highs: u32) -> bool {
    // The bits below the lowest one.
    highs & !others & others.wrapping_sub(1) == 0
}

/// How many bytes from the beginning are whole blocks of ASCII.
pub(super) fn ascii_blocks(text: &[u8]) -> usize {
    let (blocks, _) = text.as_chunks();
    let ascii = blocks.iter().take_while(|block| blocks::is_ascii(block));
    ascii.count() * blocks::BYTES
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

/// Sixteen bytes at once, where the processor can.
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod blocks {
    use core::arch::wasm32::{u8x16_bitmask, u8x16_eq, u8x16_lt, u8x16_splat, v128, v128_load, v128_or};

    pub(super) const BYTES: usize = 16;

    #[inline]
    fn load(block: &[u8; BYTES]) -> v128 {
        let address: *const v128 = block.as_ptr().cast();
        #[expect(unsafe_code, reason = "there is no other way to load a vector")]
        // SAFETY: sixteen bytes, which may be at any address.
        unsafe {
            v128_load(address)
        }
    }

    #[inline]
    pub(super) fn is_ascii(block: &[u8; BYTES]) -> bool {
        u8x16_bitmask(load(block)) == 0
    }

    /// A bit for each byte that does not stand as it is, and for each that is not ASCII.
    #[inline]
    pub(super) fn marks(block: &[u8; BYTES]) -> (u32, u32) {
        let bytes = load(block);
        let quotes = u8x16_eq(bytes, u8x16_splat(b'"'));
        let backslashes = u8x16_eq(bytes, u8x16_splat(b'\\'));
        let controls = u8x16_lt(bytes, u8x16_splat(0x20));
        let others = u8x16_bitmask(v128_or(v128_or(quotes, backslashes), controls));
        (others.into(), u8x16_bitmask(bytes).into())
    }
}

#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
mod blocks {
    pub(super) const BYTES: usize = 16;

    #[inline]
    pub(super) fn is_ascii(block: &[u8; BYTES]) -> bool {
        block.is_ascii()
    }

    /// A bit for each byte that does not stand as it is, and for each that is not ASCII.
    #[inline]
    pub(super) fn marks(block: &[u8; BYTES]) -> (u32, u32) {
        let bits = |is: fn(&u8) -> bool| {
            let bits = block.iter().enumerate();
            bits.fold(0, |bits, (place, byte)| bits | u32::from(is(byte)) << place)
        };
        (
            bits(|byte| !super::is_plain_byte(byte)),
            bits(|byte| !byte.is_ascii()),
        )
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
        for length in [0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 19, 31, 32, 33] {
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
