//! Runs over time, against a naive computation from the rows.

use crate::flow::waits::parked;
use crate::harness::{Service, User, doubling, each_database};
use heddle_store::{StoreError, sql};
use serde_json::{Value, json};
use std::time::Duration;

const MINUTE_MS: i64 = 60_000;

/// A run as far as the figures depend on it.
#[derive(Clone)]
struct Made {
    deployment: String,
    accepted_at: i64,
    status: &'static str,
    version: i64,
    duration_ms: Option<i64>,
}

/// Runs of half an hour, in all states; the same each time.
fn made(deployment: &str, now: i64, count: u64) -> Vec<Made> {
    let mut seed: u64 = count;
    let mut next = |below: u64| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let run = |_| {
        let status = ["success", "success", "failure", "dead_letter"][next(4) as usize];
        Made {
            deployment: deployment.to_owned(),
            accepted_at: now - next(30 * 60_000) as i64,
            status,
            version: 1 + next(2) as i64,
            duration_ms: Some(next(5_000) as i64),
        }
    };
    (0..count).map(run).collect()
}

async fn store(service: &Service, runs: Vec<Made>) {
    let stored: Result<(), StoreError> = service
        .app
        .store
        .write(move |db| {
            Box::pin(async move {
                for run in runs {
                    let error = ["failure", "dead_letter"].contains(&run.status).then(|| {
                        json!({"code": format!("CODE_{}", run.status), "message": "m", "nodeId": null}).to_string()
                    });
                    db.execute(
                        sql("insert into runs (id, deployment_id, status, phase, triggered_by, artifact, version_number,
                             attempt, owner, takeovers, accepted_at, started_at, duration_ms, error, fuel_used)
                             values (?, ?, ?, 'ended', 'manual', '', ?, 1, '', 0, ?, ?, ?, ?, ?)")
                        .bind(heddle_model::ids::RunId::new())
                        .bind(&run.deployment)
                        .bind(run.status)
                        .bind(run.version)
                        .bind(run.accepted_at)
                        .bind(run.duration_ms.map(|_| run.accepted_at))
                        .bind(run.duration_ms)
                        .bind(error)
                        .bind(7_i64),
                    )
                    .await?;
                }
                Ok(())
            })
        })
        .await;
    stored.unwrap();
}

fn naive(runs: &[&Made]) -> Value {
    let failures = runs.iter().filter(|run| run.status != "success").count();
    let mut durations: Vec<i64> = runs.iter().filter_map(|run| run.duration_ms).collect();
    durations.sort_unstable();
    let at = |percent: usize| match durations.len() {
        0 => Value::Null,
        count => json!(durations[(count * percent).div_ceil(100) - 1]),
    };
    json!({
        "runs": runs.len(), "failures": failures, "p50DurationMs": at(50), "p95DurationMs": at(95),
        "p99DurationMs": at(99), "fuel": 7.0 * runs.len() as f64,
    })
}

async fn figures(service: &Service, user: &User, query: &str) -> Value {
    let reply = service
        .get(&format!("/api/figures?period=15m{query}"))
        .bearer(&user.token)
        .send()
        .await;
    reply.data(200).clone()
}

