//! Connections that somebody consents to: against oidc-provider from npm, which takes every refresh token once and ends the
//! whole grant if one comes again.

use super::{api_key, listed, post};
use crate::external_login::oidc_provider::OidcProvider;
use crate::external_login::{CLIENT_ID, CLIENT_SECRET};
use crate::flow::waits::parked;
use crate::harness::{Database, Reply, Service, User, chain, each_database};
use crate::needs;
use heddle_execution::OperatorClient;
use heddle_runtime::EgressPolicy;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const BASE_URL: &str = "http://localhost";
const RETURN: &str = "http://localhost/connections/return";
/// Longer than the provider's access tokens last.
const TOKEN_LIFETIME: Duration = Duration::from_secs(60 * 60 + 1);

async fn service(database: Database, reachable: &str) -> Service {
    let egress = EgressPolicy::parse([reachable]).unwrap();
    Service::with(database, |config| {
        config.egress = egress;
        config.base_url = BASE_URL.to_owned();
        config.token_ttl = TOKEN_LIFETIME * 10;
        config.oauth_clients = vec![OperatorClient {
            provider: "google".to_owned(),
            client_id: "the operator's".to_owned(),
            client_secret: "the operator's secret".into(),
        }];
    })
    .await
}

async fn made(service: &Service, user: &User, issuer: &str) -> String {
    let body = json!({
        "provider": "example", "displayName": "Example", "hosts": ["127.0.0.1"],
        "credentials": {"clientId": CLIENT_ID, "clientSecret": CLIENT_SECRET, "issuer": issuer,
                        "scope": "openid email offline_access", "parameters": "prompt=consent"},
    });
    let reply = post(service, user, "/api/connections/oauth", body).await;
    assert_eq!(reply.status, 201, "{reply}");
    assert_eq!(reply.body["type"], "oauth");
    assert_eq!(reply.body["status"], "consent_needed");
    assert_eq!(
        reply.body["seedResult"],
        json!({"secretsSeeded": 0, "secretNames": []})
    );
    reply.body["id"].as_str().unwrap().to_owned()
}

async fn begun(service: &Service, user: &User, connection: &str) -> String {
    let path = format!("/api/connections/{connection}/oauth/begin");
    let reply = service.post(&path).bearer(&user.token).send().await;
    assert_eq!(reply.status, 200, "{reply}");
    reply.body["authorizeUrl"].as_str().unwrap().to_owned()
}

async fn finish(service: &Service, user: &User, answer: Value) -> Reply {
    post(service, user, "/api/connections/oauth/finish", answer).await
}

/// Ann goes to the provider, allows it, and comes back.
async fn connected(service: &Service, provider: &OidcProvider, user: &User, connection: &str) -> Reply {
    let url = begun(service, user, connection).await;
    let answer = provider.answer_to(&url, "ann").await;
    finish(service, user, json!(answer)).await
}

/// A deployment that asks the provider whose token it is.
async fn asking(service: &Service, user: &User, issuer: &str) -> String {
    let call = json!({"url": format!("{issuer}/me"), "connection": "Example", "bodyOnly": true});
    let graph = chain(&[
        ("start", "OnManual", json!({})),
        ("call", "HttpRequest", call),
        ("end", "Return", json!({})),
    ]);
    service.deployed(user, &graph).await
}

async fn run(service: &Service, user: &User, deployment: &str) -> Value {
    let reply = service
        .execute(user, deployment, "?wait=true", &Value::Null)
        .await;
    reply.data(200).clone()
}

