//! SqlQuery: a statement for the `sql` effect, with its parameters beside it.

use super::parameters::{array, boolean, integer, required_text};
use crate::node::{Context, NodeResult, Outcome};
use heddle_values::{Object, Value};

const ROWS: i64 = 10_000;
const ROWS_MAX: i64 = 100_000;

/// Asks the host for the effect `sql`.
pub fn sql_query(parameters: &Object, _: &mut dyn Context) -> NodeResult {
    let values: Vec<Value> = array(parameters, "parameters")?
        .map(|values| values.iter().cloned().collect())
        .unwrap_or_default();
    let rows_max = integer(parameters, "maxRows", 1, ROWS_MAX)?.unwrap_or(ROWS);
    let mut request = Object::from_iter([
        (
            "connection",
            Value::from(required_text(parameters, "connection")?),
        ),
        ("query", Value::from(required_text(parameters, "query")?)),
        ("parameters", values.into()),
        ("maxRows", Value::Number(rows_max as f64)),
    ]);
    if boolean(parameters, "files", false)? {
        request.insert("files", Value::from(true));
    }
    Ok(Outcome::Effect {
        kind: "sql",
        request: Value::Object(request),
    })
}
