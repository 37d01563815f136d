//! Another password by a link: it comes to the address alone, counts once and not for long, and tells nobody who is registered.

use super::{PASSWORD, get, is_verified, login, mailing, register, send, told, user};
use crate::harness::{Reply, Service, User, doubling, each_database, until};
use heddle_service::one_time_links;
use heddle_store::{account_tokens, accounts, credentials};
use serde_json::{Value, json};
use std::time::Duration;

const NEW: &str = "battery-staple";

async fn forgot(service: &Service, email: &str) -> Reply {
    let request = service.post("/api/auth/password/forgot");
    request.json(&json!({"email": email})).send().await
}

async fn reset(service: &Service, token: &str, password: &str) -> Reply {
    let request = service.post("/api/auth/password/reset");
    let body = json!({"token": token, "newPassword": password});
    request.json(&body).send().await
}

async fn with_new(service: &Service, email: &str) -> Reply {
    login(service, email, json!({"password": NEW})).await
}

async fn verify(service: &Service, user: &User) {
    let id = user.id.parse().unwrap();
    let store = &service.app.store;
    let verified = store.write(move |db| Box::pin(async move { credentials::verify(db, id).await }));
    verified.await.unwrap();
}

async fn api_key(service: &Service, user: &User) -> User {
    let made = send(service, user, "POST", "/api/auth/api-keys", json!({"name": "CI"})).await;
    User {
        id: user.id.clone(),
        token: made.data(201)["key"].as_str().unwrap().to_owned(),
    }
}

