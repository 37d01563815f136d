//! Pages of OnForm nodes: what they show, what they take, and what people see afterwards.

use super::fixture::{Hook, responds, returns};
use crate::harness::{Reply, Request, Service, each_database};
use serde_json::{Value, json};

const ENCODED: &str = "application/x-www-form-urlencoded";
/// What would be a page's own, were it not escaped.
const MARKUP: &str = "</textarea>\"'><script>alert(1)</script>&amp;";

fn graph(parameters: Value, after: &[Value]) -> Value {
    let mut graph = super::fixture::graph(parameters, after);
    graph["nodes"][0]["type"] = json!("OnForm");
    graph
}

fn form(fields: Value) -> Value {
    json!({"title": "A visit", "fields": fields})
}

fn at<'s>(hook: &Hook<'s>, method: &str, below: &str) -> Request {
    let path = format!("/webhooks/{}{below}", hook.webhook);
    hook.service.request(method, &path).header("accept", "text/html")
}

async fn page(hook: &Hook<'_>, below: &str) -> Reply {
    at(hook, "GET", below).send().await
}

async fn send(hook: &Hook<'_>, body: &str) -> Reply {
    at(hook, "POST", "")
        .header("content-type", ENCODED)
        .body(body.to_owned())
        .send()
        .await
}

fn encoded(fields: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new())
        .extend_pairs(fields)
        .finish()
}

/// The output of the newest run.
async fn output(hook: &Hook<'_>, deployment: &str) -> Value {
    let runs = hook.runs(deployment).await;
    let run = runs[0]["id"].as_str().unwrap();
    let ended = hook.service.ended(&hook.user, deployment, run).await;
    assert_eq!(ended["status"], "success", "{ended}");
    ended["output"].clone()
}

/// The title of a page, which is checked as all of them are.
fn title(reply: &Reply) -> (u16, &str) {
    assert_eq!(
        reply.headers["content-type"], "text/html; charset=utf-8",
        "{reply}"
    );
    assert_eq!(reply.headers["cache-control"], "no-store", "{reply}");
    assert_eq!(reply.headers["x-content-type-options"], "nosniff", "{reply}");
    let policy = reply.headers["content-security-policy"].to_str().unwrap();
    assert!(
        policy.starts_with("default-src 'none'; style-src 'sha256-"),
        "{policy}"
    );
    assert!(!reply.text.contains("<script"), "{reply}");
    let (_, rest) = reply.text.split_once("<title>").unwrap();
    (reply.status, rest.split_once("</title>").unwrap().0)
}

