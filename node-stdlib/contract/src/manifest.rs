//! What a compiled pattern says of itself: the `heddle` custom section of its module.
//!
//! The host shows it, compares it between versions and enforces it: a right that is not listed is not granted.
//! It comes back from clients with the module, so a reader trusts its shape only after parsing it here.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Fuel of a compute second, about what a processor uses in a second: the unit in which people are told of fuel. It is the same on
/// every machine, so whether a run has enough never depends on where it executes.
pub const FUEL_PER_COMPUTE_SECOND: u64 = 5_000_000_000;

/// The manifest; JSON with camelCase names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Manifest {
    /// The least [`crate::abi::ABI_VERSION`] of a guest that can run the module.
    pub abi_version: u32,
    /// Nodes by plan index.
    pub nodes: Vec<Node>,
    /// Nodes at which a run can start, in graph order.
    pub triggers: Vec<Trigger>,
    /// For each compiled function by number: what it was compiled from.
    pub functions: Vec<Function>,
    /// Components of definitions, by the number by which their nodes name them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<Component>,
    /// What the pattern may do.
    pub rights: Rights,
    /// Names of the variables that its expressions read, as far as they are written out; sorted. They are no right: a run sees
    /// all variables of its environment. `None`: the compiler did not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variables: Option<Vec<String>>,
    /// The pattern's own settings.
    pub settings: Settings,
    /// Whether node traces were compiled in.
    pub trace: bool,
}

/// A node of the plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Node {
    /// Id in the graph; nodes of an inlined composite have `outer/inner`.
    pub id: String,
    /// Type name.
    #[serde(rename = "type")]
    pub node_type: String,
    /// Label, if the node has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Names of the output ports by index.
    pub outputs: Vec<String>,
    /// Whom it asks by a form, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asks: Option<Asks>,
}

/// Whom a node asks that waits for a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Asks {
    /// Whoever has sent the form before.
    Sender,
    /// Whoever is given its URL.
    Others,
}

/// A node at which a run can start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Trigger {
    /// Plan index, the argument of `run`.
    pub index: u32,
    /// Id in the graph.
    pub node_id: String,
    /// Type name, for example `OnWebhook`.
    #[serde(rename = "type")]
    pub node_type: String,
    /// Parameters as they were given; those of triggers are literal.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub parameters: Map<String, Value>,
    /// The requests by which its service is told to send to the webhook; empty: nobody tells it.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub subscription: Map<String, Value>,
    /// Whether a RespondToWebhook can be reached from it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub responds: bool,
    /// Whether a node can be reached from it that asks whoever has sent the form before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub has_steps: bool,
}

/// A compiled function: of a node as a whole, or of one parameter that is evaluated later or for each item.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Function {
    /// Plan index of the node.
    pub node: u32,
    /// Parameter path such as `by[0].value`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter: Option<String>,
}

/// A component; its bytes are a custom section of the module.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Component {
    /// Name of its definition.
    #[serde(rename = "type")]
    pub node_type: String,
    /// SHA-256 in hexadecimal digits.
    pub sha256: String,
    /// Size.
    pub bytes: usize,
    /// Hosts that it may send requests to; `*` is any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
}

/// What the pattern may do. Sorted, without duplicates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rights {
    /// Effect kinds: `http`, `hmac`, `sleep`, ….
    pub effects: Vec<String>,
    /// Secret names.
    pub secrets: Vec<String>,
    /// Connection names.
    pub connections: Vec<String>,
    /// Hosts of HttpRequest URLs that are literal (`api.example.com`, `localhost:8080`); `*` when one is computed.
    pub hosts: Vec<String>,
    /// Patterns that it calls.
    pub patterns: Vec<String>,
    /// Whether it has code for the JavaScript engine.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub javascript: bool,
}

/// `settings` of the graph.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    /// Wall time of a run in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Linear memory of a run, in MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_mb: Option<u64>,
    /// What a run may compute, in [`FUEL_PER_COMPUTE_SECOND`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compute_seconds: Option<u64>,
    /// Effects that a run may start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_effects: Option<u64>,
    /// Retry of the whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// Pattern to run when this one has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_pattern_id: Option<String>,
    /// What becomes of an expression that throws.
    #[serde(skip_serializing_if = "Expressions::is_strict")]
    pub expressions: Expressions,
    /// Whether lists of items travel along the edges, and nodes execute for each of them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub items: bool,
}

/// What becomes of an expression that throws.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Expressions {
    /// Its node fails.
    #[default]
    Strict,
    /// It is `undefined`, as in n8n.
    Lenient,
}

impl Expressions {
    fn is_strict(&self) -> bool {
        *self == Expressions::Strict
    }
}

/// A retry policy: waits `backoff_ms * factor^(attempt - 1)` after each failed attempt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Retry {
    /// Attempts in all, 1 = no retry.
    pub max_attempts: u32,
    /// First wait in milliseconds.
    pub backoff_ms: u64,
    /// Growth of the wait.
    pub factor: f64,
}
