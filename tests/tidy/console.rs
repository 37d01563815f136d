//! What the console knows of node types and effects is the catalogue's: it names no type, and its two tables are copies.

use crate::{files_under, root, sources};
use heddle_catalogue::{EFFECT_KINDS, Start, node_types};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

const SOURCES: &str = "console/src";

/// Texts that are a type's name: file, text, and what they mean, or why the type is known there by its name.
const OTHERS: &[(&str, &str, &str)] = &[
    (
        "console/src/graph/own-types.ts",
        "JavaScript",
        "the parameter with its code is a module, not an expression that names what it reads",
    ),
    (
        "console/src/graph/own-types.ts",
        "OnCall",
        "how a composite begins: the graph model makes one without a catalogue",
    ),
    ("console/src/graph/own-types.ts", "Return", "and how it ends"),
    (
        "console/src/api/kept.ts",
        "KeyValue",
        "a schema of the interface, of what such nodes keep",
    ),
    (
        "console/src/graph/edit.ts",
        "JavaScript",
        "edits are data, which journals apply again without a catalogue: a module has no expressions to rename in",
    ),
    (
        "console/src/graph/follow.ts",
        "Switch",
        "the same: edges follow the names of its cases",
    ),
    (
        "console/src/run/Execution.svelte",
        "Log",
        "the tab with a node's log",
    ),
    ("console/src/run/Trace.svelte", "Log", "the tab with a run's log"),
    (
        "console/src/screens/deployment/Endpoint.svelte",
        "JavaScript",
        "a language of snippets",
    ),
];
/// Where deployments' triggers, which are kept by their types' names, are translated.
const TRIGGERS: &str = "console/src/screens/triggers.ts";
const EFFECTS: &str = "console/src/run/effects.ts";

#[test]
fn the_console_names_no_type() {
    let names: BTreeSet<_> = node_types().iter().map(|it| it.name).collect();
    let mut others: BTreeSet<_> = OTHERS.iter().map(|(path, name, _)| (*path, *name)).collect();
    let mut read = 0;
    for path in scripts() {
        read += 1;
        let text = fs::read_to_string(root().join(&path)).unwrap();
        for name in named(&without_comments(&text)) {
            let is_known = path == TRIGGERS
                || OTHERS
                    .iter()
                    .any(|(at, other, _)| (*at, *other) == (&*path, name));
            others.retain(|(at, other)| *at != path || *other != name);
            assert!(
                is_known || !names.contains(name),
                "{path} names the type {name}: ask `/api/nodes` (`role`, `sends`, `emits`, `x-heddle`)"
            );
        }
    }
    assert!(read > 100, "the console's sources were not found");
    assert!(others.is_empty(), "no longer there: {others:?}");
}

#[test]
fn the_console_knows_what_triggers_start() {
    let ours = Start::ALL.iter().map(|start| {
        let name = start.type_name();
        (name.to_owned(), name.trim_start_matches("On").to_lowercase())
    });
    assert_eq!(table(TRIGGERS, "STARTS"), ours.collect());
}

#[test]
fn the_console_knows_how_far_effects_reach() {
    let ours = EFFECT_KINDS
        .iter()
        .map(|kind| (kind.name.to_owned(), kind.reach.name().to_owned()));
    assert_eq!(table(EFFECTS, "REACH"), ours.collect());
}

/// The runtime's effects say their kinds themselves.
#[test]
fn the_catalogue_has_the_kinds_of_effects_that_there_are() {
    let mut implemented = BTreeSet::new();
    for (path, text) in sources() {
        if path.starts_with("runtime/src/effects/") {
            for declared in text.split("const KIND: &'static str = ").skip(1) {
                let value = declared.split(';').next().unwrap();
                implemented.extend(value.split('"').skip(1).step_by(2).map(str::to_owned));
            }
        }
    }
    let known = EFFECT_KINDS.iter().map(|kind| kind.name.to_owned());
    assert_eq!(implemented, known.collect());
}

fn scripts() -> Vec<String> {
    let scripts = files_under(Path::new(SOURCES), "ts");
    let components = files_under(Path::new(SOURCES), "svelte");
    scripts
        .into_iter()
        .chain(components)
        .map(|path| path.display().to_string())
        .filter(|path| !path.ends_with(".test.ts") && !path.ends_with("schema.d.ts"))
        .collect()
}

/// The text between quotes, and the names of properties.
fn named(text: &str) -> Vec<&str> {
    let is_name =
        |text: &&str| text.chars().all(char::is_alphanumeric) && text.starts_with(char::is_uppercase);
    let quoted = ['\'', '"', '`'].into_iter().flat_map(|quote| text.split(quote));
    let properties = text.lines().filter_map(|line| line.trim().split_once(':'));
    quoted
        .chain(properties.map(|(name, _)| name.trim_end_matches('?')))
        .filter(is_name)
        .collect()
}

fn without_comments(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("/*") {
        kept.push_str(before);
        rest = after.split_once("*/").map_or("", |(_, after)| after);
    }
    kept.push_str(rest);
    kept.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// An object of texts by names, a line for each.
fn table(path: &str, name: &str) -> BTreeMap<String, String> {
    let text = fs::read_to_string(root().join(path)).unwrap();
    let (_, declared) = text.split_once(&format!("const {name}")).unwrap();
    let (_, declared) = declared.split_once("= {").unwrap();
    let (entries, _) = declared.split_once("};").unwrap();
    let entry = |line: &str| {
        let (name, value) = line.trim().trim_end_matches(',').split_once(": ")?;
        let text = |quoted: &str| quoted.trim_matches('\'').to_owned();
        Some((text(name), text(value)))
    };
    entries.lines().filter_map(entry).collect()
}

#[test]
fn names_of_types_are_found_wherever_they_stand() {
    for source in [
        "type === 'Merge'",
        "new Set([\"If\", \"Merge\"])",
        "  Merge: 'x',",
        "`Merge`",
    ] {
        assert!(named(source).contains(&"Merge"), "{source}");
    }
    let text = without_comments("// 'Merge'\n/** \"Merge\" */ const a = 1;\nmerge('Merge them');");
    assert!(!named(&text).contains(&"Merge"), "{text}");
}
