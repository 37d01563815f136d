//! What pages point to exists: sources and tests, and other pages with their headings.

use super::{NOT_OURS, files_under, root, sources};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The folders whose files pages name by their path.
const FOLDERS: &[&str] = &[
    "api/",
    "compiler/",
    "fuzz/",
    "javascript/",
    "node-stdlib/",
    "runtime/",
    "tests/",
];
/// Shorter names in code style are settings, fields or functions of a language.
const WORDS_OF_A_TEST_MIN: usize = 4;
/// What is between the name of a file and that of a test in it.
const BEHIND_A_FILE: &str = ".rs` (`";

#[test]
fn files_that_pages_name_exist() {
    let mut found = 0;
    for (page, name) in code_of_pages() {
        let is_path = FOLDERS.iter().any(|folder| name.starts_with(folder)) && !name.contains([' ', '<']);
        if is_path {
            found += 1;
            assert!(
                root().join(&name).exists(),
                "{page} names {name}, which does not exist"
            );
        }
    }
    assert!(found > 30, "the pages' paths were not found");
}

#[test]
fn tests_that_the_page_on_security_names_exist() {
    let sources = sources();
    let mut found = 0;
    for (_, name) in code_of_pages()
        .into_iter()
        .filter(|(page, _)| page == "docs/security.md")
    {
        let function = name.rsplit("::").next().unwrap();
        let is_name = function
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        if is_name && function.split('_').filter(|word| !word.is_empty()).count() >= WORDS_OF_A_TEST_MIN {
            found += 1;
            let definition = format!("fn {function}(");
            let is_there = sources.iter().any(|(_, text)| text.contains(&definition));
            assert!(
                is_there,
                "docs/security.md names the test {name}, which does not exist"
            );
        }
    }
    assert!(found > 30, "the page's tests were not found");
}

/// By `http: ` and the like in the table of published attacks, and in brackets behind a file.
#[test]
fn tests_are_where_the_page_on_security_says() {
    let page = fs::read_to_string(root().join("docs/security.md")).unwrap();
    let sources = sources();
    let is_there = |place: &str, function: &str| {
        let definition = format!("fn {function}(");
        let mut files = sources.iter().filter(|(path, _)| path.starts_with(place));
        files.any(|(_, text)| text.contains(&definition))
    };
    let mut named: Vec<(String, &str)> = Vec::new();
    let rows = page.lines().skip_while(|line| !line.starts_with("| advisory |"));
    for row in rows.skip(2).take_while(|line| line.starts_with('|')) {
        let cell = row.trim_matches('|').rsplit(" | ").next().unwrap();
        for part in cell.split("; ") {
            let Some((kind, names)) = part.trim().split_once(": ") else {
                continue;
            };
            for name in names.split('`').skip(1).step_by(2) {
                named.push(match (kind, name.split_once("::")) {
                    ("http", Some((module, function))) => {
                        (format!("tests/http/published_attacks/{module}.rs"), function)
                    }
                    ("sandbox", None) => ("tests/sandbox/published_attacks".to_owned(), name),
                    ("engine", None) => ("javascript/tests/attacks.rs".to_owned(), name),
                    _ => panic!("which tests are {part}?"),
                });
            }
        }
    }
    assert!(named.len() > 30, "the table's tests were not found: {named:?}");
    for (at, _) in page.match_indices(BEHIND_A_FILE) {
        let file = page[..at].rsplit('`').next().unwrap();
        let function = page[at + BEHIND_A_FILE.len()..].split('`').next().unwrap();
        named.push((format!("{file}.rs"), function));
    }
    for (place, function) in named {
        assert!(
            is_there(&place, function),
            "docs/security.md: {function} is not in {place}"
        );
    }
}

