//! Login providers in the settings: tables of the file, JSON in the environment.

use crate::server::{Server, heddle, output};
use serde_json::{Value, json};

const PROVIDERS: &str = r#"
[[login_providers]]
id = "google"
name = "Google"
issuer = "https://accounts.google.example"
client_id = "heddle"
client_secret_file = "google-secret"

[[login_providers]]
id = "github"
token_url = "https://github.example/token"
userinfo_url = "https://github.example/user"
authorize_url = "https://github.example/authorize"
client_id = "hub"
client_secret = "x"
redirect_uri = "https://elsewhere.example/back"

[[group_roles]]
provider = "google"
claim = "groups"
value = "ops"
workspace = "0198c0de-0000-7000-8000-000000000001"
role = "admin"
"#;

fn providers(server: &Server) -> Value {
    let (status, body) = server.call("GET", "/api/auth/providers", "", "");
    assert_eq!(status, 200, "{body}");
    body["data"].clone()
}

#[test]
fn providers_are_tables_of_the_file_after_the_single_one() {
    let dir = tempfile::tempdir().unwrap();
    let single = "ext_client_id = \"one\"\next_client_secret = \"x\"\next_issuer = \"https://login.example\"\n\
                  ext_redirect_uri = \"https://login.example/sign-in/return\"\n";
    std::fs::write(dir.path().join("google-secret"), "a secret\n").unwrap();
    std::fs::write(dir.path().join("heddle.toml"), single.to_owned() + PROVIDERS).unwrap();
    let server = Server::start(dir.path(), &[]);
    assert_eq!(
        providers(&server),
        json!({
            "local": true, "ext": true, "extClientId": "one", "extName": "login.example",
            "extProviders": [
                {"id": "ext", "name": "login.example", "clientId": "one", "isForConsole": true},
                {"id": "google", "name": "Google", "clientId": "heddle", "isForConsole": true},
                {"id": "github", "name": "github.example", "clientId": "hub", "isForConsole": false},
            ],
        })
    );
    // What the settings are is told without the secret.
    let (code, told, _) = output(heddle(dir.path()).args(["config", "--json"]));
    assert_eq!(code, 0, "{told}");
    assert!(!told.contains("a secret"), "{told}");
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["login_providers"]["value"], "(set)");
}

#[test]
fn the_single_provider_is_told_as_before() {
    let dir = tempfile::tempdir().unwrap();
    let single = "ext_client_id = \"one\"\next_client_secret = \"x\"\next_issuer = \"https://login.example\"\n\
                  ext_redirect_uri = \"https://app.example/callback\"\n";
    std::fs::write(dir.path().join("heddle.toml"), single).unwrap();
    let server = Server::start(dir.path(), &[]);
    assert_eq!(
        providers(&server),
        json!({"local": true, "ext": true, "extClientId": "one"})
    );
}

#[test]
fn providers_are_json_in_the_environment() {
    let dir = tempfile::tempdir().unwrap();
    let given =
        json!([{"id": "sso", "issuer": "https://login.example", "client_id": "one", "client_secret": "x"}]);
    let server = Server::start(dir.path(), &[("HEDDLE_LOGIN_PROVIDERS", &given.to_string())]);
    let told = providers(&server);
    assert_eq!(
        told["extProviders"],
        json!([{"id": "sso", "name": "login.example", "clientId": "one", "isForConsole": true}])
    );
}

#[test]
fn a_mistake_in_a_provider_stops_the_start_with_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let provider = |more: &str| format!("[[login_providers]]\nid = \"sso\"\nclient_id = \"one\"\n{more}\n");
    let whole = provider("issuer = \"https://login.example\"\nclient_secret = \"x\"");
    let rule = |provider: &str, workspace: &str, role: &str| {
        format!(
            "{whole}[[group_roles]]\nprovider = \"{provider}\"\nclaim = \"groups\"\nvalue = \"ops\"\n\
             workspace = \"{workspace}\"\nrole = \"{role}\"\n"
        )
    };
    let workspace = "0198c0de-0000-7000-8000-000000000001";
    for (text, expected) in [
        (
            "login_providers = 1".to_owned(),
            "must be tables, each beginning with [[login_providers]]",
        ),
        (
            provider("isuer = \"x\""),
            "`login_providers` in heddle.toml has a mistake at [0].isuer: unknown field `isuer`",
        ),
        (
            provider("client_secret = 5"),
            "has a mistake at [0].client_secret: expected a string",
        ),
        (
            provider("issuer = \"https://x\""),
            "has the provider `sso`, which needs either client_secret or client_secret_file",
        ),
        (
            provider("client_secret_file = \"nowhere\"\nissuer = \"https://x\""),
            "names nowhere, which can't be read",
        ),
        (
            provider("client_secret = \"x\""),
            "needs an issuer, or both token_url and userinfo_url",
        ),
        (
            provider("client_secret = \"x\"\nissuer = \"login\""),
            "has an issuer that is not a URL",
        ),
        (whole.clone() + &whole, "has the id `sso`, which is there twice"),
        (
            whole.replace("sso", "The SSO"),
            "must have an id of 1 to 32 lowercase letters, digits and hyphens",
        ),
        (
            rule("other", workspace, "admin"),
            "`group_roles` in heddle.toml names the provider `other`, which does not exist",
        ),
        (rule("sso", "acme", "admin"), "has a mistake at [0].workspace"),
        (
            rule("sso", workspace, "boss"),
            "has a mistake at [0].role: unknown variant `boss`",
        ),
    ] {
        std::fs::write(dir.path().join("heddle.toml"), &text).unwrap();
        let (code, _, told) = output(heddle(dir.path()).args(["serve", "--listen", "127.0.0.1:0"]));
        assert_ne!(code, 0, "{text}");
        assert!(told.contains(expected), "{text}\n{told}");
    }
}
