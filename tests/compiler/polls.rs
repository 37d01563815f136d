//! What the compiler says of the parameters of an OnPoll node, or of a trigger whose service is told of it, and the rights that they
//! need.

use crate::diagnostics::{graph, node, of};
use heddle_compiler::{Options, analyse};
use serde_json::{Value, json};

fn told(parameters: Value) -> Vec<String> {
    let said = of(graph([node("list", "OnPoll", parameters)], &[]));
    let lines = said.lines().filter(|line| !line.starts_with(' '));
    lines.map(str::to_owned).collect()
}

#[test]
fn a_poll_is_checked() {
    let whole = json!({
        "url": "/orders", "connection": "shop", "cron": "0 * * * *", "timezone": "Europe/Berlin", "items": "data.0.list",
        "id": "meta.id", "startFrom": "beginning", "method": "POST", "body": {"a": [1]}, "headers": {"A": "b"},
        "query": {"q": ["a", 1]}, "cursor": "-1.id", "cursorParameter": "after", "timeoutMs": 5000,
        "as": "list",
    });
    assert_eq!(told(whole), [""; 0]);
    let cases = [
        (json!({}), "`url` is required"),
        (
            json!({"url": "/orders"}),
            "`/orders` is not an address that can be polled",
        ),
        (
            json!({"url": "ftp://x.example.com/"}),
            "is not an address that can be polled",
        ),
        (
            json!({"url": "https://x.example.com/{{ 1 }}"}),
            "must be a literal",
        ),
        (
            json!({"url": "https://x.example.com", "cron": "every day"}),
            "has 2 fields",
        ),
        (
            json!({"url": "https://x.example.com", "items": "a..b"}),
            "`a..b` is not a path",
        ),
        (
            json!({"url": "https://x.example.com", "cursor": "next"}),
            "`cursorParameter` is required with `cursor`",
        ),
        (
            json!({"url": "https://x.example.com", "cursor": "next", "cursorParameter": "after", "sinceParameter": "since"}),
            "`sinceParameter` says when the service was asked last",
        ),
        (
            json!({"url": "https://x.example.com", "body": {}}),
            "`body` is not sent with the method GET",
        ),
        (
            json!({"url": "https://x.example.com", "headers": {"a": "x".repeat(70_000)}}),
            "65536 are allowed",
        ),
    ];
    for (parameters, part) in cases {
        let said = told(parameters).join("\n");
        assert!(said.contains(part) && said.contains("error["), "{part}: {said}");
    }
}

#[test]
fn what_a_poll_has_instead_is_said() {
    let said = |more: Value| {
        let mut parameters = json!({"url": "https://x.example.com"});
        let more = more.as_object().unwrap().clone();
        parameters.as_object_mut().unwrap().extend(more);
        of(graph([node("list", "OnPoll", parameters)], &[]))
    };
    let of_id = said(json!({"id": "{{ $item.guid ?? $item.link }}"}));
    assert!(
        of_id.contains("error[literal-only]") && of_id.contains("write a path without `{{ }}`"),
        "{of_id}"
    );
    let of_pages = said(json!({"pagination": {"mode": "link"}}));
    assert!(
        of_pages.contains("warning[unknown-parameter]") && of_pages.contains("each poll asks for one page"),
        "{of_pages}"
    );
}

#[test]
fn a_poll_may_ask_whom_it_names() {
    let rights = |parameters: Value, is_disabled: bool| {
        let mut list = node("list", "OnPoll", parameters);
        list["data"]["disabled"] = json!(is_disabled);
        let graph = graph([list, node("start", "OnManual", json!({}))], &[]);
        let (lowered, diagnostics) = analyse(&graph, &json!({}), &Options::default());
        let rights = lowered
            .unwrap_or_else(|| panic!("{diagnostics:?}"))
            .manifest
            .rights;
        (
            rights.effects.join(" "),
            rights.hosts.join(" "),
            rights.connections.join(" "),
        )
    };
    let told = |effects: &str, hosts: &str, connections: &str| {
        (effects.to_owned(), hosts.to_owned(), connections.to_owned())
    };
    let whole = json!({"url": "https://shop.example.com:8443/orders", "connection": "shop"});
    assert_eq!(
        rights(whole.clone(), false),
        told("http", "shop.example.com:8443", "shop")
    );
    assert_eq!(
        rights(json!({"url": "/orders", "connection": "shop"}), false),
        told("http", "", "shop")
    );
    assert_eq!(rights(whole, true), told("", "", ""));
}

#[test]
fn a_service_that_is_told_of_a_trigger_is_asked_by_its_connection() {
    let analysed = |parameters: Value| {
        let graph = graph([node("push", "OnGitHubEvent", parameters)], &[]);
        let (lowered, diagnostics) = analyse(&graph, &json!({}), &Options::default());
        (
            lowered.map(|lowered| lowered.manifest),
            format!("{diagnostics:?}"),
        )
    };
    let (lacking, said) = analysed(json!({"connection": "code", "owner": "acme"}));
    assert!(
        lacking.is_none() && said.contains("`repository` is required with a connection"),
        "{said}"
    );
    let whole = json!({"connection": "code", "owner": "acme", "repository": "a/b", "maxBytes": 100});
    let manifest = analysed(whole).0.unwrap();
    let rights = &manifest.rights;
    assert_eq!(
        (
            rights.effects.join(" "),
            rights.hosts.join(" "),
            rights.connections.join(" ")
        ),
        ("http".to_owned(), "api.github.com".to_owned(), "code".to_owned())
    );
    let trigger = &manifest.triggers[0];
    assert_eq!(trigger.subscription["find"]["url"], "/repos/acme/a%2Fb/hooks");
    assert_eq!(trigger.subscription["create"]["body"]["events"], json!(["*"]));
    // Without one, nobody tells it.
    let manifest = analysed(json!({"owner": "acme"})).0.unwrap();
    assert!(manifest.triggers[0].subscription.is_empty() && manifest.rights.effects.is_empty());
}
