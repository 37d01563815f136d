//! Pairs of names and texts, as headers, queries and forms have them.

use crate::failure::Failure;
use crate::nodes::parameters;
use heddle_values::{Object, Value};
use url::form_urlencoded;

/// An object of texts, or of lists of texts, as pairs. Null and missing values are left out.
pub(super) fn pairs(parameters: &Object, parameter: &str) -> Result<Vec<(String, String)>, Failure> {
    let mut pairs = Vec::new();
    for (name, value) in parameters::object(parameters, parameter)?
        .into_iter()
        .flat_map(Object::iter)
    {
        let name = name.to_utf8();
        match value {
            Value::Null | Value::Undefined => {}
            Value::Array(values) => {
                pairs.extend(
                    values
                        .iter()
                        .map(|value| (name.to_string(), value.to_text().to_utf8().into_owned())),
                );
            }
            Value::Object(_) | Value::Function(_) => {
                return Err(parameters::mismatch(
                    &format!("{parameter}.{name}"),
                    "text or a list of texts",
                    value,
                ));
            }
            value => pairs.push((name.into_owned(), value.to_text().to_utf8().into_owned())),
        }
    }
    Ok(pairs)
}

/// application/x-www-form-urlencoded, as the WHATWG URL standard writes it.
pub(super) fn encode(pairs: &[(String, String)]) -> String {
    form_urlencoded::Serializer::new(String::new())
        .extend_pairs(pairs)
        .finish()
}
