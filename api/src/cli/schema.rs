//! `heddle schema`: the schema of files with patterns, and where editors find it in a workspace's directory.

use super::failure::{Exit, Failure};
use super::output;
use crate::pattern_schema::pattern_schema;
use heddle_remote::directory::Directory;
use serde_json::json;
use std::fs;
use std::io::Write;
use std::process::ExitCode;

/// Prints the schema.
pub fn schema() -> Result<ExitCode, Failure> {
    output::result(&format!("{:#}", pattern_schema()))?;
    Ok(ExitCode::SUCCESS)
}

/// Keeps the schema in the directory, that of this program.
pub fn keep(directory: &Directory) {
    directory.keep_own("pattern.schema.json", &format!("{:#}\n", pattern_schema()));
}

/// Has Visual Studio Code use it, unless it has settings here already.
pub fn set_up_editor(directory: &Directory) -> Result<(), Failure> {
    let folder = directory.root().join(".vscode");
    let path = folder.join("settings.json");
    if path.exists() {
        return Ok(());
    }
    let settings = json!({
        "json.schemas": [
            {"fileMatch": ["/patterns/*/pattern.json"], "url": "./.heddle/pattern.schema.json"},
        ],
    });
    // Not through a link to a file that is not there.
    let created = fs::create_dir_all(&folder).and_then(|()| fs::File::create_new(&path));
    let written = created.and_then(|mut file| file.write_all(format!("{settings:#}\n").as_bytes()));
    written.map_err(|error| {
        Failure::new(
            Exit::File,
            "FILE",
            format!("cannot write {}: {error}", path.display()),
        )
    })
}
