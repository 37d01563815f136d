//! What SQLite has committed is moved into the database while the server writes on, so that its log does not grow for
//! ever.

use crate::sender::Hook;
use crate::server::Server;
use serde_json::json;
use std::path::Path;

const EVENTS: usize = 600;
const EVENT_BYTES: usize = 200_000;
/// The log begins anew from 32 MiB on; meanwhile more comes.
const LOG_BYTES_MAX: u64 = 80 << 20;

fn bytes(path: &Path) -> u64 {
    path.metadata().map_or(0, |metadata| metadata.len())
}

#[test]
fn the_log_stays_short_under_load_and_is_gone_after_a_stop() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path(), &[]);
    let hook = Hook::doubling(&server);
    let event = json!({"eventData": {"body": {"n": 1}, "text": "x".repeat(EVENT_BYTES)}}).to_string();
    let path = format!("/api/deployments/{}/execute", hook.deployment);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..EVENTS / 4 {
                    let (status, answer) = server.call("POST", &path, &hook.token, &event);
                    assert_eq!(status, 200, "{answer}");
                }
            });
        }
    });
    server.await_ends(&hook.token, &hook.deployment);
    let database = dir.path().join("heddle-data/heddle.db");
    let log = dir.path().join("heddle-data/heddle.db-wal");
    let log_bytes = bytes(&log);
    assert!(log_bytes < LOG_BYTES_MAX, "the log has {} MiB", log_bytes >> 20);
    assert_eq!(server.stop(), Some(0));
    assert_eq!(bytes(&log), 0);
    assert!(bytes(&database) > (EVENTS * EVENT_BYTES) as u64);
}
