//! `localeCompare` for ASCII, as the Unicode Collation Algorithm orders it with CLDR's root table.
//!
//! Primary order: white space, punctuation, symbols, digits, letters without regard to case; where that leaves two
//! texts equal, small letters come before capitals. Other characters need tables that are not here.

use super::arguments::Arguments;
use super::{Exception, Kind, Outcome};
use crate::Text;
use std::cmp::Ordering;

/// Every printing ASCII character but letters, and the white space, in CLDR's order.
const BEFORE_LETTERS: &[u8] = b"\t\n\x0b\x0c\r _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789";

pub(super) fn compare(text: &Text, arguments: Arguments<'_>) -> Outcome {
    let other = arguments.text(0)?;
    let (a, b) = match (known(text), known(&other)) {
        _ if arguments.defined(1).is_some() || arguments.defined(2).is_some() => {
            return Err(unsupported("with a language or options"));
        }
        (Some(a), Some(b)) => (a, b),
        _ if *text == other => return Ok(0.0.into()),
        _ => return Err(unsupported("with characters other than ASCII")),
    };
    let primary = a.bytes().map(weight).cmp(b.bytes().map(weight));
    let is_capital = |byte: u8| byte.is_ascii_uppercase();
    let order = primary.then_with(|| a.bytes().map(is_capital).cmp(b.bytes().map(is_capital)));
    Ok(match order {
        Ordering::Less => -1.0,
        Ordering::Equal => 0.0,
        Ordering::Greater => 1.0,
    }
    .into())
}

fn unsupported(what: &str) -> Exception {
    let message = format!("`.localeCompare(…)` {what} isn't supported: compare by `a < b ? -1 : 1`");
    Exception::new(Kind::Unsupported, message)
}

/// The text if all of its characters have a weight.
fn known(text: &Text) -> Option<&str> {
    text.as_str()
        .filter(|text| text.bytes().all(|byte| weight(byte) != UNKNOWN))
}

/// Primary weight of a character.
fn weight(byte: u8) -> u8 {
    WEIGHTS.get(usize::from(byte)).copied().unwrap_or(UNKNOWN)
}

/// Of what has no weight here.
const UNKNOWN: u8 = u8::MAX;
const WEIGHTS: [u8; 128] = weights();

const fn weights() -> [u8; 128] {
    let mut weights = [UNKNOWN; 128];
    let mut at = 0;
    while at < BEFORE_LETTERS.len() {
        weights[BEFORE_LETTERS[at] as usize] = at as u8;
        at += 1;
    }
    let mut letter = 0;
    while letter < 26 {
        let weight = (BEFORE_LETTERS.len() + letter) as u8;
        weights[b'a' as usize + letter] = weight;
        weights[b'A' as usize + letter] = weight;
        letter += 1;
    }
    weights
}
