//! Modules of a crate import each other in one direction only. Held for the crates of [`CRATES`], whose top-level modules
//! name each other as `crate::module`.

use super::{files_under, root};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Sources of the crates that are held to it.
const CRATES: &[&str] = &["api/execution/src"];

type Imports = BTreeMap<String, BTreeSet<String>>;

#[test]
fn modules_form_no_circle() {
    for sources in CRATES {
        let mut imports = imports(sources);
        assert!(imports.len() > 10, "the modules of {sources} were not found");
        // What imports nothing that is left can't be in a circle.
        loop {
            let left: BTreeSet<String> = imports.keys().cloned().collect();
            imports.retain(|_, of| of.iter().any(|it| left.contains(it)));
            if imports.len() == left.len() {
                break;
            }
        }
        assert!(
            imports.is_empty(),
            "in {sources} some of these import each other in a circle: {imports:?}"
        );
    }
}

/// What each top-level module imports of the others.
fn imports(sources: &str) -> Imports {
    let mut imports = Imports::new();
    for path in files_under(Path::new(sources), "rs") {
        let inside = path.strip_prefix(sources).unwrap();
        let first = inside.iter().next().unwrap().to_str().unwrap();
        let module = first.trim_end_matches(".rs").to_owned();
        if module == "lib" {
            continue;
        }
        let text = fs::read_to_string(root().join(&path)).unwrap();
        let of = imports.entry(module.clone()).or_default();
        for after in text.split("crate::").skip(1) {
            let name: String = after
                .chars()
                .take_while(|it| it.is_alphanumeric() || *it == '_')
                .collect();
            assert!(
                name.starts_with(|it: char| it.is_lowercase()),
                "{}: `crate::{name}…` should name the module that it is from",
                path.display()
            );
            if name != module {
                of.insert(name);
            }
        }
        assert!(
            inside.iter().count() > 1 || !text.contains("use super::") || text.contains("#[cfg(test)]"),
            "{}: name other modules as crate::module",
            path.display()
        );
    }
    imports
}
