//! HttpRequest with connections, with lists of several pages, and with services that ask to wait.

use crate::server::{Server, ok, response};
use crate::services::{Given, closed_runtime, open_runtime, run, run_data};
use heddle_runtime::Limits;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

fn json_answer(body: &Value) -> Vec<u8> {
    response(
        "200 OK",
        "content-type: application/json",
        body.to_string().as_bytes(),
    )
}

#[tokio::test]
async fn credentials_go_where_the_connection_says() {
    let server = Server::start(ok).await;
    let runtime = open_runtime();
    for (fields, line) in [
        (json!({"apiKey": "k3y"}), "authorization: Bearer k3y\r\n"),
        (json!({"token": "t0k"}), "authorization: Bearer t0k\r\n"),
        (
            json!({"user": "ann", "password": "pw"}),
            "authorization: Basic YW5uOnB3\r\n",
        ),
        (
            json!({"apiKey": "k3y", "headerName": "X-Api-Key"}),
            "x-api-key: k3y\r\n",
        ),
        (
            json!({"apiKey": "k3y", "headerName": "Authorization", "headerPrefix": "Token"}),
            "authorization: Token k3y\r\n",
        ),
        (
            json!({"apiKey": "k 3", "queryName": "key"}),
            "GET /x?a=1&key=k+3 HTTP/1.1\r\n",
        ),
        (
            json!({"auth": "bearer", "token": "t0k", "password": "pw"}),
            "authorization: Bearer t0k\r\n",
        ),
    ] {
        let request = json!({"url": server.url("/x?a=1"), "connection": "shop"});
        let ran = run(
            &runtime,
            "HttpRequest",
            request,
            &Given::one("shop", fields.clone()),
        )
        .await;
        assert_eq!(ran.output()["status"], 200, "{fields}");
        let sent = server.requests().pop().unwrap();
        assert!(sent.contains(line), "{fields}: {sent}");
    }
}

#[tokio::test]
async fn a_key_in_the_query_leaves_the_rest_of_it_as_it_is() {
    let server = Server::start(ok).await;
    let runtime = open_runtime();
    let given = Given::one("shop", json!({"apiKey": "k3y", "queryName": "the key"}));
    for (path, sent_path) in [
        (
            "/x?list&a=b%20c+d&%FF=%E4&e=%2B",
            "/x?list&a=b%20c+d&%FF=%E4&e=%2B&the+key=k3y",
        ),
        ("/x?the%20key=old&the+key&a", "/x?a&the+key=k3y"),
        ("/x?", "/x?the+key=k3y"),
        ("/x", "/x?the+key=k3y"),
    ] {
        let request = json!({"url": server.url(path), "connection": "shop"});
        run(&runtime, "HttpRequest", request, &given).await.output();
        let sent = server.requests().pop().unwrap();
        assert!(
            sent.starts_with(&format!("GET {sent_path} HTTP/1.1\r\n")),
            "{sent}"
        );
    }
}

#[tokio::test]
async fn a_connection_that_does_not_fit_says_why() {
    let runtime = open_runtime();
    for (fields, reason) in [
        (json!({"host": "db"}), "it has no credentials for HTTP"),
        (
            json!({"auth": "digest"}),
            "its `auth` is `digest`, not bearer, basic",
        ),
        (json!({"auth": "basic"}), "it has no field `password`"),
        (
            json!({"tokenUrl": "http://127.0.0.1/", "clientId": "x"}),
            "it has no field `clientSecret`",
        ),
        (json!({"tokenUrl": "nowhere"}), "its `tokenUrl` is not a URL"),
    ] {
        let request = json!({"url": "http://127.0.0.1:9/", "connection": "shop"});
        let failure = run(&runtime, "HttpRequest", request, &Given::one("shop", fields))
            .await
            .failure();
        assert!(
            failure.starts_with("PARAMETER: ") && failure.contains(reason),
            "{failure}"
        );
    }
    let both = json!({"url": "http://127.0.0.1:9/", "connection": "shop", "auth": {"bearer": "x"}});
    let failure = run(&runtime, "HttpRequest", both, &Given::default())
        .await
        .failure();
    assert!(failure.contains("`connection` and `auth` both say"), "{failure}");
}

