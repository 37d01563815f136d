//! Several login providers: each with its own people, whom their verified addresses make one person here.

use super::oidc_provider::OidcProvider;
use super::{CLIENT_ID, CLIENT_SECRET, tell_the_time};
use crate::harness::{Database, Reply, Service};
use crate::needs;
use heddle_runtime::EgressPolicy;
use heddle_service::auth::external::{ExternalLogin, GroupRole};
use serde_json::{Value, json};

pub(super) const RETURN: &str = "http://localhost/sign-in/return";

/// A login at this provider.
pub(super) fn login(id: &str, provider: &OidcProvider, group_roles: Vec<GroupRole>) -> ExternalLogin {
    ExternalLogin {
        id: id.to_owned(),
        client_id: CLIENT_ID.to_owned(),
        client_secret: CLIENT_SECRET.into(),
        issuer: Some(provider.issuer.clone()),
        name: Some(format!("The {id} one")),
        authorize_url: None,
        scopes: "openid email profile groups".to_owned(),
        token_url: None,
        userinfo_url: None,
        redirect_uri: RETURN.to_owned(),
        group_roles,
    }
}

/// The cookie of an attempt that was begun, and where it leads.
async fn begin(service: &Service, body: Value) -> (String, String) {
    let begun = service.post("/api/session/ext/begin").json(&body).send().await;
    let url = begun.data(200)["authorizeUrl"].as_str().unwrap().to_owned();
    let given = begun.headers["set-cookie"].to_str().unwrap();
    (given.split(';').next().unwrap().to_owned(), url)
}

async fn answer(service: &Service, cookie: &str, came: &impl serde::Serialize) -> Reply {
    let mut body = serde_json::to_value(came).unwrap();
    let came = body.as_object_mut().unwrap();
    came.retain(|name, _| ["code", "state", "iss"].contains(&name.as_str()));
    let request = service.post("/api/session/ext").header("cookie", cookie);
    request.json(&body).send().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_choose_where_they_sign_in() {
    let first = needs::or_skip("oidc-provider", OidcProvider::returning_to(RETURN).await);
    let second = needs::or_skip("oidc-provider", OidcProvider::returning_to(RETURN).await);
    let (Some(first), Some(second)) = (first, second) else {
        return;
    };
    for database in [Database::Sqlite, Database::Postgres] {
        let service = Service::with(database, |config| {
            config.external_logins = vec![login("first", &first, vec![]), login("second", &second, vec![])];
            config.egress = EgressPolicy::parse([first.address.as_str(), second.address.as_str()]).unwrap();
        })
        .await;
        tell_the_time(&service);
        offers_both(&service).await;
        let one = signs_in_at(&service, &first, "first").await;
        let other = signs_in_at(&service, &second, "second").await;
        assert_eq!(one, other, "a verified address is one person's");
        codes_count_where_they_are_from(&service, &first, &second).await;
        // Another person at the second one with the address of somebody who signs in there.
        signs_in_as(&service, &second, "second", "carl").await.data(200);
        signs_in_as(&service, &second, "second", "twin")
            .await
            .assert_refused(409, "EMAIL_ALREADY_EXISTS");
    }
}

async fn offers_both(service: &Service) {
    let providers = service.get("/api/auth/providers").send().await;
    let offered = |id: &str| json!({"id": id, "name": format!("The {id} one"), "clientId": CLIENT_ID, "isForConsole": true});
    assert_eq!(
        providers.data(200),
        &json!({
            "local": true, "ext": true, "extClientId": CLIENT_ID, "extName": "The first one",
            "extProviders": [offered("first"), offered("second")],
        })
    );
    for path in ["/api/session/ext/begin", "/api/auth/ext"] {
        let body = match path {
            "/api/auth/ext" => json!({"code": "x", "provider": "third"}),
            _ => json!({"provider": "third"}),
        };
        let refused = service.post(path).json(&body).send().await;
        assert_eq!(refused.wrong_fields(), ["provider"]);
        assert!(refused.text.contains("first, second"), "{refused}");
    }
    let unknown = service
        .post("/api/session/ext/begin")
        .json(&json!({"at": "first"}));
    assert_eq!(unknown.send().await.wrong_fields(), ["at"]);
}

async fn signs_in_as(service: &Service, provider: &OidcProvider, id: &str, person: &str) -> Reply {
    let (cookie, url) = begin(service, json!({"provider": id})).await;
    assert!(url.starts_with(&provider.issuer), "{url}");
    let came = provider.answer_to(&url, person).await;
    answer(service, &cookie, &came).await
}

/// Ann's id, who has signed in as the audit log tells.
async fn signs_in_at(service: &Service, provider: &OidcProvider, id: &str) -> String {
    let signed_in = signs_in_as(service, provider, id, "ann").await;
    let user = signed_in.data(200)["user"]["id"].as_str().unwrap().to_owned();
    let cookies = signed_in.headers.get_all("set-cookie").iter();
    let session = cookies
        .filter_map(|line| line.to_str().ok())
        .find(|line| line.starts_with("heddle="));
    let session = session.unwrap().split(';').next().unwrap();
    let log = service.get("/api/audit?of=account&action=account.signed_in&limit=1");
    let log = log.header("cookie", session).send().await;
    let told = &log.body["data"][0]["details"];
    assert_eq!(told, &json!({"way": "external", "provider": id}), "{log}");
    user
}

async fn codes_count_where_they_are_from(service: &Service, first: &OidcProvider, second: &OidcProvider) {
    let (at_first, _) = begin(service, json!({"provider": "first"})).await;
    let (at_second, url) = begin(service, json!({"provider": "second"})).await;
    let came = second.answer_to(&url, "ann").await;
    assert_eq!(came["iss"], second.issuer, "this provider says who it is");
    answer(service, &at_first, &came)
        .await
        .assert_refused(401, "INVALID_CREDENTIALS");
    // Even one that lies about its state gets no code of another one: the answer says whose it is.
    let mut lied = came.clone();
    lied.insert("iss".to_owned(), first.issuer.clone());
    answer(service, &at_second, &lied)
        .await
        .assert_refused(401, "INVALID_CREDENTIALS");
    answer(service, &at_second, &came).await.data(200);
    // Without a name it is the first one, as when there was no other.
    let (cookie, url) = begin(service, json!({})).await;
    assert!(url.starts_with(&first.issuer), "{url}");
    let came = first.answer_to(&url, "ann").await;
    answer(service, &cookie, &came).await.data(200);
}
