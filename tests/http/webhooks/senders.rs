//! Real senders' requests, as their documentation shows them, signed with the webhook's secret.

use super::fixture::{Hook, graph, sign};
use crate::harness::{Reply, Request, Service, each_database};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::digest::KeyInit;
use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha1::Sha1;

const FORM: &str = "application/x-www-form-urlencoded";

/// From "Enabling interactivity with Slash Commands" in Slack's documentation.
const SLACK: &str = "token=gIkuvaNzQIHg97ATvDxqgjtO&team_id=T0001&team_domain=example&enterprise_id=E0001&\
    enterprise_name=Globular%20Construct%20Inc&channel_id=C2147483705&channel_name=test&user_id=U2147483697&\
    user_name=Steve&command=/weather&text=94070&response_url=https://hooks.slack.com/commands/1234/5678&\
    trigger_id=13345224609.738474920.8088930838d88f008e0&api_app_id=A123456";

/// From "The Events API" in Slack's documentation, shortened.
const SLACK_EVENT: &str = r#"{"token":"z26uFbvR1xHJEdHE1OQiO6t8","team_id":"T061EG9RZ","api_app_id":"A0FFV41KK",
    "event":{"type":"reaction_added","user":"U061F1EUR","reaction":"slightly_smiling_face"},
    "type":"event_callback","event_id":"Ev9UQ52YNA","event_time":1234567890}"#;

/// From "Twilio's request to your incoming message webhook URL", shortened.
const TWILIO: &str = "ToCountry=US&ToState=CA&SmsMessageSid=SM0123456789abcdef0123456789abcdef&NumMedia=0&ToCity=&\
    FromZip=94107&SmsSid=SM0123456789abcdef0123456789abcdef&FromState=CA&SmsStatus=received&FromCity=SAN+FRANCISCO&\
    Body=Ahoy%21&FromCountry=US&To=%2B14155552345&NumSegments=1&MessageSid=SM0123456789abcdef0123456789abcdef&\
    AccountSid=AC0123456789abcdef0123456789abcdef&From=%2B14155552345&ApiVersion=2010-04-01";

/// From "Webhook events and payloads" in GitHub's documentation, the example of `ping`, shortened.
const GITHUB: &str =
    r#"{"zen":"Responsive is better than fast.","hook_id":1,"hook":{"type":"Repository","events":["push"]}}"#;

/// From the tests of Stripe's libraries, as Stripe writes it: over several lines.
const STRIPE: &str = include_str!("../../../api/model/src/signature/stripe_event.json");

/// From "Webhook events" in GitLab's documentation, the example of a tag event, shortened.
const GITLAB: &str = r#"{"object_kind":"tag_push","event_name":"tag_push","ref":"refs/tags/v1.0.0","user_id":1,"project_id":1}"#;

/// Base64 of an HMAC-SHA1.
fn sha1(secret: &str, text: &str) -> String {
    let mut mac = <Hmac<Sha1> as KeyInit>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(text.as_bytes());
    STANDARD.encode(mac.finalize().into_bytes())
}

/// A request to the webhook.
fn request(hook: &Hook<'_>, method: &str, content_type: &str, body: impl Into<reqwest::Body>) -> Request {
    let path = format!("/webhooks/{}", hook.webhook);
    let request = hook.service.request(method, &path);
    request.header("content-type", content_type).body(body)
}

/// The event that the newest request was captured as.
async fn captured(hook: &Hook<'_>, sent: Reply) -> Value {
    assert_eq!(
        (sent.status, &sent.body["status"]),
        (202, &json!("captured")),
        "{sent}"
    );
    hook.tapped().await[0]["eventData"].clone()
}