#[tokio::test]
async fn a_path_goes_below_the_connection_s_base_url() {
    let server = Server::start(ok).await;
    let runtime = open_runtime();
    let given = Given::one("shop", json!({"apiKey": "k3y", "baseUrl": server.url("/v1")}));
    for (url, first) in [
        ("orders?x=1", "GET /v1/orders?x=1 "),
        ("/orders", "GET /v1/orders "),
        ("//evil.example/x", "GET /v1/evil.example/x "),
    ] {
        let ran = run(
            &runtime,
            "HttpRequest",
            json!({"url": url, "connection": "shop"}),
            &given,
        )
        .await;
        assert_eq!(ran.output()["status"], 200);
        let sent = server.requests().pop().unwrap();
        assert!(sent.starts_with(first) && sent.contains("Bearer k3y"), "{sent}");
    }
    let elsewhere = json!({"url": "https:evil.example", "connection": "shop"});
    let failure = run(&runtime, "HttpRequest", elsewhere, &given).await.failure();
    assert!(
        failure.contains("not a path below the connection's `baseUrl`"),
        "{failure}"
    );
}

/// A service that takes only the newest of the tokens that it gives, each for `expires_in` seconds.
async fn oauth_service(expires_in: u32) -> Server {
    let given = AtomicUsize::new(0);
    Server::start(move |request| {
        if request.starts_with("POST /token ") {
            let number = given.fetch_add(1, Ordering::SeqCst) + 1;
            return json_answer(&json!({
                "access_token": format!("t0ken-{number}"), "token_type": "Bearer", "expires_in": expires_in,
            }));
        }
        let newest = format!("authorization: Bearer t0ken-{}\r\n", given.load(Ordering::SeqCst));
        match request.contains(&newest) {
            true => ok("in"),
            false => response("401 Unauthorized", "x: y", b"out"),
        }
    })
    .await
}

fn oauth(server: &Server, more: Value) -> Given {
    let mut fields = json!({
        "tokenUrl": server.url("/token"), "clientId": "heddle", "clientSecret": "s3 cr:t", "scope": "read write",
    });
    for (name, value) in more.as_object().unwrap() {
        fields[name] = value.clone();
    }
    Given::one("shop", fields)
}

fn asked(server: &Server, path: &str) -> Vec<String> {
    let of = |request: &String| request.split(' ').nth(1) == Some(path);
    server.requests().into_iter().filter(of).collect()
}

#[tokio::test]
async fn a_token_is_asked_for_once_and_kept() {
    let server = oauth_service(3_600).await;
    let runtime = open_runtime();
    let request = json!({"url": server.url("/"), "connection": "shop", "bodyOnly": true});
    for _ in 0..3 {
        let ran = run(
            &runtime,
            "HttpRequest",
            request.clone(),
            &oauth(&server, json!({})),
        )
        .await;
        assert_eq!(ran.output(), "in");
    }
    let tokens = asked(&server, "/token");
    assert_eq!(tokens.len(), 1);
    // `heddle:s3%20cr%3At`, as RFC 6749 has it.
    assert!(
        tokens[0].contains("authorization: Basic aGVkZGxlOnMzJTIwY3IlM0F0\r\n"),
        "{}",
        tokens[0]
    );
    assert!(
        tokens[0].ends_with("grant_type=client_credentials&scope=read%20write"),
        "{}",
        tokens[0]
    );
    // Another secret is another token.
    let other = oauth(
        &server,
        json!({"clientSecret": "new", "clientAuth": "body", "audience": "https://a"}),
    );
    assert_eq!(run(&runtime, "HttpRequest", request, &other).await.output(), "in");
    let tokens = asked(&server, "/token");
    assert_eq!(tokens.len(), 2);
    assert!(
        !tokens[1].contains("authorization:")
            && tokens[1].ends_with("&audience=https%3A%2F%2Fa&client_id=heddle&client_secret=new"),
        "{}",
        tokens[1]
    );
}

#[tokio::test]
async fn an_expired_token_is_asked_for_again_before_it_is_used() {
    let server = oauth_service(0).await;
    let runtime = open_runtime();
    for _ in 0..2 {
        let request = json!({"url": server.url("/"), "connection": "shop", "bodyOnly": true});
        assert_eq!(
            run(&runtime, "HttpRequest", request, &oauth(&server, json!({})))
                .await
                .output(),
            "in"
        );
    }
    assert_eq!(
        (asked(&server, "/token").len(), asked(&server, "/").len()),
        (2, 2)
    );
}

