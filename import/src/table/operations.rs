//! Nodes of services that heddle has an operation for. What an operation does not take is named in the report.

mod call;
mod forms;
mod objects;
mod rows;
mod sheets;

pub(super) use self::call::identifier;
use self::call::{Call, Refused};
use crate::built::Translation;
use crate::operations::{Known, find};
use crate::scene::Scene;
use serde_json::{Map, Value, json};

/// What n8n gives when nobody says how much.
const LIMIT: u64 = 50;
/// Parameters that have no counterpart because they choose what is here already, or only what an editor shows.
const SILENT: &[&str] = &[
    "resource",
    "operation",
    "authentication",
    "returnAll",
    "limit",
    "select",
    "sendTo",
    "messageType",
    "simple",
    "searchMethod",
    "guildId",
    "driveId",
    "mode",
    "requestOptions",
    "blockUi",
];

pub(super) fn translate(scene: &Scene<'_>) -> Translation {
    let Some(known) = find(scene.node) else {
        return Translation::stub("heddle does not have this operation");
    };
    let mut call = Call {
        scene,
        parameters: Map::new(),
        used: Vec::new(),
        remarks: Vec::new(),
        node_type: None,
    };
    for (ours, theirs) in known.fields {
        call.take(ours, theirs);
    }
    if let Err(why) = special(known, &mut call) {
        return Translation::stub(why);
    }
    limits(known, &mut call);
    left_out(&mut call);
    drawn(known, call)
}

/// What is more than taking parameters over.
fn special(known: &Known, call: &mut Call<'_, '_>) -> Result<(), Refused> {
    match known.node_type {
        kind if kind.starts_with("GoogleSheets") => sheets::sheet(kind, call),
        "AirtableCreateRecord" | "AirtableUpdateRecord" | "AirtableUpsertRecord" => rows::record(call),
        kind if kind.starts_with("Supabase") => rows::supabase(kind, call),
        "NotionQueryDatabase" | "NotionCreateDatabasePage" | "NotionUpdatePage" => forms::notion(call),
        "HubSpotUpsertContact" => {
            forms::contact(call);
            Ok(())
        }
        "JiraCreateIssue" => forms::issue(call),
        "GoogleDriveSearchFiles" => forms::search(call),
        "GoogleDriveUploadFile" => {
            forms::file("file", call);
            Ok(())
        }
        "GmailSendMessage" | "GmailCreateDraft" | "GmailListMessages" | "GmailModifyLabels" => {
            forms::mail(call)
        }
        "SlackCreateChannel" => objects::visibility("channelVisibility", ("private", true.into()), call),
        kind @ ("SlackInviteToChannel" | "SlackOpenConversation") => objects::people(kind, call),
        kind if kind.starts_with("Telegram") || kind.starts_with("Slack") => forms::chat(kind, call),
        "GitHubCreateIssue" => {
            forms::labels(call);
            Ok(())
        }
        "GoogleCalendarCreateEvent" => {
            forms::attendees(call);
            Ok(())
        }
        "OutlookSendMessage" => {
            let format = call
                .given("additionalFields.bodyContentType")
                .and_then(Value::as_str);
            let format = if format == Some("html") { "HTML" } else { "Text" };
            call.put("format", format.into());
            Ok(())
        }
        "TwilioSendSms" => {
            call.put("accountSid", "{{ $vars.TWILIO_ACCOUNT_SID }}".into());
            call.differs(
                "account",
                "the account's SID is a parameter: set the variable TWILIO_ACCOUNT_SID",
            );
            Ok(())
        }
        "WhatsAppSendMessage" if call.node().choice(&["messageType"], "text") != "text" => {
            Err("only text is imported: use an HttpRequest for media")
        }
        "DiscordSendMessage" if !call.node().parameter(&["webhookUri"]).is_null() => {
            Err("a Discord webhook has no connection: use an HttpRequest")
        }
        "DiscordSendMessage" if call.node().choice(&["sendTo"], "channel") != "channel" => {
            Err("messages to people need a channel first: use an HttpRequest")
        }
        kind => objects::special(kind, call),
    }
}

/// `returnAll` and `limit`, in terms of pages.
fn limits(known: &Known, call: &mut Call<'_, '_>) {
    if !known.is_list || call.parameters.contains_key("limit") {
        return;
    }
    let (size, largest) = match known.node_type {
        "AirtableSearchRecords" => ("pageSize", 100),
        "GmailListMessages" | "GmailListThreads" | "PipedriveListPersons" => ("pageSize", 500),
        "GoogleCalendarListEvents" => ("pageSize", 2_500),
        "GoogleDriveSearchFiles" | "SlackListChannels" | "SlackListUsers" => ("pageSize", 1_000),
        "SlackListMessages" | "SlackListReplies" => ("pageSize", 999),
        "XSearchPosts" => ("pageSize", 100),
        "YouTubeSearchVideos" => ("pageSize", 50),
        "JiraSearchIssues" | "NotionQueryDatabase" => ("pageSize", 100),
        _ => return,
    };
    if call.node().flag(&["returnAll"], false) {
        if known.node_type == "NotionQueryDatabase" {
            call.differs("pages", "at most 100 pages of the database are given");
        } else {
            call.put("maxPages", 1_000.into());
        }
        return;
    }
    let limit = call.node().parameter(&["limit"]).as_u64().unwrap_or(LIMIT).max(1);
    call.put(size, limit.min(largest).into());
    if known.node_type != "NotionQueryDatabase" {
        call.put("maxPages", limit.div_ceil(largest).min(1_000).into());
    }
}

/// Names what found no place.
fn left_out(call: &mut Call<'_, '_>) {
    let is_empty = |value: &Value| match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    };
    let names: Vec<String> = call
        .node()
        .parameters
        .iter()
        .filter(|(name, value)| {
            !SILENT.contains(&name.as_str()) && !call.used.contains(&name.as_str()) && !is_empty(value)
        })
        .map(|(name, _)| format!("`{name}`"))
        .collect();
    if !names.is_empty() {
        call.differs("left-out", format!("left out: {}", names.join(", ")));
    }
}

fn drawn(known: &'static Known, call: Call<'_, '_>) -> Translation {
    let scene = call.scene;
    let (kind, name) = super::services::credentials(scene.node, &scene.node.kind);
    let connection = Value::from(crate::expression::literal(&name));
    let mut parameters = Map::from_iter([("connection".to_owned(), connection.clone())]);
    parameters.extend(call.parameters);
    let node_type = call.node_type.unwrap_or(known.node_type);
    let mut translation = Translation::each(node_type, Value::Object(parameters));
    if known.node_type == "TelegramGetFile" && scene.node.flag(&["download"], true) {
        let download = json!({"connection": connection, "path": "{{ $input.file_path }}"});
        translation = translation.then("TelegramDownloadFile", download, true);
    }
    for (code, message) in call.remarks {
        translation = translation.differs(code, message);
    }
    translation = translation.differs(
        "service",
        "the request is heddle's own: n8n may give the service's answer another form",
    );
    translation.connection = Some((kind, name));
    translation
}
