//! An operation's parameters while they are collected from n8n's.

use crate::scene::Scene;
use crate::workflow::Node;
use serde_json::{Map, Value};

/// Parameters, and what is said of others.
pub(super) struct Call<'s, 'w> {
    pub scene: &'s Scene<'w>,
    pub parameters: Map<String, Value>,
    /// First names of n8n's parameters that have found their place.
    pub used: Vec<&'s str>,
    pub remarks: Vec<(&'static str, String)>,
    /// The node type, if it is another one than the operation usually becomes.
    pub node_type: Option<&'static str>,
}

/// What has no translation after all.
pub(super) type Refused = &'static str;

impl<'s> Call<'s, '_> {
    pub fn node(&self) -> &'s Node {
        self.scene.node
    }

    /// A parameter at a dotted path, without its locator; none if it is not given.
    pub fn given(&mut self, path: &'s str) -> Option<&'s Value> {
        let mut names = path.split('.');
        let first = names.next()?;
        let start = self.scene.node.parameters.get(first)?;
        let value = names.try_fold(start, |value, name| value.get(name))?;
        let value = value.get("__rl").and(value.get("value")).unwrap_or(value);
        self.used.push(first);
        (!value.is_null() && value != "").then_some(value)
    }

    pub fn put(&mut self, name: &str, value: Value) {
        self.parameters.insert(name.to_owned(), value);
    }

    /// Takes a parameter over as it is.
    pub fn take(&mut self, name: &str, paths: &'static str) {
        let found = paths.split('|').find_map(|path| self.given(path));
        if let Some(value) = found {
            let value = self.scene.value(&identifier(value));
            self.put(name, value);
        }
    }

    pub fn differs(&mut self, code: &'static str, message: impl Into<String>) {
        self.remarks.push((code, message.into()));
    }
}

/// The id in the address of a document, folder or page.
pub(in crate::table) fn identifier(value: &Value) -> Value {
    let Some(address) = value.as_str().filter(|text| text.starts_with("https://")) else {
        return value.clone();
    };
    let path = address.split(['?', '#']).next().unwrap_or_default();
    let of_google = ["/d/", "/folders/"].iter().find_map(|mark| path.split_once(mark));
    let id = match of_google {
        Some((_, rest)) if address.contains(".google.com/") => rest.split('/').next(),
        _ if address.contains("notion.so/") => path.rsplit(['/', '-']).next(),
        _ => None,
    };
    id.map_or_else(|| value.clone(), Value::from)
}