#[tokio::test]
async fn a_token_that_is_refused_is_replaced_once() {
    let server = oauth_service(3_600).await;
    let runtime = open_runtime();
    let request = json!({"url": server.url("/"), "connection": "shop", "bodyOnly": true});
    let given = oauth(&server, json!({}));
    run(&runtime, "HttpRequest", request.clone(), &given)
        .await
        .output();
    // Somebody else gets a token, so that the kept one is no longer the newest.
    run(
        &runtime,
        "HttpRequest",
        request.clone(),
        &oauth(&server, json!({"scope": "other"})),
    )
    .await
    .output();
    assert_eq!(run(&runtime, "HttpRequest", request, &given).await.output(), "in");
    assert_eq!(
        (asked(&server, "/token").len(), asked(&server, "/").len()),
        (3, 4)
    );

    let stubborn = Server::start(|request| match request.starts_with("POST /token ") {
        true => json_answer(&json!({"access_token": "never good"})),
        false => response("401 Unauthorized", "x: y", b"out"),
    })
    .await;
    let request = json!({"url": stubborn.url("/"), "connection": "shop"});
    let failure = run(&runtime, "HttpRequest", request, &oauth(&stubborn, json!({})))
        .await
        .failure();
    assert!(failure.starts_with("HTTP_401: "), "{failure}");
    assert_eq!(asked(&stubborn, "/").len(), 2);
}

#[tokio::test]
async fn a_server_that_gives_no_token_is_quoted_without_secrets() {
    let runtime = open_runtime();
    for (answer, expected) in [
        (
            response(
                "400 Bad Request",
                "content-type: application/json",
                br#"{"error":"invalid_client","error_description":"s3 cr:t is wrong"}"#,
            ),
            "returned no token: status 400, invalid_client: *** is wrong.",
        ),
        (ok("hello"), "its answer is not a token response"),
        (
            json_answer(&json!({"access_token": "x", "token_type": "mac"})),
            "tokens are of the type `mac`",
        ),
    ] {
        let server = Server::start(move |_| answer.clone()).await;
        let request = json!({"url": server.url("/"), "connection": "shop"});
        let failure = run(&runtime, "HttpRequest", request, &oauth(&server, json!({})))
            .await
            .failure();
        assert!(
            failure.starts_with("OAUTH_FAILED: ") && failure.contains(expected),
            "{failure}"
        );
    }
}

#[tokio::test]
async fn the_token_endpoint_passes_the_guard() {
    let server = oauth_service(3_600).await;
    let given = oauth(&server, json!({}));
    let request = json!({"url": "http://example.com/", "connection": "shop"});
    let failure = run(&closed_runtime(), "HttpRequest", request, &given)
        .await
        .failure();
    assert!(failure.starts_with("EGRESS_DENIED: "), "{failure}");
    assert!(server.requests().is_empty());
}

/// Seven items, three a page, in each way of telling the next page.
async fn list() -> Server {
    Server::start(|request| {
        let target = request.split(' ').nth(1).unwrap();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let number = |name: &str| {
            let value = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
            value.and_then(|value| value.parse::<usize>().ok())
        };
        let page = number("page").or(number("after")).unwrap_or(1);
        let items: Vec<usize> = (1..=7).skip((page - 1) * 3).take(3).collect();
        let next = (page < 3).then_some(page + 1);
        match path {
            "/link" => {
                let link = next.map_or(String::new(), |next| {
                    format!("link: <https://example.com/first>; rel=\"first\", </link?page={next}>; title=\"a, b\"; rel=\"last next\"\r\n")
                });
                response("200 OK", &format!("{link}content-type: application/json"), json!(items).to_string().as_bytes())
            }
            "/cursor" => json_answer(&json!({"data": {"rows": items}, "next": next})),
            "/url" => json_answer(&json!({"data": {"rows": items}, "next": next.map(|next| format!("/url?page={next}"))})),
            "/page" => json_answer(&json!(items)),
            "/broken" if page == 2 => response("500 Oops", "x: y", b"oops"),
            "/broken" => json_answer(&json!({"rows": items, "next": 2})),
            "/omitted" => json_answer(&json!({"rows": (page == 1).then_some(&items), "next": (page == 1).then_some(2)})),
            "/last" if page == 2 => json_answer(&json!({"count": 3})),
            "/last" => json_answer(&json!({"rows": items, "next": 2})),
            "/none" => json_answer(&json!({"rows": null})),
            "/refused" => json_answer(&json!({"ok": false, "error": "missing_scope"})),
            "/same" => json_answer(&json!({"rows": items, "next": 2})),
            _ => ok("no list"),
        }
    })
    .await
}

