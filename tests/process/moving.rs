//! `heddle tenants export` and `import`, between two servers.

use crate::server::{Server, heddle, output};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const OPERATOR: (&str, &str) = (
    "HEDDLE_OPERATOR_TOKEN",
    "a token of the operator, of more than thirty-two characters",
);

/// Runs `heddle tenants`: the exit code, and what it printed as JSON.
fn tenants(dir: &Path, server: &Server, arguments: &[&str]) -> (i32, Value) {
    let mut command = heddle(dir);
    command
        .args(["tenants", "--json", "--url"])
        .arg(format!("http://{}", server.address));
    command.args(arguments).env(OPERATOR.0, OPERATOR.1);
    let (code, out, err) = output(&mut command);
    (
        code,
        serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}")),
    )
}

fn workspace(server: &Server, token: &str) -> String {
    let (_, workspaces) = server.call("GET", "/api/workspaces", token, "");
    workspaces["data"][0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_workspace_travels_as_a_file() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let source = Server::start(here.path(), &[OPERATOR]);
    let graph = json!({"nodes": [{"id": "start", "type": "OnManual"}], "edges": []});
    let (token, deployment) = source.deploy(&graph);
    let path = format!("/api/deployments/{deployment}/execute?wait=true");
    assert_eq!(source.call("POST", &path, &token, r#"{"eventData": {}}"#).0, 200);
    let id = workspace(&source, &token);
    let dir = here.path();
    fs::write(dir.join("passphrase"), "correct horse battery staple\n").unwrap();
    fs::write(dir.join("wrong"), "another one of many characters\n").unwrap();
    let with = ["--passphrase-file", "passphrase"];
    let export = |more: &[&str]| {
        let arguments: Vec<&str> = ["export", &id, "archive"]
            .iter()
            .chain(&with)
            .chain(more)
            .copied()
            .collect();
        tenants(dir, &source, &arguments)
    };
    let (code, told) = export(&[]);
    assert_eq!((code, &told["error"]["code"]), (1, &json!("REFUSED")), "{told}");
    assert!(!dir.join("archive").exists() && !dir.join("archive.unfinished").exists());
    assert_eq!(tenants(dir, &source, &["suspend", &id]).0, 0);
    let (code, told) = export(&[]);
    assert_eq!(code, 0, "{told}");
    let file = dir.join("archive");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(told["bytes"], file.metadata().unwrap().len(), "{told}");
    assert_eq!(export(&[]).1["error"]["code"], "EXISTS");
    assert_eq!(export(&["--force"]).0, 0);

    let target = Server::start(there.path(), &[OPERATOR]);
    let token = target.register();
    let import = |archive: &str, passphrase: &str| {
        tenants(
            dir,
            &target,
            &["import", archive, "--passphrase-file", passphrase],
        )
    };
    let (code, told) = import("archive", "wrong");
    assert_eq!((code, &told["error"]["code"]), (1, &json!("REFUSED")), "{told}");
    // Damaged, cut off, or none: nothing of it is left.
    let whole = fs::read(&file).unwrap();
    let mut damaged = whole.clone();
    *damaged.last_mut().unwrap() ^= 1;
    for (name, bytes) in [
        ("damaged", &damaged[..]),
        ("cut", &whole[..whole.len() - 1]),
        ("none", b"none"),
    ] {
        fs::write(dir.join(name), bytes).unwrap();
        let (code, told) = import(name, "passphrase");
        assert_eq!(
            (code, &told["error"]["code"]),
            (4, &json!("ARCHIVE")),
            "{name}: {told}"
        );
        if name != "none" {
            // It could have been sent again.
            let message = told["error"]["message"].as_str().unwrap();
            assert!(message.contains(&format!("--resume {id}")), "{message}");
        }
        tenants(dir, &target, &["delete", &id, "--yes"]);
    }
    // One that was interrupted goes on.
    fs::write(dir.join("cut"), &whole[..whole.len() - 1]).unwrap();
    assert_eq!(import("cut", "passphrase").0, 4);
    let (code, told) = tenants(dir, &target, &["import", "archive", "--resume", &id]);
    assert_eq!(
        (code, &told["isFinished"], &told["keepsIds"]),
        (0, &json!(true), &json!(true)),
        "{told}"
    );
    assert_eq!(tenants(dir, &target, &["resume", &id]).0, 0);
    let (_, all) = target.call("GET", "/api/workspaces", &token, "");
    assert_eq!(all["data"].as_array().unwrap().len(), 2, "{all}");
    let (_, switched) = target.call(
        "POST",
        "/api/auth/switch-workspace",
        &token,
        &json!({"workspaceId": id}).to_string(),
    );
    let token = switched["data"]["token"].as_str().unwrap();
    let runs = target.runs(token, &deployment);
    assert_eq!((runs.len(), &runs[0]["status"]), (1, &json!("success")));
    let (status, ran) = target.call("POST", &path, token, r#"{"eventData": {}}"#);
    assert_eq!(
        (status, &ran["data"]["status"]),
        (200, &json!("completed")),
        "{ran}"
    );
}
