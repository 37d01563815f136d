//! What is wrong with a service's file, and reading its fields so that all of it is said.

use serde_json::{Map, Value};

/// What is wrong with a file, each with its place.
#[derive(Debug, Default)]
pub(super) struct Problems(Vec<String>);

impl Problems {
    /// What was read, if nothing is wrong.
    pub fn or<T>(self, read: T) -> Result<T, Vec<String>> {
        if self.0.is_empty() { Ok(read) } else { Err(self.0) }
    }

    pub fn add(&mut self, at: &str, what: &str) {
        self.0.push(format!("{at}: {what}"));
    }

    pub fn unknown(&mut self, fields: &Map<String, Value>, known: &[&str], at: &str) {
        for name in fields.keys().filter(|name| !known.contains(&name.as_str())) {
            self.add(at, &format!("`{name}` is unknown"));
        }
    }

    /// Text that must be there.
    pub fn text(&mut self, fields: &Map<String, Value>, name: &str, at: &str) -> String {
        let text = fields.get(name).and_then(Value::as_str).unwrap_or_default();
        if text.is_empty() {
            self.add(at, &format!("`{name}` must be a text"));
        }
        text.to_owned()
    }

    pub fn flag(&mut self, fields: &Map<String, Value>, name: &str, at: &str) -> bool {
        let value = fields.get(name).unwrap_or(&Value::Bool(false));
        value.as_bool().unwrap_or_else(|| {
            self.add(at, &format!("`{name}` must be true or false"));
            false
        })
    }

    pub fn object(&mut self, fields: &Map<String, Value>, name: &str, at: &str) -> Map<String, Value> {
        match fields.get(name) {
            Some(Value::Object(object)) => object.clone(),
            _ => {
                self.add(at, &format!("`{name}` must be an object"));
                Map::new()
            }
        }
    }

    pub fn words(&mut self, fields: &Map<String, Value>, at: &str) -> Vec<&'static str> {
        let words = match fields.get("words") {
            None => return Vec::new(),
            Some(words) => words.as_array(),
        };
        let words: Option<Vec<&'static str>> = words.and_then(|words| {
            let words = words.iter().map(|word| word.as_str().map(kept));
            words.collect()
        });
        words.unwrap_or_else(|| {
            self.add(at, "`words` must be a list of texts");
            Vec::new()
        })
    }
}

/// A text for good.
pub(super) fn kept(text: &str) -> &'static str {
    Box::leak(Box::from(text))
}
