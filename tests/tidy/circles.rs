//! Modules import each other in no circle, but within a few small folders.

use crate::manifests::Package;
use crate::modules::Modules;
use crate::root;
use petgraph::algo::tarjan_scc;
use petgraph::graph::DiGraph;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Modules that import each other, and may.
struct Allowed {
    /// Where all of them are: `folder.rs` and what is below `folder/`.
    folder: &'static str,
    files: usize,
    reason: &'static str,
}

const fn allowed(folder: &'static str, files: usize, reason: &'static str) -> Allowed {
    Allowed {
        folder,
        files,
        reason,
    }
}

/// What is read as one thing anyway.
const FILES_MAX: usize = 8;

/// Circles that stay.
const CIRCLES: &[Allowed] = &[
    allowed(
        "javascript/engine/src",
        3,
        "code that the engine evaluates calls what the host gives it, which looks into the code's realm",
    ),
    allowed(
        "node-stdlib/values/src/query",
        2,
        "functions of JMESPath evaluate expressions, which call functions",
    ),
    allowed(
        "node-stdlib/values/src/value",
        3,
        "values are made of arrays and objects, which are made of values",
    ),
];

/// Modules that import each other.
#[derive(Debug, PartialEq, Eq)]
struct Circle {
    folder: PathBuf,
    files: usize,
    /// The modules, and below each what it imports of the others.
    imports: String,
}

#[test]
fn modules_import_each_other_in_no_circle() {
    let mut found: Vec<Circle> = Package::all_of_ours()
        .iter()
        .flat_map(|package| &package.roots)
        .flat_map(|target| circles(target, &|path| fs::read_to_string(root().join(path)).ok()))
        .collect();
    let mut gone = String::new();
    for Allowed {
        folder,
        files,
        reason,
    } in CIRCLES
    {
        let is_it = |circle: &Circle| circle.folder == Path::new(folder) && circle.files == *files;
        match found.iter().position(is_it) {
            Some(at) => drop(found.remove(at)),
            None => _ = writeln!(gone, "{folder}, {files} files ({reason})"),
        }
    }
    let mut new = String::new();
    for circle in &found {
        let (folder, files) = (circle.folder.display(), circle.files);
        _ = writeln!(new, "{folder}, {files} files:\n{}", circle.imports);
    }
    assert!(
        new.is_empty() && gone.is_empty(),
        "modules that import each other, and are not in the list:\n{new}\nin the list, and no circle any more:\n{gone}"
    );
}

#[test]
fn circles_that_stay_are_small_and_have_a_reason() {
    for Allowed {
        folder,
        files,
        reason,
    } in CIRCLES
    {
        assert!(
            *files <= FILES_MAX,
            "{folder}: {files} files can't be read as one"
        );
        assert!(reason.split(' ').count() > 2, "{folder}: why?");
    }
}

/// All circles of a target's modules.
fn circles(target: &Path, read: &dyn Fn(&Path) -> Option<String>) -> Vec<Circle> {
    let modules = Modules::read(target, read);
    let edges = modules
        .imports
        .keys()
        .map(|(from, to)| (*from as u32, *to as u32));
    let graph = DiGraph::<(), ()>::from_edges(edges);
    let mut circles = Vec::new();
    for mut members in tarjan_scc(&graph) {
        if members.len() > 1 {
            members.sort_by_key(|member| &modules.files[member.index()]);
            let members: Vec<_> = members.iter().map(|member| member.index()).collect();
            circles.push(circle(&modules, &members));
        }
    }
    circles
}

fn circle(modules: &Modules, members: &[usize]) -> Circle {
    let mut imports = String::new();
    for from in members {
        _ = writeln!(imports, "    {}", modules.files[*from].display());
        for to in members {
            if let Some(names) = modules.imports.get(&(*from, *to)) {
                let names: Vec<_> = names.iter().map(String::as_str).collect();
                let path = modules.files[*to].display();
                _ = writeln!(imports, "        of {path}: {}", names.join(", "));
            }
        }
    }
    let folders = members.iter().map(|member| own_folder(&modules.files[*member]));
    Circle {
        folder: folders.reduce(|a, b| common(&a, &b)).unwrap_or_default(),
        files: members.len(),
        imports,
    }
}

/// The folder of what is below a module.
fn own_folder(file: &Path) -> PathBuf {
    match file.file_stem().and_then(|stem| stem.to_str()) {
        Some("lib" | "main" | "mod") => file.with_file_name(""),
        _ => file.with_extension(""),
    }
}

fn common(a: &Path, b: &Path) -> PathBuf {
    let same = a.components().zip(b.components()).take_while(|(a, b)| a == b);
    same.map(|(part, _)| part).collect()
}

/// The circles of made-up sources, each a path and its text.
fn found_in(sources: &[(&str, &str)]) -> Vec<Circle> {
    circles(Path::new("src/lib.rs"), &|path| {
        let found = sources.iter().find(|(name, _)| Path::new(name) == path);
        found.map(|(_, text)| (*text).to_owned())
    })
}

