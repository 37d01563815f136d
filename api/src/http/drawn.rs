//! How graphs and definitions are described to clients. They travel as text: the compiler reads them, and says more about
//! what is wrong in them than a schema could.

#![expect(dead_code, reason = "only describes what is kept as text")]

use utoipa::ToSchema;

/// A graph to compile. Fields that are not listed, such as positions, are ignored.
#[derive(ToSchema)]
#[schema(example = json!({"nodes": [{"id": "start", "type": "OnManual"}], "edges": []}))]
pub struct CompleteGraph {
    nodes: Vec<Node>,
    #[schema(required = false)]
    edges: Vec<Edge>,
    settings: Option<GraphSettings>,
}

/// A graph in which a node is looked at, while it is being drawn: that may be unfinished. Fields that are not listed, such as
/// parameters and settings, are ignored.
#[derive(ToSchema)]
#[schema(example = json!({"nodes": [{"id": "start", "type": "OnManual"}], "edges": []}))]
pub struct PreviewGraph {
    nodes: Vec<PreviewNode>,
    #[schema(required = false)]
    edges: Vec<PreviewEdge>,
}

/// A node, as far as others depend on it.
#[derive(ToSchema)]
struct PreviewNode {
    #[schema(example = "start")]
    id: String,
    /// Of the nodes before this one, a trigger (`On…`) gives the event.
    #[schema(required = false, example = "OnManual")]
    r#type: String,
    data: Option<PreviewNodeData>,
}

/// What of a node's data others depend on.
#[derive(ToSchema)]
struct PreviewNodeData {
    /// Name by which expressions refer to the node; without one, its id.
    #[schema(example = "Check the total")]
    label: Option<String>,
    /// With true, only the first item counts of a list that comes.
    #[schema(value_type = Option<Value>)]
    once: (),
}

/// An edge between two nodes, from whichever output.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
struct PreviewEdge {
    /// Node.
    #[schema(example = "start")]
    source: String,
    /// Node.
    #[schema(example = "answer")]
    target: String,
    /// Input port; without one, the first.
    target_handle: Option<String>,
}

/// A node.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
struct Node {
    #[schema(example = "start", pattern = "^[A-Za-z0-9_.:-]{1,64}$")]
    id: String,
    /// A standard node type, or the name of a definition.
    #[schema(example = "OnManual")]
    r#type: String,
    data: Option<NodeData>,
}

/// A node with its place on the canvas.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct DrawnNode {
    #[schema(example = "start")]
    id: String,
    /// A standard node type, or the name of a definition.
    #[schema(example = "OnManual")]
    r#type: String,
    position: Option<Position>,
    data: Option<NodeData>,
}

/// A place on the canvas.
#[derive(ToSchema)]
struct Position {
    #[schema(example = 200)]
    x: f64,
    #[schema(example = 0)]
    y: f64,
}

/// An edge with its id.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct DrawnEdge {
    #[schema(example = "e1")]
    id: Option<String>,
    /// Node.
    #[schema(example = "start")]
    source: String,
    /// Output port; without one, the first.
    source_handle: Option<String>,
    /// Node.
    #[schema(example = "answer")]
    target: String,
    /// Input port; without one, the first.
    target_handle: Option<String>,
}

/// What a node is set to do.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
struct NodeData {
    /// Name by which expressions refer to the node; without one, its id.
    #[schema(example = "Check the total")]
    label: Option<String>,
    /// Whether the node is skipped.
    disabled: Option<bool>,
    /// As the node's type describes them; a text with `{{ }}` is an expression.
    #[schema(value_type = Option<HashMap<String, Value>>)]
    parameters: (),
    /// What an error in the node does; default: `fail`.
    on_error: Option<ErrorHandling>,
    retry: Option<RetrySettings>,
    /// Time limit of one attempt, in milliseconds.
    #[schema(minimum = 1, maximum = 2_592_000_000_i64)]
    timeout_ms: Option<u64>,
    /// Whether the node executes once for each element of its input. Default: false; with `settings.items`, what the node's type says.
    each: Option<bool>,
    /// Whether only the first item counts of a list that comes.
    once: Option<bool>,
    /// Whether one empty item leaves the node rather than none.
    always: Option<bool>,
    /// Elements in progress at once, with `each`.
    #[schema(minimum = 1, maximum = 1_000)]
    concurrency: Option<u32>,
}

