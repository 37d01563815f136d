//! What a node type is, the catalogue says: elsewhere no type is known by its name.

use crate::modules::{attributes, is_for_tests};
use crate::sources;
use proc_macro2::{TokenStream, TokenTree};
use std::collections::BTreeSet;
use syn::visit::{self, Visit};

/// Where types are described and implemented, and where nodes of other systems become them.
const ROOMS: &[&str] = &[
    "node-stdlib/catalogue/src/",
    "node-stdlib/src/nodes",
    "import/src/",
];

/// Texts that are a type's name and mean something else: file, text, what they mean.
const OTHERS: &[(&str, &str, &str)] = &[
    (
        "compiler/src/expression/lower.rs",
        "DateTime",
        "Luxon's class in expressions",
    ),
    (
        "compiler/src/expression/unsupported.rs",
        "DateTime",
        "Luxon's class in expressions",
    ),
    ("javascript/src/names.rs", "DateTime", "Luxon's class in code"),
    ("compiler/src/code.rs", "DateTime", "Luxon's class in code"),
];

/// Text literals that are names of node types, but for attributes (examples in the API's document) and what is compiled
/// for tests only.
struct Literals<'n> {
    names: &'n BTreeSet<&'static str>,
    found: BTreeSet<String>,
}

impl Literals<'_> {
    fn of(text: &str, names: &BTreeSet<&'static str>) -> BTreeSet<String> {
        let mut literals = Literals {
            names,
            found: BTreeSet::new(),
        };
        literals.visit_file(&syn::parse_file(text).unwrap());
        literals.found
    }

    fn take(&mut self, text: String) {
        if self.names.contains(text.as_str()) {
            self.found.insert(text);
        }
    }

    /// What macros are given.
    fn tokens(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Literal(literal) => {
                    if let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string()) {
                        self.take(text.value());
                    }
                }
                TokenTree::Ident(_) | TokenTree::Punct(_) => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Literals<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !is_for_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}

    fn visit_lit_str(&mut self, text: &'ast syn::LitStr) {
        self.take(text.value());
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        self.tokens(called.tokens.clone());
    }
}

fn names() -> BTreeSet<&'static str> {
    heddle_catalogue::node_types().iter().map(|it| it.name).collect()
}

/// Whether a source is part of what is shipped.
fn is_product(path: &str) -> bool {
    let of_a_crate = path.contains("/src/") && !path.starts_with("tests/") && !path.starts_with("fuzz/");
    of_a_crate
        && !path.starts_with("examples/")
        && !path.contains("/tests/")
        && !path.ends_with("/tests.rs")
        && !ROOMS.iter().any(|room| path.starts_with(room))
}

#[test]
fn types_are_known_by_what_the_catalogue_says_of_them() {
    let names = names();
    let mut others: BTreeSet<(String, String)> = OTHERS
        .iter()
        .map(|(path, text, _)| ((*path).to_owned(), (*text).to_owned()))
        .collect();
    let mut found = Vec::new();
    for (path, source) in sources().into_iter().filter(|(path, _)| is_product(path)) {
        for name in Literals::of(&source, &names) {
            let place = (path.clone(), name);
            if !others.remove(&place) {
                found.push(format!("{}: {:?}", place.0, place.1));
            }
        }
    }
    assert!(
        found.is_empty(),
        "ask the catalogue (`role`, `content`, `Start`, or a constant of it) instead of naming types in\n{}",
        found.join("\n")
    );
    assert!(others.is_empty(), "no longer there: {others:?}");
}

#[test]
fn literals_are_found_wherever_they_stand() {
    let names = BTreeSet::from(["Merge"]);
    for source in [
        "const A: &str = \"Merge\";",
        "fn f(a: &str) -> bool { matches!(a, \"Merge\") }",
        "fn f(a: &str) { match a { \"Merge\" => {} _ => {} } }",
        "fn f(a: &str) -> bool { a == r#\"Merge\"# }",
        "fn f() { json!([{\"type\": \"Merge\"}]); }",
    ] {
        assert_eq!(Literals::of(source, &names).len(), 1, "{source}");
    }
    for source in [
        "const A: &str = \"Merge them\";",
        "/// \"Merge\"\nfn f() {}",
        "#[schema(example = \"Merge\")] struct S;",
        "#[cfg(test)] mod tests { const A: &str = \"Merge\"; }",
    ] {
        assert_eq!(Literals::of(source, &names).len(), 0, "{source}");
    }
}
