//! The catalogue: complete, consistent with the nodes' implementations, and with examples that come out as they say.

#![expect(clippy::unwrap_used, reason = "tests")]

#[expect(dead_code, reason = "other tests have more use for it")]
mod support;

use heddle_catalogue::{
    Category, Example, NodeType, Outputs, Parameter, Role, Schema, fields_fit, node_types,
};
use heddle_contract::abi;
use heddle_node_stdlib::for_each_node;
use heddle_node_stdlib::node::Outcome;
use heddle_node_stdlib::nodes::lookup;
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use support::{Fake, outcome, value};

macro_rules! names {
    ($($(#[$cfg:meta])? ($name:ident, $run:path, $($resume:tt)+)),* $(,)?) => {
        &[$(stringify!($name)),*]
    };
}

/// Types that have an implementation.
const IMPLEMENTED: &[&str] = for_each_node!(names);

fn json(text: &str, at: &str) -> Json {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{at}: {error} in {text}"))
}

#[test]
fn names_are_unique_and_make_exports() {
    let mut names = BTreeSet::new();
    for node_type in node_types() {
        assert!(names.insert(node_type.name), "{} is there twice", node_type.name);
        assert!(!abi::node_function(node_type.name).is_empty());
    }
}

#[test]
fn every_implementation_is_in_the_catalogue_and_no_trigger_has_one() {
    // Not a type, but what definitions of kind `component` execute.
    for name in IMPLEMENTED.iter().filter(|name| **name != "Component") {
        let found = node_types().iter().find(|node_type| node_type.name == *name);
        let category = found.map(|node_type| node_type.category);
        assert!(
            category.is_some_and(|category| category != Category::Trigger),
            "{name}: {category:?}"
        );
    }
}

#[test]
fn every_type_but_triggers_and_operations_is_implemented() {
    let missing: Vec<&str> = node_types()
        .iter()
        .filter(|node_type| node_type.category != Category::Trigger && node_type.operation.is_none())
        .filter(|node_type| !IMPLEMENTED.contains(&node_type.name))
        .map(|node_type| node_type.name)
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
}

#[test]
fn everything_is_described() {
    for node_type in node_types() {
        let at = node_type.name;
        described(node_type.description, at);
        let outputs = match node_type.outputs {
            Outputs::Fixed(ports) => ports,
            Outputs::SwitchCases => &[],
        };
        for port in node_type.inputs.iter().chain(outputs) {
            described(port.description, &format!("{at}, port {}", port.name));
        }
        for ports in [node_type.inputs, outputs] {
            let names: BTreeSet<_> = ports.iter().map(|port| port.name).collect();
            assert_eq!(names.len(), ports.len(), "{at} has two ports of one name");
            assert!(
                !names.contains("error"),
                "{at}: the port `error` comes from onError"
            );
        }
        parameters_are_sound(node_type.parameters, at);
    }
}

fn described(description: &str, at: &str) {
    let ends = description.ends_with(['.', ':', '!', '?', '`', ')']);
    assert!(
        !description.trim().is_empty() && ends,
        "{at}: `{description}` is no sentence"
    );
    assert!(!description.contains("  "), "{at}: `{description}` has a gap");
}

fn parameters_are_sound(parameters: &[Parameter], at: &str) {
    let mut names = BTreeSet::new();
    for parameter in parameters {
        let at = format!("{at}.{}", parameter.name);
        assert!(names.insert(parameter.name), "{at} is there twice");
        described(parameter.description, &at);
        if !parameter.default.is_empty() {
            assert!(!parameter.required, "{at} is required and has a default");
            let default = json(parameter.default, &at);
            assert!(
                parameter.schema.fits(&default),
                "{at}: {default} does not fit its own schema"
            );
        }
        inner_parameters(&parameter.schema, &at);
    }
}

fn inner_parameters(schema: &Schema, at: &str) {
    match schema {
        Schema::Object(fields) => parameters_are_sound(fields, at),
        Schema::Array(inner)
        | Schema::Map(inner)
        | Schema::PerItem(inner)
        | Schema::PerPair(inner)
        | Schema::Deferred(inner) => inner_parameters(inner, at),
        Schema::OneOf(choices) => choices.iter().for_each(|choice| inner_parameters(choice, at)),
        _ => {}
    }
}

#[test]
fn whole_numbers_may_be_written_with_a_point() {
    let schema = Schema::Integer { min: 1, max: 5 };
    for (text, fits) in [
        ("1", true),
        ("5.0", true),
        ("5e0", true),
        ("1.5", false),
        ("6.0", false),
        ("\"1\"", false),
    ] {
        assert_eq!(schema.fits(&json(text, "a number")), fits, "{text}");
    }
}

#[test]
fn every_type_has_an_example() {
    let without = node_types()
        .iter()
        .filter(|node_type| node_type.examples.is_empty());
    let without: Vec<&str> = without.map(|node_type| node_type.name).collect();
    assert!(without.is_empty(), "{without:?}");
}

#[test]
fn examples_fit_their_types() {
    for (node_type, example) in examples() {
        let at = format!("{}: {}", node_type.name, example.title);
        let parameters = json(example.parameters, &at);
        assert!(
            fields_fit(node_type.parameters, parameters.as_object().unwrap()),
            "{at}: the parameters don't fit"
        );
        json(example.input, &at);
        let output = json(example.output, &at);
        let mut ports = output_ports(node_type, &parameters);
        // A failure, by the port that `onError: "branch"` adds; and what a Return gives, which has no port.
        ports.push("error".to_owned());
        if node_type.role == Role::Return {
            ports.push("return".to_owned());
        }
        for port in output
            .as_object()
            .unwrap_or_else(|| panic!("{at}: no object of ports"))
            .keys()
        {
            assert!(ports.contains(port), "{at}: no port {port} among {ports:?}");
        }
    }
}

/// Types that ask for the run's random numbers, which are others here.
const RANDOM: &[&str] = &["Uuid", "Random"];

/// Those with an expression are for the tests that have a compiler.
#[test]
fn examples_without_expressions_come_out_as_they_say() {
    let mut executed = 0;
    for (node_type, example) in examples() {
        // The JavaScript engine is not here either.
        let needs_a_run = node_type.needs_engine || RANDOM.contains(&node_type.name);
        let implemented = lookup(node_type.name).is_some();
        if example.parameters.contains("{{") || !node_type.effects.is_empty() || needs_a_run || !implemented {
            continue;
        }
        let at = format!("{}: {}", node_type.name, example.title);
        assert_eq!(
            rounded(&left(node_type, example, &at)),
            rounded(&json(example.output, &at)),
            "{at}"
        );
        executed += 1;
    }
    assert!(executed >= 15, "only {executed} examples were executed");
}

/// What leaves a node, by port; its failure by `error`.
fn left(node_type: &NodeType, example: &Example, at: &str) -> Json {
    let ports = match node_type.inputs.len() {
        0 | 1 => vec![Some(value(example.input))],
        _ => inputs(node_type, example),
    };
    let mut fake = Fake {
        ports,
        ..Fake::default()
    };
    match outcome(&mut fake, node_type.name, example.parameters) {
        Ok(Outcome::Emit(emission)) => {
            let ports = output_ports(node_type, &json(example.parameters, at));
            let emitted = emission.0.into_iter();
            let by_name =
                emitted.map(|(port, value)| (ports[port as usize].clone(), json(&value.to_json(), at)));
            Json::Object(by_name.collect())
        }
        Ok(other) => panic!("{at}: {other:?}"),
        Err(failure) => {
            json!({"error": {"error": {"code": failure.code.to_string(), "message": failure.message}}})
        }
    }
}

fn examples() -> impl Iterator<Item = (&'static NodeType, &'static Example)> {
    node_types()
        .iter()
        .flat_map(|node_type| node_type.examples.iter().map(move |example| (node_type, example)))
}

fn inputs(node_type: &NodeType, example: &Example) -> Vec<Option<heddle_values::Value>> {
    let by_port = json(example.input, node_type.name);
    let port = |name: &str| by_port.get(name).map(|input| value(&input.to_string()));
    node_type.inputs.iter().map(|input| port(input.name)).collect()
}

fn output_ports(node_type: &NodeType, parameters: &Json) -> Vec<String> {
    match node_type.outputs {
        Outputs::Fixed(ports) => ports.iter().map(|port| port.name.to_owned()).collect(),
        Outputs::SwitchCases => {
            let cases = parameters["cases"].as_array().unwrap();
            let names = cases.iter().map(|case| case["name"].as_str().unwrap().to_owned());
            names.chain(["default".to_owned()]).collect()
        }
    }
}

/// Numbers as doubles, since 1 and 1.0 are the same here, and of UUIDs only the version.
fn rounded(value: &Json) -> Json {
    match value {
        Json::Number(number) => number.as_f64().map_or(Json::Null, Json::from),
        Json::String(text) if is_uuid(text) => format!("UUID of version {}", &text[14..15]).into(),
        Json::Array(items) => items.iter().map(rounded).collect(),
        Json::Object(fields) => Json::Object(
            fields
                .iter()
                .map(|(name, field)| (name.clone(), rounded(field)))
                .collect(),
        ),
        other => other.clone(),
    }
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}
