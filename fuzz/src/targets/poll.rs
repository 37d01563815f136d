//! Three paths, perhaps the word `table`, and, on the next lines, what a service answers to a poll: its elements are parts of the answer, so many and no more, and
//! what was seen of it is not new again.

use heddle_model::poll::{Pending, Poll, Seen};
use serde_json::{Map, Value, json};

/// Checks an input.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let (paths, answer) = text.split_once('\n').unwrap_or(("", text));
    let mut parameters = Map::from_iter([("url".to_owned(), json!("https://shop.example.com"))]);
    for (name, path) in ["items", "id", "cursor"].into_iter().zip(paths.split(' ')) {
        if !path.is_empty() {
            parameters.insert(name.to_owned(), path.into());
        }
    }
    let is_table = paths.ends_with(" table");
    parameters.insert("table".to_owned(), is_table.into());
    let poll = Poll::of(&parameters);
    let Ok(found) = poll.found(answer) else {
        return;
    };
    assert!(found.elements.len() <= 2_000);
    assert!(
        found
            .cursor
            .is_none_or(|cursor| (1..=2_000).contains(&cursor.len()))
    );
    let places = answer.as_bytes().as_ptr_range();
    for element in &found.elements {
        assert!(is_table || places.contains(&element.json.get().as_ptr()));
        let read: Result<Value, _> = serde_json::from_str(element.json.get());
        assert!(read.is_ok() || element.id.is_some(), "{:?}", element.json);
    }
    let keys = || found.elements.iter().map(|element| element.identity.as_str());
    let seen = Seen::of_stored(&Seen::default().with(keys()).stored());
    assert!(keys().all(|key| seen.has(key)));
    assert_eq!(seen, seen.with(keys()));
    let noted = Pending::of("run", keys());
    assert_eq!(noted.elements(), &seen);
    assert_eq!(Pending::of_stored(&noted.stored()), Some(noted));
}
