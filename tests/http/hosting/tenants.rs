//! Two workspaces from their first run to the end of one of them: one reaches each of its quotas, metering of both adds up, and of
//! the one that is deleted neither a row nor a file is left, while the other has everything that it had.

use super::deletion::{filled, places};
use super::limits::{assert_exceeded, of_runs, of_what_is_there, slow};
use super::metering::{metered, recorded, runs_of_all_kinds, sum};
use super::{BOTH, ask, limit, number, operated};
use crate::harness::{Service, User, doubling};
use crate::webhooks::fixture::{Hook, graph};
use heddle_model::status::Phase;
use heddle_model::workspace_quota::{Period, WorkspaceQuota};
use heddle_runtime::EgressPolicy;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

async fn of_webhooks(service: &Service, ann: &User) {
    limit(service, ann, json!({})).await;
    let hook = Hook::saved_by(service, ann.clone(), graph(json!({}), &[])).await;
    hook.deploy().await;
    limit(service, ann, json!({"webhooksPerMinute": 1})).await;
    assert_eq!(hook.signed("{}").send().await.status, 202);
    assert_exceeded(&hook.signed("{}").send().await, "webhooksPerMinute", 1);
    service.app.executions.tenants().measure().await.unwrap();
}

async fn of_runs_at_once(service: &Service, ann: &User) {
    let (listener, asks) = slow().await;
    let asks = service.deployed(ann, &asks).await;
    limit(service, ann, json!({"runsAtOnce": 1})).await;
    let first = service.started(ann, &asks, &json!({})).await;
    let (executing, _) = listener.accept().await.unwrap();
    let second = service.started(ann, &asks, &json!({})).await;
    let phase = service.app.executions.phase_of(second.parse().unwrap());
    assert_eq!(phase, Some(Phase::Queued));
    service.app.executions.tenants().measure().await.unwrap();
    drop(executing);
    let (next, _) = listener.accept().await.unwrap();
    drop((next, listener));
    for run in [&first, &second] {
        service.ended(ann, &asks, run).await;
    }
}

/// The quotas of which a workspace was told that they are nearly used.
async fn warned_of(service: &Service, user: &User) -> BTreeSet<String> {
    let log = service.get("/api/audit?limit=100").bearer(&user.token);
    let log = log.send().await;
    let entries = log.body["data"].as_array().unwrap().iter();
    let warnings = entries.filter(|entry| entry["action"] == "workspace.quota_warned");
    let quotas: Vec<String> = warnings
        .map(|entry| entry["details"]["quota"].as_str().unwrap().to_owned())
        .collect();
    let different: BTreeSet<String> = quotas.iter().cloned().collect();
    // Each is told once a month.
    assert_eq!(different.len(), quotas.len(), "{log}");
    different
}

/// Checks that what a workspace is reported to have used is what its runs recorded.
async fn assert_adds_up(service: &Service, user: &User) {
    let workspace = service.workspace_of(user).await.to_string();
    let open = "select count(*) from runs r join deployments d on d.id = r.deployment_id
                where d.workspace_id = ? and r.status = 'running'";
    while number(service, open.to_owned(), &workspace).await > 0 {
        tokio::task::yield_now().await;
    }
    let recorded = recorded(service, &workspace).await;
    assert!(recorded[0] > 10 && recorded[2] > 0, "{recorded:?}");
    assert_eq!(metered(service, &workspace).await, recorded);
    let report = ask(service, "GET", &format!("/workspaces/{workspace}/usage?by=hour"));
    let report = report.send().await;
    let rows = report.body["data"].as_array().unwrap();
    for (field, of) in [("runs", 0), ("failedRuns", 1), ("fuel", 2), ("effects", 4)] {
        assert_eq!(sum(rows, field), recorded[of] as f64, "{field}: {report}");
    }
}

/// All files below a directory but those of the embedded database, with their bytes.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut found, mut dirs) = (BTreeMap::new(), vec![dir.to_owned()]);
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let is_database = path
                .file_name()
                .unwrap()
                .to_string_lossy()
                .starts_with("heddle.db");
            if path.is_dir() {
                dirs.push(path);
            } else if !is_database {
                found.insert(path.clone(), std::fs::read(path).unwrap());
            }
        }
    }
    found
}

