//! The table of translations: which node of n8n becomes what.

mod chat;
mod code;
mod data;
mod flow;
mod http;
mod lists;
mod services;
mod text;
mod triggers;

use crate::Calls;
use crate::built::Translation;
use crate::expression;
use crate::rewrite::Names;
use crate::shape::Flow;
use crate::workflow::{Node, Workflow};
use serde_json::Value;

/// A node, and what its translation depends on.
#[derive(Clone, Copy)]
pub(crate) struct Scene<'w> {
    pub node: &'w Node,
    pub place: usize,
    pub workflow: &'w Workflow,
    pub names: Names<'w>,
    /// Whether several items may arrive.
    pub many: bool,
    pub calls: &'w Calls,
    pub flow: &'w Flow,
}

impl Scene<'_> {
    /// A value with its expressions.
    fn value(&self, given: &Value) -> Value {
        expression::value(given, &self.names)
    }

    /// A parameter with its expressions.
    fn of(&self, path: &[&str]) -> Value {
        self.value(self.node.parameter(path))
    }

    /// A parameter as JavaScript.
    fn source(&self, given: &Value) -> String {
        expression::source(given, &self.names)
    }

    /// Nodes that are part of this one: its model, tools, memory.
    pub fn parts(&self, wanted: impl Fn(&Node) -> bool) -> Vec<&Node> {
        let edges = self.workflow.edges.iter();
        let parts = edges.filter(|edge| !edge.is_main && edge.target == self.place);
        parts
            .filter_map(|edge| self.workflow.nodes.get(edge.source))
            .filter(|node| wanted(node))
            .collect()
    }
}

type Translate = fn(&Scene<'_>) -> Translation;

/// Kinds of nodes, and their translations.
const TABLE: &[(&str, Translate)] = &[
    ("manualTrigger", triggers::manual),
    ("start", triggers::manual),
    ("webhook", triggers::webhook),
    ("scheduleTrigger", triggers::schedule),
    ("cron", triggers::cron),
    ("interval", triggers::interval),
    ("executeWorkflowTrigger", triggers::call),
    ("errorTrigger", triggers::error),
    ("emailReadImap", triggers::email),
    ("chatTrigger", triggers::chat),
    ("manualChatTrigger", triggers::chat),
    ("formTrigger", triggers::form),
    ("if", flow::condition),
    ("filter", flow::filter),
    ("switch", flow::switch),
    ("merge", flow::merge),
    ("splitInBatches", flow::batches),
    ("wait", flow::wait),
    ("noOp", flow::nothing),
    ("executionData", flow::execution_data),
    ("stopAndError", flow::stop),
    ("executeWorkflow", flow::call),
    ("respondToWebhook", flow::respond),
    ("set", data::set),
    ("renameKeys", data::rename),
    ("dateTime", data::date_time),
    ("crypto", data::crypto),
    ("sort", lists::sort),
    ("limit", lists::limit),
    ("removeDuplicates", lists::unique),
    ("splitOut", lists::split_out),
    ("aggregate", lists::aggregate),
    ("summarize", lists::summarize),
    ("itemLists", lists::item_lists),
    ("compareDatasets", lists::compare),
    ("code", code::code),
    ("function", code::function),
    ("functionItem", code::function_item),
    ("httpRequest", http::request),
    ("html", text::html),
    ("htmlExtract", text::html_extract),
    ("markdown", text::markdown),
    ("xml", text::xml),
    ("emailSend", services::email),
    ("postgres", services::postgres),
    ("mySql", services::mysql),
    ("graphql", services::graphql),
    ("langchain.openAi", chat::open_ai),
    ("openAi", chat::old_open_ai),
    ("chainLlm", chat::chain),
    ("agent", chat::agent),
];

/// Whether the table has it; that does not mean that all of its operations are translated.
pub(crate) fn is_known(kind: &str) -> bool {
    TABLE.iter().any(|(known, _)| *known == kind)
}

/// Whether runs start there.
pub(crate) fn is_trigger(kind: &str) -> bool {
    kind.ends_with("Trigger") || matches!(kind, "start" | "webhook" | "cron" | "interval" | "emailReadImap")
}

/// Models of which a chain makes its requests.
pub(crate) fn is_model(kind: &str) -> bool {
    kind.starts_with("lmChat") || kind.starts_with("lmOpenAi")
}

/// What a node becomes.
pub(crate) fn translate(scene: &Scene<'_>) -> Translation {
    let kind = scene.node.kind.as_str();
    let known = TABLE.iter().find(|(known, _)| *known == kind);
    match known {
        Some((_, translate)) => translate(scene),
        None if is_trigger(kind) => triggers::foreign(scene),
        None => Translation::stub(format!(
            "heddle has no node like n8n's `{}`",
            scene.node.full_type
        )),
    }
}
