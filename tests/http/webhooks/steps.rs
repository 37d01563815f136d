//! Forms of several pages: the next one is shown to whoever has sent the one before, and a last page says what became of it.

use super::fixture::{Hook, graph, responds, returns};
use crate::harness::{Service, each_database};
use reqwest::header::{COOKIE, HeaderMap, HeaderValue};
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};

const ENCODED: &str = "application/x-www-form-urlencoded";

/// A page, and where a browser has found it.
#[derive(Debug)]
struct Page {
    status: u16,
    url: String,
    text: String,
}

impl Page {
    fn title(&self) -> &str {
        let (_, rest) = self.text.split_once("<title>").unwrap_or_default();
        rest.split_once("</title>").unwrap_or_default().0
    }

    /// The URLs of its links.
    fn links(&self) -> Vec<String> {
        let base = reqwest::Url::parse(&self.url).unwrap();
        let links = self.text.split("<a href=\"").skip(1);
        let links = links.map(|rest| rest.split_once('"').unwrap().0);
        links.map(|link| base.join(link).unwrap().to_string()).collect()
    }
}

/// Follows redirects, as browsers do.
async fn opened(request: RequestBuilder) -> Page {
    let response = request.header("accept", "text/html").send().await.unwrap();
    Page {
        status: response.status().as_u16(),
        url: response.url().to_string(),
        text: response.text().await.unwrap(),
    }
}

/// Who was shown the page at this address, as browsers are known again.
async fn browser(address: &str) -> Client {
    let client = Client::builder().no_proxy();
    let page = client.build().unwrap().get(address).send().await.unwrap();
    let given = page.headers()["set-cookie"].to_str().unwrap().to_owned();
    let (cookie, attributes) = given.split_once(';').unwrap();
    assert!(cookie.starts_with("heddle-form="), "{given}");
    assert_eq!(attributes, " Path=/; HttpOnly; SameSite=Lax");
    let headers = HeaderMap::from_iter([(COOKIE, HeaderValue::from_str(cookie).unwrap())]);
    Client::builder()
        .no_proxy()
        .default_headers(headers)
        .build()
        .unwrap()
}

async fn sent(client: &Client, url: &str, body: &str) -> Page {
    let request = client.post(url).header("content-type", ENCODED);
    opened(request.body(body.to_owned())).await
}

fn node(id: &str, kind: &str, parameters: Value) -> Value {
    json!({"id": id, "type": kind, "data": {"parameters": parameters}})
}

fn form(parameters: Value, after: &[Value]) -> Value {
    let mut graph = graph(parameters, after);
    graph["nodes"][0]["type"] = json!("OnForm");
    graph
}

async fn newest(hook: &Hook<'_>, deployment: &str) -> String {
    hook.runs(deployment).await[0]["id"].as_str().unwrap().to_owned()
}

