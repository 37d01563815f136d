//! For whoever hosts the service for others: what workspaces have used, what they may use, suspending and deleting them.

mod deletion;
mod limits;
mod locks;
mod metering;
mod moving;
mod suspension;
mod tenants;

use crate::document::operations;
use crate::harness::{Database, Reply, Request, Service, User};
use heddle_api::config::Config;
use heddle_api::http::routes::document;
use heddle_runtime::Mailer;
use heddle_store::{credentials, sql};
use serde_json::{Value, json};

/// The operator's.
const TOKEN: &str = "a token of the operator, of more than thirty-two characters";
const BOTH: [Database; 2] = [Database::Sqlite, Database::Postgres];

fn operated(config: &mut Config) {
    config.operator_token = Some(TOKEN.into());
}

async fn hosted(database: Database) -> Service {
    Service::with(database, operated).await
}

fn ask(service: &Service, method: &str, path: &str) -> Request {
    service.request(method, &format!("/operator{path}")).bearer(TOKEN)
}

async fn operate(service: &Service, method: &str, path: &str, body: Value) -> Reply {
    ask(service, method, path).json(&body).send().await
}

/// Sets the quotas of a user's workspace, in place of those that it has.
async fn limit(service: &Service, user: &User, quotas: Value) {
    let path = format!("/workspaces/{}/quotas", service.workspace_of(user).await);
    let set = operate(service, "PUT", &path, json!({"quotas": quotas})).await;
    set.data(200);
}

/// The one number that a query gives.
async fn number(service: &Service, query: String, argument: &str) -> i64 {
    let query = sql(query.leak()).bind(argument);
    let mut reader = service.app.store.reader().await.unwrap();
    let (number,): (i64,) = reader.db().one(query).await.unwrap();
    number
}

/// Actions in a workspace's log, the newest first.
async fn told(service: &Service, user: &User) -> Vec<String> {
    let log = service.get("/api/audit").bearer(&user.token).send().await;
    assert_eq!(log.status, 200, "{log}");
    let entries = log.body["data"].as_array().unwrap().iter();
    entries
        .map(|entry| entry["action"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_operator_gets_in() {
    for database in BOTH {
        let service = hosted(database).await;
        let ann = service.admin("ann").await;
        let workspace = service.workspace_of(&ann).await.to_string();
        let document = document();
        let mut called = 0;
        for operation in operations(&document) {
            if !operation.path.starts_with("/operator/") {
                continue;
            }
            called += 1;
            assert_eq!(
                operation.told["security"],
                json!([{"operator": []}]),
                "{operation}"
            );
            let path = operation.path.replace("{id}", &workspace);
            let body = operation.example(&document);
            for token in [None, Some(ann.token.as_str()), Some("wrong")] {
                let mut request = service.request(&operation.method, &path);
                if let Some(body) = &body {
                    request = request.json(body);
                }
                if let Some(token) = token {
                    request = request.bearer(token);
                }
                request.send().await.assert_refused(401, "UNAUTHORIZED");
            }
        }
        assert_eq!(called, 14);
        // Nothing of it was done.
        let found = ask(&service, "GET", &format!("/workspaces/{workspace}"))
            .send()
            .await;
        assert_eq!(found.data(200)["suspendedAt"], Value::Null, "{found}");
    }
}

#[tokio::test]
async fn without_a_token_there_is_no_operator() {
    let service = Service::start(Database::Sqlite).await;
    let refused = ask(&service, "GET", "/workspaces").send().await;
    refused.assert_refused(404, "NOT_FOUND");
    let elsewhere = Service::with(Database::Sqlite, |config| {
        operated(config);
        config.http.operator_listen = Some(([127, 0, 0, 1], 1).into());
    });
    let refused = ask(&elsewhere.await, "GET", "/workspaces").send().await;
    refused.assert_refused(404, "NOT_FOUND");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_has_not_proven_an_address_is_given_no_workspace_for_it() {
    for database in BOTH {
        let mail = "smtp://127.0.0.1:1?tls=none".to_owned();
        let mailer = Mailer::new(&mail.into(), "heddle <heddle@example.org>").unwrap();
        let service = Service::with(database, |config| {
            operated(config);
            config.mailer = Some(mailer);
        });
        let service = service.await;
        let ann = service.user("ann").await.id.parse().unwrap();
        let body = json!({"name": "Accounting", "owner": "ann@example.com"});
        let refused = operate(&service, "POST", "/workspaces", body.clone()).await;
        assert_eq!(refused.wrong_fields(), ["owner"], "{refused}");
        assert!(refused.text.contains("has not proven"), "{refused}");
        let verified = service
            .app
            .store
            .write(move |db| Box::pin(async move { credentials::verify(db, ann).await }));
        verified.await.unwrap();
        operate(&service, "POST", "/workspaces", body).await.data(201);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workspaces_are_made_and_listed() {
    for database in BOTH {
        let service = hosted(database).await;
        let (ann, bob) = (service.user("ann").await, service.user("bob").await);
        let body = json!({"name": "Accounting", "owner": "Ann@Example.com"});
        let made = operate(&service, "POST", "/workspaces", body).await;
        let made = made.data(201);
        assert_eq!(
            (&made["name"], &made["owner"], &made["members"], &made["patterns"]),
            (
                &json!("Accounting"),
                &json!("ann@example.com"),
                &json!(1),
                &json!(0)
            )
        );
        let id = made["id"].as_str().unwrap();
        let mine = service.get("/api/workspaces").bearer(&ann.token).send().await;
        let mine: Vec<&str> = mine
            .data(200)
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["id"].as_str().unwrap())
            .collect();
        assert!(mine.contains(&id), "{mine:?}");
        let nobody = operate(
            &service,
            "POST",
            "/workspaces",
            json!({"name": "x", "owner": "x@y.z"}),
        )
        .await;
        assert_eq!(nobody.wrong_fields(), ["owner"]);
        let first = ask(&service, "GET", "/workspaces?limit=2").send().await;
        assert_eq!(first.body["data"].as_array().unwrap().len(), 2, "{first}");
        let cursor = first.body["meta"]["nextCursor"].as_str().unwrap();
        let rest = ask(&service, "GET", &format!("/workspaces?limit=2&cursor={cursor}"))
            .send()
            .await;
        assert_eq!(rest.body["data"][0]["id"], id, "{rest}");
        assert_eq!(rest.body["meta"]["nextCursor"], Value::Null, "{rest}");
        let of_bob = ask(&service, "GET", "/workspaces?owner=bob@example.com")
            .send()
            .await;
        let of_bob = of_bob.body["data"].as_array().unwrap();
        assert_eq!(of_bob.len(), 1, "{of_bob:?}");
        assert_eq!(of_bob[0]["id"], service.workspace_of(&bob).await.to_string());
        for wrong in ["%00", &"x".repeat(301)] {
            let refused = ask(&service, "GET", &format!("/workspaces?owner={wrong}"))
                .send()
                .await;
            assert_eq!(refused.wrong_fields(), ["owner"], "{wrong}");
        }
        let gone = ask(&service, "GET", &format!("/workspaces/{}", ann.id))
            .send()
            .await;
        gone.assert_refused(404, "WORKSPACE_NOT_FOUND");
    }
}
