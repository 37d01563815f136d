//! References to secrets, as they stand in texts: `heddle-secret(NAME;nonce)`, or the same after URL encoding. The
//! nonce is unique to the run, so that events can't forge a reference. Knows no values.

/// What every reference begins with.
pub const PREFIX: &str = "heddle-secret";
/// Stands for the nonce in what outlives the run.
const KEPT: &str = "kept";
/// Bytes of a name, at most: so far a reference is looked at.
const NAME_BYTES_MAX: usize = 256;

/// A reference at the beginning of a text.
pub struct Reference<'t> {
    pub name: &'t str,
    pub percent_encoded: bool,
    /// Of the whole reference, in bytes.
    pub len: usize,
    /// Where its nonce begins.
    nonce_at: usize,
}

impl<'t> Reference<'t> {
    /// The reference that the text begins with, if it has this nonce.
    pub fn read(text: &'t str, nonce: &str) -> Option<Self> {
        let rest = text.strip_prefix(PREFIX)?;
        let (rest, open_encoded) = strip(rest, "(", "%28")?;
        let end = rest
            .bytes()
            .take(NAME_BYTES_MAX)
            .position(|byte| matches!(byte, b';' | b'%'))?;
        let (name, rest) = rest.split_at(end);
        let (rest, separator_encoded) = strip(rest, ";", "%3B")?;
        let nonce_at = text.len() - rest.len();
        let rest = rest.strip_prefix(nonce)?;
        let (rest, close_encoded) = strip(rest, ")", "%29")?;
        Some(Reference {
            name,
            percent_encoded: open_encoded || separator_encoded || close_encoded,
            len: text.len() - rest.len(),
            nonce_at,
        })
    }
}

fn strip<'a>(text: &'a str, plain: &str, encoded: &str) -> Option<(&'a str, bool)> {
    match text.strip_prefix(plain) {
        Some(rest) => Some((rest, false)),
        None => text
            .get(..encoded.len())
            .filter(|start| start.eq_ignore_ascii_case(encoded))
            .map(|_| (&text[encoded.len()..], true)),
    }
}

/// A text to be kept for other runs: the run's references in a form that they can read, and all that only looks like
/// one marked, so that it never becomes one.
pub fn to_keep(text: &str, nonce: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(PREFIX) {
        let (before, from) = rest.split_at(at);
        kept.push_str(before);
        rest = match Reference::read(from, nonce) {
            Some(found) => {
                kept.push_str(&from[..found.nonce_at]);
                kept.push_str(KEPT);
                kept.push_str(&from[found.nonce_at + nonce.len()..found.len]);
                &from[found.len..]
            }
            None => {
                kept.push_str(PREFIX);
                kept.push('~');
                &from[PREFIX.len()..]
            }
        };
    }
    kept.push_str(rest);
    kept
}

/// A text from outside of any run, to be kept for runs: nothing in it is a reference, nor ever becomes one.
pub fn marked(text: &str) -> String {
    text.replace(PREFIX, &format!("{PREFIX}~"))
}

/// What [`to_keep`] or [`marked`] gave, for people: `mask` in place of each reference.
pub fn without_references(text: &str, mask: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(PREFIX) {
        let (before, from) = rest.split_at(at);
        shown.push_str(before);
        rest = match Reference::read(from, KEPT) {
            Some(found) => {
                shown.push_str(mask);
                &from[found.len..]
            }
            None => {
                shown.push_str(PREFIX);
                let from = &from[PREFIX.len()..];
                from.strip_prefix('~').unwrap_or(from)
            }
        };
    }
    shown.push_str(rest);
    shown
}

/// Whether a kept text has a reference in it.
pub fn is_in_kept(text: &str) -> bool {
    text.match_indices(PREFIX)
        .any(|(at, _)| Reference::read(&text[at..], KEPT).is_some())
}

/// What [`to_keep`] was given, for the run with this nonce.
pub fn from_kept(text: &str, nonce: &str) -> String {
    let mut read = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(PREFIX) {
        let (before, from) = rest.split_at(at);
        read.push_str(before);
        rest = match Reference::read(from, KEPT) {
            Some(found) => {
                read.push_str(&from[..found.nonce_at]);
                read.push_str(nonce);
                read.push_str(&from[found.nonce_at + KEPT.len()..found.len]);
                &from[found.len..]
            }
            None => {
                read.push_str(PREFIX);
                let from = &from[PREFIX.len()..];
                from.strip_prefix('~').unwrap_or(from)
            }
        };
    }
    read.push_str(rest);
    read
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_by_another_run() {
        let text = "Bearer heddle-secret(KEY;n1) and heddle-secret%28KEY%3bn1%29!";
        let kept = to_keep(text, "n1");
        assert_eq!(
            kept,
            "Bearer heddle-secret(KEY;kept) and heddle-secret%28KEY%3bkept%29!"
        );
        assert_eq!(from_kept(&kept, "n2"), text.replace("n1", "n2"));
    }

    #[test]
    fn people_see_no_references() {
        let kept = to_keep(
            "Bearer heddle-secret(KEY;n1), heddle-secret(KEY;kept) and heddle-secret",
            "n1",
        );
        assert!(is_in_kept(&kept));
        assert_eq!(
            without_references(&kept, "***"),
            "Bearer ***, heddle-secret(KEY;kept) and heddle-secret"
        );
        assert!(!is_in_kept("heddle-secret~(KEY;kept) heddle-secret(KEY;n1)"));
    }

    #[test]
    fn what_comes_from_outside_is_no_reference() {
        for text in [
            "heddle-secret(KEY;kept)",
            "heddle-secret~(KEY;kept)",
            "heddle-secretheddle-secret(KEY;kept)",
            "heddle-secret%28KEY%3Bkept%29",
            "nothing",
        ] {
            let kept = marked(text);
            assert!(!is_in_kept(&kept), "{kept}");
            assert_eq!(from_kept(&kept, "n1"), text);
            assert_eq!(without_references(&kept, "***"), text);
        }
    }

    #[test]
    fn what_looks_like_a_reference_never_becomes_one() {
        for text in [
            "heddle-secret(KEY;kept)",
            "heddle-secret~(KEY;kept)",
            "heddle-secret(KEY;n0)",
            "heddle-secretheddle-secret(KEY;kept)",
            "heddle-secret",
            "heddle-secret~~",
        ] {
            let kept = to_keep(text, "n1");
            assert!(Reference::read(&kept, KEPT).is_none(), "{kept}");
            assert_eq!(from_kept(&kept, "n2"), text);
        }
    }
}
