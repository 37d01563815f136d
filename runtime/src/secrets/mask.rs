//! Finds the values of secrets in text in a single pass for each of a few sets, however many there are: the time depends only on the
//! text's length, the memory only on the values' lengths. Short spellings are looked for as a whole, long ones in pieces, so
//! that a part of a long value is hidden as well.

use aho_corasick::Anchored;
use aho_corasick::automaton::Automaton;
use aho_corasick::nfa::contiguous::NFA;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use zeroize::Zeroizing;

/// What stands in place of a secret's value.
pub const MASK: &str = "***";
/// Shorter spellings are not masked: they would be found in everything.
pub const MASKED_BYTES_MIN: usize = 4;
/// From this length on a spelling is looked for in pieces.
const LONG_BYTES_MIN: usize = 64;
const PIECE_BYTES: usize = 32;

type Piece = [u8; PIECE_BYTES];

/// Sets of spellings. What they cover of a text is one `***` for each stretch, whichever set they are of.
#[derive(Clone, Default)]
pub struct Masker {
    sets: Vec<Arc<Spellings>>,
}

/// A set of spellings, as it is looked for.
struct Spellings {
    short: Option<NFA>,
    pieces: Pieces,
}

impl Spellings {
    fn new(spellings: &[Zeroizing<String>]) -> Self {
        let wanted = spellings.iter().filter(|text| text.len() >= MASKED_BYTES_MIN);
        let (long, short): (Vec<_>, Vec<_>) = wanted.partition(|text| text.len() >= LONG_BYTES_MIN);
        // It is refused only beyond billions of bytes.
        let automaton = || NFA::new(short.iter().map(|text| text.as_bytes())).ok();
        Spellings {
            short: (!short.is_empty()).then(automaton).flatten(),
            pieces: Pieces::new(long.iter().map(|text| text.as_bytes())),
        }
    }

    /// The stretches of a text that spellings cover, in order and apart.
    fn covered(&self, text: &[u8]) -> Vec<Range<usize>> {
        let mut covered = Vec::new();
        self.find_short(text, &mut covered);
        let mut by_piece = Vec::new();
        self.pieces.find(text, &mut by_piece);
        if by_piece.is_empty() {
            return covered;
        }
        covered.extend(by_piece);
        merged(covered)
    }

    fn find_short(&self, text: &[u8], covered: &mut Vec<Range<usize>>) {
        let Some((automaton, mut state)) = self
            .short
            .as_ref()
            .and_then(|automaton| Some((automaton, automaton.start_state(Anchored::No).ok()?)))
        else {
            return;
        };
        for (index, byte) in text.iter().enumerate() {
            state = automaton.next_state(Anchored::No, state, *byte);
            if !automaton.is_match(state) {
                continue;
            }
            // The first pattern of a state is its longest.
            let length = automaton.pattern_len(automaton.match_pattern(state, 0));
            join(covered, index + 1 - length..index + 1);
        }
    }
}

impl Masker {
    /// Puts one set in place of those from this one on.
    pub fn replace_from(&mut self, first: usize, spellings: &[Zeroizing<String>]) {
        self.sets.truncate(first);
        self.sets.push(Arc::new(Spellings::new(spellings)));
    }

    /// The stretches of a text that spellings of any set cover, in order and apart.
    fn covered(&self, text: &[u8]) -> Vec<Range<usize>> {
        let mut sets = self.sets.iter();
        let mut covered = sets.next().map_or_else(Vec::new, |set| set.covered(text));
        let before = covered.len();
        for set in sets {
            covered.extend(set.covered(text));
        }
        match covered.len() > before {
            true => merged(covered),
            false => covered,
        }
    }

