//! Parameters that n8n asks for in forms of its own: properties, keyboards, addresses.

use super::call::{Call, Refused, identifier};
use serde_json::{Map, Value, json};

/// Notion: filters as JSON, and properties by their types.
pub(super) fn notion(call: &mut Call<'_, '_>) -> Result<(), Refused> {
    let node = call.node();
    if node.text(&["operation"]) == "archive" {
        call.put("archived", true.into());
        return Ok(());
    }
    if node.text(&["operation"]) == "getAll" {
        call.used.extend(["filterType", "filterJson"]);
        if node.choice(&["filterType"], "none") == "json" {
            let text = node.text(&["filterJson"]);
            let filter = match serde_json::from_str::<Value>(text) {
                Ok(filter) if !text.starts_with('=') => call.scene.value(&filter),
                _ => {
                    let source = call.scene.source(node.parameter(&["filterJson"]));
                    format!("{{{{ JSON.parse({source}) }}}}").into()
                }
            };
            call.put("filter", filter);
        }
        return Ok(());
    }
    call.used.extend(["propertiesUi", "title"]);
    let mut properties = Map::new();
    let mut unknown = Vec::new();
    for given in node.list(&["propertiesUi", "propertyValues"]) {
        let key = given.get("key").and_then(Value::as_str).unwrap_or_default();
        let Some((name, kind)) = key.rsplit_once('|').filter(|_| !key.starts_with('=')) else {
            return Err("a property is chosen by an expression");
        };
        match property(call, kind, given) {
            Some(value) => drop(properties.insert(name.to_owned(), value)),
            None => unknown.push(format!("`{name}`")),
        }
    }
    if !unknown.is_empty() {
        call.differs("left-out", format!("left out: {}", unknown.join(", ")));
    }
    let has_title = properties.values().any(|value| value.get("title").is_some());
    if !has_title && !node.text(&["title"]).is_empty() {
        let title = call.scene.value(node.parameter(&["title"]));
        properties.insert(
            "title".to_owned(),
            json!({"title": [{"text": {"content": title}}]}),
        );
    }
    call.put("properties", Value::Object(properties));
    Ok(())
}

/// A property in Notion's form.
fn property(call: &Call<'_, '_>, kind: &str, given: &Value) -> Option<Value> {
    let value = |name: &str| {
        Some(
            call.scene
                .value(given.get(name).filter(|value| !value.is_null())?),
        )
    };
    Some(match kind {
        "title" => json!({"title": [{"text": {"content": value("title")?}}]}),
        "rich_text" => json!({"rich_text": [{"text": {"content": value("textContent")?}}]}),
        "number" => json!({"number": value("numberValue")?}),
        "checkbox" => json!({"checkbox": value("checkboxValue").unwrap_or(Value::Bool(false))}),
        "select" => json!({"select": {"name": value("selectValue")?}}),
        "status" => json!({"status": {"name": value("statusValue")?}}),
        "url" => json!({"url": value("urlValue")?}),
        "email" => json!({"email": value("emailValue")?}),
        "phone_number" => json!({"phone_number": value("phoneValue")?}),
        "date" if given.get("range") != Some(&Value::Bool(true)) => {
            json!({"date": {"start": value("date")?}})
        }
        "multi_select" => match given.get("multiSelectValue")? {
            Value::Array(names) => {
                let names = names.iter().map(|name| json!({"name": call.scene.value(name)}));
                json!({"multi_select": names.collect::<Vec<_>>()})
            }
            text => {
                let source = call.scene.source(text);
                let names = format!("{{{{ [{source}].flat().map(name => ({{ name }})) }}}}");
                json!({"multi_select": names})
            }
        },
        "relation" => {
            let ids = given.get("relationValue")?.as_array()?.iter();
            let ids = ids
                .filter(|id| *id != "")
                .map(|id| json!({"id": call.scene.value(id)}));
            json!({"relation": ids.collect::<Vec<_>>()})
        }
        _ => return None,
    })
}

/// HubSpot: n8n's names of fields are HubSpot's, in another spelling.
pub(super) fn contact(call: &mut Call<'_, '_>) {
    properties("additionalFields", Map::new(), call);
}

