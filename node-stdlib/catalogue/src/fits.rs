//! Whether a literal has the shape that a parameter takes.

use crate::node_type::{Parameter, Schema};
use serde_json::{Map, Value};

impl Schema {
    /// Whether a literal has this shape, as JSON Schema means it: `1.0` is a whole number. A text with an expression
    /// in it has any shape.
    pub fn fits(&self, value: &Value) -> bool {
        if value.as_str().is_some_and(|text| text.contains("{{")) {
            return true;
        }
        match self {
            Schema::Any => true,
            Schema::String | Schema::Module => value.is_string(),
            Schema::Number => value.is_number(),
            Schema::Integer { min, max } => value
                .as_f64()
                .is_some_and(|number| number.fract() == 0.0 && (*min as f64..=*max as f64).contains(&number)),
            Schema::Boolean => value.is_boolean(),
            Schema::Enum(words) => value.as_str().is_some_and(|text| words.contains(&text)),
            Schema::Array(inner) => value
                .as_array()
                .is_some_and(|items| items.iter().all(|item| inner.fits(item))),
            Schema::Map(inner) => value
                .as_object()
                .is_some_and(|fields| fields.values().all(|field| inner.fits(field))),
            Schema::Object(known) => value.as_object().is_some_and(|fields| fields_fit(known, fields)),
            Schema::PerItem(inner) | Schema::PerPair(inner) | Schema::Deferred(inner) => inner.fits(value),
            Schema::OneOf(choices) => choices.iter().any(|choice| choice.fits(value)),
        }
    }
}

/// Whether an object has all required fields, each of its shape, and no others.
pub fn fields_fit(known: &[Parameter], fields: &Map<String, Value>) -> bool {
    let each_fits = known.iter().all(|parameter| match fields.get(parameter.name) {
        Some(field) => parameter.schema.fits(field),
        None => !parameter.required,
    });
    each_fits
        && fields
            .keys()
            .all(|name| known.iter().any(|parameter| parameter.name == name))
}
