//! Large events of runs and taps, and large graphs and definitions, which each database keeps in its own way.

use super::{elsewhere, exported, imported, member_of, set_suspended};
use crate::harness::{Database, Service, doubling};
use crate::hosting::operated;
use crate::webhooks::fixture::{Hook, graph};
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_events_move_with_their_runs_and_taps() {
    for (from, to) in [
        (Database::Sqlite, Database::Postgres),
        (Database::Postgres, Database::Sqlite),
        (Database::Sqlite, Database::Sqlite),
    ] {
        let source = Service::with(from, operated).await;
        let ann = source.user("ann").await;
        let workspace = source.workspace_of(&ann).await.to_string();
        let id = source.deployed(&ann, &doubling()).await;
        let event = json!({"n": 21, "text": "aä€𝄞".repeat(120_000)});
        let run = source.ran(&ann, &id, &event).await;
        let hook = Hook::saved_by(&source, ann.clone(), graph(json!({}), &[])).await;
        hook.signed(&event.to_string()).send().await;
        assert_eq!(hook.tapped().await.len(), 1);
        let tap = format!("/api/patterns/{}/tap-events", hook.pattern);
        set_suspended(&source, &workspace, true).await;
        let archive = exported(&source, &workspace).await;

        let target = Service::with(to, elsewhere).await;
        let there = target.user("ann").await;
        let told = imported(&target, &archive, json!({})).await;
        assert_eq!(told["keepsIds"], true, "{told}");
        set_suspended(&target, &workspace, false).await;
        let ann = member_of(&target, &there, &workspace).await;
        let shown = target.run(&ann, &id, &run).await;
        assert!(shown["eventData"] == event, "{from:?} {to:?}");
        let tapped = target.get(&tap).bearer(&ann.token).send().await;
        assert_eq!(tapped.status, 200, "{}", tapped.code());
        let tapped = &tapped.body["events"][0]["eventData"]["body"];
        assert!(*tapped == event, "of the tap: {from:?} {to:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_graphs_and_definitions_move_with_their_versions_and_drafts() {
    for (from, to) in [
        (Database::Sqlite, Database::Postgres),
        (Database::Postgres, Database::Sqlite),
        (Database::Sqlite, Database::Sqlite),
    ] {
        let source = Service::with(from, operated).await;
        let ann = source.user("ann").await;
        let workspace = source.workspace_of(&ann).await.to_string();
        let text = "aä€𝄞".repeat(60_000);
        let graph = |name: &str| json!({"nodes": [], "edges": [], "note": format!("{name} {text}")});
        let definitions = json!({"Own": {"kind": "javascript", "code": text}});
        let path = format!("/api/patterns/{}", source.drawn(&ann, &graph("first")).await);
        let saved = json!({"graphData": graph("second"), "nodeDefinitions": definitions});
        let drawn = json!({"baseVersion": 3, "graphData": graph("draft"), "nodeDefinitions": definitions});
        for (path, body) in [(path.clone(), saved), (format!("{path}/draft"), drawn)] {
            let stored = source.put(&path).bearer(&ann.token).json(&body).send().await;
            assert_eq!(stored.status, 200, "{}", stored.code());
        }
        set_suspended(&source, &workspace, true).await;
        let archive = exported(&source, &workspace).await;

        let target = Service::with(to, elsewhere).await;
        let there = target.user("ann").await;
        let told = imported(&target, &archive, json!({})).await;
        assert_eq!(told["keepsIds"], true, "{told}");
        set_suspended(&target, &workspace, false).await;
        let ann = member_of(&target, &there, &workspace).await;
        for (part, name, own) in [
            ("/versions/2", "first", json!({})),
            ("/versions/3", "second", definitions.clone()),
            ("/draft", "draft", definitions),
        ] {
            let read = target
                .get(&format!("{path}{part}"))
                .bearer(&ann.token)
                .send()
                .await;
            assert_eq!(read.status, 200, "{part}: {}", read.code());
            assert!(read.body["graphData"] == graph(name), "{part}: {from:?} {to:?}");
            assert!(
                read.body["nodeDefinitions"] == own,
                "definitions of {part}: {from:?} {to:?}"
            );
        }
    }
}
