//! The runs of a whole workspace, over all its deployments.

use crate::harness::{Reply, Service, User, doubling, each_database};
use heddle_model::access::WorkspaceRole;
use serde_json::{Value, json};
use std::time::Duration;

async fn listed(service: &Service, user: &User, query: &str) -> Reply {
    let reply = service
        .get(&format!("/api/runs{query}"))
        .bearer(&user.token)
        .send()
        .await;
    assert_eq!(reply.status, 200, "{query}: {reply}");
    reply
}

fn ids(reply: &Reply) -> Vec<String> {
    let list = reply.body["data"].as_array().unwrap().iter();
    list.map(|run| run["id"].as_str().unwrap().to_owned()).collect()
}

/// Runs once a second, in turn by these deployments; the ids, newest first.
async fn ran(service: &Service, user: &User, deployments: &[&str], times: usize) -> Vec<String> {
    let mut runs = Vec::new();
    for number in 0..times {
        service.app.clock.advance(Duration::from_secs(1));
        let deployment = deployments[number % deployments.len()];
        runs.push(service.ran(user, deployment, &json!({"n": number})).await);
    }
    runs.reverse();
    runs
}

each_database! {
    async fn runs_of_all_deployments_are_in_one_list_newest_first(service: Service) {
        let ann = service.user("ann").await;
        let first = service.drawn(&ann, &doubling()).await;
        let one = service.deploy(&ann, &first).await;
        let two = service.deployed(&ann, &doubling()).await;
        service.deployed(&ann, &doubling()).await;
        assert_eq!(ids(&listed(&service, &ann, "").await), [""; 0]);
        let runs = ran(&service, &ann, &[&one, &two, &one], 5).await;
        let reply = listed(&service, &ann, "").await;
        assert_eq!(ids(&reply), runs);
        assert_eq!(reply.body["meta"], json!({"limit": 50, "nextCursor": null}));
        let oldest = &reply.body["data"][4];
        assert_eq!(oldest, &json!({
            "id": runs[4], "deploymentId": one, "patternId": first, "patternName": "Pattern",
            "environmentId": oldest["environmentId"], "environmentName": "production",
            "triggeredBy": "manual", "status": "success", "phase": "ended", "error": null,
            "startedAt": "2026-11-21T09:00:01.000Z", "completedAt": "2026-11-21T09:00:01.000Z",
            "acceptedAt": "2026-11-21T09:00:01.000Z", "durationMs": oldest["durationMs"],
            "attempt": 1, "versionNumber": 2,
        }));

        let member = service.member(&ann, "vic", WorkspaceRole::Viewer).await;
        assert_eq!(ids(&listed(&service, &member, "").await), runs);
        let bob = service.user("bob").await;
        service.deployed(&bob, &doubling()).await;
        assert_eq!(ids(&listed(&service, &bob, "").await), [""; 0]);
        assert_eq!(ids(&listed(&service, &bob, &format!("?patternId={first}")).await), [""; 0]);
        assert_eq!(ids(&listed(&service, &bob, &format!("?q={}", runs[0])).await), [""; 0]);
    }

    async fn a_cursor_goes_on_where_a_page_ended_whatever_has_come_since(service: Service) {
        let ann = service.user("ann").await;
        let one = service.deployed(&ann, &doubling()).await;
        let two = service.deployed(&ann, &doubling()).await;
        let mut runs = ran(&service, &ann, &[&one, &two], 4).await;
        // At the same moment, the id decides.
        let mut at_once = vec![
            service.ran(&ann, &one, &json!({})).await,
            service.ran(&ann, &two, &json!({})).await,
            service.ran(&ann, &one, &json!({})).await,
        ];
        at_once.sort();
        let last_before = runs.remove(0);
        let same_moment = {
            let mut all = at_once.clone();
            all.push(last_before);
            all.sort();
            all.reverse();
            all
        };
        let expected = [same_moment, runs].concat();
        let mut found = Vec::new();
        let mut query = "?limit=2".to_owned();
        for page in 0.. {
            let reply = listed(&service, &ann, &query).await;
            found.extend(ids(&reply));
            if page == 0 {
                ran(&service, &ann, &[&one], 1).await;
            }
            match reply.body["meta"]["nextCursor"].as_str() {
                Some(cursor) => query = format!("?limit=2&cursor={cursor}"),
                None => break,
            }
        }
        assert_eq!(found, expected);
    }

    async fn lists_are_narrowed_and_searched(service: Service) {
        let ann = service.user("ann").await;
        let pattern = service.drawn(&ann, &doubling()).await;
        let one = service.deploy(&ann, &pattern).await;
        let two = service.deployed(&ann, &doubling()).await;
        let mut runs = Vec::new();
        for (deployment, event) in [
            (&one, json!({"n": 1})),
            (&two, json!({"fail": true})),
            (&two, json!({"n": 3})),
            (&one, json!({"fail": true})),
        ] {
            service.app.clock.advance(Duration::from_secs(60));
            runs.push(service.ran(&ann, deployment, &event).await);
        }
        let [good, bad, other_good, last_bad] = &runs[..] else { panic!("{runs:?}") };
        let by_pattern = format!("?patternId={pattern}");
        let by_both = format!("?patternId={pattern}&status=failure");
        let by_id = format!("?q={other_good}");
        for (query, expected) in [
            ("?status=success", vec![other_good, good]),
            ("?status=completed", vec![other_good, good]),
            ("?status=failure", vec![last_bad, bad]),
            ("?status=running", vec![]),
            ("?status=dead_letter", vec![]),
            ("?triggeredBy=manual&limit=1", vec![last_bad]),
            ("?triggeredBy=webhook", vec![]),
            (by_pattern.as_str(), vec![last_bad, good]),
            (by_both.as_str(), vec![last_bad]),
            (by_id.as_str(), vec![other_good]),
            ("?q=No+Luck", vec![last_bad, bad]),
            ("?q=unlucky&status=failure", vec![last_bad, bad]),
            ("?q=unlucky&status=success", vec![]),
            ("?q=no%25luck", vec![]),
            ("?q=no_luck", vec![]),
            ("?q=+", vec![last_bad, other_good, bad, good]),
            ("?from=2026-11-21T09:02:00Z&to=2026-11-21T09:04:00Z", vec![other_good, bad]),
            ("?from=2026-11-21T09:04:00Z", vec![last_bad]),
            ("?from=2026-11-21T09:04:00.001Z", vec![]),
        ] {
            let found = ids(&listed(&service, &ann, query).await);
            assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{query}");
        }
        let failed = listed(&service, &ann, "?status=failure").await;
        assert_eq!(failed.body["data"][0]["error"], json!({"message": "no luck", "code": "UNLUCKY", "nodeId": "boom"}));
        let long = format!("q={}", "x".repeat(201));
        for (query, field) in [
            ("status=ended", "status"),
            ("patternId=x", "patternId"),
            ("from=yesterday", "from"),
            ("to=1", "to"),
            ("limit=0", "limit"),
            ("cursor=x", "cursor"),
            ("cursor=1.x", "cursor"),
            ("q=%00", "q"),
            (long.as_str(), "q"),
        ] {
            let reply = service.get(&format!("/api/runs?{query}")).bearer(&ann.token).send().await;
            assert_eq!(reply.wrong_fields(), [field], "{query}");
        }
    }

    /// More deployments than one statement reads, of which the oldest has run last.
    async fn the_newest_are_found_among_many_deployments(service: Service) {
        let ann = service.user("ann").await;
        let pattern = service.drawn(&ann, &doubling()).await;
        let oldest = service.deploy(&ann, &pattern).await;
        let first = service.ran(&ann, &oldest, &json!({})).await;
        copies(&service, &oldest, &first, 120).await;
        service.app.clock.advance(Duration::from_secs(1_000));
        let last = service.ran(&ann, &oldest, &json!({})).await;
        let reply = listed(&service, &ann, "?limit=3").await;
        let accepted: Vec<&Value> = reply.body["data"].as_array().unwrap().iter().map(|run| &run["acceptedAt"]).collect();
        assert_eq!(ids(&reply)[0], last);
        assert_eq!(accepted[1..], ["2026-11-21T09:02:00.000Z", "2026-11-21T09:01:59.000Z"]);
        let mut found = 3;
        let mut cursor = reply.body["meta"]["nextCursor"].as_str().unwrap().to_owned();
        loop {
            let reply = listed(&service, &ann, &format!("?limit=100&cursor={cursor}")).await;
            found += ids(&reply).len();
            match reply.body["meta"]["nextCursor"].as_str() {
                Some(next) => cursor = next.to_owned(),
                None => break,
            }
        }
        assert_eq!(found, 122);
    }
}

