//! Asking Node.js, for tests that compare with it. Knows nothing of what is compared.

use serde::de::DeserializeOwned;
use serde_json::Value;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// What `script` prints as JSON when it is given `input` as JSON; its clock is UTC and its language American
/// English. `None`, saying so, where there is no `node`.
pub fn ask<T: DeserializeOwned>(script: &str, input: &Value) -> Option<T> {
    let node = Command::new("node")
        .args(["-e", script])
        .env("TZ", "UTC")
        .env("LANG", "en_US.UTF-8")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut node) = node else {
        eprintln!("skipped: there is no `node` to compare with");
        return None;
    };
    let mut stdin = node.stdin.take().unwrap();
    stdin.write_all(input.to_string().as_bytes()).unwrap();
    drop(stdin);
    let output = node.wait_with_output().unwrap();
    assert!(output.status.success());
    Some(serde_json::from_slice(&output.stdout).unwrap())
}
