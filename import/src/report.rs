//! What an import says of itself: for each node how well it is translated, and what is left to do.

use crate::finding::Finding;
use serde::Serialize;
use std::collections::BTreeMap;

/// A workflow of many broken expressions needs no longer list.
const ITEMS_MAX: usize = 2_000;
/// Characters of an original text in the report; the node's notes have more of it.
const ORIGINAL_CHARS_MAX: usize = 500;

/// How well a node is translated; worse ones are larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Does what it does in n8n, which a test shows.
    Exact,
    /// Does nearly that; the items say what differs.
    Approximate,
    /// Fails with a message when it runs.
    Stub,
}

/// A remark on a node, or on the whole workflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// The node in the pattern; `None` for the workflow.
    pub node_id: Option<String>,
    /// With its package.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n8n_type: Option<String>,
    /// What that makes of the node.
    pub level: Level,
    /// Stable name of the remark, such as `expression` or `no-equivalent`.
    pub code: &'static str,
    /// For people.
    pub message: String,
    /// The parameter that is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter: Option<String>,
    /// What n8n has there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original: Option<String>,
}

/// A connection that has to be made before the pattern can run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionNeeded {
    /// What nodes call it.
    pub name: String,
    /// n8n's type of the credentials.
    pub n8n_type: String,
    /// The fields that it needs.
    pub fields: Vec<String>,
    /// Nodes that use it.
    pub node_ids: Vec<String>,
}

/// Numbers of nodes, without sticky notes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Nodes of the workflow.
    pub nodes: usize,
    /// Translated exactly.
    pub exact: usize,
    /// Translated with differences that are named.
    pub approximate: usize,
    /// Not translated.
    pub stub: usize,
    /// Expressions that could not be compiled and are undefined now.
    pub repaired: usize,
}

/// The report on one workflow.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// How many nodes of each level.
    pub summary: Summary,
    /// Whether the pattern compiles.
    pub valid: bool,
    /// Connections to make.
    pub connections: Vec<ConnectionNeeded>,
    /// All remarks.
    pub items: Vec<Item>,
    /// Why it doesn't compile.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Finding>,
    #[serde(skip)]
    levels: BTreeMap<String, Level>,
}

impl Report {
    /// Whether everything is exact, and nothing of the workflow differs.
    pub fn is_exact(&self) -> bool {
        self.summary.nodes == self.summary.exact && self.items.iter().all(|item| item.level == Level::Exact)
    }

    /// Counts a node of the workflow.
    pub(crate) fn node(&mut self, id: &str, level: Level) {
        self.levels.insert(id.to_owned(), level);
    }

    /// Notes that a node is less well translated than it seemed. What was added to the workflow is not counted.
    fn worsen(&mut self, id: &str, level: Level) {
        if let Some(known) = self.levels.get_mut(id) {
            *known = level.max(*known);
        }
    }

    /// Adds a remark.
    pub(crate) fn add(&mut self, mut item: Item) {
        if let Some(id) = &item.node_id {
            let id = id.clone();
            self.worsen(&id, item.level);
        }
        item.original = item.original.map(|text| shortened(&text));
        if self.items.len() < ITEMS_MAX {
            self.items.push(item);
        }
    }

    /// A node needs a connection.
    pub(crate) fn connection(&mut self, needed: ConnectionNeeded) {
        match self
            .connections
            .iter_mut()
            .find(|known| known.name == needed.name)
        {
            Some(known) => known.node_ids.extend(needed.node_ids),
            None => self.connections.push(needed),
        }
    }

    /// Counts.
    pub(crate) fn finish(&mut self) {
        self.summary.nodes = self.levels.len();
        for level in self.levels.values() {
            match level {
                Level::Exact => self.summary.exact += 1,
                Level::Approximate => self.summary.approximate += 1,
                Level::Stub => self.summary.stub += 1,
            }
        }
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(ORIGINAL_CHARS_MAX) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}
