//! Pictures in a run: a smaller one is made in the sandbox, and one of more pixels than there is memory for ends the run.

use crate::harness::{Database, Service, chain};
use serde_json::{Value, json};

/// 32 × 16 pixels that are to be shown turned.
const PHOTO: &[u8] = include_bytes!("../../../node-stdlib/tests/pictures/turned.jpg");
/// A PNG of 9,000 × 9,000 pixels that ends where they begin.
const VAST: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x23\x28\0\0\x23\x28\x08\x06\0\0\0\x6d\xd5\x72\xba\0\0\0\x0aIDAT\x78\x9c\0\0";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_picture_is_made_smaller_and_one_that_is_too_large_ends_the_run() {
    let service = Service::start(Database::Sqlite).await;
    let ann = service.user("ann").await;
    let graph = chain(&[
        ("start", "OnManual", json!({})),
        (
            "small",
            "Image",
            json!({"operation": "convert", "value": "{{ $input.file }}", "width": 8, "format": "png"}),
        ),
        ("look", "Image", json!({})),
        (
            "end",
            "Return",
            json!({"value": "{{ ({ file: $nodes.small, info: $input }) }}"}),
        ),
    ]);
    let deployment = service.deployed(&ann, &graph).await;
    let run = async |name: &str, content: &[u8]| -> Value {
        let event = json!({"file": service.uploaded(&ann, name, content).await});
        let ended = service.execute(&ann, &deployment, "?wait=true", &event).await;
        ended.data(200).clone()
    };
    let made = run("photo.jpg", PHOTO).await;
    let (file, info) = (&made["output"]["file"], &made["output"]["info"]);
    assert_eq!(
        (&file["name"], &file["type"]),
        (&json!("photo.png"), &json!("image/png")),
        "{made}"
    );
    assert_eq!(
        *info,
        json!({"format": "png", "type": "image/png", "width": 8, "height": 16})
    );
    let (status, content) = service.content(&ann, file).await;
    assert_eq!((status, content.get(..8)), (200, Some(&b"\x89PNG\r\n\x1a\n"[..])));
    // It is refused for what its header says, before there is anything to decode.
    let ended = run("vast.png", VAST).await;
    assert_eq!(ended["error"]["code"], "OUT_OF_MEMORY", "{ended}");
}
