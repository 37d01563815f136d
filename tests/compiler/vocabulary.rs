//! The vocabulary for editors names what is compiled, and nothing else.

use heddle_compiler::expression::{ExpressionRoute, route};
use heddle_compiler::vocabulary::{Scope, vocabulary};
use heddle_values::methods::{Global, Method};
use std::collections::BTreeSet;

/// How items of nodes are taken, which is written as methods of `$input` and `$("Label")`.
const OF_ITEMS: &[&str] = &["first item", "last item", "all items", "field of item"];
/// What the JavaScript engine gives to strings.
const OF_THE_ENGINE: &[&str] = &["match", "matchAll", "normalize", "search"];

#[test]
fn every_method_and_every_function_that_is_compiled_is_listed() {
    let listed = vocabulary();
    let methods: BTreeSet<&str> = listed
        .types
        .iter()
        .flat_map(|entry| entry.methods.iter().map(|method| method.name))
        .collect();
    let missing: Vec<&str> = Method::ALL
        .iter()
        .map(|method| method.name())
        .filter(|name| !methods.contains(name))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    let unknown: Vec<&&str> = methods
        .iter()
        .filter(|name| Method::from_name(name).is_none() && !OF_THE_ENGINE.contains(name) && **name != "all")
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    let named: BTreeSet<&str> = listed.functions.iter().map(|function| function.name).collect();
    let names: BTreeSet<&str> = listed.names.iter().map(|entry| entry.name).collect();
    let missing: Vec<&str> = Global::ALL
        .iter()
        .map(|global| global.name())
        .filter(|name| !named.contains(name) && !names.contains(name) && !OF_ITEMS.contains(name))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn names_that_are_listed_are_known_and_foreign_ones_are_not() {
    let listed = vocabulary();
    let names = &crate::expressions::EVERYTHING;
    for entry in &listed.names {
        let source = match entry.name {
            "$nodes" => "$nodes[\"first\"]".to_owned(),
            "$node" => "$node[\"First step\"].json".to_owned(),
            "$secrets" => "$secrets.TOKEN".to_owned(),
            "$execution" | "$workflow" => format!("{}.id", entry.name),
            name => name.to_owned(),
        };
        let routed = route(&source, names, ExpressionRoute::Cheapest);
        assert!(routed.is_ok(), "{source} ({:?}): {routed:?}", entry.scope);
    }
    assert!(listed.names.iter().any(|entry| entry.scope == Scope::Error));
    for foreign in &listed.foreign_names {
        let routed = route(foreign.name, names, ExpressionRoute::Cheapest);
        assert!(routed.is_err(), "{}", foreign.name);
    }
}
