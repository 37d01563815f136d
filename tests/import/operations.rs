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
    let clear = json!({"operation": "clear", "documentId": "1abc", "sheetName": {"__rl": true, "mode": "id", "value": "gid=0"}});
    let stub = imported(&with_credentials("googleSheets", clear));
    assert_eq!(node_of(&stub, "it")["type"], "NotImported");
    assert_eq!(stub.report.summary.stub, 1);
}

#[test]
fn rows_are_found_by_their_values_and_no_more_is_emptied_than_in_n8n() {
    let sheets = |given: Value| {
        let mut all = json!({"documentId": "1abc", "sheetName": "S"});
        all.as_object_mut()
            .unwrap()
            .extend(given.as_object().unwrap().clone());
        parameters("googleSheets", all)
    };
    let columns = json!({"mappingMode": "defineBelow", "matchingColumns": ["mail"], "value": {"mail": "={{ $json.mail }}", "age": 5}});
    let row = json!({"mail": "{{ $json.mail }}", "age": 5});
    let given = json!({"operation": "appendOrUpdate", "columns": columns, "options": {"cellFormat": "RAW"}});
    assert_eq!(
        sheets(given),
        json!({"connection": "mine", "spreadsheetId": "1abc", "sheet": "S", "column": "mail", "row": row, "valueInput": "RAW"})
    );
    assert_eq!(
        sheets(json!({"operation": "update", "columns": columns})),
        json!({"connection": "mine", "spreadsheetId": "1abc", "sheet": "S", "column": "mail", "row": row, "append": false})
    );
    let fields = json!({"values": [{"column": "age", "fieldValue": 5}]});
    let given = json!({"operation": "update", "columnToMatchOn": "mail", "valueToMatchOn": "={{ $json.mail }}", "fieldsUi": fields});
    assert_eq!(sheets(given)["row"], row);
    let given = json!({"operation": "append", "columns": {"mappingMode": "autoMapInputData", "value": {}}});
    let appended = imported(&with_credentials(
        "googleSheets",
        json!({"operation": "append", "sheetId": "1abc", "range": "Orders!A:D"}),
    ));
    let appended = node_of(&appended, "it");
    assert_eq!(
        (&appended["type"], &appended["data"]["parameters"]["sheet"]),
        (&json!("GoogleSheetsAppendRow"), &json!("Orders"))
    );
    assert_eq!(sheets(given)["row"], appended["data"]["parameters"]["row"]);
    let by_number = |value: &str| {
        sheets(json!({"sheetName": {"__rl": true, "mode": "id", "value": value}}))["sheetId"].clone()
    };
    assert_eq!(by_number("gid=5"), 5);
    let computed = by_number("={{ $json.sheet }}");
    let computed = computed.as_str().unwrap();
    assert!(
        computed.starts_with("{{ [parseInt(String(") && computed.contains("$json"),
        "{computed}"
    );
    let wanted = |given: Value| {
        let filters =
            json!({"values": [{"lookupColumn": "mail", "lookupValue": "={{ $json.mail }}"}, given]});
        sheets(json!({"filtersUI": filters, "options": {"returnAllMatches": "returnAllMatches"}}))["where"]
            .clone()
    };
    assert_eq!(
        wanted(json!({"lookupColumn": "age", "lookupValue": "5"})),
        json!({"mail": "{{ $json.mail }}", "age": "5"})
    );
    assert_eq!(
        wanted(json!({"lookupColumn": "={{ $json.column }}", "lookupValue": "5"})),
        Value::Null
    );
    let cleared = |given: Value| {
        let mut all = json!({"operation": "clear"});
        all.as_object_mut()
            .unwrap()
            .extend(given.as_object().unwrap().clone());
        sheets(all)["range"].clone()
    };
    assert_eq!(cleared(json!({})), Value::Null);
    assert_eq!(
        cleared(json!({"clear": "specificRows", "startIndex": 3, "rowsToDelete": 2})),
        "3:4"
    );
    assert_eq!(
        cleared(json!({"clear": "specificColumns", "startIndex": "Z", "columnsToDelete": 2})),
        "Z:AA"
    );
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
    assert_eq!(telegram["type"], "OnTelegramUpdate");
    let typeform = started("typeformTrigger", json!({"formId": "f"}));
    assert_eq!(typeform["type"], "OnTypeformResponse");
    assert_eq!(
        typeform["data"]["parameters"],
        json!({"connection": "mine", "form": "f"})
    );
    let shop = json!({"__rl": true, "mode": "url", "value": "https://github.com/acme/shop"});
    let pushes = started(
        "githubTrigger",
        json!({"owner": {"__rl": true, "mode": "name", "value": "acme"}, "repository": shop, "events": ["push"]}),
    );
    assert_eq!(
        pushes["data"]["parameters"],
        json!({"connection": "mine", "owner": "acme", "repository": "shop", "events": ["push"]})
    );
    // Where it is not known before a run what is asked for, people do it.
    let computed = started("stripeTrigger", json!({"events": ["={{ $json.event }}"]}));
    assert_eq!(
        (&computed["type"], &computed["data"]["parameters"]["connection"]),
        (&json!("OnStripeEvent"), &json!(null))
    );
    let times = json!({"item": [{"mode": "everyX", "unit": "minutes", "value": 10}]});
    let gmail = started(
        "gmailTrigger",
        json!({"pollTimes": times, "filters": {"readStatus": "unread"}}),
    );
    assert_eq!(
        gmail["data"]["parameters"],
        json!({"connection": "mine", "cron": "*/10 * * * *", "search": "is:unread"})
    );
    let sheet = json!({"__rl": true, "mode": "list", "value": "gid=0", "cachedResultName": "Orders"});
    let rows = started(
        "googleSheetsTrigger",
        json!({"documentId": {"__rl": true, "mode": "id", "value": "1abc"}, "sheetName": sheet, "event": "rowAdded"}),
    );
    assert_eq!(
        rows["data"]["parameters"],
        json!({"connection": "mine", "cron": "* * * * *", "spreadsheetId": "1abc", "sheet": "Orders", "event": "added",
            "render": "UNFORMATTED_VALUE"})
    );
    let folder = json!({"__rl": true, "mode": "url", "value": "https://drive.google.com/drive/folders/d1?x"});
    let drive = started(
        "googleDriveTrigger",
        json!({"triggerOn": "specificFolder", "folderToWatch": folder, "event": "fileUpdated"}),
    );
    assert_eq!(
        drive["data"]["parameters"],
        json!({"connection": "mine", "cron": "* * * * *", "folderId": "d1", "event": "fileUpdated"})
    );
    let calendar = json!({"__rl": true, "mode": "list", "value": "ann@example.com"});
    let events = started(
        "googleCalendarTrigger",
        json!({"calendarId": calendar, "triggerOn": "eventCreated", "options": {"matchTerm": "lunch"}}),
    );
    assert_eq!(events["type"], "OnGoogleCalendarEvent");
    assert_eq!(
        events["data"]["parameters"],
        json!({"connection": "mine", "cron": "* * * * *", "calendarId": "ann@example.com", "starts": "once", "search": "lunch"})
    );
    let cards = started("trelloTrigger", json!({"id": "b1"}));
    assert_eq!(cards["type"], "OnTrelloAction");
    assert_eq!(
        cards["data"]["parameters"],
        json!({"connection": "mine", "cron": "* * * * *", "id": "b1"})
    );
}

