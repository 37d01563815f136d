//! No loop of the service ends for good by a panic: whatever starts a task in the background either goes on after one
//! (`heddle_store::panics`), or is listed here with why it need not.

use super::{is_test, sources};
use std::collections::BTreeSet;

/// Files with tasks that end with what they are for, or in which nothing panics that does not end with a task of its own.
const ENDING: &[(&str, &str)] = &[
    (
        "api/execution/src/calls/accepting.rs",
        "the acceptance of one call",
    ),
    ("api/execution/src/consents.rs", "one renewal"),
    ("api/execution/src/deploy.rs", "one look at all deployments"),
    ("api/execution/src/dispatcher.rs", "one wait of one run"),
    ("api/execution/src/executor.rs", "one run each, which is given up"),
    ("api/execution/src/mailboxes.rs", "one look into one mailbox"),
    (
        "api/execution/src/notices.rs",
        "cancels the runs of one deployment",
    ),
    ("api/execution/src/patience.rs", "its loop only counts"),
    ("api/execution/src/polls.rs", "one poll"),
    (
        "api/execution/src/side_task.rs",
        "stores one group; whoever began it hears of the end",
    ),
    ("api/service/src/audit.rs", "one entry"),
    (
        "api/service/src/mail/smtp.rs",
        "its loop only accepts: each session is a task of its own",
    ),
    ("api/service/src/one_time_links.rs", "one link"),
    (
        "api/service/src/outbox.rs",
        "its loop only hands over: each letter is a task of its own",
    ),
    (
        "api/src/cli/serve.rs",
        "listeners, whose loops go on by themselves",
    ),
    (
        "api/src/http/connections.rs",
        "revokes the tokens of one connection",
    ),
    (
        "api/src/http/connections/change.rs",
        "revokes the tokens of one connection",
    ),
    ("api/src/http/server/rest.rs", "the rest of one body"),
    ("api/src/http/test_streams.rs", "one test run"),
];

#[test]
fn what_is_spawned_goes_on_after_a_panic_or_ends_anyhow() {
    let mut found = BTreeSet::new();
    for (path, text) in sources() {
        if !path.starts_with("api/") || is_test(&path) {
            continue;
        }
        let (code, _) = text
            .split_once("#[cfg(test)]\nmod tests")
            .unwrap_or((text.as_str(), ""));
        if code.contains("tokio::spawn(") && !code.contains("unless_it_panics(") {
            found.insert(path);
        }
    }
    let listed: BTreeSet<String> = ENDING.iter().map(|(path, _)| (*path).to_owned()).collect();
    assert_eq!(
        found,
        listed,
        "left: files that spawn without `unless_it_panics`; right: those that are listed in {}",
        file!()
    );
}
