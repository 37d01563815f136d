//! The hash of all that a checked-in artifact is built from.

use std::path::Path;
use std::process::Command;

/// As `.ci/artifact-inputs` prints it, which the build scripts write beside the artifact. `repository` is its root.
pub fn hash(repository: &Path, artifact: &str) -> String {
    let output = Command::new(repository.join(".ci/artifact-inputs"))
        .arg(artifact)
        .output()
        .unwrap_or_else(|error| panic!(".ci/artifact-inputs needs Python 3.11 or later: {error}"));
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
