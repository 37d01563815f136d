//! What is more than a name in the parameters of services that keep records, people and tickets.

use super::call::{Call, Refused};
use super::forms;
use serde_json::{Map, Value, json};

/// What an operation takes besides the parameters that have a counterpart.
pub(super) fn special(kind: &str, call: &mut Call<'_, '_>) -> Result<(), Refused> {
    match kind {
        kind if kind.starts_with("HubSpot") => hubspot(kind, call),
        kind if kind.starts_with("NocoDB") => nocodb(kind, call),
        kind if kind.starts_with("Baserow") => return baserow(kind, call),
        kind if kind.starts_with("Pipedrive") => pipedrive(kind, call),
        "GoogleDocsAppendText" => return appended(call),
        "JiraUpdateIssue" => return changes(call),
        "JiraAddAttachment" => forms::file("file", call),
        "ZendeskUpdateTicket" => {
            let is_note = !call.node().text(&["updateFields", "internalNote"]).is_empty();
            call.put("isPublic", (!is_note).into());
        }
        "ZendeskSearchTickets" => tickets(call),
        "YouTubeUpdateVideo" => tags(call),
        "OpenWeatherMapCurrent" => call.used.push("locationSelection"),
        "GoogleDriveUpdateFile" => trash(call),
        "MattermostCreateChannel" => return visibility("type", ("type", "P".into()), call),
        _ => {}
    }
    Ok(())
}

/// Google Drive: n8n moves to the trash what it deletes, unless it is told to delete it for good.
fn trash(call: &mut Call<'_, '_>) {
    let node = call.node();
    if !matches!(node.text(&["operation"]), "deleteFile" | "deleteFolder") {
        return;
    }
    call.used.push("options");
    match node.flag(&["options", "deletePermanently"], false) {
        true => call.node_type = Some("GoogleDriveDeleteFile"),
        false => call.put("trashed", true.into()),
    }
}

/// Whether everybody sees a channel: the parameter by which n8n says it, and what makes a channel private here.
pub(super) fn visibility(
    theirs: &'static str,
    (ours, private): (&str, Value),
    call: &mut Call<'_, '_>,
) -> Result<(), Refused> {
    call.used.push(theirs);
    match call.node().choice(&[theirs], "public") {
        "public" => Ok(()),
        "private" => {
            call.put(ours, private);
            Ok(())
        }
        _ => Err("an expression says whether the channel is private"),
    }
}

/// Slack: people are a list of ids.
pub(super) fn people(kind: &str, call: &mut Call<'_, '_>) -> Result<(), Refused> {
    let path = match kind {
        "SlackInviteToChannel" => "userIds",
        "SlackOpenConversation" => "options.users",
        _ => return Ok(()),
    };
    let Some(users) = call.given(path) else {
        return Err("it names no user");
    };
    let source = call.scene.source(users);
    call.put("users", format!("{{{{ [{source}].flat().join(\",\") }}}}").into());
    Ok(())
}

/// Ids that are numbers, but that n8n keeps as texts.
fn numbers(names: &[&str], call: &mut Call<'_, '_>) {
    for name in names {
        let number = call.parameters.get(*name).and_then(Value::as_str);
        if let Some(number) = number.and_then(|text| text.trim().parse::<u64>().ok()) {
            call.put(name, number.into());
        }
    }
}

/// Ids that are texts here, as parts of an address, but that n8n keeps as numbers.
fn texts(names: &[&str], call: &mut Call<'_, '_>) {
    for name in names {
        let number = call.parameters.get(*name).filter(|value| value.is_number());
        if let Some(text) = number.map(Value::to_string) {
            call.put(name, text.into());
        }
    }
}

fn pipedrive(kind: &str, call: &mut Call<'_, '_>) {
    call.used.extend(["associateWith", "resolveProperties"]);
    match kind {
        "PipedriveGetPerson" | "PipedriveGetOrganization" => {
            return texts(&["personId", "organizationId"], call);
        }
        "PipedriveUpdatePerson" => texts(&["personId"], call),
        _ => numbers(&["personId"], call),
    }
    numbers(&["organizationId", "ownerId", "dealId", "stageId"], call);
}

