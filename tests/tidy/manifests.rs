//! Which crate may know which: what the manifests say, and what ARCHITECTURE.md says about it.

use crate::{root, sources};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Which of our crates each room may depend on. ARCHITECTURE.md says the same in words.
const ARROWS: &[(&str, &[&str])] = &[
    ("javascript", &[]),
    (
        "javascript/engine",
        &["javascript", "node-stdlib/memory", "node-stdlib/values"],
    ),
    ("node-stdlib/artifact", &[]),
    ("node-stdlib/contract", &["javascript"]),
    ("node-stdlib/memory", &[]),
    ("node-stdlib/values", &["javascript"]),
    ("node-stdlib/catalogue", &["node-stdlib/contract"]),
    (
        "node-stdlib",
        &[
            "javascript",
            "node-stdlib/contract",
            "node-stdlib/memory",
            "node-stdlib/values",
        ],
    ),
    (
        "compiler",
        &[
            "javascript",
            "node-stdlib/catalogue",
            "node-stdlib/contract",
            "node-stdlib/values",
        ],
    ),
    (
        "runtime",
        &[
            "javascript",
            "node-stdlib/artifact",
            "node-stdlib/catalogue",
            "node-stdlib/contract",
            "processes",
            "runtime/sandbox",
        ],
    ),
    (
        "runtime/sandbox",
        &["javascript", "node-stdlib/contract", "processes"],
    ),
    ("processes", &[]),
    ("api/model", &[]),
    ("api/store", &["api/model", "processes"]),
    ("api/files", &["api/model", "api/store", "processes"]),
    (
        "api/execution",
        &[
            "api/files",
            "api/model",
            "api/store",
            "compiler",
            "node-stdlib/catalogue",
            "node-stdlib/contract",
            "processes",
            "runtime",
        ],
    ),
    (
        "api/service",
        &[
            "api/execution",
            "api/files",
            "api/model",
            "api/store",
            "compiler",
            "node-stdlib/catalogue",
            "runtime",
        ],
    ),
    (
        "api",
        &[
            "api/execution",
            "api/files",
            "api/model",
            "api/service",
            "api/store",
            "compiler",
            "import",
            "node-stdlib/catalogue",
            "node-stdlib/contract",
            "remote",
            "runtime",
        ],
    ),
    ("import", &["compiler", "node-stdlib/catalogue"]),
    ("remote", &["node-stdlib/catalogue"]),
    ("fuzz", &[]),
];

/// What tests and benchmarks of a room may know besides.
const ARROWS_OF_TESTS: &[(&str, &[&str])] = &[
    // Its tests execute the catalogue's examples, and look at what was built of it.
    ("node-stdlib", &["node-stdlib/artifact", "node-stdlib/catalogue"]),
    // Its tests run what the compiler makes.
    ("runtime", &["compiler"]),
    // Its targets are whatever reads foreign bytes.
    (
        "fuzz",
        &[
            "api/execution",
            "api/files",
            "api/model",
            "api/service",
            "api/store",
            "compiler",
            "import",
            "node-stdlib",
            "node-stdlib/catalogue",
            "node-stdlib/values",
            "runtime",
        ],
    ),
];

/// The guest has no clock, no randomness and no I/O of its own.
const NEVER_IN_THE_GUEST: &[&str] = &["tokio", "wasmtime", "reqwest", "getrandom", "rand", "chrono"];

