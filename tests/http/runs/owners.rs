//! What one user can take of the queue, with however many workspaces: there is always a part left for others.

use crate::harness::{Database, Service, User, chain, doubling, endless};
use crate::sessions::{switched, workspace};
use crate::webhooks::fixture::{Hook, graph, returns};
use heddle_runtime::EgressPolicy;
use serde_json::{Value, json};

/// Each on both databases.
macro_rules! on_both {
    ($($test:ident by $work:ident;)*) => {$(
        mod $test {
            use super::*;

            #[tokio::test(flavor = "multi_thread")]
            async fn on_sqlite() {
                $work(Database::Sqlite).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn on_postgres() {
                $work(Database::Postgres).await;
            }
        }
    )*};
}
on_both! {
    one_users_workspaces_share_the_queue by share_the_queue;
    one_users_workspaces_share_the_places by share_the_places;
    large_events_wait_in_the_database by wait_in_the_database;
    runs_that_start_themselves_leave_others_theirs by start_themselves;
}

/// The user in so many workspaces.
async fn in_workspaces(service: &Service, user: &User, count: usize) -> Vec<User> {
    let mut users = vec![user.clone()];
    for number in 1..count {
        let made = workspace(service, user, &format!("Workspace {number}")).await;
        users.push(switched(service, user, &made).await);
    }
    users
}

async fn share_the_queue(database: Database) {
    let service = Service::with(database, |config| {
        (config.workspace_concurrency_max, config.queue_runs_max) = (1, 8);
    })
    .await;
    let ann = service.user("ann").await;
    for inside in in_workspaces(&service, &ann, 3).await {
        let id = service.deployed(&inside, &endless()).await;
        while service.execute(&inside, &id, "", &json!({})).await.status == 200 {}
    }
    assert_eq!(service.app.executions.counts().0, 4, "half of the queue");
    // Each who comes takes a part of the rest, and leaves one.
    for (name, room) in [("bob", 2), ("cid", 1)] {
        let user = service.user(name).await;
        let id = service.deployed(&user, &endless()).await;
        service.started(&user, &id, &json!({})).await;
        let mut taken = 0;
        while service.execute(&user, &id, "", &json!({})).await.status == 200 {
            taken += 1;
        }
        assert_eq!(taken, room, "{name}");
    }
    let dan = service.user("dan").await;
    let id = service.deployed(&dan, &doubling()).await;
    service.ran(&dan, &id, &json!({"n": 1})).await;
}

/// Is under way for a while.
fn slow() -> Value {
    chain(&[
        ("start", "OnManual", json!({})),
        ("wait", "Wait", json!({"durationMs": 50_000})),
    ])
}

async fn share_the_places(database: Database) {
    let service = Service::start(database).await;
    let ann = service.user("ann").await;
    let mut started = 0;
    // As many as there are places for runs that nobody waits for.
    for inside in in_workspaces(&service, &ann, 4).await {
        let id = service.deployed(&inside, &slow()).await;
        for _ in 0..48 {
            service.started(&inside, &id, &json!({})).await;
            started += 1;
        }
    }
    assert_eq!(started, 192);
    let bob = service.user("bob").await;
    let id = service.deployed(&bob, &doubling()).await;
    let run = service.started(&bob, &id, &json!({"n": 2})).await;
    assert_eq!(
        service.ended(&bob, &id, &run).await["output"],
        json!({"double": 4})
    );
    assert_eq!(service.app.executions.counts().1, 128, "half of the places");
}

async fn wait_in_the_database(database: Database) {
    let service = Service::with(database, |config| config.workspace_concurrency_max = 1).await;
    let ann = service.user("ann").await;
    let measuring = chain(&[
        ("start", "OnManual", json!({})),
        ("end", "Return", json!({"value": "{{ $input.text.length }}"})),
    ]);
    let id = service.deployed(&ann, &measuring).await;
    let blocking = service.deployed(&ann, &endless()).await;
    let blocker = service.started(&ann, &blocking, &json!({})).await;
    let text = "x".repeat(512 << 10);
    let mut runs = Vec::new();
    for _ in 0..137 {
        runs.push(service.started(&ann, &id, &json!({"text": text})).await);
    }
    let bob = service.user("bob").await;
    let other = service.deployed(&bob, &measuring).await;
    let run = service.started(&bob, &other, &json!({"text": text})).await;
    assert_eq!(service.ended(&bob, &other, &run).await["output"], text.len());
    let cancelled = service
        .operate(&ann, &blocking, &format!("runs/{blocker}/cancel"))
        .await;
    assert_eq!(cancelled.status, 200, "{cancelled}");
    for run in runs {
        let run = service.ended(&ann, &id, &run).await;
        assert_eq!(
            (&run["status"], &run["output"]),
            (&json!("success"), &json!(text.len())),
            "{}",
            run["error"]
        );
    }
}

/// A webhook whose every run sends it two further events, until the service refuses some: nothing else ends it.
async fn start_themselves(database: Database) {
    let service = Service::with(database, |config| {
        config.egress = EgressPolicy::parse(["127.0.0.0/8"]).unwrap();
        config.webhook_rate_limit = 0;
    })
    .await;
    let anybody = || json!({"scheme": "none"});
    let bomb = Hook::saved(&service, graph(anybody(), &[])).await;
    let url = format!("http://{}/webhooks/{}", service.address, bomb.webhook);
    let send = |id: &str| json!({"id": id, "type": "HttpRequest", "data": {"parameters": {"url": url, "method": "POST", "body": {}}}});
    bomb.save(graph(anybody(), &[send("left"), send("right")])).await;
    let deployment = bomb.deploy().await;
    assert_eq!(bomb.post("{}").send().await.status, 202);
    // It has gone off: of one event there are many runs.
    let runs = format!("/api/deployments/{deployment}/runs?limit=100");
    while bomb.get(&runs).await.body["data"].as_array().unwrap().len() < 50 {}
    let bob = service.user("bob").await;
    let other = Hook::saved_by(
        &service,
        bob,
        graph(
            json!({"scheme": "none", "responseMode": "sync"}),
            &[returns("{{ $input.body }}")],
        ),
    )
    .await;
    other.deploy().await;
    for number in 0..20 {
        let answer = other.post(&number.to_string()).send().await;
        assert_eq!(
            (answer.status, &answer.body["output"]),
            (200, &json!(number)),
            "{answer}"
        );
    }
    // It still goes on.
    let before = bomb.get(&runs).await.body["data"][0]["id"].clone();
    while bomb.get(&runs).await.body["data"][0]["id"] == before {}
}
