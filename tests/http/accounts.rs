//! Registration, login and who one is.

use crate::harness::{Service, each_database};
use serde_json::json;

each_database! {
    async fn a_registered_user_logs_in_and_is_known(service: Service) {
        let account = json!({"email": "Ann@Example.com", "firstName": "Ann", "lastName": "Lee", "password": "correct-horse"});
        let registered = service.post("/api/auth/register").json(&account).send().await;
        assert_eq!(registered.status, 201, "{registered}");
        assert_eq!(registered.body["data"]["user"]["role"], "user");

        let again = service.post("/api/auth/register").json(&account).send().await;
        assert_eq!((again.status, again.code()), (409, "EMAIL_ALREADY_EXISTS"));

        let login = json!({"email": "ann@example.COM", "password": "correct-horse"});
        let login = service.post("/api/auth/login").json(&login).send().await;
        assert_eq!(login.status, 200, "{login}");
        let token = login.body["data"]["token"].as_str().unwrap().to_owned();

        let me = service.get("/api/auth/me").bearer(&token).send().await;
        assert_eq!(me.status, 200, "{me}");
        assert_eq!(me.body["data"]["email"], "Ann@Example.com");
        assert_eq!(me.body["data"]["createdAt"], "2026-11-21T09:00:00.000Z");
    }

    async fn a_wrong_password_and_an_unknown_email_look_alike(service: Service) {
        service.user("ann").await;
        for email in ["ann@example.com", "bob@example.com"] {
            let login = json!({"email": email, "password": "wrong-password"});
            let login = service.post("/api/auth/login").json(&login).send().await;
            assert_eq!((login.status, login.code()), (401, "INVALID_CREDENTIALS"));
        }
    }

    async fn what_comes_with_a_password_has_a_length(service: Service) {
        service.user("ann").await;
        for path in ["/api/auth/login", "/api/session"] {
            for (field, chars_max) in [("code", 64), ("verification", 100)] {
                let login = |chars: usize| {
                    let mut login = json!({"email": "ann@example.com", "password": "correct-horse"});
                    login[field] = "0".repeat(chars).into();
                    service.post(path).json(&login).send()
                };
                let long = login(chars_max + 1).await;
                assert_eq!(long.wrong_fields(), [field], "{path}: {long}");
                let looked_at = login(chars_max).await;
                assert_ne!(looked_at.status, 400, "{path} {field}: {looked_at}");
            }
        }
    }
}
