//! Values that code keeps in Node-RED's contexts: which they are, and where KeyValue keeps them.

use serde_json::{Value, json};

/// Values of one node: each is read before and perhaps written after its code.
const KEPT_MAX: usize = 5;
/// Bytes of a key, of which KeyValue takes somewhat more.
const KEY_BYTES_MAX: usize = 400;

/// A value that is kept from run to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    /// `flow`, `global` or `context`.
    scope: &'static str,
    name: String,
    /// Whether it is written.
    pub is_set: bool,
}

/// What code reads and writes with `flow`, `global` and `context`.
pub(crate) const STORES: &str = "const values = new Map();
const store = (scope) => ({
  get: (name) => values.get(`${scope} ${name}`),
  set: (name, value, ...others) => {
    if (others.length > 0) throw new Error(\"values are kept in one store only\");
    values.set(`${scope} ${name}`, value);
  },
});
const flow = store(\"flow\");
const global = store(\"global\");
const context = { ...store(\"context\"), flow, global };
";

const SCOPES: &[&str] = &["flow", "global", "context"];

impl Kept {
    /// What `STORES` call it.
    pub fn key(&self) -> String {
        format!("{} {}", self.scope, self.name)
    }

    /// The parameters of a KeyValue that reads it. `owner` tells nodes apart.
    pub fn get(&self, owner: &str) -> Value {
        let (key, scope) = match self.scope {
            "flow" => (self.name.clone(), "pattern"),
            "global" => (self.name.clone(), "workspace"),
            _ => (format!("{owner} {}", self.name), "pattern"),
        };
        json!({"operation": "get", "key": crate::expression::literal(&key), "scope": scope})
    }

    /// The parameters of one that writes it.
    pub fn set(&self, owner: &str, value: &str) -> Value {
        let mut parameters = self.get(owner);
        parameters["operation"] = "set".into();
        parameters["value"] = value.into();
        parameters
    }
}

/// The values that code names; or why they can't be kept.
pub(crate) fn kept(code: &str, owner: &str) -> Result<Vec<Kept>, String> {
    let mut found: Vec<Kept> = Vec::new();
    for scope in SCOPES.iter().copied() {
        for (at, _) in code.match_indices(scope) {
            let (before, behind) = (code.get(..at), code.get(at + scope.len()..));
            let Some(behind) = behind.and_then(|behind| behind.strip_prefix('.')) else {
                continue;
            };
            if before.is_some_and(|before| before.ends_with(is_part)) {
                continue;
            }
            let inner = ["flow", "global"].into_iter().find_map(|inner| {
                let behind = behind.strip_prefix(inner)?.strip_prefix('.')?;
                Some((inner, behind))
            });
            let (scope, behind) = inner.filter(|_| scope == "context").unwrap_or((scope, behind));
            add(&mut found, read(scope, behind)?);
            if found.len() > KEPT_MAX {
                return Err(format!("it keeps more than {KEPT_MAX} values in contexts"));
            }
        }
    }
    let bytes = |kept: &Kept| kept.get(owner)["key"].as_str().map_or(0, str::len);
    match found.iter().any(|kept| bytes(kept) > KEY_BYTES_MAX) {
        true => Err("a value that it keeps has a very long name".to_owned()),
        false => Ok(found),
    }
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$' | '.')
}

fn add(found: &mut Vec<Kept>, one: Kept) {
    let known = found
        .iter_mut()
        .find(|known| known.scope == one.scope && known.name == one.name);
    match known {
        Some(known) => known.is_set |= one.is_set,
        None => found.push(one),
    }
}

/// `get("name")` or `set("name", `.
fn read(scope: &'static str, code: &str) -> Result<Kept, String> {
    let plain = || -> Option<Kept> {
        let (is_set, rest) = match code.strip_prefix("get(") {
            Some(rest) => (false, rest),
            None => (true, code.strip_prefix("set(")?),
        };
        let rest = rest.trim_start();
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let (name, behind) = rest.get(1..)?.split_once(quote)?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let ends = behind.trim_start().starts_with(if is_set { ',' } else { ')' });
        let name = (ends && !name.is_empty() && name.chars().all(is_name)).then(|| name.to_owned())?;
        Some(Kept { scope, name, is_set })
    };
    plain().ok_or_else(|| {
        format!("it uses `{scope}` in other ways than by `get` and `set` with a plain name: keep such values with KeyValue")
    })
}
