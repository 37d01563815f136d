//! A plan read in place: any bytes read as some plan, and nothing panics.

use super::{
    CONSTANT_WORDS, EDGE_WORDS, Edge, MAGIC, NAMES_WORDS, NODE_WORDS, NONE, NodeKind, OnError, SCOPE_WORDS,
    SITE_WORDS,
};

/// A constant read in place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ConstantView<'a> {
    /// [`Constant::Number`](super::Constant::Number)
    Number(f64),
    /// [`Constant::Text`](super::Constant::Text)
    Text(&'a str),
    /// [`Constant::Json`](super::Constant::Json)
    Json(&'a str),
}

/// A plan read in place. The default is one of no bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct View<'a> {
    bytes: &'a [u8],
}

/// A node read in place; methods are those of [`Node`](super::Node).
#[derive(Clone, Copy, Debug)]
pub struct NodeView<'a> {
    view: View<'a>,
    at: usize,
    /// Plan index.
    pub index: u32,
}

/// A scope read in place.
#[derive(Clone, Copy, Debug)]
pub struct ScopeView<'a> {
    view: View<'a>,
    at: usize,
}

/// A list of indices in the plan's pool.
#[derive(Clone, Copy, Debug)]
pub struct List<'a> {
    view: View<'a>,
    at: usize,
    len: usize,
}

impl<'a> List<'a> {
    /// Number of items.
    pub fn len(self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The item at `index`; 0 past the end.
    pub fn get(self, index: usize) -> u32 {
        if index < self.len {
            self.view.word(self.at + index)
        } else {
            0
        }
    }

    /// All items.
    pub fn iter(self) -> impl Iterator<Item = u32> + 'a {
        (0..self.len).map(move |index| self.get(index))
    }
}

impl<'a> View<'a> {
    /// A view of `bytes`, which should begin with an encoded plan; `None` if they do not.
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let view = View { bytes };
        (view.word(0) == MAGIC).then_some(view)
    }

    fn word(self, at: usize) -> u32 {
        match self.bytes.get(at * 4..at * 4 + 4) {
            Some(&[a, b, c, d]) => u32::from_le_bytes([a, b, c, d]),
            _ => 0,
        }
    }

    fn text(self, at: usize) -> &'a str {
        let start = self.word(at) as usize;
        let end = start.saturating_add(self.word(at + 1) as usize);
        self.bytes
            .get(start..end)
            .and_then(|bytes| str::from_utf8(bytes).ok())
            .unwrap_or("")
    }

    fn list(self, at: usize) -> List<'a> {
        let len = (self.word(at + 1) as usize).min(self.bytes.len() / 4);
        List {
            view: self,
            at: self.word(9) as usize + self.word(at) as usize,
            len,
        }
    }

    /// Whether the run reports a trace.
    pub fn trace(self) -> bool {
        self.word(1) & 1 != 0
    }

    /// Number of nodes.
    pub fn node_count(self) -> u32 {
        self.word(2).min(self.bytes.len() as u32 / 4)
    }

    /// Number of edges.
    pub fn edge_count(self) -> u32 {
        self.word(4).min(self.bytes.len() as u32 / 4)
    }

    /// Number of scopes.
    pub fn scope_count(self) -> u32 {
        self.word(6).min(self.bytes.len() as u32 / 4)
    }

    /// The node with this index.
    pub fn node(self, index: u32) -> NodeView<'a> {
        NodeView {
            view: self,
            at: self.word(3) as usize + index as usize * NODE_WORDS,
            index,
        }
    }

    /// The edge with this index.
    pub fn edge(self, index: u32) -> Edge {
        let at = self.word(5) as usize + index as usize * EDGE_WORDS;
        Edge {
            source: self.word(at),
            source_port: self.word(at + 1),
            target: self.word(at + 2),
            target_port: self.word(at + 3),
        }
    }

    /// Scope of an edge, and its number within that scope.
    pub fn edge_place(self, index: u32) -> (u32, u32) {
        let at = self.word(5) as usize + index as usize * EDGE_WORDS;
        (self.word(at + 4), self.word(at + 5))
    }

    /// The scope with this index.
    pub fn scope(self, index: u32) -> ScopeView<'a> {
        ScopeView {
            view: self,
            at: self.word(7) as usize + index as usize * SCOPE_WORDS,
        }
    }

    /// Whether a scope is another one or within it.
    pub fn is_within(self, scope: u32, outer: u32) -> bool {
        let around = |scope: &u32| self.scope(*scope).parent();
        std::iter::successors(Some(scope), around)
            .take(self.scope_count() as usize)
            .any(|scope| scope == outer)
    }

    /// Node, parameter and source text of an expression site.
    pub fn site(self, index: u32) -> (u32, &'a str, &'a str) {
        let at = self.word(8) as usize + index as usize * SITE_WORDS;
        (self.word(at), self.text(at + 1), self.text(at + 3))
    }

    /// Number of constants.
    pub fn constant_count(self) -> u32 {
        self.word(10).min(self.bytes.len() as u32 / 4)
    }

    /// The constant with this index; past the end any.
    pub fn constant(self, index: u32) -> ConstantView<'a> {
        let at = self.word(11) as usize + index as usize * CONSTANT_WORDS;
        match self.word(at) {
            1 => ConstantView::Text(self.text(at + 1)),
            2 => ConstantView::Json(self.text(at + 1)),
            _ => {
                let bits = u64::from(self.word(at + 1)) | u64::from(self.word(at + 2)) << 32;
                ConstantView::Number(f64::from_bits(bits))
            }
        }
    }

    /// A list of names, by the indices of their constants.
    pub fn names(self, index: u32) -> List<'a> {
        self.list(self.word(12) as usize + index as usize * NAMES_WORDS)
    }
}

