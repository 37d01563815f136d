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
