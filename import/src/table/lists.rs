//! Nodes that work on all items together.

use crate::built::Translation;
use crate::scene::Scene;
use serde_json::{Map, Value, json};

/// All items, also of a single one.
const ALL: &str = "{{ $input.all() }}";

pub(super) fn sort(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    match node.choice(&["type"], "simple") {
        "simple" => {}
        "random" => return Translation::stub("lists can't be shuffled"),
        _ => return Translation::stub("code that compares must be rewritten for `$a` and `$b`"),
    }
    let by: Vec<Value> = node
        .list(&["sortFieldsUi", "sortField"])
        .iter()
        .filter_map(|field| {
            let name = field
                .get("fieldName")
                .and_then(Value::as_str)
                .filter(|name| !name.starts_with('='))?;
            let descending = field.get("order").and_then(Value::as_str) == Some("descending");
            Some(json!({"value": name, "order": if descending { "desc" } else { "asc" }}))
        })
        .collect();
    if by.is_empty() {
        return Translation::stub("it sorts by nothing, or by a computed field");
    }
    Translation::whole("Sort", json!({"by": by, "items": ALL})).differs(
        "order",
        "missing values come last, and numbers before text; capital letters count",
    )
}

pub(super) fn limit(scene: &Scene<'_>) -> Translation {
    let count = match scene.of(&["maxItems"]) {
        Value::Null => json!(1),
        count => count,
    };
    if scene.node.choice(&["keep"], "firstItems") == "lastItems" {
        let source = scene.source(scene.node.parameter(&["maxItems"]));
        let count = if source == "null" { "1".to_owned() } else { source };
        let condition = format!("{{{{ $index >= $input.length - ({count}) }}}}");
        return Translation::whole("Filter", json!({"condition": condition}));
    }
    Translation::whole("Limit", json!({"count": count, "items": ALL}))
}

