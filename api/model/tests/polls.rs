//! What OnPoll nodes ask, and what is new in the answers.

#![expect(clippy::unwrap_used, reason = "a failed test may panic")]

use heddle_model::poll::{Pending, Poll, Seen};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// More than an answer may have, and more than are remembered.
const MANY: [usize; 2] = [2_001, 5_010];

fn poll(parameters: &Value) -> Poll {
    Poll::of(parameters.as_object().unwrap())
}

#[test]
fn a_table_gives_rows_by_the_names_of_its_columns() {
    let poll = |parameters: Value| {
        let mut all = json!({"url": "https://sheets.example.com", "items": "values", "table": true});
        all.as_object_mut()
            .unwrap()
            .extend(parameters.as_object().unwrap().clone());
        Poll::of(all.as_object().unwrap())
    };
    let answer =
        json!({"values": [["name", 7, "", "row_number"], ["Ann", 1, "x", 9], [], ["Bo"]]}).to_string();
    let found = poll(json!({"id": "row_number"})).found(&answer).unwrap();
    let rows: Vec<Value> = found
        .elements
        .iter()
        .map(|element| serde_json::from_str(element.json.get()).unwrap())
        .collect();
    let expected = [
        json!({"row_number": 2, "name": "Ann", "7": 1}),
        json!({"row_number": 4, "name": "Bo", "7": ""}),
    ];
    assert_eq!(rows, expected);
    let ids = |given: Value, answer: &Value| -> Vec<String> {
        let answer = answer.to_string();
        let found = poll(given).found(&answer).unwrap();
        found
            .elements
            .into_iter()
            .map(|element| element.identity)
            .collect()
    };
    // A row that moves is the same by its cells, and another one by its number.
    let (before, after) = (
        json!({"values": [["a"], ["x"], ["y"]]}),
        json!({"values": [["a"], ["y"]]}),
    );
    assert_eq!(ids(json!({}), &after), ids(json!({}), &before)[1..]);
    assert_eq!(
        ids(json!({"id": "row_number"}), &after),
        ids(json!({"id": "row_number"}), &before)[..1]
    );
    for wrong in [
        json!({"values": [["a"], 5]}),
        json!({"values": [{"a": 1}]}),
        json!({"values": [["n".repeat(20_000)], ["x"]]}),
    ] {
        assert!(poll(json!({})).found(&wrong.to_string()).is_err(), "{wrong}");
    }
    assert!(poll(json!({})).found("{}").unwrap().elements.is_empty());
}

#[test]
fn the_cursor_is_in_the_query() {
    let poll = poll(&json!({
        "url": "https://shop.example.com/orders?open=1#top", "query": {"since": 1, "tag": ["a b", true], "no": null},
        "cursorParameter": "since", "cursor": "next", "headers": {"accept": "text/x"}, "body": {"q": 1}, "timeoutMs": 1e9,
    }));
    let first = poll.request(None);
    assert_eq!(
        first["url"],
        "https://shop.example.com/orders?open=1&since=1&tag=a+b&tag=true#top"
    );
    let next = json!({
        "method": "GET", "url": "https://shop.example.com/orders?open=1&tag=a+b&tag=true&since=c%26d#top",
        "headers": [["accept", "text/x"], ["Content-Type", "application/json"]], "timeoutMs": 60_000.0,
        "body": {"text": "{\"q\":1}"},
    });
    assert_eq!(poll.request(Some("c&d")), next);
}

