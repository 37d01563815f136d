//! Accounts of people: who may have one, how they are invited, what proves that an address is theirs, how they get in again
//! who have lost something, and how they go.

pub mod authenticators;
mod links;
mod mailbox;
mod passwords;
mod registration;
mod removal;
mod verification;

use crate::harness::{Database, Reply, Service, User};
use heddle_api::config::Config;
use heddle_runtime::Mailer;
use mailbox::Mailbox;
use serde_json::{Value, json};

const PASSWORD: &str = "correct-horse";

/// A service like this one that sends its mail to a mailbox.
async fn mailing(like: &Service) -> (Service, Mailbox) {
    mailing_with(like.database(), |_| {}).await
}

async fn mailing_with(database: Database, change: impl FnOnce(&mut Config)) -> (Service, Mailbox) {
    let mailbox = Mailbox::open().await;
    let mailer = Mailer::new(&mailbox.url().into(), "heddle <heddle@example.org>").unwrap();
    let service = Service::with(database, |config| {
        config.mailer = Some(mailer);
        change(config);
    })
    .await;
    (service, mailbox)
}

async fn register(service: &Service, email: &str, more: Value) -> Reply {
    let mut account = crate::sessions::account(email);
    for (name, value) in more.as_object().unwrap() {
        account[name] = value.clone();
    }
    service.post("/api/auth/register").json(&account).send().await
}

async fn login(service: &Service, email: &str, more: Value) -> Reply {
    let mut body = json!({"email": email, "password": PASSWORD});
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    service.post("/api/auth/login").json(&body).send().await
}

/// The user who is logged in by this answer.
fn user(reply: &Reply, status: u16) -> User {
    let data = reply.data(status);
    User {
        id: data["user"]["id"].as_str().unwrap().to_owned(),
        token: data["token"].as_str().unwrap().to_owned(),
    }
}

async fn send(service: &Service, by: &User, method: &str, path: &str, body: Value) -> Reply {
    let request = service.request(method, path).bearer(&by.token);
    request.json(&body).send().await
}

async fn get(service: &Service, by: &User, path: &str) -> Reply {
    service.get(path).bearer(&by.token).send().await
}

/// What stands after the `#` of a link.
fn secret(url: &str) -> String {
    let (_, secret) = url.split_once('#').unwrap();
    secret.to_owned()
}

/// Actions in an account's log, the newest first.
async fn told(service: &Service, by: &User) -> Vec<String> {
    let log = get(service, by, "/api/audit?of=account").await;
    let entries = log.body["data"].as_array().unwrap();
    let action = |entry: &Value| entry["action"].as_str().unwrap().to_owned();
    entries.iter().map(action).collect()
}

/// Whether the user's address is verified.
async fn is_verified(service: &Service, by: &User) -> bool {
    get(service, by, "/api/auth/me").await.data(200)["emailVerified"] == true
}
