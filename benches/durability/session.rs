//! What a user asks of a heddle here.

use crate::process::{Deployed, Process, User, chain};
use serde_json::{Value, json};
use std::time::Duration;

const PAUSE: Duration = Duration::from_millis(5);

/// Somebody who was there before the server was started again.
pub fn known(process: &Process, token: String) -> User<'_> {
    User {
        process,
        client: reqwest::Client::builder().no_proxy().build().unwrap(),
        token,
    }
}

/// The module of OnManual and these nodes, one after the other.
pub async fn transpile(user: &User<'_>, nodes: &[Value]) -> Value {
    let start = json!({"id": "start", "type": "OnManual"});
    let graph = json!({"graphData": chain(&start, nodes), "nodeDefinitions": {}});
    user.call("POST", "/api/execute/transpile", graph).await["code"].clone()
}

/// A test run of a module.
pub async fn test(user: &User<'_>, module: &Value) {
    let tested = user
        .call("POST", "/api/execute/run", json!({"code": module}))
        .await;
    assert!(tested.to_string().contains("completed"), "{tested}");
}

/// A run of a deployment, to its end.
pub async fn execute(user: &User<'_>, deployed: &Deployed) {
    let path = format!("/api/deployments/{}/execute?wait=true", deployed.id);
    let ended = user.call("POST", &path, json!({})).await;
    assert_eq!(ended["data"]["status"], "completed", "{ended}");
}

/// How many runs of a deployment have this status.
pub async fn count(user: &User<'_>, deployment: &str, status: &str) -> u64 {
    let path = format!("/api/deployments/{deployment}/runs?limit=1&status={status}");
    user.call("GET", &path, json!(null)).await["meta"]["total"]
        .as_u64()
        .unwrap()
}

/// Waits until so many runs have parked in all.
pub async fn await_parked(process: &Process, runs: u64) {
    let url = format!("http://{}/metrics", process.address);
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    loop {
        let text = client.get(&url).send().await.unwrap().text().await.unwrap();
        let parked = text
            .lines()
            .find_map(|line| line.strip_prefix("heddle_runs_parked_total "));
        if parked.is_some_and(|parked| parked.parse() == Ok(runs)) {
            return;
        }
        tokio::time::sleep(PAUSE).await;
    }
}
