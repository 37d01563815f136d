//! What can be written in an expression, for editors: names, functions and methods with their arguments and a line each, and
//! what other systems call by another name. Tests compare the lists with what is compiled.

mod date_times;
mod entry;
mod methods;
mod names;

pub use entry::{NameEntry, Scope};

use crate::expression::{foreign_methods, foreign_names};
use entry::Line;
use serde::Serialize;

/// All that can be written.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Vocabulary {
    /// Names that stand for values.
    pub names: Vec<NameEntry>,
    pub functions: Vec<Callable>,
    /// Methods and properties by the type of the value that has them.
    pub types: Vec<TypeEntry>,
    /// Names that other systems have, and what to write instead.
    pub foreign_names: Vec<Foreign>,
    /// Methods that only n8n has, and what to write instead.
    pub foreign_methods: Vec<Foreign>,
}

/// A function or a method.
#[derive(Clone, Debug, Serialize)]
pub struct Callable {
    /// As it is written.
    pub name: &'static str,
    /// Its arguments; those with `?` may be left out, `...` stands before one that may be repeated.
    pub arguments: Vec<&'static str>,
    /// What it gives.
    pub about: &'static str,
}

/// What values of a type have.
#[derive(Clone, Debug, Serialize)]
pub struct TypeEntry {
    /// `any`: whatever has no method of the name itself.
    #[serde(rename = "type")]
    pub name: &'static str,
    pub methods: Vec<Callable>,
    /// Properties, with what they are.
    pub properties: Vec<Property>,
}

/// A property of values.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Property {
    /// As it is written.
    pub name: &'static str,
    pub about: &'static str,
}

/// What another system has.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Foreign {
    /// As it is written there.
    pub name: &'static str,
    pub system: &'static str,
    /// What to write here.
    pub instead: &'static str,
}

/// All that can be written in expressions.
pub fn vocabulary() -> Vocabulary {
    let system = |(name, system, instead)| Foreign {
        name,
        system,
        instead,
    };
    let types = methods::TYPES.iter().chain(date_times::TYPES);
    Vocabulary {
        names: names::NAMES.to_vec(),
        functions: [names::FUNCTIONS, date_times::FUNCTIONS]
            .into_iter()
            .flatten()
            .map(callable)
            .collect(),
        types: types.map(type_entry).collect(),
        foreign_names: foreign_names().map(system).collect(),
        foreign_methods: foreign_methods()
            .map(|(name, instead)| system((name, "n8n", instead)))
            .collect(),
    }
}

fn type_entry((name, methods, properties): &(&'static str, &[Line], &[Line])) -> TypeEntry {
    let property = |(name, about): &Line| Property { name, about };
    TypeEntry {
        name,
        methods: methods.iter().map(callable).collect(),
        properties: properties.iter().map(property).collect(),
    }
}

fn callable((signature, about): &Line) -> Callable {
    let (name, arguments) = signature.split_once('(').unwrap_or((signature, ")"));
    let arguments = arguments.trim_end_matches(')').split(", ");
    Callable {
        name,
        arguments: arguments.filter(|argument| !argument.is_empty()).collect(),
        about,
    }
}
