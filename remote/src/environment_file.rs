//! What an environment's file says: its variables, the schedules that were set for its deployments, and which secrets it needs,
//! by name alone.

use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

const FIELDS: [&str; 4] = ["name", "variables", "schedules", "secrets"];

/// An environment with all of its fields.
///
/// # Errors
///
/// What is wrong with it.
pub fn parsed(given: &Value) -> Result<Value, String> {
    let what = "this is not an environment: it must be an object with `name`";
    let members = given.as_object().ok_or(what)?;
    let name = members.get("name").and_then(Value::as_str);
    let name = name.filter(|name| !name.is_empty()).ok_or(what)?;
    if let Some(unknown) = members.keys().find(|name| !FIELDS.contains(&name.as_str())) {
        return Err(format!(
            "an environment has no `{unknown}`: there are {}",
            FIELDS.join(", ")
        ));
    }
    let object = |field: &str| match members.get(field) {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(found)) => Ok(found.clone()),
        Some(_) => Err(format!("`{field}` must be an object")),
    };
    let variables = object("variables")?;
    let is_structure = |value: &Value| value.is_object() || value.is_array();
    if let Some((name, _)) = variables.iter().find(|(_, value)| is_structure(value)) {
        return Err(format!(
            "the variable `{name}` must be a string, a number, a boolean or null"
        ));
    }
    let mut schedules = Map::new();
    for (pattern, schedule) in object("schedules")? {
        let cron = schedule["cron"].as_str();
        let cron = cron.ok_or_else(|| format!("the schedule of `{pattern}` needs `cron`, a text"))?;
        let timezone = schedule["timezone"].as_str().unwrap_or("UTC");
        let schedule = json!({"cron": cron, "timezone": timezone});
        schedules.insert(pattern, schedule);
    }
    let secrets = match members.get("secrets") {
        None | Some(Value::Null) => BTreeSet::new(),
        Some(Value::Array(names)) => names
            .iter()
            .map(|name| name.as_str().map(str::to_owned))
            .collect::<Option<BTreeSet<String>>>()
            .ok_or("`secrets` must be a list of names: values of secrets are never in files")?,
        Some(_) => {
            return Err("`secrets` must be a list of names: values of secrets are never in files".to_owned());
        }
    };
    Ok(json!({"name": name, "variables": variables, "schedules": schedules, "secrets": secrets}))
}

/// What of an environment can be pushed: all but the names of secrets.
pub fn settings(document: &Value) -> Value {
    let mut settings = document.clone();
    if let Some(members) = settings.as_object_mut() {
        members.shift_remove("secrets");
    }
    settings
}

/// The names of the secrets that it lists.
pub fn listed_secrets(document: &Value) -> BTreeSet<String> {
    let names = document["secrets"].as_array().into_iter().flatten();
    names.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// An environment that lists another one's secrets besides its own.
pub fn with_secrets(document: &Value, other: &Value) -> Value {
    let mut secrets = listed_secrets(document);
    secrets.extend(listed_secrets(other));
    let mut joined = document.clone();
    joined["secrets"] = json!(secrets);
    joined
}
