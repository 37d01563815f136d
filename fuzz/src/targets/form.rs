//! A form's parameters as JSON and, behind a line with `---`, answers to it: whatever they are, they are taken or refused field by field,
//! and what a program sends is never taken for a file.

use heddle_model::form::Form;
use serde_json::{Map, Value};

/// Fields that are read of a form.
const FIELDS_MAX: usize = 100;

/// Checks an input.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Some((parameters, answers)) = text.split_once("\n---\n") else {
        return;
    };
    let (Some(parameters), Some(answers)) = (object(parameters), object(answers)) else {
        return;
    };
    let form = Form::of(&parameters);
    assert!(form.fields.len() <= FIELDS_MAX);
    let as_page = form.check(&answers);
    let as_program = form.check_json(&answers);
    for checked in [&as_page, &as_program] {
        match checked {
            Ok(values) => {
                let is_field = |name: &String| form.fields.iter().any(|field| field.name == *name);
                assert!(values.keys().all(is_field), "{values:?}");
                assert!(form.fields.iter().all(|field| values.contains_key(&field.name)));
            }
            Err(mistakes) => {
                assert!(!mistakes.is_empty());
                for mistake in mistakes {
                    assert!(mistake.field < form.fields.len() && !mistake.message.is_empty());
                }
                assert!(!form.summary(mistakes).is_empty());
            }
        }
    }
    if let Ok(values) = &as_program {
        // Files are objects.
        let is_object = |value: &Value| match value {
            Value::Array(several) => several.iter().any(Value::is_object),
            other => other.is_object(),
        };
        assert!(!values.values().any(is_object), "{values:?}");
        // What was taken is not refused when it comes again, unless line breaks have become others, or fields have one name.
        let has_returns = |value: &Value| value.as_str().is_some_and(|text| text.contains('\r'));
        if values.len() == form.fields.len() && !values.values().any(has_returns) {
            assert!(form.check_json(values).is_ok(), "{values:?}");
        }
    }
    if let Some(unknown) = form.unknown(&answers) {
        assert!(unknown.starts_with("The form has no field `"), "{unknown}");
    }
}

fn object(text: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(text).ok()
}
