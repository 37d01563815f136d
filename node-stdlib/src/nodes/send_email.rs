//! SendEmail: what the `mail` effect is asked to send.

use super::file::{FILE, file_value};
use super::file_value::is_file;
use super::parameters::{array, given, mismatch, required_text, text};
use crate::failure::Failure;
use crate::node::{Context, NodeResult, Outcome};
use heddle_values::{Object, Value};

/// Asks the host for the effect `mail`.
pub fn send_email(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let mut request = Object::new();
    for name in ["connection", "from", "subject"] {
        request.insert(name, required_text(parameters, name)?.into());
    }
    required_addresses(parameters)?;
    for name in ["to", "cc", "bcc"] {
        request.insert(name, addresses(parameters, name)?);
    }
    for name in ["replyTo", "text", "html"] {
        if let Some(value) = text(parameters, name)? {
            request.insert(name, value.into());
        }
    }
    let mut files = Vec::new();
    for (index, file) in array(parameters, "attachments")?
        .into_iter()
        .flatten()
        .enumerate()
    {
        files.push(attachment(index, file)?);
    }
    request.insert("attachments", files.into());
    request.insert("idempotencyKey", context.execution_key().into());
    Ok(Outcome::Effect {
        kind: "mail",
        request: Value::Object(request),
    })
}

fn required_addresses(parameters: &Object) -> Result<(), Failure> {
    super::parameters::required(parameters, "to", "an address or a list of addresses").map(drop)
}

/// A text, or a list of texts; either may hold several with commas between.
fn addresses(parameters: &Object, name: &str) -> Result<Value, Failure> {
    let takes = "an address or a list of addresses";
    let texts = match given(parameters, name) {
        None => Vec::new(),
        Some(value @ Value::String(_)) => vec![value.clone()],
        Some(Value::Array(values)) => {
            let wrong = values.iter().find(|value| !matches!(value, Value::String(_)));
            if let Some(wrong) = wrong {
                return Err(mismatch(name, takes, wrong));
            }
            values.iter().cloned().collect()
        }
        Some(value) => return Err(mismatch(name, takes, value)),
    };
    Ok(texts.into())
}

fn attachment(index: usize, file: &Value) -> Result<Value, Failure> {
    let name = format!("attachments[{index}]");
    let Value::Object(file) = file else {
        return Err(mismatch(
            &name,
            "a file, or {filename, contentType, base64}",
            file,
        ));
    };
    if is_file(file) {
        let (value, content_type) = file_value(&name, &Value::Object(file.clone()))?;
        let filename = text(file, "name")?.filter(|name| !name.is_empty());
        return Ok(Value::Object(Object::from_iter([
            ("filename", Value::from(filename.unwrap_or_else(|| FILE.into()))),
            ("contentType", Value::from(content_type)),
            (FILE, value),
        ])));
    }
    let named = |failure: Failure| Failure {
        message: failure.message.replacen('`', &format!("`{name}."), 1),
        ..failure
    };
    let mut checked = Object::new();
    for field in ["filename", "base64"] {
        checked.insert(field, required_text(file, field).map_err(named)?.into());
    }
    if let Some(content_type) = text(file, "contentType").map_err(named)? {
        checked.insert("contentType", content_type.into());
    }
    Ok(Value::Object(checked))
}
