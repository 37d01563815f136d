//! The schema of files with patterns, by the catalogue: what editors check, complete and explain while somebody writes one. It is
//! wider than the compiler, which knows what expressions mean.

use crate::catalogue::describe;
use heddle_catalogue::{NodeType, node_types};
use serde_json::{Map, Value, json};

/// The schema, of the draft that editors know best.
pub fn pattern_schema() -> Value {
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A pattern of heddle",
        "type": "object",
        // A file may be a graph alone.
        "anyOf": [{"required": ["graphData"]}, {"required": ["nodes"]}],
        "properties": {
            "$schema": {"type": "string"},
            "name": {"type": "string", "minLength": 1, "maxLength": 200, "description": "What people call it"},
            "description": {"type": "string"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "isPublic": {"type": "boolean"},
            "isTemplate": {"type": "boolean"},
            "graphData": {"$ref": "#/definitions/graph"},
            "nodes": {"$ref": "#/definitions/graph/properties/nodes"},
            "edges": {"$ref": "#/definitions/graph/properties/edges"},
            "settings": {"$ref": "#/definitions/graph/properties/settings"},
            "nodeDefinitions": {
                "type": "object",
                "description": "Node types of the pattern's own, by name",
                "additionalProperties": {
                    "type": "object",
                    "properties": {
                        "graphData": {"$ref": "#/definitions/graph"},
                        "code": {"anyOf": [{"type": "string"}, {"$ref": "#/definitions/file"}]},
                        "component": {"anyOf": [{"type": "string"}, {"$ref": "#/definitions/file"}]},
                    },
                },
            },
        },
        "definitions": {
            "graph": {
                "type": "object",
                "required": ["nodes"],
                "properties": {
                    "nodes": {"type": "array", "items": {"$ref": "#/definitions/node"}},
                    "edges": {"type": "array", "items": {"$ref": "#/definitions/edge"}},
                    "settings": {"type": "object", "description": "Settings of the pattern"},
                },
            },
            "node": node(),
            "edge": {
                "type": "object",
                "required": ["source", "target"],
                "properties": {
                    "id": {"type": "string"},
                    "source": {"type": "string", "description": "The id of the node that it comes from"},
                    "sourceHandle": {
                        "type": ["string", "null"],
                        "description": "That node's output port; default: its first",
                    },
                    "target": {"type": "string", "description": "The id of the node that it leads to"},
                    "targetHandle": {
                        "type": ["string", "null"],
                        "description": "That node's input port; default: its first",
                    },
                },
            },
            "file": {
                "type": "object",
                "required": ["file"],
                "properties": {"file": {"type": "string", "description": "A file in the pattern's directory"}},
                "additionalProperties": false,
            },
        },
    })
}

fn node() -> Value {
    let types: Vec<&NodeType> = node_types().iter().collect();
    let names: Vec<&str> = types.iter().map(|node_type| node_type.name).collect();
    let descriptions: Vec<&str> = types.iter().map(|node_type| node_type.description).collect();
    let by_type: Vec<Value> = types.iter().map(|node_type| of_type(node_type)).collect();
    json!({
        "type": "object",
        "required": ["id", "type"],
        "properties": {
            "id": {"type": "string", "minLength": 1},
            // Any other name is that of a definition.
            "type": {"anyOf": [{"enum": names, "enumDescriptions": descriptions}, {"type": "string"}]},
            "position": {
                "type": "object",
                "properties": {"x": {"type": "number"}, "y": {"type": "number"}},
            },
            "data": {"type": "object", "properties": {
                "label": {"type": "string"},
                "each": {"type": "boolean", "description": "Execute once for each element of the array that comes"},
                "once": {"type": "boolean", "description": "Of a list that comes, only the first item counts"},
                "always": {"type": "boolean", "description": "One empty item leaves rather than none"},
            }},
        },
        "allOf": by_type,
    })
}

/// What follows from a node's type.
fn of_type(node_type: &NodeType) -> Value {
    let mut parameters = describe(node_type)["parameters"].take();
    let code = node_type
        .parameters
        .iter()
        .filter(|parameter| parameter.language().is_some());
    let names: Vec<&str> = code.map(|parameter| parameter.name).collect();
    if let Some(Value::Object(properties)) = parameters.get_mut("properties") {
        for (name, schema) in properties {
            with_file(schema, names.contains(&name.as_str()));
        }
    }
    json!({
        "if": {"required": ["type"], "properties": {"type": {"const": node_type.name}}},
        "then": {"properties": {"data": {"properties": {"parameters": parameters}}}},
    })
}

/// Code may be in a file of its own. What only heddle's own editor knows of a parameter is left out.
fn with_file(schema: &mut Value, is_code: bool) {
    let Value::Object(members) = schema else { return };
    members.shift_remove("x-heddle");
    if is_code {
        let mut outer = Map::new();
        for name in ["description", "default"] {
            outer.extend(members.shift_remove(name).map(|value| (name.to_owned(), value)));
        }
        let plain = Value::Object(std::mem::take(members));
        outer.insert("anyOf".to_owned(), json!([plain, {"$ref": "#/definitions/file"}]));
        *members = outer;
    }
}