#[test]
fn a_mailbox_is_watched_as_n8n_does() {
    let by_default = json!({"connection": "mine", "mailbox": "INBOX", "afterwards": "seen", "startFrom": "beginning", "search": "UNSEEN"});
    assert_eq!(
        started("emailReadImap", json!({}))["data"]["parameters"],
        by_default
    );
    let rules = r#"["UNSEEN", ["!FROM", "a\"b"], "flagged"]"#;
    let other = json!({"mailbox": "Shop", "postProcessAction": "nothing", "format": "resolved", "options": {"customEmailConfig": rules}});
    assert_eq!(
        started("emailReadImap", other)["data"]["parameters"],
        json!({"connection": "mine", "mailbox": "Shop", "afterwards": "leave", "startFrom": "beginning", "files": true,
            "search": "UNSEEN NOT FROM \"a\\\"b\" FLAGGED"})
    );
    // A search by dates, which n8n writes as it likes.
    let dated = json!({"options": {"customEmailConfig": r#"[["SINCE", "May 20, 2010"]]"#}});
    assert_eq!(started("emailReadImap", dated)["data"]["parameters"], by_default);
}

#[test]
fn files_are_made_of_items_and_read() {
    let options = json!({"sheetName": "=Orders {{ $json.year }}", "fileName": "orders.xlsx"});
    assert_eq!(
        parameters("convertToFile", json!({"operation": "xlsx", "options": options})),
        json!({"operation": "write", "value": "{{ $input.all() }}", "sheet": "Orders {{ $input.first().year }}", "header": true, "dates": false,
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
    assert_eq!(node_of(&read, "it")["type"], "Xlsx");
    assert!(says(&read, "files"));
    let other = imported(&with_credentials("convertToFile", json!({"operation": "ods"})));
    assert_eq!(other.report.summary.stub, 1);
}