each_database! {
    async fn the_next_page_follows_and_the_last_is_the_patterns(service: Service) {
        service.app.executions.start().await.unwrap();
        let more = node("more", "WaitForCallback", json!({"form": {
            "title": "Hello {{ $input.body.who }}",
            "fields": [{"name": "guests", "type": "number", "required": true, "max": 8}, {"name": "plan", "type": "file"}],
        }}));
        let last = responds(json!({
            "body": "{{ '<p>' + $trigger.body.who + ' brings ' + $input.body.guests + '</p>' }}",
            "bodyType": "text", "headers": {"content-type": "text/html"},
        }));
        let first = json!({"title": "A visit", "fields": [{"name": "who", "required": true}]});
        let hook = Hook::saved(&service, form(first, &[more, last, returns("{{ $nodes.more.body }}")])).await;
        let deployment = hook.deploy().await;
        let address = format!("http://{}/webhooks/{}", service.address, hook.webhook);
        let client = browser(&address).await;
        let second = sent(&client, &address, "who=%3CAnn%3E&_token=abc").await;
        assert_eq!((second.status, second.title()), (200, "Hello &lt;Ann&gt;"), "{second:?}");
        assert!(second.url.contains("/callbacks/") && second.url.ends_with("/more"), "{second:?}");
        assert!(second.text.contains("<form method=\"post\" enctype=\"multipart/form-data\">"), "{second:?}");
        // What is sent twice leads to the page that is open now, and so does loading it again.
        let again = sent(&client, &address, "who=%3CAnn%3E&_token=abc").await;
        assert_eq!((again.url.as_str(), again.title()), (second.url.as_str(), second.title()));
        assert_eq!(opened(client.get(&second.url)).await.text, second.text);
        assert_eq!(hook.runs(&deployment).await.len(), 1);

        let wrong = sent(&client, &second.url, "guests=9").await;
        assert_eq!((wrong.status, wrong.title()), (422, "Error: Hello &lt;Ann&gt;"), "{wrong:?}");
        assert!(wrong.text.contains("Enter a number of at most 8."), "{wrong:?}");
        let path = &second.url[second.url.find("/callbacks/").unwrap()..];
        for (sent, told) in [(json!({"guests": 9}), "at most 8"), (json!({"guests": 3, "gusts": 3}), "no field `gusts`")] {
            let refused = service.post(path).json(&sent).send().await;
            assert_eq!((refused.status, refused.code()), (400, "VALIDATION"), "{refused}");
            assert!(refused.text.contains(told), "{refused}");
        }
        let run = newest(&hook, &deployment).await;
        let listed = hook.get("/api/callbacks").await;
        assert_eq!(listed.body["data"][0]["fields"], json!(["guests", "plan"]), "{listed}");
        let by_member = service.post(&format!("/api/deployments/{deployment}/runs/{run}/callback")).bearer(&hook.user.token);
        let refused = by_member.json(&json!({"place": "more", "body": {"approved": true}})).send().await;
        assert_eq!((refused.status, refused.code()), (400, "VALIDATION"), "{refused}");

        let upload = |guests: u8| {
            let parts = format!(
                "--XX\r\nContent-Disposition: form-data; name=\"guests\"\r\n\r\n{guests}\r\n\
                 --XX\r\nContent-Disposition: form-data; name=\"plan\"; filename=\"a.txt\"\r\n\r\nplan\r\n--XX--\r\n"
            );
            let request = client.post(&second.url).header("content-type", "multipart/form-data; boundary=XX");
            opened(request.body(parts))
        };
        assert_eq!(upload(9).await.status, 422);
        let files = hook.get("/api/files").await;
        assert_eq!(files.body["data"], json!([]), "nothing is left of what was refused: {files}");
        let nameless = "--XX\r\nContent-Disposition: form-data; name=\"plan\"; filename=\"a.txt\"\r\n\r\nplan\r\n--XX\r\nContent-Type: text/plain\r\n\r\n3\r\n--XX--\r\n";
        let request = service.post(path).header("content-type", "multipart/form-data; boundary=XX");
        request.body(nameless).send().await.assert_refused(400, "VALIDATION");
        service.has_no_files(&hook.user).await;
        let last = upload(3).await;
        assert_eq!((last.status, last.text.as_str()), (200, "<p><Ann> brings 3</p>"), "{last:?}");
        for reloaded in [sent(&client, &second.url, "guests=4").await, opened(client.get(&second.url)).await] {
            assert_eq!((reloaded.status, reloaded.text.as_str()), (200, last.text.as_str()), "{reloaded:?}");
        }
        let body = service.ended(&hook.user, &deployment, &run).await["output"].clone();
        assert_eq!((&body["guests"], &body["plan"]["name"], &body["plan"]["size"]), (&json!(3), &json!("a.txt"), &json!(4)), "{body}");
    }

    async fn whoever_knows_a_page_s_token_is_not_led_to_the_pages_of_others(service: Service) {
        service.app.executions.start().await.unwrap();
        let more = node("more", "WaitForCallback", json!({"form": {
            "title": "For {{ $input.body.who }}", "fields": [{"name": "ok", "type": "checkbox"}],
        }}));
        let first = json!({"title": "A visit", "fields": [{"name": "who", "required": true}]});
        let hook = Hook::saved(&service, form(first, &[more])).await;
        let deployment = hook.deploy().await;
        let address = format!("http://{}/webhooks/{}", service.address, hook.webhook);
        let (ann, thief) = (browser(&address).await, browser(&address).await);
        assert!(ann.get(&address).send().await.unwrap().headers().get("set-cookie").is_none(), "it has one");
        // The page is shown again with the token that was sent with it, whoever has thought of that.
        let wrong = sent(&ann, &address, "who=&_token=chosen").await;
        assert!(wrong.status == 422 && wrong.text.contains("name=\"_token\" value=\"chosen\""), "{wrong:?}");
        let hers = sent(&ann, &address, "who=Ann&_token=chosen").await;
        assert_eq!((hers.status, hers.title()), (200, "For Ann"), "{hers:?}");
        let his = sent(&thief, &address, "who=Bob&_token=chosen").await;
        assert_eq!((his.status, his.title()), (200, "For Bob"), "{his:?}");
        // What has no cookie counts once as well, but is not led on twice: nothing tells whether the same browser sends it.
        let program = Client::builder().no_proxy().build().unwrap();
        let led = sent(&program, &address, "who=Eve&_token=chosen").await;
        assert_eq!((led.status, led.title()), (200, "For Eve"), "{led:?}");
        let again = sent(&program, &address, "who=Eve&_token=chosen").await;
        assert_eq!((again.status, again.title(), &again.url), (200, "Your answers have arrived", &address), "{again:?}");
        let again = sent(&ann, &address, "who=Ann&_token=chosen").await;
        assert_eq!((again.title(), &again.url), ("For Ann", &hers.url), "{again:?}");
        assert_eq!(hook.runs(&deployment).await.len(), 3);
    }

    async fn pages_that_are_open_together_are_listed_and_those_of_others_are_not(service: Service) {
        service.app.executions.start().await.unwrap();
        let page = |title: &str, follows: bool| json!({"form": {
            "title": title, "follows": follows, "fields": [{"name": "ok", "type": "checkbox"}],
        }});
        let tell = node("tell", "Log", json!({"message": "{{ $run.callbackUrls.boss }}"}));
        let first = json!({"title": "A visit", "thanks": "See you <soon>.", "fields": [{"name": "who"}]});
        let mut drawn = form(first, &[tell]);
        for (id, title, follows) in [("a", "Page <A>", true), ("b", "Page B", true), ("boss", "Approve", false)] {
            drawn["nodes"].as_array_mut().unwrap().push(node(id, "WaitForCallback", page(title, follows)));
            drawn["edges"].as_array_mut().unwrap().push(json!({"source": "tell", "target": id}));
        }
        let hook = Hook::saved(&service, drawn).await;
        let deployment = hook.deploy().await;
        let client = Client::builder().no_proxy().build().unwrap();
        let address = format!("http://{}/webhooks/{}", service.address, hook.webhook);
        let choice = sent(&client, &address, "who=Ann").await;
        assert_eq!((choice.status, choice.title()), (200, "What comes next"), "{choice:?}");
        assert!(choice.text.contains(">Page &lt;A&gt;</a>") && !choice.text.contains("Approve"), "{choice:?}");
        let links = choice.links();
        let [a, b] = &links[..] else { panic!("{choice:?}") };

        let run = newest(&hook, &deployment).await;
        let boss = loop {
            let found = service.run(&hook.user, &deployment, &run).await;
            if let Some(url) = found["logOutput"][0]["message"].as_str() {
                break url[url.find("/callbacks/").unwrap()..].to_owned();
            }
            tokio::task::yield_now().await;
        };
        let boss = format!("http://{}{boss}", service.address);
        assert_eq!(opened(client.get(&boss)).await.title(), "Approve");
        let approved = sent(&client, &boss, "ok=on").await;
        assert_eq!((approved.status, approved.title()), (200, "Your answer has arrived"), "others are not led on: {approved:?}");
        assert_eq!(opened(client.get(&boss)).await.title(), "There is nothing to answer here");

        let other = sent(&client, a, "").await;
        assert_eq!((other.title(), &other.url), ("Page B", b), "{other:?}");
        let thanked = sent(&client, b, "ok=on").await;
        assert_eq!((thanked.status, thanked.title()), (200, "Thank you"), "{thanked:?}");
        assert!(thanked.text.contains("See you &lt;soon&gt;."), "{thanked:?}");
        // A token is of one kind of URL and of one run.
        let token = a.split('/').nth_back(1).unwrap();
        let made_up = opened(client.get(a.replace(token, &"0".repeat(32)))).await;
        assert_eq!(made_up.status, 404, "{made_up:?}");
    }

    async fn what_was_responded_before_a_page_is_not_the_last_one(service: Service) {
        service.app.executions.start().await.unwrap();
        let more = node("more", "WaitForCallback", json!({"form": {
            "title": "More", "fields": [{"name": "ok", "type": "checkbox"}],
        }}));
        let here = |url: &str| format!("http://{}{}", service.address, &url[url.find("/callbacks/").unwrap()..]);
        let led = responds(json!({
            "status": 303, "headers": {"Location": "{{ $run.callbackUrls.more }}"}, "body": "", "bodyType": "text",
        }));
        let first = json!({"title": "A visit", "fields": [{"name": "who"}]});
        let hook = Hook::deployed(&service, form(first, &[led, more.clone()])).await;
        // Not followed: the address is that of the configuration.
        let staying = Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        let address = format!("http://{}/webhooks/{}", service.address, hook.webhook);
        let led = staying.post(address).header("content-type", ENCODED).body("who=Ann").send().await.unwrap();
        let page = here(led.headers()["location"].to_str().unwrap());
        let client = Client::builder().no_proxy().build().unwrap();
        // The page is there once the run waits for it; until then the form itself leads to it.
        let there = async |page: &str| loop {
            let found = opened(client.get(page)).await;
            if found.title() == "More" {
                break found.url;
            }
        };
        let page = there(&page).await;
        let thanked = sent(&client, &page, "ok=on").await;
        assert_eq!((thanked.status, thanked.title()), (200, "Thank you"), "it would lead in a circle: {thanked:?}");

        // What the sender of a webhook was given is not for whoever answers a form.
        let told = responds(json!({"body": "{{ [$run.callbackUrls.more] }}"}));
        let bob = service.user("bob").await;
        let hook = Hook::saved_by(&service, bob, graph(json!({"responseMode": "sync"}), &[told, more])).await;
        hook.deploy().await;
        let told = hook.signed("{}").send().await;
        let page = here(told.body[0].as_str().unwrap());
        let page = there(&page).await;
        let thanked = sent(&client, &page, "ok=on").await;
        assert_eq!((thanked.status, thanked.title()), (200, "Thank you"), "{thanked:?}");
    }

    async fn of_what_is_large_a_further_page_shows_the_beginning_again(service: Service) {
        service.app.executions.start().await.unwrap();
        let more = node("more", "WaitForCallback", json!({"form": {"title": "More", "fields": [
            {"name": "guests", "type": "number", "required": true}, {"name": "note", "type": "textarea"},
        ]}}));
        let first = json!({"title": "A visit", "fields": [{"name": "who"}]});
        let hook = Hook::saved(&service, form(first, &[more, returns("{{ $input.body.note.length }}")])).await;
        let deployment = hook.deploy().await;
        let client = Client::builder().no_proxy().build().unwrap();
        let address = format!("http://{}/webhooks/{}", service.address, hook.webhook);
        let second = sent(&client, &address, "who=Ann").await;
        assert_eq!((second.status, second.title()), (200, "More"), "{second:?}");
        let again = sent(&client, &second.url, &format!("guests=many&note={}", "\"".repeat(2 << 20))).await;
        assert_eq!((again.status, again.title()), (422, "Error: More"));
        assert_eq!(again.text.matches("&quot;").count(), 64 << 10);
        assert_eq!(again.text.matches("only its beginning is here").count(), 2);

        let path = &second.url[second.url.find("/callbacks/").unwrap()..];
        let run = newest(&hook, &deployment).await;
        let by_member = format!("/api/deployments/{deployment}/runs/{run}/callback");
        let note = "\"".repeat(1 << 20);
        for (body, told) in [
            (json!({"guests": "many", "note": note}), "`guests`: Enter a number."),
            (json!({"guests": 3, "note": vec![1; 20_000]}), "more than 20000 values"),
        ] {
            let program = service.post(path).json(&body).send().await;
            let member = service.post(&by_member).bearer(&hook.user.token).json(&json!({"place": "more", "body": body})).send().await;
            for refused in [program, member] {
                assert_eq!((refused.status, refused.code()), (400, "VALIDATION"), "{refused}");
                assert!(refused.text.contains(told) && refused.text.len() < 1_000, "{refused}");
            }
        }
        let answer = json!({"place": "more", "body": {"guests": 3, "note": note}});
        let taken = service.post(&by_member).bearer(&hook.user.token).json(&answer).send().await;
        assert_eq!(taken.status, 200, "{taken}");
        assert_eq!(service.ended(&hook.user, &deployment, &run).await["output"], json!(1 << 20));
    }
}
