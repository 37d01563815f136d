//! Names for tests that are made from runs and events: their trigger, or the node that failed, and the time.

use heddle_compiler::compare::NODES_MAX;
use heddle_compiler::text;
use heddle_model::clock::Timestamp;
use heddle_runtime::RunError;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Characters of a label in a name.
const LABEL_CHARS_MAX: usize = 80;

/// For example `New order, 23 Nov 2026, 14:02:07 UTC`.
pub fn of_event(graph: &RawValue, trigger: &str, at: Timestamp) -> String {
    format!("{}, {}", label(graph, trigger), at.for_people())
}

/// For example `Charge card failed, 23 Nov 2026, 14:02:07 UTC`; a run that did not fail is called as its event.
pub fn of_run(graph: &RawValue, trigger: Option<&str>, error: Option<&RunError>, at: Timestamp) -> String {
    let what = match (error, trigger) {
        (Some(error), _) => match &error.node_id {
            Some(node) => format!("{} failed", label(graph, node)),
            None => format!("Failed with {}", error.code),
        },
        (None, Some(trigger)) => label(graph, trigger),
        (None, None) => "Run".to_owned(),
    };
    format!("{what}, {}", at.for_people())
}

/// What people call a node; of one in a composite, the composite's node.
fn label(graph: &RawValue, id: &str) -> String {
    let outer = id.split('/').next().unwrap_or(id);
    let [nodes] = text::pick(graph.get(), ["nodes"]).unwrap_or_default();
    let nodes = text::elements(nodes, NODES_MAX).unwrap_or_default();
    let found = nodes.into_iter().find_map(|node| {
        let [own, data] = text::pick(node.get(), ["id", "data"])?;
        let own = own.and_then(text::string)?;
        (own == id || own == outer).then_some(data)
    });
    let label = found.flatten().and_then(|data| {
        let [label] = text::pick(data.get(), ["label"])?;
        label
            .and_then(text::string)
            .filter(|label| !label.trim().is_empty())
    });
    let name = label.unwrap_or(Cow::Borrowed(id));
    name.chars().take(LABEL_CHARS_MAX).collect()
}
