//! What stands in a JSON string as it is: all but quotes, backslashes and control characters. Eight bytes are looked at
//! at a time. Source of the test for zero bytes and for bytes less than a number: Anderson, "Bit Twiddling Hacks".

/// How many bytes from the beginning stand as they are.
pub(super) fn plain_bytes(text: &[u8]) -> usize {
    let (words, rest) = text.as_chunks::<8>();
    for (place, word) in words.iter().enumerate() {
        let others = others(u64::from_le_bytes(*word));
        if others != 0 {
            return place * 8 + others.trailing_zeros() as usize / 8;
        }
    }
    let plain = rest
        .iter()
        .take_while(|byte| **byte >= 0x20 && **byte != b'"' && **byte != b'\\');
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
    use super::plain_bytes;

    #[test]
    fn every_byte_at_every_place_is_found() {
        for length in 0..20 {
            for place in 0..length {
                for byte in 0..=u8::MAX {
                    for after in [b'a', b'"', 0x1f, 0x20, 0x80, 0xff] {
                        let mut text = vec![after; length];
                        text[..place].fill(b'a');
                        text[place] = byte;
                        let is_plain = |byte: &u8| *byte >= 0x20 && !b"\"\\".contains(byte);
                        let expected = text.iter().take_while(|byte| is_plain(byte)).count();
                        assert_eq!(plain_bytes(&text), expected, "{text:?}");
                    }
                }
            }
        }
    }
}