each_database! {
    async fn a_link_that_is_mailed_sets_a_password_once(service: Service) {
        let (service, mut mailbox) = mailing(&service).await;
        let ann = user(&register(&service, "Ann@example.com", json!({})).await, 201);
        mailbox.letter_to("Ann@example.com").await;
        verify(&service, &ann).await;
        let key = api_key(&service, &ann).await;
        for email in ["ANN@example.com", "nobody@example.com"] {
            assert_eq!(forgot(&service, email).await.data(200), &json!({"status": "sent"}));
        }
        let earlier = mailbox.letter_to("Ann@example.com").await.secret("/reset-password");
        forgot(&service, "ann@example.com").await.data(200);
        let token = mailbox.letter_to("Ann@example.com").await.secret("/reset-password");
        assert_eq!(reset(&service, &token, "short").await.wrong_fields(), ["newPassword"]);
        reset(&service, "nonsense", NEW).await.assert_refused(410, "GONE");
        assert_eq!(reset(&service, &token, NEW).await.data(200), &json!({"status": "changed"}));
        for used in [&token, &earlier] {
            reset(&service, used, "something-else").await.assert_refused(410, "GONE");
        }
        get(&service, &ann, "/api/auth/me").await.assert_refused(401, "UNAUTHORIZED");
        login(&service, "ann@example.com", json!({})).await.assert_refused(401, "INVALID_CREDENTIALS");
        let ann = user(&with_new(&service, "ann@example.com").await, 200);
        assert_eq!(get(&service, &key, "/api/patterns").await.status, 200);
        let log = told(&service, &ann).await;
        for action in ["account.password_reset_asked", "account.password_recovered"] {
            assert!(log.contains(&action.to_owned()), "{log:?}");
        }
    }

    async fn of_two_who_use_a_link_at_once_one_sets_the_password(service: Service) {
        let (service, mut mailbox) = mailing(&service).await;
        register(&service, "ann@example.com", json!({})).await.data(201);
        mailbox.letter_to("ann@example.com").await;
        forgot(&service, "ann@example.com").await.data(200);
        let token = mailbox.letter_to("ann@example.com").await.secret("/reset-password");
        let all = ["first-choice", "second-choice", "third-choice"].map(|password| reset(&service, &token, password));
        let replies = futures_util::future::join_all(all).await;
        let mut statuses: Vec<u16> = replies.iter().map(|reply| reply.status).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 410, 410]);
    }

    async fn a_link_ends_with_time_with_another_password_and_for_the_disabled(service: Service) {
        let (service, mut mailbox) = mailing(&service).await;
        let ann = user(&register(&service, "ann@example.com", json!({})).await, 201);
        mailbox.letter_to("ann@example.com").await;
        let mut asked = async || {
            forgot(&service, "ann@example.com").await.data(200);
            mailbox.letter_to("ann@example.com").await.secret("/reset-password")
        };
        let late = asked().await;
        service.app.clock.advance(Duration::from_secs(60 * 60));
        reset(&service, &late, NEW).await.assert_refused(410, "GONE");
        let overtaken = asked().await;
        let change = json!({"currentPassword": PASSWORD, "newPassword": NEW});
        send(&service, &ann, "PUT", "/api/auth/password", change).await.data(200);
        reset(&service, &overtaken, "something-else").await.assert_refused(410, "GONE");
        let of_the_disabled = asked().await;
        let disabled = service.app.store.write(|db| Box::pin(async move {
            credentials::set_disabled(db, "ann@example.com", true).await
        }));
        assert!(disabled.await.unwrap());
        reset(&service, &of_the_disabled, "something-else").await.assert_refused(410, "GONE");
    }

    async fn who_reads_the_mail_gets_an_account_that_a_stranger_made_and_the_stranger_loses_it(service: Service) {
        let (service, mut mailbox) = mailing(&service).await;
        let squatter = user(&register(&service, "victim@example.com", json!({})).await, 201);
        mailbox.letter_to("victim@example.com").await;
        let key = api_key(&service, &squatter).await;
        forgot(&service, "victim@example.com").await.data(200);
        let token = mailbox.letter_to("victim@example.com").await.secret("/reset-password");
        let done = reset(&service, &token, NEW).await;
        let notice = done.data(200)["notice"].as_str().unwrap();
        assert!(notice.contains("1 API keys no longer work"), "{notice}");
        for lost in [&squatter, &key] {
            get(&service, lost, "/api/auth/me").await.assert_refused(401, "UNAUTHORIZED");
        }
        let victim = user(&with_new(&service, "victim@example.com").await, 200);
        assert!(is_verified(&service, &victim).await);
    }

    async fn what_a_stranger_has_deployed_is_paused_although_nobody_waits_for_the_answer(service: Service) {
        let (service, mut mailbox) = mailing(&service).await;
        let squatter = user(&register(&service, "victim@example.com", json!({})).await, 201);
        mailbox.letter_to("victim@example.com").await;
        let deployment = service.deployed(&squatter, &doubling()).await;
        service.ran(&squatter, &deployment, &json!({"n": 1})).await;
        forgot(&service, "victim@example.com").await.data(200);
        let token = mailbox.letter_to("victim@example.com").await.secret("/reset-password");
        let body = json!({"token": token, "newPassword": NEW});
        let is_proven = async || {
            let mut reader = service.app.store.reader().await.unwrap();
            let found = accounts::by_email(&mut reader.db(), "victim@example.com").await.unwrap();
            found.unwrap().email_verified
        };
        service.leave(("POST", "/api/auth/password/reset", None), &body, is_proven).await;
        let victim = user(&with_new(&service, "victim@example.com").await, 200);
        until(async || service.execute(&victim, &deployment, "", &json!({})).await.code() == "PAUSED").await;
    }

    async fn asking_is_limited_whether_anybody_has_the_address_or_not(service: Service) {
        let (service, _mailbox) = mailing(&service).await;
        register(&service, "ann@example.com", json!({})).await.data(201);
        // A new user gets a letter, too.
        for (email, letters) in [("ann@example.com", 4), ("nobody@example.com", 5)] {
            for _ in 0..letters {
                forgot(&service, email).await.data(200);
            }
            forgot(&service, email).await.assert_refused(429, "RATE_LIMITED");
        }
        service.app.clock.advance(Duration::from_secs(60 * 60));
        forgot(&service, "ann@example.com").await.data(200);
    }

    async fn without_mail_the_operator_makes_the_link(service: Service) {
        forgot(&service, "ann@example.com").await.assert_refused(403, "MAIL_DISABLED");
        let ann = user(&register(&service, "ann@example.com", json!({})).await, 201);
        let (base, now) = (service.app.base_url.clone(), service.app.clock.now());
        let (link, token) = one_time_links::reset_link(&base, ann.id.parse().unwrap(), None, now);
        let stored = service.app.store.write(move |db| Box::pin(async move {
            account_tokens::add(db, &token, now).await
        }));
        stored.await.unwrap();
        let (page, secret) = link.split_once('#').unwrap();
        assert_eq!(page, format!("{base}/reset-password"));
        assert_eq!(reset(&service, secret, NEW).await.data(200), &json!({"status": "changed"}));
        let ann = user(&with_new(&service, "ann@example.com").await, 200);
        assert!(!is_verified(&service, &ann).await, "the operator's link says nothing of who reads the mail");
    }
}

/// What is stored of a link sets no password.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_database_holds_no_link() {
    let service = Service::start(crate::harness::Database::Sqlite).await;
    let ann = user(&register(&service, "ann@example.com", json!({})).await, 201);
    let now = service.app.clock.now();
    let (_, token) = one_time_links::reset_link("", ann.id.parse().unwrap(), None, now);
    let stored: Value = token.hash.clone().into();
    let added = service
        .app
        .store
        .write(move |db| Box::pin(async move { account_tokens::add(db, &token, now).await }));
    added.await.unwrap();
    reset(&service, stored.as_str().unwrap(), NEW)
        .await
        .assert_refused(410, "GONE");
}
