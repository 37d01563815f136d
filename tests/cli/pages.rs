//! What pages of the documentation show can be done: commands are those of the program, with their flags; settings are read, and nodes
//! compile.

use super::harness::{Place, root};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// README.md and all pages below docs/, with their texts.
fn pages() -> Vec<(String, String)> {
    let (mut files, mut folders) = (vec![root().join("README.md")], vec![root().join("docs")]);
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let (below, others): (Vec<PathBuf>, Vec<_>) = entries.partition(|path| path.is_dir());
        folders.extend(below);
        files.extend(
            others
                .into_iter()
                .filter(|path| path.extension().is_some_and(|ending| ending == "md")),
        );
    }
    files.sort();
    let read = |path: PathBuf| {
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        (name, fs::read_to_string(path).unwrap())
    };
    files.into_iter().map(read).collect()
}

/// A page's blocks of code in a language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<(bool, String)> = None;
    for line in text.lines() {
        let fence = line.trim().strip_prefix("```");
        match (fence, open.take()) {
            (Some(name), None) => open = Some((name == language, String::new())),
            (Some(_), Some((is_wanted, block))) => blocks.extend(is_wanted.then_some(block)),
            (None, Some((is_wanted, block))) => open = Some((is_wanted, format!("{block}{line}\n"))),
            (None, None) => {}
        }
    }
    blocks
}

/// The lines of a page in which commands may be: of shells' blocks, and between backticks.
fn lines(text: &str) -> Vec<String> {
    let scripts = blocks(text, "sh").concat().replace("\\\n", " ");
    let prose = text.split("```").step_by(2);
    let inline = prose.flat_map(|part| part.split('`').skip(1).step_by(2));
    let inline = inline.filter(|code| code.starts_with("heddle "));
    scripts.lines().chain(inline).map(str::to_owned).collect()
}

/// What stands behind `heddle` in a line, word by word, up to a comment or another command.
fn arguments(line: &str) -> Vec<&str> {
    let line = line.split(" #").next().unwrap_or_default();
    let mut begins = line.match_indices("heddle ").map(|(at, _)| at);
    let begin = begins.find(|at| line[..*at].chars().next_back().is_none_or(|c| " /(".contains(c)));
    let Some(begin) = begin else { return Vec::new() };
    line[begin..]
        .split_whitespace()
        .skip(1)
        .take_while(|word| *word != "--" && !word.starts_with(['|', '>', '<', '&', ';']))
        .map(|word| word.trim_matches(|c: char| "\"'`[](),.;".contains(c)))
        .collect()
}

fn is_name(word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    word.starts_with(|c: char| c.is_ascii_lowercase()) && word.chars().all(is_part)
}

/// Whether a command's help has a flag, and not only a longer one.
fn has_flag(help: &str, flag: &str) -> bool {
    let goes_on = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    help.match_indices(flag)
        .any(|(at, _)| !help[at + flag.len()..].starts_with(goes_on))
}

#[test]
fn commands_of_pages_are_those_of_the_program() {
    let place = Place::new();
    let mut helps: BTreeMap<Vec<String>, Option<String>> = BTreeMap::new();
    let mut help = |command: &[&str]| {
        let key: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
        let asked = helps.entry(key).or_insert_with(|| {
            let ended = place.run(&[command, &["--help"]].concat());
            (ended.code == Some(0)).then_some(ended.stdout)
        });
        asked.clone()
    };
    let mut found = 0;
    for (page, text) in pages() {
        for line in lines(&text) {
            let words = arguments(&line);
            // Others have arguments that are called heddle.
            if !words.first().is_some_and(|word| is_name(word)) {
                continue;
            }
            found += 1;
            let mut depth = 1;
            let told = loop {
                let told = help(&words[..depth]);
                let told = told.unwrap_or_else(|| panic!("{page}: there is no such command: {line}"));
                let has_more = told.contains("\nCommands:\n");
                if !has_more || !words.get(depth).is_some_and(|word| is_name(word)) {
                    break told;
                }
                depth += 1;
            };
            for word in words.iter().filter(|word| word.starts_with("--")) {
                let flag = word.split(['=', '"', '\'']).next().unwrap_or_default();
                assert!(has_flag(&told, flag), "{page}: there is no {flag}: {line}");
            }
        }
    }
    assert!(found > 100, "the pages' commands were not found");
}

#[test]
fn settings_of_pages_are_read() {
    let place = Place::new();
    let mut found = 0;
    for (page, text) in pages() {
        // Cargo's has tables that no settings have.
        for block in blocks(&text, "toml")
            .iter()
            .filter(|block| !block.contains("[dependencies]"))
        {
            found += 1;
            place.file("page.toml", block);
            let ended = place.run(&["config", "--config", "page.toml"]);
            assert_eq!(ended.code, Some(0), "{page}: {block}\n{ended:#?}");
        }
    }
    assert!(found > 3, "the pages' settings were not found");
}

#[test]
fn nodes_of_pages_compile() {
    let place = Place::new();
    let mut found = 0;
    for (page, text) in pages() {
        for block in blocks(&text, "json") {
            let shown: Value =
                serde_json::from_str(&block).unwrap_or_else(|error| panic!("{page}: {error}: {block}"));
            let Some(graph) = graph_of(shown) else { continue };
            found += 1;
            place.file("page.json", graph.to_string());
            let ended = place.run(&["validate", "page.json"]);
            assert_eq!(ended.code, Some(0), "{page}: {block}\n{ended:#?}");
        }
    }
    assert!(found > 5, "the pages' nodes were not found");
}

/// What is shown as a graph: a graph, unless its nodes are left out, or a node with what has to be around it.
fn graph_of(shown: Value) -> Option<Value> {
    if let Some(nodes) = shown["nodes"].as_array() {
        return (!nodes.is_empty()).then_some(shown);
    }
    let id = shown["id"].as_str()?.to_owned();
    let starts = shown["type"].as_str()?.starts_with("On");
    Some(match starts {
        true => json!({"nodes": [shown], "edges": []}),
        false => json!({
            "nodes": [{"id": "start", "type": "OnWebhook"}, shown],
            "edges": [{"id": "e", "source": "start", "target": id}],
        }),
    })
}
