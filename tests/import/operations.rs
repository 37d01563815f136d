//! Nodes of services become operations.

use crate::drawn::{imported, node_of, says, with_credentials};
use serde_json::{Value, json};

fn parameters(kind: &str, given: Value) -> Value {
    let imported = imported(&with_credentials(kind, given));
    node_of(&imported, "it")["data"]["parameters"].clone()
}

#[test]
fn messages_rows_and_records_are_sent_as_before() {
    let telegram = json!({"chatId": "={{ $json.chat }}", "text": "=Hi {{ $json.name }}", "additionalFields": {"parse_mode": "HTML"}});
    assert_eq!(
        parameters("telegram", telegram),
        json!({"connection": "mine", "chatId": "{{ $json.chat }}", "text": "Hi {{ $json.name }}", "parseMode": "HTML"})
    );
    let columns = json!({"mappingMode": "defineBelow", "value": {"a": "={{ $json.x }}"}, "schema": [{"id": "a"}, {"id": "b"}]});
    let sheet = json!({"__rl": true, "mode": "list", "value": "gid=0", "cachedResultName": "Orders"});
    let document = json!({"__rl": true, "mode": "url", "value": "https://docs.google.com/spreadsheets/d/1abc/edit#gid=0"});
    let append =
        json!({"operation": "append", "documentId": document, "sheetName": sheet, "columns": columns});
    assert_eq!(
        parameters("googleSheets", append),
        json!({"connection": "mine", "spreadsheetId": "1abc", "sheet": "Orders", "values": [["{{ $json.x }}", null]]})
    );
    let properties = json!({"propertyValues": [{"key": "Name|title", "title": "A"}, {"key": "Done|checkbox", "checkboxValue": true}]});
    let page = json!({"resource": "databasePage", "operation": "update", "pageId": "p1", "propertiesUi": properties});
    assert_eq!(
        parameters("notion", page)["properties"],
        json!({"Name": {"title": [{"text": {"content": "A"}}]}, "Done": {"checkbox": true}})
    );
}

#[test]
fn what_is_not_taken_over_is_named_or_a_stub() {
    let slack = json!({"channel": "C1", "text": "Hi", "attachments": [{"color": "red"}]});
    let imported_slack = imported(&with_credentials("slack", slack));
    assert_eq!(node_of(&imported_slack, "it")["type"], "SlackSendMessage");
    assert!(says(&imported_slack, "attachments") && says(&imported_slack, "service"));
    let update = json!({"operation": "update", "documentId": "1abc", "sheetName": "S", "columns": {"matchingColumns": ["mail"], "schema": [{"id": "mail"}]}});
    let stub = imported(&with_credentials("googleSheets", update));
    assert_eq!(node_of(&stub, "it")["type"], "NotImported");
    assert_eq!(stub.report.summary.stub, 1);
}

#[test]
fn objects_tickets_and_rows_have_the_form_that_their_service_takes() {
    let filter = json!({"propertyName": "email|string", "operator": "EQ", "value": "={{ $json.mail }}"});
    let group = json!({"filtersUi": {"filterValues": [filter]}});
    let search = json!({"resource": "contact", "operation": "search", "filterGroupsUi": {"filterGroupsValues": [group]}});
    assert_eq!(
        parameters("hubspot", search)["filterGroups"],
        json!([{"filters": [{"propertyName": "email", "operator": "EQ", "value": "{{ $json.mail }}"}]}])
    );
    let deal = json!({"resource": "deal", "operation": "update", "dealId": 7, "updateFields": {"stage": "won", "amount": "5"}});
    assert_eq!(
        parameters("hubspot", deal),
        json!({"connection": "mine", "objectType": "deals", "objectId": "7", "properties": {"dealstage": "won", "amount": "5"}})
    );
    // What is private stays private.
    let channel = json!({"resource": "channel", "operation": "create", "teamId": "t", "channel": "c", "displayName": "C", "type": "private"});
    assert_eq!(parameters("mattermost", channel)["type"], "P");
    let channel = json!({"resource": "channel", "operation": "create", "channelId": "c", "channelVisibility": "private"});
    assert_eq!(parameters("slack", channel)["private"], true);
    // What n8n moves to the trash is not deleted for good.
    let trash = json!({"operation": "deleteFile", "fileId": "f1"});
    assert_eq!(
        parameters("googleDrive", trash),
        json!({"connection": "mine", "fileId": "f1", "trashed": true})
    );
    let delete = json!({"operation": "deleteFile", "fileId": "f1", "options": {"deletePermanently": true}});
    let delete = imported(&with_credentials("googleDrive", delete));
    assert_eq!(node_of(&delete, "it")["type"], "GoogleDriveDeleteFile");
    let note = json!({"resource": "note", "content": "Hi", "additionalFields": {"deal_id": "5"}});
    assert_eq!(
        parameters("pipedrive", note),
        json!({"connection": "mine", "content": "Hi", "dealId": 5})
    );
    let row = json!({"operation": "create", "databaseId": 1, "tableId": 2, "fieldsUi": {"fieldValues": [{"fieldId": 12, "fieldValue": "Ann"}]}});
    assert_eq!(
        parameters("baserow", row),
        json!({"connection": "mine", "tableId": 2, "fields": {"field_12": "Ann"}, "userFieldNames": false})
    );
    let ticket =
        json!({"operation": "update", "id": "7", "updateFields": {"internalNote": "Seen", "status": "open"}});
    assert_eq!(
        parameters("zendesk", ticket),
        json!({"connection": "mine", "ticketId": "7", "comment": "Seen", "isPublic": false, "status": "open"})
    );
    let sheet = json!({"operation": "delete", "documentId": "1abc", "sheetName": {"__rl": true, "mode": "list", "value": "gid=5"}});
    assert_eq!(
        parameters("googleSheets", sheet),
        json!({"connection": "mine", "spreadsheetId": "1abc", "sheetId": 5, "row": 2})
    );
}

