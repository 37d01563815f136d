//! What the pages under docs/ point to exists: sources, tests, and other pages with their headings.

use super::{files_under, root, sources};
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

#[test]
fn links_of_pages_lead_somewhere() {
    let mut found = 0;
    for path in files_under(Path::new("docs"), "md") {
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
    assert!(found > 30, "the pages' links were not found");
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
