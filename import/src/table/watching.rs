//! Triggers of services: webhooks that the service signs, and lists that are asked for now and then.

use super::services::credentials;
use super::triggers;
use crate::built::Translation;
use crate::scene::Scene;
use crate::workflow::Node;
use serde_json::{Map, Value, json};

/// Google Drive's fields of a file: all that say that it is another one now.
const FILE_FIELDS: &str =
    "files(id,name,mimeType,createdTime,modifiedTime,parents,webViewLink,size,md5Checksum)";
/// Answers of a form by the titles of its questions, as n8n gives them.
const ANSWERS: &str = "{{ Object.fromEntries(($input.body.form_response.answers ?? []).map(answer => \
    [($input.body.form_response.definition.fields.find(field => field.id === answer.field.id) ?? answer.field).title ?? answer.field.id, \
    answer.type === \"choice\" ? (answer.choice.label ?? answer.choice.other) \
    : answer.type === \"choices\" ? answer.choices.labels : answer[answer.type]])) }}";

/// A webhook whose sender signs, or says a secret.
fn webhook(alias: &str, proof: Value, told: &str) -> Translation {
    let mut parameters = json!({"alias": alias});
    if let (Some(parameters), Value::Object(proof)) = (parameters.as_object_mut(), proof) {
        parameters.extend(proof);
    }
    Translation::whole("OnWebhook", parameters).differs(
        "subscription",
        format!("the service must be told the webhook's address, which deploying shows: {told}"),
    )
}

/// A webhook of which only a part of the body goes on.
fn part(translation: Translation, part: &str) -> Translation {
    translation.then("Transform", json!({"value": part}), false)
}

pub(super) fn telegram(_: &Scene<'_>) -> Translation {
    let proof = json!({"scheme": "header", "tokenHeader": "X-Telegram-Bot-Api-Secret-Token"});
    let told = "call the Bot API's `setWebhook` with it, the webhook's secret as `secret_token`, and the kinds of updates";
    part(webhook("telegram", proof, told), "{{ $input.body }}")
}

pub(super) fn github(_: &Scene<'_>) -> Translation {
    let told = "add it to the repository's webhooks with the content type `application/json`, its events and a secret, and set the same secret here";
    webhook("github", json!({"scheme": "github"}), told)
}

pub(super) fn gitlab(_: &Scene<'_>) -> Translation {
    let told =
        "add it to the project's webhooks with its events and a secret token, and set the same secret here";
    webhook("gitlab", json!({"scheme": "gitlab"}), told)
}

pub(super) fn stripe(_: &Scene<'_>) -> Translation {
    let told = "add it to Stripe's webhooks with its events, and set the signing secret here";
    part(
        webhook("stripe", json!({"scheme": "stripe"}), told),
        "{{ $input.body }}",
    )
}

pub(super) fn slack(_: &Scene<'_>) -> Translation {
    let told = "set it as the request URL of your Slack app's event subscriptions, with its events, and set the app's signing secret here";
    part(
        webhook("slack", json!({"scheme": "slack"}), told),
        "{{ $input.body.event }}",
    )
}

pub(super) fn shopify(_: &Scene<'_>) -> Translation {
    let told =
        "add it to the shop's webhooks in the form of JSON with its topic, and set the signing secret here";
    part(
        webhook("shopify", json!({"scheme": "shopify"}), told),
        "{{ $input.body }}",
    )
}

pub(super) fn woo_commerce(_: &Scene<'_>) -> Translation {
    let hmac = json!({"header": "X-WC-Webhook-Signature", "encoding": "base64"});
    let told = "add it to WooCommerce's webhooks with its topic and a secret, and set the same secret here";
    part(
        webhook("woocommerce", json!({"scheme": "hmac", "hmac": hmac}), told),
        "{{ $input.body }}",
    )
}

pub(super) fn linear(_: &Scene<'_>) -> Translation {
    let told = "add it to Linear's webhooks with its kinds of data, and set the signing secret here";
    let proof = json!({"scheme": "hmac", "hmac": {"header": "Linear-Signature"}});
    part(webhook("linear", proof, told), "{{ $input.body }}")
}

