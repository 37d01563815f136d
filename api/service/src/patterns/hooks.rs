//! Finds the nodes of a graph that have external addresses. The graph may be a draft: it is scanned as text, and
//! malformed parts are skipped.

use heddle_catalogue::{ServiceTrigger, Start};
use heddle_compiler::compare::NODES_MAX;
use heddle_compiler::text;
use heddle_model::signature::Scheme;
use heddle_model::webhook::{CHAT_MARK, FORM_MARK};
use heddle_store::endpoints::{HOOKS_MAX, HookKind, HookNode};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

/// Characters of an alias; the rest is cut off.
const ALIAS_CHARS_MAX: usize = 100;
/// Bytes of a webhook's parameters, some more than the compiler takes.
const PARAMETERS_BYTES_MAX: usize = 64 << 10;
/// Bytes of a node's id, as the compiler takes it.
const NODE_ID_BYTES_MAX: usize = 64;

/// The nodes of a graph that need an endpoint. The graph may be a draft: what can't be read has none.
pub fn hooks(graph: &str) -> Vec<HookNode> {
    let [nodes] = text::pick(graph, ["nodes"]).unwrap_or_default();
    let nodes = text::elements(nodes, NODES_MAX).unwrap_or_default();
    let mut hooks: Vec<HookNode> = Vec::new();
    for hook in nodes.into_iter().filter_map(hook) {
        if hooks.len() < HOOKS_MAX && hooks.iter().all(|known| known.node_id != hook.node_id) {
            hooks.push(hook);
        }
    }
    hooks
}

fn hook(node: &RawValue) -> Option<HookNode> {
    let [id, node_type, data] = text::pick(node.get(), ["id", "type", "data"])?;
    let node_type = text::string(node_type?)?;
    let service = trigger(&node_type);
    let start = match service {
        Some(trigger) => Some(trigger.start),
        None => Start::of_type(&node_type),
    };
    if !matches!(
        start,
        Some(Start::Webhook | Start::Form | Start::Chat | Start::Email)
    ) {
        return None;
    }
    let node_id = text::string(id?).filter(|id| is_node_id(id))?;
    let picked = data.and_then(|data| text::pick(data.get(), ["label", "parameters"]));
    let [label, given] = picked.unwrap_or_default();
    let settings = service.map(|trigger| settings(trigger, given));
    let parameters = settings.as_deref().or(given);
    let picked = parameters.and_then(|parameters| text::pick(parameters.get(), ["alias", "scheme"]));
    let [alias, scheme] = picked
        .unwrap_or_default()
        .map(|value| value.and_then(text::string));
    let kind = match start {
        Some(Start::Webhook) => HookKind::Webhook {
            scheme: scheme.and_then(|name| Scheme::named(&name)).unwrap_or_default(),
            parameters: parameters.map(further).unwrap_or_default(),
        },
        // Its page is that of the deployed version: until there is one, nobody sees it.
        Some(Start::Form) => HookKind::Webhook {
            scheme: Scheme::Open,
            parameters: json!({ FORM_MARK: true }).to_string(),
        },
        Some(Start::Chat) => HookKind::Webhook {
            scheme: Scheme::Open,
            parameters: json!({ CHAT_MARK: true }).to_string(),
        },
        _ => HookKind::Email,
    };
    let alias = alias.or_else(|| text::string(label?));
    let alias = alias.as_deref().map(str::trim).filter(|alias| !alias.is_empty());
    let printable = alias.unwrap_or(&node_id).chars().filter(|c| !c.is_control());
    Some(HookNode {
        alias: printable.take(ALIAS_CHARS_MAX).collect(),
        kind,
        node_id: node_id.into_owned(),
    })
}

/// What this type is, if it is the trigger of a service.
fn trigger(node_type: &str) -> Option<&'static ServiceTrigger> {
    // The catalogue is long, and so are graphs.
    let is_like_one = node_type.starts_with("On");
    is_like_one
        .then(|| heddle_catalogue::node_type(node_type))??
        .trigger
}

