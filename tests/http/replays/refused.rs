//! Who may replay what, and what can't be replayed.

use super::{deployed, replayed, told};
use crate::harness::{Database, Service, chain, doubling, each_database};
use heddle_model::access::WorkspaceRole;
use heddle_store::sql;
use serde_json::json;
use std::time::Duration;

async fn changed(service: &Service, statement: &'static str) {
    let changed = service
        .app
        .store
        .write(move |db| Box::pin(async move { db.execute(sql(statement)).await }));
    assert!(changed.await.unwrap() > 0, "{statement}");
}

each_database! {
    async fn only_editors_of_the_workspace_replay(service: Service) {
        let (ann, eve) = (service.user("ann").await, service.user("eve").await);
        let viewer = service.member(&ann, "vic", WorkspaceRole::Viewer).await;
        let editor = service.member(&ann, "ed", WorkspaceRole::Editor).await;
        let id = deployed(&service, &ann, &doubling()).await;
        let others = deployed(&service, &eve, &doubling()).await;
        let run = service.ran(&ann, &id, &json!({"n": 1})).await;
        replayed(&service, &viewer, &id, &run).await.assert_refused(403, "FORBIDDEN");
        replayed(&service, &eve, &id, &run).await.assert_refused(404, "NOT_FOUND");
        replayed(&service, &eve, &others, &run).await.assert_refused(404, "NOT_FOUND");
        told(&service, &editor, &id, &run).await;
    }

    async fn what_is_gone_is_said(service: Service) {
        let ann = service.user("ann").await;
        let id = deployed(&service, &ann, &doubling()).await;
        let run = service.ran(&ann, &id, &json!({"n": 1})).await;
        changed(&service, "update runs set error = '{\"code\":\"INTERRUPTED\",\"message\":\"x\"}', status = 'dead_letter'").await;
        let refused = replayed(&service, &ann, &id, &run).await;
        refused.assert_refused(409, "CONFLICT");
        assert!(refused.text.contains("can still be seen"), "{refused}");
        changed(&service, "update runs set error = null, status = 'success', started_at = null").await;
        replayed(&service, &ann, &id, &run).await.assert_refused(409, "CONFLICT");
        changed(&service, "update runs set started_at = accepted_at").await;
        told(&service, &ann, &id, &run).await;
        changed(&service, "delete from artifacts").await;
        let refused = replayed(&service, &ann, &id, &run).await;
        refused.assert_refused(410, "GONE");
        assert!(refused.text.contains("module"), "{refused}");
    }

    async fn a_replay_that_ends_otherwise_says_so(service: Service) {
        let ann = service.user("ann").await;
        let id = deployed(&service, &ann, &doubling()).await;
        let run = service.ran(&ann, &id, &json!({"n": 1})).await;
        changed(&service, "update runs set output = '{\"double\":5}'").await;
        let (_, end) = told(&service, &ann, &id, &run).await;
        assert_eq!((&end["replay"]["end"], &end["result"]["output"]), (&json!("different"), &json!({"double": 2})), "{end}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replay_has_the_time_of_a_test_run() {
    let service = Service::with(Database::Sqlite, |config| {
        config.test_timeout = Duration::from_millis(200);
        config.run_fuel_max = 1_000_000_000_000;
    })
    .await;
    let ann = service.user("ann").await;
    let graph = chain(&[
        ("start", "OnManual", json!({})),
        (
            "spin",
            "JavaScript",
            json!({"code": "export default ({input}) => { let sum = 0; for (let i = 0; i < input.n; i++) sum += i % 7; return sum; }"}),
        ),
        ("end", "Return", json!({})),
    ]);
    let id = deployed(&service, &ann, &graph).await;
    let run = service.ran(&ann, &id, &json!({"n": 30_000_000})).await;
    let (_, end) = told(&service, &ann, &id, &run).await;
    assert_eq!(
        (&end["error"]["code"], &end["result"]),
        (&json!("EXECUTION_TIMEOUT"), &serde_json::Value::Null),
        "{end}"
    );
}