/// What n8n has in a form of HubSpot's properties, besides those that it asks for first.
pub(super) fn properties(form: &'static str, mut properties: Map<String, Value>, call: &mut Call<'_, '_>) {
    const OTHERS: &[(&str, &str)] = &[
        ("phoneNumber", "phone"),
        ("companyName", "company"),
        ("websiteUrl", "website"),
        ("streetAddress", "address"),
        ("stateRegion", "state"),
        ("postalCode", "zip"),
        ("lifeCycleStage", "lifecyclestage"),
        ("stage", "dealstage"),
        ("stageId", "hs_pipeline_stage"),
        ("pipelineId", "hs_pipeline"),
        ("ticketName", "subject"),
        ("priority", "hs_ticket_priority"),
        ("category", "hs_ticket_category"),
        ("companyDomainName", "domain"),
        ("aboutUs", "about_us"),
        ("yearFounded", "founded_year"),
        ("linkedInCompanyPage", "linkedin_company_page"),
        ("leadStatus", "hs_lead_status"),
        ("contactOwner", "hubspot_owner_id"),
        ("companyOwner", "hubspot_owner_id"),
        ("dealOwner", "hubspot_owner_id"),
        ("ticketOwnerId", "hubspot_owner_id"),
    ];
    let node = call.node();
    call.used.push(form);
    let mut unknown = Vec::new();
    for (name, value) in node.parameter(&[form]).as_object().into_iter().flatten() {
        if name == "customPropertiesUi" {
            for own in node.list(&[form, "customPropertiesUi", "customPropertiesValues"]) {
                if let Some(property) = own.get("property").and_then(Value::as_str) {
                    let value = call.scene.value(own.get("value").unwrap_or(&Value::Null));
                    properties.insert(property.to_owned(), value);
                }
            }
        } else if value.is_object() || value.is_array() {
            unknown.push(format!("`{name}`"));
        } else {
            let other = OTHERS.iter().find(|(theirs, _)| theirs == name);
            let property = other.map_or_else(|| name.to_lowercase(), |(_, ours)| (*ours).to_owned());
            properties.insert(property, call.scene.value(value));
        }
    }
    if !unknown.is_empty() {
        call.differs("left-out", format!("left out: {}", unknown.join(", ")));
    }
    call.differs(
        "properties",
        "names of properties are n8n's in lower case: compare them with HubSpot's",
    );
    call.put("properties", Value::Object(properties));
}

/// Jira: n8n chooses project and type by their ids.
pub(super) fn issue(call: &mut Call<'_, '_>) -> Result<(), Refused> {
    let (project, kind) = (call.given("project"), call.given("issueType"));
    let (Some(project), Some(kind)) = (project, kind) else {
        return Err("it has no project or type");
    };
    let (project, kind) = (call.scene.value(project), call.scene.value(kind));
    let shown = |name: &str| {
        let given = call.node().parameter(&[name, "cachedResultName"]);
        given.as_str().unwrap_or("by its id").to_owned()
    };
    let (project_name, kind_name) = (shown("project"), shown("issueType"));
    call.put("project", crate::expression::literal(&project_name).into());
    call.put("issueType", crate::expression::literal(&kind_name).into());
    call.put(
        "fields",
        json!({"project": {"id": project}, "issuetype": {"id": kind}}),
    );
    Ok(())
}

/// Google Drive: what is looked for.
pub(super) fn search(call: &mut Call<'_, '_>) -> Result<(), Refused> {
    let node = call.node();
    call.used.extend(["queryString", "filter"]);
    let text = node.parameter(&["queryString"]);
    let source = call.scene.source(text);
    let is_query = node.choice(&["searchMethod"], "name") == "query";
    let mut terms: Vec<String> = Vec::new();
    let mut folder = node.parameter(&["filter", "folderId"]);
    folder = folder.get("value").unwrap_or(folder);
    if !text.is_null() && text != "" {
        terms.push(match is_query {
            true => source,
            false => format!("\"name contains '\" + String({source}).replaceAll(\"'\", \"\\\\'\") + \"'\""),
        });
    }
    if !folder.is_null() && folder != "" && folder != "root" {
        let folder = call.scene.source(&identifier(folder));
        terms.push(format!("\"'\" + {folder} + \"' in parents\""));
    }
    match node.choice(&["filter", "whatToSearch"], "all") {
        "files" => terms.push("\"mimeType != 'application/vnd.google-apps.folder'\"".to_owned()),
        "folders" => terms.push("\"mimeType = 'application/vnd.google-apps.folder'\"".to_owned()),
        _ => {}
    }
    if !is_query && !node.flag(&["filter", "includeTrashed"], false) {
        terms.push("\"trashed = false\"".to_owned());
    }
    if !terms.is_empty() {
        let search = format!("{{{{ [{}].join(\" and \") }}}}", terms.join(", "));
        call.put("search", search.into());
    }
    Ok(())
}

