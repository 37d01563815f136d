//! ConvertFile in the service: larger files than a run's memory, and what another run may see of it.

use crate::harness::{Database, Service, chain};
use serde_json::json;
use std::fmt::Write as _;

/// Rows of the file, which has more bytes than a run may have, and so have all of them as JSON lines.
const ROWS: usize = 700_000;
/// Makes rows longer, so that fewer are enough.
const NOTE: &str = "to be delivered on a Thursday afternoon";
/// Of a run.
const MEMORY_BYTES: usize = 40 << 20;

/// A row of the file as JSON.
fn all_fields(row: usize) -> String {
    format!(
        "{{\"id\":\"{row}\",\"name\":\"Lee, \\\"{row}\\\", ü€\",\"total\":\"{}\",\"note\":\"{NOTE}\"}}\n",
        row % 1_000
    )
}

async fn larger_than_memory(database: Database) {
    let service = Service::with(database, |config| {
        config.run_memory_bytes_max = MEMORY_BYTES;
        config.run_fuel_max = 100_000_000_000;
    })
    .await;
    let ann = service.user("ann").await;
    let mut text = "id,name,total,note\n".to_owned();
    let mut expected = String::new();
    let (mut line, mut all_bytes) = (String::new(), 0);
    for row in 0..ROWS {
        let _ = writeln!(text, "{row},\"Lee, \"\"{row}\"\", ü€\",{},{NOTE}", row % 1_000);
        line = all_fields(row);
        all_bytes += line.len();
        if row % 1_000 > 990 {
            let _ = writeln!(
                expected,
                "{{\"id\":\"{row}\",\"name\":\"Lee, \\\"{row}\\\", ü€\",\"total\":{}}}",
                row % 1_000
            );
        }
    }
    assert!(text.len() > MEMORY_BYTES + (5 << 20) && all_bytes > MEMORY_BYTES + (5 << 20));
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
    // All records as they are: what is written is larger than the run's memory as well.
    let whole = chain(&[
        ("start", "OnManual", json!({})),
        (
            "convert",
            "ConvertFile",
            json!({"value": "{{ $input.file }}", "to": "jsonLines"}),
        ),
        ("end", "Return", json!({})),
    ]);
    let whole = service.deployed(&ann, &whole).await;
    let ended = service
        .execute(&ann, &whole, "?wait=true", &json!({"file": file}))
        .await;
    let made = &ended.data(200)["output"];
    assert_eq!(made["size"], all_bytes, "{ended}");
    let (status, content) = service.content(&ann, made).await;
    assert_eq!((status, content.len()), (200, all_bytes));
    assert!(content.starts_with(all_fields(0).as_bytes()) && content.ends_with(line.as_bytes()));
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
