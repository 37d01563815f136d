//! What executes is what was deployed, whatever is written into the database by other ways.

use crate::harness::{Service, User, chain, doubling, each_database};
use heddle_store::{StoreError, sql};
use serde_json::{Value, json};
use std::time::Duration;

async fn changed(service: &Service, statement: &'static str, args: &[&str]) {
    let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    let changed = service.app.store.write(move |db| {
        Box::pin(async move {
            let bound = args
                .into_iter()
                .fold(sql(statement), |query, arg| query.bind(arg));
            db.execute(bound).await
        })
    });
    let changed: Result<u64, StoreError> = changed.await;
    assert!(changed.unwrap() > 0, "{statement}");
}

/// Loads a deployment's module anew.
async fn assert_refused(service: &Service, user: &User, deployment: &str, operation: &str) {
    let refused = service.operate(user, deployment, operation).await;
    refused.assert_refused(400, "MODULE_CHANGED");
    assert_failed(service, user, deployment).await;
}

async fn assert_failed(service: &Service, user: &User, deployment: &str) {
    let path = format!("/api/deployments/{deployment}");
    let whole = service.get(&path).bearer(&user.token).send().await;
    assert_eq!(whole.body["data"]["status"], "failed", "{whole}");
    let reason = whole.body["data"]["errorMessage"].as_str().unwrap();
    assert!(reason.contains("not the one that was deployed"), "{whole}");
}

fn other() -> Value {
    chain(&[
        ("start", "OnManual", json!({})),
        ("end", "Return", json!({"value": "other"})),
    ])
}

each_database! {
    async fn another_tenant_s_module_is_not_executed(service: Service) {
        let (ann, eve) = (service.user("ann").await, service.user("eve").await);
        let pattern = service.drawn(&ann, &doubling()).await;
        let id = service.deploy(&ann, &pattern).await;
        let theirs = service.deployed(&eve, &other()).await;
        let of_eve = "update deployments set artifact = (select e.artifact from deployments e where e.id = ?) where id = ?";
        changed(&service, of_eve, &[&theirs, &id]).await;
        let refused = service.execute(&ann, &id, "", &json!({"n": 1})).await;
        refused.assert_refused(400, "NOT_ACTIVE");
        assert_failed(&service, &ann, &id).await;
        assert_refused(&service, &ann, &id, "redeploy").await;
        // A seal is for one tenant, and one module.
        changed(
            &service,
            "insert into module_seals (hash, tenant, key_id, seal)
             select d.artifact, coalesce(d.workspace_id, d.user_id), s.key_id, s.seal from deployments d, module_seals s
             where d.id = ? and s.hash = d.artifact",
            &[&id],
        ).await;
        assert_refused(&service, &ann, &id, "redeploy").await;
        service.deploy(&ann, &pattern).await;
        service.ran(&ann, &id, &json!({"n": 1})).await;
    }

    async fn what_was_deployed_before_there_were_seals_is_taken_for_a_day(service: Service) {
        let ann = service.user("ann").await;
        let id = service.deployed(&ann, &doubling()).await;
        service.operate(&ann, &id, "pause").await.data(200);
        changed(&service, "delete from module_seals", &[]).await;
        service.app.executions.start().await.unwrap();
        service.operate(&ann, &id, "resume").await.data(200);
        service.ran(&ann, &id, &json!({"n": 1})).await;
        // It was sealed, and whatever comes without a seal later is refused.
        service.app.clock.advance(Duration::from_secs(25 * 60 * 60));
        let login = json!({"email": "ann@example.com", "password": "correct-horse"});
        let login = service.post("/api/auth/login").json(&login).send().await;
        let token = login.data(200)["token"].as_str().unwrap().to_owned();
        let ann = User { token, ..ann };
        service.operate(&ann, &id, "pause").await.data(200);
        service.operate(&ann, &id, "resume").await.data(200);
        service.operate(&ann, &id, "pause").await.data(200);
        changed(&service, "delete from module_seals", &[]).await;
        assert_refused(&service, &ann, &id, "resume").await;
    }
}