    pub fn is_in(&self, bytes: &[u8]) -> bool {
        !self.covered(bytes).is_empty()
    }

    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let covered = self.covered(text.as_bytes());
        match covered.is_empty() {
            true => Cow::Borrowed(text),
            false => Cow::Owned(without(text, covered)),
        }
    }

    /// The text with what secrets cover masked, and a further stretch of it as well.
    pub fn text_without(&self, text: &str, stretch: Range<usize>) -> String {
        let mut covered = self.covered(text.as_bytes());
        covered.push(stretch);
        without(text, merged(covered))
    }

    /// The bytes with a `*` for each that is covered; `None`: nothing is.
    pub fn blotted(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let covered = self.covered(bytes);
        if covered.is_empty() {
            return None;
        }
        let mut blotted = bytes.to_vec();
        for found in covered {
            blotted[found].fill(b'*');
        }
        Some(blotted)
    }

    pub fn bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        let covered = self.covered(&bytes);
        if covered.is_empty() {
            return bytes;
        }
        let mut masked = Vec::with_capacity(bytes.len());
        let mut at = 0;
        for found in covered {
            masked.extend_from_slice(&bytes[at..found.start]);
            masked.extend_from_slice(MASK.as_bytes());
            at = found.end;
        }
        masked.extend_from_slice(&bytes[at..]);
        masked
    }
}

/// Stretches in order and apart, of any.
fn merged(mut covered: Vec<Range<usize>>) -> Vec<Range<usize>> {
    covered.sort_unstable_by_key(|found| found.start);
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(covered.len());
    for found in covered {
        match merged.last_mut() {
            Some(Range { end, .. }) if *end >= found.start => *end = found.end.max(*end),
            _ => merged.push(found),
        }
    }
    merged
}

/// The text with the mask for each stretch.
fn without(text: &str, covered: Vec<Range<usize>>) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut at = 0;
    for found in covered {
        // A piece may begin within a character.
        let start = text.floor_char_boundary(found.start);
        let end = text.ceil_char_boundary(found.end);
        if start >= at {
            masked.push_str(&text[at..start]);
            masked.push_str(MASK);
        }
        at = end.max(at);
    }
    masked.push_str(&text[at..]);
    masked
}

/// How many bytes at the end of a text begin a spelling, without being all of it (Knuth, Morris, Pratt 1977).
pub fn begun(text: &[u8], spelling: &[u8]) -> usize {
    let length = spelling.len().saturating_sub(1).min(text.len());
    let beginning = &spelling[..length];
    // For each byte, how many up to it begin the spelling as well.
    let mut known = vec![0; length];
    let mut matched = 0;
    for (at, byte) in beginning.iter().enumerate().skip(1) {
        while matched > 0 && *byte != beginning[matched] {
            matched = known[matched - 1];
        }
        if *byte == beginning[matched] {
            matched += 1;
        }
        known[at] = matched;
    }
    matched = 0;
    // No more bytes than the beginning has, so that it ends with the text if it is there as a whole.
    for byte in &text[text.len() - length..] {
        while matched > 0 && *byte != beginning[matched] {
            matched = known[matched - 1];
        }
        if *byte == beginning[matched] {
            matched += 1;
        }
    }
    matched
}

/// Adds a stretch that ends after all others; what it touches is one with it.
fn join(covered: &mut Vec<Range<usize>>, found: Range<usize>) {
    let mut start = found.start;
    while let Some(last) = covered.pop_if(|last| last.end >= found.start) {
        start = start.min(last.start);
    }
    covered.push(start..found.end);
}

/// Pieces of long spellings: one after the other, and the last one.
#[derive(Default)]
struct Pieces {
    sorted: Zeroizing<Vec<Piece>>,
    /// Bits for the first bytes of pieces: most places of a text are passed by one look.
    filter: Vec<u64>,
    shift: u32,
}