async fn detail(service: &Service, user: &User, connection: &str) -> Value {
    let path = format!("/api/connections/{connection}");
    service.get(&path).bearer(&user.token).send().await.body
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_use_what_somebody_consented_to_at_a_real_provider() {
    let Some(provider) = needs::or_skip("oidc-provider", OidcProvider::returning_to(RETURN).await) else {
        return;
    };
    for database in [Database::Sqlite, Database::Postgres] {
        let service = service(database, &provider.address).await;
        let (ann, eve) = (service.user("ann").await, service.user("eve").await);
        let connection = made(&service, &ann, &provider.issuer).await;
        let deployment = asking(&service, &ann, &provider.issuer).await;
        let failed = run(&service, &ann, &deployment).await;
        assert_eq!(failed["error"]["code"], "OAUTH_FAILED", "{failed}");
        let told = failed["error"]["message"].as_str().unwrap();
        assert!(told.contains("`Example` needs consent again"), "{told}");

        answers_that_must_not_count(&service, &provider, (&ann, &eve), &connection).await;
        let reply = connected(&service, &provider, &ann, &connection).await;
        assert_eq!(
            (reply.status, &reply.body["status"]),
            (200, &json!("active")),
            "{reply}"
        );
        let seen = detail(&service, &ann, &connection).await;
        assert_eq!(
            seen["scopes"],
            json!(["openid", "email", "offline_access"]),
            "{seen}"
        );
        assert_eq!(seen["hosts"], json!(["127.0.0.1"]));
        let path = "/api/audit?action=connection.connected";
        let log = service.get(path).bearer(&ann.token).send().await;
        let entries = log.body["data"].as_array().unwrap().clone();
        assert_eq!(entries.len(), 1, "{log}");
        assert_eq!(entries[0]["object"]["name"], "Example", "{log}");
        let ran = run(&service, &ann, &deployment).await;
        assert_eq!(ran["status"], "completed", "{ran}");

        renewed_once_for_all_servers(&service, &ann, &deployment).await;
        refused_and_connected_again(&service, &provider, &ann, (&connection, &deployment)).await;
        disconnected(&service, &provider, &ann, (&connection, &deployment)).await;
        gone_with_the_rest(&service, &provider).await;
    }
}

/// The address of a server that tells everybody the credentials of whoever came first.
async fn telling() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let mut first = None;
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            let head = String::from_utf8(head).unwrap();
            let sent = head.lines().find_map(|line| line.strip_prefix("authorization: "));
            let told = first.get_or_insert_with(|| sent.unwrap_or_default().to_owned());
            let answer = format!(
                "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{told}",
                told.len()
            );
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    url
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_stays_hidden_in_a_run_that_waited_until_there_was_another() {
    let Some(provider) = needs::or_skip("oidc-provider", OidcProvider::returning_to(RETURN).await) else {
        return;
    };
    let (service, url) = (service(Database::Sqlite, "127.0.0.0/8").await, telling().await);
    service.app.executions.start().await.unwrap();
    let ann = service.user("ann").await;
    let connection = made(&service, &ann, &provider.issuer).await;
    connected(&service, &provider, &ann, &connection).await;
    let graph = chain(&[
        ("start", "OnManual", json!({})),
        (
            "first",
            "HttpRequest",
            json!({"url": url, "connection": "Example", "bodyOnly": true}),
        ),
        ("wait", "Wait", json!({"durationMs": 3_600_000})),
        ("again", "HttpRequest", json!({"url": url, "bodyOnly": true})),
        (
            "end",
            "Return",
            json!({"value": "{{ [$nodes.first, $nodes.again] }}"}),
        ),
    ]);
    let deployment = service.deployed(&ann, &graph).await;
    let id = service.started(&ann, &deployment, &json!({})).await;
    parked(&service, &ann, &deployment, &id).await;
    service.app.clock.advance(TOKEN_LIFETIME);
    let ended = service.ended(&ann, &deployment, &id).await;
    assert_eq!(ended["output"], json!(["Bearer ***", "Bearer ***"]), "{ended}");
}

/// None of these connects it, and each attempt counts once.
async fn answers_that_must_not_count(
    service: &Service,
    provider: &OidcProvider,
    (ann, eve): (&User, &User),
    connection: &str,
) {
    let of_eve = format!("/api/connections/{connection}/oauth/begin");
    let refused = service.post(&of_eve).bearer(&eve.token).send().await;
    assert_eq!(refused.status, 404, "{refused}");

    let url = begun(service, ann, connection).await;
    let asked: url_query::Pairs = url_query::of(&url);
    assert_eq!(asked["redirect_uri"], RETURN);
    assert_eq!(asked["code_challenge_method"], "S256");
    let answer = json!(provider.answer_to(&url, "ann").await);
    // Somebody else can't finish what Ann began, and does not end it either.
    finish(service, eve, answer.clone())
        .await
        .assert_refused(404, "NOT_FOUND");
    // Another provider's answer.
    let mut of_another = answer.clone();
    of_another["iss"] = json!("https://evil.example");
    finish(service, ann, of_another)
        .await
        .assert_refused(400, "VALIDATION");
    finish(service, ann, answer)
        .await
        .assert_refused(404, "NOT_FOUND");

    // Without saying whose it is, which this provider always does.
    let url = begun(service, ann, connection).await;
    let mut answer = json!(provider.answer_to(&url, "ann").await);
    answer.as_object_mut().unwrap().remove("iss").unwrap();
    finish(service, ann, answer)
        .await
        .assert_refused(400, "VALIDATION");

    // A code that was got by another proof key.
    let (one, other) = (
        begun(service, ann, connection).await,
        begun(service, ann, connection).await,
    );
    let (mut one, other) = (
        json!(provider.answer_to(&one, "ann").await),
        json!(provider.answer_to(&other, "ann").await),
    );
    one["code"] = other["code"].clone();
    finish(service, ann, one).await.assert_refused(400, "VALIDATION");

    let state = url_query::of(&begun(service, ann, connection).await)["state"].clone();
    let denied = finish(service, ann, json!({"state": state, "error": "access_denied"})).await;
    denied.assert_refused(400, "VALIDATION");
    let state = url_query::of(&begun(service, ann, connection).await)["state"].clone();
    service.app.clock.advance(Duration::from_secs(15 * 60 + 1));
    let late = finish(service, ann, json!({"state": state, "code": "x"})).await;
    late.assert_refused(404, "NOT_FOUND");
    assert_eq!(detail(service, ann, connection).await["status"], "consent_needed");
}

/// If two asked with the same refresh token, the provider would end the grant.
async fn renewed_once_for_all_servers(service: &Service, ann: &User, deployment: &str) {
    let (_other, address) = service.restarted().await;
    for _ in 0..3 {
        service.app.clock.advance(TOKEN_LIFETIME);
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let runs = (0..12).map(|number| {
            let at = if number % 2 == 0 { address } else { service.address };
            let url = format!("http://{at}/api/deployments/{deployment}/execute?wait=true");
            let request = client
                .post(url)
                .bearer_auth(&ann.token)
                .header("content-type", "application/json")
                .body(r#"{"eventData": null}"#);
            async move {
                let text = request.send().await.unwrap().text().await.unwrap();
                serde_json::from_str::<Value>(&text).unwrap()
            }
        });
        for ran in futures_util::future::join_all(runs).await {
            assert_eq!(ran["data"]["status"], "completed", "{ran}");
        }
    }
}

async fn refused_and_connected_again(
    service: &Service,
    provider: &OidcProvider,
    ann: &User,
    (connection, deployment): (&str, &str),
) {
    // The provider forgets all that it has given.
    provider.forget().await;
    service.app.clock.advance(TOKEN_LIFETIME);
    let failed = run(service, ann, deployment).await;
    assert_eq!(failed["error"]["code"], "OAUTH_FAILED", "{failed}");
    let told = failed["error"]["message"].as_str().unwrap();
    assert!(
        told.contains("needs consent again") && told.contains("invalid_grant"),
        "{told}"
    );
    let seen = detail(service, ann, connection).await;
    assert_eq!(seen["status"], "consent_needed");
    assert!(
        seen["consentProblem"].as_str().unwrap().contains("invalid_grant"),
        "{seen}"
    );
    assert_eq!(listed(service, ann).await[0]["status"], "consent_needed");
    let path = format!("/api/connections/{connection}/test");
    let tested = post(
        service,
        ann,
        &path,
        json!({"leadsTo": "http", "url": format!("{}/me", provider.issuer)}),
    )
    .await;
    assert_eq!(
        (&tested.body["ok"], &tested.body["code"]),
        (&json!(false), &json!("OAUTH_FAILED")),
        "{tested}"
    );

    let reply = connected(service, provider, ann, connection).await;
    assert_eq!(reply.body["status"], "active", "{reply}");
    let tested = post(
        service,
        ann,
        &path,
        json!({"leadsTo": "http", "url": format!("{}/me", provider.issuer)}),
    )
    .await;
    assert_eq!(tested.body["ok"], true, "{tested}");
    assert_eq!(run(service, ann, deployment).await["status"], "completed");
}

async fn disconnected(
    service: &Service,
    provider: &OidcProvider,
    ann: &User,
    (connection, deployment): (&str, &str),
) {
    // Tokens are their client's: with another one they are gone.
    let path = format!("/api/connections/{connection}");
    let change = |body: Value| {
        service
            .request("PATCH", &path)
            .bearer(&ann.token)
            .json(&body)
            .send()
    };
    let renamed = change(json!({"credentials": {"scope": "openid offline_access"}})).await;
    assert_eq!(renamed.body["status"], "active", "{renamed}");
    change(json!({"hosts": []}))
        .await
        .assert_refused(400, "VALIDATION");
    let before = provider.revocations(0).await;
    let moved = change(json!({"credentials": {"tokenUrl": "https://evil.example/token"}})).await;
    assert_eq!(moved.body["status"], "consent_needed", "{moved}");
    assert_eq!(provider.revocations(before + 1).await, before + 1);
    change(json!({"credentials": {"tokenUrl": null}})).await;

    connected(service, provider, ann, connection).await;
    let before = provider.revocations(0).await;
    let path = format!("/api/connections/{connection}/oauth/disconnect");
    let reply = service.post(&path).bearer(&ann.token).send().await;
    assert_eq!(
        (reply.status, &reply.body),
        (200, &json!({"revoked": true})),
        "{reply}"
    );
    assert_eq!(provider.revocations(0).await, before + 1);
    assert_eq!(
        run(service, ann, deployment).await["error"]["code"],
        "OAUTH_FAILED"
    );

    connected(service, provider, ann, connection).await;
    let deleted = service
        .delete(&format!("/api/connections/{connection}"))
        .bearer(&ann.token)
        .send()
        .await;
    assert_eq!(deleted.status, 204, "{deleted}");
    assert_eq!(provider.revocations(before + 2).await, before + 2);
    assert_eq!(
        run(service, ann, deployment).await["error"]["code"],
        "CONNECTION_MISSING"
    );
}

/// Tokens that go with a workspace or an account are revoked as well.
async fn gone_with_the_rest(service: &Service, provider: &OidcProvider) {
    let mut revoked = provider.revocations(0).await;
    for name in ["kim", "lou"] {
        let user = service.user(name).await;
        let connection = made(service, &user, &provider.issuer).await;
        connected(service, provider, &user, &connection).await;
        let gone = match name {
            "kim" => {
                let workspace = service.workspace_of(&user).await;
                let path = format!("/api/workspaces/{workspace}");
                service.delete(&path).bearer(&user.token).send().await
            }
            _ => {
                let body = json!({"currentPassword": "correct-horse"});
                post(service, &user, "/api/auth/me/remove", body).await
            }
        };
        gone.data(200);
        revoked += 1;
        assert_eq!(provider.revocations(revoked).await, revoked, "{name}");
    }
}

each_database! {
    async fn known_providers_are_data(service: Service) {
        let ann = service.user("ann").await;
        let make = |body: Value| post(&service, &ann, "/api/connections/oauth", body);
        for (body, field) in [
            (json!({"provider": "github"}), "credentials.clientId"),
            (json!({"provider": "own", "hosts": ["a.example"], "credentials": {"clientId": "x"}}), "credentials.authorizeUrl"),
            (
                json!({"provider": "own", "hosts": ["a.example"],
                       "credentials": {"clientId": "x", "authorizeUrl": "javascript:x", "tokenUrl": "https://a.example"}}),
                "credentials.authorizeUrl",
            ),
            (json!({"provider": "own", "credentials": {"clientId": "x", "issuer": "https://a.example"}}), "hosts"),
        ] {
            let refused = make(body).await;
            refused.assert_refused(400, "VALIDATION");
            assert_eq!(refused.body["error"]["details"][0]["path"], field, "{refused}");
        }
        let made = make(json!({"provider": "github", "credentials": {"clientId": "of ann", "clientSecret": "x", "scope": "repo"}})).await;
        assert_eq!(made.status, 201, "{made}");
        let connection = made.body["id"].as_str().unwrap();
        let hosts = detail(&service, &ann, connection).await["hosts"].clone();
        assert_eq!(hosts, json!(["api.github.com", "uploads.github.com"]));
        let asked = url_query::of(&begun(&service, &ann, connection).await);
        assert_eq!((asked["client_id"].as_str(), asked["scope"].as_str()), ("of ann", "repo"));
        let key = api_key(&service, &ann, "shop", "x").await;
        let path = format!("/api/connections/{}/oauth/begin", key["id"].as_str().unwrap());
        let refused = service.post(&path).bearer(&ann.token).send().await;
        refused.assert_refused(400, "VALIDATION");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_operators_client_goes_to_its_provider_only() {
    let service = service(Database::Sqlite, "127.0.0.1:1").await;
    let ann = service.user("ann").await;
    let client = service
        .get("/api/connections/oauth/client")
        .bearer(&ann.token)
        .send()
        .await;
    assert_eq!(
        client.body,
        json!({"redirectUri": RETURN, "providers": ["google"]})
    );
    let made = post(
        &service,
        &ann,
        "/api/connections/oauth",
        json!({"provider": "google"}),
    )
    .await;
    assert_eq!(made.status, 201, "{made}");
    let asked = url_query::of(&begun(&service, &ann, made.body["id"].as_str().unwrap()).await);
    assert_eq!(asked["client_id"], "the operator's");
    assert_eq!(asked["access_type"], "offline");
    // Its secret goes to nobody else.
    let elsewhere = json!({"provider": "google", "credentials": {"tokenUrl": "https://evil.example/token"}});
    post(&service, &ann, "/api/connections/oauth", elsewhere)
        .await
        .assert_refused(400, "VALIDATION");
}

mod url_query {
    use std::collections::BTreeMap;

    pub type Pairs = BTreeMap<String, String>;

    pub fn of(url: &str) -> Pairs {
        let (_, query) = url.split_once('?').unwrap();
        form_urlencoded::parse(query.as_bytes()).into_owned().collect()
    }
}