pub(super) fn typeform(scene: &Scene<'_>) -> Translation {
    let hmac = json!({"header": "Typeform-Signature", "encoding": "base64", "prefix": "sha256="});
    let told = "add it to the form's webhooks with a secret, and set the same secret here";
    let webhook = webhook("typeform", json!({"scheme": "hmac", "hmac": hmac}), told);
    let simple = scene.node.flag(&["simplifyAnswers"], true) && scene.node.flag(&["onlyAnswers"], true);
    part(
        webhook,
        if simple {
            ANSWERS
        } else {
            "{{ $input.body.form_response }}"
        },
    )
}

/// A parameter that is known before a run: none if it is not given or an expression.
fn known<'n>(node: &'n Node, path: &[&str]) -> Option<&'n str> {
    let given = node.parameter(path);
    let text = given.get("value").unwrap_or(given).as_str()?;
    is_known(text).then_some(text)
}

fn is_known(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('=') && !text.contains("{{")
}

/// An id or a name as a part of an address.
fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(byte).collect()
}

/// Asks for a list as often as n8n does; each element that is new starts a run.
fn poll(scene: &Scene<'_>, request: Value) -> Translation {
    let node = scene.node;
    let (kind, name) = credentials(node, &node.kind);
    let time = node.list(&["pollTimes", "item"]).first();
    let cron = match time.filter(|time| time.get("mode").is_some()) {
        Some(time) => triggers::of_time(time),
        None => Ok("* * * * *".to_owned()),
    };
    let mut parameters = Map::from_iter([("connection".to_owned(), Value::from(name.as_str()))]);
    parameters.insert(
        "cron".to_owned(),
        cron.clone().unwrap_or_else(|_| "*/5 * * * *".to_owned()).into(),
    );
    if let Some(zone) = scene.names.zone {
        parameters.insert("timezone".to_owned(), zone.into());
    }
    if let Value::Object(request) = request {
        parameters.extend(request);
    }
    let mut translation = Translation::whole("OnPoll", Value::Object(parameters)).differs(
        "service",
        "each new element starts a run of its own, and only those on the first page of the list are seen",
    );
    if let Err(refused) = cron {
        translation = translation.differs(
            "schedule",
            format!("{refused}; every five minutes takes its place"),
        );
    }
    translation.connection = Some((kind, name));
    translation
}

/// What is polled is the event's `item`.
fn item(translation: Translation) -> Translation {
    part(translation, "{{ $input.item }}")
}

pub(super) fn gmail(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    let mut terms: Vec<String> = Vec::new();
    terms.extend(known(node, &["filters", "q"]).map(str::to_owned));
    terms.extend(known(node, &["filters", "sender"]).map(|sender| format!("from:({sender})")));
    match node.text(&["filters", "readStatus"]) {
        "unread" => terms.push("is:unread".to_owned()),
        "read" => terms.push("is:read".to_owned()),
        _ => {}
    }
    let mut query = json!({"maxResults": 100});
    if !terms.is_empty() {
        query["q"] = terms.join(" ").into();
    }
    let given = node.list(&["filters", "labelIds"]);
    let labels = given.iter().filter_map(Value::as_str);
    let labels: Vec<&str> = labels.filter(|label| is_known(label)).collect();
    if !labels.is_empty() {
        query["labelIds"] = json!(labels);
    }
    let request = json!({
        "url": "https://gmail.googleapis.com/gmail/v1/users/me/messages",
        "query": query,
        "items": "messages",
        "id": "id",
    });
    let (_, name) = credentials(node, &node.kind);
    let get = json!({"connection": crate::expression::literal(&name), "messageId": "{{ $input.item.id }}"});
    poll(scene, request)
        .then("GmailGetMessage", get, false)
        .differs(
            "message",
            "the message is in Gmail's own form: headers and text are in `payload`",
        )
        .differs_if(
            labels.len() < given.len(),
            "labels",
            "labels that an expression gives are left out",
        )
        .differs_if(
            node.flag(&["options", "downloadAttachments"], false),
            "files",
            "attachments are left out",
        )
}

