//! Triggers of services: what their files have recorded proves its sender, and what is asked is what the service describes.

use crate::harness::{Service, each_database};
use crate::webhooks::fixture::{Hook, sign};
use heddle_catalogue::{NodeType, ServiceTrigger, Start, node_types};
use heddle_model::clock::Timestamp;
use heddle_model::poll::Poll;
use heddle_model::signature::{Incoming, Scheme, verify};
use heddle_model::subscription::{Known, Subscription};
use heddle_model::webhook::Webhook;
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value, json};

fn triggers(start: Start) -> Vec<(&'static NodeType, &'static ServiceTrigger)> {
    let types = node_types().iter();
    let triggers = types.filter_map(|it| Some((it, it.trigger?)));
    triggers.filter(|(_, trigger)| trigger.start == start).collect()
}

fn headers(given: &Value) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in given.as_object().unwrap() {
        let name = HeaderName::try_from(name.as_str()).unwrap();
        headers.insert(name, HeaderValue::from_str(value.as_str().unwrap()).unwrap());
    }
    headers
}

#[test]
fn what_services_send_is_let_in_and_nothing_else() {
    let triggers = triggers(Start::Webhook);
    assert!(triggers.len() >= 20, "{}", triggers.len());
    for (it, trigger) in triggers {
        let request = &trigger.recorded.request;
        let webhook = Webhook::of(&trigger.settings(&trigger.recorded.parameters));
        let content_type = request["headers"]["content-type"].as_str().unwrap();
        assert!(
            webhook.accept.kind_of(content_type).is_some() && webhook.methods.has("POST"),
            "{}",
            it.name
        );
        let headers = headers(&request["headers"]);
        let now = Timestamp::from_millis(request["at"].as_i64().unwrap() * 1_000 + 900);
        let verified = |secret: &str, body: &str| {
            let incoming = Incoming {
                headers: &headers,
                base_url: "https://heddle.example.com",
                target: request["target"].as_str().unwrap_or("/webhooks/abc"),
                body: body.as_bytes(),
            };
            verify(&webhook.authentication, secret, &incoming, now)
        };
        let (secret, body) = (
            request["secret"].as_str().unwrap(),
            request["body"].as_str().unwrap(),
        );
        assert_eq!(verified(secret, body), Ok(()), "{}", it.name);
        let is_open = webhook.authentication.scheme == Scheme::Open;
        assert_eq!(verified("another", body).is_ok(), is_open, "{}", it.name);
    }
}

/// A URL's own part, and its query in an order that tells nothing.
fn parts(url: &str) -> (String, Vec<(String, String)>) {
    let mut url = Url::parse(url).unwrap();
    let mut pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    pairs.sort();
    url.set_query(None);
    (url.into(), pairs)
}

#[test]
fn what_is_polled_is_asked_for_as_recorded() {
    let triggers = triggers(Start::Poll);
    assert!(triggers.len() >= 7, "{}", triggers.len());
    for (it, trigger) in triggers {
        let recorded = &trigger.recorded;
        let mut given = recorded.parameters.clone();
        given.insert("connection".to_owned(), "mine".into());
        let poll = Poll::of(&trigger.settings(&given));
        let (asked, expected) = (poll.request(None), &recorded.request);
        assert_eq!(
            (&asked["method"], &asked["connection"]),
            (&expected["method"], &json!("mine")),
            "{}",
            it.name
        );
        let urls = [&asked, expected].map(|request| parts(request["url"].as_str().unwrap()));
        assert_eq!(urls[0], urls[1], "{}", it.name);
        let body = asked["body"]["text"].as_str().unwrap_or("null");
        let body: Value = serde_json::from_str(body).unwrap();
        assert_eq!(body, expected["body"], "{}", it.name);
        let sent = asked["headers"].as_array().unwrap();
        for header in expected["headers"].as_object().into_iter().flatten() {
            assert!(sent.contains(&json!(header)), "{}: {sent:?}", it.name);
        }
        let answer = recorded.response.to_string();
        let found = poll.found(&answer).unwrap();
        let id = |id: &serde_json::value::RawValue| serde_json::from_str::<Value>(id.get()).unwrap();
        let ids: Value = found
            .elements
            .iter()
            .map(|element| element.id.as_deref().map_or(Value::Null, id))
            .collect();
        assert_eq!(ids, recorded.ids, "{}", it.name);
    }
}

/// The body of a request as JSON, or the fields of a form.
fn body_of(sent: &Value, is_form: bool) -> Value {
    let text = sent["body"]["text"].as_str();
    match (text, is_form) {
        (None, _) => Value::Null,
        (Some(text), false) => serde_json::from_str(text).unwrap(),
        (Some(text), true) => {
            let fields: Vec<(String, String)> = serde_html_form::from_str(text).unwrap();
            json!(fields)
        }
    }
}

