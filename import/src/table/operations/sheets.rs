//! Google Sheets: which document, sheet and cells n8n means, and how it maps fields to columns.

use super::call::{Call, Refused};
use serde_json::{Map, Value, json};
use std::collections::HashSet;

/// Operations that take the number of a sheet, too.
const TAKE_NUMBERS: &[&str] = &[
    "GoogleSheetsReadRows",
    "GoogleSheetsAppendRows",
    "GoogleSheetsUpdateCells",
    "GoogleSheetsUpsertRow",
];
const NEEDS_NAME: &str = "the sheet is chosen by its number: heddle needs its name";
/// Letters of the columns that a range may begin with.
const COLUMN_LETTERS_MAX: usize = 3;

/// The parameters of an operation on spreadsheets.
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
        false => name(kind, call)?,
    }
    match kind {
        "GoogleSheetsReadRows" => {
            conditions(call);
            Ok(())
        }
        "GoogleSheetsAppendRows" => append(is_old, call),
        "GoogleSheetsUpdateCells" if is_by_number(call) => by_number(call),
        "GoogleSheetsUpdateCells" => by_value(is_old, false, call),
        "GoogleSheetsUpsertRow" => by_value(is_old, true, call),
        "GoogleSheetsClearCells" => cleared(call),
        _ => Ok(()),
    }
}

/// The sheet's name, which n8n keeps beside its number.
fn name(kind: &str, call: &mut Call<'_, '_>) -> Result<(), Refused> {
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
        None if TAKE_NUMBERS.contains(&kind) => {
            let number = numbered(sheet.get("value").unwrap_or(sheet), call)?;
            call.put("sheetId", number);
            Ok(())
        }
        None => Err(NEEDS_NAME),
    }
}

