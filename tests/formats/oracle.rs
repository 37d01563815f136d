//! Well-known libraries on Node.js: installed by npm the first time, asked in a process of `node`.

use crate::{needs, npm};
use serde_json::Value;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// What `oracle.mjs` answers to the cases of a kind. `None` where it can't be had: then the test
/// is skipped.
pub fn ask(kind: &str, cases: &[Value]) -> Option<Vec<Value>> {
    let dir = needs::or_skip("what to compare with", npm::install("formats", "oracle.mjs"))?;
    let mut node = Command::new("node")
        .args(["oracle.mjs", kind])
        .current_dir(dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = node.stdin.take().unwrap();
    let cases_json = Value::from(cases.to_vec()).to_string();
    let writer = std::thread::spawn(move || stdin.write_all(cases_json.as_bytes()));
    let output = node.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    let answers: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answers.len(), cases.len());
    Some(answers)
}

/// A generator of cases; `HEDDLE_SEED` makes them others.
pub fn random(seed: u64) -> fastrand::Rng {
    let other = number("HEDDLE_SEED").unwrap_or(0);
    fastrand::Rng::with_seed(seed.wrapping_add(other.wrapping_mul(1_000)))
}

/// How many cases to generate; `HEDDLE_CASES` multiplies them.
pub fn cases(count: u64) -> std::ops::Range<u64> {
    0..count.saturating_mul(number("HEDDLE_CASES").unwrap_or(1))
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Fails with all differences, of which there may be many with one cause.
pub fn assert_none(differences: &[String]) {
    assert!(
        differences.is_empty(),
        "{} differences:\n{}",
        differences.len(),
        differences.join("\n")
    );
}

/// Whether an answer is an error.
pub fn is_error(answer: &Value) -> bool {
    answer
        .as_object()
        .is_some_and(|it| it.len() == 1 && it.contains_key("error"))
}