/// HubSpot: one operation for all kinds of objects.
fn hubspot(kind: &str, call: &mut Call<'_, '_>) {
    let resource = call.node().choice(&["resource"], "contact");
    let objects = match resource {
        "company" => "companies".to_owned(),
        other => format!("{other}s"),
    };
    call.put("objectType", objects.into());
    texts(&["objectId"], call);
    match kind {
        "HubSpotCreateObject" => {
            let asked: &'static [(&'static str, &'static str)] = match resource {
                "company" => &[("name", "name")],
                "deal" => &[("stage", "dealstage")],
                _ => &[
                    ("ticketName", "subject"),
                    ("pipelineId", "hs_pipeline"),
                    ("stageId", "hs_pipeline_stage"),
                ],
            };
            let mut properties = Map::new();
            for &(theirs, ours) in asked {
                if let Some(value) = call.given(theirs) {
                    let value = call.scene.value(value);
                    properties.insert(ours.to_owned(), value);
                }
            }
            forms::properties("additionalFields", properties, call);
        }
        "HubSpotUpdateObject" => forms::properties("updateFields", Map::new(), call),
        "HubSpotSearchObjects" => filters(call),
        _ => {}
    }
}

/// Filters of a search, whose names n8n keeps with their types: `email|string`.
fn filters(call: &mut Call<'_, '_>) {
    call.used.push("filterGroupsUi");
    let node = call.node();
    let mut groups = Vec::new();
    for group in node.list(&["filterGroupsUi", "filterGroupsValues"]) {
        let filters = group.pointer("/filtersUi/filterValues").and_then(Value::as_array);
        let filters = filters.into_iter().flatten().map(|filter| {
            let given = |name: &str| filter.get(name).unwrap_or(&Value::Null);
            let name = given("propertyName").as_str().unwrap_or_default();
            let mut one = json!({
                "propertyName": name.split('|').next().unwrap_or_default(),
                "operator": given("operator").as_str().unwrap_or("EQ"),
            });
            if !given("value").is_null() {
                one["value"] = call.scene.value(given("value"));
            }
            one
        });
        groups.push(json!({"filters": filters.collect::<Vec<_>>()}));
    }
    if !groups.is_empty() {
        call.put("filterGroups", Value::Array(groups));
    }
}

/// Values by column, of a form or of the item itself.
fn row(column: &str, by: impl Fn(&str) -> String, call: &mut Call<'_, '_>) -> Value {
    call.used
        .extend(["dataToSend", "fieldsUi", "inputsToIgnore", "inputDataToIgnore"]);
    let node = call.node();
    let fields = node.list(&["fieldsUi", "fieldValues"]);
    let usual = if fields.is_empty() {
        "autoMapInputData"
    } else {
        "defineBelow"
    };
    if node.choice(&["dataToSend"], usual) != "defineBelow" {
        return call.scene.value(&"={{ $json }}".into());
    }
    let pair = |field: &Value| {
        let name = field.get(column)?;
        let name = name.as_str().map_or_else(|| name.to_string(), str::to_owned);
        let value = field.get("fieldValue").unwrap_or(&Value::Null);
        Some((by(&name), call.scene.value(value)))
    };
    Value::Object(fields.iter().filter_map(pair).collect())
}

fn nocodb(kind: &str, call: &mut Call<'_, '_>) {
    call.used.extend(["projectId", "workspaceId"]);
    if matches!(kind, "NocoDBCreateRecord" | "NocoDBUpdateRecord") {
        let fields = row("fieldName", str::to_owned, call);
        call.put("fields", fields);
    }
    if call.node().flag(&["returnAll"], false) {
        call.put("limit", 1_000.into());
        call.differs("pages", "at most 1,000 records are given");
    }
    call.differs(
        "table",
        "requests are those of NocoDB's API version 2: the table must be given by its id (`m…`)",
    );
}