/// The parameters of OnWebhook that a service's trigger stands for.
fn settings(trigger: &ServiceTrigger, given: Option<&RawValue>) -> Box<RawValue> {
    let given = given.filter(|given| given.get().len() <= PARAMETERS_BYTES_MAX);
    let given: Option<Map<String, Value>> = given.and_then(|given| serde_json::from_str(given.get()).ok());
    let settings = trigger.settings(&given.unwrap_or_default());
    to_raw_value(&settings).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// The parameters that say more than a name and a scheme, as JSON; empty if there are none, or too many to be deployed.
fn further(parameters: &RawValue) -> String {
    if parameters.get().len() > PARAMETERS_BYTES_MAX {
        return String::new();
    }
    let read: Option<Map<String, Value>> = serde_json::from_str(parameters.get()).ok();
    let mut read = read.unwrap_or_default();
    let said = |name: &str| {
        !matches!(
            name,
            "alias" | "scheme" | "responseMode" | "timeoutMs" | FORM_MARK | CHAT_MARK
        )
    };
    if !read.keys().any(|name| said(name)) {
        return String::new();
    }
    read.retain(|name, _| name == "scheme" || said(name));
    Value::Object(read).to_string()
}

/// Whether it can be deployed, which keeps its length within what an index takes.
fn is_node_id(id: &str) -> bool {
    (1..=NODE_ID_BYTES_MAX).contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::hooks;
    use heddle_model::signature::Scheme;
    use heddle_store::endpoints::{HookKind, HookNode};
    use serde_json::json;

    fn hook(node_id: &str, alias: &str, kind: HookKind) -> HookNode {
        HookNode {
            node_id: node_id.to_owned(),
            alias: alias.to_owned(),
            kind,
        }
    }

    fn webhook(scheme: Scheme, parameters: &str) -> HookKind {
        HookKind::Webhook {
            scheme,
            parameters: parameters.to_owned(),
        }
    }

    #[test]
    fn nodes_reached_from_outside_are_found_in_any_draft() {
        let graph = json!({"nodes": [
            {"id": "a", "type": "OnWebhook", "data": {"parameters": {"alias": " orders ", "scheme": "github"}}},
            {"id": "b", "type": "OnWebhook", "data": {"label": "Payments", "parameters": {"scheme": "no such"}}},
            {"id": "c", "type": "OnWebhook", "data": {"parameters": {"scheme": "none", "alias": "", "methods": ["GET"], "timeoutMs": 1}}},
            {"id": "c", "type": "OnWebhook", "data": {"label": "the id is taken"}},
            {"id": "f", "type": "OnForm", "data": {"label": "Ask", "parameters": {"title": "T", "scheme": "github"}}},
            {"id": "g", "type": "OnWebhook", "data": {"parameters": {"form": true}}},
            {"id": "h", "type": "OnTelegramUpdate", "data": {"label": "Bot", "parameters": {"scheme": "none", "maxBytes": 9}}},
            {"id": "i", "type": "OnPipedriveEvent", "data": {"parameters": {"alias": "deals", "user": 7}}},
            {"id": "j", "type": "OnGmailMessage"},
            {"id": "d", "type": "OnEmail", "data": 7},
            {"id": "e", "type": "OnManual"},
            {"id": "f\u{0}", "type": "OnWebhook"},
            {"type": "OnWebhook"},
            "nonsense",
        ]});
        let found = [
            hook("a", "orders", webhook(Scheme::Github, "")),
            hook("b", "Payments", webhook(Scheme::Heddle, "")),
            hook(
                "c",
                "c",
                webhook(Scheme::Open, r#"{"scheme":"none","methods":["GET"]}"#),
            ),
            hook("f", "Ask", webhook(Scheme::Open, r#"{"form":true}"#)),
            hook("g", "g", webhook(Scheme::Heddle, "")),
            hook(
                "h",
                "Bot",
                webhook(
                    Scheme::Header,
                    r#"{"scheme":"header","tokenHeader":"X-Telegram-Bot-Api-Secret-Token","maxBytes":9}"#,
                ),
            ),
            hook(
                "i",
                "deals",
                webhook(Scheme::Basic, r#"{"scheme":"basic","user":7}"#),
            ),
            hook("d", "d", HookKind::Email),
        ];
        assert_eq!(hooks(&graph.to_string()), found);
    }

    #[test]
    fn what_is_no_graph_has_none() {
        for graph in [json!(null), json!({}), json!({"nodes": {}}), json!([1])] {
            assert_eq!(hooks(&graph.to_string()), []);
        }
    }

    #[test]
    fn an_alias_is_one_line_of_bounded_length() {
        let alias = format!("two\nlines {}", "x".repeat(1000));
        let graph = json!({"nodes": [
            {"id": "a", "type": "OnWebhook", "data": {"parameters": {"alias": alias}}},
        ]});
        let found = hooks(&graph.to_string());
        assert!(found[0].alias.starts_with("twolines x"));
        assert_eq!(found[0].alias.chars().count(), 100);
    }
}
