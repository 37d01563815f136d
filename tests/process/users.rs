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
    assert!(
        error.contains("no user with the email bob@example.com"),
        "{error}"
    );
}