/// Baserow: n8n knows columns by their numbers.
fn baserow(kind: &str, call: &mut Call<'_, '_>) -> Result<(), Refused> {
    call.used.push("databaseId");
    numbers(&["tableId", "rowId"], call);
    if matches!(kind, "BaserowCreateRow" | "BaserowUpdateRow") {
        let node = call.node();
        let by_hand = !node.list(&["fieldsUi", "fieldValues"]).is_empty();
        let is_named = |field: &Value| {
            field
                .get("fieldId")
                .is_some_and(|id| !id.to_string().contains('='))
        };
        if by_hand && !node.list(&["fieldsUi", "fieldValues"]).iter().all(is_named) {
            return Err("a column is chosen by an expression");
        }
        let fields = row("fieldId", |id| format!("field_{id}"), call);
        call.put("fields", fields);
        call.put("userFieldNames", (!by_hand).into());
    }
    if kind == "BaserowListRows" {
        if call.node().flag(&["returnAll"], false) {
            call.differs(
                "pages",
                "at most 200 rows are given: ask for further pages by `page`",
            );
        }
        call.put("size", 200.into());
    }
    Ok(())
}

/// Jira: fields by their names there.
fn changes(call: &mut Call<'_, '_>) -> Result<(), Refused> {
    const BY_ID: &[(&str, &str, &str)] = &[
        ("assignee", "assignee", "accountId"),
        ("reporter", "reporter", "accountId"),
        ("priority", "priority", "id"),
        ("issueType", "issuetype", "id"),
    ];
    let node = call.node();
    call.used.push("updateFields");
    let mut fields = Map::new();
    let mut unknown = Vec::new();
    let given = node.parameter(&["updateFields"]).as_object();
    for (name, value) in given.into_iter().flatten() {
        let value = value.get("__rl").and(value.get("value")).unwrap_or(value);
        let by_id = BY_ID.iter().find(|(theirs, ..)| theirs == name);
        match (name.as_str(), by_id) {
            (_, Some((_, ours, key))) => {
                let value = call.scene.value(value);
                fields.insert(
                    (*ours).to_owned(),
                    Value::Object(Map::from_iter([((*key).to_owned(), value)])),
                );
            }
            ("summary" | "description" | "labels", None) => {
                fields.insert(name.clone(), call.scene.value(value));
            }
            _ => unknown.push(format!("`{name}`")),
        }
    }
    if !node.text(&["updateFields", "statusId"]).is_empty() {
        call.differs("status", "the status is not changed: add a JiraTransitionIssue");
    }
    if fields.is_empty() {
        return Err("it changes no field that is imported: to change the status, use JiraTransitionIssue");
    }
    if !unknown.is_empty() {
        call.differs("left-out", format!("left out: {}", unknown.join(", ")));
    }
    call.put("fields", Value::Object(fields));
    Ok(())
}

/// Google Docs: of n8n's changes the usual one, text at the end.
fn appended(call: &mut Call<'_, '_>) -> Result<(), Refused> {
    call.used.extend(["actionsUi", "simple"]);
    let [only] = call.node().list(&["actionsUi", "actionFields"]) else {
        return Err("only one change is taken over: use GoogleDocsUpdateDocument");
    };
    let is = |name: &str, usual: &str| {
        let given = only.get(name).and_then(Value::as_str);
        given.is_none_or(|given| given == usual)
    };
    let usual = is("action", "insert")
        && is("object", "text")
        && is("insertSegment", "body")
        && is("locationChoice", "endOfSegmentLocation");
    let text = only.get("text").filter(|_| usual);
    let Some(text) = text else {
        return Err("only text at the end is taken over: use GoogleDocsUpdateDocument");
    };
    let text = call.scene.value(text);
    call.put("text", text);
    Ok(())
}

/// Zendesk: tickets of a status are a search.
fn tickets(call: &mut Call<'_, '_>) {
    let node = call.node();
    let status = node.text(&["options", "status"]);
    if !status.is_empty() && !call.parameters.contains_key("query") {
        let source = call.scene.source(node.parameter(&["options", "status"]));
        call.put("query", format!("{{{{ \"status:\" + {source} }}}}").into());
    }
    if node.flag(&["returnAll"], false) {
        call.differs(
            "pages",
            "at most 100 tickets are given: ask for further pages by `page`",
        );
    }
}

/// YouTube: tags are one text in n8n. What is not sent is removed there.
fn tags(call: &mut Call<'_, '_>) {
    call.used.push("regionCode");
    if let Some(tags) = call.given("updateFields.tags") {
        let source = call.scene.source(tags);
        let list = format!("{{{{ String({source}).split(\",\").map(tag => tag.trim()) }}}}");
        call.put("tags", list.into());
    }
}
