//! Asking Node.js, for tests that compare with it. Knows nothing of what is compared.

use crate::needs;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// What `script` prints as JSON when it is given `input` as JSON; its clock is UTC and its language American
/// English. `None` where there is no `node`: then the test is skipped.
pub fn ask<T: DeserializeOwned>(script: &str, input: &Value) -> Option<T> {
    let node = Command::new("node")
        .args(["-e", script])
        .env("TZ", "UTC")
        .env("LANG", "en_US.UTF-8")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut node = needs::or_skip("Node.js", node)?;
    let mut stdin = node.stdin.take().unwrap();
    stdin.write_all(input.to_string().as_bytes()).unwrap();
    drop(stdin);
    let output = node.wait_with_output().unwrap();
    assert!(output.status.success());
    Some(serde_json::from_slice(&output.stdout).unwrap())
}
