//! `heddle user`, beside a running server.

use crate::server::{Server, heddle, output};
use serde_json::Value;

#[test]
fn a_user_that_the_operator_makes_can_log_in_and_be_promoted() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path(), &[]);
    let (code, told, error) =
        output(heddle(dir.path()).args(["user", "create", "ann@example.com", "--json"]));
    assert_eq!(code, 0, "{error}");
    let made: Value = serde_json::from_str(&told).unwrap();
    let login = serde_json::json!({"email": "ann@example.com", "password": made["password"]}).to_string();
    let (status, session) = server.call("POST", "/api/auth/login", "", &login);
    assert_eq!(
        (status, &session["data"]["user"]["role"]),
        (200, &"user".into()),
        "{session}"
    );

    let (code, _, _) = output(heddle(dir.path()).args(["user", "promote", "ANN@example.com"]));
    assert_eq!(code, 0);
    let (_, session) = server.call("POST", "/api/auth/login", "", &login);
    assert_eq!(session["data"]["user"]["role"], "admin");

    let (_, told, _) = output(heddle(dir.path()).args(["user", "list"]));
    assert!(told.trim().ends_with("admin  ann@example.com"), "{told}");
    let (code, _, error) = output(heddle(dir.path()).args(["user", "promote", "bob@example.com"]));
    assert_eq!(code, 1);
    assert!(error.contains("no user has the email bob@example.com"), "{error}");
}

#[test]
fn the_operator_verifies_disables_enables_and_resets() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path(), &[]);
    let account = serde_json::json!({
        "email": "ann@example.com", "firstName": "Ann", "lastName": "Lee", "password": "correct-horse"
    });
    let (status, session) = server.call("POST", "/api/auth/register", "", &account.to_string());
    assert_eq!(status, 201, "{session}");
    let token = session["data"]["token"].as_str().unwrap().to_owned();
    let me = |token: &str| server.call("GET", "/api/auth/me", token, "");
    assert_eq!(me(&token).1["data"]["emailVerified"], false);
    let user = |arguments: &[&str]| {
        let (code, told, error) = output(heddle(dir.path()).arg("user").args(arguments));
        assert_eq!(code, 0, "{arguments:?}: {error}");
        told
    };
    let (code, _, error) = output(heddle(dir.path()).args(["user", "promote", "ann@example.com"]));
    assert_eq!(code, 1);
    assert!(error.contains("heddle user verify ann@example.com"), "{error}");
    assert_eq!(me(&token).1["data"]["role"], "user");
    user(&["verify", "ann@example.com"]);
    user(&["promote", "ann@example.com"]);
    assert_eq!(me(&token).1["data"]["role"], "admin");
    assert_eq!(me(&token).1["data"]["emailVerified"], true);

    user(&["disable", "ann@example.com"]);
    assert_eq!(me(&token).0, 401);
    let told = user(&["list"]);
    assert!(told.contains("disabled"), "{told}");
    user(&["enable", "ann@example.com"]);
    assert_eq!(me(&token).0, 401);

    let told = user(&["reset-password", "ann@example.com", "--json"]);
    let made: Value = serde_json::from_str(&told).unwrap();
    let login = |password: &Value| {
        let body = serde_json::json!({"email": "ann@example.com", "password": password});
        server.call("POST", "/api/auth/login", "", &body.to_string())
    };
    assert_eq!(login(&"correct-horse".into()).0, 401);
    let (status, session) = login(&made["password"]);
    assert_eq!(status, 200, "{session}");
    for action in [
        "verify",
        "disable",
        "enable",
        "reset-password",
        "remove-authenticator",
        "remove",
    ] {
        let (code, _, error) = output(heddle(dir.path()).args(["user", action, "bob@example.com"]));
        assert_eq!(code, 1, "{action}");
        assert!(error.contains("no user has the email bob@example.com"), "{error}");
    }
}

#[test]
fn the_operator_gives_a_link_for_a_password_and_removes_a_user() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path(), &[]);
    let user = |arguments: &[&str]| {
        let (code, told, error) = output(heddle(dir.path()).arg("user").args(arguments));
        (code, told, error)
    };
    for name in ["ann", "bob"] {
        assert_eq!(user(&["create", &format!("{name}@example.com")]).0, 0);
    }
    let (_, told, _) = user(&["reset-password", "ann@example.com", "--link", "--json"]);
    let made: Value = serde_json::from_str(&told).unwrap();
    let (page, token) = made["link"].as_str().unwrap().split_once('#').unwrap();
    assert!(page.ends_with("/reset-password"), "{told}");
    let reset = serde_json::json!({"token": token, "newPassword": "battery-staple"}).to_string();
    let (status, answer) = server.call("POST", "/api/auth/password/reset", "", &reset);
    assert_eq!(status, 200, "{answer}");
    let login = serde_json::json!({"email": "ann@example.com", "password": "battery-staple"}).to_string();
    let (status, session) = server.call("POST", "/api/auth/login", "", &login);
    assert_eq!(status, 200, "{session}");
    let token = session["data"]["token"].as_str().unwrap().to_owned();

    let (code, told, _) = user(&["remove-authenticator", "ann@example.com"]);
    assert_eq!((code, told.trim()), (0, "ann@example.com had no authenticator"));
    let (code, told, _) = user(&["remove", "ann@example.com", "--json"]);
    let plan: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(
        (code, &plan),
        (
            0,
            &serde_json::json!({"email": "ann@example.com", "removed": false, "workspaces": ["New's workspace"],
                "patterns": 0, "activeDeployments": 0})
        )
    );
    assert_eq!(server.call("GET", "/api/auth/me", &token, "").0, 200);
    let (code, told, error) = user(&["remove", "ann@example.com", "--yes"]);
    assert_eq!(code, 0, "{error}");
    assert!(told.starts_with("ann@example.com is removed, with"), "{told}");
    assert_eq!(server.call("GET", "/api/auth/me", &token, "").0, 401);
    let (_, told, _) = user(&["list"]);
    assert!(
        told.contains("bob@example.com") && !told.contains("ann@example.com"),
        "{told}"
    );
}
