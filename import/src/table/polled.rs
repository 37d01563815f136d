//! Triggers of services that are asked: lists that are looked at now and then.

use super::services::credentials;
use super::subscribing::{is_known, known};
use super::triggers;
use super::watching::part;
use crate::built::Translation;
use crate::scene::Scene;
use serde_json::{Map, Value, json};

/// Asks for a list as often as n8n does; each element that is new starts a run.
fn poll(scene: &Scene<'_>, node_type: &'static str, asked: Value) -> Translation {
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
    if let Value::Object(asked) = asked {
        parameters.extend(asked);
    }
    let mut translation = Translation::whole(node_type, Value::Object(parameters)).differs(
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
    let mut asked = json!({});
    if !terms.is_empty() {
        asked["search"] = terms.join(" ").into();
    }
    let given = node.list(&["filters", "labelIds"]);
    let labels = given.iter().filter_map(Value::as_str);
    let labels: Vec<&str> = labels.filter(|label| is_known(label)).collect();
    if !labels.is_empty() {
        asked["labelIds"] = json!(labels);
    }
    let (_, name) = credentials(node, &node.kind);
    let get = json!({"connection": crate::expression::literal(&name), "messageId": "{{ $input.item.id }}"});
    poll(scene, "OnGmailMessage", asked)
        .then("GmailGetMessage", get, true)
        .differs(
            "message",
            "the message is in Gmail's own form: headers and text are in `payload`",
        )
        .differs_if(
            labels.len() < given.len(),
            "labels",
            "labels given by an expression are left out",
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
    let event = node.choice(&["event"], "fileCreated");
    let is_event = ["fileCreated", "fileUpdated", "folderCreated", "folderUpdated"].contains(&event);
    match is_event {
        true => item(poll(
            scene,
            "OnGoogleDriveFile",
            json!({"folderId": folder, "event": event}),
        )),
        false => triggers::foreign(scene),
    }
}

/// An expression for the event of a poll, by n8n's name: whether n8n starts a run for it.
const OF_CALENDAR: &[(&str, &str)] = &[
    ("eventCreated", "$input.item.created >= $input.since"),
    (
        "eventUpdated",
        "$input.item.created?.slice(0, 19) !== $input.item.updated?.slice(0, 19)",
    ),
    ("eventCancelled", "$input.item.status === \"cancelled\""),
];

pub(super) fn google_calendar(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    let event = node.text(&["triggerOn"]);
    let wanted = OF_CALENDAR.iter().find(|(name, _)| *name == event);
    let (Some(calendar), Some((_, wanted))) = (known(node, &["calendarId"]), wanted) else {
        return triggers::foreign(scene);
    };
    let starts = match event {
        "eventCreated" => "once",
        _ => "everyChange",
    };
    let mut asked = json!({"calendarId": calendar, "starts": starts});
    if let Some(words) = known(node, &["options", "matchTerm"]) {
        asked["search"] = words.into();
    }
    // An empty list is not an item, so that nothing follows.
    part(
        poll(scene, "OnGoogleCalendarEvent", asked),
        &format!("{{{{ {wanted} ? $input.item : [] }}}}"),
    )
}

/// What people do on a board is asked for, as Trello signs with the secret of an app.
pub(super) fn trello(scene: &Scene<'_>) -> Translation {
    let Some(id) = known(scene.node, &["id"]) else {
        return triggers::foreign(scene);
    };
    let model = crate::expression::quoted(id);
    part(
        poll(scene, "OnTrelloAction", json!({ "id": id })),
        &format!("{{{{ ({{ action: $input.item, model: {{ id: {model} }} }}) }}}}"),
    )
    .differs(
        "model",
        "Trello is asked once a minute. The id is taken for a board's: choose `of` if it is that of a list or a card; of `model` only the id is there",
    )
}

pub(super) fn google_sheets(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    let named = node.parameter(&["sheetName", "cachedResultName"]).as_str();
    let by_name = match node.text(&["sheetName", "mode"]) {
        "name" | "" => known(node, &["sheetName"]),
        _ => None,
    };
    let sheet = named.filter(|name| is_known(name)).or(by_name);
    let (Some(document), Some(sheet)) = (known(node, &["documentId"]), sheet) else {
        return triggers::foreign(scene);
    };
    if sheet.contains('\'') {
        return triggers::foreign(scene);
    }
    let document = super::operations::identifier(&document.into());
    let is_added = node.choice(&["event"], "anyUpdate") == "rowAdded";
    let mut asked = json!({
        "spreadsheetId": document,
        "sheet": sheet,
        "event": if is_added { "added" } else { "addedOrChanged" },
    });
    let render = node.choice(&["options", "valueRender"], "UNFORMATTED_VALUE");
    if ["UNFORMATTED_VALUE", "FORMATTED_VALUE", "FORMULA"].contains(&render) {
        asked["render"] = render.into();
    }
    let watches_some = !node.list(&["options", "columnsToWatch"]).is_empty();
    item(poll(scene, "OnGoogleSheetsRow", asked))
        .differs_if(
            !is_added && (watches_some || node.text(&["event"]) == "rowUpdate"),
            "changes",
            "a row starts a run when it is new and when any of its cells has changed: add an If for the changes that n8n looks for",
        )
        .differs_if(
            !node
                .parameter(&["options", "dataLocationOnSheet", "values"])
                .is_null(),
            "range",
            "all of the sheet is looked at, and its first row has the names of the columns",
        )
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
    let mut asked = json!({"baseId": base, "table": table, "field": field});
    if let Some(view) = known(node, &["additionalFields", "viewId"]) {
        asked["view"] = view.into();
    }
    item(poll(scene, "OnAirtableRecord", asked)).differs(
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
    // The name has n8n's own spelling.
    let is_update = node.choice(&["event"], "pageAddedToDatabase") == "pagedUpdatedInDatabase";
    let event = if is_update { "updated" } else { "created" };
    let asked = json!({"databaseId": database, "event": event});
    item(poll(scene, "OnNotionPage", asked)).differs_if(
        node.flag(&["simple"], true),
        "page",
        "the page is in Notion's own form: its values are in `properties`",
    )
}

pub(super) fn outlook(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    let translation = match node.list(&["filters", "foldersToInclude"]) {
        [] => poll(
            scene,
            "OnPoll",
            json!({
                "url": "https://graph.microsoft.com/v1.0/me/messages",
                "query": {"$orderby": "receivedDateTime desc", "$top": 100},
                "items": "value",
                "id": "id",
            }),
        ),
        [Value::String(folder)] if !folder.starts_with('=') => {
            poll(scene, "OnOutlookMessage", json!({"folder": folder}))
        }
        _ => return triggers::foreign(scene),
    };
    item(translation).differs_if(
        node.choice(&["output"], "simple") != "raw",
        "message",
        "the message is in Microsoft's own form, with all its fields",
    )
}
