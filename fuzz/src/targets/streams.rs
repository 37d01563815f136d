//! A body that is read while it arrives, behind a byte for what its entries are and one for the size of its pieces: in whatever pieces it comes, its entries
//! are the same; they have the form that their kind has, and together no more than was sent.

use heddle_runtime::foreign::{Framing, stream_entries};
use serde_json::Value;

/// Checks an input.
pub fn check(data: &[u8]) {
    let [kind, size, body @ ..] = data else {
        return;
    };
    let framing = [Framing::Lines, Framing::JsonLines, Framing::Events][usize::from(kind % 3)];
    let (whole, is_too_long) = stream_entries(framing, [body]);
    assert!(!is_too_long, "an input is smaller than the largest entry");
    let pieces = body.chunks(usize::from(*size).max(1));
    assert_eq!(stream_entries(framing, pieces), (whole.clone(), false));

    let bytes: usize = whole.iter().map(|entry| of_body(framing, entry)).sum();
    // A byte that is not UTF-8 becomes three; an id belongs to all events behind it, of which each has at least `data`.
    let ids = whole
        .iter()
        .filter_map(|entry| Some(entry.get("id")?.as_str()?.len()))
        .max();
    assert!(bytes <= 3 * body.len() && ids.unwrap_or(0) <= 3 * body.len());
    assert!(whole.len() <= body.len());
}

/// The bytes of an entry that its own part of the body brought, once it has the form that its kind has.
fn of_body(framing: Framing, entry: &Value) -> usize {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    if framing == Framing::Events {
        let (name, data) = (text(&entry["event"]), text(&entry["data"]));
        assert!(!name.is_empty() && !name.contains(['\n', '\r']) && !data.contains('\r'));
        let is_named = name != "message";
        return data.len() + if is_named { name.len() } else { 0 };
    }
    let line = text(entry);
    assert!(!line.contains('\n'));
    assert!(framing == Framing::Lines || !line.trim().is_empty());
    line.len()
}