/// Crates that a room must not name, because it is pure or because its job is another.
const KEPT_OUT: &[(&str, &[&str])] = &[
    ("node-stdlib", NEVER_IN_THE_GUEST),
    ("node-stdlib/contract", NEVER_IN_THE_GUEST),
    ("node-stdlib/values", NEVER_IN_THE_GUEST),
    (
        "compiler",
        &["tokio", "wasmtime", "reqwest", "rand", "axum", "sqlx"],
    ),
    (
        "import",
        &["tokio", "wasmtime", "reqwest", "rand", "axum", "sqlx", "chrono"],
    ),
    ("remote", &["axum", "wasmtime", "sqlx", "clap", "hyper"]),
    ("runtime", &["axum", "clap"]),
    // What an executor process executes: it has no network, no database and no files.
    (
        "runtime/sandbox",
        &[
            "axum", "clap", "hyper", "lettre", "reqwest", "ring", "rustls", "sqlx",
        ],
    ),
    ("api/model", &["tokio", "axum", "wasmtime", "reqwest", "hyper"]),
    ("api/store", &["axum", "http", "wasmtime", "reqwest", "hyper"]),
    ("api/files", &["axum", "http", "sqlx", "wasmtime", "hyper"]),
    ("api/execution", &["axum", "http", "sqlx", "clap", "hyper"]),
    ("api/service", &["axum", "sqlx", "clap", "hyper"]),
    ("api", &["sqlx", "wasmtime"]),
    (
        "processes",
        &["wasmtime", "sqlx", "axum", "reqwest", "serde_json"],
    ),
];

/// Crates that must not be anywhere below these rooms either: they could not do it if they wanted. What the standard library
/// lets them do is held by the sandbox of the guest, and by the walls of worker processes.
const KEPT_OUT_BELOW: &[(&str, &[&str])] = &[
    ("node-stdlib", NEVER_IN_THE_GUEST),
    ("node-stdlib/contract", NEVER_IN_THE_GUEST),
    ("node-stdlib/values", NEVER_IN_THE_GUEST),
    (
        "compiler",
        &[
            "tokio",
            "wasmtime",
            "reqwest",
            "rand",
            "getrandom",
            "chrono",
            "axum",
            "sqlx",
        ],
    ),
    (
        "import",
        &[
            "tokio",
            "wasmtime",
            "reqwest",
            "rand",
            "getrandom",
            "chrono",
            "axum",
            "sqlx",
        ],
    ),
    (
        "runtime/sandbox",
        &[
            "axum",
            "clap",
            "hyper",
            "lettre",
            "reqwest",
            "ring",
            "rustls",
            "sqlx",
            "sqlx-core",
            "libsqlite3-sys",
            "chrono",
        ],
    ),
    (
        "processes",
        &[
            "wasmtime",
            "sqlx",
            "axum",
            "hyper",
            "reqwest",
            "rustls",
            "serde_json",
        ],
    ),
];

/// A crate of the workspace.
pub struct Package {
    pub name: String,
    /// Its folder, from the repository's root.
    pub room: String,
    dependencies: Vec<Dependency>,
    /// The first files of its library and its programs.
    pub roots: Vec<PathBuf>,
    /// What `cargo test` does not look through for tests, and for examples in comments.
    untested: Vec<PathBuf>,
    without_examples: Vec<PathBuf>,
}

struct Dependency {
    /// What it is called where it comes from, whatever it is called here.
    package: String,
    is_for_tests: bool,
}

impl Package {
    /// All crates of the workspace, as cargo understands their manifests.
    pub fn all_of_ours() -> Vec<Self> {
        let output = Command::new(env!("CARGO"))
            .args([
                "metadata",
                "--offline",
                "--locked",
                "--no-deps",
                "--format-version=1",
            ])
            .current_dir(root())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
        let packages = metadata["packages"].as_array().unwrap();
        packages.iter().map(Self::of).collect()
    }

    fn of(package: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let dependency = |dependency: &Value| Dependency {
            package: text(&dependency["name"]),
            is_for_tests: dependency["kind"] == "dev",
        };
        let manifest = from_root(&package["manifest_path"]);
        let roots = package["targets"].as_array().unwrap().iter().filter(|target| {
            let kinds = target["kind"].as_array().unwrap();
            kinds
                .iter()
                .any(|kind| kind == "bin" || kind == "lib" || kind == "cdylib")
        });
        Package {
            name: text(&package["name"]),
            room: manifest.parent().unwrap().display().to_string(),
            dependencies: package["dependencies"]
                .as_array()
                .unwrap()
                .iter()
                .map(dependency)
                .collect(),
            roots: roots
                .map(|target| from_root(&target["src_path"]))
                .filter(|path| !path.starts_with("tests"))
                .collect(),
            untested: left_out(package, "test"),
            without_examples: left_out(package, "doctest"),
        }
    }

