//! An operation of a service: the request that a node of its type is, as data.

use serde_json::{Map, Value};

/// What a node of the type sends.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// Whose it is: `Slack`.
    pub service: String,
    /// The page on which the service describes it.
    pub reference: String,
    /// HttpRequest's parameters, but for `connection`. `$input` in their expressions are the node's own parameters; a
    /// value that is nothing but one of them is left out where that is not given.
    pub request: Map<String, Value>,
    /// A request of the same form that is sent first. What it gives is `$input.found` in the expressions of `request`.
    pub find: Option<Map<String, Value>>,
    pub recorded: Recorded,
}

/// An execution that a test holds the operation to.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// The node's parameters, but for `connection`.
    pub parameters: Map<String, Value>,
    /// What arrives at the service: `method`, `path` (with the query), and if they are there `headers` and `body`.
    pub request: Value,
    /// The body that the service answers.
    pub response: Value,
    /// The same of the request that finds something first: what arrives, and the answer.
    pub find: Option<(Value, Value)>,
    /// What the node gives.
    pub output: Value,
}
