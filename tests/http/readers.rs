//! Looking things up: whoever does much of it waits for their own requests, and nobody else does.

use crate::harness::{Service, chain, each_database};
use heddle_store::asking::{asked_by, of_request};
use serde_json::json;

each_database! {
    async fn who_reads_much_keeps_nobody_else_from_reading_and_running(service: Service) {
        let (ann, bob) = (service.user("ann").await, service.user("bob").await);
        let run = chain(&[("start", "OnManual", json!({})), ("end", "Return", json!({"value": 7}))]);
        let deployment = service.deployed(&bob, &run).await;

        // As requests of hers that look through very much.
        let id = ann.id.parse().unwrap();
        let mut reading = Vec::new();
        for _ in 0..3 {
            let reader = of_request(async {
                asked_by(id);
                service.app.store.reader().await.unwrap()
            });
            reading.push(reader.await);
        }
        let hers = service.get("/api/patterns").bearer(&ann.token).begin();
        let mut hers = Box::pin(hers);
        // Bob's requests take a while, in which hers would have been answered.
        let his = async {
            for _ in 0..3 {
                let listed = service.get("/api/patterns").bearer(&bob.token).send().await;
                assert_eq!(listed.status, 200, "{listed}");
                let ran = service.execute(&bob, &deployment, "?wait=true", &json!({})).await;
                assert_eq!(ran.data(200)["output"], 7);
            }
        };
        tokio::select! {
            biased;
            answered = &mut hers => panic!("answered although three of hers were: {}", answered.status()),
            () = his => {}
        }
        drop(reading.pop());
        assert_eq!(hers.await.status(), 200);
    }
}