    /// Whether it names the crate of a room, for its tests alone or for what is shipped.
    fn depends_on(&self, room: &str, is_for_tests: bool, packages: &[Package]) -> bool {
        self.dependencies.iter().any(|dependency| {
            let other = packages.iter().find(|package| package.name == dependency.package);
            dependency.is_for_tests == is_for_tests && other.is_some_and(|package| package.room == room)
        })
    }
}

/// The sources of those targets for which a flag is off: of a library its folder, of a program its first file.
fn left_out(package: &Value, flag: &str) -> Vec<PathBuf> {
    let targets = package["targets"].as_array().unwrap().iter();
    let off = targets.filter(|target| target[flag] == false);
    off.filter_map(|target| {
        let file = from_root(&target["src_path"]);
        match target["kind"][0].as_str()? {
            "lib" | "cdylib" => file.parent().map(Path::to_owned),
            "bin" if flag == "test" && !file.starts_with("tests") => Some(file),
            _ => None,
        }
    })
    .collect()
}

fn from_root(path: &Value) -> PathBuf {
    let path = fs::canonicalize(path.as_str().unwrap()).unwrap();
    let root = fs::canonicalize(root()).unwrap();
    path.strip_prefix(root).unwrap().to_owned()
}

fn listed<'a>(list: &[(&str, &'a [&'a str])], room: &str) -> Option<&'a [&'a str]> {
    list.iter()
        .find(|(listed, _)| *listed == room)
        .map(|(_, others)| *others)
}

#[test]
fn crates_depend_only_along_the_arrows() {
    let packages = Package::all_of_ours();
    let rooms: BTreeMap<_, _> = packages
        .iter()
        .map(|it| (it.name.as_str(), it.room.as_str()))
        .collect();
    for Package {
        room, dependencies, ..
    } in &packages
    {
        let allowed = listed(ARROWS, room).unwrap_or_else(|| panic!("{room} is not in ARROWS"));
        let of_tests = listed(ARROWS_OF_TESTS, room).unwrap_or_default();
        for Dependency {
            package,
            is_for_tests,
        } in dependencies
        {
            let Some(other) = rooms.get(package.as_str()) else {
                continue;
            };
            assert!(
                allowed.contains(other) || (*is_for_tests && of_tests.contains(other)),
                "{room} must not depend on {package}"
            );
        }
    }
}

#[test]
fn every_arrow_is_of_a_crate_that_is_there() {
    let packages = Package::all_of_ours();
    for (room, others) in ARROWS.iter().chain(ARROWS_OF_TESTS) {
        for named in others.iter().chain([room]) {
            assert!(packages.iter().any(|it| it.room == *named), "there is no {named}");
        }
    }
}

/// An arrow that nothing needs would let a dependency in that nobody has decided on.
#[test]
fn every_arrow_is_used() {
    let packages = Package::all_of_ours();
    let mut unused = Vec::new();
    for (arrows, is_of_tests) in [(ARROWS, false), (ARROWS_OF_TESTS, true)] {
        for (room, others) in arrows {
            let package = packages.iter().find(|package| package.room == *room);
            for other in *others {
                let is_used =
                    package.is_some_and(|package| package.depends_on(other, is_of_tests, &packages));
                if !is_used {
                    unused.push(format!("{room} → {other}"));
                }
            }
        }
    }
    assert!(
        unused.is_empty(),
        "no crate uses these arrows, so remove them from tests/tidy/manifests.rs, and from ARCHITECTURE.md if they are drawn \
         there:\n{}",
        unused.join("\n")
    );
}

#[test]
fn pure_crates_stay_pure() {
    for Package {
        room, dependencies, ..
    } in Package::all_of_ours()
    {
        let kept_out = listed(KEPT_OUT, &room).unwrap_or_default();
        for dependency in dependencies.iter().filter(|dependency| !dependency.is_for_tests) {
            assert!(
                !kept_out.contains(&dependency.package.as_str()),
                "{room} must not depend on {}",
                dependency.package
            );
        }
    }
}

#[test]
fn pure_crates_stay_pure_all_the_way_down() {
    for Package { room, name, .. } in Package::all_of_ours() {
        let Some(kept_out) = listed(KEPT_OUT_BELOW, &room) else {
            continue;
        };
        let tree = [
            "tree",
            "--offline",
            "--locked",
            "--edges=normal",
            "--prefix=none",
            "--format={p}",
        ];
        let output = Command::new(env!("CARGO"))
            .args(tree)
            .args(["--package", &name])
            .current_dir(root())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let below: BTreeSet<_> = text.lines().filter_map(|line| line.split(' ').next()).collect();
        assert!(
            below.contains(name.as_str()),
            "{room} is not in its own tree:\n{text}"
        );
        for package in kept_out {
            assert!(
                !below.contains(package),
                "{room} reaches {package}: `cargo tree -p {name} -e normal -i {package}` says how"
            );
        }
    }
}

/// What has no tests in its sources, or no examples in its comments, is not compiled for them.
#[test]
fn no_test_is_left_out_by_its_manifest() {
    for package in Package::all_of_ours() {
        let room = package.room;
        for (path, text) in sources() {
            let is_among = |files: &[PathBuf]| files.iter().any(|file| Path::new(&path).starts_with(file));
            let has_test = text.contains("#[test]") || text.contains("#[tokio::test");
            assert!(
                !has_test || !is_among(&package.untested),
                "{path} has tests: remove `test = false` from {room}/Cargo.toml"
            );
            let has_example = text.contains("/// ```") || text.contains("//! ```");
            assert!(
                !has_example || !is_among(&package.without_examples),
                "{path} has an example: remove `doctest = false` from {room}/Cargo.toml"
            );
        }
    }
}

#[test]
fn architecture_names_every_crate() {
    let architecture = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let rooms: BTreeSet<_> = (architecture.lines()).filter_map(room_and_crate).collect();
    let packages = Package::all_of_ours();
    let ours: BTreeSet<_> = packages
        .iter()
        .map(|it| (it.room.as_str(), it.name.as_str()))
        .collect();
    assert_eq!(
        rooms, ours,
        "rooms and crates of ARCHITECTURE.md's table, and of the workspace"
    );
}

/// A line of the table of rooms, if it has a crate.
fn room_and_crate(line: &str) -> Option<(&str, &str)> {
    let mut cells = line.strip_prefix('|')?.split('|').map(str::trim);
    let mut quoted = || cells.next()?.strip_prefix('`')?.strip_suffix('`');
    Some((quoted()?.strip_suffix('/')?, quoted()?))
}

#[test]
fn architecture_draws_the_same_arrows() {
    let architecture = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (_, rest) = architecture.split_once("\nArrows: ").unwrap();
    let (sentence, _) = rest.split_once(". **Nothing else**").unwrap();
    let mut drawn = BTreeSet::new();
    for clause in sentence.split(';') {
        let (from, to) = clause.split_once('→').unwrap();
        for from in names(from) {
            drawn.extend(names(to).map(|to| (from, to)));
        }
    }
    let arrows = ARROWS
        .iter()
        .flat_map(|(from, to)| to.iter().map(|to| (*from, *to)));
    assert_eq!(drawn, arrows.collect(), "arrows of ARCHITECTURE.md, and ARROWS");
}

/// `a, b and c`
fn names(list: &str) -> impl Iterator<Item = &str> {
    let separated = list.split([',', ' ', '\n']);
    separated.filter(|word| !word.is_empty() && *word != "and")
}

#[test]
fn paths_of_the_repository_are_found() {
    let packages = Package::all_of_ours();
    let api = packages.iter().find(|package| package.room == "api").unwrap();
    assert!(api.roots.iter().any(|file| file == Path::new("api/src/lib.rs")));
}
