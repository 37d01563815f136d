//! What a form's parameters (an OnForm node's, or a further page's) say of it, and which answers they take. They are checked when a pattern is compiled;
//! what is wrong in them nevertheless takes less, never more. Knows nothing about requests and pages.

mod check;
mod field;

use field::text;
pub use field::{Choice, Field, Kind};
use serde_json::{Map, Value};

/// Values of the JSON that answers a form, or that a chat is sent, those within others included. In memory each takes many times
/// its bytes there.
pub const VALUES_MAX: usize = 20_000;
/// Fields that are read of a form, as many as the compiler takes.
const FIELDS_MAX: usize = 100;
/// Names without a field that are told.
const UNKNOWN_SHOWN: usize = 5;
const UNKNOWN_CHARS_SHOWN: usize = 64;

/// A page with fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Form {
    pub title: String,
    pub description: String,
    /// What the button says.
    pub button: String,
    /// What people read whose answers have arrived.
    pub thanks: String,
    /// Where they are taken instead.
    pub redirect: Option<String>,
    pub fields: Vec<Field>,
}

/// What is wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// The field's place in the form.
    pub field: usize,
    /// A sentence for whoever fills it in.
    pub message: String,
}

impl Field {
    /// Whether this is what it asks for, as people send it: texts and files, several in an array.
    pub fn takes(&self, sent: &Value) -> bool {
        check::value(self, Some(sent)).is_ok()
    }
}

impl Form {
    /// From a node's parameters.
    pub fn of(parameters: &Map<String, Value>) -> Self {
        let owned = |name: &str| text(parameters, name).map(str::to_owned);
        let fields = parameters.get("fields").and_then(Value::as_array);
        let fields = fields.map(Vec::as_slice).unwrap_or_default();
        Form {
            title: owned("title").unwrap_or_default(),
            description: owned("description").unwrap_or_default(),
            button: owned("button").unwrap_or_else(|| "Send".to_owned()),
            thanks: owned("thanks").unwrap_or_else(|| "Your answers have arrived.".to_owned()),
            redirect: owned("redirect"),
            fields: fields
                .iter()
                .take(FIELDS_MAX)
                .filter_map(Value::as_object)
                .filter_map(Field::of)
                .collect(),
        }
    }

    /// Checks answers that a program has sent as JSON: numbers for texts, and true or false for a box that is ticked or not. There
    /// are no files in it, since JSON can only claim to have some.
    pub fn check_json(&self, given: &Map<String, Value>) -> Result<Map<String, Value>, Vec<FieldError>> {
        let mut sent = Map::new();
        let mut mistakes = Vec::new();
        for (place, field) in self.fields.iter().enumerate() {
            match given.get(&field.name).map(|value| check::as_sent(field, value)) {
                Some(Ok(Some(value))) => drop(sent.insert(field.name.clone(), value)),
                Some(Ok(None)) | None => {}
                Some(Err(message)) => mistakes.push(FieldError {
                    field: place,
                    message,
                }),
            }
        }
        let others = match self.check(&sent) {
            Ok(values) if mistakes.is_empty() => return Ok(values),
            Ok(_) => Vec::new(),
            Err(others) => others,
        };
        for other in others {
            if mistakes.iter().all(|mistake| mistake.field != other.field) {
                mistakes.push(other);
            }
        }
        mistakes.sort_by_key(|mistake| mistake.field);
        Err(mistakes)
    }

    /// What a program is told that has sent names for which there is no field: they are mistyped, or meant for another form. Browsers
    /// send such names as well.
    pub fn unknown(&self, given: &Map<String, Value>) -> Option<String> {
        let is_field = |name: &str| self.fields.iter().any(|field| field.name == name);
        let shown = |name: &str| format!("`{}`", name.chars().take(UNKNOWN_CHARS_SHOWN).collect::<String>());
        let mut unknown = given.keys().filter(|name| !is_field(name));
        let first = unknown.by_ref().take(UNKNOWN_SHOWN).map(|name| shown(name));
        let names = first.collect::<Vec<_>>().join(", ");
        if names.is_empty() {
            return None;
        }
        let more = if unknown.next().is_some() {
            " and others"
        } else {
            ""
        };
        let fields: Vec<String> = self.fields.iter().map(|field| shown(&field.name)).collect();
        let known = match fields.is_empty() {
            true => "it has none".to_owned(),
            false => format!("its fields are {}", fields.join(", ")),
        };
        Some(format!("The form has no field {names}{more}: {known}."))
    }

    /// What is wrong, field by field, for a program.
    pub fn summary(&self, mistakes: &[FieldError]) -> String {
        let messages = mistakes.iter().filter_map(|mistake| {
            let field = self.fields.get(mistake.field)?;
            Some(format!("`{}`: {}", field.name, mistake.message))
        });
        messages.collect::<Vec<_>>().join(" ")
    }

    /// The fields that take files.
    pub fn file_fields(&self) -> impl Iterator<Item = &Field> {
        self.fields.iter().filter(|field| field.kind == Kind::File)
    }

    /// The values of the event, by name: what people have sent, as texts and files, each as its field has it.
    pub fn check(&self, given: &Map<String, Value>) -> Result<Map<String, Value>, Vec<FieldError>> {
        let mut values = Map::new();
        let mut mistakes = Vec::new();
        for (place, field) in self.fields.iter().enumerate() {
            match check::value(field, given.get(&field.name)) {
                Ok(value) => drop(values.insert(field.name.clone(), value)),
                Err(message) => mistakes.push(FieldError {
                    field: place,
                    message,
                }),
            }
        }
        match mistakes.is_empty() {
            true => Ok(values),
            false => Err(mistakes),
        }
    }
}

#[cfg(test)]
mod tests;
