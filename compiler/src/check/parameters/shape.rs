//! Shapes of literals: which alternative is meant, and what is wanted in words.

use crate::diagnostic::list;
use heddle_catalogue::Schema;
use serde_json::Value;

/// The alternative that a literal fits, or the only one of its JSON kind, so that what is wrong inside is said.
pub(super) fn best(choices: &'static [Schema], value: &Value) -> Option<&'static Schema> {
    if let Some(choice) = choices.iter().find(|choice| choice.fits(value)) {
        return Some(choice);
    }
    let mut alike = choices.iter().filter(|choice| match choice {
        Schema::Array(_) => value.is_array(),
        Schema::Object(_) | Schema::Map(_) => value.is_object(),
        Schema::String | Schema::Enum(_) => value.is_string(),
        Schema::Number | Schema::Integer { .. } => value.is_number(),
        _ => false,
    });
    let first = alike.next();
    if alike.next().is_none() { first } else { None }
}

pub(super) fn takes_null(schema: &Schema) -> bool {
    match schema {
        Schema::Any => true,
        Schema::PerItem(inner) | Schema::PerPair(inner) | Schema::Deferred(inner) => takes_null(inner),
        Schema::OneOf(choices) => choices.iter().any(takes_null),
        _ => false,
    }
}

/// A schema in a few words.
pub(super) fn expected(schema: &Schema) -> String {
    match schema {
        Schema::Any => "any value".to_owned(),
        Schema::String => "text".to_owned(),
        Schema::Module => "the text of a JavaScript module".to_owned(),
        Schema::Number => "a number".to_owned(),
        Schema::Integer { min, max } if *max == i64::MAX => format!("a whole number from {min}"),
        Schema::Integer { min, max } => format!("a whole number from {min} to {max}"),
        Schema::Boolean => "true or false".to_owned(),
        Schema::Enum(names) => format!("one of {}", list(names.iter().copied())),
        Schema::Array(_) => "an array".to_owned(),
        Schema::Object(_) | Schema::Map(_) => "an object".to_owned(),
        Schema::PerItem(inner) | Schema::PerPair(inner) | Schema::Deferred(inner) => expected(inner),
        Schema::OneOf(choices) => {
            let mut words: Vec<String> = choices.iter().map(expected).collect();
            words.dedup();
            words.join(" or ")
        }
    }
}
