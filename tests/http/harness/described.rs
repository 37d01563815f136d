//! Whether values are what the API's document says of them: as much of JSON Schema as the document uses for what it answers.

use super::Service;
use serde_json::Value;

impl Service {
    /// The API's document.
    pub async fn document(&self) -> Value {
        let reply = self.get("/api/openapi.json").send().await;
        assert_eq!(reply.status, 200, "{reply}");
        reply.body
    }

    /// Fails unless each event of a stream has the data that the document describes.
    pub async fn assert_events_described(&self, method: &str, path: &str, events: &[(String, Value)]) {
        let document = self.document().await;
        let answers = &document["paths"][path][method]["responses"];
        let schema = &answers["200"]["content"]["text/event-stream"]["schema"];
        assert!(schema.is_object(), "{method} {path} has no schema");
        assert!(!events.is_empty());
        for (name, data) in events {
            if let Some(mismatch) = mismatch(&document, schema, data) {
                panic!("{method} {path}: the event {name}: {mismatch}");
            }
        }
    }
}

/// Where a value is not as a schema of the document says.
fn mismatch(document: &Value, schema: &Value, value: &Value) -> Option<String> {
    at("the value", document, schema, value)
}

fn at(path: &str, document: &Value, schema: &Value, value: &Value) -> Option<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let meant = document.pointer(&reference[1..]);
        return at(path, document, meant.expect(reference), value);
    }
    if !has_type(&schema["type"], value) {
        return Some(format!("{path} is {value}, not of the type {}", schema["type"]));
    }
    let allowed = schema["enum"].as_array();
    if allowed.is_some_and(|allowed| !allowed.contains(value)) {
        return Some(format!("{path} is {value}, not one of {}", schema["enum"]));
    }
    let of_parts = list(&schema["allOf"]).find_map(|part| at(path, document, part, value));
    let mut of_one = ["oneOf", "anyOf"]
        .into_iter()
        .filter(|union| schema[*union].is_array());
    let of_one = of_one.find_map(|union| {
        let tried: Vec<Option<String>> = list(&schema[union])
            .map(|part| at(path, document, part, value))
            .collect();
        let fitting = tried.iter().filter(|found| found.is_none()).count();
        let is_right = fitting == 1 || (union == "anyOf" && fitting > 1);
        (!is_right).then(|| format!("{path} fits {fitting} of {union}: {tried:?}"))
    });
    of_parts
        .or(of_one)
        .or_else(|| of_fields(path, document, schema, value))
        .or_else(|| of_items(path, document, schema, value))
}

fn of_fields(path: &str, document: &Value, schema: &Value, value: &Value) -> Option<String> {
    let fields = value.as_object()?;
    let mut required = list(&schema["required"]).filter_map(Value::as_str);
    if let Some(missing) = required.find(|name| !fields.contains_key(*name)) {
        return Some(format!("{path} has no {missing}"));
    }
    fields.iter().find_map(|(name, field)| {
        let own = &schema["properties"][name];
        let described = if own.is_null() {
            &schema["additionalProperties"]
        } else {
            own
        };
        at(&format!("{path}.{name}"), document, described, field)
    })
}

fn of_items(path: &str, document: &Value, schema: &Value, value: &Value) -> Option<String> {
    let mut items = value.as_array()?.iter().enumerate();
    items.find_map(|(index, item)| at(&format!("{path}[{index}]"), document, &schema["items"], item))
}

fn list(schemas: &Value) -> impl Iterator<Item = &Value> {
    schemas.as_array().into_iter().flatten()
}

/// Without a type, a schema allows all of them.
fn has_type(types: &Value, value: &Value) -> bool {
    let is = |name: &str| match name {
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => value.is_null(),
    };
    match types {
        Value::String(name) => is(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(is),
        _ => true,
    }
}

#[test]
fn what_is_not_described_is_found() {
    use serde_json::json;
    let document = json!({"components": {"schemas": {
        "Begun": {"type": "object", "required": ["phase"], "properties": {"phase": {"enum": ["started"]}}},
        "Ended": {"allOf": [
            {"type": "object", "required": ["took"], "properties": {"took": {"type": "integer"}}},
            {"type": "object", "required": ["phase"], "properties": {"phase": {"enum": ["ended"]}}},
        ]},
        "Both": {"oneOf": [{"$ref": "#/components/schemas/Begun"}, {"$ref": "#/components/schemas/Ended"}]},
        "Names": {"type": ["array", "null"], "items": {"type": "string"}},
    }}});
    let fits = |name: &str, value: Value| {
        let schema = json!({"$ref": format!("#/components/schemas/{name}")});
        mismatch(&document, &schema, &value).is_none()
    };
    for (name, right, wrong) in [
        ("Both", json!({"phase": "started"}), json!({"phase": "ended"})),
        (
            "Both",
            json!({"phase": "ended", "took": 1}),
            json!({"phase": "ended", "took": "1"}),
        ),
        ("Both", json!({"phase": "started", "more": 1}), json!("started")),
        ("Names", json!(["a"]), json!(["a", 1])),
        ("Names", Value::Null, json!({})),
    ] {
        assert!(fits(name, right.clone()), "{name}: {right}");
        assert!(!fits(name, wrong.clone()), "{name}: {wrong}");
    }
}
