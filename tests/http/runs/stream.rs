//! The live tail of a whole workspace.

use crate::harness::{Service, User, doubling, each_database};
use crate::webhooks::fixture::{Hook, graph};
use heddle_model::access::WorkspaceRole;
use serde_json::{Value, json};
use std::time::Duration;

/// The next event of this name; others may come before it.
async fn next(events: &mut crate::harness::Events, name: &str) -> (i64, Value) {
    loop {
        let (found, id, data) = events.next().await;
        if found == name {
            return (id.parse().unwrap(), data);
        }
    }
}

async fn save(service: &Service, user: &User, pattern: &str) {
    service.redrawn(user, pattern, &doubling()).await;
}

each_database! {
    async fn what_others_do_in_a_workspace_is_told_and_nothing_of_other_workspaces(service: Service) {
        let hook = Hook::saved(&service, graph(json!({}), &[])).await;
        let ann = hook.user.clone();
        let bob = service.member(&ann, "bob", WorkspaceRole::Editor).await;
        let eve = service.user("eve").await;
        let hers = service.deployed(&eve, &doubling()).await;
        service.app.clock.advance(Duration::from_secs(60));
        let mut events = service.get("/api/stream").bearer(&ann.token).events().await;

        service.ran(&eve, &hers, &json!({})).await;
        let pattern = service.drawn(&bob, &doubling()).await;
        let (_, saved) = next(&mut events, "saved").await;
        assert_eq!(saved, json!({
            "patternId": pattern, "name": "Pattern", "versionNumber": 2, "updatedAt": "2026-11-21T09:01:00.000Z",
        }));
        let deployment = service.deploy(&bob, &pattern).await;
        let (_, deployed) = next(&mut events, "deployment").await;
        assert_eq!(deployed, json!({
            "deploymentId": deployment, "patternId": pattern, "status": "active", "versionNumber": 2,
            "updatedAt": "2026-11-21T09:01:00.000Z",
        }));
        let run = service.ran(&bob, &deployment, &json!({"fail": true})).await;
        let ended = loop {
            let (_, change) = next(&mut events, "run").await;
            assert_eq!((&change["runId"], &change["patternId"]), (&json!(run), &json!(pattern)), "{change}");
            if change["phase"] == "ended" {
                break change;
            }
        };
        assert_eq!((&ended["status"], &ended["error"]["code"]), (&json!("failure"), &json!("UNLUCKY")));
        hook.signed("{}").send().await;
        let (id, received) = next(&mut events, "webhook").await;
        assert_eq!((&received["patternId"], &received["status"]), (&json!(hook.pattern), &json!("inactive")));
        assert_eq!(id, service.app.clock.now().millis());
        service.app.clock.advance(Duration::from_secs(60));
        service.operate(&bob, &deployment, "pause").await;
        let (_, paused) = next(&mut events, "deployment").await;
        assert_eq!(paused["status"], "paused");
    }

    async fn who_comes_back_is_told_what_has_come_meanwhile(service: Service) {
        let ann = service.user("ann").await;
        let pattern = service.drawn(&ann, &doubling()).await;
        service.app.clock.advance(Duration::from_secs(60));
        let away = service.app.clock.now().millis().to_string();
        service.app.clock.advance(Duration::from_secs(60));
        save(&service, &ann, &pattern).await;
        service.app.clock.advance(Duration::from_secs(60));
        let back = async |id: &str| service.get("/api/stream").bearer(&ann.token).header("last-event-id", id).events().await;
        let mut events = back(&away).await;
        let (_, saved) = next(&mut events, "saved").await;
        assert_eq!(saved["versionNumber"], 3);
        assert_eq!(next(&mut events, "missed").await.1, json!({"what": "runs"}));
        service.app.clock.advance(Duration::from_secs(300));
        for id in [away.as_str(), "nonsense"] {
            let mut events = back(id).await;
            let (name, _, server) = events.next().await;
            assert_eq!((name.as_str(), server["build"].as_str().unwrap().len()), ("server", 16));
            let (name, _, data) = events.next().await;
            assert_eq!((name.as_str(), data), ("missed", json!({"what": "all"})));
        }
    }

    async fn who_may_not_look_on_any_more_is_told_nothing(service: Service) {
        let ann = service.user("ann").await;
        let cookie = service.cookie("ann").await;
        let mut events = service.get("/api/stream").header("cookie", &cookie).events().await;
        let out = service.delete("/api/session").header("cookie", &cookie).header("sec-fetch-site", "same-origin").send().await;
        out.data(200);
        let pattern = service.drawn(&ann, &doubling()).await;
        save(&service, &ann, &pattern).await;
        assert_eq!(events.next_or_end().await.unwrap().0, "server");
        assert_eq!(events.next_or_end().await, None);
    }
}
