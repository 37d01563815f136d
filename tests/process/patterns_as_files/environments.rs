//! What is around patterns, as files: variables, schedules, and which secrets and connections are needed.

use super::Workspace;
use crate::server::output;
use serde_json::{Value, json};
use std::fs;

fn environment_file(it: &Workspace) -> Value {
    let path = it.files().join("environments/production.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn write(it: &Workspace, document: &Value) {
    let path = it.files().join("environments/production.json");
    fs::write(path, document.to_string()).unwrap();
}

#[test]
fn variables_and_schedules_are_merged_and_nothing_secret_is_in_files() {
    let it = Workspace::start();
    let clock = json!({
        "nodes": [{"id": "clock", "type": "OnSchedule", "position": {"x": 0, "y": 0},
            "data": {"label": "Clock", "parameters": {"cron": "0 9 * * *"}}}],
        "edges": [],
    });
    it.draw("Report", &clock);
    let call = |method: &str, path: &str, body: Value| {
        let (status, answer) = it.server.call(method, path, &it.token, &body.to_string());
        assert!(status < 300, "{method} {path}: {answer}");
        answer
    };
    let environments = format!("/api/workspaces/{}/environments", it.id);
    let listed = it.server.call("GET", &environments, &it.token, "").1;
    let production = format!("{environments}/{}", listed["data"][0]["id"].as_str().unwrap());
    let variables = format!("{production}/variables");
    call("PUT", &variables, json!({"REGION": "eu", "RETRIES": 3}));
    call(
        "PUT",
        &format!("{production}/secrets/TOKEN"),
        json!({"value": "correct-horse"}),
    );
    let connection = json!({"provider": "shop", "apiKey": "battery-staple", "displayName": "The shop"});
    call("POST", "/api/connections/api-key", connection);
    it.login();
    let (code, _, told) = output(&mut it.command(it.home.path(), &["init", &it.url(), "files"]));
    assert_eq!(code, 0, "{told}");
    let pulled = it.done(&["pull"]);
    assert!(
        pulled.ends_with(
            "environments/production.json: new from the server\nconnections.json: new from the server\n"
        ),
        "{pulled}"
    );
    let (first, connections) = (
        environment_file(&it),
        fs::read_to_string(it.files().join("connections.json")).unwrap(),
    );
    assert_eq!(first["variables"], json!({"REGION": "eu", "RETRIES": 3}));
    assert_eq!(first["secrets"], json!(["SHOP_API_KEY", "TOKEN"]));
    assert_eq!(
        serde_json::from_str::<Value>(&connections).unwrap(),
        json!({"The shop": {"provider": "shop", "type": "api_key"}})
    );
    assert!(!first.to_string().contains("horse") && !connections.contains("staple"));
    assert_eq!(it.done(&["status"]), "");

    // Different variables are joined, and a push before that is refused; the same one is a conflict, by name.
    let mut ours = first.clone();
    ours["variables"]["REGION"] = json!("us");
    ours["schedules"]["report"] = json!({"cron": "0 7 * * *", "timezone": "Europe/Berlin"});
    ours["secrets"] = json!(["NEW", "SHOP_API_KEY", "TOKEN"]);
    write(&it, &ours);
    call("PUT", &variables, json!({"REGION": "eu", "RETRIES": 5}));
    let diff = it.done(&["diff", "environments/production"]);
    assert!(diff.contains("~ variables, REGION: \"eu\" → \"us\""), "{diff}");
    let (code, _, told) = it.heddle(&["push"]);
    assert_eq!(code, 1, "{told}");
    assert!(
        told.contains("environments/production.json: it was changed on the server since: pull first"),
        "{told}"
    );
    assert_eq!(
        it.done(&["pull"]),
        "environments/production.json: merged; `heddle push` stores the result\n"
    );
    call("PUT", &variables, json!({"REGION": "asia", "RETRIES": 5}));
    let (code, out, _) = it.heddle(&["pull"]);
    assert_eq!(code, 1, "{out}");
    assert!(
        out.contains("variables.REGION\n    here:          \"us\"\n    on the server: \"asia\""),
        "{out}"
    );
    it.done(&["pull", "--ours"]);

    // What can't be pushed yet waits, and is said.
    assert_eq!(
        it.done(&["push", "--dry-run"]),
        "environments/production.json: stored\n"
    );
    let (code, out, told) = it.heddle(&["push"]);
    assert_eq!(
        (code, out.as_str()),
        (0, "environments/production.json: stored\n")
    );
    assert!(
        told.contains("the schedule of report waits") && told.contains("secret NEW is not on the server"),
        "{told}"
    );
    let stored = it.server.call("GET", &variables, &it.token, "").1;
    assert_eq!(stored["data"], json!({"REGION": "us", "RETRIES": 5}));
    it.done(&["deploy", "report", "--env", "production"]);
    assert_eq!(
        it.done(&["push"]),
        "environments/production.json: schedules stored\n"
    );
    let (_, all) = it.server.call("GET", "/api/schedules/set", &it.token, "");
    assert_eq!(
        all["data"][0]["schedule"],
        json!({"cronExpression": "0 7 * * *", "timezone": "Europe/Berlin"})
    );
    let status = it.done(&["status"]);
    assert!(
        status.contains("secret NEW is not on the server: set it there") && status.lines().count() == 1,
        "{status}"
    );

    // Set otherwise in the console, pulled, and taken back here.
    let deployment = all["data"][0]["deploymentId"].as_str().unwrap();
    let schedule = format!("/api/deployments/{deployment}/schedule");
    call("PUT", &schedule, json!({"cronExpression": "0 6 * * *"}));
    // What came with the directory can lead nowhere else.
    let outside = it.home.path().join("outside");
    fs::write(&outside, "mine").unwrap();
    std::os::unix::fs::symlink(&outside, it.files().join("environments/production.json.new")).unwrap();
    assert_eq!(it.done(&["pull"]), "environments/production.json: updated\n");
    assert_eq!(fs::read_to_string(outside).unwrap(), "mine");
    let mut ours = environment_file(&it);
    assert_eq!(
        ours["schedules"]["report"],
        json!({"cron": "0 6 * * *", "timezone": "UTC"})
    );
    assert_eq!(ours["secrets"], json!(["NEW", "SHOP_API_KEY", "TOKEN"]));
    ours["schedules"] = json!({});
    write(&it, &ours);
    assert_eq!(
        it.done(&["push"]),
        "environments/production.json: schedules stored\n"
    );
    let (_, all) = it.server.call("GET", "/api/schedules/set", &it.token, "");
    assert_eq!(all["data"][0]["schedule"], Value::Null);

    // A value of a secret in a file is refused, before it is sent anywhere.
    let mut wrong = environment_file(&it);
    wrong["secrets"] = json!({"TOKEN": "correct-horse"});
    let right = environment_file(&it);
    write(&it, &wrong);
    let (code, _, told) = it.heddle(&["push"]);
    assert_eq!(code, 3, "{told}");
    assert!(
        told.contains("values of secrets are never in files") && !told.contains("horse"),
        "{told}"
    );
    write(&it, &right);

    // A file makes an environment, and its end is asked for.
    let staging = it.files().join("environments/staging.json");
    fs::write(
        &staging,
        r#"{"name": "staging", "variables": {"REGION": "test"}}"#,
    )
    .unwrap();
    assert_eq!(it.done(&["push"]), "environments/staging.json: created\n");
    fs::remove_file(staging).unwrap();
    assert_eq!(it.done(&["push"]), "");
    assert_eq!(
        it.done(&["push", "--delete"]),
        "environments/staging.json: deleted on the server\n"
    );
}
