//! Codes of an authenticator: asked for after the password, each once, and what stands in for a lost one.

use super::{PASSWORD, get, login, mailing, register, send, told, user};
use crate::harness::{Reply, Service, User, each_database};
use heddle_service::auth::totp;
use heddle_store::credentials;
use serde_json::{Value, json};
use std::time::Duration;

const AUTHENTICATOR: &str = "/api/auth/authenticator";
const STEP: Duration = Duration::from_secs(30);

async fn post(service: &Service, by: &User, what: &str, body: Value) -> Reply {
    send(service, by, "POST", &format!("{AUTHENTICATOR}{what}"), body).await
}

/// What an authenticator with this secret shows now.
fn shown(service: &Service, secret: &[u8]) -> String {
    totp::code(secret, service.app.clock.now()).unwrap()
}

fn bytes(base32: &str) -> Vec<u8> {
    let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let bits: String = base32
        .chars()
        .map(|c| format!("{:05b}", alphabet.find(c).unwrap()))
        .collect();
    let whole = bits.len() / 8 * 8;
    let byte = |at: usize| u8::from_str_radix(&bits[at..at + 8], 2).unwrap();
    (0..whole).step_by(8).map(byte).collect()
}

fn codes(reply: &Reply) -> Vec<String> {
    let codes = reply.data(200)["recoveryCodes"].as_array().unwrap();
    codes
        .iter()
        .map(|code| code.as_str().unwrap().to_owned())
        .collect()
}

/// A user with an authenticator that was confirmed a step ago: the secret, and the recovery codes.
pub async fn secured(service: &Service) -> (User, Vec<u8>, Vec<String>) {
    let ann = user(&register(service, "ann@example.com", json!({})).await, 201);
    let begun = post(service, &ann, "", json!({"currentPassword": PASSWORD})).await;
    let secret = bytes(begun.data(200)["secret"].as_str().unwrap());
    let confirmed = post(
        service,
        &ann,
        "/confirm",
        json!({"code": shown(service, &secret)}),
    )
    .await;
    let recovery = codes(&confirmed);
    service.app.clock.advance(STEP);
    (ann, secret, recovery)
}

async fn with(service: &Service, code: &str) -> Reply {
    login(service, "ann@example.com", json!({"code": code})).await
}