each_database! {
    async fn a_slash_command_of_slack(service: Service) {
        let hook = Hook::saved(&service, graph(json!({"scheme": "slack", "accept": ["form", "json"]}), &[])).await;
        let seconds = service.app.clock.now().millis() / 1000;
        let signature = sign(&hook.secret, &format!("v0:{seconds}:{SLACK}"));
        let sent = request(&hook, "POST", FORM, SLACK).header("x-slack-signature", &format!("v0={signature}"))
            .header("x-slack-request-timestamp", &seconds.to_string()).send().await;
        let event = captured(&hook, sent).await;
        assert_eq!(event["body"]["command"], "/weather");
        assert_eq!(event["body"]["enterprise_name"], "Globular Construct Inc");
        assert_eq!(event["headers"]["x-slack-signature"], "***");
    }

    async fn an_event_of_slack_that_it_sends_again(service: Service) {
        let hook = Hook::deployed(&service, graph(json!({"scheme": "slack"}), &[])).await;
        let now = service.app.clock.now().millis() / 1000;
        let slack = |seconds: i64, body: &str| {
            let signature = sign(&hook.secret, &format!("v0:{seconds}:{body}"));
            request(&hook, "POST", "application/json", body.to_owned()).header("x-slack-signature", &format!("v0={signature}"))
                .header("x-slack-request-timestamp", &seconds.to_string())
        };
        let sent = slack(now, SLACK_EVENT).send().await;
        assert_eq!((sent.status, &sent.body["status"]), (202, &json!("accepted")), "{sent}");
        let again = slack(now + 60, SLACK_EVENT).header("x-slack-retry-num", "1")
            .header("x-slack-retry-reason", "http_timeout").send().await;
        assert_eq!((again.status, &again.body["status"]), (200, &json!("duplicate")), "{again}");
        assert_eq!(again.body["runId"], sent.body["runId"]);
        let next = slack(now, &SLACK_EVENT.replace("Ev9UQ52YNA", "Ev9UQ52YNB")).send().await;
        assert_eq!(next.body["status"], "accepted", "{next}");
        // What merely has such a field is no event of the Events API.
        for (seconds, status) in [(now, "accepted"), (now, "duplicate"), (now + 1, "accepted")] {
            let other = slack(seconds, r#"{"type": "shortcut", "event_id": "Ev9UQ52YNA"}"#).send().await;
            assert_eq!(other.body["status"], status, "{other}");
        }
    }

    async fn a_message_by_twilio(service: Service) {
        let hook = Hook::saved(&service, graph(json!({"scheme": "twilio"}), &[])).await;
        let target = format!("{}/webhooks/{}", service.app.config.base_url, hook.webhook);
        let mut fields: Vec<(String, String)> = form_urlencoded::parse(TWILIO.as_bytes()).into_owned().collect();
        fields.sort();
        let fields: String = fields.into_iter().map(|(name, value)| name + &value).collect();
        let twilio = |signed: &str| request(&hook, "POST", FORM, TWILIO).header("x-twilio-signature", &sha1(&hook.secret, signed));
        let sent = twilio(&format!("{target}{fields}")).send().await;
        let event = captured(&hook, sent).await;
        assert_eq!((&event["body"]["Body"], &event["body"]["ToCity"]), (&json!("Ahoy!"), &json!("")));
        assert_eq!(event["headers"]["x-twilio-signature"], "***");
        let elsewhere = twilio(&format!("https://elsewhere.example.com/{fields}")).send().await;
        assert_eq!((elsewhere.status, elsewhere.code()), (401, "SIGNATURE_INVALID"));
        // Other bodies than forms are hashed in the query.
        let unhashed = hook.post("{}").header("x-twilio-signature", &sha1(&hook.secret, &format!("{target}{{}}"))).send().await;
        assert_eq!((unhashed.status, unhashed.code()), (401, "SIGNATURE_INVALID"), "{unhashed}");
        let (body, hash) = ("{\"a\": 1}", "bee96f0d3a2a0b2bb0b4f6f4c9ee67ea2cd38f2d92d3ec17fa0b65f9cdd7f1d3");
        let unhashed = hook.post_with(&format!("?bodySHA256={hash}"), body)
            .header("x-twilio-signature", &sha1(&hook.secret, &format!("{target}?bodySHA256={hash}"))).send().await;
        assert_eq!(unhashed.status, 401, "{unhashed}");
        let hash = hex::encode(<sha2::Sha256 as sha2::Digest>::digest(body));
        let sent = hook.post_with(&format!("?bodySHA256={hash}"), body)
            .header("x-twilio-signature", &sha1(&hook.secret, &format!("{target}?bodySHA256={hash}"))).send().await;
        assert_eq!(captured(&hook, sent).await["body"], json!({"a": 1}));
    }

    async fn a_ping_of_github_as_json_and_as_a_form(service: Service) {
        let graph = graph(json!({"scheme": "github", "accept": ["json", "form"]}), &[]);
        let hook = Hook::deployed(&service, graph).await;
        let form = format!("payload={}", form_urlencoded::byte_serialize(GITHUB.as_bytes()).collect::<String>());
        let github = |content_type: &str, body: &str, delivery: &str| {
            request(&hook, "POST", content_type, body.to_owned())
                .header("x-hub-signature-256", &format!("sha256={}", sign(&hook.secret, body)))
                .header("x-github-event", "ping").header("x-github-delivery", delivery)
        };
        let json = github("application/json", GITHUB, "72d3162e-cc78-11e3-81ab-4c9367dc0958").send().await;
        assert_eq!((json.status, &json.body["status"]), (202, &json!("accepted")), "{json}");
        assert_eq!(hook.tapped().await[0]["eventData"]["body"]["hook_id"], 1);
        let other = github(FORM, &form, "72d3162e-cc78-11e3-81ab-4c9367dc0959").send().await;
        assert_eq!((other.status, &other.body["status"]), (202, &json!("accepted")), "{other}");
        assert_eq!(hook.tapped().await[0]["eventData"]["body"], json!({"payload": GITHUB}));
        // GitHub delivers again under the same id.
        let again = github("application/json", GITHUB, "72d3162e-cc78-11e3-81ab-4c9367dc0958").send().await;
        assert_eq!((again.status, &again.body["status"]), (200, &json!("duplicate")), "{again}");
        assert_eq!(again.body["runId"], json.body["runId"]);
    }

    async fn an_event_of_stripe(service: Service) {
        let hook = Hook::deployed(&service, graph(json!({"scheme": "stripe"}), &[])).await;
        let now = service.app.clock.now().millis() / 1000;
        let stripe = |seconds: i64, body: &str| {
            let signature = sign(&hook.secret, &format!("{seconds}.{body}"));
            // While a secret is replaced, Stripe signs with both.
            let signatures = format!("t={seconds},v1={},v1={signature},v0={}", "0".repeat(64), "1".repeat(64));
            request(&hook, "POST", "application/json; charset=utf-8", body.to_owned()).header("stripe-signature", &signatures)
        };
        let sent = stripe(now, STRIPE).send().await;
        assert_eq!((sent.status, &sent.body["status"]), (202, &json!("accepted")), "{sent}");
        let event = hook.tapped().await[0]["eventData"].clone();
        let written: Value = serde_json::from_str(STRIPE).unwrap();
        assert_eq!((&event["body"], &event["headers"]["stripe-signature"]), (&written, &json!("***")));
        // Stripe delivers again with another time, and so another signature.
        let again = stripe(now + 60, STRIPE).send().await;
        assert_eq!((again.status, &again.body["status"]), (200, &json!("duplicate")), "{again}");
        assert_eq!(again.body["runId"], sent.body["runId"]);
        let late = stripe(now - 301, STRIPE).send().await;
        assert_eq!((late.status, late.code()), (401, "SIGNATURE_INVALID"));
    }

    async fn an_event_of_gitlab(service: Service) {
        let hook = Hook::deployed(&service, graph(json!({"scheme": "gitlab"}), &[])).await;
        let gitlab = |token: &str, key: &str| {
            request(&hook, "POST", "application/json", GITLAB).header("x-gitlab-token", token)
                .header("x-gitlab-event", "Tag Push Hook").header("idempotency-key", key)
        };
        let sent = gitlab(&hook.secret, "f5e5f430-f57b-4e6e-9fac-d9128cd7232f").send().await;
        assert_eq!((sent.status, &sent.body["status"]), (202, &json!("accepted")), "{sent}");
        assert_eq!(hook.tapped().await[0]["eventData"]["headers"]["x-gitlab-token"], "***");
        let again = gitlab(&hook.secret, "f5e5f430-f57b-4e6e-9fac-d9128cd7232f").send().await;
        assert_eq!(again.body["status"], "duplicate");
        let wrong = gitlab("another", "x").send().await;
        assert_eq!((wrong.status, wrong.code()), (401, "SIGNATURE_INVALID"));
        let reason = "The request's sender was rejected: the header X-Gitlab-Token does not have the right credentials.";
        assert_eq!(hook.logs().await[0]["rejectionReason"], reason);
    }

    async fn a_browsers_form_with_a_file(service: Service) {
        let hook = Hook::saved(&service, graph(json!({"scheme": "none", "accept": ["form", "multipart"]}), &[])).await;
        // As in "POST" of MDN, with the boundary of Chromium.
        let body = "------WebKitFormBoundary7MA4YWxkTrZu0gW\r\n\
            Content-Disposition: form-data; name=\"field1\"\r\n\r\nvalue1\r\n\
            ------WebKitFormBoundary7MA4YWxkTrZu0gW\r\n\
            Content-Disposition: form-data; name=\"field2\"; filename=\"example.txt\"\r\n\
            Content-Type: text/plain\r\n\r\nvalue2\r\n\
            ------WebKitFormBoundary7MA4YWxkTrZu0gW--\r\n";
        let content_type = "multipart/form-data; boundary=----WebKitFormBoundary7MA4YWxkTrZu0gW";
        let sent = request(&hook, "POST", content_type, body).header("origin", "null").send().await;
        let event = captured(&hook, sent).await;
        let file = json!({"filename": "example.txt", "contentType": "text/plain", "size": 6, "base64": "dmFsdWUy"});
        assert_eq!(event["body"], json!({"field1": "value1", "field2": file}));
        let sent = request(&hook, "POST", FORM, "say=Hi&to=Mom").send().await;
        assert_eq!(captured(&hook, sent).await["body"], json!({"say": "Hi", "to": "Mom"}));
    }

    async fn curl_with_fields_and_a_file(service: Service) {
        let hook = Hook::saved(&service, graph(json!({"scheme": "none", "accept": ["multipart"]}), &[])).await;
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file.txt");
        std::fs::write(&file, "contents of the file").unwrap();
        let address = format!("http://{}/webhooks/{}", service.address, hook.webhook);
        let output = tokio::task::spawn_blocking(move || {
            let secret = format!("secret=@{}", file.display());
            let arguments = ["-sS", "--noproxy", "*", "-F", "person=anonymous", "-F", &secret, &address];
            std::process::Command::new("curl").args(arguments).output()
        });
        let Some(output) = crate::needs::or_skip("curl", output.await.unwrap()) else {
            return;
        };
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(told["status"], "captured", "{told}");
        let event = hook.tapped().await[0]["eventData"].clone();
        assert_eq!(event["body"]["person"], "anonymous");
        assert_eq!(event["body"]["secret"]["base64"], STANDARD.encode("contents of the file"));
    }

    async fn a_csv_of_five_megabytes_passes_code_without_settings(service: Service) {
        let mut csv = "id,region,quantity,product,day\n".to_owned();
        let mut rows = 0_u64;
        while csv.len() < 5_000_000 {
            csv.push_str(&format!("{rows:06},north,{},chair with arms {rows},2026-03-31\n", rows % 7));
            rows += 1;
        }
        let node = |id: &str, kind: &str, parameters: Value| json!({"id": id, "type": kind, "data": {"parameters": parameters}});
        let code = "export default ({input}) => ({rows: input.length, sum: input.reduce((sum, row) => sum + Number(row.quantity), 0)})";
        let after = [
            node("read", "Csv", json!({"value": "{{ $input.body }}"})),
            node("code", "JavaScript", json!({"code": code})),
            node("end", "Return", json!({})),
        ];
        let parameters = json!({"scheme": "none", "accept": ["text"], "responseMode": "sync"});
        let hook = Hook::deployed(&service, graph(parameters, &after)).await;
        let told = request(&hook, "POST", "text/csv", csv).send().await;
        let sum: u64 = (0..rows).map(|row| row % 7).sum();
        assert_eq!((told.status, &told.body["output"]), (200, &json!({"rows": rows, "sum": sum})), "{told}");
    }

    async fn what_is_no_form_is_refused_with_what_is_wrong(service: Service) {
        let parameters = json!({"scheme": "none", "accept": ["json", "form", "multipart", "text"]});
        let hook = Hook::saved(&service, graph(parameters, &[])).await;
        let part = "--b\r\nContent-Disposition: form-data; name=\"n\"\r\n\r\n1\r\n";
        let multipart = "multipart/form-data; boundary=b";
        for (content_type, body, message) in [
            ("application/json", "{".to_owned(), "the body is not valid JSON"),
            ("multipart/form-data", format!("{part}--b--"), "the body has no boundary"),
            ("multipart/form-data; boundary=c", format!("{part}--b--"), "the body is not valid multipart/form-data"),
            (multipart, part.to_owned() + "--b\r\nContent-Disp", "the body is not valid multipart/form-data"),
            (multipart, part.trim_end().to_owned(), "the body is not valid multipart/form-data"),
            (multipart, part.repeat(10_000) + "--b--", "the body has more than 1000 fields"),
            (FORM, "a=1&".repeat(100_000), "the body has more than 1000 fields"),
            ("text/plain; charset=none-such", "x".to_owned(), "the body has an unknown character set, none-such"),
        ] {
            let sent = request(&hook, "POST", content_type, body).send().await;
            assert_eq!((sent.status, sent.code()), (400, "VALIDATION"), "{content_type}: {sent}");
            let told = sent.body["error"]["details"][0]["message"].as_str().unwrap();
            assert!(told.starts_with(message), "{content_type}: {told}");
            let logged = hook.logs().await[0]["rejectionReason"].as_str().unwrap().to_owned();
            assert!(logged.contains(message), "{logged}");
        }
        let sent = request(&hook, "POST", "image/png", "x").send().await;
        assert_eq!((sent.status, sent.code()), (415, "UNSUPPORTED_MEDIA_TYPE"));
        let message = "The body must be of a kind that this webhook accepts: json, form, multipart, text.";
        assert_eq!(sent.body["error"]["message"], message);
        assert_eq!(hook.tapped().await.len(), 0);
    }
}