/// A trigger of this kind alone, with credentials.
fn started(kind: &str, parameters: Value) -> Value {
    let credentials = json!({"someApi": {"id": "1", "name": "mine"}});
    let node = json!({"name": "It", "type": format!("n8n-nodes-base.{kind}"), "typeVersion": 1, "position": [0, 0],
        "parameters": parameters, "credentials": credentials});
    let imported = imported(&json!({"name": "W", "nodes": [node], "connections": {}}));
    assert_eq!(imported.report.summary.stub, 0, "{:#?}", imported.report);
    let mut nodes = imported.graph_data["nodes"].as_array().unwrap().iter();
    let trigger = nodes.find(|node| node["type"].as_str().unwrap().starts_with("On"));
    trigger.unwrap().clone()
}

#[test]
fn services_start_runs_by_their_signature_or_are_asked() {
    let telegram = started("telegramTrigger", json!({"updates": ["message"]}));
    assert_eq!(telegram["type"], "OnWebhook");
    assert_eq!(
        telegram["data"]["parameters"],
        json!({"alias": "telegram", "scheme": "header", "tokenHeader": "X-Telegram-Bot-Api-Secret-Token"})
    );
    let typeform = started("typeformTrigger", json!({"formId": "f"}));
    assert_eq!(typeform["data"]["parameters"]["hmac"]["prefix"], "sha256=");
    let times = json!({"item": [{"mode": "everyX", "unit": "minutes", "value": 10}]});
    let gmail = started(
        "gmailTrigger",
        json!({"pollTimes": times, "filters": {"readStatus": "unread"}}),
    );
    assert_eq!(
        gmail["data"]["parameters"],
        json!({"connection": "mine", "cron": "*/10 * * * *", "url": "https://gmail.googleapis.com/gmail/v1/users/me/messages",
            "query": {"maxResults": 100, "q": "is:unread"}, "items": "messages", "id": "id"})
    );
    let folder = json!({"__rl": true, "mode": "url", "value": "https://drive.google.com/drive/folders/d1?x"});
    let drive = started(
        "googleDriveTrigger",
        json!({"triggerOn": "specificFolder", "folderToWatch": folder, "event": "fileUpdated"}),
    );
    let asked = &drive["data"]["parameters"];
    assert!(
        asked["query"]["q"]
            .as_str()
            .unwrap()
            .starts_with("'d1' in parents"),
        "{asked}"
    );
    assert_eq!(asked.get("id"), None, "a file that has changed is new");
}

#[test]
fn files_are_made_of_items_and_read() {
    let options = json!({"sheetName": "=Orders {{ $json.year }}", "fileName": "orders.xlsx"});
    assert_eq!(
        parameters("convertToFile", json!({"operation": "xlsx", "options": options})),
        json!({"operation": "write", "value": "{{ $input.all() }}", "sheet": "Orders {{ $json.year }}", "header": true, "dates": false,
            "flatten": true, "name": "orders.xlsx"})
    );
    let made = imported(&with_credentials(
        "convertToFile",
        json!({"operation": "toText", "sourceProperty": "a.b"}),
    ));
    assert_eq!(
        node_of(&made, "it")["data"]["parameters"]["content"],
        "{{ $json?.[\"a\"]?.[\"b\"] }}"
    );
    let read = imported(&with_credentials(
        "extractFromFile",
        json!({"operation": "xlsx", "options": {"headerRow": false}}),
    ));
    assert_eq!(node_of(&read, "it")["type"], "Flatten");
    assert!(says(&read, "files"));
    let other = imported(&with_credentials("convertToFile", json!({"operation": "ods"})));
    assert_eq!(other.report.summary.stub, 1);
}
