//! Nothing of a suspended workspace is run or changed; afterwards it goes on as before.

use super::{BOTH, hosted, number, operate, told};
use crate::flow::waits::parked;
use crate::harness::{Service, User, chain, doubling};
use crate::webhooks::fixture::{Hook, graph, returns};
use serde_json::json;

async fn set_suspended(service: &Service, user: &User, is_suspended: bool) {
    let operation = if is_suspended { "suspend" } else { "resume" };
    let path = format!("/workspaces/{}/{operation}", service.workspace_of(user).await);
    // Twice is as good as once.
    for _ in 0..2 {
        let done = operate(service, "POST", &path, json!({"reason": "unpaid"})).await;
        let done = done.data(200);
        assert_eq!(done["suspendedAt"].is_string(), is_suspended, "{done}");
        assert_eq!(done["suspendedReason"] == "unpaid", is_suspended, "{done}");
    }
}

async fn due_schedules(service: &Service, user: &User) -> i64 {
    let query = "select count(*) from schedules s join deployments d on d.id = s.deployment_id
         where s.next_due_at is not null and d.workspace_id = ?";
    let workspace = service.workspace_of(user).await.to_string();
    number(service, query.to_owned(), &workspace).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_suspended_workspace_stands_still_and_goes_on() {
    for database in BOTH {
        let service = hosted(database).await;
        let bob = service.user("bob").await;
        let others = service.deployed(&bob, &doubling()).await;
        let hook = Hook::deployed(&service, graph(json!({}), &[returns("{{ 1 }}")])).await;
        let ann = &hook.user;
        let clock = chain(&[("clock", "OnSchedule", json!({"cron": "0 9 * * *"}))]);
        service.deployed(ann, &clock).await;
        let paused = service.deployed(ann, &doubling()).await;
        service.operate(ann, &paused, "pause").await.data(200);
        assert_eq!(hook.signed("{}").send().await.status, 202);

        set_suspended(&service, ann, true).await;
        hook.signed("{}")
            .send()
            .await
            .assert_refused(403, "WORKSPACE_SUSPENDED");
        let verified = service.get(&format!("/webhooks/{}", hook.webhook)).send().await;
        verified.assert_refused(404, "NOT_FOUND");
        assert_eq!(due_schedules(&service, ann).await, 0);
        service.app.webhooks.journal.flush().await;
        assert_eq!(hook.log_statuses().await[0], ("inactive".to_owned(), 403));
        service
            .operate(ann, &paused, "resume")
            .await
            .assert_refused(403, "WORKSPACE_SUSPENDED");
        let made = service
            .post("/api/patterns")
            .bearer(&ann.token)
            .json(&json!({"name": "x"}));
        made.send().await.assert_refused(403, "WORKSPACE_SUSPENDED");
        let read = service.get("/api/patterns").bearer(&ann.token).send().await;
        assert_eq!(read.status, 200, "{read}");
        let listed = service
            .get(&format!("/api/patterns/{}/deployments", hook.pattern))
            .bearer(&ann.token);
        let listed = listed.send().await;
        let deployment = listed.data(200)[0]["id"].as_str().unwrap();
        let webhook = format!("/api/deployments/{deployment}/webhook");
        let shown = service.get(&webhook).bearer(&ann.token).send().await;
        assert_eq!(shown.data(200)[0]["webhookSecret"], hook.secret);
        let snippets = format!("{webhook}/snippets?endpointId={}", hook.endpoint);
        service.get(&snippets).bearer(&ann.token).send().await.data(200);
        for list in ["invitations", "invitation-links"] {
            let path = format!("/api/workspaces/{}/{list}", service.workspace_of(ann).await);
            service.get(&path).bearer(&ann.token).send().await.data(200);
        }
        // Its owner sees why.
        assert_eq!(told(&service, ann).await[0], "workspace.suspended");
        service.ran(&bob, &others, &json!({})).await;

        set_suspended(&service, ann, false).await;
        assert_eq!(hook.signed("{}").send().await.status, 202);
        assert_eq!(due_schedules(&service, ann).await, 1);
        // Who had paused it resumes it.
        let run = service.execute(ann, &paused, "", &json!({})).await;
        run.assert_refused(400, "PAUSED");
        let told = told(&service, ann).await;
        let operated: Vec<&String> = told.iter().filter(|it| it.starts_with("workspace.")).collect();
        assert_eq!(
            operated[..2],
            ["workspace.resumed", "workspace.suspended"],
            "{told:?}"
        );
    }
}

/// A run that waits to be called, and the path of its URL.
async fn asking(service: &Service, user: &User, deployment: &str) -> (String, String) {
    let run = service.started(user, deployment, &json!({})).await;
    let waiting = parked(service, user, deployment, &run).await;
    let url = waiting["logOutput"][0]["message"].as_str().unwrap();
    let (_, path) = url.split_once("://").unwrap().1.split_once('/').unwrap();
    (run, format!("/{path}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_is_kept_until_the_workspace_goes_on() {
    for database in BOTH {
        let service = hosted(database).await;
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let bob = service.user("bob").await;
        let asks = chain(&[
            ("start", "OnManual", json!({})),
            ("tell", "Log", json!({"message": "{{ $run.callbackUrls.ask }}"})),
            ("ask", "WaitForCallback", json!({})),
            ("end", "Return", json!({"value": "{{ $input.body }}"})),
        ]);
        let others = service.deployed(&bob, &asks).await;
        let active = service.deployed(&ann, &asks).await;
        let pattern = service.drawn(&ann, &asks).await;
        let undeployed = service.deploy(&ann, &pattern).await;
        let call = async |path: &str| {
            let called = service.post(path).json(&json!({"approved": true})).send().await;
            assert_eq!(called.status, 200, "{called}");
        };
        let mut held = Vec::new();
        for deployment in [&active, &undeployed] {
            held.push((deployment, asking(&service, &ann, deployment).await));
        }
        let (other, of_other) = asking(&service, &bob, &others).await;
        let path = format!("/api/patterns/{pattern}/deploy");
        let undeploy = service.delete(&path).bearer(&ann.token).send().await;
        assert_eq!(undeploy.status, 200, "{undeploy}");

        set_suspended(&service, &ann, true).await;
        for (_, (_, path)) in &held {
            call(path.as_str()).await;
        }
        // Whatever may be woken is by the time that this one, which was called last, has ended.
        call(of_other.as_str()).await;
        let ended = service.ended(&bob, &others, &other).await;
        assert_eq!(ended["status"], "success", "{ended}");
        for (deployment, (run, _)) in &held {
            let kept = service.run(&ann, deployment, run).await;
            assert_eq!(
                (&kept["status"], &kept["phase"]),
                (&json!("running"), &json!("waiting"))
            );
        }
        set_suspended(&service, &ann, false).await;
        for (deployment, (run, _)) in &held {
            let ended = service.ended(&ann, deployment, run).await;
            assert_eq!(
                (&ended["status"], &ended["output"]),
                (&json!("success"), &json!({"approved": true}))
            );
        }
    }
}
