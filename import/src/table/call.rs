//! Execute Sub-workflow: calls of the patterns that the called workflows became.

use crate::built::Translation;
use crate::expression::{literal, quoted};
use crate::scene::Scene;
use serde_json::{Value, json};

/// Without waiting, the items that came go on: they are those of its first step.
pub(super) fn call(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    let id = node.located("workflowId");
    let id = id.as_str().map(str::to_owned).unwrap_or_else(|| id.to_string());
    let own = id.contains("$workflow.id");
    let known = scene.calls.get(&id);
    let pattern = match (known, own) {
        (Some(pattern), _) => pattern.clone(),
        (None, true) => "{{ $run.patternId }}".to_owned(),
        (None, false) => literal(id.trim_start_matches('=')),
    };
    if scene.workflow.is_fragment && node.choice(&["source"], "database") == "parameter" {
        return Translation::stub(
            "the workflow that it calls is written within it and was not pasted: import it from a file, and call its pattern",
        );
    }
    if pattern.is_empty() || pattern == "null" || node.choice(&["source"], "database") != "database" {
        return Translation::stub("the workflow that it calls is missing, computed, in a file or at a URL");
    }
    let waits = node.flag(&["options", "waitForSubWorkflow"], true);
    // A single item is the input itself, so that patterns which know nothing of items can be called as well.
    let per_item = node.choice(&["mode"], "once") == "each" || !scene.many;
    let mut translation = Translation::default();
    if !waits {
        translation = translation.then("Transform", json!({"value": "{{ $input }}"}), true);
    }
    if let Some(inputs) = inputs(scene) {
        translation = translation.then("Transform", json!({ "value": inputs }), true);
    }
    let came = format!("$({})", quoted(&format!("{} (1)", node.name)));
    let (result, of_items) = match (waits, per_item) {
        // A pattern that returns nothing gives no item.
        (true, _) => ("{{ $input ?? [] }}".to_owned(), true),
        (false, true) => (format!("{{{{ {came}.item }}}}"), true),
        (false, false) => (format!("{{{{ {came}.all() }}}}"), false),
    };
    translation
        .then(
            "CallPattern",
            json!({"patternId": pattern, "wait": waits}),
            per_item,
        )
        .then("Transform", json!({ "value": result }), of_items)
        .differs_if(
            known.is_none() && !own,
            "pattern",
            "the called workflow was not imported with this one: name its pattern",
        )
        .differs(
            "call",
            "the called pattern must be deployed; the result is what its Return gives",
        )
}

/// What the called workflow gets of each item, if its trigger says what it takes.
fn inputs(scene: &Scene<'_>) -> Option<Value> {
    let inputs = scene.node.parameter(&["workflowInputs", "value"]);
    let is_given = inputs.as_object().is_some_and(|inputs| !inputs.is_empty());
    is_given.then(|| scene.value(inputs))
}
