//! The plan: what the run loop needs to know of a graph, as plain words at the start of a pattern's data.
//!
//! The compiler fills a [`Plan`] and encodes it; the guest reads the bytes in place through [`View`], without
//! decoding them first, so that a run pays only for the nodes it reaches. All words are little-endian `u32`;
//! texts are (offset from the plan's start, length) pairs. A view over bytes that are no plan reads zeros and
//! empty texts: it never panics.
//!
//! **Scopes.** Scope 0 is the graph; every loop and every composite that is executed as a whole has a scope of its
//! own, its body. A frame is one execution of a scope: one for the run, one for each live iteration. Nodes and edges
//! are numbered within their scope (`local`), so that a frame is two short arrays. An edge belongs to the scope of its
//! target, but an edge into a `next` port belongs to that node's body, and an edge from an `item` port starts there.

mod view;

pub use view::{ConstantView, List, NodeView, ScopeView, View};

/// "No such index" in every optional word.
pub const NONE: u32 = u32::MAX;

/// Within the node of an operation of two requests, the node that sends the first, which finds something.
pub const FINDS: &str = "$find";
/// The one that sends the second, which is about what was found.
pub const REQUESTS: &str = "$request";

/// The execution that has found what this one of [`REQUESTS`] is about, as keys of effects begin with them; none of others.
pub fn found_by(execution: &str) -> Option<String> {
    let (before, after) = execution.split_once(&format!("/{REQUESTS}/"))?;
    Some(format!("{before}/{FINDS}/{after}"))
}

/// How the run loop treats a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NodeKind {
    /// Runs its compiled function.
    #[default]
    Plain = 0,
    /// Emits the event when the run starts at it; otherwise it is skipped.
    Trigger = 1,
    /// ForEach: output 0 `item`, 1 `done`; inputs 0 `in`, 1 `next`.
    ForEach = 2,
    /// Loop: ports as ForEach.
    Loop = 3,
    /// Passes `$input` to output 0 without running anything: a disabled node, or a rim of a composite.
    Pass = 4,
    /// A composite that is executed as a whole: once, or with `each` once for every element, and again after a failure
    /// inside. Its ports are those of the composite; behind them are the input `next` and the output `item`. What
    /// comes back to `next` leaves by the output whose number is that of the returning edge's port.
    Composite = 5,
}

/// What happens when a node fails after its retries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// The run fails.
    #[default]
    Fail = 0,
    /// `{error: {message, code, nodeId}}` leaves by output 0.
    Continue = 1,
    /// The same leaves by the node's error port.
    Branch = 2,
}

/// A node of the plan. Its index is its place in [`Plan::nodes`], which is also the order that breaks ties.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    /// Id in the graph (`outer/inner` inside a composite).
    pub id: String,
    /// Kind.
    pub kind: NodeKind,
    /// Scope whose frame the node runs in.
    pub scope: u32,
    /// Number of its compiled function; `None` for kinds that have none.
    pub function: Option<u32>,
    /// Names of the input ports; edges name them by index.
    pub inputs: Vec<String>,
    /// Number of output ports, the error port included.
    pub outputs: u32,
    /// Output index of the `error` port, with [`OnError::Branch`].
    pub error_port: Option<u32>,
    /// What a failure does.
    pub on_error: OnError,
    /// Attempts in all; 1 = no retry.
    pub max_attempts: u32,
    /// Wait before the second attempt, in milliseconds.
    pub backoff_ms: u32,
    /// Growth of the wait, in thousandths (2000 doubles it).
    pub backoff_factor_milli: u32,
    /// Limit on each effect of the node in milliseconds; 0 = the host's own.
    pub timeout_ms: u32,
    /// `each: true`: once for every element of the array on `$input`.
    pub each: bool,
    /// `once: true`: of a list that comes, only the first item counts.
    pub once: bool,
    /// `always: true`: if nothing would leave by the first port, or an empty list, one empty item does.
    pub always: bool,
    /// In a graph of items: what leaves is a list of items, and none leaves by no port; lists that come by several edges follow each other.
    pub items: bool,
    /// How many elements or iterations may be in flight; at least 1.
    pub concurrency: u32,
    /// Merge with mode `first`: runs at the first live edge.
    pub first: bool,
    /// Merge: an input port's value is always the array of its live values.
    pub collect: bool,
    /// The run pauses before this node.
    pub breakpoint: bool,
    /// In a body: nodes outside of it read its output.
    pub seen_outside: bool,
    /// Pinned: (output port, JSON text) leaves instead of executing.
    pub pin: Option<(u32, String)>,
    /// For ForEach, Loop and Composite: the scope of the body.
    pub body: Option<u32>,
}

