//! What a node's kind says of it by itself.

/// Whether runs start there.
pub(crate) fn is_trigger(kind: &str) -> bool {
    kind.ends_with("Trigger") || matches!(kind, "start" | "webhook" | "cron" | "interval" | "emailReadImap")
}

/// Models of which a chain makes its requests.
pub(crate) fn is_model(kind: &str) -> bool {
    kind.starts_with("lmChat") || kind.starts_with("lmOpenAi")
}
