//! Peers with the same job: a webhook, one node that shapes the data, an answer. Installed from npm into
//! `target/peers`, with their own defaults: neither stores the event before it answers.

use crate::load::{self, Extent};
use crate::process::Process;
use crate::{Plan, open_target, row};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const NODE_RED: &str = "node-red@4";
/// Runs on Node.js 18 to 22; later ones need a newer one.
const N8N: &str = "n8n@1.70.0";
const NODE_RED_PORT: u16 = 18_801;
const N8N_PORT: u16 = 18_802;
/// n8n migrates its database at its first start.
const PATIENCE: Duration = Duration::from_secs(180);

/// Measures those that can be installed and started; says so of the others.
pub async fn measure(plan: &Plan) {
    for (name, result) in [("Node-RED", node_red(plan).await), ("n8n", n8n(plan).await)] {
        if let Err(why) = result {
            println!("{name}: not measured, {why}");
        }
    }
}

fn install(package: &str) -> Result<PathBuf, String> {
    let name = package.split('@').next().unwrap_or(package);
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("peers").join(name);
    let program = dir.join("node_modules/.bin").join(name);
    if program.exists() {
        return Ok(program);
    }
    std::fs::create_dir_all(&dir).map_err(|error| error.to_string())?;
    // n8n asks for a spreadsheet library at an address outside npm; the measured workflow doesn't use it.
    write(
        &dir.join("package.json"),
        &json!({"private": true, "overrides": {"xlsx": "npm:xlsx@0.18.5"}}),
    );
    let status = Command::new("npm")
        .args([
            "install",
            "--no-audit",
            "--no-fund",
            "--loglevel=error",
            "--prefix",
        ])
        .args([&dir, Path::new(package)])
        .status()
        .map_err(|error| format!("npm can't be started: {error}"))?;
    if status.success() && program.exists() {
        Ok(program)
    } else {
        Err(format!("npm could not install {package}"))
    }
}

async fn node_red(plan: &Plan) -> Result<(), String> {
    let program = install(NODE_RED)?;
    let dir = tempfile::tempdir().unwrap();
    let flow = json!([
        {"id": "tab", "type": "tab", "label": "measured"},
        {"id": "in", "z": "tab", "type": "http in", "url": "/measured", "method": "post", "wires": [["set"]]},
        {"id": "set", "z": "tab", "type": "change", "wires": [["out"]], "rules": [
            {"t": "set", "p": "payload", "pt": "msg", "to": "payload.total * 1.2", "tot": "jsonata"}]},
        {"id": "out", "z": "tab", "type": "http response", "statusCode": "200", "wires": []},
    ]);
    write(&dir.path().join("flows.json"), &flow);
    let settings = format!(
        "module.exports = {{ uiPort: {NODE_RED_PORT}, uiHost: '127.0.0.1', flowFile: 'flows.json', \
         httpAdminRoot: false, logging: {{ console: {{ level: 'off' }} }} }};"
    );
    std::fs::write(dir.path().join("settings.js"), settings).unwrap();
    let mut command = Command::new(program);
    command.arg("--userDir").arg(dir.path());
    serve("Node-RED", command, NODE_RED_PORT, "/measured", plan).await
}

async fn n8n(plan: &Plan) -> Result<(), String> {
    let program = install(N8N)?;
    let dir = tempfile::tempdir().unwrap();
    let workflow = json!([{
        "id": "measured", "name": "measured", "active": true, "settings": {},
        "nodes": [
            {"id": "a", "name": "Webhook", "type": "n8n-nodes-base.webhook", "typeVersion": 2, "position": [0, 0],
             "webhookId": "measured", "parameters": {"httpMethod": "POST", "path": "measured", "responseMode": "lastNode"}},
            {"id": "b", "name": "Set", "type": "n8n-nodes-base.set", "typeVersion": 3.4, "position": [200, 0],
             "parameters": {"assignments": {"assignments": [
                {"id": "c", "name": "total", "type": "number", "value": "={{ $json.body.total * 1.2 }}"}]}}},
        ],
        "connections": {"Webhook": {"main": [[{"node": "Set", "type": "main", "index": 0}]]}},
    }]);
    let file = dir.path().join("workflow.json");
    write(&file, &workflow);
    let n8n = || {
        let mut command = Command::new(&program);
        command
            .env("N8N_USER_FOLDER", dir.path())
            .env("N8N_PORT", N8N_PORT.to_string())
            .env("N8N_LISTEN_ADDRESS", "127.0.0.1")
            .env("N8N_DIAGNOSTICS_ENABLED", "false")
            .env("N8N_VERSION_NOTIFICATIONS_ENABLED", "false")
            .env("N8N_RUNNERS_ENABLED", "false");
        command
    };
    for arguments in [
        vec![
            "import:workflow".to_owned(),
            format!("--input={}", file.display()),
        ],
        vec![
            "update:workflow".to_owned(),
            "--all".to_owned(),
            "--active=true".to_owned(),
        ],
    ] {
        let ended = n8n()
            .args(&arguments)
            .output()
            .map_err(|error| error.to_string())?;
        if !ended.status.success() {
            let stderr = String::from_utf8_lossy(&ended.stderr);
            return Err(format!("`n8n {}` failed: {stderr}", arguments.join(" ")));
        }
    }
    let mut command = n8n();
    command.arg("start");
    serve("n8n", command, N8N_PORT, "/webhook/measured", plan).await
}

async fn serve(name: &str, mut command: Command, port: u16, path: &str, plan: &Plan) -> Result<(), String> {
    let target = open_target(port, path);
    let process = Process::silent(&mut command, &target, PATIENCE).await;
    let process = process.ok_or("it did not start")?;
    for &connections in &plan.connections {
        let measured = load::run(&target, connections, Extent::Time(plan.during)).await;
        row(
            &format!("{name}, synchronous"),
            connections,
            &measured,
            None,
            &process,
        );
    }
    Ok(())
}

fn write(path: &Path, value: &Value) {
    std::fs::write(path, value.to_string()).unwrap();
}
