//! From deploy to delete, every transition.

use crate::harness::{Reply, Service, User, chain, doubling, each_database, endless};
use futures_util::FutureExt;
use heddle_model::access::{Scope, WorkspaceRole};
use heddle_model::audit::Origin;
use heddle_model::clock::Timestamp;
use heddle_model::error::Code;
use heddle_model::ids::UserId;
use serde_json::{Value, json};
use std::net::{IpAddr, Ipv4Addr};

const NOW: &str = "2026-11-21T09:00:00.000Z";

async fn deploy(service: &Service, user: &User, pattern: &str, body: Value) -> Reply {
    let path = format!("/api/patterns/{pattern}/deploy");
    service.post(&path).bearer(&user.token).json(&body).send().await
}

async fn undeploy(service: &Service, user: &User, pattern: &str) -> Reply {
    let path = format!("/api/patterns/{pattern}/deploy");
    service.delete(&path).bearer(&user.token).send().await
}

async fn one(service: &Service, user: &User, deployment: &str) -> Reply {
    let path = format!("/api/deployments/{deployment}");
    service.get(&path).bearer(&user.token).send().await
}

fn failed(reply: &Reply, status: u16, code: &str) {
    assert_eq!((reply.status, reply.code()), (status, code), "{reply}");
}

each_database! {
    async fn a_pattern_is_deployed_and_moves_to_its_newest_version(service: Service) {
        let ann = service.user("ann").await;
        let pattern = service.drawn(&ann, &doubling()).await;
        let first = deploy(&service, &ann, &pattern, json!({"nodeDefinitions": {}})).await;
        assert_eq!(first.status, 200, "{first}");
        let id = first.body["data"]["deploymentId"].as_str().unwrap().to_owned();
        assert_eq!(first.body["data"], json!({
            "deploymentId": id, "status": "active", "triggers": [{"type": "OnManual", "nodeId": "start"}],
            "versionNumber": 2, "warnings": [],
        }));

        service.redrawn(&ann, &pattern, &chain(&[("go", "OnManual", json!({})), ("end", "Return", json!({}))])).await;
        let second = deploy(&service, &ann, &pattern, json!({"nodeDefinitions": {}})).await;
        assert_eq!(second.body["data"]["deploymentId"], id.as_str(), "{second}");
        assert_eq!(second.body["data"]["triggers"], json!([{"type": "OnManual", "nodeId": "go"}]));

        let of_pattern = service.get(&format!("/api/patterns/{pattern}/deployment")).bearer(&ann.token).send().await;
        assert_eq!(of_pattern.body["data"], json!({
            "deploymentId": id, "status": "active", "versionNumber": 3, "confirmedAt": NOW, "createdAt": NOW,
            "errorMessage": null,
        }));
        let whole = one(&service, &ann, &id).await;
        assert_eq!(whole.status, 200, "{whole}");
        assert_eq!(whole.body["data"]["pattern"], json!({"name": "Pattern", "description": ""}));
        assert_eq!(whole.body["data"]["patternId"], pattern.as_str());
        assert!(whole.body["data"]["environmentId"].is_string(), "{whole}");
    }

    async fn an_invalid_graph_is_told_by_node_and_changes_nothing(service: Service) {
        let ann = service.user("ann").await;
        let pattern = service.drawn(&ann, &doubling()).await;
        let id = service.deploy(&ann, &pattern).await;
        service.redrawn(&ann, &pattern, &chain(&[("go", "OnManual", json!({})), ("odd", "Nonsense", json!({}))])).await;
        let refused = deploy(&service, &ann, &pattern, json!({"nodeDefinitions": {}})).await;
        assert_eq!(refused.status, 422, "{refused}");
        assert_eq!(refused.body["success"], false);
        assert_eq!(refused.body["errors"][0]["nodeId"], "odd");
        assert!(refused.body["errors"][0]["message"].as_str().unwrap().contains("Nonsense"), "{refused}");
        assert_eq!(refused.body["warnings"], json!([]));
        assert_eq!(one(&service, &ann, &id).await.body["data"]["versionNumber"], 2);
        service.ran(&ann, &id, &json!({"n": 1})).await;
    }

    async fn what_deploy_is_given_is_checked(service: Service) {
        let ann = service.user("ann").await;
        let pattern = service.drawn(&ann, &doubling()).await;
        for (body, field) in [
            (json!({}), "nodeDefinitions"),
            (json!({"nodeDefinitions": []}), "nodeDefinitions"),
            (json!({"nodeDefinitions": null}), "nodeDefinitions"),
            (json!({"nodeDefinitions": {}, "environmentId": "nowhere"}), "environmentId"),
            (json!({"nodeDefinitions": {}, "environmentId": "01932c07-209e-7f64-b0a3-5c1f1b0e6f3a"}), "environmentId"),
        ] {
            let refused = deploy(&service, &ann, &pattern, body).await;
            failed(&refused, 400, "VALIDATION");
            assert_eq!(refused.body["error"]["details"][0]["path"], field, "{refused}");
        }
        let bob = service.user("bob").await;
        failed(&deploy(&service, &bob, &pattern, json!({"nodeDefinitions": {}})).await, 404, "NOT_FOUND");
        let viewer = service.member(&ann, "vic", WorkspaceRole::Viewer).await;
        failed(&deploy(&service, &viewer, &pattern, json!({"nodeDefinitions": {}})).await, 403, "FORBIDDEN");
        failed(&undeploy(&service, &ann, &pattern).await, 404, "NOT_FOUND");
    }

    async fn every_operation_in_every_state(service: Service) {
        let ann = service.user("ann").await;
        let pattern = service.drawn(&ann, &doubling()).await;
        let id = service.deploy(&ann, &pattern).await;

        failed(&service.operate(&ann, &id, "resume").await, 400, "NOT_PAUSED");
        let paused = service.operate(&ann, &id, "pause").await;
        assert_eq!((paused.status, &paused.body["data"]), (200, &json!({"status": "paused"})));
        failed(&service.operate(&ann, &id, "pause").await, 400, "ALREADY_PAUSED");
        failed(&service.operate(&ann, &id, "execute").await, 400, "PAUSED");
        let resumed = service.operate(&ann, &id, "resume").await;
        assert_eq!((resumed.status, &resumed.body["data"]), (200, &json!({"status": "active"})));
        service.ran(&ann, &id, &json!({})).await;

        service.operate(&ann, &id, "pause").await;
        let redeployed = service.operate(&ann, &id, "redeploy").await;
        assert_eq!(redeployed.body["data"], json!({"deploymentId": id, "status": "active"}), "{redeployed}");

        for _ in 0..2 {
            let undeployed = undeploy(&service, &ann, &pattern).await;
            assert_eq!((undeployed.status, &undeployed.body["data"]), (200, &json!({"status": "undeployed"})));
        }
        failed(&service.operate(&ann, &id, "execute").await, 400, "NOT_ACTIVE");
        failed(&service.operate(&ann, &id, "pause").await, 400, "NOT_ACTIVE");
        failed(&service.operate(&ann, &id, "resume").await, 400, "NOT_PAUSED");
        assert_eq!(one(&service, &ann, &id).await.body["data"]["status"], "undeployed");
        assert_eq!(service.operate(&ann, &id, "redeploy").await.status, 200);
        undeploy(&service, &ann, &pattern).await;
        assert_eq!(service.deploy(&ann, &pattern).await, id);
    }

    async fn deleting_removes_the_runs_and_ends_those_under_way(service: Service) {
        let ann = service.user("ann").await;
        let pattern = service.drawn(&ann, &endless()).await;
        let id = service.deploy(&ann, &pattern).await;
        let run = service.started(&ann, &id, &json!({})).await;
        let path = format!("/api/deployments/{id}");
        let deleted = service.delete(&path).bearer(&ann.token).send().await;
        assert_eq!((deleted.status, &deleted.body["data"]), (200, &json!({"id": id, "status": "deleted"})), "{deleted}");
        assert!(deleted.body["timestamp"].is_string());
        failed(&one(&service, &ann, &id).await, 404, "NOT_FOUND");
        failed(&service.get(&format!("{path}/runs/{run}")).bearer(&ann.token).send().await, 404, "NOT_FOUND");
        failed(&service.get(&format!("{path}/runs")).bearer(&ann.token).send().await, 404, "NOT_FOUND");
        for operation in ["execute", "pause", "resume", "redeploy"] {
            failed(&service.operate(&ann, &id, operation).await, 404, "NOT_FOUND");
        }
        assert_eq!(service.app.executions.counts(), (0, 0));
        assert_ne!(service.deploy(&ann, &pattern).await, id);
    }

    async fn a_module_that_cannot_be_loaded_fails_the_deployment_until_it_is_deployed_anew(service: Service) {
        let ann = service.user("ann").await;
        let pattern = service.drawn(&ann, &doubling()).await;
        let id = service.deploy(&ann, &pattern).await;
        service.operate(&ann, &id, "pause").await;
        let broken = service.app.store.write(|db| Box::pin(async move {
            db.execute(heddle_store::sql("update artifacts set wasm = ?").bind(vec![0_u8; 4])).await
        }));
        let broken: Result<u64, heddle_store::StoreError> = broken.await;
        assert_eq!(broken.unwrap(), 1);
        failed(&service.operate(&ann, &id, "resume").await, 400, "MODULE_CHANGED");
        let whole = one(&service, &ann, &id).await;
        assert_eq!(whole.body["data"]["status"], "failed", "{whole}");
        assert!(whole.body["data"]["errorMessage"].as_str().unwrap().contains("not the one that was deployed"), "{whole}");
        failed(&service.operate(&ann, &id, "execute").await, 400, "NOT_ACTIVE");
        failed(&service.operate(&ann, &id, "redeploy").await, 400, "MODULE_CHANGED");
        service.deploy(&ann, &pattern).await;
        assert_eq!(one(&service, &ann, &id).await.body["data"]["errorMessage"], Value::Null);
        service.ran(&ann, &id, &json!({"n": 4})).await;
    }

    async fn runs_of_what_is_active_go_on_however_a_pause_and_a_resume_meet(service: Service) {
        let ann = service.user("ann").await;
        let id = service.deployed(&ann, &doubling()).await;
        for n in 0..20 {
            // Who comes second may be refused.
            tokio::join!(service.operate(&ann, &id, "pause"), service.operate(&ann, &id, "resume"));
            if one(&service, &ann, &id).await.body["data"]["status"] == "paused" {
                service.operate(&ann, &id, "resume").await;
            }
            let run = service.started(&ann, &id, &json!({"n": n})).await;
            assert_eq!(service.ended(&ann, &id, &run).await["output"], json!({"double": 2 * n}));
        }
    }

    async fn a_pause_is_followed_although_whoever_asked_for_it_has_gone(service: Service) {
        let ann = service.user("ann").await;
        let id = service.deployed(&ann, &doubling()).await;
        service.ran(&ann, &id, &json!({"n": 4})).await;
        let workspace = service.workspace_of(&ann).await;
        let origin = Origin::from_address(Timestamp::from_millis(0), IpAddr::V4(Ipv4Addr::LOCALHOST));
        let user: UserId = ann.id.parse().unwrap();
        let scope = Scope::checked(user, Some((workspace, WorkspaceRole::Owner)), origin);
        let (editor, deployment) = (scope.editor().unwrap(), id.parse().unwrap());
        // Begun, and given up.
        assert!(service.app.executions.pause(&editor, deployment).now_or_never().is_none());
        while one(&service, &ann, &id).await.body["data"]["status"] != "paused" {
            tokio::task::yield_now().await;
        }
        while service.execute(&ann, &id, "", &json!({"n": 5})).await.status == 200 {
            tokio::task::yield_now().await;
        }
    }

    async fn who_is_no_editor_any_longer_ends_nothing_that_they_had_begun(service: Service) {
        let ann = service.user("ann").await;
        let bob = service.member(&ann, "bob", WorkspaceRole::Editor).await;
        let id = service.deployed(&ann, &doubling()).await;
        let workspace = service.workspace_of(&ann).await;
        let origin = Origin::from_address(Timestamp::from_millis(0), IpAddr::V4(Ipv4Addr::LOCALHOST));
        // As they were when the request came.
        let scope = Scope::checked(bob.id.parse().unwrap(), Some((workspace, WorkspaceRole::Editor)), origin);
        let (editor, deployment) = (scope.editor().unwrap(), id.parse().unwrap());
        service.app.executions.pause(&editor, deployment).await.unwrap();
        service.app.executions.resume(&editor, deployment).await.unwrap();

        let member = format!("/api/workspaces/{workspace}/members/{}", bob.id);
        let lower = service.request("PATCH", &member).bearer(&ann.token).json(&json!({"role": "viewer"}));
        lower.send().await.data(200);
        let refused = service.app.executions.pause(&editor, deployment).await.err().unwrap();
        assert_eq!(refused.code(), Code::Forbidden);

        service.delete(&member).bearer(&ann.token).send().await.data(200);
        let refused = service.app.executions.pause(&editor, deployment).await.err().unwrap();
        assert_eq!(refused.code(), Code::WorkspaceNotFound);
        assert_eq!(one(&service, &ann, &id).await.body["data"]["status"], "active");
        service.ran(&ann, &id, &json!({"n": 4})).await;
    }

    async fn runs_that_wait_are_held_by_a_pause(service: Service) {
        let ann = service.user("ann").await;
        let id = service.deployed(&ann, &doubling()).await;
        let busy = service.deployed(&ann, &endless()).await;
        // All places that runs nobody waits for may have.
        let mut blockers = Vec::new();
        for _ in 0..48 {
            blockers.push(service.started(&ann, &busy, &json!({})).await);
        }
        let run = service.started(&ann, &id, &json!({"n": 4})).await;
        assert_eq!(service.run(&ann, &id, &run).await["phase"], "queued");
        // What somebody waits for has places of its own.
        let awaited = service.execute(&ann, &id, "?wait=true", &json!({"n": 1})).await;
        assert_eq!(awaited.body["data"]["output"], json!({"double": 2}), "{awaited}");
        service.operate(&ann, &id, "pause").await;
        for blocker in blockers {
            let cancelled = service.operate(&ann, &busy, &format!("runs/{blocker}/cancel")).await;
            assert_eq!(cancelled.body["data"]["status"], "failure", "{cancelled}");
        }
        assert_eq!(service.run(&ann, &id, &run).await["status"], "running");
        service.operate(&ann, &id, "resume").await;
        assert_eq!(service.ended(&ann, &id, &run).await["output"], json!({"double": 8}));
    }
}