/// What an error in a node does.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
enum ErrorHandling {
    /// The run fails.
    Fail,
    /// The node's output is null.
    Continue,
    /// The error leaves by the port `error`.
    Branch,
}

/// How often something is tried, and how long to wait in between.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
struct RetrySettings {
    /// Attempts in all; default: 1.
    #[schema(minimum = 1, maximum = 100)]
    max_attempts: Option<u32>,
    /// Wait before the second attempt, in milliseconds; default: 0.
    #[schema(minimum = 0, maximum = 2_592_000_000_i64)]
    backoff_ms: Option<u64>,
    /// Factor by which each further wait is longer; default: 1.
    #[schema(minimum = 1, maximum = 100)]
    factor: Option<f64>,
}

/// An edge between two nodes.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
struct Edge {
    /// Node.
    #[schema(example = "start")]
    source: String,
    /// Output port; without one, the first.
    source_handle: Option<String>,
    /// Node.
    #[schema(example = "answer")]
    target: String,
    /// Input port; without one, the first.
    target_handle: Option<String>,
}

/// Settings of a pattern's runs.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct GraphSettings {
    /// Time limit of a run, in milliseconds.
    #[schema(minimum = 1, maximum = 2_592_000_000_i64)]
    timeout_ms: Option<u64>,
    /// Memory of a run, in MiB, within what the workspace may have; default: the server's `run_memory`.
    #[schema(minimum = 16, maximum = 4_096)]
    memory_mb: Option<u64>,
    /// What a run may compute, within what the workspace may have: each second is 5,000,000,000 units of fuel. Default: the
    /// server's `run_fuel`.
    #[schema(minimum = 1, maximum = 86_400)]
    compute_seconds: Option<u64>,
    /// Effects that a run may start, within what the workspace may have; default: the server's `run_effects`.
    #[schema(minimum = 1, maximum = 100_000)]
    max_effects: Option<u64>,
    retry: Option<RetrySettings>,
    /// Pattern to run when a run has failed for good.
    error_pattern_id: Option<String>,
    /// What becomes of an expression that throws; default: `strict`.
    expressions: Option<ExpressionsSetting>,
    /// Whether lists of items travel along the edges, and nodes execute for each item; default: false.
    items: Option<bool>,
}

/// `strict`: its node fails. `lenient`: it is `undefined`, and the log says so once.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
enum ExpressionsSetting {
    Strict,
    Lenient,
}

/// A node type of the pattern's own.
#[derive(ToSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum NodeDefinition {
    /// Output ports with a value each.
    #[schema(rename_all = "camelCase")]
    Expression {
        inputs: Option<Vec<DefinitionPort>>,
        outputs: Option<Vec<DefinitionPort>>,
        output_values: OutputValues,
    },
    /// A JavaScript module.
    #[serde(rename = "javascript")]
    JavaScript {
        inputs: Option<Vec<DefinitionPort>>,
        outputs: Option<Vec<DefinitionPort>>,
        /// Source of the module.
        code: String,
    },
    /// A composite: a graph within the node.
    #[schema(rename_all = "camelCase")]
    Graph {
        inputs: Option<Vec<DefinitionPort>>,
        outputs: Option<Vec<DefinitionPort>>,
        graph_data: CompleteGraph,
    },
    /// A WebAssembly component of the world `heddle:node`.
    Component {
        inputs: Option<Vec<DefinitionPort>>,
        outputs: Option<Vec<DefinitionPort>>,
        /// The component in base64.
        component: String,
        /// Hosts that it may send requests to; `*` is any.
        hosts: Option<Vec<String>>,
    },
}

/// Value by output port; a text with `{{ }}` is an expression.
#[derive(ToSchema)]
#[schema(value_type = HashMap<String, Value>)]
pub struct OutputValues(());

/// An input or output of a definition.
#[derive(ToSchema)]
pub struct DefinitionPort {
    #[schema(example = "order", pattern = "^[A-Za-z0-9_-]{1,64}$")]
    name: String,
    r#type: Option<PortType>,
    /// Whether something must be connected; default: true.
    required: Option<bool>,
}

/// The type of a port; default: `any`.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
enum PortType {
    Any,
    String,
    Number,
    Integer,
    Boolean,
    Object,
    Array,
}
