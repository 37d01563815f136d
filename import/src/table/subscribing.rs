//! What n8n's triggers ask their services for, as parameters by which deploying subscribes; none where that is not all known before
//! a run.

use crate::workflow::Node;
use serde_json::{Value, json};

/// GitLab's events by n8n's names and by the parameters of the trigger.
const OF_GITLAB: [(&str, &str); 8] = [
    ("push", "push"),
    ("issues", "issues"),
    ("merge_requests", "mergeRequests"),
    ("note", "comments"),
    ("tag_push", "tags"),
    ("pipeline", "pipelines"),
    ("job", "jobs"),
    ("releases", "releases"),
];
/// Actions of Pipedrive's former webhooks, and what they are now.
const OF_PIPEDRIVE: [(&str, &str); 3] = [("added", "create"), ("updated", "change"), ("deleted", "delete")];

/// A parameter that is known before a run: none if it is not given or an expression.
pub(super) fn known<'n>(node: &'n Node, path: &[&str]) -> Option<&'n str> {
    let given = node.parameter(path);
    let text = given.get("value").unwrap_or(given).as_str()?;
    is_known(text).then_some(text)
}

pub(super) fn is_known(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('=') && !text.contains("{{")
}

/// All names of a list that has some.
fn names<'n>(node: &'n Node, list: &str) -> Option<Vec<&'n str>> {
    let given = node.list(&[list]).iter();
    let names: Option<Vec<&str>> = given
        .map(|name| name.as_str().filter(|name| is_known(name)))
        .collect();
    names.filter(|names| !names.is_empty())
}

/// What an address ends with; n8n takes both.
fn last(text: &str) -> &str {
    let text = text.trim_end_matches('/');
    text.rsplit('/').next().unwrap_or(text)
}

pub(super) fn telegram(node: &Node) -> Option<Value> {
    let updates = names(node, "updates").filter(|updates| !updates.contains(&"*"));
    Some(updates.map_or_else(|| json!({}), |updates| json!({ "updates": updates })))
}

pub(super) fn github(node: &Node) -> Option<Value> {
    let (owner, repository) = (known(node, &["owner"])?, known(node, &["repository"])?);
    Some(json!({"owner": last(owner), "repository": last(repository), "events": names(node, "events")?}))
}

pub(super) fn gitlab(node: &Node) -> Option<Value> {
    let project = format!("{}/{}", known(node, &["owner"])?, known(node, &["repository"])?);
    let events = names(node, "events")?;
    let mut asked = json!({"project": project, "push": false});
    for event in events {
        let several = OF_GITLAB
            .iter()
            .filter(|(name, _)| event == "*" || *name == event);
        let several: Vec<&str> = several.map(|(_, parameter)| *parameter).collect();
        if several.is_empty() {
            return None;
        }
        for parameter in several {
            asked[parameter] = true.into();
        }
    }
    Some(asked)
}

pub(super) fn bitbucket(node: &Node) -> Option<Value> {
    if node.text(&["resource"]) != "repository" {
        return None;
    }
    let (workspace, repository) = (known(node, &["workspace"])?, known(node, &["repository"])?);
    Some(json!({"workspace": workspace, "repository": repository, "events": names(node, "events")?}))
}

pub(super) fn stripe(node: &Node) -> Option<Value> {
    Some(json!({"events": names(node, "events")?}))
}

pub(super) fn shopify(node: &Node) -> Option<Value> {
    Some(json!({"topic": known(node, &["topic"])?}))
}

pub(super) fn woo_commerce(node: &Node) -> Option<Value> {
    Some(json!({"topic": known(node, &["event"])?}))
}

pub(super) fn linear(node: &Node) -> Option<Value> {
    let kind = |name: &str| {
        let mut letters = name.chars();
        let first = letters.next().map(|first| first.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    };
    let kinds: Vec<String> = names(node, "resources")?.into_iter().map(kind).collect();
    Some(json!({ "kinds": kinds }))
}

pub(super) fn jira(node: &Node) -> Option<Value> {
    let events = names(node, "events").filter(|events| !events.contains(&"*"))?;
    let mut asked = json!({ "events": events });
    match node.parameter(&["additionalFields", "filter"]) {
        Value::Null => {}
        _ => asked["jql"] = known(node, &["additionalFields", "filter"])?.into(),
    }
    Some(asked)
}

pub(super) fn calendly(node: &Node) -> Option<Value> {
    // Those of an organisation have another form.
    let is_of_user = node.choice(&["scope"], "user") == "user";
    Some(json!({"events": names(node, "events").filter(|_| is_of_user)?}))
}

pub(super) fn click_up(node: &Node) -> Option<Value> {
    let mut asked = json!({"workspace": known(node, &["team"])?, "events": names(node, "events")?});
    for (field, parameter) in [
        ("spaceId", "space"),
        ("folderId", "folder"),
        ("listId", "list"),
        ("taskId", "task"),
    ] {
        let path = &["filters", field];
        if !matches!(node.parameter(path), Value::Null) {
            asked[parameter] = known(node, path)?.into();
        }
    }
    Some(asked)
}

pub(super) fn pipedrive(node: &Node) -> Option<Value> {
    let action = node.choice(&["action"], "*");
    let now = OF_PIPEDRIVE.iter().find(|(former, _)| *former == action);
    let action = now.map_or(action, |(_, now)| *now);
    let is_action = ["create", "change", "delete", "*"].contains(&action);
    let object = known(node, &["entity"])
        .or_else(|| known(node, &["object"]))
        .unwrap_or("*");
    is_action.then(|| json!({"action": action, "object": object}))
}

pub(super) fn typeform(node: &Node) -> Option<Value> {
    Some(json!({"form": known(node, &["formId"])?}))
}