impl Pieces {
    fn new<'a>(spellings: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut sorted = Zeroizing::new(Vec::new());
        for spelling in spellings {
            let (pieces, _) = spelling.as_chunks::<PIECE_BYTES>();
            sorted.extend_from_slice(pieces);
            sorted.extend(spelling.last_chunk::<PIECE_BYTES>());
        }
        if sorted.is_empty() {
            return Pieces::default();
        }
        sorted.sort_unstable();
        sorted.dedup();
        let bits = (sorted.len() * 16).next_power_of_two().max(1 << 10);
        let mut pieces = Pieces {
            filter: vec![0; bits / 64],
            shift: 64 - bits.trailing_zeros(),
            sorted: Zeroizing::default(),
        };
        for piece in sorted.iter() {
            let bit = pieces.bit(piece);
            if let Some(word) = pieces.filter.get_mut(bit / 64) {
                *word |= 1 << (bit % 64);
            }
        }
        pieces.sorted = sorted;
        pieces
    }

    /// The filter's bit for what begins like this.
    fn bit(&self, piece: &Piece) -> usize {
        let first = piece.first_chunk::<8>().copied().unwrap_or_default();
        let mixed = u64::from_le_bytes(first).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> self.shift) as usize
    }

    fn find(&self, text: &[u8], covered: &mut Vec<Range<usize>>) {
        if self.sorted.is_empty() {
            return;
        }
        for (at, window) in text.windows(PIECE_BYTES).enumerate() {
            let Ok(window) = <&Piece>::try_from(window) else {
                continue;
            };
            let bit = self.bit(window);
            let may_be = self
                .filter
                .get(bit / 64)
                .is_some_and(|word| word >> (bit % 64) & 1 == 1);
            if may_be && self.sorted.binary_search(window).is_ok() {
                join(covered, at..at + PIECE_BYTES);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_one_set(spellings: &[Zeroizing<String>]) -> Masker {
        let mut masker = Masker::default();
        masker.replace_from(0, spellings);
        masker
    }

    /// The definition: every byte within an occurrence of a spelling, or of a piece of a long one, is covered.
    fn naive(spellings: &[String], text: &[u8]) -> Vec<Range<usize>> {
        let mut needles: Vec<&[u8]> = Vec::new();
        for spelling in spellings.iter().map(String::as_bytes) {
            match spelling.len() {
                0..MASKED_BYTES_MIN => {}
                MASKED_BYTES_MIN..LONG_BYTES_MIN => needles.push(spelling),
                length => {
                    needles.extend(spelling.chunks_exact(PIECE_BYTES));
                    needles.push(&spelling[length - PIECE_BYTES..]);
                }
            }
        }
        let mut is_covered = vec![false; text.len()];
        for needle in needles {
            for (at, window) in text.windows(needle.len()).enumerate() {
                if window == needle {
                    is_covered[at..at + needle.len()].fill(true);
                }
            }
        }
        let mut stretches: Vec<Range<usize>> = Vec::new();
        for (at, _) in is_covered.iter().enumerate().filter(|(_, covered)| **covered) {
            match stretches.last_mut() {
                Some(last) if last.end == at => last.end = at + 1,
                _ => stretches.push(at..at + 1),
            }
        }
        stretches
    }

    /// Few letters, so that spellings overlap, repeat and are within each other.
    fn word(random: &mut fastrand::Rng, length: usize) -> String {
        (0..length)
            .map(|_| *random.choice(['a', 'b', 'ü'].iter()).unwrap_or(&'a'))
            .collect()
    }

    #[test]
    fn the_result_is_that_of_the_definition() {
        let mut random = fastrand::Rng::with_seed(17);
        for _ in 0..3_000 {
            let mut spellings: Vec<String> = Vec::new();
            for _ in 0..random.usize(1..8) {
                let length = match random.bool() {
                    true => random.usize(1..9),
                    false => random.usize(50..150),
                };
                spellings.push(word(&mut random, length));
            }
            let mut text = String::new();
            while text.len() < 400 {
                let part = random.choice(spellings.iter()).cloned().unwrap_or_default();
                let cut = part.floor_char_boundary(random.usize(0..=part.len()));
                let length = random.usize(0..6);
                text.push_str(if random.bool() { &part } else { &part[cut..] });
                text.push_str(&word(&mut random, length));
            }
            let wiped: Vec<_> = spellings.iter().cloned().map(Zeroizing::new).collect();
            let mut masker = of_one_set(&wiped);
            // The same in several sets, some of which have been replaced.
            let (first, second) = (random.usize(0..=wiped.len()), random.usize(0..=wiped.len()));
            if random.bool() {
                masker.replace_from(0, &wiped[..first]);
                masker.replace_from(1, &wiped[..second]);
                masker.replace_from(1, &wiped[first..]);
            }
            let expected = naive(&spellings, text.as_bytes());
            assert_eq!(
                masker.covered(text.as_bytes()),
                expected,
                "{spellings:?} in {text}"
            );
            assert_eq!(masker.is_in(text.as_bytes()), !expected.is_empty());
            let mut blotted = text.clone().into_bytes();
            for found in &expected {
                blotted[found.clone()].fill(b'*');
            }
            let has_any = !expected.is_empty();
            assert_eq!(masker.blotted(text.as_bytes()), has_any.then_some(blotted));
            let stars = masker.text(&text).matches(MASK).count();
            let bytes = masker.bytes(text.clone().into_bytes());
            assert_eq!(
                bytes.windows(3).filter(|window| window == b"***").count(),
                expected.len()
            );
            assert!(stars <= expected.len() && (stars > 0) != expected.is_empty());
        }
    }

    #[test]
    fn the_beginning_of_a_spelling_is_found_at_the_end() {
        for (text, spelling, expected) in [
            ("it is gehei", "geheim", 5),
            ("it is geheim", "geheim", 0),
            ("aab aaba", "aabaac", 4),
            ("abcabcab", "abcabd", 5),
            ("aaaa", "aaaa", 3),
            ("ge", "geheim", 2),
            ("geh", "other", 0),
            ("", "geheim", 0),
            ("x", "", 0),
        ] {
            assert_eq!(
                begun(text.as_bytes(), spelling.as_bytes()),
                expected,
                "{text} {spelling}"
            );
        }
        let mut random = fastrand::Rng::with_seed(23);
        for _ in 0..2_000 {
            let (length, longer) = (random.usize(0..12), random.usize(0..30));
            let (spelling, text) = (word(&mut random, length), word(&mut random, longer));
            let (spelling, text) = (spelling.as_bytes(), text.as_bytes());
            let naive = (0..spelling.len())
                .rev()
                .find(|length| text.ends_with(&spelling[..*length]));
            assert_eq!(begun(text, spelling), naive.unwrap_or_default());
        }
    }

    /// Every byte begins what is nearly a secret, and there are millions of finds: whoever looks anew from each byte is not done within
    /// days, whoever copies the text at each find not within the time that a test may take.
    #[test]
    fn the_work_grows_with_the_text_and_not_with_its_square() {
        const BYTES: usize = 16 << 20;
        let short = (0..50).map(|number| format!("{}{number:02}", "a".repeat(60)));
        let long = (0..50).map(|number| format!("{}b{number:02}", "a".repeat(31)).repeat(9));
        let secrets: Vec<_> = short.chain(long).map(Zeroizing::new).collect();
        let masker = of_one_set(&secrets);
        assert_eq!(masker.text(&"a".repeat(BYTES)).len(), BYTES);
        let masker = of_one_set(&[Zeroizing::new("hush".to_owned())]);
        let masked = masker.text(&"hush,".repeat(BYTES / 5)).into_owned();
        assert_eq!(masked.len(), BYTES / 5 * "***,".len());
    }

    #[test]
    fn characters_stay_whole() {
        let secret = "ü".repeat(40);
        let masker = of_one_set(&[Zeroizing::new(format!("x{secret}"))]);
        assert_eq!(masker.text(&format!("<{secret}>")), "<***>");
        assert_eq!(masker.text("ü"), "ü");
    }
}