#[test]
fn the_page_on_fuzzing_has_every_target() {
    let text = |path: &str| fs::read_to_string(root().join(path)).unwrap();
    let targets: BTreeSet<String> = ["fuzz/src/targets/mod.rs", "fuzz/src/built/mod.rs"]
        .into_iter()
        .flat_map(|path| {
            let text = text(path);
            let named = text.lines().filter_map(|line| line.trim().strip_prefix("(\""));
            let names = named.filter_map(|rest| rest.split('"').next());
            names.map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
    assert!(targets.len() > 20, "the targets were not found: {targets:?}");
    let page = text("fuzz/README.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let described = rows.filter_map(|rest| rest.split('`').next());
    assert_eq!(described.map(str::to_owned).collect::<BTreeSet<_>>(), targets);
}

/// The table of what is parsed in docs/security.md: each row says what tries it, and its fuzz targets are there.
#[test]
fn whatever_is_parsed_is_tried_by_something() {
    let page = fs::read_to_string(root().join("docs/security.md")).unwrap();
    let mut fuzzed = BTreeSet::new();
    let mut rows = page
        .lines()
        .skip_while(|line| *line != "| what | limits | where | tried by |")
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .peekable();
    assert!(rows.peek().is_some(), "the table was not found");
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        let [_, _, _, tried] = cells.as_slice() else {
            panic!("four cells: {row}");
        };
        assert!(tried.contains('`'), "what tries it? {row}");
        if let Some(targets) = tried.trim().strip_prefix("fuzz: ") {
            let targets = targets.split(';').next().unwrap();
            for target in targets.split(", ").map(|target| target.trim().trim_matches('`')) {
                let is_there = ["targets", "built"]
                    .iter()
                    .any(|folder| root().join(format!("fuzz/src/{folder}/{target}.rs")).exists());
                assert!(is_there, "there is no fuzz target {target}: {row}");
                fuzzed.insert(target.to_owned());
            }
        }
    }
    assert!(fuzzed.len() > 15, "the targets were not found: {fuzzed:?}");
}

/// Whether a part of a path stands for any.
fn is_any(part: &str) -> bool {
    part.starts_with([':', '{', '$', '<', '…'])
}

/// In code style, such as `POST /api/patterns/:id/deploy`: what is behind a question mark, and what stands for an id, is not looked at.
#[test]
fn operations_that_pages_name_exist() {
    let document = fs::read_to_string(root().join("console/openapi.json")).unwrap();
    let document: Value = serde_json::from_str(&document).unwrap();
    let paths = document["paths"].as_object().unwrap();
    let is_there = |method: &str, path: &str| {
        let wanted: Vec<&str> = path.split('/').collect();
        paths.iter().any(|(known, operations)| {
            let known: Vec<&str> = known.split('/').collect();
            let mut both = known.iter().zip(&wanted);
            known.len() == wanted.len()
                && both.all(|(known, wanted)| known == wanted || is_any(known) || is_any(wanted))
                && operations.get(method).is_some()
        })
    };
    let mut found = 0;
    for (page, code) in code_of_pages() {
        let mut words = code.split_whitespace();
        let (Some(method), Some(path)) = (words.next(), words.next()) else {
            continue;
        };
        let is_method = ["GET", "POST", "PUT", "PATCH", "DELETE"].contains(&method);
        // The reference of nodes has other services'.
        if page == "docs/nodes.md"
            || !is_method
            || !["/api/", "/operator/"].iter().any(|of| path.starts_with(of))
        {
            continue;
        }
        found += 1;
        let path = path.split('?').next().unwrap().trim_end_matches('/');
        let method = method.to_ascii_lowercase();
        assert!(
            is_there(&method, path),
            "{page} names {code}, which does not exist"
        );
    }
    assert!(found > 60, "the pages' operations were not found: {found}");
}

#[test]
fn links_of_pages_lead_somewhere() {
    let mut found = 0;
    let pages = files_under(Path::new(""), "md");
    for path in pages
        .into_iter()
        .filter(|path| !NOT_OURS.iter().any(|folder| path.starts_with(folder)))
    {
        let text = fs::read_to_string(root().join(&path)).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") {
                continue;
            }
            found += 1;
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => root().join(&path),
                file => root().join(path.parent().unwrap()).join(file),
            };
            assert!(
                target.exists(),
                "{} links to {link}, which does not exist",
                path.display()
            );
            let leads =
                heading.is_empty() || headings(&fs::read_to_string(&target).unwrap()).any(|it| it == heading);
            assert!(
                leads,
                "{} links to {link}, which has no such heading",
                path.display()
            );
        }
    }
    assert!(found > 300, "the pages' links were not found: {found}");
}

/// The anchors that a page's headings get.
fn headings(text: &str) -> impl Iterator<Item = String> {
    text.lines().filter(|line| line.starts_with('#')).map(|line| {
        let words = line.trim_start_matches('#').trim().to_lowercase();
        let kept = words
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}

/// What stands between single backticks: page and text.
fn code_of_pages() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for path in files_under(Path::new("docs"), "md") {
        let text = fs::read_to_string(root().join(&path)).unwrap();
        for (index, part) in text.split("```").enumerate() {
            // The others are blocks of code.
            if index % 2 == 0 {
                let code = part.split('`').skip(1).step_by(2);
                found.extend(code.map(|code| (path.display().to_string(), code.to_owned())));
            }
        }
    }
    found
}
