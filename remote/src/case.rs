//! A test's case as its file has it: fields in a fixed order, without those that are as they are by default.

use serde_json::{Map, Value, json};

/// The fields of a case, as people read them.
const FIELDS: [&str; 10] = [
    "name",
    "triggerNodeId",
    "environmentId",
    "startedAt",
    "seed",
    "allowEffects",
    "event",
    "pins",
    "expect",
    "ignore",
];

/// A case without what means nothing. What is not a field of cases stays, for whoever checks it to say so. `None`: it is not a case.
pub fn tidy(case: &Value) -> Option<Value> {
    let given = case.as_object()?;
    let known = FIELDS.iter().filter_map(|name| Some((*name, given.get(*name)?)));
    let is_default = |name: &str, value: &Value| {
        name != "name" && [json!(null), json!(false), json!({}), json!([])].contains(value)
            // The event is any value, and one that is left out is null.
            && (name != "event" || value.is_null())
    };
    let others = given.iter().map(|(name, value)| (name.as_str(), value));
    let others = others.filter(|(name, _)| !FIELDS.contains(name));
    let members: Map<String, Value> = known
        .filter(|(name, value)| !is_default(name, value))
        .chain(others)
        .map(|(name, value)| (name.to_owned(), value.clone()))
        .collect();
    members.contains_key("name").then_some(members.into())
}
