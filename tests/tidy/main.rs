//! House rules that a compiler does not check: which crate and which module may know which, and what every file looks
//! like.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod architecture;
mod circles;
mod comments;
mod console;
mod error_codes;
mod limits;
mod manifests;
mod metrics;
mod modules;
mod names;
mod node_types;
mod packaging;
mod pages;
mod pattern_settings;
mod secrets;
mod spawns;

use std::fs;
use std::path::{Path, PathBuf};

/// Lines that a source file may have; tests may have more, being lists of cases. Files beyond it are named in
/// [`LONG_FILES`] with the lines they may have.
const LINES_MAX: usize = 600;
const TEST_LINES_MAX: usize = 1_000;
/// Long files; the numbers should only ever shrink.
const LONG_FILES: &[(&str, usize)] = &[];

/// Words that don't belong into sources, and what to write instead.
const BANNED: &[(&str, &str)] = &[
    ("TODO", "finish it, or open an issue"),
    ("FIXME", "fix it, or open an issue"),
    ("XXX", "say what is meant"),
    ("#[ignore", "delete the test, or make it pass"),
    ("dbg!(", "a log line"),
];

/// The same for tests only.
const BANNED_IN_TESTS: &[(&str, &str)] = &[
    ("::sleep(", "wait for what is meant"),
    ("skipped:", "tests/shared/needs.rs"),
    ("SKIPPED:", "tests/shared/needs.rs"),
];

/// Names of types that said nothing to whoever had not written them; the glossary of ARCHITECTURE.md has the field's words.
const BANNED_TYPES: &[&str] = &[
    "Heed",
    "Insist",
    "Looked",
    "Mistake",
    "Nudge",
    "Seat",
    "Shelf",
    "Surroundings",
    "Told",
    "Took",
    "Whose",
    "Wishes",
];

#[test]
fn types_have_names_that_others_know() {
    for (path, text) in sources() {
        for (number, line) in text.lines().enumerate() {
            let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
            for pair in words.windows(2) {
                let defines = matches!(pair[0], "struct" | "enum" | "trait" | "type");
                assert!(
                    !defines || !BANNED_TYPES.contains(&pair[1]),
                    "{path}:{}: `{}`: call it what the field calls it",
                    number + 1,
                    pair[1]
                );
            }
        }
    }
}

/// What a request computes for long is computed in the turn of whoever asks, so that others' requests don't wait for it.
#[test]
fn requests_compute_in_somebodys_turn() {
    // Work that waits more than it computes, with a bound of its own.
    let allowed = ["api/src/http/webhooks/whole.rs"];
    for (path, text) in sources() {
        let is_of_requests = path.starts_with("api/src/http/") && !allowed.contains(&path.as_str());
        // Not `spawn_blocking` and the like.
        let is_call = |at: usize| !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let calls = text.match_indices("blocking(").any(|(at, _)| is_call(at));
        assert!(
            !is_of_requests || !calls,
            "{path}: use `computing`, which says for whom"
        );
    }
}

/// Whoever asks the store for somebody's objects proves a right to them, which the statement has to use.
#[test]
fn rights_are_used_where_they_are_taken() {
    let rights = ["Administrator", "Editor", "Manager", "Runner", "Scope"];
    let mut found = 0;
    for (path, text) in sources()
        .iter()
        .filter(|(path, _)| path.starts_with("api/store/src/"))
    {
        for (number, line) in text.lines().enumerate() {
            for right in rights {
                let Some((before, after)) = line.split_once(&format!(": &{right}")) else {
                    continue;
                };
                if after.starts_with(|c: char| c.is_alphanumeric()) {
                    continue;
                }
                found += 1;
                let name = before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next();
                assert!(
                    name.is_some_and(|name| !name.starts_with('_')),
                    "{path}:{}: use the {right} in the statement: {line}",
                    number + 1
                );
            }
        }
    }
    assert!(found > 100, "the store's functions were not found: {found}");
}

#[test]
fn every_source_file_opens_with_its_purpose() {
    for (path, text) in sources() {
        assert!(
            text.starts_with("//! "),
            "{path} should begin with //! and its purpose"
        );
    }
}

#[test]
fn source_files_stay_of_a_readable_size() {
    for (path, text) in sources() {
        let lines = text.lines().count();
        let usual = if is_test(&path) { TEST_LINES_MAX } else { LINES_MAX };
        let lines_max = LONG_FILES
            .iter()
            .find(|(long, _)| *long == path)
            .map_or(usual, |(_, lines)| *lines);
        assert!(
            lines <= lines_max,
            "{path} has {lines} lines, more than {lines_max}: which part could stand alone?"
        );
    }
}

#[test]
fn banned_words_stay_out() {
    for (path, text) in sources()
        .into_iter()
        .filter(|(path, _)| path != "tests/tidy/main.rs")
    {
        for (number, line) in text.lines().enumerate() {
            let for_tests = if is_test(&path) { BANNED_IN_TESTS } else { &[] };
            for (word, instead) in BANNED.iter().chain(for_tests) {
                assert!(!line.contains(word), "{path}:{}: `{word}`: {instead}", number + 1);
            }
        }
    }
}

#[test]
fn lints_are_silenced_with_a_reason() {
    for (path, text) in sources()
        .into_iter()
        .filter(|(path, _)| path != "tests/tidy/main.rs")
    {
        for (number, line) in text.lines().enumerate() {
            // `expect` without a reason is a lint of its own.
            let bare =
                (line.contains("#[allow(") || line.contains("#![allow(")) && !line.contains("reason = ");
            assert!(!bare, "{path}:{}: #[expect(…, reason = \"…\")]", number + 1);
        }
    }
}

#[test]
fn user_facing_texts_do_not_point_outside_the_repository() {
    let texts = files_under(Path::new(""), "md")
        .into_iter()
        .chain(files_under(Path::new(""), "json"));
    for path in texts {
        let text = fs::read_to_string(root().join(&path)).unwrap();
        for outside in ["../shared", "/work/"] {
            assert!(!text.contains(outside), "{} mentions {outside}", path.display());
        }
    }
}

fn is_test(path: &str) -> bool {
    path.starts_with("tests/") || path.contains("/tests/")
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Generated code, which has no purpose of its own, and what others have written.
const NOT_OURS: &[&str] = &["console/artifact", "vendor"];

/// All Rust sources of the repository: path from its root, and text.
fn sources() -> Vec<(String, String)> {
    let found: Vec<_> = files_under(Path::new(""), "rs")
        .into_iter()
        .filter(|path| !NOT_OURS.iter().any(|folder| path.starts_with(folder)))
        .map(|path| {
            (
                path.display().to_string(),
                fs::read_to_string(root().join(&path)).unwrap(),
            )
        })
        .collect();
    assert!(found.len() > 30, "the sources were not found");
    found
}

fn files_under(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join(dir)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name();
        let path = dir.join(&name);
        let hidden = name.to_string_lossy().starts_with('.');
        if entry.file_type().unwrap().is_dir() {
            if !hidden && name != "target" && name != "node_modules" {
                found.extend(files_under(&path, extension));
            }
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}