/// Names of fields, as text with commas or as a list of objects.
fn names(scene: &Scene<'_>, name: &str) -> Vec<String> {
    let given = scene.node.parameter(&[name]);
    let listed = given.get("fields").and_then(Value::as_array);
    match (given, listed) {
        (Value::String(text), _) => text
            .split(',')
            .map(str::trim)
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
            .collect(),
        (_, Some(list)) => {
            let texts = list
                .iter()
                .filter_map(|field| field.get("fieldName").and_then(Value::as_str));
            texts.map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

/// The value of a field of `$item`, by its path.
fn of_item(path: &str) -> String {
    let parts = path.split('.').map(|part| format!("?.[{}]", Value::from(part)));
    format!("$item{}", parts.collect::<String>())
}

pub(super) fn unique(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    if node.version >= 2.0
        && node.choice(&["operation"], "removeDuplicateInputItems") != "removeDuplicateInputItems"
    {
        return Translation::stub("items of earlier executions are not remembered: use a KeyValue node");
    }
    let fields = names(scene, "fieldsToCompare");
    match node.choice(&["compare"], "allFields") {
        "allFields" => Translation::whole("Unique", json!({"items": ALL})),
        "selectedFields" if !fields.is_empty() && !fields.iter().any(|name| name.starts_with('=')) => {
            let values: Vec<String> = fields.iter().map(|name| of_item(name)).collect();
            let by = format!("{{{{ [{}] }}}}", values.join(", "));
            Translation::whole("Unique", json!({"by": by, "items": ALL}))
        }
        _ => Translation::stub("the choice of fields to compare is computed, or is all but some"),
    }
}

/// A path as n8n writes it, `a.b` or `['a b']`, in JavaScript behind a name.
fn member(of: &str, path: &str) -> String {
    match path.starts_with('[') {
        true => format!("{of}?.{path}"),
        false => {
            let parts = path.split('.').map(|part| format!("?.[{}]", Value::from(part)));
            [of.to_owned()].into_iter().chain(parts).collect()
        }
    }
}

pub(super) fn split_out(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    let field = node.text(&["fieldToSplitOut"]).trim();
    if field.is_empty() || field.starts_with('=') || field.contains(',') || field == "$binary" {
        return Translation::stub("the field to split out is computed, or there are several or none");
    }
    let last = field.rsplit('.').next().unwrap_or(field);
    let last = last.trim_start_matches("['").trim_end_matches("']");
    let name = match node.text(&["options", "destinationFieldName"]) {
        "" => last,
        name => name,
    };
    let include = node.choice(&["include"], "noOtherFields");
    if name.starts_with('=') || include == "selectedOtherFields" {
        return Translation::stub("the new field's name is computed, or some of the other fields are kept");
    }
    let keep = include == "allOtherFields";
    let key = Value::from(name);
    let element = match (keep, node.text(&["options", "destinationFieldName"]).is_empty()) {
        (true, _) => format!("({{ ...$input, [{key}]: element }})"),
        (false, true) => {
            format!(
                "(typeof element === \"object\" && element !== null ? {{ ...element }} : {{ [{key}]: element }})"
            )
        }
        (false, false) => format!("({{ [{key}]: element }})"),
    };
    let list = member("$input", field);
    // What is not a list is its only element, but for an object, whose values are.
    let elements = "list === undefined ? [] : Array.isArray(list) ? list : typeof list === \"object\" && list !== null ? Object.values(list) : [list]";
    let value = format!("{{{{ [{list}].flatMap(list => {elements}).map(element => {element}) }}}}");
    Translation::each("Transform", json!({"value": value})).differs_if(
        keep && name != field,
        "objects",
        "the field that is split out stays among the others; n8n removes it",
    )
}

pub(super) fn aggregate(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    if node.choice(&["aggregate"], "aggregateIndividualFields") == "aggregateAllItemData" {
        let name = node.choice(&["destinationFieldName"], "data");
        let all = match node.choice(&["include"], "allFields") {
            "allFields" => "$input.all()".to_owned(),
            "specifiedFields" => {
                let fields = names(scene, "fieldsToInclude");
                let fields: Vec<String> = fields
                    .iter()
                    .map(|name| format!("{}: {}", Value::from(name.as_str()), member("item", name)))
                    .collect();
                format!("$input.all().map(item => ({{ {} }}))", fields.join(", "))
            }
            _ => return Translation::stub("all fields but some are aggregated"),
        };
        if name.starts_with('=') {
            return Translation::stub("the name of the field is computed");
        }
        return Translation::whole("Transform", json!({"value": {name: format!("{{{{ {all} }}}}")}}));
    }
    let mut fields = Map::new();
    for field in node.list(&["fieldsToAggregate", "fieldToAggregate"]) {
        let text = |name: &str| field.get(name).and_then(Value::as_str).unwrap_or_default();
        let path = text("fieldToAggregate");
        let renamed = field.get("renameField") == Some(&Value::Bool(true));
        let name = if renamed {
            text("outputFieldName")
        } else {
            path.rsplit('.').next().unwrap_or(path)
        };
        if path.is_empty() || path.starts_with('=') || name.starts_with('=') {
            return Translation::stub("a field to aggregate is computed, or has no name");
        }
        let merge = if node.flag(&["options", "mergeLists"], false) {
            ".flat()"
        } else {
            ""
        };
        let missing = match node.flag(&["options", "keepMissing"], false) {
            true => format!(".map(item => {} ?? null)", member("item", path)),
            false => format!(
                ".map(item => {}).filter(value => (value ?? null) !== null)",
                member("item", path)
            ),
        };
        fields.insert(
            name.to_owned(),
            format!("{{{{ $input.all(){missing}{merge} }}}}").into(),
        );
    }
    if fields.is_empty() {
        return Translation::stub("there are no fields to aggregate");
    }
    Translation::whole("Transform", json!({"value": fields}))
}

pub(super) fn summarize(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    let mut values = Map::new();
    for value in node.list(&["fieldsToSummarize", "values"]) {
        let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
        let (prefix, op) = match text("aggregation") {
            "" | "count" => ("count", "count"),
            "sum" => ("sum", "sum"),
            "average" => ("average", "avg"),
            "min" => ("min", "min"),
            "max" => ("max", "max"),
            "append" => ("appended", "collect"),
            "countUnique" | "concatenate" => return concatenate(scene),
            _ => return Translation::stub("this kind of summary has no equivalent"),
        };
        let field = text("field");
        if field.is_empty() || field.starts_with('=') {
            return Translation::stub("the field to summarise is computed or missing");
        }
        values.insert(
            format!("{prefix}_{}", field.replace('.', "_")),
            json!({"op": op, "value": field}),
        );
    }
    let groups = names(scene, "fieldsToSplitBy");
    if values.is_empty() || groups.iter().any(|name| name.starts_with('=')) {
        return Translation::stub("there is nothing to summarise, or groups are computed");
    }
    let mut parameters = json!({"values": values, "items": ALL});
    if !groups.is_empty() {
        parameters["groupBy"] = json!(groups);
    }
    Translation::whole("Aggregate", parameters).differs("empty", "empty text counts; n8n leaves it out")
}

/// One text of a field of all items.
fn concatenate(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    let listed = node.list(&["fieldsToSummarize", "values"]);
    let [value] = listed else {
        return Translation::stub("several fields are summarised, some of them text");
    };
    let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
    let field = text("field");
    let grouped = !node.text(&["fieldsToSplitBy"]).is_empty();
    if grouped || field.is_empty() || field.starts_with('=') {
        return Translation::stub("texts are joined by groups, or the field is computed");
    }
    let values = format!(
        "$input.all().map(item => {}).filter(value => (value ?? null) !== null)",
        member("item", field)
    );
    let name = field.replace('.', "_");
    let value = match text("aggregation") {
        "concatenate" => {
            let separator = match text("separateBy") {
                "" => ",",
                "other" => text("customSeparator"),
                separator => separator,
            };
            json!({format!("concatenated_{name}"): format!("{{{{ {values}.join({}) }}}}", Value::from(separator))})
        }
        _ => json!({format!("unique_count_{name}"): format!("{{{{ {values}.unique().length }}}}")}),
    };
    Translation::whole("Transform", json!({"value": value}))
        .differs("text", "objects among the values are not written as JSON")
}

/// The node that became several: each of its operations is one of them.
pub(super) fn item_lists(scene: &Scene<'_>) -> Translation {
    match scene.node.choice(&["operation"], "splitOutItems") {
        "splitOutItems" => split_out(scene),
        "concatenateItems" | "aggregateItems" => aggregate(scene),
        "limit" => limit(scene),
        "removeDuplicates" => unique(scene),
        "sort" => sort(scene),
        "summarize" => summarize(scene),
        _ => Translation::stub("this operation on lists has no equivalent"),
    }
}

pub(super) fn compare(scene: &Scene<'_>) -> Translation {
    let fields = scene.node.list(&["mergeByFields", "values"]);
    let name = |field: &str| {
        fields
            .first()
            .and_then(|pair| pair.get(field))
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (left, right) = (name("field1"), name("field2"));
    if fields.len() != 1 || left != right || left.is_empty() || left.starts_with('=') {
        return Translation::stub(
            "the lists are compared by several fields, or by fields of different names",
        );
    }
    Translation::whole("Compare", json!({"key": left}))
        .inputs(&["left", "right"])
        .outputs(["removed", "same", "changed", "added"])
        .differs(
            "changed",
            "a difference is `{key, before, after}`, and all outputs execute; both sides must be lists",
        )
}
