//! Files that runs hold by reference: the API, who may read what, how they come in and go out, and what is left of them.

mod api;
mod bucket;
mod convert;
mod moments;
mod passing;
mod pictures;
mod protocol;
mod rights;
mod webhooks;

use crate::harness::{Service, User};
use serde_json::{Value, json};

impl Service {
    /// Uploads a file; its value.
    pub async fn uploaded(&self, user: &User, name: &str, content: &[u8]) -> Value {
        let request = self.post(&format!("/api/files?name={name}")).bearer(&user.token);
        let request = request.header("content-type", "text/plain");
        request.body(content.to_vec()).send().await.data(201).clone()
    }

    /// Waits until nothing is left of what was refused, which is removed once the sender has been told.
    pub async fn has_no_files(&self, user: &User) {
        let mut left = Value::Null;
        for _ in 0..1_000 {
            left = self.get("/api/files").bearer(&user.token).send().await.body["data"].clone();
            if left == json!([]) {
                return;
            }
            tokio::task::yield_now().await;
        }
        panic!("these are left: {left}");
    }

    /// What a file holds, and the status of asking.
    pub async fn content(&self, user: &User, file: &Value) -> (u16, Vec<u8>) {
        let id = file["$file"].as_str().unwrap();
        let request = self.get(&format!("/api/files/{id}")).bearer(&user.token);
        let answer = request.begin().await;
        (answer.status().as_u16(), answer.bytes().await.unwrap().to_vec())
    }
}

/// Bytes without a pattern that a chunk's length would have.
fn bytes(count: usize) -> Vec<u8> {
    // A prime number of bytes, over and over: no two pieces of a file are the same, and each byte of many is not computed.
    let part: Vec<u8> = (0..count.min(1_000_003) as u64)
        .map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8)
        .collect();
    let mut bytes = part.repeat(count.div_ceil(part.len().max(1)));
    bytes.truncate(count);
    bytes
}

/// A pattern that reads the file `file` of its event as text.
fn reading() -> Value {
    crate::harness::chain(&[
        ("start", "OnManual", json!({})),
        ("read", "File", json!({"file": "{{ $input.file }}"})),
        ("end", "Return", json!({})),
    ])
}