/// Gmail: the form of the text, and labels by what they mean.
pub(super) fn mail(call: &mut Call<'_, '_>) -> Result<(), Refused> {
    let node = call.node();
    call.used.push("emailType");
    let unread = json!(["UNREAD"]);
    match node.choice(&["operation"], "send") {
        "send" | "create" => {
            if node.text(&["sendTo"]).is_empty() && !call.parameters.contains_key("to") && node.version < 2.0
            {
                return Err(
                    "this version has other parameters: open it in n8n's newest version and export it again",
                );
            }
            let html = node.choice(&["emailType"], "html") == "html";
            call.put("html", html.into());
            call.parameters.entry("subject").or_insert_with(|| "".into());
            call.parameters.entry("message").or_insert_with(|| "".into());
            if !node.parameter(&["options", "attachmentsUi"]).is_null() {
                call.differs("files", "attachments are left out");
            }
        }
        "markAsRead" => call.put("remove", unread),
        "markAsUnread" => call.put("add", unread),
        "getAll" => call.differs("ids", "only ids are given: get each message by GmailGetMessage"),
        _ => {}
    }
    Ok(())
}

/// n8n names a file beside the item; here the item is the file.
pub(super) fn file(field: &str, call: &mut Call<'_, '_>) {
    call.used
        .extend(["binaryData", "binaryPropertyName", "inputDataFieldName"]);
    let file = call.scene.value(&"={{ $json }}".into());
    call.put(field, file);
    call.differs("files", "the item itself is sent as the file");
}

/// Chats: files, keyboards and blocks.
pub(super) fn chat(kind: &str, call: &mut Call<'_, '_>) -> Result<(), Refused> {
    let node = call.node();
    if node.flag(&["binaryData"], false) {
        let field = match kind {
            "TelegramSendPhoto" => "photo",
            "TelegramSendAudio" => "audio",
            "TelegramSendVideo" => "video",
            _ => "document",
        };
        file(field, call);
    }
    if kind != "SlackSendMessage" {
        return Ok(());
    }
    if !node.text(&["webhookUrl"]).is_empty() {
        return Err("a Slack webhook has no connection: use an HttpRequest");
    }
    call.used.push("blocksUi");
    if node.choice(&["messageType"], "text") == "block" {
        let text = node.text(&["blocksUi"]);
        let blocks = match serde_json::from_str::<Value>(text) {
            Ok(blocks) => call.scene.value(blocks.get("blocks").unwrap_or(&blocks)),
            Err(_) => {
                let source = call.scene.source(node.parameter(&["blocksUi"]));
                format!(
                    "{{{{ [{source}].map(blocks => typeof blocks === \"string\" ? JSON.parse(blocks) : blocks).map(blocks => blocks.blocks ?? blocks)[0] }}}}"
                )
                .into()
            }
        };
        call.put("blocks", blocks);
    }
    if !node.list(&["attachments"]).is_empty() {
        call.used.push("attachments");
        call.differs(
            "attachments",
            "attachments are left out: write them as `attachments`",
        );
    }
    Ok(())
}

/// GitHub: labels and people are lists of forms.
pub(super) fn labels(call: &mut Call<'_, '_>) {
    let node = call.node();
    for (name, field) in [("labels", "label"), ("assignees", "assignee")] {
        call.used.push(name);
        let list = node.list(&[name]).iter();
        let names: Vec<Value> = list
            .filter_map(|one| Some(call.scene.value(one.get(field)?)))
            .collect();
        if !names.is_empty() {
            call.put(name, Value::Array(names));
        }
    }
}

/// Google Calendar: each entry may have several addresses.
pub(super) fn attendees(call: &mut Call<'_, '_>) {
    let node = call.node();
    let list = node.list(&["additionalFields", "attendees"]).iter();
    let sources: Vec<String> = list
        .filter(|one| *one != "")
        .map(|one| call.scene.source(one))
        .collect();
    if !sources.is_empty() {
        let all = format!(
            "{{{{ [{}].flatMap(one => String(one).split(\",\")).map(one => one.trim()) }}}}",
            sources.join(", ")
        );
        call.put("attendees", all.into());
    }
}
