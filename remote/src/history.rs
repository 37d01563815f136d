//! Whether git has had a document or a test before: then what the server has is an earlier state of these files, not somebody else's work.
//! So it is in CI, which pushes each commit and keeps no lock of its own.

use crate::case;
use crate::directory::{Directory, FILE_BYTES_MAX};
use crate::document::{self, Document};
use crate::files;
use serde_json::Value;
use std::io::Read;
use std::process::{Command, Stdio};

/// Commits that are looked at, the newest first.
const COMMITS_MAX: usize = 100;

/// Whether a commit of these files' history has a document of this digest in this pattern's directory. Without git, no.
pub fn has_had(directory: &Directory, name: &str, digest: &str) -> bool {
    let folder = format!("patterns/{name}");
    let count = format!("--max-count={COMMITS_MAX}");
    let Some(log) = git(directory, &["rev-list", &count, "HEAD", "--", &folder]) else {
        return false;
    };
    let log = String::from_utf8_lossy(&log).into_owned();
    log.lines().any(|commit| {
        let document = files::document_of(|path| {
            let object = format!("{commit}:./{folder}/{path}");
            // What a commit does not have counts as no file, whatever the reason.
            Ok::<_, String>(git(directory, &["cat-file", "blob", &object]))
        });
        document.as_ref().map(Document::digest).as_deref() == Ok(digest)
    })
}

/// The case of this digest that a commit of a test's history has in its file. Without git, none.
pub fn case(directory: &Directory, name: &str, file: &str, digest: &str) -> Option<Value> {
    let path = format!("patterns/{name}/tests/{file}.json");
    earlier(directory, &path, |value| {
        let found = case::tidy(&value)?;
        (document::digest(&found) == digest).then_some(found)
    })
}

/// The newest state of a file that `wanted` takes, of those that commits of its history have. Without git, none.
pub fn earlier(directory: &Directory, path: &str, wanted: impl Fn(Value) -> Option<Value>) -> Option<Value> {
    let count = format!("--max-count={COMMITS_MAX}");
    let log = git(directory, &["rev-list", &count, "HEAD", "--", path])?;
    let log = String::from_utf8_lossy(&log).into_owned();
    log.lines().find_map(|commit| {
        let bytes = git(directory, &["cat-file", "blob", &format!("{commit}:./{path}")])?;
        wanted(serde_json::from_slice(&bytes).ok()?)
    })
}

/// What git says, of no more than a file may have. A directory may have come with settings of a stranger's for git, which name programs:
/// `log` executes one for signatures, so commits are listed by `rev-list`, and nothing is fetched.
fn git(directory: &Directory, arguments: &[&str]) -> Option<Vec<u8>> {
    let mut command = Command::new("git");
    command.arg("-C").arg(directory.root());
    command
        .args(["--no-pager", "-c", "core.fsmonitor=false"])
        .args(arguments);
    command
        .env("GIT_ALLOW_PROTOCOL", "none")
        .env("GIT_NO_LAZY_FETCH", "1");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let mut said = Vec::new();
    let read = child
        .stdout
        .take()
        .map(|out| out.take(FILE_BYTES_MAX + 1).read_to_end(&mut said));
    let is_whole = matches!(read, Some(Ok(_))) && said.len() as u64 <= FILE_BYTES_MAX;
    if !is_whole {
        // It ends by itself otherwise, once nobody reads what it says.
        let _ = child.kill();
    }
    let status = child.wait().ok()?;
    (is_whole && status.success()).then_some(said)
}