fn optional(word: u32) -> Option<u32> {
    (word != NONE).then_some(word)
}

macro_rules! node_words {
    ($($(#[$doc:meta])* $name:ident = $offset:literal;)*) => {
        impl NodeView<'_> {
            $($(#[$doc])* pub fn $name(self) -> u32 { self.view.word(self.at + $offset) })*
        }
    };
}

node_words! {
    /// Scope whose frame the node runs in.
    scope = 3;
    /// Number within its scope.
    local = 4;
    /// Number of output ports.
    outputs = 6;
    /// Attempts in all, at least 1.
    max_attempts = 9;
    /// First wait in milliseconds.
    backoff_ms = 10;
    /// Growth of the wait in thousandths.
    backoff_factor_milli = 11;
    /// Limit on each effect in milliseconds; 0 = the host's.
    timeout_ms = 12;
    /// Elements or iterations in flight, at least 1.
    concurrency = 14;
}

impl<'a> NodeView<'a> {
    /// Id in the graph.
    pub fn id(self) -> &'a str {
        self.view.text(self.at)
    }

    /// Kind.
    pub fn kind(self) -> NodeKind {
        match self.view.word(self.at + 2) {
            1 => NodeKind::Trigger,
            2 => NodeKind::ForEach,
            3 => NodeKind::Loop,
            4 => NodeKind::Pass,
            5 => NodeKind::Composite,
            _ => NodeKind::Plain,
        }
    }

    /// Number of the compiled function.
    pub fn function(self) -> Option<u32> {
        optional(self.view.word(self.at + 5))
    }

    /// Output index of the error port.
    pub fn error_port(self) -> Option<u32> {
        optional(self.view.word(self.at + 7))
    }

    /// What a failure does.
    pub fn on_error(self) -> OnError {
        match self.view.word(self.at + 8) {
            1 => OnError::Continue,
            2 => OnError::Branch,
            _ => OnError::Fail,
        }
    }

    fn flag(self, bit: u32) -> bool {
        self.view.word(self.at + 13) >> bit & 1 != 0
    }

    /// Runs once for every element.
    pub fn each(self) -> bool {
        self.flag(0)
    }

    /// Merge mode `first`.
    pub fn first(self) -> bool {
        self.flag(1)
    }

    /// Merge: ports hold arrays of live values.
    pub fn collect(self) -> bool {
        self.flag(2)
    }

    /// The run pauses before it.
    pub fn breakpoint(self) -> bool {
        self.flag(3)
    }

    /// In a body: nodes outside of it may read its output.
    pub fn seen_outside(self) -> bool {
        !self.flag(4)
    }

    /// Of a list that comes, only the first item counts.
    pub fn once(self) -> bool {
        self.flag(5)
    }

    /// One empty item leaves rather than none.
    pub fn always(self) -> bool {
        self.flag(6)
    }

    /// What leaves is a list of items, and none leaves by no port.
    pub fn items(self) -> bool {
        self.flag(7)
    }

    /// Scope of the body.
    pub fn body(self) -> Option<u32> {
        optional(self.view.word(self.at + 15))
    }

    /// Pinned output: port and JSON text.
    pub fn pin(self) -> Option<(u32, &'a str)> {
        optional(self.view.word(self.at + 16)).map(|port| (port, self.view.text(self.at + 17)))
    }

    /// Incoming edges in graph order, without those into a `next` port.
    pub fn incoming(self) -> List<'a> {
        self.view.list(self.at + 19)
    }

    /// Outgoing edges in graph order, without those of an `item` port.
    pub fn outgoing(self) -> List<'a> {
        self.view.list(self.at + 21)
    }

    /// Names of the input ports.
    pub fn inputs(self) -> impl Iterator<Item = &'a str> {
        self.view.text(self.at + 23).split('\n')
    }
}

impl<'a> ScopeView<'a> {
    /// Enclosing scope.
    pub fn parent(self) -> Option<u32> {
        optional(self.view.word(self.at))
    }

    /// The node whose body this is.
    pub fn loop_node(self) -> Option<u32> {
        optional(self.view.word(self.at + 1))
    }

    /// Number of edges in the scope.
    pub fn edge_count(self) -> u32 {
        self.view.word(self.at + 2)
    }

    /// Nodes of the scope in order; a node's `local` is its place here.
    pub fn nodes(self) -> List<'a> {
        self.view.list(self.at + 3)
    }

    /// Edges from the node's `item` port.
    pub fn entries(self) -> List<'a> {
        self.view.list(self.at + 5)
    }

    /// Edges into the node's `next` port.
    pub fn returns(self) -> List<'a> {
        self.view.list(self.at + 7)
    }
}
