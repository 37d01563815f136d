//! Presence: who else has a pattern open in an editor.

use super::{pattern, save};
use crate::harness::{Reply, Service, User, each_database};
use heddle_model::access::WorkspaceRole;
use serde_json::{Value, json};
use std::time::Duration;

const ANNS: &str = "0b0e2f52-5d1c-4a6e-9e0b-4b1c6f1c0001";
const ANNS_OTHER: &str = "0b0e2f52-5d1c-4a6e-9e0b-4b1c6f1c0002";
const BOBS: &str = "0b0e2f52-5d1c-4a6e-9e0b-4b1c6f1c0003";

async fn tell(service: &Service, user: &User, id: &str, tab: &str, has_changes: bool) -> Reply {
    let path = format!("/api/patterns/{id}/presence/{tab}");
    let request = service.put(&path).bearer(&user.token);
    request.json(&json!({"hasChanges": has_changes})).send().await
}

async fn leave(service: &Service, user: &User, id: &str, tab: &str) -> Reply {
    let path = format!("/api/patterns/{id}/presence/{tab}");
    service.delete(&path).bearer(&user.token).send().await
}

/// Names of those around, `*` where there is something that is not saved, `!` for the caller's own.
fn around(reply: &Reply) -> Vec<String> {
    assert_eq!(reply.status, 200, "{reply}");
    let others = reply.body["others"].as_array().unwrap().iter();
    let mark = |other: &Value, field: &str, mark| match other[field] == true {
        true => mark,
        false => "",
    };
    others
        .map(|other| {
            let name = other["name"].as_str().unwrap();
            format!(
                "{name}{}{}",
                mark(other, "hasChanges", "*"),
                mark(other, "isOwn", "!")
            )
        })
        .collect()
}

each_database! {
    async fn editors_see_each_other_until_they_leave_or_fall_silent(service: Service) {
        let ann = service.user("ann").await;
        let bob = service.member(&ann, "bob", WorkspaceRole::Editor).await;
        let id = pattern(&service, &ann, json!({"name": "Orders"})).await;
        let first = tell(&service, &ann, &id, ANNS, false).await;
        assert_eq!(first.body["versionNumber"], 1);
        assert!(first.body["tellEveryMs"].as_u64().unwrap() >= 1000);
        assert!(around(&first).is_empty());
        let [of_ann, of_bob] = [&ann, &bob].map(|user| user.id.clone());
        let seen = tell(&service, &bob, &id, BOBS, true).await;
        assert_eq!(seen.body["others"][0]["userId"], of_ann);
        service.app.clock.advance(Duration::from_secs(1));
        tell(&service, &ann, &id, ANNS_OTHER, true).await;
        let seen = tell(&service, &ann, &id, ANNS, false).await;
        assert_eq!(seen.body["others"][0]["userId"], of_bob);
        assert_eq!(seen.body["others"].as_array().unwrap().len(), 2);
        assert!(around(&seen)[0].ends_with('*') && around(&seen)[1].ends_with("*!"), "{seen}");

        assert_eq!(leave(&service, &ann, &id, ANNS_OTHER).await.status, 204);
        assert_eq!(leave(&service, &ann, &id, ANNS_OTHER).await.status, 204);
        assert_eq!(around(&tell(&service, &ann, &id, ANNS, false).await).len(), 1);
        // Nobody takes somebody else's tab away.
        assert_eq!(leave(&service, &ann, &id, BOBS).await.status, 204);
        assert_eq!(around(&tell(&service, &ann, &id, ANNS, false).await).len(), 1);
        service.app.clock.advance(Duration::from_secs(60));
        assert!(around(&tell(&service, &ann, &id, ANNS, false).await).is_empty());
    }

    async fn a_version_that_somebody_else_saved_is_told(service: Service) {
        let ann = service.user("ann").await;
        let bob = service.member(&ann, "bob", WorkspaceRole::Editor).await;
        let id = pattern(&service, &ann, json!({"name": "Orders"})).await;
        save(&service, &bob, &id, json!({"name": "Bills"})).await;
        let told = tell(&service, &ann, &id, ANNS, false).await;
        assert_eq!(told.body["versionNumber"], 2);
        assert!(told.body["savedBy"].as_str().unwrap().to_lowercase().contains("bob"), "{told}");
        assert_eq!(tell(&service, &bob, &id, BOBS, false).await.body["savedBy"], Value::Null);
    }

    async fn only_who_may_change_a_pattern_is_seen(service: Service) {
        let ann = service.user("ann").await;
        let (eve, vic) = (service.user("eve").await, service.member(&ann, "vic", WorkspaceRole::Viewer).await);
        let id = pattern(&service, &ann, json!({"name": "Orders", "isPublic": true})).await;
        for user in [&eve, &vic] {
            tell(&service, user, &id, BOBS, false).await.assert_refused(403, "FORBIDDEN");
        }
        tell(&service, &ann, &id, "not-a-uuid", false).await.assert_refused(404, "NOT_FOUND");
        // A user's tabs are bounded: the latest stay.
        for at in 0..15 {
            service.app.clock.advance(Duration::from_millis(10));
            tell(&service, &ann, &id, &format!("0b0e2f52-5d1c-4a6e-9e0b-4b1c6f1c01{at:02}"), false).await;
        }
        assert!(around(&tell(&service, &ann, &id, ANNS, false).await).len() <= 10);
    }
}
