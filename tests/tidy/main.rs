//! House rules that a compiler does not check: which crate may know which, and what every file looks like.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod modules;

use std::fs;
use std::path::{Path, PathBuf};

/// Lines that a source file may have; tests may have more, being lists of cases. Files beyond it are named in
/// [`LONG_FILES`] with the lines they may have.
const LINES_MAX: usize = 600;
const TEST_LINES_MAX: usize = 1_000;
/// Long files; the numbers should only ever shrink.
const LONG_FILES: &[(&str, usize)] = &[];

/// Which of our crates each one may depend on.
const ARROWS: &[(&str, &[&str])] = &[
    ("javascript", &[]),
    ("javascript/engine", &["heddle-javascript"]),
    ("node-stdlib", &["heddle-javascript"]),
    ("compiler", &["heddle-node-stdlib"]),
    (
        "runtime",
        &["heddle-javascript", "heddle-node-stdlib", "heddle-processes"],
    ),
    ("processes", &[]),
    ("api/model", &[]),
    ("api/store", &["heddle-model"]),
    (
        "api/execution",
        &[
            "heddle-compiler",
            "heddle-model",
            "heddle-node-stdlib",
            "heddle-processes",
            "heddle-runtime",
            "heddle-store",
        ],
    ),
    (
        "api/service",
        &[
            "heddle-compiler",
            "heddle-execution",
            "heddle-model",
            "heddle-runtime",
            "heddle-store",
        ],
    ),
    (
        "api",
        &[
            "heddle-compiler",
            "heddle-execution",
            "heddle-model",
            "heddle-node-stdlib",
            "heddle-runtime",
            "heddle-service",
            "heddle-store",
        ],
    ),
];

/// Crates that must stay out of a crate, because it is pure or because its job is another.
const KEPT_OUT: &[(&str, &[&str])] = &[
    (
        "node-stdlib",
        &["tokio", "wasmtime", "reqwest", "getrandom", "rand", "chrono"],
    ),
    (
        "compiler",
        &["tokio", "wasmtime", "reqwest", "rand", "axum", "sqlx"],
    ),
    ("runtime", &["axum", "clap"]),
    ("api/model", &["tokio", "axum", "wasmtime", "reqwest", "hyper"]),
    ("api/store", &["axum", "http", "wasmtime", "reqwest", "hyper"]),
    ("api/execution", &["axum", "http", "sqlx", "clap", "hyper"]),
    ("api/service", &["axum", "sqlx", "clap", "hyper"]),
    ("api", &["sqlx", "wasmtime"]),
    (
        "processes",
        &["wasmtime", "sqlx", "axum", "reqwest", "serde_json"],
    ),
];

/// Words that don't belong into sources, and what to write instead.
const BANNED: &[(&str, &str)] = &[
    ("TODO", "finish it, or open an issue"),
    ("FIXME", "fix it, or open an issue"),
    ("XXX", "say what is meant"),
    ("#[ignore", "delete the test, or make it pass"),
    ("dbg!(", "a log line"),
];

/// The same for tests only.
const BANNED_IN_TESTS: &[(&str, &str)] = &[("::sleep(", "wait for what is meant")];

#[test]
fn crates_depend_only_along_the_arrows() {
    for (crate_name, allowed) in ARROWS {
        for dependency in dependencies(crate_name, "dependencies") {
            let ours = dependency.starts_with("heddle");
            assert!(
                !ours || allowed.contains(&dependency.as_str()),
                "{crate_name} must not depend on {dependency}"
            );
        }
    }
}

#[test]
fn pure_crates_stay_pure() {
    for (crate_name, kept_out) in KEPT_OUT {
        for dependency in dependencies(crate_name, "dependencies") {
            assert!(
                !kept_out.contains(&dependency.as_str()),
                "{crate_name} must not depend on {dependency}"
            );
        }
    }
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

/// Names in the sections of a Cargo.toml that are `section` or end in `.section`.
fn dependencies(crate_name: &str, section: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(crate_name).join("Cargo.toml")).unwrap();
    let mut inside = false;
    let mut names = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            let header = header.trim_end_matches(']');
            inside = header == section || header.ends_with(&format!(".{section}"));
        } else if inside
            && let Some((name, _)) = line.split_once(['=', '.']).filter(|_| !line.starts_with('#'))
        {
            names.push(name.trim().to_owned());
        }
    }
    names
}

/// All Rust sources of the repository: path from its root, and text.
fn sources() -> Vec<(String, String)> {
    let found: Vec<_> = files_under(Path::new(""), "rs")
        .into_iter()
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