pub(super) fn google_drive(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    let folder = known(node, &["folderToWatch"]);
    let (Some(folder), "specificFolder") = (folder, node.choice(&["triggerOn"], "specificFile")) else {
        return triggers::foreign(scene);
    };
    let folder = super::operations::identifier(&folder.into());
    let folder = folder.as_str().unwrap_or_default().replace('\'', "\\'");
    let event = node.choice(&["event"], "fileCreated");
    let (kind, order) = match event {
        "fileCreated" => ("!=", "createdTime desc"),
        "fileUpdated" => ("!=", "modifiedTime desc"),
        "folderCreated" => ("=", "createdTime desc"),
        "folderUpdated" => ("=", "modifiedTime desc"),
        _ => return triggers::foreign(scene),
    };
    let search = format!(
        "'{folder}' in parents and trashed = false and mimeType {kind} 'application/vnd.google-apps.folder'"
    );
    let mut request = json!({
        "url": "https://www.googleapis.com/drive/v3/files",
        "query": {
            "q": search,
            "orderBy": order,
            "pageSize": 100,
            "fields": FILE_FIELDS,
            "supportsAllDrives": true,
            "includeItemsFromAllDrives": true,
        },
        "items": "files",
    });
    if event.ends_with("Created") {
        request["id"] = "id".into();
    }
    item(poll(scene, request))
}

pub(super) fn airtable(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    let named = (
        known(node, &["baseId"]),
        known(node, &["tableId"]),
        known(node, &["triggerField"]),
    );
    let (Some(base), Some(table), Some(field)) = named else {
        return triggers::foreign(scene);
    };
    if base.contains('/') || table.contains('/') {
        return Translation {
            stub: Some("the base or table is given by its address: heddle needs their ids".to_owned()),
            ..triggers::foreign(scene)
        };
    }
    let mut query = json!({"sort[0][field]": field, "sort[0][direction]": "desc", "pageSize": 100});
    if let Some(view) = known(node, &["additionalFields", "viewId"]) {
        query["view"] = view.into();
    }
    let url = format!("https://api.airtable.com/v0/{}/{}", encoded(base), encoded(table));
    item(poll(
        scene,
        json!({"url": url, "query": query, "items": "records"}),
    ))
    .differs(
        "changes",
        "a record starts a run whenever any of its fields has changed, not only the one that n8n looks at",
    )
}

pub(super) fn notion(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    let Some(database) = known(node, &["databaseId"]) else {
        return triggers::foreign(scene);
    };
    let database = super::operations::identifier(&database.into());
    let database = encoded(database.as_str().unwrap_or_default());
    // The name has n8n's own spelling.
    let is_update = node.choice(&["event"], "pageAddedToDatabase") == "pagedUpdatedInDatabase";
    let by = if is_update {
        "last_edited_time"
    } else {
        "created_time"
    };
    let mut request = json!({
        "url": format!("https://api.notion.com/v1/databases/{database}/query"),
        "method": "POST",
        "headers": {"Notion-Version": "2022-06-28"},
        "body": {"sorts": [{"timestamp": by, "direction": "descending"}], "page_size": 100},
        "items": "results",
    });
    if !is_update {
        request["id"] = "id".into();
    }
    item(poll(scene, request)).differs_if(
        node.flag(&["simple"], true),
        "page",
        "the page is in Notion's own form: its values are in `properties`",
    )
}

pub(super) fn outlook(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    let url = match node.list(&["filters", "foldersToInclude"]) {
        [] => "https://graph.microsoft.com/v1.0/me/messages".to_owned(),
        [Value::String(folder)] if !folder.starts_with('=') => {
            let folder = encoded(folder);
            format!("https://graph.microsoft.com/v1.0/me/mailFolders/{folder}/messages")
        }
        _ => return triggers::foreign(scene),
    };
    let request = json!({
        "url": url,
        "query": {"$orderby": "receivedDateTime desc", "$top": 100},
        "items": "value",
        "id": "id",
    });
    item(poll(scene, request)).differs_if(
        node.choice(&["output"], "simple") != "raw",
        "message",
        "the message is in Microsoft's own form, with all its fields",
    )
}