/// The number of a sheet that is given by it, or by its address. What gives none fails the node: without a number, the request would be
/// about the first sheet.
fn numbered(value: &Value, call: &Call<'_, '_>) -> Result<Value, Refused> {
    let text = value.as_str().unwrap_or_default();
    if text.starts_with('=') && text.contains("{{") {
        let source = call.scene.source(value);
        let number = format!("parseInt(String({source}).split(\"gid=\").at(-1), 10)");
        return Ok(format!("{{{{ [{number}].filter(it => it >= 0).at(0) }}}}").into());
    }
    let written = text.rsplit("gid=").next().unwrap_or_default();
    let number = value.as_u64().or_else(|| written.parse().ok());
    number.map(Value::from).ok_or(NEEDS_NAME)
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
    // A column that is named once more would have the same cell again.
    let mut known = HashSet::new();
    schema
        .filter(|column| column.get("removed") != Some(&Value::Bool(true)))
        .filter_map(|column| column.get("id")?.as_str())
        .filter(|name| *name != "row_number" && known.insert(*name))
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

/// Which rows are read: those with these values in all of these columns.
fn conditions(call: &mut Call<'_, '_>) {
    call.used
        .extend(["filtersUI", "combineFilters", "lookupColumn", "lookupValue"]);
    let node = call.node();
    let options = node.parameter(&["options"]).as_object();
    let is_taken = |name: &String| ["returnAllMatches", "returnFirstMatch"].contains(&name.as_str());
    if options.is_none_or(|options| options.keys().all(is_taken)) {
        call.used.push("options");
    }
    let mut wanted = Map::new();
    let mut is_known = true;
    // The first versions had one condition, in the node itself.
    let own = (
        node.parameter(&["lookupColumn"]),
        node.parameter(&["lookupValue"]),
    );
    let listed = node.list(&["filtersUI", "values"]).iter().map(|condition| {
        let field = |name: &str| condition.get(name).unwrap_or(&Value::Null);
        (field("lookupColumn"), field("lookupValue"))
    });
    for (column, value) in listed.chain([own]) {
        let column = column.as_str();
        match column.filter(|column| !column.is_empty()) {
            None => {}
            Some(column) if column.starts_with('=') => is_known = false,
            Some(column) => drop(wanted.insert(column.to_owned(), call.scene.value(value))),
        }
    }
    let is_any = node.choice(&["combineFilters"], "AND") == "OR" && wanted.len() > 1;
    if is_any || !is_known {
        call.differs(
            "filters",
            "all rows are read: add a Filter for those that n8n looks for",
        );
        return;
    }
    if wanted.is_empty() {
        return;
    }
    call.put("where", Value::Object(wanted));
    // Which it is by default has changed with this version.
    let all = node.parameter(&["options", "returnAllMatches"]);
    let is_first = match node.version >= 4.5 {
        true => node.flag(&["options", "returnFirstMatch"], false),
        false => all != "returnAllMatches" && all.as_bool() != Some(true),
    };
    if is_first {
        call.put("first", true.into());
    }
}

/// A row behind the others: in the order of the columns where the export has that, and by their names where it has not.
fn append(is_old: bool, call: &mut Call<'_, '_>) -> Result<(), Refused> {
    cell_format(call);
    if !columns(call).is_empty() && call.parameters.contains_key("sheet") {
        let row = row(call)?;
        call.put("values", json!([row]));
        return Ok(());
    }
    call.node_type = Some("GoogleSheetsAppendRow");
    by_names(is_old, call)
}

/// The row as an object, as operations take it that look the columns up.
fn by_names(is_old: bool, call: &mut Call<'_, '_>) -> Result<(), Refused> {
    if is_old {
        let range = call.parameters.remove("range");
        let begins = range.as_ref().and_then(Value::as_str).unwrap_or("A");
        if !begins.starts_with("A:") && !begins.starts_with("A1:") && begins != "A" {
            return Err(
                "the range does not begin with the first column: heddle looks for names in all of the first row",
            );
        }
        if call.node().flag(&["rawData"], false) {
            return Err(
                "raw data has no names of columns: use GoogleSheetsUpdateCells or GoogleSheetsAppendRows",
            );
        }
    }
    call.used.extend(["columns", "dataMode", "fieldsUi", "rawData"]);
    let row = fields(is_old, call);
    if !row.is_object() {
        call.differs(
            "columns",
            "fields that no column has are left out, where n8n can add columns",
        );
    }
    call.put("row", row);
    Ok(())
}

/// What n8n writes, by the names of the columns.
fn fields(is_old: bool, call: &Call<'_, '_>) -> Value {
    let node = call.node();
    let all = || call.scene.value(&"={{ $json }}".into());
    if is_old {
        return all();
    }
    let mapped = node.parameter(&["columns"]);
    let by_hand = match mapped.is_null() {
        true => node.choice(&["dataMode"], "defineBelow") == "defineBelow",
        false => node.choice(&["columns", "mappingMode"], "defineBelow") == "defineBelow",
    };
    if !by_hand {
        return all();
    }
    let given = mapped.get("value").and_then(Value::as_object);
    let mut fields: Map<String, Value> = given
        .into_iter()
        .flatten()
        .filter(|(name, _)| *name != "row_number")
        .map(|(name, value)| (name.clone(), call.scene.value(value)))
        .collect();
    let listed = node.list(&["fieldsUi", "values"]).iter();
    for field in listed.chain(node.list(&["fieldsUi", "fieldValues"])) {
        let name = ["column", "fieldId"]
            .iter()
            .find_map(|name| field.get(name)?.as_str());
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            let value = field.get("fieldValue").unwrap_or(&Value::Null);
            fields.insert(name.to_owned(), call.scene.value(value));
        }
    }
    Value::Object(fields)
}

/// A row that is found by what it has in a column.
fn by_value(is_old: bool, appends: bool, call: &mut Call<'_, '_>) -> Result<(), Refused> {
    cell_format(call);
    let matched = call.node().list(&["columns", "matchingColumns"]);
    let column = match (matched, is_old) {
        ([Value::String(column)], _) => column.as_str(),
        ([], true) => call.node().choice(&["key"], "id"),
        ([], false) => call.node().text(&["columnToMatchOn"]),
        _ => return Err("the row is found by several columns: read the rows, find it, and update its cells"),
    };
    if column.is_empty() || column.starts_with('=') {
        return Err("the column by which the row is found is not part of the export");
    }
    if column == "row_number" {
        return Err("n8n finds the row by its number, or adds one: use an If with two nodes");
    }
    call.used.extend(["key", "columnToMatchOn", "valueToMatchOn"]);
    by_names(is_old, call)?;
    let value = call.node().parameter(&["valueToMatchOn"]);
    if !value.is_null()
        && let Some(Value::Object(row)) = call.parameters.get_mut("row")
    {
        row.insert(column.to_owned(), call.scene.value(value));
    }
    call.node_type = Some("GoogleSheetsUpsertRow");
    call.put("column", crate::expression::literal(column).into());
    if !appends {
        call.put("append", false.into());
    }
    Ok(())
}

