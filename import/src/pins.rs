//! Pinned data as a test of the pattern: the trigger's is the event, that of other nodes is pinned.

use crate::built::{Drawn, DrawnNode, Kind};
use crate::kinds::is_trigger;
use crate::workflow::Workflow;
use heddle_catalogue::Role;
use serde_json::{Map, Value, json};

/// Bytes of a test, a little below what the service takes.
const TEST_BYTES_MAX: usize = 200 << 10;

/// The tests, in the form of the API.
pub(crate) fn tests(workflow: &Workflow, drawn: &Drawn) -> Vec<Value> {
    let mut pins = Map::new();
    let (mut trigger, mut event) = (None, Value::Null);
    for (name, items) in &workflow.pins {
        let Some(node) = workflow.nodes.iter().find(|node| node.name == *name) else {
            continue;
        };
        let Some(of_name) = drawn.nodes.iter().find(|one| one.label == *name) else {
            continue;
        };
        let is_start = |one: &&DrawnNode| {
            one.owner == of_name.owner && matches!(one.kind.role(), Some(Role::Trigger(_)))
        };
        let start = drawn.nodes.iter().find(is_start).unwrap_or(of_name);
        let Some(value) = value(items) else { continue };
        match is_trigger(&node.kind) {
            true if trigger.is_none() => {
                trigger = Some(start.id.clone());
                // What n8n's trigger gives is the event, or what another node makes of it.
                match start.id == of_name.id {
                    true => event = value,
                    false => {
                        pins.insert(of_name.id.clone(), value);
                    }
                }
            }
            true => {}
            false => {
                // What calls another pattern would do so before the node that has the name.
                let is_call = |one: &&DrawnNode| {
                    one.owner == of_name.owner && one.kind == Kind::Standard("CallPattern")
                };
                let calls = drawn.nodes.iter().filter(is_call);
                pins.extend(calls.map(|one| (one.id.clone(), value.clone())));
                pins.insert(of_name.id.clone(), value);
            }
        }
    }
    if trigger.is_none() && pins.is_empty() {
        return Vec::new();
    }
    let mut test = json!({"name": "Pinned data", "event": event, "pins": pins});
    if let Some(trigger) = trigger {
        test["triggerNodeId"] = trigger.into();
    }
    if test.to_string().len() > TEST_BYTES_MAX {
        Vec::new()
    } else {
        vec![test]
    }
}

/// Items as a value: one by itself, several as a list.
fn value(items: &Value) -> Option<Value> {
    let json = |item: &Value| item.get("json").unwrap_or(item).clone();
    match items.as_array().map(Vec::as_slice) {
        Some([]) | None => None,
        Some([only]) => Some(json(only)),
        Some(several) => Some(several.iter().map(json).collect()),
    }
}
