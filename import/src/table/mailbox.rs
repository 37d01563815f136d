//! n8n's Email Trigger (IMAP): a mailbox that is watched, and messages in n8n's form.

use super::services::credentials;
use crate::built::Translation;
use crate::scene::Scene;
use serde_json::{Value, json};

/// The form without an attachment's content: header fields as texts.
const SIMPLE: &str = "{{ ({textHtml: $input.html, textPlain: $input.text, subject: $input.subject, date: $input.headers.date, \
    from: $input.headers.from, to: $input.headers.to, cc: $input.headers.cc, attachments: $input.attachments, \
    metadata: Object.fromEntries(Object.entries($input.headers).filter(([name]) => \
    ![\"cc\", \"date\", \"from\", \"subject\", \"to\"].includes(name)))}) }}";
/// The form of n8n's parser of messages: addresses as lists, with their texts.
const RESOLVED: &str = "{{ ({...$input, from: {value: [$input.from], text: $input.headers.from}, \
    to: {value: $input.to, text: $input.headers.to}, cc: {value: $input.cc, text: $input.headers.cc}, \
    replyTo: {value: $input.replyTo, text: $input.headers[\"reply-to\"]} }) }}";
/// Searches whose values are texts.
const BY_TEXT: &[&str] = &[
    "BCC",
    "BODY",
    "CC",
    "FROM",
    "KEYWORD",
    "SUBJECT",
    "TEXT",
    "TO",
    "UNKEYWORD",
];

pub(super) fn imap(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    let (kind, name) = credentials(node, "imap");
    let format = node.choice(&["format"], "simple");
    let has_files = match format {
        "resolved" => {
            node.flag(&["downloadAttachments"], true) || node.flag(&["options", "downloadAttachments"], true)
        }
        _ => node.flag(&["downloadAttachments"], false),
    };
    let is_read = node.choice(&["postProcessAction"], "read") != "nothing";
    let mut parameters = json!({
        "connection": name,
        "mailbox": node.choice(&["mailbox"], "INBOX"),
        "afterwards": if is_read { "seen" } else { "leave" },
        // As n8n does: what is unread when it is activated is processed as well.
        "startFrom": "beginning",
    });
    if has_files {
        parameters["files"] = true.into();
    }
    let given = node.choice(&["options", "customEmailConfig"], "[\"UNSEEN\"]");
    let search = search(given);
    match &search {
        Some(search) if search == "ALL" => {}
        Some(search) => parameters["search"] = search.as_str().into(),
        None => parameters["search"] = "UNSEEN".into(),
    }
    let form = if format == "resolved" { RESOLVED } else { SIMPLE };
    let mut translation = Translation::whole("OnMailbox", parameters)
        .then("Transform", json!({"value": form}), true)
        .differs_if(
            search.is_none(),
            "search",
            "the rules of the search can't be written as IMAP's SEARCH, so unread messages take their place",
        )
        .differs_if(
            format == "raw",
            "format",
            "messages are parsed, and not given as they came",
        )
        .differs(
            "message",
            "header fields are as they came, and `attributes` is left out; attachments are in `attachments`, not in binary data",
        );
    translation.connection = Some((kind, name));
    translation
}

/// n8n's list of rules as IMAP writes it; `None`: it has some that this can't.
fn search(given: &str) -> Option<String> {
    let rules: Vec<Value> = serde_json::from_str(given).ok()?;
    let written: Option<Vec<String>> = rules.iter().map(rule).collect();
    let written = written?.join(" ");
    Some(if written.is_empty() {
        "ALL".to_owned()
    } else {
        written
    })
}

fn rule(given: &Value) -> Option<String> {
    let (name, value) = match given {
        Value::String(name) => (name.as_str(), None),
        Value::Array(parts) => match parts.as_slice() {
            [Value::String(name)] => (name.as_str(), None),
            [Value::String(name), Value::String(value)] => (name.as_str(), Some(value.as_str())),
            _ => return None,
        },
        _ => return None,
    };
    let (not, name) = match name.strip_prefix('!') {
        Some(name) => ("NOT ", name),
        None => ("", name),
    };
    let name = name.to_ascii_uppercase();
    let is_flag = value.is_none() && !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_uppercase());
    match value {
        None if is_flag => Some(format!("{not}{name}")),
        Some(value)
            if BY_TEXT.contains(&name.as_str()) && value.chars().all(|char| matches!(char, ' '..='~')) =>
        {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"");
            Some(format!("{not}{name} \"{value}\""))
        }
        _ => None,
    }
}