/// The keys of the elements in a list; what is wrong with the answer.
fn keys(list: &str, id: Option<&str>) -> Result<Vec<String>, String> {
    let answer = format!(r#"{{"data": 1, "data": [{{"other": [[]], "list": {list}}}]}}"#);
    keys_of(&answer, id)
}

fn keys_of(answer: &str, id: Option<&str>) -> Result<Vec<String>, String> {
    let poll = poll(&json!({"items": "data.0.list", "id": id}));
    let found = poll.found(answer).map_err(|problem| problem.to_string())?;
    Ok(found
        .elements
        .into_iter()
        .map(|element| element.identity)
        .collect())
}

#[test]
fn things_are_told_apart_by_what_they_are() {
    let one = keys(r#"[{"a": 1, "b": ["x"]}]"#, None).unwrap();
    assert_eq!(one, keys(r#"[{"b":["\u0078"],"a":1}]"#, None).unwrap());
    assert_ne!(one, keys(r#"[{"a": 1, "b": "x"}]"#, None).unwrap());
    let by_id = keys(r#"[{"id": "1"}, {"id": 1}, {"id": "1", "n": 2}]"#, Some("id")).unwrap();
    assert!(by_id[0] == by_id[2] && by_id[0] != by_id[1]);
    // Longer than numbers are.
    let long = keys(
        r#"[{"id": 123456789012345678901}, {"id": 123456789012345678902}]"#,
        Some("id"),
    )
    .unwrap();
    assert_ne!(long[0], long[1]);
}

/// What was seen before is known by it.
#[test]
fn what_tells_things_apart_stays_the_same() {
    let written = |element: &str| keys(&format!("[{element}]"), None).unwrap().remove(0);
    for (element, canonical) in [
        (
            r#"{"b": ["x\n", {}, [ ], true], "\"": -1, "a": 1, "a": 2.50, "c": null}"#,
            r#"{"\""-1,"a"2.5,"b"["x\n",{},[],true,],"c"null,}"#,
        ),
        (
            r#"[{"b": 1, "\u0061b": {"z": 0, "y": 1e3}}]"#,
            r#"[{"ab"{"y"1000.0,"z"0,},"b"1,},]"#,
        ),
        (r#""\u00e4""#, r#""ä""#),
        ("1.50", "1.50"),
        ("-7", "-7"),
        ("null", "null"),
    ] {
        assert_eq!(
            written(element),
            hex::encode(Sha256::digest(canonical)),
            "{element}"
        );
    }
    let nested = |levels: usize| keys(&format!("[{}1{}]", "[".repeat(levels), "]".repeat(levels)), None);
    assert!(nested(127).is_ok() && nested(128).is_err());
    for wrong in [r#"["\ud800"]"#, r#"{"\ud800": 1}"#, "[1e999]", "1e999"] {
        assert!(keys(&format!("[{wrong}]"), None).is_err(), "{wrong}");
    }
}

/// The most memory that this process has had, in KiB.
fn memory_peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or(0, |line| line.trim().trim_end_matches(" kB").parse().unwrap())
}

#[test]
fn whatever_an_answer_is_made_of_it_takes_little_memory() {
    let answer = |element: &str| {
        let many = format!("{element},").repeat((1 << 20) / (element.len() + 1));
        format!("[[{many}0],{{}}]")
    };
    for element in ["0", "{}", r#"{"":0}"#, "[[]]", r#"{"":{"":{"":0}}}"#] {
        let answer = answer(element);
        // An element, the id of one, the cursor, and the names of a table's columns.
        for parameters in [
            json!({}),
            json!({"id": "0"}),
            json!({"cursor": "0"}),
            json!({"table": true}),
            json!({"items": "0.0", "cursor": "0"}),
        ] {
            let before = memory_peak();
            let _ = poll(&parameters).found(&answer);
            let grown = memory_peak().saturating_sub(before);
            assert!(grown < 24 << 10, "{element}, {parameters}: {grown} KiB");
        }
    }
}

#[test]
fn names_of_columns_do_not_become_long() {
    let poll = poll(&json!({"table": true}));
    // Six times as long as JSON, in each of so many rows.
    let name = "\u{1}".repeat(10_000);
    let rows: Vec<Value> = [json!([name])]
        .into_iter()
        .chain((0..1_999).map(|row| json!([row])))
        .collect();
    let refused = poll
        .found(&Value::from(rows).to_string())
        .unwrap_err()
        .to_string();
    assert!(refused.contains("names of columns"), "{refused}");
}

#[test]
fn what_is_wrong_with_an_answer_is_told() {
    assert!(keys_of("{", None).unwrap_err().starts_with("is not valid JSON"));
    let said = |list: &str, id| keys(list, id).unwrap_err();
    assert!(said("{}", None).contains("is not an array"));
    assert!(said(r#"[{"id": 1}, {"id": null}]"#, Some("id")).contains("`id` in element 1"));
    assert!(said(&format!("[{}{}]", "[".repeat(500), "]".repeat(500)), None).contains("too deep"));
    assert!(said(&format!("[{}1]", "1,".repeat(MANY[0] - 1)), None).contains("more than 2000"));
    for answer in [
        "{}",
        "7",
        r#"{"data": [{"list": null}]}"#,
        r#"{"data": [{"list": []}]}"#,
    ] {
        assert_eq!(keys_of(answer, Some("id")).unwrap(), [""; 0], "{answer}");
    }
}

#[test]
fn a_cursor_is_a_text_or_a_number() {
    let cursor = |path| {
        let answer = r#"[{"at": 5}, {"at": "b"}, {"at": ""}, {"at": {}}]"#;
        poll(&json!({"cursor": path})).found(answer).unwrap().cursor
    };
    assert_eq!(cursor("0.at").as_deref(), Some("5"));
    assert_eq!(cursor("-3.at").as_deref(), Some("b"));
    for none in ["-1.at", "2.at", "-5.at", "4.at", "x", ""] {
        assert_eq!(cursor(none), None, "{none}");
    }
}

#[test]
fn the_newest_are_remembered() {
    let keys: Vec<String> = (0..MANY[1]).map(|number| number.to_string()).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let seen = Seen::default().with(keys[..5_000].iter().copied());
    let seen = Seen::of_stored(&seen.stored()).with(keys[4_995..].iter().copied());
    assert!(keys[4_995..].iter().all(|key| seen.has(key)));
    assert!(seen.has("0") && seen.has("4984") && !seen.has("4990"));
    assert_eq!(Seen::of_stored(&seen.stored()), seen);
    assert_eq!(Seen::of_stored("ä"), Seen::default());
}

#[test]
fn a_run_that_is_noted_says_for_which_elements() {
    let noted = Pending::of("r-1", ["a", "b"]);
    assert_eq!(Pending::of_stored(&noted.stored()), Some(noted.clone()));
    assert!(noted.run == "r-1" && noted.elements().has("a") && !noted.elements().has("c"));
    let seen = Seen::default().with(["c", "a"]).and(noted.elements());
    assert_eq!(seen, Seen::default().with(["a", "b", "c"]));
    for other in ["", "r-1", &format!("{}:", "r".repeat(65))] {
        assert_eq!(Pending::of_stored(other), None, "{other}");
    }
}