each_database! {
    async fn an_authenticator_counts_from_its_first_code_on(service: Service) {
        let ann = user(&register(&service, "ann@example.com", json!({})).await, 201);
        let state = get(&service, &ann, AUTHENTICATOR).await;
        assert_eq!(state.data(200), &json!({"active": false, "since": null, "recoveryCodesLeft": 0}));
        post(&service, &ann, "", json!({"currentPassword": "wrong-horse"})).await.assert_refused(401, "INVALID_CREDENTIALS");
        post(&service, &ann, "/confirm", json!({"code": "123456"})).await.assert_refused(409, "CONFLICT");
        let replaced = post(&service, &ann, "", json!({"currentPassword": PASSWORD})).await;
        let replaced = bytes(replaced.data(200)["secret"].as_str().unwrap());
        let begun = post(&service, &ann, "", json!({"currentPassword": PASSWORD})).await;
        let text = begun.data(200)["secret"].as_str().unwrap();
        let secret = bytes(text);
        assert_eq!(secret.len(), 20);
        let url = begun.data(200)["url"].as_str().unwrap();
        assert_eq!(url, format!("otpauth://totp/heddle:ann%40example.com?secret={text}&issuer=heddle&algorithm=SHA1&digits=6&period=30"));
        assert!(begun.data(200)["qr"].as_str().unwrap().starts_with("<svg "), "{begun}");
        // Until then the password is enough.
        login(&service, "ann@example.com", json!({})).await.data(200);
        let wrong = post(&service, &ann, "/confirm", json!({"code": shown(&service, &replaced)})).await;
        wrong.assert_refused(401, "SECOND_FACTOR_INVALID");
        let code = shown(&service, &secret);
        let confirmed = post(&service, &ann, "/confirm", json!({"code": code})).await;
        assert_eq!(codes(&confirmed).len(), 10);
        // The code that confirmed it is used up.
        with(&service, &code).await.assert_refused(401, "SECOND_FACTOR_INVALID");
        post(&service, &ann, "", json!({"currentPassword": PASSWORD})).await.assert_refused(409, "CONFLICT");
        let state = get(&service, &ann, AUTHENTICATOR).await;
        assert_eq!(state.data(200), &json!({"active": true, "since": "2026-11-21T09:00:00.000Z", "recoveryCodesLeft": 10}));
        assert!(told(&service, &ann).await.contains(&"account.authenticator_added".to_owned()));
    }

    async fn signing_in_asks_for_a_code_after_the_password_and_takes_each_once(service: Service) {
        let (_, secret, _) = secured(&service).await;
        login(&service, "ann@example.com", json!({})).await.assert_refused(401, "SECOND_FACTOR_REQUIRED");
        login(&service, "ann@example.com", json!({"code": " "})).await.assert_refused(401, "SECOND_FACTOR_REQUIRED");
        let code = shown(&service, &secret);
        let wrong = login(&service, "ann@example.com", json!({"password": "wrong-horse", "code": code})).await;
        wrong.assert_refused(401, "INVALID_CREDENTIALS");
        let first = with(&service, &code).await;
        let keys: Vec<&String> = first.data(200).as_object().unwrap().keys().collect();
        assert_eq!(keys, ["token", "user"]);
        with(&service, &code).await.assert_refused(401, "SECOND_FACTOR_INVALID");
        // One of a step before counts, unless a later one was used.
        service.app.clock.advance(STEP);
        let before = shown(&service, &secret);
        service.app.clock.advance(STEP);
        with(&service, &before).await.data(200);
        with(&service, &shown(&service, &secret)).await.data(200);
        with(&service, &before).await.assert_refused(401, "SECOND_FACTOR_INVALID");
        service.app.clock.advance(STEP);
        let browser = json!({"email": "ann@example.com", "password": PASSWORD});
        let session = service.post("/api/session").json(&browser).send().await;
        session.assert_refused(401, "SECOND_FACTOR_REQUIRED");
        let browser = json!({"email": "ann@example.com", "password": PASSWORD, "code": shown(&service, &secret)});
        service.post("/api/session").json(&browser).send().await.data(200);
    }

    async fn of_many_with_the_same_code_at_once_one_gets_in(service: Service) {
        let (_, secret, recovery) = secured(&service).await;
        for code in [shown(&service, &secret), recovery[0].clone()] {
            let all = (0..5).map(|_| with(&service, &code));
            let replies = futures_util::future::join_all(all).await;
            let in_all = replies.iter().filter(|reply| reply.status == 200).count();
            assert_eq!(in_all, 1, "{code}: {:?}", replies.iter().map(|reply| reply.status).collect::<Vec<_>>());
        }
    }

    async fn a_recovery_code_stands_in_once(service: Service) {
        let (ann, secret, recovery) = secured(&service).await;
        with(&service, &recovery[0].to_uppercase()).await.data(200);
        with(&service, &recovery[0]).await.assert_refused(401, "SECOND_FACTOR_INVALID");
        assert_eq!(get(&service, &ann, AUTHENTICATOR).await.data(200)["recoveryCodesLeft"], 9);
        assert!(told(&service, &ann).await.contains(&"account.recovery_code_used".to_owned()));
        let proof = |code: &str| json!({"currentPassword": PASSWORD, "code": code});
        let wrong = json!({"currentPassword": "wrong-horse", "code": shown(&service, &secret)});
        post(&service, &ann, "/recovery-codes", wrong).await.assert_refused(401, "INVALID_CREDENTIALS");
        let made = post(&service, &ann, "/recovery-codes", proof(&shown(&service, &secret))).await;
        let fresh = codes(&made);
        with(&service, &recovery[1]).await.assert_refused(401, "SECOND_FACTOR_INVALID");
        with(&service, &fresh[0]).await.data(200);
        post(&service, &ann, "/remove", proof("000000")).await.assert_refused(401, "SECOND_FACTOR_INVALID");
        let removed = post(&service, &ann, "/remove", proof(&fresh[1])).await;
        assert_eq!(removed.data(200), &json!({"status": "removed"}));
        login(&service, "ann@example.com", json!({})).await.data(200);
        post(&service, &ann, "/remove", proof(&fresh[2])).await.assert_refused(409, "CONFLICT");
        let log = told(&service, &ann).await;
        for action in ["account.recovery_codes_made", "account.authenticator_removed"] {
            assert!(log.contains(&action.to_owned()), "{log:?}");
        }
    }

    async fn where_mail_is_sent_an_authenticator_needs_a_verified_address(service: Service) {
        let (service, mut mailbox) = mailing(&service).await;
        let ann = user(&register(&service, "ann@example.com", json!({})).await, 201);
        mailbox.letter_to("ann@example.com").await;
        let password = json!({"currentPassword": PASSWORD});
        post(&service, &ann, "", password.clone()).await.assert_refused(409, "CONFLICT");
        let id = ann.id.parse().unwrap();
        let verified = service.app.store.write(move |db| Box::pin(async move { credentials::verify(db, id).await }));
        verified.await.unwrap();
        post(&service, &ann, "", password).await.data(200);
    }

    async fn guessing_codes_is_limited(service: Service) {
        let (_, secret, _) = secured(&service).await;
        // One was counted when it was confirmed.
        for _ in 0..19 {
            with(&service, "000000").await.assert_refused(401, "SECOND_FACTOR_INVALID");
        }
        with(&service, &shown(&service, &secret)).await.assert_refused(429, "RATE_LIMITED");
        service.app.clock.advance(Duration::from_secs(60 * 60));
        with(&service, &shown(&service, &secret)).await.data(200);
    }
}
