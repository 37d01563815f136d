//! The catalogue of node types as data for machines: parameters as JSON Schema, examples as JSON.

use heddle_catalogue::{
    Category, Content, Emits, Example, NodeType, Outputs, Parameter, Port, Schema, Sends, ValueType,
    node_types,
};
use serde_json::{Map, Value, json};

/// All node types.
pub fn all() -> Value {
    node_types().iter().map(describe).collect()
}

/// One node type: name, how it is shown, role, description, ports, parameters, examples.
pub fn describe(node_type: &NodeType) -> Value {
    let mut outputs: Vec<Value> = match node_type.outputs {
        Outputs::Fixed(ports) => ports.iter().map(port).collect(),
        Outputs::SwitchCases => Vec::new(),
    };
    if node_type.outputs == Outputs::SwitchCases {
        outputs.push(
            json!({"name": "default", "type": "any", "required": false, "description": "When no case fits"}),
        );
    }
    let mut described = json!({
        "type": node_type.name,
        "title": node_type.face.title,
        "icon": node_type.face.icon.name(),
        "keywords": node_type.face.keywords,
        "group": node_type.face.group.name(),
        "category": category_name(node_type.category),
        "role": node_type.role.name(),
        "description": node_type.description,
        "inputs": node_type.inputs.iter().map(port).collect::<Vec<_>>(),
        "outputs": outputs,
        "outputsPerCase": node_type.outputs == Outputs::SwitchCases,
        "executesPer": if node_type.works_on_lists() { "list" } else { "item" },
        "sends": if node_type.sends() == Sends::Several { "several" } else { "one" },
        "emits": node_type.emits.name(),
        "parameters": object_schema(node_type.parameters),
        "effects": node_type.effects,
        "examples": node_type.examples.iter().map(example).collect::<Vec<_>>(),
    });
    if let Sends::OneUnless(parameter) = node_type.sends() {
        described["sendsSeveralIf"] = parameter.into();
    }
    if let Emits::Parameter(parameter) = node_type.emits {
        described["emitsParameter"] = parameter.into();
    }
    described
}

/// Name of a category, as lists and addresses show it.
pub fn category_name(category: Category) -> &'static str {
    match category {
        Category::Trigger => "triggers",
        Category::Flow => "flow",
        Category::Data => "data",
        Category::Text => "text and formats",
        Category::TimeAndCrypto => "time and cryptography",
        Category::Code => "code",
        Category::Effect => "effects",
    }
}

/// Name of a type, as node definitions write it.
pub fn type_name(value_type: ValueType) -> &'static str {
    match value_type {
        ValueType::Any => "any",
        ValueType::String => "string",
        ValueType::Number => "number",
        ValueType::Integer => "integer",
        ValueType::Boolean => "boolean",
        ValueType::Object => "object",
        ValueType::Array => "array",
    }
}

fn port(port: &Port) -> Value {
    json!({
        "name": port.name,
        "type": type_name(port.value_type),
        "required": port.required,
        "description": port.description,
    })
}

fn example(example: &Example) -> Value {
    json!({
        "title": example.title,
        "parameters": parsed(example.parameters),
        "input": parsed(example.input),
        "output": parsed(example.output),
    })
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

fn object_schema(parameters: &[Parameter]) -> Value {
    let properties: Map<String, Value> = parameters
        .iter()
        .map(|parameter| {
            let mut schema = json_schema(&parameter.schema, parameter.literal);
            if let Value::Object(fields) = &mut schema {
                fields.insert("description".to_owned(), parameter.description.into());
                if !parameter.default.is_empty() {
                    fields.insert("default".to_owned(), parsed(parameter.default));
                }
                fields.insert("x-heddle".to_owned(), editor_facts(parameter));
            }
            (parameter.name.to_owned(), schema)
        })
        .collect();
    let required: Vec<&str> = parameters
        .iter()
        .filter(|it| it.required)
        .map(|it| it.name)
        .collect();
    let mut schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    schema
}

/// What an editor must know of a parameter besides its schema.
fn editor_facts(parameter: &Parameter) -> Value {
    let mut facts = json!({
        "literal": parameter.is_written_out(),
        "scope": parameter.scope().name(),
        "widget": parameter.widget().name(),
        "group": if parameter.advanced { "advanced" } else { "main" },
    });
    if let Some(language) = parameter.language() {
        facts["language"] = language.name().into();
    }
    match parameter.content {
        Content::Connection(kinds) => {
            facts["connectionKinds"] = kinds.iter().map(|kind| kind.name()).collect();
        }
        Content::Duration(unit) => facts["unit"] = unit.name().into(),
        Content::TimeZone { offsets } => facts["offsets"] = offsets.into(),
        _ => {}
    }
    facts
}

/// A parameter's schema; where it isn't literal, an expression may stand instead of a value.
fn json_schema(schema: &Schema, literal: bool) -> Value {
    let strict = match schema {
        Schema::Any => return json!({}),
        Schema::String => return json!({"type": "string"}),
        Schema::Module => return json!({"type": "string", "contentMediaType": "text/javascript"}),
        Schema::PerItem(inner) | Schema::PerPair(inner) | Schema::Deferred(inner) => {
            return json_schema(inner, false);
        }
        Schema::OneOf(shapes) => {
            return json!({"anyOf": shapes.iter().map(|shape| json_schema(shape, literal)).collect::<Vec<_>>()});
        }
        Schema::Number => json!({"type": "number"}),
        Schema::Integer { min, max } => json!({"type": "integer", "minimum": min, "maximum": max}),
        Schema::Boolean => json!({"type": "boolean"}),
        Schema::Enum(values) => json!({"enum": values}),
        Schema::Array(items) => json!({"type": "array", "items": json_schema(items, literal)}),
        Schema::Object(fields) => object_schema(fields),
        Schema::Map(values) => {
            json!({"type": "object", "additionalProperties": json_schema(values, literal)})
        }
    };
    if literal {
        strict
    } else {
        json!({"anyOf": [strict, {"type": "string", "pattern": "\\{\\{"}]})
    }
}
