//! ARCHITECTURE.md as a map: every module is on it, and whatever it names is there. Which crates and arrows it draws is in
//! `manifests`.

use crate::manifests::Package;
use crate::{root, sources};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Folders of which the map says what is in them altogether: one file looks like the other, or is a part of it.
const AS_ONE: &[&str] = &[
    "api/src/cli/user",
    "compiler/src/check/parameters",
    "node-stdlib/catalogue/src/effects",
    "node-stdlib/catalogue/src/flow",
    "node-stdlib/src/nodes",
    "node-stdlib/values/src/methods/extension",
    "runtime/src/effects/sql/postgres",
];
/// Names without a place of their own: the map's own examples.
const EXAMPLES: &[&str] = &["src/name.rs", "src/name/"];
/// The list of what is too small for a section.
const SMALLER: &str = "The smaller crates";

/// What the map says of one crate.
struct Entry {
    room: String,
    text: String,
}

#[test]
fn every_module_is_on_the_map() {
    let mut missing = Vec::new();
    for Entry { room, text } in entries() {
        let named: BTreeSet<_> = codes(&text).iter().flat_map(|code| segments(code)).collect();
        let source = format!("{room}/src/");
        let modules = sources().into_iter().filter_map(|(path, _)| {
            let is_one = path.starts_with(&source) && !AS_ONE.iter().any(|folder| is_below(&path, folder));
            is_one.then_some(path)
        });
        missing.extend(modules.filter(|path| {
            let name = Path::new(path).file_stem().unwrap().to_str().unwrap();
            // The first file of a target, and tests that a module has beside it, are no rooms.
            !["lib", "main", "mod", "tests"].contains(&name)
                && !path.contains("/tests/")
                && !named.contains(name)
        }));
    }
    assert!(
        missing.is_empty(),
        "not in their crate's list in ARCHITECTURE.md:\n{}",
        missing.join("\n")
    );
}

#[test]
fn what_the_map_lists_of_a_crate_is_there() {
    for Entry { room, text } in entries() {
        let there = words_of(&room);
        for code in codes(&text) {
            let is_name = code
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
            assert!(
                !is_name || there.contains(code),
                "ARCHITECTURE.md lists `{code}` in {room}, which has nothing of this name"
            );
        }
    }
}

#[test]
fn paths_on_the_map_exist() {
    let all = everything(Path::new(""));
    let ends_with = |name: &str| all.iter().any(|path| path.ends_with(name));
    let text = architecture();
    let mut found = 0;
    for code in codes(&text) {
        let is_path = !code.starts_with('/')
            && code
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
        if is_path && (code.contains('/') || code.ends_with(".rs")) && !EXAMPLES.contains(&code) {
            found += 1;
            let name = code.trim_end_matches('/');
            assert!(
                ends_with(name) || ends_with(&format!("{name}.rs")),
                "ARCHITECTURE.md names {code}, which does not exist"
            );
        }
    }
    assert!(found > 150, "the map's paths were not found");
}

#[test]
fn items_on_the_map_exist() {
    let rooms: BTreeMap<_, _> = Package::all_of_ours()
        .into_iter()
        .map(|package| (package.name.replace("heddle-", ""), package.room))
        .collect();
    let text = architecture();
    let everywhere = words_of("");
    let within: BTreeMap<_, _> = rooms.values().map(|room| (room, words_of(room))).collect();
    let mut found = 0;
    for code in codes(&text).into_iter().filter(|code| code.contains("::")) {
        let is_path = code
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_:".contains(c));
        if !is_path {
            continue;
        }
        found += 1;
        let names: Vec<_> = code.split("::").collect();
        let of_a_crate = rooms.get(&names[0].replace("heddle_", ""));
        let (there, names) = match of_a_crate {
            Some(room) => (&within[room], &names[1..]),
            None => (&everywhere, &names[..]),
        };
        for name in names {
            assert!(
                there.contains(*name),
                "ARCHITECTURE.md names {code}: there is no {name}"
            );
        }
    }
    assert!(found > 40, "the map's items were not found");
}

fn architecture() -> String {
    fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap()
}

/// A section for each of the larger crates, a point of one list for each of the others.
fn entries() -> Vec<Entry> {
    let text = architecture();
    let (_, map) = text.split_once("\n## Code map\n").unwrap();
    let (map, _) = map.split_once("\n## ").unwrap();
    let mut entries = Vec::new();
    for section in map.split("\n### ").skip(1) {
        match section.strip_prefix(SMALLER) {
            Some(list) => entries.extend(list.split("\n- ").skip(1).map(entry)),
            None => entries.push(entry(section)),
        }
    }
    let packages = Package::all_of_ours();
    entries.retain(|entry| packages.iter().any(|package| package.room == entry.room));
    for package in packages {
        let is_listed = entries.iter().any(|entry| entry.room == package.room);
        // These two hold what the table says: a file that is built, and targets that list themselves.
        assert!(
            is_listed || ["fuzz", "node-stdlib/artifact"].contains(&package.room.as_str()),
            "ARCHITECTURE.md has no list of the modules of {}",
            package.room
        );
    }
    entries
}

/// It begins with the crate's folder.
fn entry(text: &str) -> Entry {
    let room = text.split('`').nth(1).unwrap_or_default();
    Entry {
        room: room.trim_end_matches('/').to_owned(),
        text: text.to_owned(),
    }
}

/// What stands between single backticks, but for blocks of code.
fn codes(text: &str) -> Vec<&str> {
    let outside = text.split("```").step_by(2);
    outside
        .flat_map(|text| text.split('`').skip(1).step_by(2))
        .collect()
}

/// The names that a path has, with slashes or colons.
fn segments(code: &str) -> impl Iterator<Item = &str> {
    let names = code.split(['/', ':']);
    names.map(|name| name.strip_suffix(".rs").unwrap_or(name))
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// All names in the sources below a folder, and those of the files themselves.
fn words_of(room: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (path, text) in sources() {
        if room.is_empty() || is_below(&path, room) {
            let names = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            found.extend(names.map(str::to_owned));
            found.extend(path.split(['/', '.']).map(str::to_owned));
        }
    }
    found
}

/// All files and folders, hidden ones as well.
fn everything(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join(dir)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name();
        let path = dir.join(&name);
        let is_folder = entry.file_type().unwrap().is_dir();
        if is_folder && name != "target" && name != "node_modules" && name != ".git" {
            found.extend(everything(&path));
        }
        found.push(path);
    }
    found
}