/// The two modules of a crate with `lib.rs`, `a.rs` and `b.rs`, if they are a circle.
fn of_a_and_b(lib: &str, a: &str, b: &str) -> Option<String> {
    let mut found = found_in(&[("src/lib.rs", lib), ("src/a.rs", a), ("src/b.rs", b)]);
    assert!(found.len() < 2, "{found:?}");
    found.pop().map(|circle| circle.imports)
}

const BOTH: &str = "    src/a.rs\n        of src/b.rs: B\n    src/b.rs\n        of src/a.rs: A\n";

#[test]
fn a_circle_names_its_folder_its_modules_and_what_closes_it() {
    let sources = [
        ("src/lib.rs", "mod x;"),
        ("src/x.rs", "mod a; mod b; pub struct X;"),
        ("src/x/a.rs", "use super::{X, b}; pub struct A(X, b::B);"),
        (
            "src/x/b/mod.rs",
            "use crate::x::a::A as Other; pub struct B(Option<Box<Other>>);",
        ),
    ];
    let expected = Circle {
        folder: "src/x".into(),
        files: 2,
        imports:
            "    src/x/a.rs\n        of src/x/b/mod.rs: B\n    src/x/b/mod.rs\n        of src/x/a.rs: A\n"
                .into(),
    };
    assert_eq!(found_in(&sources), [expected]);
}

#[test]
fn a_module_and_the_one_around_it_are_a_circle_too() {
    let around = "mod inner; pub struct Outer; fn f() { inner::g() }";
    for inner in [
        "use super::Outer; pub fn g() {}",
        "use super::*; pub fn g() { drop(Outer) }",
        "pub fn g() { super::Outer; }",
        "pub mod within { pub fn h() { super::super::Outer; } }",
        "pub fn g() { println!(\"{}\", format(&super::Outer)) }",
        "#[derive(Deserialize)] struct S { #[serde(with = \"super::Outer\")] field: u8 }",
        "pub fn g() { use crate::x as y; y::Outer }",
    ] {
        let found = found_in(&[
            ("src/lib.rs", "mod x;"),
            ("src/x.rs", around),
            ("src/x/inner.rs", inner),
        ]);
        assert_eq!(found.len(), 1, "{inner}");
        assert_eq!((found[0].folder.to_str(), found[0].files), (Some("src/x"), 2));
    }
}

#[test]
fn a_re_export_leads_to_where_a_name_is_defined() {
    let (a, b) = (
        "use crate::B; pub struct A(B);",
        "pub struct B; fn f(_: crate::A) {}",
    );
    for lib in [
        "mod a; mod b; pub use a::A; pub use b::B;",
        "mod a; mod b; pub use self::{a::*, b::*};",
        "mod a; mod b; pub mod all { pub use crate::{a::A, b::B}; } pub use all::*;",
        "mod a; mod b; use {a::A, b::B};",
    ] {
        assert_eq!(of_a_and_b(lib, a, b).as_deref(), Some(BOTH), "{lib}");
    }
}

#[test]
fn a_function_may_have_the_name_of_its_module() {
    let (a, b) = ("use crate::b; pub fn a() { b() }", "pub fn b() { crate::a() }");
    let found = of_a_and_b("mod a; mod b; pub use a::a; pub use b::b;", a, b);
    assert!(found.is_some_and(|imports| imports.contains("of src/a.rs: a\n")));
}

#[test]
fn what_a_macro_defines_is_where_it_is_called() {
    let a = "use crate::b::B; struct_of!(A, B);";
    let b = "use crate::a::A; struct_of!(B, A);";
    assert_eq!(of_a_and_b("mod a; mod b;", a, b).as_deref(), Some(BOTH));
}

#[test]
fn these_are_no_circles() {
    let b = "pub struct B;";
    for (lib, a, b) in [
        // Both are used by a third.
        (
            "mod a; mod b; fn f(_: a::A, _: b::B) {}",
            "use crate::b::B; pub struct A(B);",
            b,
        ),
        // A façade imports nothing.
        (
            "mod a; mod b; pub use a::A; pub struct Lib;",
            "use crate::Lib; pub struct A(Lib);",
            b,
        ),
        // Tests know both sides.
        (
            "mod a; mod b;",
            "use crate::b::B; pub struct A(B);",
            "pub struct B; #[cfg(test)] mod tests { use crate::a::A; } #[cfg(all(test, unix))] use crate::a::A;",
        ),
        // Names that only look alike.
        (
            "mod a; mod b;",
            "pub struct A(std::b::B, ::b::B);",
            "use crate::a::A; pub struct B(A);",
        ),
        (
            "mod a; mod b;",
            "pub struct A; fn f(a: u8) { a.b; }",
            "use crate::a::A; pub struct B(A);",
        ),
        // Within one file.
        (
            "mod a; mod b;",
            "pub mod x { use super::y::Y; } pub mod y { use super::x::X; }",
            b,
        ),
    ] {
        assert_eq!(of_a_and_b(lib, a, b), None, "{lib} {a} {b}");
    }
}

#[test]
fn what_is_compiled_without_tests_counts() {
    let a = "pub struct A; #[cfg(not(test))] use crate::b::B;";
    let b = "pub struct B; #[cfg(any(test, unix))] use crate::a::A;";
    assert_eq!(of_a_and_b("mod a; mod b;", a, b).as_deref(), Some(BOTH));
}