each_database! {
    async fn runs_over_time_are_those_of_a_naive_computation(service: Service) {
        let (ann, eve) = (service.user("ann").await, service.user("eve").await);
        let (one, other) = (service.deployed(&ann, &doubling()).await, service.deployed(&ann, &doubling()).await);
        let elsewhere = service.deployed(&eve, &doubling()).await;
        service.app.clock.advance(Duration::from_millis(1_234_567));
        let now = service.app.clock.now().millis();
        let mut runs = made(&one, now, 120);
        runs.extend(made(&other, now, 40));
        store(&service, runs.clone()).await;
        store(&service, made(&elsewhere, now, 30)).await;
        let recent: Vec<&Made> = runs.iter().filter(|run| run.accepted_at >= now - 15 * MINUTE_MS).collect();

        let all = figures(&service, &ann, "").await;
        assert_eq!(all["total"], naive(&recent));
        assert_eq!((&all["period"], &all["bucketMs"]), (&json!("15m"), &json!(MINUTE_MS)));
        assert_eq!((&all["isPartial"], &all["isSampled"]), (&json!(false), &json!(false)));
        let buckets = all["buckets"].as_array().unwrap();
        let first = (now - 15 * MINUTE_MS) / MINUTE_MS;
        assert_eq!(buckets.len() as i64, now / MINUTE_MS - first + 1);
        for (place, bucket) in (first..).zip(buckets) {
            let inside: Vec<&Made> =
                recent.iter().copied().filter(|run| run.accepted_at / MINUTE_MS == place).collect();
            let mut expected = naive(&inside);
            expected["bucket"] = bucket["bucket"].clone();
            assert_eq!(bucket, &expected);
        }
        // By deployment and by code, the most of them first.
        let of = |id: &str| -> Vec<&Made> { recent.iter().copied().filter(|run| run.deployment == id).collect() };
        assert_eq!(all["deployments"].as_array().unwrap().len(), 2);
        for (told, id) in all["deployments"].as_array().unwrap().iter().zip([&one, &other]) {
            let mut expected = naive(&of(id));
            for field in ["deploymentId", "patternId", "patternName"] {
                expected[field] = told[field].clone();
            }
            assert_eq!((told, &told["deploymentId"]), (&expected, &json!(id)));
        }
        let told: i64 = all["failures"].as_array().unwrap().iter().map(|it| it["count"].as_i64().unwrap()).sum();
        assert_eq!(json!(told), all["total"]["failures"]);
        assert!(all["failures"].as_array().unwrap().iter().any(|it| it["code"] == "CODE_dead_letter"));

        // One deployment, its pattern, one of its versions.
        assert_eq!(figures(&service, &ann, &format!("&deploymentId={one}")).await["total"], naive(&of(&one)));
        let pattern = all["deployments"][1]["patternId"].as_str().unwrap();
        assert_eq!(figures(&service, &ann, &format!("&patternId={pattern}")).await["total"], naive(&of(&other)));
        let of_version: Vec<&Made> = of(&one).into_iter().filter(|run| run.version == 2).collect();
        let version = figures(&service, &ann, &format!("&deploymentId={one}&versionNumber=2")).await;
        assert_eq!(version["total"], naive(&of_version));
        // Nothing of others'.
        let none = figures(&service, &ann, &format!("&deploymentId={elsewhere}")).await;
        assert_eq!((&none["total"]["runs"], &none["deployments"]), (&json!(0), &json!([])));
    }

    async fn runs_that_have_not_ended_are_counted_by_what_they_do(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let waiting = json!({"nodes": [
            {"id": "start", "type": "OnManual", "data": {}},
            {"id": "wait", "type": "Wait", "data": {"parameters": {"durationMs": 3_600_000}}},
        ], "edges": [{"source": "start", "target": "wait"}]});
        let deployment = service.deployed(&ann, &waiting).await;
        let run = service.started(&ann, &deployment, &json!({})).await;
        parked(&service, &ann, &deployment, &run).await;
        let told = figures(&service, &ann, "").await;
        assert_eq!(told["unended"], json!({"queued": 0, "executing": 0, "waiting": 1}));
        assert_eq!(told["total"]["runs"], 1);
        let eve = service.user("eve").await;
        assert_eq!(figures(&service, &eve, "").await["unended"]["waiting"], 0);
    }

    async fn what_can_not_be_asked_for_is_refused(service: Service) {
        let ann = service.user("ann").await;
        for (query, field) in [("period=1y", "period"), ("versionNumber=1", "versionNumber"), ("patternId=x", "patternId")] {
            let reply = service.get(&format!("/api/figures?{query}")).bearer(&ann.token).send().await;
            assert_eq!(reply.wrong_fields(), [field]);
        }
    }
}