/// Other deployments, each with one run that was accepted a second after the one before.
async fn copies(service: &Service, deployment: &str, run: &str, count: i64) {
    for number in 1..=count {
        let (deployment, run) = (deployment.to_owned(), run.to_owned());
        let copied: Result<(), heddle_store::StoreError> = service
            .app
            .store
            .write(move |db| {
                Box::pin(async move {
                    let id = heddle_model::ids::DeploymentId::new();
                    db.execute(
                        heddle_store::sql(
                            "insert into deployments (id, pattern_id, pattern_name, user_id, workspace_id, environment_id,
                             status, version_number, artifact, triggers, confirmed_at, created_at, updated_at)
                             select ?, ?, pattern_name, user_id, workspace_id, environment_id, status, version_number,
                             artifact, triggers, confirmed_at, created_at, updated_at from deployments where id = ?",
                        )
                        .bind(id)
                        .bind(heddle_model::ids::PatternId::new())
                        .bind(&deployment),
                    )
                    .await?;
                    db.execute(
                        heddle_store::sql(
                            "insert into runs (id, deployment_id, status, phase, triggered_by, artifact, version_number,
                             attempt, owner, takeovers, accepted_at)
                             select ?, ?, status, phase, triggered_by, artifact, version_number, attempt, owner,
                             takeovers, accepted_at + ? from runs where id = ?",
                        )
                        .bind(heddle_model::ids::RunId::new())
                        .bind(id)
                        .bind(number * 1_000)
                        .bind(&run),
                    )
                    .await?;
                    Ok(())
                })
            })
            .await;
        copied.unwrap();
    }
}
