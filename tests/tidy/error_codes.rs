//! docs/errors.md has every error code that the sources give, and no other.

use super::{root, sources};
use std::collections::BTreeSet;
use std::fs;

/// Of runs: what stands for all `HTTP_<status>`, and what the API's codes have as well.
const OF_RUNS_TOO: &[&str] = &[
    "HTTP_404",
    "MODULE_CHANGED",
    "QUOTA_EXCEEDED",
    "WORKSPACE_QUOTA_EXCEEDED",
];

type Codes = BTreeSet<String>;

#[test]
fn the_page_has_the_codes_of_graphs() {
    let mut codes = Codes::new();
    for text in sources_of("compiler/src/") {
        for before in ["Diagnostic::error(", "Diagnostic::warning(", "problem(", "code: "] {
            codes.extend(literals_behind(&text, before));
        }
        // Those that are handed on by name.
        codes.extend(
            text.split('"')
                .filter(|word| is_hyphenated(word))
                .map(str::to_owned),
        );
    }
    assert_eq!(codes_of_section("Of a graph"), codes);
}

#[test]
fn the_page_has_the_codes_of_runs() {
    let contract = read("node-stdlib/contract/src/abi.rs");
    let (_, contract) = contract.split_once("pub mod code {").unwrap();
    let mut codes: Codes = constants(contract).collect();
    for text in sources_of("runtime/") {
        codes.extend(constants(&text));
    }
    codes.extend(OF_RUNS_TOO.iter().map(|code| (*code).to_owned()));
    assert_eq!(codes_of_section("Of a run"), codes);
}

#[test]
fn the_page_has_the_codes_of_tests() {
    let codes: Codes = sources_of("api/service/src/test_cases")
        .iter()
        .flat_map(|text| literals_behind(text, "CaseError::new("))
        .collect();
    assert_eq!(codes_of_section("Of a test"), codes);
}

#[test]
fn the_page_has_the_codes_of_the_api_with_their_status() {
    let declared = read("api/model/src/error.rs");
    let (_, declared) = declared.split_once("codes! {\n").unwrap();
    let (declared, _) = declared.split_once("\n}\n").unwrap();
    let names = declared.lines().filter_map(|line| line.split_once(" = \""));
    let variants: Vec<(&str, &str)> = names
        .map(|(variant, rest)| (variant.trim(), rest.split('"').next().unwrap()))
        .collect();
    assert!(variants.len() > 30, "the codes were not found");
    let statuses = read("api/src/http/error.rs");
    let (_, statuses) = statuses.split_once("match code {").unwrap();
    let expected: BTreeSet<(String, u16)> = variants
        .iter()
        .map(|(variant, name)| ((*name).to_owned(), status(statuses, variant)))
        .collect();
    let page = section("Of the API");
    let told = rows(&page).flat_map(|row| {
        let status: u16 = row.split('|').nth(2).unwrap().trim().parse().unwrap();
        codes_of_row(row).map(move |code| (code, status))
    });
    assert_eq!(told.collect::<BTreeSet<_>>(), expected);
}

#[test]
fn the_page_has_the_codes_of_the_command_line() {
    let mut codes = Codes::new();
    for text in sources_of("api/src/cli") {
        for exit in ["Failed", "Usage", "Invalid", "File", "Unusable"] {
            codes.extend(literals_behind(&text, &format!("Exit::{exit},")));
        }
        codes.extend(literals_behind(&text, "code: "));
    }
    assert_eq!(codes_of_section("Of the command line"), codes);
}

/// The number that a variant's arm in the interface's `match` gives it.
fn status(arms: &str, variant: &str) -> u16 {
    let name = format!("Code::{variant}");
    let place = arms
        .match_indices(&name)
        .map(|(at, _)| &arms[at + name.len()..])
        .find(|rest| !rest.starts_with(char::is_alphanumeric))
        .unwrap_or_else(|| panic!("{variant} has no status"));
    let (_, constant) = place.split_once("StatusCode::").unwrap();
    let constant = constant
        .split(|c: char| !c.is_ascii_uppercase() && c != '_')
        .next()
        .unwrap();
    match constant {
        "BAD_REQUEST" => 400,
        "UNAUTHORIZED" => 401,
        "FORBIDDEN" => 403,
        "NOT_FOUND" => 404,
        "METHOD_NOT_ALLOWED" => 405,
        "REQUEST_TIMEOUT" => 408,
        "CONFLICT" => 409,
        "GONE" => 410,
        "PAYLOAD_TOO_LARGE" => 413,
        "UNSUPPORTED_MEDIA_TYPE" => 415,
        "TOO_MANY_REQUESTS" => 429,
        "INTERNAL_SERVER_ERROR" => 500,
        "SERVICE_UNAVAILABLE" => 503,
        "GATEWAY_TIMEOUT" => 504,
        other => panic!("which number is {other}?"),
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

fn sources_of(folder: &str) -> Vec<String> {
    let found: Vec<String> = sources()
        .into_iter()
        .filter(|(path, _)| path.starts_with(folder))
        .map(|(_, text)| text)
        .collect();
    assert!(!found.is_empty(), "{folder} was not found");
    found
}

/// Texts in quotes that stand right behind such a piece of source.
fn literals_behind(text: &str, before: &str) -> Vec<String> {
    let literal = |rest: &str| Some(rest.trim_start().strip_prefix('"')?.split_once('"')?.0.to_owned());
    text.split(before)
        .skip(1)
        .filter_map(literal)
        .filter(|name| name.chars().all(|c| c.is_ascii_alphabetic() || "_-".contains(c)))
        .collect()
}

/// Constants that are called as what they hold.
fn constants(text: &str) -> impl Iterator<Item = String> {
    text.lines().filter_map(|line| {
        let (name, value) = line.split_once(": &str = \"")?;
        let name = name.rsplit(' ').next()?;
        (value.strip_suffix("\";")? == name).then(|| name.to_owned())
    })
}

fn is_hyphenated(word: &str) -> bool {
    word.contains('-')
        && word
            .split('-')
            .all(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase()))
}

fn section(heading: &str) -> String {
    let page = read("docs/errors.md");
    let (_, text) = page.split_once(&format!("\n## {heading}\n")).unwrap();
    text.split("\n## ").next().unwrap().to_owned()
}

/// Those of tables, without their heads.
fn rows(section: &str) -> impl Iterator<Item = &str> {
    section.lines().filter(|line| line.starts_with("| `"))
}

fn codes_of_row(row: &str) -> impl Iterator<Item = String> {
    let cell = row.split('|').nth(1).unwrap();
    cell.split('`').skip(1).step_by(2).map(str::to_owned)
}

fn codes_of_section(heading: &str) -> Codes {
    rows(&section(heading)).flat_map(codes_of_row).collect()
}
