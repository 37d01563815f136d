//! Records and rows: what n8n maps to fields.

use super::call::{Call, Refused};
use serde_json::{Map, Value, json};

/// Airtable: fields of a record.
pub(super) fn record(call: &mut Call<'_, '_>) -> Result<(), Refused> {
    let node = call.node();
    let is_old = node.parameter(&["columns"]).is_null();
    if is_old {
        call.take("recordId", "id");
        call.used.extend(["addAllFields", "updateAllFields", "fields"]);
        let names: Vec<&str> = node.list(&["fields"]).iter().filter_map(Value::as_str).collect();
        let fields = match names.is_empty() {
            true => call.scene.value(&"={{ $json }}".into()),
            false => {
                let field = |name: &&str| {
                    let source = format!("={{{{ $json[{}] }}}}", Value::from(*name));
                    ((*name).to_owned(), call.scene.value(&source.into()))
                };
                Value::Object(names.iter().map(field).collect())
            }
        };
        call.put("fields", fields);
        return Ok(());
    }
    call.used.push("columns");
    let by_hand = node.choice(&["columns", "mappingMode"], "defineBelow") == "defineBelow";
    let given = node.parameter(&["columns", "value"]).as_object();
    let matching = node.list(&["columns", "matchingColumns"]);
    let by_id = matching.iter().all(|name| name == "id");
    let fields = match (by_hand, given) {
        (true, Some(given)) => {
            let fields = given.iter().filter(|(name, _)| *name != "id");
            let fields: Map<String, Value> = fields
                .map(|(name, value)| (name.clone(), call.scene.value(value)))
                .collect();
            Value::Object(fields)
        }
        (true, None) => json!({}),
        (false, _) => call.scene.value(&"={{ $json.removeField(\"id\") }}".into()),
    };
    call.put("fields", fields);
    match node.text(&["operation"]) {
        "update" if !by_id => Err("n8n looks for the record by its values: use AirtableUpsertRecord"),
        "update" => {
            let id = match given.and_then(|given| given.get("id")) {
                Some(id) if by_hand => call.scene.value(id),
                _ => call.scene.value(&"={{ $json.id }}".into()),
            };
            call.put("recordId", id);
            Ok(())
        }
        "upsert" if by_id => Err("n8n finds the record by its id, or makes one: use an If with two nodes"),
        "upsert" => {
            let names = matching.iter().map(|name| call.scene.value(name)).collect();
            call.put("mergeOn", Value::Array(names));
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Supabase: conditions and values by column.
pub(super) fn supabase(kind: &str, call: &mut Call<'_, '_>) -> Result<(), Refused> {
    let node = call.node();
    call.used.extend([
        "filters",
        "filterType",
        "matchType",
        "dataToSend",
        "fieldsUi",
        "inputsToIgnore",
        "filterString",
    ]);
    if !node.text(&["filterString"]).is_empty() {
        return Err("conditions as text are not imported: write them as `filters`");
    }
    let conditions = node.list(&["filters", "conditions"]);
    let is_any = kind != "SupabaseGetRows" || node.text(&["operation"]) != "get";
    if is_any && conditions.len() > 1 && node.choice(&["matchType"], "anyFilter") == "anyFilter" {
        return Err("any of several conditions: write them as PostgREST's `or`");
    }
    let mut filters = Map::new();
    for condition in conditions {
        let text = |name: &str| condition.get(name).and_then(Value::as_str).unwrap_or_default();
        let value = condition.get("keyValue").unwrap_or(&Value::Null);
        let value = call.scene.source(value);
        // Getting one row has no choice of an operator.
        let operator = match text("condition") {
            "" => "eq",
            given => given,
        };
        if text("keyName").starts_with('=') || !operator.chars().all(|c| c.is_ascii_alphabetic()) {
            return Err(
                "a condition's column or operator is an expression, or PostgREST has no such operator",
            );
        }
        filters.insert(
            text("keyName").to_owned(),
            format!("{{{{ \"{operator}.\" + {value} }}}}").into(),
        );
    }
    if !filters.is_empty() {
        call.put("filters", Value::Object(filters));
    } else if matches!(kind, "SupabaseUpdateRows" | "SupabaseDeleteRows") {
        return Err("it has no condition, so it would apply to all rows");
    }
    let values = match node.choice(&["dataToSend"], "defineBelow") {
        "autoMapInputData" => call.scene.value(&"={{ $json }}".into()),
        _ => {
            let pair = |field: &Value| {
                let name = field.get("fieldId")?.as_str()?.to_owned();
                Some((
                    name,
                    call.scene.value(field.get("fieldValue").unwrap_or(&Value::Null)),
                ))
            };
            let fields = node.list(&["fieldsUi", "fieldValues"]).iter();
            Value::Object(fields.filter_map(pair).collect())
        }
    };
    match kind {
        "SupabaseCreateRow" => call.put("row", values),
        "SupabaseUpdateRows" => call.put("values", values),
        _ => {}
    }
    Ok(())
}