#[tokio::test]
async fn the_items_of_all_pages_come_as_one_list() {
    let server = list().await;
    let runtime = open_runtime();
    let all = json!([1, 2, 3, 4, 5, 6, 7]);
    for (path, pagination, pages) in [
        ("/link", json!({"type": "link"}), 3),
        (
            "/cursor",
            json!({"type": "cursor", "cursor": "next", "parameter": "after", "items": "data.rows"}),
            3,
        ),
        (
            "/url",
            json!({"type": "cursor", "cursor": "next", "items": "data.rows"}),
            3,
        ),
        ("/page", json!({"type": "page"}), 4),
    ] {
        let request = json!({"url": server.url(path), "query": {"x": "1"}, "pagination": pagination});
        let output = run(&runtime, "HttpRequest", request, &Given::default())
            .await
            .output();
        assert_eq!(
            (
                &output["body"],
                &output["pages"],
                &output["more"],
                &output["status"]
            ),
            (&all, &json!(pages), &json!(false), &json!(200)),
            "{path}"
        );
    }
    // The list may be null, missing on a page that isn't the first, and missing altogether if its path says so.
    for (path, items, expected) in [
        ("/omitted", "rows", json!([1, 2, 3])),
        ("/last", "rows", json!([1, 2, 3])),
        ("/none", "rows", json!([])),
        ("/refused", "channels?", json!([])),
        ("/last", "rows?", json!([1, 2, 3])),
    ] {
        let pagination = json!({"type": "cursor", "cursor": "next", "parameter": "after", "items": items});
        let request = json!({"url": server.url(path), "pagination": pagination, "bodyOnly": true});
        let output = run(&runtime, "HttpRequest", request, &Given::default())
            .await
            .output();
        assert_eq!(output, expected, "{path}");
    }
    let limited =
        json!({"url": server.url("/page"), "pagination": {"type": "page", "maxPages": 2, "start": 2}});
    let output = run(&runtime, "HttpRequest", limited, &Given::default())
        .await
        .output();
    assert_eq!(
        (&output["body"], &output["pages"], &output["more"]),
        (&json!([4, 5, 6, 7]), &json!(2), &json!(true))
    );
}

#[tokio::test]
async fn lists_that_go_wrong_fail_the_node() {
    let server = list().await;
    let runtime = open_runtime();
    for (path, pagination, expected) in [
        (
            "/broken",
            json!({"type": "cursor", "cursor": "next", "parameter": "after", "items": "rows"}),
            "HTTP_500: ",
        ),
        (
            "/same",
            json!({"type": "cursor", "cursor": "next", "parameter": "after", "items": "rows"}),
            "HTTP_FAILED: ",
        ),
        (
            "/cursor",
            json!({"type": "cursor", "cursor": "next"}),
            "PARSE: Page 1 of http://127.0.0.1; has no list of items: its body is an object with `data`, `next`. \
             `pagination.items` says which of its fields is the list.",
        ),
        (
            "/cursor",
            json!({"type": "cursor", "cursor": "next", "items": "data"}),
            "PARSE: Page 1 of http://127.0.0.1; has no list of items: `pagination.items` names `data`, which is an object with \
             `rows`.",
        ),
        (
            "/refused",
            json!({"type": "page", "items": "channels"}),
            "PARSE: Page 1 of http://127.0.0.1; has no list of items: `pagination.items` names `channels`, but its body is an \
             object with `ok`, `error`. If the service leaves the field out when the list is empty, write `channels?`.",
        ),
        (
            "/cursor",
            json!({"type": "cursor", "cursor": "data", "items": "data.rows"}),
            "PARSE: `data` in the page's body is neither",
        ),
        (
            "/text",
            json!({"type": "link"}),
            "PARSE: Page 1 of http://127.0.0.1",
        ),
    ] {
        let request = json!({"url": server.url(path), "pagination": pagination});
        let failure = run(&runtime, "HttpRequest", request, &Given::default())
            .await
            .failure();
        let (before, after) = expected.split_once(';').unwrap_or((expected, ""));
        assert!(
            failure.starts_with(before) && failure.contains(after),
            "{path}: {failure}"
        );
    }
    let accepted = json!({
        "url": server.url("/broken"), "acceptStatuses": ["2xx", 500],
        "pagination": {"type": "cursor", "cursor": "next", "parameter": "after", "items": "rows"},
    });
    let output = run(&runtime, "HttpRequest", accepted, &Given::default())
        .await
        .output();
    assert_eq!(
        (&output["body"], &output["status"]),
        (&json!([1, 2, 3]), &json!(500))
    );
}