impl Node {
    /// Output port that enters the body, of nodes that have one.
    fn item_port(&self) -> u32 {
        match self.kind {
            NodeKind::Composite => self.outputs,
            _ => 0,
        }
    }

    /// Input port that ends an execution of the body.
    fn next_port(&self) -> u32 {
        match self.kind {
            NodeKind::Composite => self.inputs.len() as u32,
            _ => 1,
        }
    }
}

/// An edge, in graph order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Edge {
    /// Source node.
    pub source: u32,
    /// Its output port.
    pub source_port: u32,
    /// Target node.
    pub target: u32,
    /// Its input port.
    pub target_port: u32,
}

/// A place where an expression stands, for messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// Node that it belongs to.
    pub node: u32,
    /// Parameter path such as `fields.total`.
    pub parameter: String,
    /// The expression as written, without braces.
    pub source: String,
}

/// A scope: the graph itself, or the body of a loop or composite.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Enclosing scope; `None` for the graph.
    pub parent: Option<u32>,
    /// The node whose body this is; `None` for the graph.
    pub loop_node: Option<u32>,
}

/// A constant of compiled code, which names it by the handle `!index` (see [`crate::abi`]).
#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    /// A number.
    Number(f64),
    /// A string, or the name of a property.
    Text(String),
    /// JSON text: the way to objects, arrays and lone surrogates.
    Json(String),
}

/// A plan as the compiler builds it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Whether the run reports a trace.
    pub trace: bool,
    /// Nodes.
    pub nodes: Vec<Node>,
    /// Edges.
    pub edges: Vec<Edge>,
    /// Scopes; 0 is the graph.
    pub scopes: Vec<Scope>,
    /// Expression sites.
    pub sites: Vec<Site>,
    /// Constants of compiled code.
    pub constants: Vec<Constant>,
    /// Lists of constants that are property names: the steps of a path, the properties of an object.
    pub names: Vec<Vec<u32>>,
}

const MAGIC: u32 = 0x324c_5048; // "HPL2"
const HEADER_WORDS: usize = 13;
const NODE_WORDS: usize = 30;
const EDGE_WORDS: usize = 6;
const SCOPE_WORDS: usize = 10;
const SITE_WORDS: usize = 5;
const CONSTANT_WORDS: usize = 3;
const NAMES_WORDS: usize = 2;

/// Appends words and texts; texts come after all words, so their offsets are patched at the end.
#[derive(Default)]
struct Writer {
    words: Vec<u32>,
    texts: Vec<u8>,
    text_words: Vec<usize>,
    pool: Vec<u32>,
}

impl Writer {
    fn text(&mut self, text: &str) {
        self.text_words.push(self.words.len());
        self.words.push(self.texts.len() as u32);
        self.words.push(text.len() as u32);
        self.texts.extend_from_slice(text.as_bytes());
    }

    fn constant(&mut self, constant: &Constant) {
        match constant {
            Constant::Number(number) => {
                let bits = number.to_bits();
                self.words.extend([0, bits as u32, (bits >> 32) as u32]);
            }
            Constant::Text(text) => {
                self.words.push(1);
                self.text(text);
            }
            Constant::Json(json) => {
                self.words.push(2);
                self.text(json);
            }
        }
    }

    fn list(&mut self, items: &[u32]) {
        self.words.push(self.pool.len() as u32);
        self.words.push(items.len() as u32);
        self.pool.extend_from_slice(items);
    }
}

impl Plan {
    /// Scope to which an edge belongs (see the module's page).
    pub fn edge_scope(&self, edge: &Edge) -> u32 {
        let target = &self.nodes[edge.target as usize];
        match target.body {
            Some(body) if edge.target_port == target.next_port() => body,
            _ => target.scope,
        }
    }

