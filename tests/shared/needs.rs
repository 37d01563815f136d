//! What tests need of the machine besides Rust. What is missing fails in CI; elsewhere the test is skipped, and
//! `tests/run` ends with a list of these. Knows nothing of what is needed.

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write as _;

/// Where skipped tests are written down, one a line. `tests/run` reads it.
const SKIPPED_TESTS: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/skipped.txt");
/// The same for [`CI_LACKS`].
const EXCEPTED_TESTS: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/exceptions.txt");

/// What CI has to do without, since neither Debian nor npm nor PyPI has it. CI's summary says so.
const CI_LACKS: &[&str] = &["pwsh"];

/// What was found of a part that the calling test needs. `None` if it is missing: then the test returns.
///
/// # Panics
/// If it is missing and the environment has `CI`.
pub fn or_skip<T>(part: &str, found: Result<T, impl Display>) -> Option<T> {
    let reason = match found {
        Ok(found) => return Some(found),
        Err(reason) => reason.to_string(),
    };
    let ci_lacks_it = CI_LACKS.contains(&part);
    let is_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
    assert!(
        !is_ci || ci_lacks_it,
        "{part} is missing, and CI skips nothing: {reason}"
    );
    let list = if ci_lacks_it {
        EXCEPTED_TESTS
    } else {
        SKIPPED_TESTS
    };
    write_down(list, part, &reason);
    None
}

/// Adds a line in one write, since tests run at the same time.
fn write_down(path: &str, part: &str, reason: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let reason = reason.replace('\n', " ");
    let line = format!(
        "{}: {test}: {part} is missing: {reason}\n",
        env!("CARGO_CRATE_NAME")
    );
    let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(line.as_bytes()).unwrap();
    eprint!("{line}");
}