#[tokio::test]
async fn a_next_page_elsewhere_gets_no_credentials_and_needs_the_right() {
    let other = Server::start(|_| json_answer(&json!([2]))).await;
    let target = other.url("/");
    let server = Server::start(move |_| {
        let headers = format!("link: <{target}>; rel=next\r\ncontent-type: application/json");
        response("200 OK", &headers, b"[1]")
    })
    .await;
    let runtime = open_runtime();
    let given = Given::one("shop", json!({"token": "k3y-k3y"}));
    let request = |url: String| json!({"url": url, "connection": "shop", "pagination": {"type": "link"}});
    // The manifest of a literal address lists that host only.
    let failure = run(&runtime, "HttpRequest", request(server.url("/")), &given)
        .await
        .failure();
    assert!(failure.starts_with("NOT_PERMITTED: "), "{failure}");
    assert!(other.requests().is_empty());
    let computed = format!("{{{{ '{}' }}}}", server.url("/"));
    let output = run(&runtime, "HttpRequest", request(computed), &given)
        .await
        .output();
    assert_eq!(output["body"], json!([1, 2]));
    assert!(server.requests()[1].contains("k3y-k3y") && !other.requests()[0].contains("k3y"));
}

/// Refuses the first request, asking to wait.
async fn busy(status: &'static str, wait: String) -> Server {
    let asked = AtomicUsize::new(0);
    Server::start(move |_| match asked.fetch_add(1, Ordering::SeqCst) {
        0 => response(status, &format!("retry-after: {wait}"), b"later"),
        _ => ok("now"),
    })
    .await
}

fn patient(server: &Server) -> Value {
    json!({"parameters": {"url": server.url("/"), "bodyOnly": true}, "retry": {"maxAttempts": 2, "backoffMs": 1}})
}

#[tokio::test]
async fn retries_wait_for_as_long_as_the_service_asks() {
    let runtime = open_runtime();
    for (status, wait, shown) in [
        ("429 Too Many Requests", "1".to_owned(), "next in 1000 ms"),
        ("503 Service Unavailable", "0".to_owned(), "next in 1 ms"),
        (
            "500 Oops",
            "Sun, 06 Nov 1994 08:49:37 GMT".to_owned(),
            "next in 1 ms",
        ),
        ("502 Bad Gateway", "soon".to_owned(), "next in 1 ms"),
    ] {
        let server = busy(status, wait).await;
        let ran = run_data(
            &runtime,
            "HttpRequest",
            patient(&server),
            &Given::default(),
            Limits::default(),
        )
        .await;
        assert_eq!(ran.output(), "now");
        assert!(
            ran.outcome.logs[0].message.contains(shown),
            "{:?}",
            ran.outcome.logs
        );
    }
}

#[tokio::test]
async fn a_service_that_asks_for_more_time_than_the_run_has_fails_it_at_once() {
    let runtime = open_runtime();
    for wait in ["3600", "Fri, 31 Dec 9999 23:59:59 GMT"] {
        let server = busy("429 Too Many Requests", wait.to_owned()).await;
        let limits = Limits {
            deadline: Duration::from_secs(60),
            ..Limits::default()
        };
        let ran = run_data(
            &runtime,
            "HttpRequest",
            patient(&server),
            &Given::default(),
            limits,
        )
        .await;
        let failure = ran.failure();
        assert!(
            failure.starts_with("HTTP_429: ") && failure.contains("longer than the run may take"),
            "{failure}"
        );
        assert_eq!(server.requests().len(), 1);
    }
}