    /// The plan as bytes, a multiple of 4 long. Indices must be in range (the compiler's own plans are).
    pub fn encode(&self) -> Vec<u8> {
        let mut node_local = vec![0; self.nodes.len()];
        let mut scope_nodes = vec![Vec::new(); self.scopes.len()];
        for (index, node) in self.nodes.iter().enumerate() {
            let nodes = &mut scope_nodes[node.scope as usize];
            node_local[index] = nodes.len() as u32;
            nodes.push(index as u32);
        }
        let mut edge_local = vec![0; self.edges.len()];
        let mut scope_edges = vec![0u32; self.scopes.len()];
        let mut scope_entries = vec![Vec::new(); self.scopes.len()];
        let mut scope_returns = vec![Vec::new(); self.scopes.len()];
        let mut incoming = vec![Vec::new(); self.nodes.len()];
        let mut outgoing = vec![Vec::new(); self.nodes.len()];
        for (index, edge) in self.edges.iter().enumerate() {
            let scope = self.edge_scope(edge) as usize;
            edge_local[index] = scope_edges[scope];
            scope_edges[scope] += 1;
            let target = &self.nodes[edge.target as usize];
            if target.body.is_some() && edge.target_port == target.next_port() {
                scope_returns[scope].push(index as u32);
            } else {
                incoming[edge.target as usize].push(index as u32);
            }
            let source = &self.nodes[edge.source as usize];
            if source.body.is_some() && edge.source_port == source.item_port() {
                scope_entries[scope].push(index as u32);
            } else {
                outgoing[edge.source as usize].push(index as u32);
            }
        }

        let mut w = Writer::default();
        w.words.resize(HEADER_WORDS, 0);
        let nodes_at = w.words.len();
        for (index, node) in self.nodes.iter().enumerate() {
            let start = w.words.len();
            w.text(&node.id);
            w.words.extend([
                node.kind as u32,
                node.scope,
                node_local[index],
                node.function.unwrap_or(NONE),
                node.outputs,
                node.error_port.unwrap_or(NONE),
                node.on_error as u32,
                node.max_attempts.max(1),
                node.backoff_ms,
                node.backoff_factor_milli,
                node.timeout_ms,
                u32::from(node.each)
                    | u32::from(node.first) << 1
                    | u32::from(node.collect) << 2
                    | u32::from(node.breakpoint) << 3
                    // The other way round, so that plans from before this bit mean that it may be so.
                    | u32::from(!node.seen_outside) << 4
                    | u32::from(node.once) << 5
                    | u32::from(node.always) << 6
                    | u32::from(node.items) << 7,
                node.concurrency.max(1),
                node.body.unwrap_or(NONE),
                node.pin.as_ref().map_or(NONE, |(port, _)| *port),
            ]);
            w.text(node.pin.as_ref().map_or("", |(_, json)| json));
            w.list(&incoming[index]);
            w.list(&outgoing[index]);
            // Names of the input ports: pairs in the pool would need patching, so they are one joined text.
            w.text(&node.inputs.join("\n"));
            w.words.resize(start + NODE_WORDS, 0);
        }
        let edges_at = w.words.len();
        for (index, edge) in self.edges.iter().enumerate() {
            w.words.extend([
                edge.source,
                edge.source_port,
                edge.target,
                edge.target_port,
                self.edge_scope(edge),
                edge_local[index],
            ]);
        }
        let scopes_at = w.words.len();
        for (index, scope) in self.scopes.iter().enumerate() {
            let start = w.words.len();
            w.words.extend([
                scope.parent.unwrap_or(NONE),
                scope.loop_node.unwrap_or(NONE),
                scope_edges[index],
            ]);
            w.list(&scope_nodes[index]);
            w.list(&scope_entries[index]);
            w.list(&scope_returns[index]);
            w.words.resize(start + SCOPE_WORDS, 0);
        }
        let sites_at = w.words.len();
        for site in &self.sites {
            w.words.push(site.node);
            w.text(&site.parameter);
            w.text(&site.source);
        }
        let constants_at = w.words.len();
        for constant in &self.constants {
            w.constant(constant);
        }
        let names_at = w.words.len();
        for names in &self.names {
            w.list(names);
        }
        let pool_at = w.words.len();
        let texts_at = ((pool_at + w.pool.len()) * 4) as u32;
        for at in &w.text_words {
            w.words[*at] += texts_at;
        }
        w.words[..HEADER_WORDS].copy_from_slice(&[
            MAGIC,
            u32::from(self.trace),
            self.nodes.len() as u32,
            nodes_at as u32,
            self.edges.len() as u32,
            edges_at as u32,
            self.scopes.len() as u32,
            scopes_at as u32,
            sites_at as u32,
            pool_at as u32,
            self.constants.len() as u32,
            constants_at as u32,
            names_at as u32,
        ]);
        let mut bytes: Vec<u8> = w
            .words
            .iter()
            .chain(&w.pool)
            .flat_map(|word| word.to_le_bytes())
            .collect();
        bytes.extend_from_slice(&w.texts);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }
}