#[test]
fn services_are_told_of_webhooks_as_recorded() {
    let (url, secret, name) = ("https://heddle.example.com/webhooks/abc", "s3cret", "heddle-e1");
    let mut told = 0;
    for (it, trigger) in triggers(Start::Webhook) {
        let recorded = &trigger.recorded.subscription;
        let Some(parameters) = recorded["parameters"].as_object() else {
            continue;
        };
        told += 1;
        let mut given = parameters.clone();
        assert_eq!(
            (trigger.subscription(&given), trigger.lacks(&given)),
            (None, vec![]),
            "{}",
            it.name
        );
        given.insert("connection".to_owned(), "mine".into());
        assert!(trigger.lacks(&given).is_empty(), "{}", it.name);
        let written = trigger.subscription(&given).unwrap();
        let subscription = Subscription::of(&written).unwrap();
        let known = Known {
            url,
            secret,
            name,
            id: recorded["id"].as_str().unwrap(),
            first: recorded["first"]["response"].clone(),
        };
        for (kind, step) in [
            ("first", subscription.first.as_ref()),
            ("find", subscription.find.as_ref()),
            ("create", Some(&subscription.create)),
            ("renew", subscription.renew.as_ref()),
            ("remove", Some(&subscription.remove)),
        ] {
            let expected = &recorded[kind]["request"];
            let Some(step) = step else {
                assert!(expected.is_null(), "{}: {kind}", it.name);
                continue;
            };
            let sent = subscription.request(step, &known);
            for part in ["method", "url"] {
                assert_eq!(sent[part], expected[part], "{}: {kind}", it.name);
            }
            assert_eq!(sent["connection"], "mine");
            let (is_form, body) = match &expected["form"] {
                Value::Null => (false, &expected["body"]),
                form => (true, form),
            };
            assert_eq!(body_of(&sent, is_form), *body, "{}: {kind}", it.name);
        }
        let answer = |kind: &str| &recorded[kind]["response"];
        let made = subscription.create.remote(answer("create")).unwrap();
        assert_eq!(made.id, known.id, "{}", it.name);
        if let Some(find) = &subscription.find {
            let found = find.found(answer("find"), url).unwrap();
            assert_eq!(
                found.iter().map(|it| it.id.as_str()).collect::<Vec<_>>(),
                [known.id],
                "{}",
                it.name
            );
            let others = find.found(answer("find"), "https://heddle.example.com/webhooks/def");
            assert_eq!(others, Some(vec![]), "{}", it.name);
        }
        let chosen = subscription.create.secret(answer("create"));
        assert_eq!(chosen.as_deref(), recorded["secret"].as_str(), "{}", it.name);
        if let Some(renew) = &subscription.renew {
            assert!(
                renew.expires_at(answer("renew")).is_some() && made.expires_at.is_some(),
                "{}",
                it.name
            );
        }
    }
    assert!(told >= 13, "{told}");
}

#[test]
fn parameters_of_a_trigger_stand_where_they_belong() {
    let settings = |name: &str, given: Value| {
        let it = node_types().iter().find(|it| it.name == name).unwrap();
        let given: Map<String, Value> = serde_json::from_value(given).unwrap();
        Value::Object(it.trigger.unwrap().settings(&given))
    };
    let gmail = settings(
        "OnGmailMessage",
        json!({"connection": "mine", "cron": "0 9 * * *", "search": null}),
    );
    assert_eq!(
        (&gmail["query"], &gmail["connection"], &gmail["cron"]),
        (&json!({"maxResults": 100}), &json!("mine"), &json!("0 9 * * *"))
    );
    let drive = settings(
        "OnGoogleDriveFile",
        json!({"folderId": "root", "event": "folderUpdated"}),
    );
    assert_eq!(
        (&drive["query"]["orderBy"], drive.get("id")),
        (&json!("modifiedTime desc"), None)
    );
    let airtable = settings(
        "OnAirtableRecord",
        json!({"baseId": "../x", "table": "a/b?c", "field": "F"}),
    );
    assert_eq!(airtable["url"], "https://api.airtable.com/v0/..%2Fx/a%2Fb%3Fc");
    // What a draft has may be anything.
    let github = settings(
        "OnGitHubEvent",
        json!({"scheme": "none", "alias": "team", "maxBytes": 100}),
    );
    assert_eq!(
        github,
        json!({"scheme": "github", "alias": "team", "maxBytes": 100})
    );
}

each_database! {
    async fn a_trigger_of_a_service_has_a_webhook_that_asks_for_its_proof(service: Service) {
        let graph = json!({
            "nodes": [
                {"id": "bot", "type": "OnTelegramUpdate"},
                {"id": "return", "type": "Return", "data": {"parameters": {"value": "{{ $input.body.message.text }}"}}},
            ],
            "edges": [{"source": "bot", "target": "return"}],
        });
        let hook = Hook::saved(&service, graph).await;
        let deployment = hook.deploy().await;
        let update = json!({"update_id": 1, "message": {"text": "Hi"}}).to_string();
        let sent = |secret: &str| hook.post(&update).header("x-telegram-bot-api-secret-token", secret);
        let refused = sent("another").send().await;
        assert_eq!(refused.status, 401, "{refused}");
        let taken = sent(&hook.secret).send().await;
        assert_eq!(taken.status, 202, "{taken}");
        assert_eq!(hook.runs(&deployment).await.len(), 1);
    }

    async fn slack_is_given_its_challenge_if_it_has_signed_it(service: Service) {
        let graph = json!({
            "nodes": [{"id": "slack", "type": "OnSlackEvent"}, {"id": "return", "type": "Return"}],
            "edges": [{"source": "slack", "target": "return"}],
        });
        let hook = Hook::saved(&service, graph).await;
        let deployment = hook.deploy().await;
        let seconds = (service.app.clock.now().millis() / 1000).to_string();
        let asked = json!({"type": "url_verification", "challenge": "c-1", "token": "t"}).to_string();
        let sent = |secret: &str| {
            let signature = sign(secret, &format!("v0:{seconds}:{asked}"));
            let request = hook.post(&asked).header("x-slack-request-timestamp", &seconds);
            request.header("x-slack-signature", &format!("v0={signature}"))
        };
        let refused = sent("another").send().await;
        assert_eq!(refused.status, 401, "{refused}");
        let proven = sent(&hook.secret).send().await;
        assert_eq!((proven.status, proven.text.as_str()), (200, "c-1"), "{proven}");
        assert!(hook.runs(&deployment).await.is_empty());
    }
}
