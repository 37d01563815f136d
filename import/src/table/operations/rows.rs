//! Rows and records: what n8n maps to columns.

use super::call::{Call, Refused};
use serde_json::{Map, Value, json};

/// Google Sheets: the document, the sheet, and rows in the order of its columns.
pub(super) fn sheet(kind: &str, call: &mut Call<'_, '_>) -> Result<(), Refused> {
    match kind {
        "GoogleSheetsCreateSpreadsheet" | "GoogleSheetsAddSheet" => return Ok(()),
        "GoogleSheetsDeleteSheet" | "GoogleSheetsDeleteRows" => return number(kind, call),
        _ => {}
    }
    call.take("spreadsheetId", "documentId|sheetId");
    let is_old = call.node().parameter(&["documentId"]).is_null();
    match is_old {
        true => range(call)?,
        false => name(call)?,
    }
    if call.given("filtersUI.values").is_some() {
        call.differs(
            "filters",
            "all rows are read: add a Filter for those that n8n looks for",
        );
    }
    match kind {
        "GoogleSheetsAppendRows" | "GoogleSheetsUpdateCells" if is_old => Err(
            "this version looks the columns up in the sheet: open it in n8n's newest version and export it again",
        ),
        "GoogleSheetsAppendRows" => {
            let row = row(call)?;
            call.put("values", json!([row]));
            Ok(())
        }
        "GoogleSheetsUpdateCells" => update(call),
        _ => Ok(()),
    }
}

/// The sheet's name, which n8n keeps beside its number.
fn name(call: &mut Call<'_, '_>) -> Result<(), Refused> {
    let sheet = call.node().parameter(&["sheetName"]);
    call.used.push("sheetName");
    let by_name = sheet.get("mode").is_none_or(|mode| mode == "name");
    let named = match by_name {
        true => sheet.get("value").or(Some(sheet)),
        false => sheet.get("cachedResultName"),
    };
    match named.filter(|name| name.as_str().is_some_and(|text| !text.is_empty())) {
        Some(name) => {
            let name = call.scene.value(name);
            call.put("sheet", name);
            Ok(())
        }
        None => Err("the sheet is chosen by its number: heddle needs its name"),
    }
}

/// The sheet's number, which is in its address after `gid=`.
fn number(kind: &str, call: &mut Call<'_, '_>) -> Result<(), Refused> {
    call.used.push("toDelete");
    if call.node().choice(&["toDelete"], "rows") != "rows" {
        return Err("columns are not deleted: only rows are");
    }
    if kind == "GoogleSheetsDeleteRows" && !call.parameters.contains_key("row") {
        // n8n's usual one: the first below the names.
        call.put("row", 2.into());
    }
    let sheet = call.given("sheetName").cloned().unwrap_or_default();
    let text = sheet.as_str().unwrap_or_default();
    let written = text.rsplit("gid=").next().unwrap_or_default();
    match sheet.as_u64().or_else(|| written.parse().ok()) {
        Some(number) => {
            call.put("sheetId", number.into());
            Ok(())
        }
        None => Err(
            "the sheet is chosen by its name: heddle needs its number, which is in its address after `gid=`",
        ),
    }
}

/// `Sheet!A:C`, as older versions have it.
fn range(call: &mut Call<'_, '_>) -> Result<(), Refused> {
    let range = call.node().choice(&["range"], "Sheet1!A:F");
    call.used.push("range");
    if range.starts_with('=') {
        return Err("the range is an expression: heddle needs the sheet's name apart");
    }
    let (sheet, cells) = range.split_once('!').unwrap_or(("Sheet1", range));
    call.put(
        "sheet",
        crate::expression::literal(sheet.trim_matches('\'')).into(),
    );
    call.put("range", crate::expression::literal(cells).into());
    Ok(())
}

/// Names of the columns, in the order of the sheet.
fn columns<'n>(call: &Call<'n, '_>) -> Vec<&'n str> {
    let schema = call.node().list(&["columns", "schema"]).iter();
    schema
        .filter(|column| column.get("removed") != Some(&Value::Bool(true)))
        .filter_map(|column| column.get("id")?.as_str())
        .filter(|name| *name != "row_number")
        .collect()
}

/// A row's cells in the order of the columns; null leaves one as it is.
fn row(call: &mut Call<'_, '_>) -> Result<Vec<Value>, Refused> {
    call.used.push("columns");
    let columns = columns(call);
    if columns.is_empty() {
        return Err("the order of the columns is not part of the export");
    }
    let by_hand = call.node().choice(&["columns", "mappingMode"], "defineBelow") == "defineBelow";
    let cell = |name: &&str| match by_hand {
        true => {
            let value = call.node().parameter(&["columns", "value", *name]);
            call.scene.value(value)
        }
        false => {
            let source = format!("={{{{ $json[{}] ?? null }}}}", Value::from(*name));
            call.scene.value(&source.into())
        }
    };
    let row = columns.iter().map(cell).collect();
    call.differs(
        "columns",
        "cells are written in the order that the columns had when it was exported",
    );
    Ok(row)
}

fn update(call: &mut Call<'_, '_>) -> Result<(), Refused> {
    let by_number = call
        .node()
        .list(&["columns", "matchingColumns"])
        .iter()
        .eq([&Value::from("row_number")]);
    if !by_number {
        return Err(
            "n8n looks for the row by its values: read the rows, find it, and update its cells by `row_number`",
        );
    }
    let row = row(call)?;
    let number = call.node().parameter(&["columns", "value", "row_number"]);
    let number = call.scene.source(number);
    call.put("range", format!("{{{{ \"A\" + {number} }}}}").into());
    call.put("values", json!([row]));
    Ok(())
}

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
            return Err("a condition's column or operator is an expression, or none that PostgREST has");
        }
        filters.insert(
            text("keyName").to_owned(),
            format!("{{{{ \"{operator}.\" + {value} }}}}").into(),
        );
    }
    if !filters.is_empty() {
        call.put("filters", Value::Object(filters));
    } else if matches!(kind, "SupabaseUpdateRows" | "SupabaseDeleteRows") {
        return Err("it has no condition: all rows would be meant");
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
