//! Values as keys: equal keys for equal values, whatever the order of their properties.

use crate::Value;

/// JSON text of the value with its properties in order of their names. Null and missing values are alike.
pub fn key_of(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for item in items.iter() {
                write(item, out);
                out.push(',');
            }
            out.push(']');
        }
        Value::Object(object) => {
            let mut properties: Vec<_> = object
                .iter()
                .map(|(name, value)| (name.to_utf8(), value))
                .collect();
            properties.sort_by(|left, right| left.0.cmp(&right.0));
            out.push('{');
            for (name, value) in properties {
                Value::from(&*name).write_json(out);
                out.push(':');
                write(value, out);
                out.push(',');
            }
            out.push('}');
        }
        Value::Undefined | Value::Function(_) => out.push_str("null"),
        scalar => scalar.write_json(out),
    }
}
