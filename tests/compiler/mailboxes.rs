//! What the compiler says of an OnMailbox node's parameters.

use crate::diagnostics::{graph, node, of};
use serde_json::{Value, json};

fn told(parameters: Value) -> String {
    of(graph([node("mail", "OnMailbox", parameters)], &[]))
}

#[test]
fn a_mailbox_is_checked() {
    let whole = json!({
        "connection": "support", "mailbox": "Entwürfe/2026", "afterwards": "move", "moveTo": "Done", "files": true,
        "startFrom": "beginning", "search": "UNSEEN (OR FROM \"a (b\" SUBJECT \"\\\"\")", "cron": "0 * * * *",
        "timezone": "Europe/Berlin",
    });
    assert_eq!(told(whole), "");
    let cases = [
        (json!({}), "`connection` is required"),
        (json!({"connection": "{{ 1 }}"}), "must be a literal"),
        (json!({"connection": "a", "cron": "every day"}), "has 2 fields"),
        (
            json!({"connection": "a", "mailbox": "a\r\nb"}),
            "can't be the name of a mailbox",
        ),
        (
            json!({"connection": "a", "search": "ALL\r\nx LOGOUT"}),
            "is not a search that IMAP knows",
        ),
        (
            json!({"connection": "a", "search": "FROM {4}"}),
            "is not a search that IMAP knows",
        ),
        (
            json!({"connection": "a", "search": "NOT (SEEN"}),
            "is not a search that IMAP knows",
        ),
        (
            json!({"connection": "a", "search": "FROM \"x"}),
            "is not a search that IMAP knows",
        ),
        (
            json!({"connection": "a", "afterwards": "move"}),
            "`moveTo` is required",
        ),
        (
            json!({"connection": "a", "moveTo": "Done"}),
            "is only used with `afterwards`",
        ),
    ];
    for (parameters, part) in cases {
        let said = told(parameters);
        assert!(said.contains(part) && said.contains("error["), "{part}: {said}");
    }
}