/// What the other one sees of its workspace.
async fn shown(service: &Service, user: &User) -> Vec<Value> {
    let mut shown = Vec::new();
    for path in [
        "/api/runs?limit=100",
        "/api/patterns?limit=100",
        "/api/deployments?limit=100",
        "/api/connections",
        "/api/callbacks",
        "/api/schedules",
    ] {
        let reply = service.get(path).bearer(&user.token).send().await;
        assert_eq!(reply.status, 200, "{reply}");
        shown.push(reply.body["data"].clone());
    }
    shown
}

async fn deleted_whole(service: &Service, (ann, bob): (&User, &User)) {
    let (anns, bobs) = (service.workspace_of(ann).await, service.workspace_of(bob).await);
    let (mark, other) = ("mark-of-the-one", "mark-of-the-other");
    let (data_dir, anns) = (&service.app.config.data_dir, anns.to_string());
    let sqlite_dir = service.app.config.sqlite_dir.clone().unwrap();
    filled(service, bob.clone(), other, &sqlite_dir).await;
    let bobs_files = files(data_dir);
    assert!(bobs_files.len() >= 2, "{:?}", bobs_files.keys());
    filled(service, ann.clone(), mark, &sqlite_dir).await;
    assert!(files(data_dir).len() >= bobs_files.len() + 2);
    assert!(places(service, mark).await.len() > 12);
    let rows = async || {
        (
            places(service, other).await,
            places(service, &bobs.to_string()).await,
        )
    };
    let (rows_before, shown_before) = (rows().await, shown(service, bob).await);

    let gone = ask(service, "DELETE", &format!("/workspaces/{anns}"));
    gone.send().await.data(200);
    assert_eq!(places(service, mark).await, BTreeMap::new());
    // That it was there is told in the log of who owned it.
    let left = BTreeMap::from([("audit_entries.object_id".to_owned(), 1)]);
    assert_eq!(places(service, &anns).await, left);
    let files_left = files(data_dir);
    for (path, bytes) in &files_left {
        let has = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
        let is_named = path.to_string_lossy().contains(&anns);
        assert!(!is_named && !has(mark) && !has(&anns), "{path:?}");
    }
    assert!(files_left == bobs_files, "{:?}", files_left.keys());
    assert_eq!(rows().await, rows_before);
    assert_eq!(shown(service, bob).await, shown_before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_reaches_its_quotas_and_is_deleted_and_the_other_stays_whole() {
    for database in BOTH {
        let service = Service::with(database, |config| {
            operated(config);
            config.egress = EgressPolicy::parse(["127.0.0.0/8"]).unwrap();
            config.sqlite_dir = Some(config.data_dir.join("sqlite"));
        })
        .await;
        let (ann, bob) = (service.user("ann").await, service.user("bob").await);
        let bobs = service.deployed(&bob, &doubling()).await;
        of_runs(&service, &ann).await;
        service.ran(&bob, &bobs, &json!({})).await;
        of_what_is_there(&service, &ann).await;
        service.app.executions.tenants().measure().await.unwrap();
        of_webhooks(&service, &ann).await;
        of_runs_at_once(&service, &ann).await;
        let every = WorkspaceQuota::ALL.iter();
        // What one run may have is never used up.
        let every = every.filter(|quota| quota.period() != Period::Run);
        let every = every.map(|quota| quota.name().to_owned());
        assert_eq!(warned_of(&service, &ann).await, every.collect());
        // Nothing was refused to the other one, or told to it.
        service.ran(&bob, &bobs, &json!({})).await;
        assert_eq!(warned_of(&service, &bob).await, BTreeSet::new());

        limit(&service, &ann, json!({})).await;
        for user in [&ann, &bob] {
            runs_of_all_kinds(&service, user).await;
        }
        service.app.clock.advance(Duration::from_secs(60));
        for user in [&ann, &bob] {
            assert_adds_up(&service, user).await;
        }
        deleted_whole(&service, (&ann, &bob)).await;
        service.ran(&bob, &bobs, &json!({})).await;
    }
}
