//! Figures of runs against a naive computation from the rows.

use crate::harness::{Service, doubling, each_database};
use heddle_model::clock::Timestamp;
use heddle_store::{StoreError, sql};
use serde_json::{Value, json};
use std::time::Duration;

const PERIODS: [(&str, i64, i64); 4] = [
    ("15m", 15 * 60_000, 60_000),
    ("24h", 24 * 3_600_000, 3_600_000),
    ("7d", 7 * 24 * 3_600_000, 6 * 3_600_000),
    ("30d", 30 * 24 * 3_600_000, 24 * 3_600_000),
];

/// A run as far as the figures depend on it.
#[derive(Clone)]
struct Made {
    accepted_at: i64,
    status: &'static str,
    trigger: &'static str,
    duration_ms: Option<i64>,
}

/// Runs of all ages, states and durations; the same each time.
fn made(now: i64) -> Vec<Made> {
    let mut seed: u64 = 7;
    let mut next = |below: u64| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    (0..300)
        .map(|index| {
            let span = PERIODS[index % 4].1 as u64 + 60_000;
            let status = ["success", "success", "failure", "dead_letter", "running"][next(5) as usize];
            Made {
                accepted_at: now - next(span) as i64,
                status,
                trigger: ["manual", "webhook", "schedule"][next(3) as usize],
                duration_ms: (status != "running").then(|| next(5_000) as i64),
            }
        })
        .collect()
}

fn naive(made: &[Made], now: i64, (period, length_ms, size_ms): (&str, i64, i64)) -> Value {
    let runs: Vec<&Made> = made
        .iter()
        .filter(|run| run.accepted_at >= now - length_ms)
        .collect();
    let has_failed = |run: &Made| ["failure", "dead_letter"].contains(&run.status);
    let success = runs.iter().filter(|run| run.status == "success").count();
    let failure = runs.iter().filter(|run| has_failed(run)).count();
    let mut durations: Vec<i64> = runs.iter().filter_map(|run| run.duration_ms).collect();
    durations.sort_unstable();
    let p95 = durations[(0.95 * durations.len() as f64).ceil() as usize - 1];
    let mean = durations.iter().sum::<i64>() as f64 / durations.len() as f64;
    let time = |time: Option<i64>| time.map(|time| Timestamp::from_millis(time).to_string());
    let last = |wanted: &dyn Fn(&Made) -> bool| {
        time(
            runs.iter()
                .filter(|run| wanted(run))
                .map(|run| run.accepted_at)
                .max(),
        )
    };
    let by = |trigger: &str| runs.iter().filter(|run| run.trigger == trigger).count();
    let mut buckets = Vec::new();
    let mut start = (now - length_ms) - (now - length_ms) % size_ms;
    while start <= now {
        let inside: Vec<&&Made> = runs
            .iter()
            .filter(|run| (start..start + size_ms).contains(&run.accepted_at))
            .collect();
        buckets.push(json!({
            "bucket": time(Some(start)), "count": inside.len(),
            "success": inside.iter().filter(|run| run.status == "success").count(),
            "failure": inside.iter().filter(|run| has_failed(run)).count(),
        }));
        start += size_ms;
    }
    json!({
        "totalRuns": runs.len(), "successCount": success, "failureCount": failure,
        "successRate": success as f64 * 100.0 / (success + failure) as f64,
        "avgDurationMs": mean, "p95DurationMs": p95,
        "runsByTrigger": {"webhook": by("webhook"), "schedule": by("schedule"), "manual": by("manual"), "email": 0, "error": 0, "call": 0},
        "runsByPeriod": buckets, "lastRunAt": last(&|_| true), "lastSuccessAt": last(&|run| run.status == "success"),
        "lastFailureAt": last(&has_failed), "period": period,
    })
}

/// The same JSON with all numbers as floats, rounded where summing in another order makes a difference.
fn rounded(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!((number.as_f64().unwrap() * 1e6).round() / 1e6),
        Value::Array(items) => items.iter().map(rounded).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| (name.clone(), rounded(value)))
            .collect(),
        other => other.clone(),
    }
}

each_database! {
    async fn figures_are_those_of_a_naive_computation(service: Service) {
        let ann = service.user("ann").await;
        let id = service.deployed(&ann, &doubling()).await;
        service.app.clock.advance(Duration::from_millis(1_234_567));
        let now = service.app.clock.now().millis();
        let runs = made(now);
        let (rows, deployment) = (runs.clone(), id.clone());
        let stored: Result<(), StoreError> = service.app.store.write(move |db| Box::pin(async move {
            for run in rows {
                db.execute(
                    sql("insert into runs (id, deployment_id, status, phase, triggered_by, artifact, version_number,
                         attempt, owner, takeovers, accepted_at, started_at, duration_ms)
                         values (?, ?, ?, 'ended', ?, '', 1, 1, '', 0, ?, ?, ?)")
                    .bind(heddle_model::ids::RunId::new())
                    .bind(&deployment)
                    .bind(run.status)
                    .bind(run.trigger)
                    .bind(run.accepted_at)
                    .bind(run.duration_ms.map(|_| run.accepted_at))
                    .bind(run.duration_ms),
                )
                .await?;
            }
            Ok(())
        })).await;
        stored.unwrap();
        for period in PERIODS {
            let path = format!("/api/deployments/{id}/runs/stats?period={}", period.0);
            let stats = service.get(&path).bearer(&ann.token).send().await;
            assert_eq!(stats.status, 200, "{stats}");
            assert_eq!(rounded(&stats.body["data"]), rounded(&naive(&runs, now, period)), "{}", period.0);
        }
    }

    async fn without_runs_rates_are_zero_and_times_null(service: Service) {
        let ann = service.user("ann").await;
        let id = service.deployed(&ann, &doubling()).await;
        let stats = service.get(&format!("/api/deployments/{id}/runs/stats")).bearer(&ann.token).send().await;
        let data = &stats.body["data"];
        assert_eq!((&data["period"], &data["totalRuns"], &data["successRate"]), (&json!("24h"), &json!(0), &json!(0.0)));
        assert_eq!((&data["avgDurationMs"], &data["p95DurationMs"]), (&json!(0.0), &json!(0)));
        for time in ["lastRunAt", "lastSuccessAt", "lastFailureAt"] {
            assert_eq!(data[time], Value::Null);
        }
        assert_eq!(data["runsByPeriod"].as_array().unwrap().len(), 25);
        let refused = service.get(&format!("/api/deployments/{id}/runs/stats?period=1y")).bearer(&ann.token).send().await;
        assert_eq!((refused.status, refused.code()), (400, "VALIDATION"));
    }
}
