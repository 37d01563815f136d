//! What a node's kind says of it by itself.

use crate::workflow::Node;

/// Whether runs start there.
pub(crate) fn is_trigger(kind: &str) -> bool {
    kind.ends_with("Trigger") || matches!(kind, "start" | "webhook" | "cron" | "interval" | "emailReadImap")
}

/// Models of which a chain makes its requests.
pub(crate) fn is_model(kind: &str) -> bool {
    kind.starts_with("lmChat") || kind.starts_with("lmOpenAi")
}

/// Whether a node makes one file of all items.
pub(crate) fn makes_one_file(node: &Node) -> bool {
    match node.kind.as_str() {
        "convertToFile" => match node.choice(&["operation"], "csv") {
            "toJson" => node.choice(&["mode"], "once") == "once",
            operation => !matches!(operation, "toText" | "toBinary" | "iCal"),
        },
        "spreadsheetFile" => node.choice(&["operation"], "fromFile") == "toFile",
        _ => false,
    }
}

/// Whether a node is executed once for all items, as heddle has it too: what an expression in its parameters reads is the first one's.
pub(crate) fn takes_list(node: &Node) -> bool {
    let kind = node.kind.as_str();
    makes_one_file(node)
        || matches!(
            kind,
            "wait"
                | "form"
                | "limit"
                | "sort"
                | "removeDuplicates"
                | "aggregate"
                | "summarize"
                | "merge"
                | "compareDatasets"
                | "splitInBatches"
        )
        || kind == "itemLists" && node.choice(&["operation"], "splitOutItems") != "splitOutItems"
        || kind == "respondToWebhook"
            && node.choice(&["respondWith"], "firstIncomingItem") == "allIncomingItems"
}
