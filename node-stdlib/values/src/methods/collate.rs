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
    let (a, b) = match (weights(text), weights(&other)) {
        _ if arguments.defined(1).is_some() || arguments.defined(2).is_some() => {
            return Err(unsupported("with a language or options"));
        }
        (Some(a), Some(b)) => (a, b),
        _ if *text == other => return Ok(0.0.into()),
        _ => return Err(unsupported("with characters other than ASCII")),
    };
    let primary = a
        .iter()
        .map(|weight| weight.0)
        .cmp(b.iter().map(|weight| weight.0));
    let order = primary.then_with(|| {
        a.iter()
            .map(|weight| weight.1)
            .cmp(b.iter().map(|weight| weight.1))
    });
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

/// Primary and tertiary weight of each character; `None` if one has none here.
fn weights(text: &Text) -> Option<Vec<(usize, bool)>> {
    let weight = |byte: u8| match byte {
        b'a'..=b'z' => Some((BEFORE_LETTERS.len() + usize::from(byte - b'a'), false)),
        b'A'..=b'Z' => Some((BEFORE_LETTERS.len() + usize::from(byte - b'A'), true)),
        _ => BEFORE_LETTERS
            .iter()
            .position(|known| *known == byte)
            .map(|at| (at, false)),
    };
    text.as_str()?.bytes().map(weight).collect()
}
