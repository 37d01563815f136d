//! Static data: what code keeps from run to run in n8n, for the workflow or for its node. Here `keyValue` keeps it for the pattern.

use crate::room::is_within;
use crate::scene::Scene;
use serde_json::{Map, Value};

/// What code calls it, in Code nodes with a `$` before it.
pub(super) const NAME: &str = "getWorkflowStaticData";
/// The function around the user's, which reads before and writes behind it what has changed, whether the code fails or not.
pub(super) const AROUND: &str = "withStaticData";
/// Bytes of what n8n has kept so far, which becomes a part of the code.
const KEPT_BYTES_MAX: usize = 16 << 10;
/// Bytes of a key, of which KeyValue takes somewhat more.
const KEY_BYTES_MAX: usize = 400;

/// What code needs that has static data.
pub(super) struct Statics {
    /// Declares the function around it.
    pub declared: String,
    /// Whether n8n has kept more than becomes a part of the code.
    pub is_left_out: bool,
}

/// What a node's code needs; none if it has no static data. Or why it can't have it.
pub(super) fn of(scene: &Scene<'_>, code: &str) -> Result<Option<Statics>, &'static str> {
    let kinds = kinds(code);
    if kinds.is_empty() {
        return Ok(None);
    }
    let name = &scene.node.name;
    if name.len() > KEY_BYTES_MAX {
        return Err("the node's name is too long to be the key of its static data");
    }
    let (mut keys, mut kept, mut is_left_out) = (Map::new(), Map::new(), false);
    for kind in kinds {
        let (key, in_n8n) = match kind {
            "global" => ("n8n static data".to_owned(), "global".to_owned()),
            _ => (format!("n8n static data of {name}"), format!("node:{name}")),
        };
        let known = scene.workflow.static_data.get(&in_n8n);
        let known = known.filter(|known| known.is_object());
        // Every node may ask for what the workflow has.
        let written = known.filter(|known| is_within(known, KEPT_BYTES_MAX));
        let written = written.map(Value::to_string);
        let written = written.filter(|written| written.len() <= KEPT_BYTES_MAX);
        is_left_out |= known.is_some() && written.is_none();
        keys.insert(kind.to_owned(), key.into());
        kept.insert(kind.to_owned(), written.unwrap_or_else(|| "{}".to_owned()).into());
    }
    Ok(Some(Statics {
        declared: declared(&keys.into(), &kept.into()),
        is_left_out,
    }))
}

/// Which kinds of static data code may ask for: for the workflow, for the node. What is computed may be either.
fn kinds(code: &str) -> Vec<&'static str> {
    let calls = || code.split(NAME).skip(1).map(str::trim_start);
    let is_only = |call: &str, kind: &str| {
        let argument = call.strip_prefix('(').unwrap_or_default().trim_start();
        ["'", "\"", "`"]
            .iter()
            .any(|quote| argument.starts_with(&format!("{quote}{kind}{quote}")))
    };
    let may_be = |kind: &str, other: &str| calls().any(|call| is_only(call, kind) || !is_only(call, other));
    [("global", "node"), ("node", "global")]
        .into_iter()
        .filter(|&(kind, other)| may_be(kind, other))
        .map(|(kind, _)| kind)
        .collect()
}

/// As in n8n, what has not changed is not written, so that a run which only reads takes nothing back.
fn declared(keys: &Value, kept: &Value) -> String {
    format!(
        "const {AROUND} = async (work) => {{
  const keys = {keys};
  const kept = {kept};
  const data = {{}};
  for (const [kind, key] of Object.entries(keys)) {{
    const found = await keyValue.get(key);
    if (found !== null) kept[kind] = JSON.stringify(found);
    data[kind] = JSON.parse(kept[kind]);
  }}
  try {{
    return await work((kind) => {{
      if (!Object.hasOwn(data, kind)) throw new Error(\"Unknown context type. Only `global` and `node` are supported.\");
      return data[kind];
    }});
  }} finally {{
    for (const [kind, key] of Object.entries(keys)) {{
      const now = JSON.stringify(data[kind]);
      if (now !== kept[kind]) await keyValue.set(key, JSON.parse(now));
    }}
  }}
}};
"
    )
}
