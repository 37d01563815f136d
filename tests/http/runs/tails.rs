//! Server-sent events.

use crate::flow::waits::parked;
use crate::harness::{Service, chain, doubling, each_database, endless};
use serde_json::{Value, json};

/// Names and data of the events in a stream's text.
pub fn events(text: &str) -> Vec<(String, Value)> {
    text.split("\n\n")
        .filter_map(|event| {
            let field = |name: &str| {
                event
                    .lines()
                    .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
            };
            Some((
                field("event")?.to_owned(),
                serde_json::from_str(field("data")?).unwrap(),
            ))
        })
        .collect()
}

each_database! {
    async fn a_run_is_followed_to_its_end(service: Service) {
        let ann = service.user("ann").await;
        let id = service.deployed(&ann, &endless()).await;
        let run = service.started(&ann, &id, &json!({})).await;
        let path = format!("/api/deployments/{id}/runs/{run}/stream");
        let cancel = format!("runs/{run}/cancel");
        let (stream, _) = tokio::join!(service.get(&path).bearer(&ann.token).send(), service.operate(&ann, &id, &cancel));
        assert_eq!(stream.headers["content-type"], "text/event-stream");
        let events = events(&stream.text);
        assert!(events.iter().all(|(name, _)| name == "run" || name == "change"), "{events:?}");
        let (name, last) = events.last().unwrap();
        assert_eq!((name.as_str(), &last["status"], &last["errorMessage"]), ("run", &json!("failure"), &json!("cancelled")));
        service.assert_events_described("get", "/api/deployments/{id}/runs/{runId}/stream", &events).await;
    }

    async fn a_run_that_waits_is_followed_to_its_end_as_well(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let waiting = chain(&[("start", "OnManual", json!({})), ("wait", "Wait", json!({"durationMs": 720_000_000}))]);
        let id = service.deployed(&ann, &waiting).await;
        let run = service.started(&ann, &id, &json!({})).await;
        parked(&service, &ann, &id, &run).await;
        let all = format!("/api/deployments/{id}/runs/stream");
        let mut all = service.get(&all).bearer(&ann.token).events().await;
        let path = format!("/api/deployments/{id}/runs/{run}/stream");
        let cancel = format!("runs/{run}/cancel");
        let (stream, _) = tokio::join!(service.get(&path).bearer(&ann.token).send(), service.operate(&ann, &id, &cancel));
        let events = events(&stream.text);
        let (name, last) = events.last().unwrap();
        assert_eq!((name.as_str(), &last["errorMessage"]), ("run", &json!("cancelled")));
        let told = loop {
            let (_, _, change) = all.next().await;
            if change["phase"] == "ended" {
                break change;
            }
        };
        assert_eq!((&told["runId"], &told["status"]), (&json!(run), &json!("failure")), "{told}");
        assert_eq!(told["error"]["code"], "CANCELLED", "{told}");
    }

    async fn an_ended_run_is_told_at_once(service: Service) {
        let ann = service.user("ann").await;
        let id = service.deployed(&ann, &doubling()).await;
        let run = service.ran(&ann, &id, &json!({"n": 3})).await;
        let stream = service.get(&format!("/api/deployments/{id}/runs/{run}/stream")).bearer(&ann.token).send().await;
        let events = events(&stream.text);
        assert_eq!(events.len(), 1);
        assert_eq!(events[0].1["output"], json!({"double": 6}));
        let missed = ("lagged".to_owned(), json!({"missed": 3}));
        let told: Vec<(String, Value)> = events.into_iter().chain([missed]).collect();
        service.assert_events_described("get", "/api/deployments/{id}/runs/{runId}/stream", &told).await;
    }

    async fn changes_of_a_deployment_are_told_until_the_service_stops(service: Service) {
        let ann = service.user("ann").await;
        let id = service.deployed(&ann, &doubling()).await;
        let other = service.deployed(&ann, &doubling()).await;
        let work = async {
            while service.app.executions.tail().onlookers() == 0 {
                tokio::task::yield_now().await;
            }
            service.ran(&ann, &other, &json!({})).await;
            let run = service.ran(&ann, &id, &json!({"fail": true})).await;
            service.app.executions.begin_stop();
            run
        };
        let path = format!("/api/deployments/{id}/runs/stream");
        let (stream, run) = tokio::join!(service.get(&path).bearer(&ann.token).send(), work);
        let events = events(&stream.text);
        service.assert_events_described("get", "/api/deployments/{id}/runs/stream", &events).await;
        let told: Vec<(Value, Value, Value)> = events
            .into_iter()
            .map(|(name, data)| {
                assert_eq!(name, "change");
                (data["runId"].clone(), data["phase"].clone(), data["status"].clone())
            })
            .collect();
        let change = |phase: &str, status: &str| (json!(run), json!(phase), json!(status));
        let all = [change("queued", "running"), change("executing", "running"), change("ended", "failure")];
        // The stop may come before the last of them was told.
        assert!(!told.is_empty() && all.starts_with(&told), "{told:?}");
    }
}
