//! A subscription as JSON and, behind a line with `---`, what a service answers: ids, secrets and reasons are of bounded length, and an id
//! stays one part of the address that it is put into.

use heddle_model::subscription::{Known, Step, Subscription, said};
use serde_json::{Map, Value};

/// Characters of an id or a secret.
const TEXT_CHARS_MAX: usize = 500;
/// Characters of what people are told.
const SAID_CHARS_MAX: usize = 300;

/// Checks an input.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Some((written, answer)) = text.split_once("\n---\n") else {
        return;
    };
    let written: Option<Map<String, Value>> = serde_json::from_str(written).ok();
    let subscription = written.and_then(|written| Subscription::of(&written));
    let (Some(subscription), Ok(answer)) = (subscription, serde_json::from_str::<Value>(answer)) else {
        return;
    };
    assert!(said(&answer).chars().count() <= SAID_CHARS_MAX);
    let Subscription {
        first,
        find,
        create,
        renew,
        remove,
        ..
    } = &subscription;
    let optional = [first, find, renew].into_iter().flatten();
    for step in optional.chain([create, remove]) {
        steps(&subscription, step, &answer);
    }
}

fn steps(subscription: &Subscription, step: &Step, answer: &Value) {
    let made = step.remote(answer);
    let found = step
        .found(answer, "https://heddle.example.com/webhooks/x")
        .unwrap_or_default();
    for remote in made.iter().chain(&found) {
        assert!(remote.id.chars().count() <= TEXT_CHARS_MAX);
        let known = Known {
            url: "https://heddle.example.com/webhooks/x",
            secret: "s",
            name: "heddle-x",
            id: &remote.id,
            first: answer.clone(),
        };
        assert!(subscription.request(step, &known)["url"].is_string());
        let removing: Map<String, Value> = [(
            "remove".to_owned(),
            serde_json::json!({"url": "/hooks/{{ $webhook.id }}"}),
        )]
        .into_iter()
        .collect();
        let removing = Subscription::of(&removing).expect("a subscription");
        let request = removing.request(&removing.remove, &known);
        let part = request["url"]
            .as_str()
            .and_then(|url| url.strip_prefix("/hooks/"));
        let is_part = part.is_some_and(|part| !part.contains(['/', '?', '#', '\\']));
        assert!(is_part, "{request}");
    }
    let secret = step.secret(answer).unwrap_or_default();
    assert!(secret.chars().count() <= TEXT_CHARS_MAX);
    let error = step.error(answer).unwrap_or_default();
    assert!(error.chars().count() <= SAID_CHARS_MAX);
}
