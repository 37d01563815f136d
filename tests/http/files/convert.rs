//! ConvertFile in the service: larger files than a run's memory, and what another run may see of it.

use crate::harness::{Database, Service, chain};
use serde_json::json;
use std::fmt::Write as _;

/// Bytes of the file; runs have less than a third of it.
const ROWS: usize = 900_000;

async fn larger_than_memory(database: Database) {
    let service = Service::with(database, |config| config.run_memory_bytes_max = 16 << 20).await;
    let ann = service.user("ann").await;
    let mut text = "id,name,total\n".to_owned();
    let mut expected = String::new();
    for row in 0..ROWS {
        let _ = writeln!(text, "{row},\"Lee, \"\"{row}\"\", ü€\",{}", row % 1_000);
        if row % 1_000 > 990 {
            let _ = writeln!(
                expected,
                "{{\"id\":\"{row}\",\"name\":\"Lee, \\\"{row}\\\", ü€\",\"total\":{}}}",
                row % 1_000
            );
        }
    }
    assert!(text.len() > 25 << 20);
    let file = service.uploaded(&ann, "orders.csv", text.as_bytes()).await;
    let graph = chain(&[
        ("start", "OnManual", json!({})),
        (
            "convert",
            "ConvertFile",
            json!({
                "value": "{{ $input.file }}", "to": "jsonLines", "condition": "{{ Number($item.total) > 990 }}",
                "record": "{{ ({ id: $item.id, name: $item.name, total: Number($item.total) }) }}",
            }),
        ),
        ("first", "ConvertFile", json!({"limit": 1})),
        (
            "end",
            "Return",
            json!({"value": "{{ [$nodes.convert, $input] }}"}),
        ),
    ]);
    let deployment = service.deployed(&ann, &graph).await;
    let ended = service
        .execute(&ann, &deployment, "?wait=true", &json!({"file": file}))
        .await;
    let output = ended.data(200)["output"].clone();
    let made = &output[0];
    assert_eq!(
        (&made["name"], &made["type"]),
        (&json!("orders.jsonl"), &json!("application/x-ndjson")),
        "{ended}"
    );
    assert_eq!(
        output[1],
        json!([{"id": "991", "name": "Lee, \"991\", ü€", "total": 991}])
    );
    let (status, content) = service.content(&ann, made).await;
    assert!(
        status == 200 && content == expected.as_bytes(),
        "another file was written"
    );
    // What it may not read fails it.
    let forged = json!({"file": {"$file": "00000000-0000-7000-8000-000000000000", "name": "a.csv"}});
    let refused = service.execute(&ann, &deployment, "?wait=true", &forged).await;
    assert_eq!(refused.data(200)["error"]["code"], "FILE_NOT_FOUND", "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_larger_than_the_runs_memory_is_converted_on_sqlite() {
    larger_than_memory(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_larger_than_the_runs_memory_is_converted_on_postgres() {
    larger_than_memory(Database::Postgres).await;
}
