//! What heddle is installed by: every setting that it names exists.

use super::root;
use heddle_api::config::table::SETTINGS;
use std::fs;
use std::path::{Path, PathBuf};

/// All files in a directory and below.
fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let found = entries.map(|path| if path.is_dir() { files(&path) } else { vec![path] });
    found.flatten().collect()
}

#[test]
fn settings_that_packaging_names_exist() {
    let mut found = 0;
    for path in files(&root().join("packaging")) {
        let text = fs::read_to_string(&path).unwrap();
        for rest in text.split("HEDDLE_").skip(1) {
            let is_of_name = |c: char| c.is_ascii_uppercase() || c == '_';
            let name = rest.split(|c| !is_of_name(c)).next().unwrap().to_lowercase();
            // Such as the variables of Kubernetes, and the beginning of all names.
            if name.is_empty() || name == "port" {
                continue;
            }
            found += 1;
            let is_known = SETTINGS.iter().any(|setting| {
                let in_file = name.strip_suffix("_file");
                setting.name == name || (setting.is_secret && in_file == Some(setting.name))
            });
            assert!(
                is_known,
                "{} names HEDDLE_{}",
                path.display(),
                name.to_uppercase()
            );
        }
    }
    assert!(found > 10, "the settings were not found");
}
