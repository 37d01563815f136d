//! What a process says that somebody has taken over is read within the limits of a message, or not at all.

use super::*;
use serde_json::{Value, json};

fn head() -> Value {
    json!({
        "from": null, "to": [], "cc": [], "reply_to": [], "subject": "x", "date": null, "message_id": null, "text": "x",
        "html": null, "headers": [["Subject", "x"]], "attachments": [], "recipients": [],
    })
}

fn attached(bytes: &[usize]) -> Value {
    let attachment =
        |bytes: &usize| json!({"filename": "a", "content_type": "a/b", "content_id": null, "bytes": bytes});
    bytes.iter().map(attachment).collect()
}

/// An answer with this in place of what a message says, and this behind it.
fn answered((name, value): (&str, Value), contents: &[u8]) -> Result<Read, &'static str> {
    let mut head = head();
    head[name] = value;
    let mut answer = framed(json!({"Read": head}).to_string().as_bytes());
    answer.extend_from_slice(contents);
    match read(answer)? {
        Ok(read) => Ok(read),
        Err(_) => Err("it was refused"),
    }
}

#[test]
fn what_attachments_hold_is_what_follows() {
    let read = answered(("attachments", attached(&[2, 0, 3])), b"abcde")
        .ok()
        .unwrap();
    assert_eq!(read.contents, [&b"ab"[..], b"", b"cde"]);
    assert_eq!(read.message.attachments.0.len(), 3);
    let lies: [&[usize]; 5] = [&[2, 2], &[6], &[usize::MAX, 5], &[usize::MAX], &[]];
    for bytes in lies {
        assert!(
            answered(("attachments", attached(bytes)), b"abcde").is_err(),
            "{bytes:?}"
        );
    }
}

#[test]
fn what_says_more_than_a_message_may_is_no_answer() {
    let mailbox = json!({"name": null, "address": "a"});
    let text = |bytes: usize| Value::String("x".repeat(bytes));
    for (name, fits, does_not) in [
        (
            "to",
            json!(vec![&mailbox; ADDRESSES_MAX]),
            json!(vec![&mailbox; ADDRESSES_MAX + 1]),
        ),
        (
            "headers",
            json!(vec![("a", "b"); FIELDS_MAX]),
            json!(vec![("a", "b"); FIELDS_MAX + 1]),
        ),
        (
            "recipients",
            json!(vec!["a"; RECIPIENTS_MAX]),
            json!(vec!["a"; RECIPIENTS_MAX + 1]),
        ),
        (
            "attachments",
            attached(&[0; PARTS_MAX]),
            attached(&[0; PARTS_MAX + 1]),
        ),
        ("subject", text(TEXT_BYTES_MAX), text(TEXT_BYTES_MAX + 1)),
        ("html", text(16 << 20), text(HEAD_BYTES_MAX)),
        ("date", json!("2026-11-21T09:00:00+01:00"), json!("the day after")),
        ("from", mailbox.clone(), json!(["a"])),
    ] {
        assert!(answered((name, fits), b"").is_ok(), "{name}");
        assert!(answered((name, does_not), b"").is_err(), "{name}");
    }
}

#[test]
fn what_is_no_answer_is_not_taken_for_one() {
    let longer_than_it_is = [&u32::MAX.to_le_bytes()[..], b"{}"].concat();
    for answer in [
        b"".as_slice(),
        b"\0\0",
        b"\0\0\0\0",
        &longer_than_it_is,
        &framed(b"{}"),
        &framed(b"\"Other\""),
        &framed(b"{\"Refused\":\"In words of its own\"}"),
    ] {
        assert!(read(answer.to_vec()).is_err(), "{answer:?}");
    }
}

#[test]
fn a_refusal_says_which_limit_it_is() {
    for refused in [Refused::NoMessage, Refused::Nesting, Refused::Contents] {
        assert_eq!(read(refusal(refused)).unwrap().err(), Some(refused));
    }
}

#[test]
fn what_no_run_could_take_is_refused() {
    let text = |bytes: usize| Message {
        from: None,
        to: BoundedList(Vec::new()),
        cc: BoundedList(Vec::new()),
        reply_to: BoundedList(Vec::new()),
        subject: None,
        date: None,
        message_id: None,
        text: Some("\"".repeat(bytes)),
        html: None,
        headers: BoundedList(Vec::new()),
        attachments: BoundedList(Vec::new()),
        recipients: BoundedList(Vec::new()),
    };
    let answer = |bytes: usize| text(bytes).answer(std::iter::empty());
    assert!(answer(1 << 20).is_ok());
    assert_eq!(answer(9 << 20), Err(Refused::Texts));
    assert_eq!(answer(HEAD_BYTES_MAX + 1), Err(Refused::Texts));
}
