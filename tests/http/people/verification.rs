//! Verifying an address: by its mail, and by somebody who has signed in.

use super::{get, is_verified, mailing, register, send, told, user};
use crate::harness::{Service, each_database};
use serde_json::json;
use std::time::Duration;

const CONFIRM: &str = "/api/auth/verification/confirm";

each_database! {
    async fn a_new_user_verifies_their_address_by_its_mail(service: Service) {
        let (service, mut mailbox) = mailing(&service).await;
        let providers = service.get("/api/auth/providers").send().await;
        assert_eq!(providers.data(200), &json!({"local": true, "ext": false, "mail": true}));
        let ann = user(&register(&service, "ann@example.com", json!({})).await, 201);
        let first = mailbox.letter_to("ann@example.com").await.secret("/verify-email");
        let again = send(&service, &ann, "POST", "/api/auth/verification", json!({})).await;
        assert_eq!(again.data(200), &json!({"status": "sent"}));
        let second = mailbox.letter_to("ann@example.com").await.secret("/verify-email");
        send(&service, &ann, "POST", CONFIRM, json!({"token": "nonsense"})).await.assert_refused(410, "GONE");
        let done = send(&service, &ann, "POST", CONFIRM, json!({"token": first})).await;
        assert_eq!(done.data(200), &json!({"status": "verified"}));
        assert!(is_verified(&service, &ann).await);
        for used in [&first, &second] {
            send(&service, &ann, "POST", CONFIRM, json!({"token": used})).await.assert_refused(410, "GONE");
        }
        let more = send(&service, &ann, "POST", "/api/auth/verification", json!({})).await;
        more.assert_refused(409, "CONFLICT");
        assert!(told(&service, &ann).await.contains(&"account.address_verified".to_owned()));
    }

    async fn a_link_verifies_no_other_account_and_not_for_long(service: Service) {
        let (service, mut mailbox) = mailing(&service).await;
        let ann = user(&register(&service, "ann@example.com", json!({})).await, 201);
        let of_ann = mailbox.letter_to("ann@example.com").await.secret("/verify-email");
        let bob = user(&register(&service, "bob@example.com", json!({})).await, 201);
        send(&service, &bob, "POST", CONFIRM, json!({"token": of_ann})).await.assert_refused(410, "GONE");
        // Nor is it worth another password.
        let reset = json!({"token": of_ann, "newPassword": "battery-staple"});
        let reset = service.post("/api/auth/password/reset").json(&reset).send().await;
        reset.assert_refused(410, "GONE");
        service.app.clock.advance(Duration::from_secs(24 * 60 * 60 - 1));
        let refreshed = send(&service, &ann, "POST", "/api/auth/refresh", json!({})).await;
        let ann = user(&refreshed, 200);
        service.app.clock.advance(Duration::from_secs(1));
        send(&service, &ann, "POST", CONFIRM, json!({"token": of_ann})).await.assert_refused(410, "GONE");
        assert!(!is_verified(&service, &ann).await);
    }

    async fn without_mail_there_is_no_link(service: Service) {
        let ann = service.user("ann").await;
        let asked = send(&service, &ann, "POST", "/api/auth/verification", json!({})).await;
        asked.assert_refused(403, "MAIL_DISABLED");
        get(&service, &ann, "/api/auth/invitations").await.data(200);
    }
}
