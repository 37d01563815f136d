//! On PostgreSQL transactions lock rows in one order (`api/store/src/locks.rs`), so that none waits for one that waits for it.

use super::{hosted, operate};
use crate::harness::{Database, Service, chain};
use heddle_model::access::{Scope, WorkspaceRole};
use heddle_model::audit::Origin;
use heddle_model::clock::Timestamp;
use heddle_model::ids::{DeploymentId, EnvironmentId, UserId};
use heddle_store::workspaces::{self, Hold};
use heddle_store::{StoreError, sql};
use serde_json::json;
use std::net::{IpAddr, Ipv4Addr};
use tokio::sync::oneshot;

/// Until a transaction waits for what another one has locked.
async fn somebody_waits(service: &Service) {
    let waiting = "select count(*) from pg_stat_activity
         where wait_event_type = 'Lock' and datname = current_database()";
    loop {
        let mut reader = service.app.store.reader().await.unwrap();
        let (waiting,): (i64,) = reader.db().one(sql(waiting)).await.unwrap();
        drop(reader);
        if waiting > 0 {
            return;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_schedule_is_changed_while_its_workspace_is_being_suspended() {
    let service = hosted(Database::Postgres).await;
    let ann = service.user("ann").await;
    let clock = chain(&[("clock", "OnSchedule", json!({"cron": "0 9 * * *"}))]);
    let deployment: DeploymentId = service.deployed(&ann, &clock).await.parse().unwrap();
    let ((locked, is_locked), (go, goes)) = (oneshot::channel(), oneshot::channel());
    let changing = service.app.store.write(move |db| {
        Box::pin(async move {
            // As whoever changes a deployment does.
            let lock = sql("select id from deployments where id = ? for update").bind(deployment);
            let _: Option<(String,)> = db.optional(lock).await?;
            locked.send(()).unwrap();
            goes.await.unwrap();
            let change = sql("update schedules set cron = cron where deployment_id = ?");
            assert_eq!(db.execute(change.bind(deployment)).await?, 1);
            Ok::<(), StoreError>(())
        })
    });
    let path = format!("/workspaces/{}/suspend", service.workspace_of(&ann).await);
    let suspending = async {
        is_locked.await.unwrap();
        operate(&service, "POST", &path, json!({"reason": "unpaid"})).await
    };
    let going_on = async {
        somebody_waits(&service).await;
        go.send(()).unwrap();
    };
    let (changed, suspended, ()) = tokio::join!(changing, suspending, going_on);
    changed.unwrap();
    suspended.data(200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_environment_is_changed_while_its_workspace_is_being_deleted() {
    let service = hosted(Database::Postgres).await;
    let ann = service.user("ann").await;
    let (workspace, user) = (service.workspace_of(&ann).await, ann.id.parse::<UserId>());
    let origin = Origin::from_address(Timestamp::from_millis(0), IpAddr::V4(Ipv4Addr::LOCALHOST));
    let scope = Scope::checked(user.unwrap(), Some((workspace, WorkspaceRole::Owner)), origin);
    let path = format!("/api/workspaces/{workspace}");
    let listed = service.get(&format!("{path}/environments")).bearer(&ann.token);
    let listed = listed.send().await;
    let environment: EnvironmentId = listed.data(200)[0]["id"].as_str().unwrap().parse().unwrap();
    let ((locked, is_locked), (go, goes)) = (oneshot::channel(), oneshot::channel());
    let changing = service.app.store.write(move |db| {
        Box::pin(async move {
            assert!(workspaces::hold_environment(db, &scope, environment, Hold::ToDelete).await?);
            locked.send(()).unwrap();
            goes.await.unwrap();
            // As each entry of the audit log does.
            let keep = sql("select id from workspaces where id = ? for key share").bind(workspace);
            let kept: Option<(String,)> = db.optional(keep).await?;
            assert!(kept.is_some());
            Ok::<(), StoreError>(())
        })
    });
    let deleting = async {
        is_locked.await.unwrap();
        service.delete(&path).bearer(&ann.token).send().await
    };
    let going_on = async {
        somebody_waits(&service).await;
        go.send(()).unwrap();
    };
    let (changed, deleted, ()) = tokio::join!(changing, deleting, going_on);
    changed.unwrap();
    assert_eq!(deleted.status, 200, "{deleted}");
}