each_database! {
    async fn a_form_is_shown_and_its_answers_are_typed(service: Service) {
        let fields = json!([
            {"name": "who", "label": "Your name", "required": true, "help": "As on your card."},
            {"name": "guests", "type": "number", "integer": true, "max": 8, "default": 2},
            {"name": "days", "type": "checkboxes", "options": ["Mon", {"value": "fri", "label": "Friday"}]},
            {"name": "terms", "type": "checkbox", "required": true},
            {"name": "note", "type": "textarea"},
            {"name": "source", "type": "hidden", "default": "card"},
        ]);
        let hook = Hook::saved(&service, graph(form(fields), &[returns("{{ $input }}")])).await;
        assert_eq!(title(&page(&hook, "").await), (404, "There is no form here"));
        assert_eq!(title(&send(&hook, "who=Ann").await), (404, "There is no form here"));
        let deployment = hook.deploy().await;
        let shown = page(&hook, "?who=Ann%20%3CLee%3E&source=mail").await;
        assert_eq!(title(&shown), (200, "A visit"));
        for part in [
            "<label for=\"f0\">Your name</label><p class=\"help\" id=\"f0-help\">As on your card.</p>\
             <input type=\"text\" id=\"f0\" name=\"who\" aria-describedby=\"f0-help\" required value=\"Ann &lt;Lee&gt;\">",
            "<input type=\"number\" id=\"f1\" name=\"guests\" max=\"8\" inputmode=\"numeric\" value=\"2\">",
            "<legend>days <span class=\"optional\">(optional)</span></legend>",
            "<input type=\"checkbox\" id=\"f2-1\" name=\"days\" value=\"fri\"><label for=\"f2-1\">Friday</label>",
            "<input type=\"hidden\" name=\"source\" value=\"mail\">",
            "<button>Send</button>",
        ] {
            assert!(shown.text.contains(part), "{part}\n{shown}");
        }
        let policy = shown.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("form-action 'self';"), "{policy}");
        let head = at(&hook, "HEAD", "").send().await;
        assert_eq!((head.status, head.text.as_str()), (200, ""));
        assert_eq!(at(&hook, "PUT", "").send().await.status, 405);

        let sent = [("who", " Ann "), ("guests", "3"), ("days", "fri"), ("terms", "on"), ("note", ""), ("source", "x"), ("more", "1")];
        let thanked = send(&hook, &encoded(&sent)).await;
        assert_eq!(title(&thanked), (200, "Thank you"));
        assert!(thanked.text.contains("Your answers have arrived."), "{thanked}");
        let event = output(&hook, &deployment).await;
        let expected = json!({"who": "Ann", "guests": 3, "days": ["fri"], "terms": true, "note": null, "source": "x"});
        assert_eq!((&event["body"], &event["method"]), (&expected, &json!("POST")));
    }

    async fn mistakes_are_told_beside_what_was_typed(service: Service) {
        let fields = json!([
            {"name": "who", "label": "Your <b>name</b>", "required": true},
            {"name": "age", "type": "number", "min": 18},
            {"name": "note", "type": "textarea", "pattern": "[a-z]+", "patternMessage": "Small letters, please."},
            {"name": "colour", "type": "radio", "options": ["red", "blue"], "required": true},
            {"name": "terms", "type": "checkbox"},
        ]);
        let hook = Hook::saved(&service, graph(form(fields), &[])).await;
        let deployment = hook.deploy().await;
        let token = "0123456789abcdef";
        let sent = [("who", " "), ("age", MARKUP), ("note", MARKUP), ("colour", MARKUP), ("terms", "on"), ("_token", token)];
        let again = send(&hook, &encoded(&sent)).await;
        assert_eq!(title(&again), (422, "Error: A visit"));
        let escaped = "&lt;/textarea&gt;&quot;&#39;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;amp;";
        for part in [
            "<li><a href=\"#f0\">Your &lt;b&gt;name&lt;/b&gt;: Fill in this field.</a></li>",
            "<li><a href=\"#f3-0\">colour: Choose one of the listed answers.</a></li>",
            "aria-describedby=\"f0-mistake\" required aria-invalid=\"true\"",
            &format!("value=\"{escaped}\">"),
            &format!(">\n{escaped}</textarea>"),
            "Small letters, please.",
            &format!("<input type=\"hidden\" name=\"_token\" value=\"{token}\">"),
            "name=\"terms\" checked>",
        ] {
            assert!(again.text.contains(part), "{part}\n{again}");
        }
        assert_eq!(hook.runs(&deployment).await, [] as [Value; 0]);
        let log = &hook.logs().await[0];
        assert_eq!(
            (&log["statusCode"], &log["rejectionReason"]),
            (&json!(422), &json!("Not filled in as asked: who, age, note, colour."))
        );
    }

    async fn what_is_sent_twice_counts_once(service: Service) {
        let hook = Hook::saved(&service, graph(form(json!([{"name": "who"}])), &[])).await;
        let deployment = hook.deploy().await;
        let shown = page(&hook, "").await;
        let (_, rest) = shown.text.split_once("name=\"_token\" value=\"").unwrap();
        let token = rest.split_once('"').unwrap().0.to_owned();
        let other = page(&hook, "").await;
        assert!(!other.text.contains(&token), "each page has a token of its own");
        let sent = encoded(&[("who", "Ann"), ("_token", &token)]);
        assert_eq!(title(&send(&hook, &sent).await), (200, "Thank you"));
        assert_eq!(title(&send(&hook, &sent).await), (200, "Your answers have arrived"));
        assert_eq!(hook.runs(&deployment).await.len(), 1);
        send(&hook, &encoded(&[("who", "Ann"), ("_token", "another")])).await;
        assert_eq!(hook.runs(&deployment).await.len(), 2);
    }

    async fn files_are_stored_and_checked(service: Service) {
        let fields = json!([
            {"name": "who", "required": true},
            {"name": "papers", "type": "file", "multiple": true, "accept": [".txt", "image/*"]},
            {"name": "photo", "type": "file"},
        ]);
        let hook = Hook::saved(&service, graph(form(fields), &[returns("{{ $input.body }}")])).await;
        let deployment = hook.deploy().await;
        assert!(page(&hook, "").await.text.contains("<form method=\"post\" enctype=\"multipart/form-data\">"));
        let part = |about: &str, content: &str| format!("--XX\r\nContent-Disposition: form-data; {about}\r\n\r\n{content}\r\n");
        let file = |field: &str, name: &str, content: &str| {
            format!("--XX\r\nContent-Disposition: form-data; name=\"{field}\"; filename=\"{name}\"\r\nContent-Type: text/plain\r\n\r\n{content}\r\n")
        };
        let upload = |parts: String| {
            at(&hook, "POST", "").header("content-type", "multipart/form-data; boundary=XX").body(format!("{parts}--XX--\r\n")).send()
        };
        let who = part("name=\"who\"", "Ann");
        let wrong = upload(format!("{who}{}", file("papers", "a.exe", "x"))).await;
        assert_eq!(title(&wrong), (422, "Error: A visit"));
        assert!(wrong.text.contains("Choose a different kind of file: .txt, image/*."), "{wrong}");
        service.has_no_files(&hook.user).await;
        let unchosen = file("photo", "", "");
        let both = format!("{who}{}{}{unchosen}{}", file("papers", "a.txt", "one"), file("papers", "b.txt", "two"), file("other", "c.txt", "three"));
        assert_eq!(title(&upload(both).await), (200, "Thank you"));
        let body = output(&hook, &deployment).await;
        let names: Vec<_> = body["papers"].as_array().unwrap().iter().map(|file| (&file["name"], &file["size"])).collect();
        assert_eq!(names, [(&json!("a.txt"), &json!(3)), (&json!("b.txt"), &json!(3))]);
        assert!(body["papers"][0]["$file"].is_string(), "{body}");
        assert_eq!((&body["photo"], body.as_object().unwrap().len()), (&Value::Null, 3), "{body}");
    }

    async fn the_answer_is_the_patterns_or_a_page(service: Service) {
        let mut parameters = form(json!([{"name": "who"}]));
        parameters["thanks"] = json!("See you <soon>.");
        let html = json!({"status": 201, "body": "{{ '<h1>Hello ' + $input.body.who + '</h1>' }}", "bodyType": "text", "headers": {"content-type": "text/html"}});
        let hook = Hook::deployed(&service, graph(parameters.clone(), &[responds(html)])).await;
        let shown = page(&hook, "").await;
        assert!(shown.headers["content-security-policy"].to_str().unwrap().contains("form-action 'self' https: http:;"));
        let answered = send(&hook, "who=Ann").await;
        assert_eq!((answered.status, answered.text.as_str()), (201, "<h1>Hello Ann</h1>"));
        assert!(answered.headers["content-security-policy"].to_str().unwrap().starts_with("sandbox "));

        hook.save(graph(parameters.clone(), &[])).await;
        hook.deploy().await;
        assert!(send(&hook, "who=Ann").await.text.contains("See you &lt;soon&gt;."));

        let fails = json!({"id": "boom", "type": "Throw", "data": {"parameters": {"message": "the database at 10.0.0.1"}}});
        parameters["responseMode"] = json!("sync");
        hook.save(graph(parameters.clone(), &[fails])).await;
        hook.deploy().await;
        let failed = send(&hook, "who=Ann").await;
        assert_eq!(title(&failed), (500, "Something went wrong"));
        assert!(!failed.text.contains("10.0.0.1"), "{failed}");

        parameters["redirect"] = json!("https://example.com/thanks");
        parameters["responseMode"] = json!("async");
        hook.save(graph(parameters, &[])).await;
        hook.deploy().await;
        // Not followed: there is nothing at that address.
        let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        let url = format!("http://{}/webhooks/{}", service.address, hook.webhook);
        let led = client.post(url).header("content-type", ENCODED).body("who=Ann").send().await.unwrap();
        assert_eq!((led.status().as_u16(), &led.headers()["location"]), (303, &"https://example.com/thanks".parse().unwrap()));
    }

    async fn an_answer_leads_on_to_the_page_of_a_callback(service: Service) {
        service.app.executions.start().await.unwrap();
        let led = responds(json!({"status": 303, "headers": {"Location": "{{ $run.callbackUrls.ask }}"}, "body": "", "bodyType": "text"}));
        let asks = json!({"id": "ask", "type": "WaitForCallback", "data": {"parameters": {}}});
        let after = [led, asks, returns("{{ [$trigger.body.who, $input.query.sure] }}")];
        let hook = Hook::saved(&service, graph(form(json!([{"name": "who"}])), &after)).await;
        let deployment = hook.deploy().await;
        let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        let url = format!("http://{}/webhooks/{}", service.address, hook.webhook);
        let led = client.post(url).header("content-type", ENCODED).body("who=Ann").send().await.unwrap();
        assert_eq!(led.status().as_u16(), 303);
        let next = led.headers()["location"].to_str().unwrap();
        let path = format!("{}?sure=yes", &next[next.find("/callbacks/").unwrap()..]);
        let asked = service.get(&path).header("accept", "text/html").send().await;
        assert!(asked.status == 200 && asked.text.contains("<dt>sure</dt><dd>yes</dd>"), "{asked}");
        let confirmed = service.post(&path).header("accept", "text/html").header("content-type", ENCODED).body("").send().await;
        assert_eq!(confirmed.status, 200, "{confirmed}");
        assert_eq!(output(&hook, &deployment).await, json!(["Ann", "yes"]));
    }

    async fn a_form_that_is_closed_says_so(service: Service) {
        let mut parameters = form(json!([{"name": "who"}]));
        let hook = Hook::saved(&service, graph(parameters.clone(), &[])).await;
        let deployment = hook.deploy().await;
        hook.change(&deployment, "pause").await;
        assert_eq!(title(&page(&hook, "").await), (503, "This form is closed for now"));
        assert_eq!(title(&send(&hook, "who=Ann").await), (503, "This form is closed for now"));
        hook.change(&deployment, "resume").await;
        assert_eq!(title(&page(&hook, "/below").await), (404, "There is no form here"));
        assert_eq!(title(&at(&hook, "POST", "").json(&json!({"who": "Ann"})).send().await).0, 415);

        parameters["whenPaused"] = json!("queue");
        parameters["maxBytes"] = json!(50);
        hook.save(graph(parameters.clone(), &[])).await;
        hook.deploy().await;
        assert_eq!(title(&send(&hook, &format!("who={}", "x".repeat(50))).await), (413, "That is too large"));
        hook.change(&deployment, "pause").await;
        assert_eq!(title(&send(&hook, "who=Ann").await), (200, "Thank you"));
        let held = &hook.runs(&deployment).await[0];
        assert_eq!((&held["status"], &held["phase"]), (&json!("running"), &json!("queued")), "{held}");
        hook.change(&deployment, "resume").await;

        parameters["allowIps"] = json!(["192.0.2.1"]);
        hook.save(graph(parameters.clone(), &[])).await;
        hook.deploy().await;
        assert_eq!(title(&page(&hook, "").await), (403, "You can't use this form"));
        assert_eq!(title(&send(&hook, "who=Ann").await), (403, "You can't use this form"));
        let deploy = format!("/api/patterns/{}/deploy", hook.pattern);
        assert_eq!(service.delete(&deploy).bearer(&hook.user.token).send().await.status, 200);
        assert_eq!(title(&page(&hook, "").await), (404, "There is no form here"));
    }

    async fn its_address_is_listed_with_those_of_webhooks(service: Service) {
        let hook = Hook::saved(&service, graph(form(json!([{"name": "who"}])), &[])).await;
        let deployment = hook.deploy().await;
        let listed = hook.get(&format!("/api/deployments/{deployment}/webhook")).await;
        let endpoint = &listed.body["data"][0];
        assert_eq!((&endpoint["nodeId"], &endpoint["scheme"], &endpoint["status"]), (&json!("hook"), &json!("none"), &json!("active")), "{listed}");
        assert_eq!((&endpoint["methods"], &endpoint["accept"]), (&json!(["GET", "POST", "HEAD"]), &json!(["form", "multipart"])));
        let plan = hook.service.post(&format!("/api/patterns/{}/deploy", hook.pattern)).bearer(&hook.user.token);
        let plan = plan.json(&json!({"nodeDefinitions": {}, "dryRun": true})).send().await;
        assert_eq!(plan.body["data"]["webhooks"][0]["webhookUrl"], endpoint["webhookUrl"], "{plan}");
    }

    async fn what_is_only_too_much_is_logged_as_that(service: Service) {
        let mut limited = form(json!([{"name": "who"}]));
        limited["requestsPerMinute"] = json!(1);
        let hook = Hook::deployed(&service, graph(limited, &[])).await;
        assert_eq!(send(&hook, "who=Ann").await.status, 200);
        assert_eq!(send(&hook, "who=Bob").await.status, 429);
        assert_eq!(hook.log_statuses().await[0], ("rate_limited".to_owned(), 429));
    }

    async fn of_what_is_large_the_beginning_is_shown_again(service: Service) {
        let fields = json!([
            {"name": "age", "type": "number"}, {"name": "note", "type": "textarea"}, {"name": "more", "type": "textarea"},
            {"name": "days", "type": "checkboxes", "options": ["Mon", "Fri"]}, {"name": "source", "type": "hidden"},
        ]);
        let hook = Hook::saved(&service, graph(form(fields), &[returns("{{ $input.body.note.length }}")])).await;
        let deployment = hook.deploy().await;
        let sent = |age: &str, text: &str| format!("age={age}&note={text}&more={text}&days=Fri&source=card");
        // On a page each takes six bytes.
        let again = send(&hook, &sent("none", &"\"".repeat(3 << 20))).await;
        assert_eq!((again.status, again.text.len() < 1 << 20), (422, true), "{}", again.text.len());
        assert_eq!(again.text.matches("&quot;").count(), 2 * (64 << 10));
        let told = "This is too long to be shown again: only its beginning is here";
        // Beside each of the fields, and above all of them.
        assert_eq!(again.text.matches(told).count(), 4);
        for part in [
            "<li><a href=\"#f0\">age: Enter a number.</a></li>", "<li><a href=\"#f1\">note: This is too long",
            "value=\"Fri\" checked>", "name=\"source\" value=\"card\">",
        ] {
            assert!(again.text.contains(part), "{part}");
        }
        assert_eq!(hook.logs().await[0]["rejectionReason"], "Not filled in as asked: age.");
        let taken = send(&hook, &sent("7", &"x".repeat(1 << 20))).await;
        assert_eq!((taken.status, taken.text.contains("Your answers have arrived.")), (200, true));
        assert_eq!(output(&hook, &deployment).await, json!(1 << 20));
    }
}
