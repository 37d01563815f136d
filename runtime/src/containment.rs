//! Runs that must not reach outside, or not use secrets: which effects would, and how such a run ends.

use heddle_catalogue::{Reach, reach};
use heddle_contract::manifest::Manifest;
use heddle_sandbox::Stop;
use serde::Deserialize;

/// Code of the error with which a contained run ends.
pub const NOT_PINNED: &str = "NOT_PINNED";

/// Whether effects of a kind read or change something outside of the run.
pub fn reaches_outside(kind: &str) -> bool {
    reach(kind) == Reach::Outside
}

/// Whether an effect that a run asks for reads or changes something outside of the run.
pub fn is_outside(manifest: &Manifest, kind: &str, request: Option<&str>) -> bool {
    #[derive(Deserialize)]
    struct Named {
        component: usize,
    }
    if reach(kind) != Reach::Requests {
        return reaches_outside(kind);
    }
    // Its definition lists the hosts to which it may send.
    let named = request.and_then(|request| serde_json::from_str::<Named>(request).ok());
    let component = named.and_then(|named| manifest.components.get(named.component));
    component.is_none_or(|component| !component.hosts.is_empty())
}

/// Ends the run before the effect begins.
pub fn stop(kind: &str, node_id: Option<&str>) -> Stop {
    Stop::new(
        NOT_PINNED,
        format!(
            "{} would reach outside (effect `{kind}`), which this run may not do",
            node(node_id)
        ),
        "Pin the node's output; tests on a server can also set `allowEffects`.",
    )
}

/// Ends the run before an effect begins that would use a secret which the run must not have: a signature can be as good as the key.
pub fn stop_at_secret(kind: &str, node_id: Option<&str>) -> Stop {
    Stop::new(
        NOT_PINNED,
        format!(
            "{} would use a secret (effect `{kind}`) of an environment that gives its secrets to approved versions only",
            node(node_id)
        ),
        "Pin the node's output, or give the test another environment.",
    )
}

fn node(node_id: Option<&str>) -> String {
    node_id.map_or_else(|| "A node".to_owned(), |id| format!("The node `{id}`"))
}