fn is_by_number(call: &Call<'_, '_>) -> bool {
    let matched = call.node().list(&["columns", "matchingColumns"]);
    matched.iter().eq([&Value::from("row_number")])
}

fn by_number(call: &mut Call<'_, '_>) -> Result<(), Refused> {
    if !call.parameters.contains_key("sheet") {
        return Err(NEEDS_NAME);
    }
    cell_format(call);
    let row = row(call)?;
    let number = call.node().parameter(&["columns", "value", "row_number"]);
    let number = match number.is_null() {
        true => call.scene.source(&"={{ $json.row_number }}".into()),
        false => call.scene.source(number),
    };
    call.put("range", format!("{{{{ \"A\" + {number} }}}}").into());
    call.put("values", json!([row]));
    Ok(())
}

/// How values are read; what else n8n can be told is named.
fn cell_format(call: &mut Call<'_, '_>) {
    let node = call.node();
    let format = node.text(&["options", "cellFormat"]);
    if ["RAW", "USER_ENTERED"].contains(&format) {
        call.put("valueInput", format.into());
    }
    call.used.push("options");
    let options = node.parameter(&["options"]).as_object();
    let others: Vec<String> = options
        .into_iter()
        .flatten()
        .filter(|(name, _)| !["cellFormat", "useAppend"].contains(&name.as_str()))
        .map(|(name, _)| format!("`{name}`"))
        .collect();
    if !others.is_empty() {
        call.differs("options", format!("options are left out: {}", others.join(", ")));
    }
}

/// What is emptied: never more than n8n does.
fn cleared(call: &mut Call<'_, '_>) -> Result<(), Refused> {
    call.used.extend([
        "clear",
        "keepFirstRow",
        "startIndex",
        "rowsToDelete",
        "columnsToDelete",
        "range",
    ]);
    let node = call.node();
    let unclear = "the range to clear is given by an expression: heddle needs it written out";
    let count = |name: &str| match node.parameter(&[name]) {
        Value::Null => Ok(1),
        other => other.as_u64().filter(|count| *count > 0).ok_or(unclear),
    };
    let range = match node.choice(&["clear"], "wholeSheet") {
        "wholeSheet" if node.flag(&["keepFirstRow"], false) => "A2:ZZZ".to_owned(),
        "wholeSheet" => return Ok(()),
        "specificRows" => {
            let first = match node.parameter(&["startIndex"]) {
                Value::Null => 1,
                other => other.as_u64().filter(|first| *first > 0).ok_or(unclear)?,
            };
            format!("{first}:{}", first.saturating_add(count("rowsToDelete")? - 1))
        }
        "specificColumns" => {
            let first = node.choice(&["startIndex"], "A");
            let last = column_after(first, count("columnsToDelete")? - 1).ok_or(unclear)?;
            format!("{first}:{last}")
        }
        "specificRange" => match node.text(&["range"]) {
            range if range.is_empty() || range.starts_with('=') => return Err(unclear),
            range => range.to_owned(),
        },
        _ => return Err(unclear),
    };
    call.put("range", crate::expression::literal(&range).into());
    Ok(())
}

/// The letters of a column some columns after another.
fn column_after(first: &str, count: u64) -> Option<String> {
    let is_column = !first.is_empty() && first.len() <= COLUMN_LETTERS_MAX;
    if !is_column || !first.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return None;
    }
    let number = |number: u64, byte: u8| number * 26 + u64::from(byte - b'A') + 1;
    let mut number = first.bytes().fold(0, number).checked_add(count)?;
    let mut letters = Vec::new();
    while number > 0 {
        letters.push(b'A' + u8::try_from((number - 1) % 26).ok()?);
        number = (number - 1) / 26;
    }
    letters.reverse();
    String::from_utf8(letters).ok()
}
