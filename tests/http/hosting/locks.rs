//! On PostgreSQL transactions lock rows in one order (`api/store/src/locks.rs`), so that none waits for one that waits for it.

use super::{hosted, operate};
use crate::harness::{Database, Service, chain};
use heddle_model::access::{Manager, Scope, WorkspaceRole};
use heddle_model::audit::Origin;
use heddle_model::clock::Timestamp;
use heddle_model::deploy_rules::DeployRules;
use heddle_model::ids::{DeploymentId, EnvironmentId, UserId};
use heddle_store::workspaces::{self, Hold};
use heddle_store::{Db, StoreError, invitations, secrets, sql};
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

/// What goes with a workspace.
#[derive(Clone, Copy, Debug)]
enum Part {
    Secret,
    Rules,
    Invitation,
}

async fn change(
    db: &mut Db<'_>,
    manager: &Manager,
    environment: EnvironmentId,
    part: Part,
) -> Result<(), StoreError> {
    match part {
        Part::Secret => assert!(secrets::delete(db, manager, environment, "TOKEN").await?),
        Part::Rules => workspaces::set_rules(db, manager, environment, DeployRules::ALL).await?,
        Part::Invitation => {
            let now = Timestamp::from_millis(0);
            invitations::invite(db, manager, "zoe@example.com", WorkspaceRole::Viewer, now).await?;
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_goes_with_a_workspace_is_changed_while_that_is_being_deleted() {
    let service = hosted(Database::Postgres).await;
    for (name, part) in [
        ("ann", Part::Secret),
        ("ben", Part::Rules),
        ("cleo", Part::Invitation),
    ] {
        let owner = service.user(name).await;
        let (workspace, user) = (service.workspace_of(&owner).await, owner.id.parse::<UserId>());
        let origin = Origin::from_address(Timestamp::from_millis(0), IpAddr::V4(Ipv4Addr::LOCALHOST));
        let scope = Scope::checked(user.unwrap(), Some((workspace, WorkspaceRole::Owner)), origin);
        let path = format!("/api/workspaces/{workspace}");
        let listed = service.get(&format!("{path}/environments")).bearer(&owner.token);
        let listed = listed.send().await;
        let environment = listed.data(200)[0]["id"].as_str().unwrap().to_owned();
        let secret = service.put(&format!("{path}/environments/{environment}/secrets/TOKEN"));
        let secret = secret.bearer(&owner.token).json(&json!({"value": "hush"}));
        secret.send().await.data(200);
        let environment: EnvironmentId = environment.parse().unwrap();
        // An invitation that is there already is changed.
        let inviting = service.app.store.write(move |db| {
            Box::pin(async move {
                let manager = scope.manager().unwrap();
                change(db, &manager, environment, Part::Invitation).await
            })
        });
        inviting.await.unwrap();

        let ((locked, is_locked), (go, goes)) = (oneshot::channel(), oneshot::channel());
        let changing = service.app.store.write(move |db| {
            Box::pin(async move {
                let manager = scope.manager().unwrap();
                change(db, &manager, environment, part).await?;
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
            service.delete(&path).bearer(&owner.token).send().await
        };
        let going_on = async {
            somebody_waits(&service).await;
            go.send(()).unwrap();
        };
        let (changed, deleted, ()) = tokio::join!(changing, deleting, going_on);
        changed.unwrap_or_else(|error| panic!("{part:?}: {error:?}"));
        assert_eq!(deleted.status, 200, "{part:?}: {deleted}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_api_key_is_made_while_the_account_is_being_removed() {
    let service = hosted(Database::Postgres).await;
    let ann = service.user("ann").await;
    let workspace = service.workspace_of(&ann).await;
    let user: UserId = ann.id.parse().unwrap();
    let ((locked, is_locked), (go, goes)) = (oneshot::channel(), oneshot::channel());
    let removing = service.app.store.write(move |db| {
        Box::pin(async move {
            // As a removal does: the workspaces first, the user last.
            let lock = sql("select id from workspaces where id = ? for update").bind(workspace);
            let _: Option<(String,)> = db.optional(lock).await?;
            locked.send(()).unwrap();
            goes.await.unwrap();
            let lock = sql("select id from users where id = ? for update").bind(user);
            let found: Option<(String,)> = db.optional(lock).await?;
            assert!(found.is_some());
            Ok::<(), StoreError>(())
        })
    });
    let making = async {
        is_locked.await.unwrap();
        let made = service.post("/api/auth/api-keys").bearer(&ann.token);
        made.json(&json!({"name": "deploy from CI"})).send().await
    };
    let going_on = async {
        somebody_waits(&service).await;
        go.send(()).unwrap();
    };
    let (removed, made, ()) = tokio::join!(removing, making, going_on);
    removed.unwrap();
    assert_eq!(made.status, 201, "{made}");
}
